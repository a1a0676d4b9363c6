#pragma once

// Which atomics may come in any order: those of one commutative function whose results nobody
// reads.

#include <cstdint>
#include <string>
#include <vector>

namespace lathe::ptx {

struct Program;

class OrderAtomics {
 public:
  OrderAtomics() = default;
  explicit OrderAtomics(const Program& program);

  /// Of two instructions, by their operations; without a program: yes.
  bool commute(std::uint32_t first, std::uint32_t second) const;

 private:
  /// By operation: the function with its type, empty where it commutes with nothing.
  std::vector<std::string> functions_;
};

}  // namespace lathe::ptx
