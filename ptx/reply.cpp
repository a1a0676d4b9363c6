// A proposer's reply in one of three forms. Nothing is guessed: a line that is not where the reply
// says it is refuses the whole reply, with the line and what stands there instead.

#include <algorithm>
#include <charconv>
#include <optional>

#include "ptx/lines.h"
#include "ptx/patch.h"

namespace lathe::ptx {
namespace {

using Lines = std::vector<std::string_view>;

Error refuse(std::string what, std::string remedy, std::size_t line, std::string file) {
  return {Fault::malformed,
          std::move(what),
          std::move(remedy),
          {std::move(file), static_cast<std::uint32_t>(line), line ? 1u : 0u},
          {}};
}

std::string shown(std::string_view line) {
  line = bare(line);
  std::string out = "`" + std::string(line.substr(0, 70));
  return out + (line.size() > 70 ? "..`" : "`");
}

bool opens_search(std::string_view line) { return bare(line) == "<<<<<<< SEARCH"; }

/// Without the fence that chat replies put around code; of several fenced parts, none is chosen.
Lines unfenced(const Lines& lines) {
  std::vector<std::size_t> fences;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (lines[i].starts_with("```")) fences.push_back(i);
  if (fences.size() != 2) return lines;
  return {lines.begin() + static_cast<std::ptrdiff_t>(fences[0] + 1),
          lines.begin() + static_cast<std::ptrdiff_t>(fences[1])};
}

// Search and replace.

struct Block {
  std::string search, replace;
  std::size_t line;  // Of the reply.
};

Result<Block> read_block(const Lines& lines, std::size_t& at) {
  Block block{{}, {}, at + 1};
  bool replacing = false;
  for (++at; at < lines.size(); ++at) {
    std::string_view line = bare(lines[at]);
    if (opens_search(lines[at]))
      return refuse("a SEARCH block begins inside another", "end each with `>>>>>>> REPLACE`",
                    at + 1, "reply");
    if (line == ">>>>>>> REPLACE") {
      if (!replacing)
        return refuse("a block without `=======`", "write it between SEARCH and REPLACE", at + 1,
                      "reply");
      return block;
    }
    if (line == "=======" && !replacing) {
      replacing = true;
      continue;
    }
    (replacing ? block.replace : block.search) += lines[at];
  }
  return refuse("a SEARCH block is never closed", "end it with `>>>>>>> REPLACE`", block.line,
                "reply");
}

/// How many lines of the block match from the best place; that place is named to the proposer.
Error not_found(const std::string& parent, const Block& block) {
  Lines have = lines_of(parent), want = lines_of(block.search);
  std::size_t best = 0, best_at = 0;
  for (std::size_t i = 0; i < have.size(); ++i) {
    std::size_t run = 0;
    while (run < want.size() && i + run < have.size() && want[run] == have[i + run]) ++run;
    if (run > best) best = run, best_at = i;
  }
  std::string block_name = "the SEARCH block at line " + std::to_string(block.line);
  std::string remedy = "copy the lines from the parent exactly, blanks included";
  if (best == 0)
    return refuse(
        block_name + " is not in the parent: no line equals its first, " + shown(want.front()),
        remedy, block.line + 1, "reply");
  std::string instead =
      best_at + best < have.size() ? shown(have[best_at + best]) : "the end of the file";
  return refuse(block_name + " is not in the parent: its first " + std::to_string(best) +
                    " lines stand at line " + std::to_string(best_at + 1) +
                    " of the parent, then " + instead + " stands where the block has " +
                    shown(want[best]),
                remedy, best_at + best + 1, "parent");
}

/// Where `search` stands as whole lines.
std::vector<std::size_t> places(const std::string& parent, const std::string& search) {
  std::vector<std::size_t> found;
  for (std::size_t at = parent.find(search); at != std::string::npos && found.size() < 3;
       at = parent.find(search, at + 1))
    if (at == 0 || parent[at - 1] == '\n') found.push_back(at);
  return found;
}

std::size_t line_at(const std::string& text, std::size_t byte) {
  return 1 + static_cast<std::size_t>(
                 std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(byte), '\n'));
}

Result<std::string> apply_blocks(const std::string& parent, const Lines& lines) {
  std::vector<Edit> edits;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    if (!opens_search(lines[at])) continue;
    Result<Block> block = read_block(lines, at);
    if (!block) return block.error();
    if (block->search.empty())
      return refuse("an empty SEARCH block", "quote the lines that are to be replaced", block->line,
                    "reply");
    std::vector<std::size_t> found = places(parent, block->search);
    if (found.empty()) return not_found(parent, *block);
    if (found.size() > 1)
      return refuse("the SEARCH block at line " + std::to_string(block->line) +
                        " stands in the parent more than once, at lines " +
                        std::to_string(line_at(parent, found[0])) + " and " +
                        std::to_string(line_at(parent, found[1])),
                    "quote more lines around the place", block->line, "reply");
    edits.push_back({static_cast<std::uint32_t>(found[0]),
                     static_cast<std::uint32_t>(found[0] + block->search.size()), block->replace});
  }
  Module whole;
  whole.text = std::make_shared<const std::string>(parent);
  whole.file = "reply";
  return ptx::apply(whole, std::move(edits));
}

// Unified diff.

struct Hunk {
  std::size_t old_first = 0, old_count = 1, new_count = 1;
};

bool read_number(std::string_view& text, std::size_t& number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

std::optional<Hunk> read_hunk(std::string_view line) {
  Hunk hunk;
  std::size_t new_first = 0;
  if (!take(line, "@@ -") || !read_number(line, hunk.old_first)) return std::nullopt;
  if (take(line, ",") && !read_number(line, hunk.old_count)) return std::nullopt;
  if (!take(line, " +") || !read_number(line, new_first)) return std::nullopt;
  if (take(line, ",") && !read_number(line, hunk.new_count)) return std::nullopt;
  if (!take(line, " @@")) return std::nullopt;
  return hunk;
}

struct Patching {
  const Lines& parent;
  const Lines& reply;
  std::size_t read = 0;  // Lines of the parent that are done.
  std::size_t at = 0;    // Line of the reply.
  std::string out;
};

Result<Done> hunk_line(Patching& patch, Hunk& hunk, bool& newline) {
  std::string_view line = patch.reply[patch.at];
  char mark = bare(line).empty() ? ' ' : line[0];
  std::string text(bare(line).empty() ? line : line.substr(1));
  bool no_newline =
      patch.at + 1 < patch.reply.size() && patch.reply[patch.at + 1].starts_with("\\");
  if (no_newline && text.ends_with('\n')) text.pop_back();
  newline = !no_newline;
  if (mark != ' ' && mark != '-' && mark != '+')
    return refuse("found " + shown(line) + " inside a hunk",
                  "a hunk's lines begin with a blank, `-` or `+`, and their numbers are in its "
                  "header",
                  patch.at + 1, "reply");
  if (mark != '+') {
    if (hunk.old_count == 0)
      return refuse("the hunk has more old lines than its header says", "count them again",
                    patch.at + 1, "reply");
    --hunk.old_count;
    if (patch.read >= patch.parent.size())
      return refuse("the hunk goes on after the parent's last line", "diff against the parent",
                    patch.read + 1, "parent");
    if (patch.parent[patch.read] != text)
      return refuse("line " + std::to_string(patch.read + 1) + " of the parent is " +
                        shown(patch.parent[patch.read]) + " where the diff has " + shown(text),
                    "copy the lines from the parent exactly, blanks included", patch.read + 1,
                    "parent");
    ++patch.read;
  }
  if (mark != '-') {
    if (hunk.new_count == 0)
      return refuse("the hunk has more new lines than its header says", "count them again",
                    patch.at + 1, "reply");
    --hunk.new_count;
    patch.out += text;
  }
  return Done{};
}

Result<Done> one_hunk(Patching& patch, Hunk hunk) {
  std::size_t first = hunk.old_count == 0 ? hunk.old_first : hunk.old_first - 1;
  if (hunk.old_first == 0 && hunk.old_count > 0) first = patch.parent.size() + 1;
  if (first < patch.read || first > patch.parent.size())
    return refuse("the hunk begins at line " + std::to_string(hunk.old_first) +
                      ", which is not after the hunk before it and in the parent",
                  "write the hunks in the parent's order", patch.at + 1, "reply");
  for (; patch.read < first; ++patch.read) patch.out += patch.parent[patch.read];
  bool newline = true;
  for (++patch.at; hunk.old_count > 0 || hunk.new_count > 0; ++patch.at) {
    if (patch.at >= patch.reply.size())
      return refuse("the last hunk has fewer lines than its header says", "count them again",
                    patch.reply.size(), "reply");
    Result<Done> done = hunk_line(patch, hunk, newline);
    if (!done) return done;
    if (!newline) ++patch.at;
  }
  return Done{};
}

Result<std::string> apply_diff(const Lines& parent, const Lines& reply) {
  Patching patch{parent, reply, 0, 0, {}};
  bool any = false;
  while (patch.at < reply.size()) {
    if (!reply[patch.at].starts_with("@@")) {
      bool stray = any && !bare(reply[patch.at]).empty();
      if (stray)
        return refuse("found " + shown(reply[patch.at]) + " after a hunk",
                      "the hunk's header says how many lines it has", patch.at + 1, "reply");
      ++patch.at;
      continue;
    }
    std::optional<Hunk> hunk = read_hunk(reply[patch.at]);
    if (!hunk)
      return refuse("the hunk's header " + shown(reply[patch.at]) + " cannot be read",
                    "write `@@ -12,7 +12,8 @@`", patch.at + 1, "reply");
    any = true;
    Result<Done> done = one_hunk(patch, *hunk);
    if (!done) return done.error();
  }
  for (; patch.read < parent.size(); ++patch.read) patch.out += parent[patch.read];
  return std::move(patch.out);
}

bool any_line(const Lines& lines, bool (*wanted)(std::string_view)) {
  return std::any_of(lines.begin(), lines.end(), wanted);
}

}  // namespace

Result<std::string> apply_reply(const std::string& parent, std::string_view reply) {
  Lines lines = lines_of(reply);
  if (any_line(lines, opens_search)) return apply_blocks(parent, lines);
  lines = unfenced(lines);
  if (any_line(lines, [](std::string_view line) { return line.starts_with("@@ "); }))
    return apply_diff(lines_of(parent), lines);
  if (any_line(lines, [](std::string_view line) { return line.starts_with(".version"); })) {
    std::string whole;
    for (std::string_view line : lines) whole += line;
    return whole;
  }
  return refuse("the reply holds no module, no unified diff and no SEARCH block",
                "send a whole module that begins with .version, a unified diff with @@ headers, or "
                "`<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE` blocks",
                0, "reply");
}

}  // namespace lathe::ptx
