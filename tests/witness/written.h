#pragma once

// Instances of the table written as lines of PTX, and edits of one place that most often make them
// illegal: what the table and the assembler must agree on.

#include <optional>
#include <string>
#include <vector>

#include "tests/witness/instance.h"

namespace lathe::ptx::witness {

enum class EditKind : std::uint8_t { none, type, modifier, count, operand, target, version };
std::string_view name_of(EditKind kind);

/// A line with the module that it stands in.
struct Written {
  std::string line;       // "add.rn.f32 %r1, %r2, %r3;"
  std::string target;     // "sm_90a"
  unsigned version = 90;  // 90 is 9.0
  std::uint16_t row = 0;
  EditKind edit = EditKind::none;
  std::vector<std::string> words{}, operands{};  // Of which the line is made.
};

/// A stream of draws.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t next();
  std::size_t below(std::size_t count) { return count == 0 ? 0 : next() % count; }
  bool one_in(std::size_t count) { return below(count) == 0; }

 private:
  std::uint64_t seed_, index_ = 0;
};

/// The operands of an instance as a legal line has them; none where the row's are not known here.
std::optional<std::vector<std::string>> operand_texts(const Instance& instance, Draw& draw);

/// `count` lines of a row without an edit; the same seed gives the same lines.
std::vector<Written> written_lines(std::uint16_t row, std::size_t count, std::uint64_t seed);

/// The line with one edit that changes it.
Written edited(const Written& line, Draw& draw);

/// The newest version that the assembler knows.
inline constexpr unsigned assembler_version = 90;

/// What stands before and behind the lines of a module.
std::string module_before(const std::string& target, unsigned version);
inline constexpr std::string_view module_behind = "end:\nret;\n}\n";

/// Whether the table takes the line, and why not.
struct Taken {
  bool takes = false;
  std::string why;
};
Taken table_takes(const Written& written);

/// Whether the assembler, which parsed the line, also makes code of it: for what only it takes.
/// True where it does not end in time.
bool assembles(const Written& written);

/// The assembler's answers for lines of one target and version, many in a file. Empty: taken.
Result<std::vector<std::string>> assembler_takes(const std::vector<const Written*>& lines);

}  // namespace lathe::ptx::witness
