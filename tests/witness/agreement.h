#pragma once

// Whether the table and the assembler take the same lines: counts, and the classes in which they do
// not agree.

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace lathe::ptx::witness {

struct Disagreements {
  std::size_t count = 0;
  std::vector<std::string> lines;  // Each with its target, version and the refusal.
};

struct Tally {
  std::size_t lines = 0, rows = 0;
  std::size_t rows_without_lines = 0;  // Whose operands are not known here.
  std::size_t rows_newer = 0;          // Of an ISA version that the assembler does not know.
  std::size_t fewest = ~std::size_t{0};  // Lines of a row that has any.
  std::size_t both_take = 0, both_refuse = 0;
  std::size_t table_alone = 0, assembler_alone = 0;  // That takes the line.
  std::size_t illegal = 0;  // One edit away from a legal line, and refused by the assembler.
  std::map<std::string, Disagreements> classes;  // By opcode, edit and who takes it.

  double table_share() const;      // Of the lines that the table takes, those the assembler takes.
  double assembler_share() const;  // The other way round.
};

/// `lines_per_row` lines of every row (or of one opcode's), most with one edit of a line that the
/// assembler takes; an error where no assembler is here.
Result<Tally> compare_with_assembler(std::size_t lines_per_row, std::uint64_t seed,
                                     std::string_view opcode = "");

/// The counts, and of each class as many lines.
std::string print(const Tally& tally, std::size_t lines_of_class = 1);

}  // namespace lathe::ptx::witness
