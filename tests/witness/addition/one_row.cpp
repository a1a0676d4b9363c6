// A chapter of the table by itself: says whether it has `bmsk` and what that row gives for each
// pair of words on its input. Compiled by tests/witness/addition_test.cpp against a copy of the
// chapter.

#include <cstdio>
#include <utility>

#include "ptx/bits_value.h"
#include "ptx/isa/integer.h"

namespace {

using namespace lathe::ptx;
using Word = BitsOf<Type::b32>;

template <int number>
bool run_row() {
  using Row = integer::Chapter::At<number>;
  if constexpr (Row::effect == Effect::none) {
    if constexpr (Row::signature.opcode == "bmsk" && contains(Row::types, Type::b32)) {
      unsigned wrap, a, b;
      while (std::scanf("%u %x %x", &wrap, &a, &b) == 3) {
        Form form;
        if (wrap != 0) form.set(Flag::wrap);
        auto x = BitsOf<Type::u32>::from(a), y = BitsOf<Type::u32>::from(b);
        Word z = Row::template meaning<Type::b32>(form, x, y, x, x);
        std::printf("%08x\n", z.bits());
      }
      return true;
    }
  }
  return false;
}

template <int... numbers>
bool run(std::integer_sequence<int, numbers...>) {
  return (run_row<numbers>() || ...);
}

}  // namespace

int main() {
  bool found = run(std::make_integer_sequence<int, integer::Chapter::row_count>{});
  if (!found) std::puts("the table has no such row");
  return found ? 0 : 1;
}
