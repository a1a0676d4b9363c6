#pragma once

// All chapters of the instruction set. Compiling them takes seconds: include this only where every
// row is visited (ptx/isa.cpp, and ptx/warp.h for a domain's rules).

#include "ptx/isa/atomic.h"
#include "ptx/isa/control.h"
#include "ptx/isa/convert.h"
#include "ptx/isa/floating.h"
#include "ptx/isa/integer.h"
#include "ptx/isa/logic.h"
#include "ptx/isa/matrix.h"
#include "ptx/isa/move.h"
#include "ptx/isa/tensor.h"

namespace lathe::ptx {

/// Calls `use.operator()<Chapter>()` for each chapter.
constexpr void for_each_chapter(auto use) {
  use.template operator()<integer::Chapter>();
  use.template operator()<floating::Chapter>();
  use.template operator()<logic::Chapter>();
  use.template operator()<movement::Chapter>();
  use.template operator()<conversion::Chapter>();
  use.template operator()<control::Chapter>();
  use.template operator()<atomics::Chapter>();
  use.template operator()<matrix::Chapter>();
  use.template operator()<tensor::Chapter>();
}

}  // namespace lathe::ptx
