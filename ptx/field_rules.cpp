// The meanings of all rows in the field domain.

#include "ptx/field.h"
#include "ptx/warp.h"

namespace lathe::ptx {

using field::Field;
LATHE_RULES_OF(Field)

}  // namespace lathe::ptx
