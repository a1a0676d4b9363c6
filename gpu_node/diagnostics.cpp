#include "gpu_node/diagnostics.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace lathe::gpu_node {
namespace {

using Severity = Diagnostic::Severity;

/// "Used 8 registers, .. 64 bytes smem": the number before `word`, or -1.
std::int64_t number_before(std::string_view text, std::string_view word) {
  std::size_t at = text.find(word);
  if (at == std::string_view::npos) return -1;
  std::size_t end = at;
  while (end > 0 && text[end - 1] == ' ') --end;
  std::size_t begin = end;
  while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
  std::int64_t value = -1;
  if (begin < end) std::from_chars(text.data() + begin, text.data() + end, value);
  return value;
}

std::string_view quoted(std::string_view text) {
  std::size_t begin = text.find('\'');
  if (begin == std::string_view::npos) return {};
  std::size_t end = text.find('\'', begin + 1);
  return text.substr(begin + 1, end == std::string_view::npos ? end : end - begin - 1);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

/// "ptxas FILE, line 11; error   : TEXT" or "ptxas fatal   : TEXT".
std::optional<Diagnostic> read_diagnostic(std::string_view line) {
  if (!line.starts_with("ptxas ")) return {};
  Diagnostic diagnostic;
  std::size_t at = std::string_view::npos;
  // clang-format off
  for (auto [word, severity] : {std::pair{"warning", Severity::warning},
                                std::pair{"error", Severity::error},
                                std::pair{"fatal", Severity::fatal}}) {
    for (std::string start : {std::string("; ") + word, std::string("ptxas ") + word}) {
      std::size_t found = line.find(start);
      if (found == std::string_view::npos || found > at) continue;
      std::size_t colon = line.find(':', found + start.size());
      if (colon == std::string_view::npos) continue;
      if (!trimmed(line.substr(found + start.size(), colon - found - start.size())).empty())
        continue;
      at = found;
      diagnostic.severity = severity;
      diagnostic.text = trimmed(line.substr(colon + 1));
    }
  }
  // clang-format on
  if (at == std::string_view::npos) return {};
  std::size_t number = line.rfind(", line ", at);
  if (number != std::string_view::npos)
    std::from_chars(line.data() + number + 7, line.data() + at, diagnostic.line);
  return diagnostic;
}

void read_resources(std::string_view line, Resources& resources) {
  if (line.find("bytes stack frame") != std::string_view::npos) {
    resources.stack_bytes = number_before(line, "bytes stack frame");
    resources.spill_store_bytes = number_before(line, "bytes spill stores");
    resources.spill_load_bytes = number_before(line, "bytes spill loads");
  }
  if (line.find(": Used ") == std::string_view::npos) return;
  resources.registers = number_before(line, "registers");
  resources.barriers = std::max<std::int64_t>(0, number_before(line, "barriers"));
  resources.static_shared_bytes = std::max<std::int64_t>(0, number_before(line, "bytes smem"));
}

}  // namespace

PtxasReport read_report(std::string_view standard_error, std::string_view entry) {
  PtxasReport report;
  bool of_entry = false;
  while (!standard_error.empty()) {
    std::size_t end = standard_error.find('\n');
    std::string_view line = standard_error.substr(0, end);
    standard_error.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
    if (line.find("Compiling entry function") != std::string_view::npos) {
      of_entry = quoted(line) == entry;
    } else if (std::size_t at = line.find("Function properties for ");
               at != std::string_view::npos) {
      of_entry = trimmed(line.substr(at + 24)) == entry;
    } else if (std::optional<Diagnostic> diagnostic = read_diagnostic(line)) {
      report.diagnostics.push_back(std::move(*diagnostic));
    } else if (of_entry) {
      read_resources(line, report.resources);
    }
  }
  std::stable_sort(report.diagnostics.begin(), report.diagnostics.end(),
                   [](const Diagnostic& a, const Diagnostic& b) {
                     return (a.line == 0 ? ~0u : a.line) < (b.line == 0 ? ~0u : b.line);
                   });
  return report;
}

std::string_view source_line(std::string_view text, std::uint32_t line) {
  for (; line > 1; --line) {
    std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  std::string_view found = text.substr(0, text.find('\n'));
  if (!found.empty() && found.back() == '\r') found.remove_suffix(1);
  return found;
}

}  // namespace lathe::gpu_node
