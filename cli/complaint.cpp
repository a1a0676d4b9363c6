#include "cli/complaint.h"

#include <cstdio>
#include <string_view>

#include "base/files.h"
#include "cli/exit_status.h"

namespace lathe::cli {
namespace {

constexpr std::size_t complaints_max = 20;
constexpr std::size_t shown_columns_max = 160;

/// The text of a line, or nothing where it cannot be shown.
std::string line_of(const Place& place) {
  if (place.file.empty() || place.line == 0) return {};
  Result<std::string> text = read_text(place.file);
  if (!text) return {};
  std::string_view rest = *text;
  for (std::uint32_t line = 1; line < place.line; ++line) {
    std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return {};
    rest.remove_prefix(end + 1);
  }
  return std::string(rest.substr(0, rest.find('\n')));
}

std::string place_of(const Place& place) {
  if (place.file.empty()) return "lathe: ";
  std::string text = place.file + ":";
  if (place.line != 0) text += std::to_string(place.line) + ":";
  if (place.line != 0 && place.column != 0) text += std::to_string(place.column) + ":";
  return text + " ";
}

std::string caret_under(const std::string& line, std::uint32_t column) {
  std::string blank;
  for (std::size_t i = 0; i + 1 < column && i < line.size(); ++i)
    blank.push_back(line[i] == '\t' ? '\t' : ' ');
  return blank + "^";
}

}  // namespace

std::string complaint(const Error& error) {
  std::string text = place_of(error.place) + "error: " + error.what + "\n";
  std::string line = line_of(error.place);
  if (!line.empty() && line.size() <= shown_columns_max) {
    text += "  " + line + "\n";
    if (error.place.column != 0) text += "  " + caret_under(line, error.place.column) + "\n";
  }
  if (!error.remedy.empty()) text += "help: " + error.remedy + "\n";
  return text;
}

int complain(const Error& error) {
  std::fputs(complaint(error).c_str(), stderr);
  return exit_status(error);
}

int complain(const std::vector<Error>& errors) {
  for (std::size_t i = 0; i < errors.size() && i < complaints_max; ++i)
    std::fputs(complaint(errors[i]).c_str(), stderr);
  if (errors.size() > complaints_max)
    std::fprintf(stderr, "and %zu more\n", errors.size() - complaints_max);
  return errors.empty() ? exit_done : exit_status(errors.front());
}

}  // namespace lathe::cli
