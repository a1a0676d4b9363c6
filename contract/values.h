#pragma once

// What an input's elements may be, as the `values` field says it.

#include <optional>
#include <string>

#include "contract/contract.h"
#include "contract/reading.h"

namespace lathe {

/// The integers that a type holds; of a float the range that its finite values cover, as far as 64
/// bits go.
struct IntegerRange {
  std::int64_t low, high;
};
IntegerRange integer_range(Dtype dtype);

/// The greatest finite value of a type.
double greatest_of(Dtype dtype);

/// Reads `values` of a tensor whose type and shape are known, and complains where they contradict.
std::optional<Values> read_values(const TomlValue& value, const Tensor& tensor,
                                  const std::string& field, Complaints& complaints);

/// As TOML.
std::string print_values(const Values& values);

}  // namespace lathe
