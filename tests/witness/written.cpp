// Lines, edits of one place, and what the table and the assembler say of them.

#include "tests/witness/written.h"

#include <algorithm>
#include <cstring>

#include "base/files.h"
#include "base/process.h"
#include "base/random.h"
#include "ptx/module.h"
#include "ptx/program.h"

namespace lathe::ptx::witness {
namespace {

/// Types that an edit puts in another's place, also some that no register instruction has.
constexpr std::string_view edit_types[] = {
    "b8",     "b16",   "b32",  "b64",  "b128", "u8",   "u16",    "u32",  "u64",
    "s8",     "s16",   "s32",  "s64",  "f16",  "f32",  "f64",    "bf16", "f16x2",
    "bf16x2", "f32x2", "tf32", "e4m3", "e5m2", "pred", "e4m3x2", "u16x2"};
constexpr std::string_view edit_operands[] = {"%h1",     "%r1",        "%l1", "%q1",
                                              "%p1",     "[%l2]",      "7",   "{%r1, %r2}",
                                              "%r1|%p1", "0f3F800000", "_",   "!%p2"};
constexpr std::string_view edit_words[] = {
    "sat",      "ftz",  "rn",  "rz",   "v2",      "v4",     "global", "shared",
    "relaxed",  "gpu",  "cta", "sync", "aligned", "wide",   "hi",     "lo",
    "cc",       "relu", "nc",  "x2",   "trans",   "approx", "NaN",    "L2::cache_hint",
    "volatile", "and"};

using Texts = std::vector<std::string>;

std::string line_of(std::string_view opcode, const Texts& words, const Texts& operands) {
  std::string line(opcode);
  for (const std::string& word : words) line += "." + word;
  for (std::size_t i = 0; i < operands.size(); ++i) line += (i == 0 ? " " : ", ") + operands[i];
  return line + ";";
}

/// A module on which the row exists at all; drawn among those that do.
void place(Written& written, const Gate& gate, Draw& draw) {
  written.version = assembler_version;
  if (gate.specific) {
    written.target = "sm_" + std::to_string(gate.target) + "a";
    return;
  }
  static constexpr const char* targets[] = {"sm_89", "sm_90a", "sm_100a", "sm_90"};
  written.target = gate.target > 90   ? "sm_100a"
                   : gate.target > 89 ? targets[1 + draw.below(3)]
                                      : targets[draw.below(4)];
}

bool has(const Texts& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// A word of the same row's notation, or of any.
std::string any_word(const RowText& row, Draw& draw) {
  const Signature& s = row.signature;
  if (draw.one_in(3) || s.element_count == 0)
    return std::string(edit_words[draw.below(std::size(edit_words))]);
  std::vector<std::string_view> words = choices(row, s.elements[draw.below(s.element_count)]);
  if (words.empty()) return "ftz";
  std::string word(words[draw.below(words.size())]);
  return word.empty() ? "sat" : word;
}

/// One that the line does not have yet: the assembler takes many a modifier twice.
std::string other_word(const RowText& row, const Texts& words, Draw& draw) {
  std::string word = any_word(row, draw);
  for (int tries = 0; has(words, word) && tries < 8; ++tries) word = any_word(row, draw);
  return word;
}

void edit_word(const RowText& row, Texts& words, Draw& draw) {
  std::size_t at = draw.below(words.size() + 1), how = draw.below(3);
  auto place = words.begin() + static_cast<std::ptrdiff_t>(at);
  if (how == 0 || at == words.size())
    words.insert(place, other_word(row, words, draw));
  else if (how == 1)
    words.erase(place);
  else
    *place = other_word(row, words, draw);
}

/// One target or version before the row's first.
void edit_gate(Written& written, const Gate& gate) {
  if (written.edit == EditKind::target) {
    written.target = gate.target > 90 ? "sm_90a" : gate.target > 89 ? "sm_89" : "sm_80";
    return;
  }
  written.version = gate.isa - (gate.isa % 10 == 0 ? 2u : 1u);
  if (written.version % 10 == 9) written.version = 78;
  if (written.version < 86 && written.target == "sm_100a") written.target = "sm_90a";
  if (written.version < 80) written.target = "sm_89";
}

EditKind draw_kind(const Written& line, const Texts& types, Draw& draw) {
  static constexpr EditKind kinds[] = {EditKind::type,   EditKind::modifier, EditKind::modifier,
                                       EditKind::count,  EditKind::operand,  EditKind::operand,
                                       EditKind::target, EditKind::version};
  const Gate& gate = rows()[line.row].gate;
  EditKind kind = kinds[draw.below(std::size(kinds))];
  bool none = line.operands.empty() && (kind == EditKind::operand || kind == EditKind::count);
  if (none || (kind == EditKind::type && types.empty()) ||
      (kind == EditKind::target && gate.target <= 80 && !gate.specific) ||
      (kind == EditKind::version && gate.isa <= 78))
    return EditKind::modifier;
  return kind;
}

Written edited_once(const Written& line, Draw& draw) {
  const RowText& row = rows()[line.row];
  Written written = line;
  Texts types;
  for (const std::string& word : line.words)
    if (type_named(word)) types.push_back(word);
  written.edit = draw_kind(line, types, draw);
  Texts& operands = written.operands;
  switch (written.edit) {
    case EditKind::type: {
      const std::string& from = types[draw.below(types.size())];
      *std::find(written.words.begin(), written.words.end(), from) =
          edit_types[draw.below(std::size(edit_types))];
      break;
    }
    case EditKind::count:
      if (draw.one_in(2))
        operands.pop_back();
      else
        operands.push_back(operands.back());
      break;
    case EditKind::operand:
      operands[draw.below(operands.size())] = edit_operands[draw.below(std::size(edit_operands))];
      break;
    case EditKind::target:
    case EditKind::version:
      edit_gate(written, row.gate);
      break;
    default:
      edit_word(row, written.words, draw);
  }
  written.line = line_of(row.signature.opcode, written.words, operands);
  return written;
}

}  // namespace

std::uint64_t Draw::next() { return philox64(seed_, 17, index_++) >> 1; }

std::string_view name_of(EditKind kind) {
  static constexpr std::string_view names[] = {"none",    "type",   "modifier", "count",
                                               "operand", "target", "version"};
  return names[static_cast<std::size_t>(kind)];
}

std::vector<Written> written_lines(std::uint16_t row, std::size_t count, std::uint64_t seed) {
  std::vector<Written> lines;
  Draw draw(seed * 1000 + row);
  std::vector<Instance> instances = instances_of(row, 1200, seed);
  if (instances.empty() || instances[0].opcode().starts_with('$')) return lines;
  for (std::size_t tries = 0; lines.size() < count && tries < 4 * count; ++tries) {
    const Instance& instance = instances[draw.below(instances.size())];
    auto operands = operand_texts(instance, draw);
    if (!operands) continue;
    Written& written = lines.emplace_back();
    written.row = row;
    place(written, instance.row->gate, draw);
    written.words.assign(instance.words.begin(), instance.words.end());
    written.operands = std::move(*operands);
    written.line = line_of(instance.opcode(), written.words, written.operands);
  }
  return lines;
}

Written edited(const Written& line, Draw& draw) {
  for (int tries = 0; tries < 16; ++tries) {
    Written written = edited_once(line, draw);
    if (written.line != line.line || written.target != line.target ||
        written.version != line.version)
      return written;
  }
  return line;
}

std::string module_before(const std::string& target, unsigned version) {
  return ".version " + std::to_string(version / 10) + "." + std::to_string(version % 10) +
         "\n.target " + target +
         "\n.address_size 64\n.func nothing()\n{\nret;\n}\n"
         ".visible .entry k(.param .u64 out, .param .align 16 .b8 in[64])\n{\n"
         ".reg .b8 %b<16>; .reg .b16 %h<16>; .reg .b32 %r<16>; .reg .b64 %l<16>; .reg .pred "
         "%p<8>;\n" +
         (version >= 83 && target != "sm_89" && target != "sm_80" ? ".reg .b128 %q<4>;\n" : "\n") +
         ".shared .align 128 .b8 room[1024];\nplaces: .branchtargets end;\n";
}

Taken table_takes(const Written& written) {
  Parsed parsed = parse(module_before(written.target, written.version) + written.line + "\n" +
                            std::string(module_behind),
                        "line.ptx");
  if (!parsed.errors.empty()) return {false, parsed.errors[0].what};
  Result<Target> target = parse_target(written.target);
  Result<FormMatch> found =
      match(parsed.module.find_entry("k")->instructions[0], written.version, *target);
  if (!found) return {false, found.error().what};
  Result<Program> program = decode(parsed.module, "k");
  if (!program) return {false, program.error().what};
  return {true, ""};
}

bool assembles(const Written& written) {
  Scratch scratch;
  std::filesystem::path file = scratch.path() / "line.ptx";
  std::string text = module_before(written.target, written.version) + written.line + "\n" +
                     std::string(module_behind);
  if (!write_file(file, text)) return true;
  auto end =
      run_process({"ptxas", "-arch=" + written.target, "-O0", file.string(), "-o", "/dev/null"}, "",
                  {std::chrono::seconds(5), 0, 0, 64u << 20});
  return !end || end->timed_out || (end->status == 0 && end->signal == 0);
}

Result<std::vector<std::string>> assembler_takes(const std::vector<const Written*>& lines) {
  std::vector<std::string> answers(lines.size());
  if (lines.empty()) return answers;
  Scratch scratch;
  std::vector<std::size_t> left(lines.size());
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
  std::string before = module_before(lines[0]->target, lines[0]->version);
  auto first = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  std::string architecture = "compute_" + lines[0]->target.substr(3);
  while (!left.empty()) {
    std::string text = before;
    // The assembler names some lines late or early: a plain one stands on either side of each.
    const std::string plain = "mov.u32 %r15, %r14;\n";
    for (std::size_t i : left) text += plain + lines[i]->line + "\n" + plain;
    text += module_behind;
    std::filesystem::path file = scratch.path() / "lines.ptx";
    if (auto done = write_file(file, text); !done) return done.error();
    auto end = run_process({"ptxas", "-arch=" + architecture, file.string(), "-o", "/dev/null"}, "",
                           {std::chrono::seconds(60), 0, 0, 64u << 20});
    if (!end) return end.error();
    if (end->status == 0 && end->signal == 0) break;
    bool any = false;
    for (std::size_t at = end->err.find(", line "); at != std::string::npos;
         at = end->err.find(", line ", at + 1)) {
      std::size_t line = std::strtoul(end->err.c_str() + at + 7, nullptr, 10);
      std::string message = end->err.substr(at + 7, end->err.find('\n', at) - at - 7);
      bool counts =
          message.find("error") != std::string::npos || message.find("fatal") != std::string::npos;
      if (!counts || line <= first) continue;
      if ((line - first - 1) / 3 >= left.size()) continue;
      answers[left[(line - first - 1) / 3]] = message.substr(message.find(';') + 2);
      any = true;
    }
    if (!any && left.size() == 1) {
      answers[left[0]] = "ends without a word: " + end->err.substr(0, 200);
      break;
    }
    if (!any) {  // One of them ends the assembler itself: each half is asked alone.
      for (std::size_t half = 0; half < 2; ++half) {
        std::vector<const Written*> some;
        std::size_t from = half * left.size() / 2, to = half == 0 ? left.size() / 2 : left.size();
        for (std::size_t i = from; i < to; ++i) some.push_back(lines[left[i]]);
        Result<std::vector<std::string>> part = assembler_takes(some);
        if (!part) return part;
        for (std::size_t i = from; i < to; ++i) answers[left[i]] = (*part)[i - from];
      }
      return answers;
    }
    // A syntax error hides what stands behind it, so the rest is asked again.
    std::erase_if(left, [&](std::size_t i) { return !answers[i].empty(); });
  }
  return answers;
}

}  // namespace lathe::ptx::witness
