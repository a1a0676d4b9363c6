// Copies of boxes by tensor maps: where elements land, what lies outside of the tensor, and what
// the host refuses to encode.

#include <numeric>
#include <tuple>

#include "tests/ptx/launch.h"

namespace lathe::ptx {
namespace {

constexpr std::uint32_t width = 40, height = 12;  // Of the tensor, f32.

TensorMap map_of(MapSwizzle swizzle = MapSwizzle::bytes128) {
  TensorMap map;
  map.address = first_address + 0x1'0000'0000;  // The second buffer.
  map.rank = 2;
  map.dims = {width, height, 0, 0, 0};
  map.strides = {width * 4, 0, 0, 0};
  map.box = {32, 4, 0, 0, 0};
  map.type = MapType::f32;
  map.swizzle = swizzle;
  return map;
}

TensorMapBytes encoded(const TensorMap& map) {
  Result<TensorMapBytes> bytes = encode_tensor_map(map);
  REQUIRE(bytes.has_value());
  return *bytes;
}

/// Thread 0 loads a box of 32 x 4, then all 128 threads copy shared memory to the output.
std::string load_text(int x, int y) {
  return module_text(
      ".visible .entry test(.param .u64 p0, .param .u64 p1, .param .align 64 .b8 map[128])\n{\n"
      ".reg .b64 %out, %m, %offset; .reg .b32 %tid, %s, %v, %x, %y; .reg .pred %p, %q;\n"
      ".shared .align 1024 .b8 data[512];\n.shared .align 8 .b64 bar;\n"
      "ld.param.u64 %out, [p0];\nmov.u32 %tid, %tid.x;\nmul.wide.u32 %offset, %tid, 4;\n"
      "add.s64 %out, %out, %offset;\nmov.b64 %m, map;\ncvta.param.u64 %m, %m;\n"
      "setp.eq.u32 %p, %tid, 0;\n@%p mbarrier.init.shared::cta.b64 [bar], 1;\nbar.sync 0;\n"
      "mov.u32 %x, " +
      std::to_string(x) + ";\nmov.u32 %y, " + std::to_string(y) +
      ";\n"
      "@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;\n"
      "@%p cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [data], [%m, {%x, %y}], [bar];\n"
      "W: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n@!%q bra W;\n"
      "mov.u32 %s, data;\nmad.lo.u32 %s, %tid, 4, %s;\nld.shared.u32 %v, [%s];\n"
      "st.global.u32 [%out], %v;\nret;\n}\n");
}

/// All threads fill shared memory, and thread 0 stores it as a box.
std::string store_text(int x, int y) {
  return module_text(
      ".visible .entry test(.param .u64 p0, .param .u64 p1, .param .align 64 .b8 map[128])\n{\n"
      ".reg .b64 %m; .reg .b32 %tid, %s, %x, %y; .reg .f32 %v; .reg .pred %p;\n"
      ".shared .align 1024 .b8 data[512];\n"
      "mov.u32 %tid, %tid.x;\nmov.b64 %m, map;\ncvta.param.u64 %m, %m;\n"
      "setp.eq.u32 %p, %tid, 0;\nmov.u32 %s, data;\nmad.lo.u32 %s, %tid, 4, %s;\n"
      "mov.f32 %v, 0f42C80000;\nst.shared.f32 [%s], %v;\nfence.proxy.async.shared::cta;\n"
      "bar.sync 0;\nmov.u32 %x, " +
      std::to_string(x) + ";\nmov.u32 %y, " + std::to_string(y) +
      ";\n"
      "@%p cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%m, {%x, %y}], [data];\n"
      "@%p cp.async.bulk.commit_group;\n@%p cp.async.bulk.wait_group 0;\nret;\n}\n");
}

/// The same as a reduction.
std::string reduction_text(int x, int y, const std::string& operation) {
  std::string text = store_text(x, y);
  text.replace(text.find("cp.async.bulk.tensor.2d.global.shared::cta.tile"), 47,
               "cp.reduce.async.bulk.tensor.2d.global.shared::cta." + operation + ".tile");
  return text;
}

std::vector<float> counted(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

Launched launched(const TensorMap& map) {
  Launched launch;
  launch.add(std::vector<float>(128, -1.0f));
  launch.add(counted(width * height));
  launch.shape = {{1, 1, 1}, {128, 1, 1}, 0};
  launch.objects = {{2, encoded(map)}};
  return launch;
}

float element(int x, int y) {
  bool inside = x >= 0 && x < static_cast<int>(width) && y >= 0 && y < static_cast<int>(height);
  return inside ? static_cast<float>(y * static_cast<int>(width) + x + 1) : 0.0f;
}

}  // namespace

TEST_CASE("a box lies densely in shared memory, and zeros stand for what is outside") {
  for (auto [x, y] : {std::pair{0, 0}, {-4, -1}, {20, 10}, {100, 3}}) {
    Launched launch = launched(map_of(MapSwizzle::none));
    launch.watch(load_text(x, y));
    no_fault(launch);
    auto out = launch.get<float>(0);
    for (int i = 0; i < 128; ++i) CHECK(out[i] == element(x + i % 32, y + i / 32));
  }
}

TEST_CASE("a swizzle of 128 bytes exchanges units of 16 bytes by the row") {
  Launched launch = launched(map_of());
  launch.watch(load_text(0, 0));
  no_fault(launch);
  auto out = launch.get<float>(0);
  for (int i = 0; i < 128; ++i) {
    int row = i / 32, unit = i % 32 / 4;
    CHECK(out[row * 32 + (unit ^ row) * 4 + i % 4] == element(i % 32, row));
  }
}

TEST_CASE("a box may be filled with NaN where it is outside") {
  TensorMap map = map_of(MapSwizzle::none);
  map.nan_fill = true;
  Launched launch = launched(map);
  launch.watch(load_text(-4, 0));
  no_fault(launch);
  CHECK(launch.get<float>(0)[3] != launch.get<float>(0)[3]);
  CHECK(launch.get<float>(0)[4] == 1.0f);
}

TEST_CASE("a box that begins within 16 bytes of a row is a trap, also where all is outside") {
  for (auto [x, y, good] : {std::tuple{4, 1, true},
                            {3, 1, false},
                            {-3, 0, false},
                            {-4, 0, true},
                            {1000, 0, true},
                            {1001, 0, false}}) {
    INFO(x << ", " << y);
    Launched launch = launched(map_of(MapSwizzle::none));
    launch.watch(load_text(x, y));
    if (good) {
      no_fault(launch);
      continue;
    }
    REQUIRE(launch.result.trap);
    CHECK(launch.result.trap->kind == TrapKind::misaligned);
    CHECK(launch.result.trap->what.find("16 bytes") != std::string::npos);
  }
}

TEST_CASE("a tensor store leaves out what is outside at the far borders") {
  Launched launch = launched(map_of(MapSwizzle::none));
  launch.watch(store_text(20, 10));
  no_fault(launch);
  auto tensor = launch.get<float>(1);
  for (std::uint32_t i = 0; i < width * height; ++i)
    CHECK(tensor[i] == (i / width >= 10 && i % width >= 20 ? 100.0f : static_cast<float>(i + 1)));
  Launched sum = launched(map_of(MapSwizzle::none));
  sum.watch(reduction_text(20, 10, "add"));
  no_fault(sum);
  CHECK(sum.get<float>(1)[11 * width + 30] == 100.0f + static_cast<float>(11 * width + 31));
}

TEST_CASE("a store and a reduction that begin before the tensor are traps") {
  for (auto [x, y] : {std::pair{-4, 0}, {0, -1}})
    for (const std::string& text : {store_text(x, y), reduction_text(x, y, "add")}) {
      Launched launch = launched(map_of(MapSwizzle::none));
      launch.watch(text);
      REQUIRE(launch.result.trap);
      CHECK(launch.result.trap->kind == TrapKind::bad_operand);
      CHECK(launch.result.trap->what.find("before the tensor") != std::string::npos);
    }
}

TEST_CASE("bits of s64 are not reduced into a tensor, those of u64 are") {
  for (MapType type : {MapType::u64, MapType::s64}) {
    TensorMap map = map_of(MapSwizzle::none);
    map.type = type;
    map.dims[0] /= 2, map.box[0] /= 2;
    Launched launch = launched(map);
    launch.watch(reduction_text(0, 0, "or"));
    CHECK(launch.result.trap.has_value() == (type == MapType::s64));
  }
}

TEST_CASE("im2col brings pixels in order, with an offset that may leave the image") {
  // One image of 4 x 3 pixels with 8 channels; a 3 x 3 window's offset (0, 0) begins outside.
  TensorMap map;
  map.address = first_address + 0x1'0000'0000;
  map.rank = 4;
  map.dims = {8, 4, 3, 1, 0};
  map.strides = {32, 128, 384, 0};
  map.type = MapType::f32;
  map.mode = MapMode::im2col;
  map.lower = {-1, -1, 0};
  map.upper = {-1, -1, 0};
  map.channels = 8;
  map.pixels = 12;
  std::string text = load_text(0, 0);
  auto change = [&](const std::string& from, const std::string& to) {
    std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
  };
  change("[bar], 512;", "[bar], 384;");
  change("mov.u32 %y, 0;", "mov.u32 %y, -1;\n.reg .b16 %o;\nmov.u16 %o, 1;\n");
  change("2d.shared::cluster.global.tile.", "4d.shared::cluster.global.im2col.");
  change("{%x, %y}], [bar];", "{%x, %y, %y, %x}], [bar], {%o, %o};");
  change("setp.eq.u32 %p, %tid, 0;",
         "setp.eq.u32 %p, %tid, 0;\nmov.u32 %v, 0;\nmov.u32 %s, data;\n"
         "mad.lo.u32 %s, %tid, 4, %s;\nst.shared.u32 [%s], %v;\n");
  Launched launch;
  launch.add(std::vector<float>(128, -1.0f));
  launch.add(counted(96));
  launch.shape = {{1, 1, 1}, {128, 1, 1}, 0};
  launch.objects = {{2, encoded(map)}};
  launch.run(text);
  no_fault(launch);
  auto out = launch.get<float>(0);
  // Pixel i of the window's walk is (i % 4, i / 4): (-1, -1) and on, moved by (1, 1).
  for (int i = 0; i < 12; ++i) {
    int w = -1 + i % 4 + 1, h = -1 + i / 4 + 1;
    CHECK(out[8 * i + 3] == static_cast<float>((h * 4 + w) * 8 + 4));
  }
}

TEST_CASE("the host refuses what the driver refuses") {
  auto refused = [](auto change) {
    TensorMap map = map_of();
    change(map);
    return !encode_tensor_map(map).has_value();
  };
  CHECK_FALSE(refused([](TensorMap&) {}));
  CHECK(refused([](TensorMap& map) { map.address += 4; }));
  CHECK(refused([](TensorMap& map) { map.strides[0] = 164; }));
  CHECK(refused([](TensorMap& map) { map.box[0] = 64; }));
  CHECK(refused([](TensorMap& map) { map.box[1] = 257; }));
  CHECK(refused([](TensorMap& map) { map.box[0] = 2; }));
  CHECK(refused([](TensorMap& map) { map.element_strides[1] = 9; }));
  CHECK(refused([](TensorMap& map) { map.rank = 6; }));
  CHECK(refused([](TensorMap& map) { map.dims[1] = 0; }));
  CHECK(refused([](TensorMap& map) {
    map.type = MapType::u32;
    map.nan_fill = true;
  }));
}

TEST_CASE("bytes that are no tensor map, and a map of another rank, are traps") {
  Launched launch = launched(map_of());
  launch.objects[0].second = {};
  launch.run(load_text(0, 0));
  REQUIRE(launch.result.trap);
  CHECK(launch.result.trap->kind == TrapKind::bad_operand);
  TensorMap flat = map_of(MapSwizzle::none);
  flat.rank = 1;
  launch.objects[0].second = encoded(flat);
  launch.run(load_text(0, 0));
  REQUIRE(launch.result.trap);
  CHECK(launch.result.trap->what.find("rank") != std::string::npos);
}

TEST_CASE("a map that the kernel makes field by field is as good as the host's") {
  const std::string text = module_text(
      ".visible .entry test(.param .u64 p0, .param .u64 p1, .param .u64 p2)\n{\n"
      ".reg .b64 %out, %in, %m, %offset, %st; .reg .b32 %tid, %s, %v, %x; .reg .pred %p, %q;\n"
      ".shared .align 1024 .b8 data[512];\n.shared .align 128 .b8 map[128];\n"
      ".shared .align 8 .b64 bar;\n"
      "ld.param.u64 %out, [p0];\nld.param.u64 %in, [p1];\nld.param.u64 %m, [p2];\n"
      "mov.u32 %tid, %tid.x;\nmul.wide.u32 %offset, %tid, 4;\nadd.s64 %out, %out, %offset;\n"
      "setp.eq.u32 %p, %tid, 0;\n@%p mbarrier.init.shared::cta.b64 [bar], 1;\n"
      "setp.lt.u32 %q, %tid, 32;\nmov.u32 %s, map;\nmad.lo.u32 %s, %tid, 4, %s;\n"
      "@%q st.shared.b32 [%s], 0;\nbar.sync 0;\n@!%q bra MADE;\n@!%p bra COPY;\n"
      "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [map], %in;\n"
      "tensormap.replace.tile.rank.shared::cta.b1024.b32 [map], 1;\n"
      "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [map], 0, 32;\n"
      "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [map], 1, 4;\n"
      "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [map], 0, 40;\n"
      "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [map], 1, 12;\n"
      "mov.u64 %st, 160;\n"
      "tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [map], 0, %st;\n"
      "tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [map], 0, 1;\n"
      "tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [map], 1, 1;\n"
      "tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [map], 7;\n"
      "tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [map], 0;\n"
      "tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [map], 0;\n"
      "tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [map], 0;\n"
      "COPY: bar.warp.sync -1;\n"
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"
      " [%m], [map], 128;\n"
      "MADE: bar.sync 0;\nfence.proxy.tensormap::generic.acquire.gpu [%m], 128;\n"
      "mov.u32 %x, 8;\n"
      "@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;\n"
      "@%p cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [data], [%m, {%x, %x}], [bar];\n"
      "W: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n@!%q bra W;\n"
      "mov.u32 %s, data;\nmad.lo.u32 %s, %tid, 4, %s;\nld.shared.u32 %v, [%s];\n"
      "st.global.u32 [%out], %v;\nret;\n}\n");
  Launched launch;
  launch.add(std::vector<float>(128));
  launch.add(counted(width * height));
  launch.add(std::vector<std::uint8_t>(128));
  launch.shape = {{1, 1, 1}, {128, 1, 1}, 0};
  launch.watch(text);
  no_fault(launch);
  auto out = launch.get<float>(0);
  for (int i = 0; i < 128; ++i) CHECK(out[i] == element(8 + i % 32, 8 + i / 32));
}

}  // namespace lathe::ptx
