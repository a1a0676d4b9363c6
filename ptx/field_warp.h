#pragma once

// Two ways to carry out a row in the field domain: lane by lane, and a whole warp at once where its
// operands have a form for that.

#include <cassert>

#include "ptx/field.h"
#include "ptx/isa.h"
#include "ptx/rules.h"

namespace lathe::ptx::field {

const Rules<Field>& lane_rules();

// Puts rows that have a form for whole warps in the place of those that go lane by lane.

void take_float_rows(Rules<Field>& rules);
void take_integer_rows(Rules<Field>& rules);

/// The number of a chapter's first row.
template <class Chapter>
std::size_t first_row_of() {
  const auto& all = rows();
  std::string_view text = Chapter::template At<0>::signature.text;
  std::size_t first = 0;
  while (all.at(first).signature.text != text) ++first;
  [&]<int... i>(std::integer_sequence<int, i...>) {
    (assert(all.at(first + i).signature.text == Chapter::template At<i>::signature.text), ...);
  }
  (std::make_integer_sequence<int, Chapter::row_count>{});
  return first;
}

}  // namespace lathe::ptx::field
