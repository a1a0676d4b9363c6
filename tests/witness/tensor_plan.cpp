// Tensors, boxes and where they lie.

#include "tests/witness/tensor_plan.h"

#include <algorithm>

namespace lathe::ptx::witness {
namespace {

constexpr std::string_view map_type_names[] = {"u8",   "u16",  "u32",     "s32",     "u64",
                                               "s64",  "f16",  "f32",     "f32.ftz", "f64",
                                               "bf16", "tf32", "tf32.ftz"};
constexpr unsigned row_bytes = 160, row_pitch = 176;
constexpr int past = 1000;

std::string name_of(MapType type) {
  return std::string(map_type_names[static_cast<std::size_t>(type)]);
}

/// The tensor alone: rows of 160 bytes, padded as the rows of a plane and its planes are. Each
/// stride is a multiple of the one before, as the driver's manual wants it.
TensorMap tensor(unsigned rank, MapType type) {
  TensorMap map;
  map.rank = rank;
  map.type = type;
  map.dims = {row_bytes / map.element_bytes(), rank == 2 ? 12u : 5u, 4, 3, 2};
  std::uint64_t stride = row_pitch;
  for (unsigned i = 1; i < 5; ++i) {
    if (i >= rank) map.dims[i] = 0;
    map.strides[i - 1] = i < rank ? stride : 0;
    stride *= map.dims[i] + (i < 3 ? 1 : 0);
  }
  return map;
}

/// A copy whose first element is not a multiple of 16 bytes from the row's first is an illegal
/// instruction to an H200, outside of the tensor too; so places in a row are counted in these.
int granule(const TensorMap& map) { return static_cast<int>(16 / map.element_bytes()); }

TensorPlan with(TensorPlan plan, const std::string& variant) {
  plan.variant = variant;
  return plan;
}

/// `first` counts 16 bytes in the first dimension.
TensorPlan at(TensorPlan plan, const std::string& variant, std::array<int, 5> first) {
  plan.variant = variant;
  plan.first = first;
  plan.first[0] *= granule(plan.map);
  for (unsigned i = plan.rank(); i < 5; ++i) plan.first[i] = 0;
  return plan;
}

std::array<int, 5> below() { return {-1, -1, -1, -1, -1}; }
/// Across the far border of every dimension.
std::array<int, 5> above(const TensorMap& map) {
  std::array<int, 5> first{};
  for (unsigned i = 0; i < map.rank; ++i) first[i] = static_cast<int>(map.dims[i]) - 1;
  first[0] = row_bytes / 16 - 1;
  return first;
}

TensorPlan across_near_borders(TensorPlan plan, bool im2col) {
  if (!im2col) return at(plan, "across the near borders", below());
  plan.first[0] = -granule(plan.map);
  return with(plan, "across the near borders");
}

/// By im2col the channels alone are across.
TensorPlan across_far_borders(const TensorPlan& plan, bool im2col, const std::string& variant) {
  TensorPlan far = at(plan, variant, above(plan.map));
  for (unsigned i = 1; im2col && i < plan.rank(); ++i) far.first[i] = static_cast<int>(i % 2);
  return far;
}

/// What goes to a tensor may not touch a negative place there: an H200 takes that for an illegal
/// instruction, as the programming guide's chapter on tensor maps says of a box's first corner. Nor
/// may a walk over pixels leave the image.
void keep_within(TensorPlan& plan) {
  for (int& place : plan.first) place = std::max(place, 0);
  for (unsigned i = 0; i + 2 < plan.rank() && plan.map.mode == MapMode::im2col; ++i) {
    plan.map.lower[i] = std::max<std::int16_t>(plan.map.lower[i], 0);
    plan.map.upper[i] = std::min<std::int16_t>(plan.map.upper[i], 0);
    int last = static_cast<int>(plan.map.dims[1 + i]) - 1 + plan.map.upper[i];
    plan.first[1 + i] = std::clamp<int>(plan.first[1 + i], plan.map.lower[i], last);
  }
}

void add_swizzles(std::vector<TensorPlan>& plans, unsigned rank, bool im2col, bool places) {
  for (MapSwizzle swizzle : {MapSwizzle::bytes32, MapSwizzle::bytes64, MapSwizzle::bytes128}) {
    std::string bytes = std::to_string(16u << static_cast<unsigned>(swizzle));
    TensorPlan plan =
        im2col ? im2col_plan(rank, MapType::f16, swizzle) : tiled_plan(rank, MapType::f16, swizzle);
    plans.push_back(with(plan, "swizzle " + bytes));
    for (unsigned place : {128u, 384u, 640u}) {
      if (!places) continue;
      plan.place = place;
      plans.push_back(with(plan, "swizzle " + bytes + " at " + std::to_string(place)));
    }
  }
}

/// Every second or third element of each dimension but the first.
void add_steps(std::vector<TensorPlan>& plans, TensorPlan plan) {
  for (std::uint32_t step : {2u, 3u}) {
    for (unsigned i = 1; i < plan.rank(); ++i) plan.map.element_strides[i] = step;
    plans.push_back(at(plan, "of every element that is a multiple of " + std::to_string(step),
                       {1, 0, 0, 0, 0}));
  }
}

void add_types(std::vector<TensorPlan>& plans, bool im2col, unsigned rank) {
  for (unsigned i = 0; i < std::size(map_type_names); ++i) {
    auto type = static_cast<MapType>(i);
    TensorPlan plan = im2col ? im2col_plan(rank, type) : tiled_plan(rank, type);
    plan = at(plan, name_of(type), below());
    plans.push_back(plan);
    if (!plan.map.is_float()) continue;
    plan.edges = true;
    plans.push_back(with(plan, name_of(type) + " edges"));
    plan.map.nan_fill = true;
    plans.push_back(with(plan, name_of(type) + " with NaN outside"));
  }
}

/// A walk that starts at the far end of a row of pixels and goes on in the next image.
void add_walks(std::vector<TensorPlan>& plans, unsigned rank) {
  TensorPlan plan = im2col_plan(rank, MapType::u16);
  for (unsigned i = 0; i + 2 < rank; ++i) plan.offsets[i] = 2 - i;
  plans.push_back(with(plan, "with offsets"));
  plan = at(plan, "into the next image", above(plan.map));
  plan.first[rank - 1] -= 1;
  for (unsigned i = 0; i + 2 < rank; ++i) plan.first[1 + i] += plan.map.upper[i];
  plans.push_back(plan);
  plan.first[rank - 1] += 1;
  plans.push_back(with(plan, "beyond the last image"));
  TensorPlan steps = im2col_plan(rank, MapType::u16);
  steps.map.element_strides[1] = 2;
  plans.push_back(with(steps, "of every other pixel"));
  if (rank > 3) {
    steps.map.element_strides[2] = 3;
    plans.push_back(with(steps, "of every other pixel in every third row"));
  }
}

}  // namespace

std::size_t TensorPlan::tensor_bytes() const {
  std::size_t bytes = row_pitch;
  if (map.rank > 1) bytes = map.strides[map.rank - 2] * map.dims[map.rank - 1];
  return (bytes + 2047) / 2048 * 2048;
}

unsigned TensorPlan::box_bytes() const {
  if (map.mode == MapMode::im2col) return map.channels * map.element_bytes() * map.pixels;
  unsigned bytes = map.box[0] * map.element_bytes();
  for (unsigned i = 1; i < map.rank; ++i)
    bytes *= (map.box[i] + map.element_strides[i] - 1) / map.element_strides[i];
  return bytes;
}

Type element_type(MapType type) {
  constexpr Type types[] = {Type::u8,   Type::u16, Type::u32, Type::s32, Type::u64,
                            Type::s64,  Type::f16, Type::f32, Type::f32, Type::f64,
                            Type::bf16, Type::f32, Type::f32};
  return types[static_cast<std::size_t>(type)];
}

unsigned dimensions_of(const Instance& instance) {
  for (char digit = '1'; digit <= '5'; ++digit)
    if (instance.has(std::string{digit, 'd'})) return static_cast<unsigned>(digit - '0');
  return 0;
}

TensorPlan tiled_plan(unsigned rank, MapType type, MapSwizzle swizzle) {
  TensorPlan plan;
  plan.map = tensor(rank, type);
  plan.map.swizzle = swizzle;
  unsigned span = swizzle == MapSwizzle::none ? 64 : 16u << static_cast<unsigned>(swizzle);
  plan.map.box = {span / plan.map.element_bytes(), rank == 2 ? 8u : 3u, 2, 2, 2};
  for (unsigned i = rank; i < 5; ++i) plan.map.box[i] = 0;
  return at(plan, "within", {1, 1, 1, 1, 0});
}

TensorPlan im2col_plan(unsigned rank, MapType type, MapSwizzle swizzle) {
  TensorPlan plan;
  plan.map = tensor(rank, type);
  plan.map.mode = MapMode::im2col;
  plan.map.swizzle = swizzle;
  unsigned span = swizzle == MapSwizzle::none ? 64 : 16u << static_cast<unsigned>(swizzle);
  plan.map.channels = span / plan.map.element_bytes();
  plan.map.pixels = 18;
  constexpr std::int16_t lowers[] = {-1, -2, 0}, uppers[] = {-1, 1, -1};
  for (unsigned i = 0; i + 2 < rank; ++i) {
    plan.map.lower[i] = lowers[i], plan.map.upper[i] = uppers[i];
    plan.offsets.push_back(0);
  }
  std::array<int, 5> first{1, -1, -2, 0, 0};
  first[rank - 1] = 0;
  return at(plan, "from the corner", first);
}

std::vector<TensorPlan> load_plans(unsigned rank, bool im2col, bool all) {
  std::vector<TensorPlan> plans;
  TensorPlan plan = im2col ? im2col_plan(rank, MapType::u16) : tiled_plan(rank, MapType::u16);
  plans.push_back(plan);
  plans.push_back(across_near_borders(plan, im2col));
  if (im2col) plans.back().first[1] += 1;
  if (!all) return plans;
  if (im2col) {
    add_walks(plans, rank);
  } else {
    plans.push_back(at(plan, "across the far borders", above(plan.map)));
    plans.push_back(at(plan, "beyond", {past, past, past, past, past}));
    if (rank > 1) add_steps(plans, plan);
  }
  if (rank > 1) add_swizzles(plans, rank, im2col, !im2col && rank == 2);
  if (rank == (im2col ? 4 : 2)) add_types(plans, im2col, rank);
  if (!im2col && rank == 2) {
    plans.push_back(with(plan, "into the next block"));
    plans.back().to_neighbour = true;
  }
  return plans;
}

std::vector<TensorPlan> store_plans(unsigned rank, bool im2col, bool all) {
  std::vector<TensorPlan> plans;
  TensorPlan plan = im2col ? im2col_plan(rank, MapType::u16) : tiled_plan(rank, MapType::u16);
  plans.push_back(plan);
  plans.push_back(across_far_borders(plan, im2col, "across the far borders"));
  if (all && im2col) {
    add_walks(plans, rank);
    for (TensorPlan& each : plans) each.offsets.assign(each.offsets.size(), 0);
  } else if (all) {
    plans.push_back(at(plan, "beyond", {past, past, past, past, past}));
    if (rank > 1) add_steps(plans, plan);
  }
  if (all && rank > 1) add_swizzles(plans, rank, im2col, false);
  if (all && rank == (im2col ? 4 : 2)) add_types(plans, im2col, rank);
  std::erase_if(plans, [](const TensorPlan& each) { return each.map.nan_fill; });
  for (TensorPlan& each : plans) keep_within(each);
  return plans;
}

std::vector<TensorPlan> reduction_plans(unsigned rank, bool im2col, bool all,
                                        std::string_view operation) {
  using enum MapType;
  std::vector<MapType> types{u32, u64, s32};  // An H200 has no bits of s64.
  if (operation == "add") types = {u32, s32, u64, f32, f64, f16, bf16};
  if (operation == "min" || operation == "max") types = {u32, s32, u64, s64, f16, bf16};
  if (operation == "inc" || operation == "dec") types = {u32};
  if (!all) types.resize(1);
  std::vector<TensorPlan> plans;
  for (MapType type : types) {
    TensorPlan plan = im2col ? im2col_plan(rank, type) : tiled_plan(rank, type);
    plan.edges = true;
    plans.push_back(with(plan, name_of(type)));
    plans.push_back(across_far_borders(plan, im2col, name_of(type) + " across the far borders"));
  }
  for (TensorPlan& each : plans) keep_within(each);
  return plans;
}

}  // namespace lathe::ptx::witness
