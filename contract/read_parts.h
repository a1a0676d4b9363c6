#pragma once

// The tables of contract.toml, one function each. A part that cannot be read leaves complaints and
// whatever of it could be read.

#include <string>

#include "contract/contract.h"
#include "contract/reading.h"

namespace lathe {

struct LaunchPlaces {
  Place table, block, cluster, dynamic_shared_bytes;
};
Launch read_launch(TableReader& reader, const std::string& target, const Launch& base,
                   LaunchPlaces& places, bool requires_shape);

/// `what` names the tensor in complaints. `base` is the tensor that a case differs from, or null.
Tensor read_tensor(const TomlValue& table, const std::string& what, const Tensor* base,
                   Complaints& complaints);

/// The bits of a scalar; complains where the value does not fit the type.
std::optional<std::uint64_t> read_scalar(const TomlValue& value, ParameterType type,
                                         const std::string& field, Complaints& complaints);
/// A scalar as TOML, so that read_scalar gives the same bits.
std::string print_scalar(ParameterType type, std::uint64_t bits);

/// The rest of a `tensormap = {tensor = "x", box = [..], swizzle = "128B"}` of a tensor of this
/// rank.
HostMap read_host_map(TableReader& reader, std::size_t rank);

std::optional<ParameterType> parse_parameter_type(std::string_view name);

}  // namespace lathe
