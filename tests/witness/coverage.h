#pragma once

// Which rows of the table the device has witnessed, as docs/WITNESS.md says it.

#include <string>
#include <vector>

#include "tests/witness/archive.h"

namespace lathe::ptx::witness {

struct RowCoverage {
  std::size_t forms = 0, kernels = 0, vectors = 0;
};

/// By row number; records whose instruction no row takes any more are left out.
std::vector<RowCoverage> coverage_of(const Archive& archive);

/// Why a row without a witness has none.
std::string reason_without(std::size_t row);

/// The whole page.
std::string witness_page(const Archive& archive);

}  // namespace lathe::ptx::witness
