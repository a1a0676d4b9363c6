// All rows in the field domain, each by the widest form that it has.

#include "ptx/field_warp.h"

namespace lathe::ptx {

using field::Field;

template <>
const Rules<Field>& rules_of<Field>() {
  static const Rules<Field> rules = [] {
    Rules<Field> out = field::lane_rules();
    field::take_integer_rows(out);
    field::take_float_rows(out);
    return out;
  }();
  return rules;
}

}  // namespace lathe::ptx
