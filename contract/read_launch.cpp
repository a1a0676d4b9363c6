// The [launch] table: what a GPU of the target can launch at all.

#include <algorithm>

#include "base/names.h"
#include "contract/read_parts.h"

namespace lathe {
namespace {

constexpr std::array<std::string_view, 4> freedoms{"block", "dynamic_shared", "grid", "cluster"};
constexpr std::int64_t threads_max = 1024, cluster_blocks_max = 16;
constexpr std::array<std::int64_t, 3> grid_max{2147483647, 65535, 65535};
constexpr std::array<std::int64_t, 3> block_max{1024, 1024, 64};
constexpr const char* axes = "xyz";

using Extent = std::array<std::uint32_t, 3>;

/// Three positive numbers, each at most its own limit.
Extent read_extent(TableReader& reader, std::string_view key, Need need,
                   const std::array<std::int64_t, 3>& limits, const Extent& base) {
  const TomlValue* value = reader.value(key, need);
  if (value == nullptr) return base;
  if (value->kind != TomlValue::Kind::array || value->items.size() != 3) {
    reader.complaints().add(value->place, reader.field(key) + " must be three integers",
                            "write `" + std::string(key) + " = [x, y, z]`");
    return base;
  }
  Extent extent = base;
  for (std::size_t i = 0; i < 3; ++i) {
    std::string field = reader.field(key) + " (" + axes[i] + ")";
    if (!check_integer(value->items[i], field, 1, limits[i], reader.complaints())) return base;
    extent[i] = static_cast<std::uint32_t>(value->items[i].integer);
  }
  return extent;
}

void check_block(TableReader& reader, const Launch& launch, const Place& place) {
  if (launch.threads() <= threads_max) return;
  reader.complaints().add(place,
                          reader.field("block") + " has " + std::to_string(launch.threads()) +
                              " threads, more than the " + std::to_string(threads_max) +
                              " that a block may have",
                          "make the block smaller");
}

void check_cluster(TableReader& reader, const Launch& launch, const std::string& target,
                   const Place& place) {
  std::uint64_t blocks = std::uint64_t{launch.cluster[0]} * launch.cluster[1] * launch.cluster[2];
  std::string field = reader.field("cluster");
  if (blocks > 1 && target == "sm_89")
    reader.complaints().add(place, field + ": sm_89 has no clusters",
                            "write `cluster = [1, 1, 1]`");
  if (blocks > cluster_blocks_max)
    reader.complaints().add(place, field + " has " + std::to_string(blocks) + " blocks",
                            "a cluster has at most 16");
  for (std::size_t i = 0; i < 3; ++i)
    if (launch.grid[i] % launch.cluster[i] != 0)
      reader.complaints().add(place,
                              field + " (" + axes[i] + ") is " + std::to_string(launch.cluster[i]) +
                                  ", which does not divide the grid's " +
                                  std::to_string(launch.grid[i]),
                              "make the grid a multiple of the cluster");
}

void read_allow(TableReader& reader, Launch& launch) {
  const TomlValue* allow = reader.value("allow", Need::optional);
  if (allow == nullptr) return;
  if (allow->kind != TomlValue::Kind::array) {
    reader.complaints().add(allow->place, reader.field("allow") + " must be an array",
                            "write `allow = []`");
    return;
  }
  launch.allow.clear();
  for (const TomlValue& item : allow->items) {
    bool known = item.kind == TomlValue::Kind::string &&
                 std::find(freedoms.begin(), freedoms.end(), item.text) != freedoms.end();
    if (!known)
      reader.complaints().add(item.place,
                              reader.field("allow") + ": unknown freedom " + print_toml(item),
                              "write " + list_names(freedoms) + ", in double quotes");
    else if (std::find(launch.allow.begin(), launch.allow.end(), item.text) != launch.allow.end())
      reader.complaints().add(item.place,
                              reader.field("allow") + " names " + print_toml(item) + " twice",
                              "remove one");
    else
      launch.allow.push_back(item.text);
  }
  std::sort(launch.allow.begin(), launch.allow.end());
}

Place place_or(TableReader& reader, std::string_view key) {
  const TomlMember* member = reader.self().find(key);
  return member != nullptr ? member->value.place : reader.self().place;
}

}  // namespace

Launch read_launch(TableReader& reader, const std::string& target, const Launch& base,
                   LaunchPlaces& places, bool requires_shape) {
  Need need = requires_shape ? Need::required : Need::optional;
  Launch launch = base;
  places = {reader.self().place, place_or(reader, "block"), place_or(reader, "cluster"),
            place_or(reader, "dynamic_shared_bytes")};
  launch.grid = read_extent(reader, "grid", need, grid_max, base.grid);
  launch.block = read_extent(reader, "block", need, block_max, base.block);
  launch.cluster = read_extent(reader, "cluster", Need::optional, {16, 16, 16}, base.cluster);
  std::uint32_t shared_max = shared_bytes_max(target);
  if (auto bytes = reader.integer("dynamic_shared_bytes", Need::optional, 0, shared_max))
    launch.dynamic_shared_bytes = static_cast<std::uint32_t>(*bytes);
  launch.pdl = reader.boolean("pdl", Need::optional).value_or(base.pdl);
  launch.cooperative = reader.boolean("cooperative", Need::optional).value_or(base.cooperative);
  read_allow(reader, launch);
  check_block(reader, launch, places.block);
  check_cluster(reader, launch, target, places.cluster);
  if (launch.pdl && target == "sm_89")
    reader.complaints().add(place_or(reader, "pdl"),
                            reader.field("pdl") + ": sm_89 has no programmatic dependent launch",
                            "write `pdl = false`");
  reader.finish();
  return launch;
}

Result<Launch> parse_launch(std::string_view toml, const std::string& file,
                            const std::string& target, const Launch& base) {
  auto parsed = parse_toml(toml, file);
  if (!parsed) return parsed.error();
  Complaints complaints;
  Launch launch = base;
  LaunchPlaces places;
  TableReader root(*parsed, "", complaints);
  if (const TomlValue* table = root.table("launch", Need::required)) {
    TableReader reader(*table, "launch", complaints);
    launch = read_launch(reader, target, base, places, false);
  }
  root.finish();
  std::vector<Error> errors = complaints.take(complaints_max);
  if (!errors.empty()) return errors.front();
  return launch;
}

}  // namespace lathe
