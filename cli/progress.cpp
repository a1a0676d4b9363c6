#include "cli/progress.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <mutex>

#include "base/json.h"
#include "cli/exit_status.h"

namespace lathe::cli {
namespace {

std::atomic<int> stop_flag{0};
std::atomic<bool> of_node{false};

void on_interrupt(int) {
  if (stop_flag.fetch_add(1) > 0) ::_exit(exit_interrupted);
  std::string_view text =
      of_node ? "\nlathe: leaving the farm; again to end at once\n"
              : "\nlathe: ending after this round; again to end at once (lathe resume goes on)\n";
  [[maybe_unused]] ssize_t ignored = ::write(2, text.data(), text.size());
}

std::string member(const Json& json, const char* name) {
  auto found = json.find(name);
  if (found == json.end() || found->is_null()) return {};
  return found->is_string() ? found->get<std::string>() : found->dump();
}

/// One line that a person understands, or nothing for what only --verbose shows.
std::string line_of(const std::string& kind, const Json& json) {
  if (kind == "plan") {
    if (member(json, "round") == "0")
      return "round 0: the reference and five decoys through the gates";
    const Json& diagnosis = json.contains("diagnosis") ? json["diagnosis"] : Json::object();
    return "round " + member(json, "round") + ": " + member(diagnosis, "hypothesis");
  }
  if (kind == "verdict") {
    std::string text = "  " + member(json, "candidate") + " " + member(json, "gate") + " " +
                       member(json, "answer");
    std::string reason = member(json, "reason");
    return reason.empty() ? text : text + ": " + reason;
  }
  if (kind == "proposal") {
    std::string failure = member(json, "failure");
    if (!failure.empty())
      return "  branch " + member(json, "branch") + ": no candidate (" + failure + ")";
    return "  " + member(json, "candidate") + " proposed by " + member(json, "subagent") + ", " +
           member(json, "family") + ": " + member(json, "explanation");
  }
  if (kind == "round") {
    std::string decision = member(json, "decision");
    return decision.empty() ? "" : "round " + member(json, "round") + " closed: " + decision;
  }
  if (kind == "node" || kind == "restart" || kind == "listening" || kind == "stale" ||
      kind == "waits")
    return kind + ": " + json.dump();
  return {};
}

}  // namespace

std::function<void(const std::string&, const std::string&)> make_progress(Loudness loudness) {
  auto mutex = std::make_shared<std::mutex>();
  return [loudness, mutex](const std::string& kind, const std::string& text) {
    if (loudness == Loudness::quiet) return;
    std::string line;
    if (loudness == Loudness::verbose) {
      line = kind + " " + text;
    } else {
      Json json = Json::parse(text, nullptr, false);
      if (!json.is_discarded()) line = line_of(kind, json);
    }
    if (line.empty()) return;
    line += "\n";
    std::lock_guard lock(*mutex);
    [[maybe_unused]] ssize_t ignored = ::write(2, line.data(), line.size());
  };
}

const std::atomic<int>& stop_on_interrupt(Interrupted what) {
  of_node = what == Interrupted::node;
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  return stop_flag;
}

}  // namespace lathe::cli
