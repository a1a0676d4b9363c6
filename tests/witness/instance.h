#pragma once

// Instances of the instruction table: a row with one choice for each of its modifiers and types,
// as an instruction is written. What is generated here comes from the rows alone.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/isa.h"

namespace lathe::ptx::witness {

struct Instance {
  const RowText* row = nullptr;
  std::uint16_t row_number = 0;
  std::vector<std::string_view> words;  // Modifiers in the row's order.
  Type type = Type::b32, other = Type::b32;

  std::string_view opcode() const { return row->signature.opcode; }
  bool has(std::string_view word) const;
  /// The first modifier that begins so, or nothing: "v" finds v2, "m64n" finds a shape.
  std::string_view word_with(std::string_view begin) const;
  /// "add.rn.f32"
  std::string mnemonic() const;
};

/// Every choice of a row where there are at most `most`; otherwise so many, each modifier and type
/// among them, chosen by the seed.
std::vector<Instance> instances_of(std::uint16_t row, std::size_t most, std::uint64_t seed);

/// The modifiers that an element of the notation stands for; an optional one has "" first.
std::vector<std::string_view> choices(const RowText& row, const Element& element);

}  // namespace lathe::ptx::witness
