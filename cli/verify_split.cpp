#include "cli/verify_split.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "base/process.h"

namespace lathe::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// Ranges a process: the last to end does not leave the others idle for long.
constexpr std::uint64_t ranges_a_thread = 3;

struct Range {
  std::uint64_t begin = 0, end = 0;
  std::optional<Json> said;
  std::optional<Error> error;
};

std::vector<Range> ranges_of(std::uint64_t blocks, std::uint32_t threads) {
  std::uint64_t count = std::min<std::uint64_t>(blocks, threads * ranges_a_thread);
  std::vector<Range> ranges;
  for (std::uint64_t i = 0; i < count; ++i)
    ranges.push_back({blocks * i / count, blocks * (i + 1) / count, {}, {}});
  return ranges;
}

void run(Range& range, const std::vector<std::string>& words, const std::atomic<bool>& stop) {
  std::vector<std::string> command{own_program().string(), "verify"};
  command.insert(command.end(), words.begin(), words.end());
  for (std::string word : {"--json", "--block-begin", "", "--block-end", ""})
    command.push_back(std::move(word));
  command[command.size() - 3] = std::to_string(range.begin);
  command.back() = std::to_string(range.end);
  ProcessLimits limits;
  limits.wall = std::chrono::hours(24 * 30);
  limits.stop = &stop;
  Result<ProcessEnd> end = run_process(command, "", limits);
  if (!end) {
    range.error = end.error();
    return;
  }
  if (end->timed_out) return;
  Json said = Json::parse(end->out, nullptr, false);
  if (said.is_object() && said.value("schema", "") == "lathe/verify/1")
    range.said = std::move(said);
  else
    range.error = Error{Fault::unavailable,
                        "the proof of blocks " + std::to_string(range.begin) + " to " +
                            std::to_string(range.end) + " gave no answer (signal " +
                            std::to_string(end->signal) + ")",
                        "fewer --threads need less memory",
                        {}};
}

bool is_proved(const Json& said) { return said.value("verdict", "") == "proved"; }

std::uint64_t number(const Json& json, const char* table, const char* name) {
  auto found = json.find(table);
  return found == json.end() ? 0 : found->value(name, std::uint64_t{0});
}

/// All ranges, each by whoever is free; none begins once one has decided.
void run_all(std::vector<Range>& ranges, const std::vector<std::string>& words,
             std::uint32_t threads,
             const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  std::atomic<bool> stop = false;
  std::atomic<std::size_t> next = 0, done = 0;
  std::mutex mutex;
  auto work = [&] {
    for (std::size_t i; !stop && (i = next++) < ranges.size();) {
      run(ranges[i], words, stop);
      if (!ranges[i].said || !is_proved(*ranges[i].said)) stop = true;
      std::lock_guard lock(mutex);
      progress(++done, ranges.size());
    }
  };
  std::vector<std::thread> pool;
  for (std::uint32_t i = 0; i < std::min<std::size_t>(threads, ranges.size()); ++i)
    pool.emplace_back(work);
  for (std::thread& thread : pool) thread.join();
}

}  // namespace

Json merge_proofs(const std::vector<Json>& ranges) {
  Json all = ranges.front();
  Json &scope = all["scope"], &bound = all["bound"];
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    const Json& one = ranges[i];
    for (const char* name : {"blocks", "outputs_compared", "outputs_translated", "stress_blocks"})
      if (scope.contains(name) || number(one, "scope", name) != 0)
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

Result<std::optional<Json>> verify_split(
    const std::vector<std::string>& words, std::uint64_t blocks, std::uint32_t threads,
    const std::function<void(std::uint64_t done, std::uint64_t total)>& progress) {
  Clock::time_point begin = Clock::now();
  std::vector<Range> ranges = ranges_of(blocks, threads);
  run_all(ranges, words, threads, progress);
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
