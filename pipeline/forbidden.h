#pragma once

// What no candidate may use: ways to remember an earlier launch, to know when and where it runs, to
// defer work, or to leave the caches to its own advantage. The table is in forbidden.cpp.

#include <string>
#include <vector>

#include "ptx/module.h"

namespace lathe {

struct Offence {
  ptx::Span span;
  std::string what, remedy;
};

/// In the order of the file. What the reference itself uses is allowed where the table says so;
/// `pdl` says whether the kernel is launched as a programmatic dependent.
std::vector<Offence> offences(const ptx::Module& candidate, const ptx::Module& reference, bool pdl);

}  // namespace lathe
