// Unified diffs. The shortest script is found by Myers' greedy algorithm (An O(ND) difference
// algorithm, 1986); texts that differ in more than `script_max` lines become one block instead.

#include <algorithm>
#include <string>
#include <vector>

#include "ptx/lines.h"
#include "ptx/patch.h"

namespace lathe::ptx {
namespace {

constexpr int script_max = 2000;
constexpr std::size_t context_lines = 3;

using Lines = std::vector<std::string_view>;

/// One line of the script: kept, removed from `before` or added from `after`.
struct Step {
  char mark;  // ' ', '-', '+'
  std::string_view line;
};

/// The furthest positions reached by each number of changes, one array a round.
using Trace = std::vector<std::vector<int>>;

bool search(const Lines& a, const Lines& b, Trace& trace) {
  int n = static_cast<int>(a.size()), m = static_cast<int>(b.size());
  int bound = std::min(n + m, script_max);
  std::vector<int> reach(2 * static_cast<std::size_t>(bound) + 3, 0);
  for (int d = 0; d <= bound; ++d) {
    for (int k = -d; k <= d; k += 2) {
      auto at = static_cast<std::size_t>(k + bound + 1);
      bool down = k == -d || (k != d && reach[at - 1] < reach[at + 1]);
      int x = down ? reach[at + 1] : reach[at - 1] + 1;
      int y = x - k;
      while (x < n && y < m && a[x] == b[y]) ++x, ++y;
      reach[at] = x;
      if (x >= n && y >= m) {
        trace.push_back(reach);
        return true;
      }
    }
    // Only diagonals -d..d are set; the rest need not be kept.
    trace.push_back(reach);
    if (static_cast<std::size_t>(d) * reach.size() > (64u << 20)) return false;
  }
  return false;
}

std::vector<Step> walk_back(const Lines& a, const Lines& b, const Trace& trace) {
  std::vector<Step> steps;
  int bound = static_cast<int>((trace.front().size() - 3) / 2);
  int x = static_cast<int>(a.size()), y = static_cast<int>(b.size());
  for (int d = static_cast<int>(trace.size()) - 1; d > 0; --d) {
    const std::vector<int>& reach = trace[static_cast<std::size_t>(d - 1)];
    int k = x - y;
    auto at = static_cast<std::size_t>(k + bound + 1);
    bool down = k == -d || (k != d && reach[at - 1] < reach[at + 1]);
    int from_k = down ? k + 1 : k - 1;
    int from_x = reach[static_cast<std::size_t>(from_k + bound + 1)];
    int from_y = from_x - from_k;
    while (x > from_x && y > from_y) steps.push_back({' ', a[--x]}), --y;
    if (down)
      steps.push_back({'+', b[--y]});
    else
      steps.push_back({'-', a[--x]});
  }
  while (x > 0) steps.push_back({' ', a[--x]});
  std::reverse(steps.begin(), steps.end());
  return steps;
}

std::vector<Step> script(Lines a, Lines b) {
  std::vector<Step> steps, tail;
  std::size_t head = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  while (a.size() > head && b.size() > head && a.back() == b.back()) {
    tail.push_back({' ', a.back()});
    a.pop_back();
    b.pop_back();
  }
  for (std::size_t i = 0; i < head; ++i) steps.push_back({' ', a[i]});
  Lines rest_a(a.begin() + static_cast<std::ptrdiff_t>(head), a.end());
  Lines rest_b(b.begin() + static_cast<std::ptrdiff_t>(head), b.end());
  Trace trace;
  if (search(rest_a, rest_b, trace)) {
    std::vector<Step> middle = walk_back(rest_a, rest_b, trace);
    steps.insert(steps.end(), middle.begin(), middle.end());
  } else {
    for (std::string_view line : rest_a) steps.push_back({'-', line});
    for (std::string_view line : rest_b) steps.push_back({'+', line});
  }
  steps.insert(steps.end(), tail.rbegin(), tail.rend());
  return steps;
}

std::string range(std::size_t first, std::size_t count) {
  std::string out = std::to_string(count == 0 ? first : first + 1);
  if (count != 1) out += "," + std::to_string(count);
  return out;
}

void write_hunk(std::string& out, const std::vector<Step>& steps, std::size_t begin,
                std::size_t end, std::size_t before, std::size_t after) {
  std::size_t removed = 0, added = 0;
  for (std::size_t i = begin; i < end; ++i) {
    removed += steps[i].mark != '+';
    added += steps[i].mark != '-';
  }
  out += "@@ -" + range(before, removed) + " +" + range(after, added) + " @@\n";
  for (std::size_t i = begin; i < end; ++i) {
    out += steps[i].mark;
    out += steps[i].line;
    if (!steps[i].line.ends_with('\n')) out += "\n\\ No newline at end of file\n";
  }
}

}  // namespace

std::string diff(std::string_view before, std::string_view after) {
  std::vector<Step> steps = script(lines_of(before), lines_of(after));
  std::string out;
  std::size_t old_line = 0, new_line = 0, at = 0;
  while (at < steps.size()) {
    std::size_t change = at;
    while (change < steps.size() && steps[change].mark == ' ') ++change;
    if (change == steps.size()) break;
    std::size_t begin = std::max(at, change - std::min(change, context_lines));
    old_line += begin - at;
    new_line += begin - at;
    std::size_t end = change, last = change;
    for (; end < steps.size() && end <= last + 2 * context_lines; ++end)
      if (steps[end].mark != ' ') last = end;
    end = std::min(steps.size(), last + 1 + context_lines);
    if (out.empty()) out = "--- before\n+++ after\n";
    write_hunk(out, steps, begin, end, old_line, new_line);
    for (std::size_t i = begin; i < end; ++i) {
      old_line += steps[i].mark != '+';
      new_line += steps[i].mark != '-';
    }
    at = end;
  }
  return out;
}

}  // namespace lathe::ptx
