// `tensormap = {..}` of a parameter.

#include <algorithm>
#include <array>

#include "contract/read_parts.h"

namespace lathe {

HostMap read_host_map(TableReader& reader, std::size_t rank) {
  static constexpr std::array<std::string_view, 4> swizzles{"none", "32B", "64B", "128B"};
  HostMap map;
  auto numbers = [&](std::string_view key, Need need, std::int64_t high) {
    auto list = reader.integers(key, need, rank, 1, high);
    return list ? *list : std::vector<std::int64_t>{};
  };
  map.box = numbers("box", Need::required, 256);
  map.element_strides = numbers("element_strides", Need::optional, 8);
  if (rank > 5)
    reader.complaints().add(reader.self().place,
                            reader.field("tensor") + ": a tensor map has at most 5 dimensions",
                            "pass the tensor's address");
  if (auto swizzle = reader.string("swizzle", Need::optional)) {
    map.swizzle = *swizzle;
    if (std::find(swizzles.begin(), swizzles.end(), *swizzle) == swizzles.end())
      reader.complaints().add(reader.value("swizzle", Need::optional)->place,
                              reader.field("swizzle") + ": unknown swizzle `" + *swizzle + "`",
                              "Known are none, 32B, 64B and 128B");
  }
  if (auto fill = reader.string("fill", Need::optional)) {
    map.nan_fill = *fill == "nan";
    if (*fill != "nan" && *fill != "zero")
      reader.complaints().add(reader.value("fill", Need::optional)->place,
                              reader.field("fill") + ": unknown fill `" + *fill + "`",
                              "Known are zero and nan");
  }
  return map;
}

}  // namespace lathe
