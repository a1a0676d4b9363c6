// The text of a launch: the cluster's blocks, and behind a slash for each map its numbers.

#include "tests/witness/launch.h"

#include <charconv>
#include <span>

namespace lathe::ptx::witness {
namespace {

/// A map's numbers in the order of the text; tests/witness/run.py reads them so.
constexpr std::size_t map_numbers = 4 + 5 + 4 + 5 + 5 + 4 + 3 + 3 + 2;

std::vector<std::int64_t> numbers_of(const MapParameter& each) {
  const TensorMap& map = each.map;
  std::vector<std::int64_t> list{each.of_output, static_cast<std::int64_t>(map.address),
                                 static_cast<std::int64_t>(map.type), map.rank};
  list.insert(list.end(), map.dims.begin(), map.dims.end());
  for (std::uint64_t stride : map.strides) list.push_back(static_cast<std::int64_t>(stride));
  list.insert(list.end(), map.box.begin(), map.box.end());
  list.insert(list.end(), map.element_strides.begin(), map.element_strides.end());
  for (int choice : {static_cast<int>(map.interleave), static_cast<int>(map.swizzle),
                     static_cast<int>(map.nan_fill), static_cast<int>(map.mode)})
    list.push_back(choice);
  list.insert(list.end(), map.lower.begin(), map.lower.end());
  list.insert(list.end(), map.upper.begin(), map.upper.end());
  list.push_back(map.channels);
  list.push_back(map.pixels);
  return list;
}

class Numbers {
 public:
  explicit Numbers(std::span<const std::int64_t> list) : list_(list) {}
  template <class T>
  void take(T& to) {
    to = static_cast<T>(list_[next_++]);
  }
  template <class Array>
  void take_all(Array& to) {
    for (auto& each : to) take(each);
  }

 private:
  std::span<const std::int64_t> list_;
  std::size_t next_ = 0;
};

MapParameter map_of(std::span<const std::int64_t> list) {
  MapParameter made;
  Numbers numbers(list);
  numbers.take(made.of_output), numbers.take(made.map.address), numbers.take(made.map.type);
  numbers.take(made.map.rank), numbers.take_all(made.map.dims), numbers.take_all(made.map.strides);
  numbers.take_all(made.map.box), numbers.take_all(made.map.element_strides);
  numbers.take(made.map.interleave), numbers.take(made.map.swizzle);
  numbers.take(made.map.nan_fill), numbers.take(made.map.mode);
  numbers.take_all(made.map.lower), numbers.take_all(made.map.upper);
  numbers.take(made.map.channels), numbers.take(made.map.pixels);
  return made;
}

}  // namespace

std::string print(const Launch& launch) {
  if (launch.cluster == 1 && launch.maps.empty()) return "";
  std::string text = std::to_string(launch.cluster);
  for (const MapParameter& map : launch.maps) {
    std::string list;
    for (std::int64_t number : numbers_of(map))
      list += (list.empty() ? "" : ",") + std::to_string(number);
    text += "/" + list;
  }
  return text;
}

Result<Launch> read_launch(std::string_view text) {
  Launch launch;
  if (text.empty()) return launch;
  std::vector<std::vector<std::int64_t>> parts(1);
  const char* end = text.data() + text.size();
  for (const char* at = text.data();; ++at) {
    std::int64_t number = 0;
    auto [behind, failure] = std::from_chars(at, end, number);
    bool last = behind == end;
    if (failure != std::errc() || (!last && *behind != ',' && *behind != '/'))
      return Error{Fault::malformed, "the text of a launch has what is no number", "", {}};
    parts.back().push_back(number);
    if (last) break;
    if (*behind == '/') parts.emplace_back();
    at = behind;
  }
  bool good = parts[0].size() == 1 && parts[0][0] >= 1 && parts[0][0] <= 16;
  for (std::size_t i = 1; i < parts.size(); ++i) good = good && parts[i].size() == map_numbers;
  if (!good) return Error{Fault::malformed, "the text of a launch has other numbers", "", {}};
  launch.cluster = static_cast<std::uint32_t>(parts[0][0]);
  for (std::size_t i = 1; i < parts.size(); ++i) launch.maps.push_back(map_of(parts[i]));
  return launch;
}

}  // namespace lathe::ptx::witness
