// Asking both, many lines a file.

#include "tests/witness/agreement.h"

#include <cstdio>

#include "tests/witness/written.h"

namespace lathe::ptx::witness {
namespace {

constexpr std::size_t lines_of_a_file = 400;

void count(Tally& tally, const Written& written, const std::string& refusal) {
  Taken table = table_takes(written);
  bool assembler = refusal.empty();
  ++tally.lines;
  tally.illegal += !assembler;
  if (table.takes == assembler) {
    ++(assembler ? tally.both_take : tally.both_refuse);
    return;
  }
  ++(table.takes ? tally.table_alone : tally.assembler_alone);
  std::string opcode(rows()[written.row].signature.opcode);
  Disagreements& found =
      tally.classes[opcode + ", edit of " + std::string(name_of(written.edit)) + ", taken by the " +
                    (table.takes ? "table" : "assembler") + " alone"];
  if (found.count++ == 0)
    found.example = written.target + " " + std::to_string(written.version) + ": " + written.line +
                    "  (" + (table.takes ? refusal : table.why) + ")";
}

double share(std::size_t both, std::size_t alone) {
  return both + alone == 0 ? 1.0 : static_cast<double>(both) / static_cast<double>(both + alone);
}

}  // namespace

double Tally::table_share() const { return share(both_take, table_alone); }
double Tally::assembler_share() const { return share(both_take, assembler_alone); }

Result<Tally> compare_with_assembler(std::size_t lines_per_row, std::uint64_t seed,
                                     std::string_view opcode) {
  Tally tally;
  std::map<std::pair<std::string, unsigned>, std::vector<Written>> modules;
  for (std::size_t row = 0; row < rows().size(); ++row) {
    std::string_view name = rows()[row].signature.opcode;
    if (name.starts_with('$') || (!opcode.empty() && name != opcode)) continue;
    ++tally.rows;
    std::vector<Written> lines =
        written_lines(static_cast<std::uint16_t>(row), lines_per_row, seed);
    tally.rows_without_lines += lines.empty();
    for (Written& line : lines) {
      auto key = std::pair(line.target, line.version);
      modules[key].push_back(std::move(line));
    }
  }
  for (const auto& [key, lines] : modules)
    for (std::size_t begin = 0; begin < lines.size(); begin += lines_of_a_file) {
      std::vector<const Written*> part;
      for (std::size_t i = begin; i < std::min(begin + lines_of_a_file, lines.size()); ++i)
        part.push_back(&lines[i]);
      Result<std::vector<std::string>> answers = assembler_takes(part);
      if (!answers) return answers.error();
      for (std::size_t i = 0; i < part.size(); ++i) count(tally, *part[i], (*answers)[i]);
    }
  return tally;
}

std::string print(const Tally& tally) {
  char text[512];
  std::snprintf(text, sizeof text,
                "%zu lines of %zu rows (%zu without): both take %zu, both refuse %zu; the table "
                "alone takes %zu (%.3f %% agree), the assembler alone %zu (%.3f %% agree); illegal "
                "%zu\n",
                tally.lines, tally.rows, tally.rows_without_lines, tally.both_take,
                tally.both_refuse, tally.table_alone, 100 * tally.table_share(),
                tally.assembler_alone, 100 * tally.assembler_share(), tally.illegal);
  std::string all = text;
  for (const auto& [name, found] : tally.classes)
    all += "  " + std::to_string(found.count) + " " + name + ": " + found.example + "\n";
  return all;
}

}  // namespace lathe::ptx::witness
