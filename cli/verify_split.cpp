#include "cli/verify_split.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "base/files.h"

namespace lathe::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// Ranges a process: the last to end does not leave the others idle for long, and one that is
/// killed has not done much in vain.
constexpr std::uint64_t ranges_a_thread = 6;
/// And of a proof that is to go on after it was ended.
constexpr std::uint64_t kept_ranges_min = 16;
/// Children that may die over one range: killed, or out of memory.
constexpr unsigned attempts_max = 3;

struct Range {
  std::uint64_t begin = 0, end = 0;
  std::optional<Json> said;
  std::optional<Error> error;
};

std::vector<Range> ranges_of(const Split& split) {
  std::uint64_t wanted = split.threads * ranges_a_thread;
  if (!split.kept.empty()) wanted = std::max(wanted, kept_ranges_min);
  std::uint64_t count = std::min(split.blocks, wanted);
  std::vector<Range> ranges;
  for (std::uint64_t i = 0; i < count; ++i)
    ranges.push_back({split.blocks * i / count, split.blocks * (i + 1) / count, {}, {}});
  return ranges;
}

bool is_answer(const Json& said) {
  return said.is_object() && said.value("schema", "") == "lathe/verify/1";
}

std::filesystem::path place_of(const Split& split, const Range& range) {
  return split.kept / (std::to_string(range.begin) + "-" + std::to_string(range.end) + ".json");
}

/// What an earlier run has proved of this range.
bool take_kept(const Split& split, Range& range) {
  if (split.kept.empty()) return false;
  Result<std::string> text = read_file(place_of(split, range));
  if (!text) return false;
  Json said = Json::parse(*text, nullptr, false);
  if (!is_answer(said) || said.value("verdict", "") != "proved") return false;
  range.said = std::move(said);
  return true;
}

std::vector<std::string> command_of(const Split& split, const Range& range) {
  std::vector<std::string> command{own_program().string(), "verify"};
  command.insert(command.end(), split.words.begin(), split.words.end());
  for (const std::string& word :
       {std::string("--json"), std::string("--block-begin"), std::to_string(range.begin),
        std::string("--block-end"), std::to_string(range.end)})
    command.push_back(word);
  return command;
}

Result<ProcessEnd> run_child(const Split& split, const std::vector<std::string>& command,
                             const std::atomic<bool>& stop) {
  if (split.run) return split.run(command);
  ProcessLimits limits;
  limits.wall = std::chrono::hours(24 * 30);
  limits.stop = &stop;
  return run_process(command, "", limits);
}

void run(Range& range, const Split& split, const std::atomic<bool>& stop) {
  if (take_kept(split, range)) return;
  int signal = 0;
  for (unsigned attempt = 0; attempt < attempts_max; ++attempt) {
    Result<ProcessEnd> end = run_child(split, command_of(split, range), stop);
    if (!end) {
      range.error = end.error();
      return;
    }
    if (end->timed_out || stop) return;
    Json said = Json::parse(end->out, nullptr, false);
    if (is_answer(said)) {
      range.said = std::move(said);
      if (!split.kept.empty() && range.said->value("verdict", "") == "proved")
        if (Result<Done> kept = write_file(place_of(split, range), range.said->dump()); !kept)
          range.error = kept.error();
      return;
    }
    signal = end->signal;
  }
  range.error =
      Error{Fault::unavailable,
            "the proof of blocks " + std::to_string(range.begin) + " to " +
                std::to_string(range.end) + " gave no answer in " + std::to_string(attempts_max) +
                " processes (signal " + std::to_string(signal) + ")",
            "fewer --threads need less memory",
            {}};
}

bool is_proved(const Json& said) { return said.value("verdict", "") == "proved"; }

std::uint64_t number(const Json& json, const char* table, const char* name) {
  auto found = json.find(table);
  return found == json.end() ? 0 : found->value(name, std::uint64_t{0});
}

/// All ranges, each by whoever is free; none begins once one has decided.
void run_all(std::vector<Range>& ranges, const Split& split) {
  std::atomic<bool> stop = false;
  std::atomic<std::size_t> next = 0, done = 0;
  std::mutex mutex;
  auto work = [&] {
    for (std::size_t i; !stop && (i = next++) < ranges.size();) {
      run(ranges[i], split, stop);
      if (!ranges[i].said || !is_proved(*ranges[i].said)) stop = true;
      std::lock_guard lock(mutex);
      if (split.progress) split.progress(++done, ranges.size());
    }
  };
  std::vector<std::thread> pool;
  for (std::uint32_t i = 0; i < std::min<std::size_t>(split.threads, ranges.size()); ++i)
    pool.emplace_back(work);
  for (std::thread& thread : pool) thread.join();
}

}  // namespace

Json merge_proofs(const std::vector<Json>& ranges) {
  Json all = ranges.front();
  Json &scope = all["scope"], &bound = all["bound"];
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    const Json& one = ranges[i];
    for (const char* name : {"blocks", "outputs_compared", "stress_blocks"})
      scope[name] = number(all, "scope", name) + number(one, "scope", name);
    scope["points"] = std::min(number(all, "scope", "points"), number(one, "scope", "points"));
    bound["degree"] = std::max(number(all, "bound", "degree"), number(one, "bound", "degree"));
    bound["failure_probability"] = std::max(bound.value("failure_probability", 1.0),
                                            one["bound"].value("failure_probability", 1.0));
    bound["rigorous"] = bound.value("rigorous", false) && one["bound"].value("rigorous", false);
    for (const Json& text : one["assumed"])
      if (std::find(all["assumed"].begin(), all["assumed"].end(), text) == all["assumed"].end())
        all["assumed"].push_back(text);
    Json& cost = all["cost"];
    cost["thread_instructions"] =
        number(all, "cost", "thread_instructions") + number(one, "cost", "thread_instructions");
    cost["peak_bytes"] =
        std::max(number(all, "cost", "peak_bytes"), number(one, "cost", "peak_bytes"));
  }
  all["reason"] = "equal over the reals at " + std::to_string(number(all, "scope", "points")) +
                  " points, " + std::to_string(number(all, "scope", "outputs_compared")) +
                  " outputs compared, in " + std::to_string(ranges.size()) + " ranges of blocks";
  return all;
}

Result<std::optional<Json>> verify_split(const Split& split) {
  Clock::time_point begin = Clock::now();
  if (!split.kept.empty()) {
    std::error_code code;
    std::filesystem::create_directories(split.kept, code);
  }
  std::vector<Range> ranges = ranges_of(split);
  run_all(ranges, split);
  std::vector<Json> proved;
  std::optional<Json> decided;
  for (Range& range : ranges) {
    if (range.error) return *range.error;
    if (!range.said) continue;  // Ended early: another has decided.
    if (is_proved(*range.said))
      proved.push_back(*std::move(range.said));
    else if (!decided)
      decided = *std::move(range.said);
  }
  double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (!decided && proved.size() == ranges.size()) decided = merge_proofs(proved);
  if (!decided) return std::optional<Json>{};
  if (decided->value("reason_code", "") == "frame") return std::optional<Json>{};
  (*decided)["cost"]["seconds"] = seconds;
  return decided;
}

}  // namespace lathe::cli
