#pragma once

// The figures of what passed, as one JSON object in a stable order: the evidence of a passed
// verdict and what the command line prints. A figure that was not taken is absent.

#include <string>

#include "pipeline/gates.h"

namespace lathe {

std::string figures(const Assembled&);
std::string figures(const Sanitized&);
std::string figures(const Tested&);
std::string figures(const Proof&);
std::string figures(const Timing&);

}  // namespace lathe
