// Launches of clusters and with tensor maps: their text, and kernels of asynchronous units whose
// output tells one element, one byte count and one parameter of a map from another.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "tests/witness/kernel.h"
#include "tests/witness/replay.h"
#include "tests/witness/tensor_plan.h"

namespace lathe::ptx::witness {
namespace {

/// The kernels of the row's instances that `mnemonic` begins.
std::vector<Kernel> kernels_of(std::string_view row, std::string_view mnemonic,
                               std::vector<Kernel> (*make)(const Instance&)) {
  std::vector<Kernel> all;
  for (std::size_t i = 0; i < rows().size(); ++i) {
    if (!rows()[i].signature.text.starts_with(row)) continue;
    for (const Instance& instance : instances_of(static_cast<std::uint16_t>(i), 2000, 5))
      if (instance.mnemonic() == mnemonic)
        for (Kernel& kernel : make(instance)) all.push_back(std::move(kernel));
    return all;
  }
  FAIL("no row begins with " << row);
  return all;
}

/// The kernel as a record whose output is what the emulator stores.
Archive emulated(const Kernel& kernel) {
  Archive archive;
  archive.inputs = {kernel.input};
  Record record;
  record.name = kernel.name, record.mnemonic = kernel.mnemonic;
  record.variables = kernel.variables, record.body = kernel.body;
  record.blocks = kernel.blocks, record.threads = kernel.threads;
  record.output.assign(kernel.output_bytes, '\0');
  record.launch = print(kernel.launch);
  archive.records = {record};
  INFO(kernel.name << ": " << replay(archive, record).detail);
  REQUIRE(replay(archive, record).agreement == Agreement::different);
  archive.records[0].output = replayed_output(archive, record);
  REQUIRE(replay(archive, archive.records[0]).agreement == Agreement::same);
  return archive;
}

/// What replaying says once something of the launch is another.
template <class Change>
Agreement with(const Archive& archive, Change change) {
  Record record = archive.records[0];
  Launch launch = *read_launch(record.launch);
  change(launch);
  record.launch = print(launch);
  return replay(archive, record).agreement;
}

const std::string load_2d =
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes";

TEST_CASE("the text of a launch is read as it was written, and a cut one is refused") {
  CHECK(print(Launch{}).empty());
  CHECK(read_launch("")->cluster == 1);
  TensorPlan plan = im2col_plan(4, MapType::bf16, MapSwizzle::bytes64);
  plan.map.address = 4096;
  Launch launch{4, {{plan.map, true}, {tiled_plan(5, MapType::u64).map, false}}};
  std::string text = print(launch);
  CHECK(text.find(' ') == std::string::npos);
  Result<Launch> read = read_launch(text);
  REQUIRE(read);
  CHECK(print(*read) == text);
  REQUIRE(read->maps.size() == 2);
  CHECK(read->maps[0].of_output);
  CHECK(read->maps[0].map.address == 4096);
  CHECK(read->maps[0].map.lower == plan.map.lower);
  CHECK(read->maps[0].map.pixels == plan.map.pixels);
  for (std::size_t size = 1; size < text.size(); ++size) {
    Result<Launch> cut = read_launch(text.substr(0, size));
    if (cut) CHECK(print(*cut) != text);
  }
  for (const char* wrong : {"0", "17", "2/", "2/1,2", "two", "2,2", "2/0,0,0,0 "})
    CHECK_FALSE(read_launch(wrong));
}

TEST_CASE("a kernel's entry names its cluster and its maps") {
  std::vector<Kernel> kernels = kernels_of("cp.async.bulk.tensor.dim(", load_2d, tensor_kernels);
  REQUIRE_FALSE(kernels.empty());
  CHECK(entry_text(kernels[0], "w").find(".param .align 64 .b8 map0[128])") != std::string::npos);
  CHECK(entry_text(kernels[0], "w").find(".reqnctapercluster") == std::string::npos);
  CHECK(entry_text(kernels.back(), "w").find(".reqnctapercluster 2, 1, 1\n") != std::string::npos);
}

TEST_CASE("each number of a tensor map shows in what its kernel stores") {
  Archive archive =
      emulated(kernels_of("cp.async.bulk.tensor.dim(", load_2d, tensor_kernels).at(1));
  CHECK(with(archive, [](Launch&) {}) == Agreement::same);
  auto differs = [&](auto change) {
    return with(archive, [&](Launch& l) { change(l.maps[0].map); }) != Agreement::same;
  };
  CHECK(differs([](TensorMap& map) { map.address += 16; }));
  CHECK(differs([](TensorMap& map) { map.dims[0] = 8; }));
  CHECK(differs([](TensorMap& map) { map.dims[1] = 4; }));
  CHECK(differs([](TensorMap& map) { map.strides[0] = 192; }));
  CHECK(differs([](TensorMap& map) { map.box[1] = 7; }));
  CHECK(differs([](TensorMap& map) { map.element_strides[1] = 2; }));
  CHECK(differs([](TensorMap& map) { map.swizzle = MapSwizzle::bytes64; }));
  CHECK(differs([](TensorMap& map) { map.type = MapType::f16, map.nan_fill = true; }));
}

TEST_CASE("an issue for one of its blocks alone does not pass for a multicast") {
  const std::string multicast = load_2d + ".multicast::cluster";
  Archive archive =
      emulated(kernels_of("cp.async.bulk.tensor.dim(", multicast, tensor_kernels).at(0));
  Record record = archive.records[0];
  std::size_t at = record.body.find(", 13;\n");
  REQUIRE(at != std::string::npos);
  record.body.replace(at, 6, ", 12;\n");
  CHECK(replay(archive, record).agreement != Agreement::same);
}

/// Every thread of the kernel saw the bytes come: the first column of its output.
bool all_came(const Kernel& kernel) {
  Archive archive = emulated(kernel);
  for (std::uint32_t i = 0; i < kernel.blocks * kernel.threads; ++i) {
    std::uint32_t came = 0;
    std::memcpy(&came, archive.records[0].output.data() + 4 * i, 4);
    if (came != 1) return false;
  }
  return true;
}

TEST_CASE("boxes bring as many bytes as their kernels await") {
  for (std::string_view mode : {"tile", "im2col"})
    for (unsigned rank = mode == "tile" ? 1 : 3; rank <= 5; ++rank) {
      std::string mnemonic = "cp.async.bulk.tensor." + std::to_string(rank) +
                             "d.shared::cluster.global." + std::string(mode) +
                             ".mbarrier::complete_tx::bytes";
      std::vector<Kernel> kernels =
          kernels_of("cp.async.bulk.tensor.dim(", mnemonic, tensor_kernels);
      CHECK(kernels.size() >= 4);
      for (const Kernel& kernel : kernels) {
        INFO(kernel.name);
        CHECK(all_came(kernel));
      }
    }
}

TEST_CASE("every field of a tensor map that a kernel may edit has kernels whose boxes come") {
  std::size_t fields = 0;
  for (std::size_t i = 0; i < rows().size(); ++i) {
    if (!rows()[i].signature.text.starts_with("tensormap.replace")) continue;
    if (rows()[i].gate.target != 90) continue;
    for (const Instance& instance : instances_of(static_cast<std::uint16_t>(i), 100, 5)) {
      if (instance.has("global") == instance.has("shared::cta")) continue;
      std::vector<Kernel> kernels = map_kernels(instance);
      ++fields;
      INFO(instance.mnemonic());
      CHECK_FALSE(kernels.empty());
      for (const Kernel& kernel : kernels) CHECK(all_came(kernel));
    }
  }
  CHECK(fields == 2 * 10);
}

TEST_CASE("a store and a reduction of another block tell its barrier of their bytes") {
  for (const char* mnemonic :
       {"st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b64",
        "st.async.weak.mbarrier::complete_tx::bytes.v2.f32"})
    for (const Kernel& kernel : kernels_of("st.async{.weak}", mnemonic, cluster_kernels))
      CHECK(all_came(kernel));
  for (const Kernel& kernel : kernels_of(
           "red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes(.min|.max)",
           "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.s32",
           cluster_kernels)) {
    CHECK(all_came(kernel));
    Archive archive = emulated(kernel);
    Record record = archive.records[0];
    std::size_t at = record.body.find(".max.s32");
    REQUIRE(at != std::string::npos);
    record.body.replace(at, 8, ".max.u32");
    CHECK(replay(archive, record).agreement == Agreement::different);
  }
}

}  // namespace
}  // namespace lathe::ptx::witness
