// Asking both, many lines a file.

#include "tests/witness/agreement.h"

#include <algorithm>
#include <cstdio>

#include "tests/witness/written.h"

namespace lathe::ptx::witness {
namespace {

constexpr std::size_t lines_of_a_file = 400;
constexpr std::size_t lines_of_a_class = 1000;

void count(Tally& tally, const Written& written, const std::string& refusal) {
  Taken table = table_takes(written);
  bool assembler = refusal.empty();
  // Its parser is laxer than what follows it.
  if (assembler && !table.takes) assembler = assembles(written);
  ++tally.lines;
  tally.illegal += !assembler && written.edit != EditKind::none;
  if (table.takes == assembler) {
    ++(assembler ? tally.both_take : tally.both_refuse);
    return;
  }
  ++(table.takes ? tally.table_alone : tally.assembler_alone);
  std::string opcode(rows()[written.row].signature.opcode);
  Disagreements& found =
      tally.classes[opcode + ", edit of " + std::string(name_of(written.edit)) + ", taken by the " +
                    (table.takes ? "table" : "assembler") + " alone"];
  ++found.count;
  if (found.lines.size() < lines_of_a_class)
    found.lines.push_back(written.target + " " + std::to_string(written.version) + ": " +
                          written.line + "  (" + (table.takes ? refusal : table.why) + ")");
}

/// What the assembler says of each line; lines of one target and version share files.
Result<std::vector<std::string>> refusals_of(const std::vector<Written>& lines) {
  std::map<std::pair<std::string, unsigned>, std::vector<std::size_t>> modules;
  for (std::size_t i = 0; i < lines.size(); ++i)
    modules[{lines[i].target, lines[i].version}].push_back(i);
  std::vector<std::string> refusals(lines.size());
  for (const auto& [key, members] : modules)
    for (std::size_t begin = 0; begin < members.size(); begin += lines_of_a_file) {
      std::vector<const Written*> part;
      for (std::size_t i = begin; i < std::min(begin + lines_of_a_file, members.size()); ++i)
        part.push_back(&lines[members[i]]);
      Result<std::vector<std::string>> answers = assembler_takes(part);
      if (!answers) return answers.error();
      for (std::size_t i = 0; i < part.size(); ++i)
        refusals[members[begin + i]] = std::move((*answers)[i]);
    }
  return refusals;
}

double share(std::size_t both, std::size_t alone) {
  return both + alone == 0 ? 1.0 : static_cast<double>(both) / static_cast<double>(both + alone);
}

/// Two lines in five have no edit.
std::vector<Written> plain_lines(Tally& tally, std::size_t lines_per_row, std::uint64_t seed,
                                 std::string_view opcode) {
  std::vector<Written> lines;
  for (std::size_t row = 0; row < rows().size(); ++row) {
    std::string_view name = rows()[row].signature.opcode;
    if (name.starts_with('$') || (!opcode.empty() && name != opcode)) continue;
    ++tally.rows;
    if (rows()[row].gate.isa > assembler_version) {
      ++tally.rows_newer;
      continue;
    }
    std::vector<Written> some =
        written_lines(static_cast<std::uint16_t>(row), (2 * lines_per_row + 4) / 5, seed);
    tally.rows_without_lines += some.empty();
    std::move(some.begin(), some.end(), std::back_inserter(lines));
  }
  return lines;
}

/// Edits of the lines that the assembler takes, so many a row.
std::vector<Written> edits_of(const std::vector<Written>& lines,
                              const std::vector<std::string>& refusals, std::size_t a_row,
                              std::uint64_t seed) {
  std::map<std::uint16_t, std::vector<const Written*>> legal;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (refusals[i].empty()) legal[lines[i].row].push_back(&lines[i]);
  std::vector<Written> edits;
  for (const auto& [row, some] : legal) {
    Draw draw(seed * 1000 + row + 500'000);
    for (std::size_t i = 0; i < a_row; ++i) edits.push_back(edited(*some[i % some.size()], draw));
  }
  return edits;
}

}  // namespace

double Tally::table_share() const { return share(both_take, table_alone); }
double Tally::assembler_share() const { return share(both_take, assembler_alone); }

Result<Tally> compare_with_assembler(std::size_t lines_per_row, std::uint64_t seed,
                                     std::string_view opcode) {
  Tally tally;
  std::vector<Written> lines = plain_lines(tally, lines_per_row, seed, opcode);
  Result<std::vector<std::string>> refusals = refusals_of(lines);
  if (!refusals) return refusals.error();
  std::size_t a_row = lines_per_row - (2 * lines_per_row + 4) / 5;
  std::vector<Written> edits = edits_of(lines, *refusals, a_row, seed);
  Result<std::vector<std::string>> others = refusals_of(edits);
  if (!others) return others.error();
  std::map<std::uint16_t, std::size_t> of_row;
  for (std::size_t i = 0; i < lines.size(); ++i)
    count(tally, lines[i], (*refusals)[i]), ++of_row[lines[i].row];
  for (std::size_t i = 0; i < edits.size(); ++i)
    count(tally, edits[i], (*others)[i]), ++of_row[edits[i].row];
  for (const auto& [row, number] : of_row) tally.fewest = std::min(tally.fewest, number);
  return tally;
}

std::string print(const Tally& tally, std::size_t lines_of_class) {
  char text[640];
  std::snprintf(text, sizeof text,
                "%zu lines of %zu rows, at least %zu of each (%zu rows newer than the assembler, "
                "%zu without lines): both take %zu, both refuse %zu; the table alone takes %zu "
                "(%.3f %% agree), the assembler alone %zu (%.3f %% agree); illegal by one edit "
                "%zu\n",
                tally.lines, tally.rows, tally.fewest, tally.rows_newer, tally.rows_without_lines,
                tally.both_take, tally.both_refuse, tally.table_alone, 100 * tally.table_share(),
                tally.assembler_alone, 100 * tally.assembler_share(), tally.illegal);
  std::string all = text;
  for (const auto& [name, found] : tally.classes) {
    all += "  " + std::to_string(found.count) + " " + name + "\n";
    for (std::size_t i = 0; i < std::min(lines_of_class, found.lines.size()); ++i)
      all += "      " + found.lines[i] + "\n";
  }
  return all;
}

}  // namespace lathe::ptx::witness
