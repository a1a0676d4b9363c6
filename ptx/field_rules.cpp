// The meanings of all rows in the field domain, lane by lane.

#include "ptx/field_warp.h"
#include "ptx/warp.h"

namespace lathe::ptx::field {

const Rules<Field>& lane_rules() {
  static const Rules<Field> rules{detail::list_rules<Field>(), detail::list_converts<Field>()};
  return rules;
}

}  // namespace lathe::ptx::field
