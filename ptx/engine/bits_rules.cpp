// The meanings of all rows in the bits domain.

#include "ptx/bits.h"
#include "ptx/warp.h"

namespace lathe::ptx {

LATHE_RULES_OF(Bits)

}  // namespace lathe::ptx
