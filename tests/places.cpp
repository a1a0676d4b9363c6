#include "tests/places.h"

namespace lathe {

const char* const source_folder = LATHE_ROOT;
const char* const build_folder = LATHE_BUILD;

}  // namespace lathe
