// The kernels of sparse products and of fragments: metadata are legal and complete, each kernel
// runs here, and what moves a matrix shows each of its elements.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <set>

#include "tests/witness/kernel.h"
#include "tests/witness/metadata.h"
#include "tests/witness/replay.h"

namespace lathe::ptx::witness {
namespace {

struct Ran {
  Replayed end;
  std::string output;
};

/// The kernel in the bits domain; `body` in the place of its own where that is given.
Ran run(const Kernel& kernel, const std::string& body = "") {
  Archive archive;
  archive.inputs.push_back(kernel.input);
  Record record;
  record.name = kernel.name, record.mnemonic = kernel.mnemonic;
  record.variables = kernel.variables, record.body = body.empty() ? kernel.body : body;
  record.blocks = kernel.blocks, record.threads = kernel.threads;
  record.output.assign(kernel.output_bytes, '\0');
  return {replay(archive, record), replayed_output(archive, record)};
}

bool stops(const Ran& ran) {
  return ran.end.agreement == Agreement::failed || ran.end.agreement == Agreement::unmodelled;
}

Instance instance_named(const std::string& mnemonic) {
  std::string opcode = mnemonic.substr(0, mnemonic.find('.'));
  for (std::size_t i = 0; i < rows().size(); ++i) {
    if (rows()[i].signature.opcode != opcode) continue;
    for (Instance& each : instances_of(static_cast<std::uint16_t>(i), 20000, 5))
      if (each.mnemonic() == mnemonic) return std::move(each);
  }
  FAIL("no row has " << mnemonic);
  return {};
}

TEST_CASE("metadata have every legal code in every place of every fourth thread, and no other") {
  for (Codes kind : {Codes::ascending, Codes::any_order, Codes::one_of_two}) {
    std::set<unsigned> legal(codes_of(kind).begin(), codes_of(kind).end());
    std::vector<std::uint64_t> words = metadata_words(kind, 512, 42);
    for (unsigned thread = 0; thread < 4; ++thread)
      for (unsigned place = 0; place < 8; ++place) {
        std::set<unsigned> seen;
        for (std::size_t i = thread; i < words.size(); i += 4)
          seen.insert(words[i] >> (4 * place) & 15);
        CHECK(seen == legal);
      }
  }
}

TEST_CASE("two of four are six codes in ascending order and twelve in any") {
  for (unsigned code = 0; code < 16; ++code) {
    auto has = [&](Codes kind) {
      return std::count(codes_of(kind).begin(), codes_of(kind).end(), code) == 1;
    };
    CHECK(has(Codes::any_order) == ((code & 3) != code >> 2));
    CHECK(has(Codes::ascending) == ((code & 3) < code >> 2));
    CHECK(has(Codes::one_of_two) == (code == 0b0100 || code == 0b1110));
  }
}

TEST_CASE("each way in which a sparse wgmma is tried runs here") {
  struct Case {
    std::string depth, types;
    std::size_t narrow, broad;  // Kernels of 8 columns and of 24.
  };
  for (const Case& each : {Case{"k32", "f32.f16.f16", 7, 5}, Case{"k32", "f32.bf16.bf16", 7, 5},
                           Case{"k16", "f32.tf32.tf32", 6, 3}, Case{"k64", "f16.e4m3.e5m2", 5, 3},
                           Case{"k64.satfinite", "s32.s8.u8", 5, 3}})
    for (std::string n : {"8", "24"}) {
      Instance instance = instance_named("wgmma.mma_async.sp.sync.aligned.m64n" + n + each.depth +
                                         "." + each.types);
      std::vector<Kernel> kernels = sparse_kernels(instance);
      INFO(instance.mnemonic());
      CHECK(kernels.size() == (n == "8" ? each.narrow : each.broad));
      for (const Kernel& kernel : kernels) {
        Ran ran = run(kernel);
        INFO(kernel.name << ": " << ran.end.detail);
        CHECK_FALSE(stops(ran));
      }
    }
}

TEST_CASE("a code in descending order is none of ordered metadata") {
  const std::string plain = "mma.sp.sync", ordered = "mma.sp::ordered_metadata.sync";
  Instance instance = instance_named("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
  for (const Kernel& kernel : matrix_kernels(instance)) {
    std::string body = kernel.body;
    body.replace(body.find(plain), plain.size(), ordered);
    INFO(kernel.name);
    CHECK_FALSE(stops(run(kernel)));
    CHECK(stops(run(kernel, body)) == (kernel.name.find("any order") != std::string::npos));
  }
}

TEST_CASE("selectors name one thread, a pair or all of each four") {
  auto count = [](const std::string& mnemonic) {
    std::set<std::string> selectors;
    for (const Kernel& kernel : matrix_kernels(instance_named(mnemonic))) {
      std::size_t at = kernel.body.find(", 0x");
      selectors.insert(kernel.body.substr(at, kernel.body.find(';', at) - at));
    }
    return selectors.size();
  };
  CHECK(count("mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32") == 4);
  CHECK(count("mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32") == 2);
  CHECK(count("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32") == 4);
  CHECK(count("mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32") == 1);
}

/// A of one warp: sixteen by sixteen signed bytes, by rows or by columns.
std::vector<std::int32_t> elements_of_a(const Kernel& kernel, unsigned warp, bool by_columns) {
  std::vector<std::int32_t> a(256);
  for (unsigned i = 0; i < 256; ++i) {
    unsigned at = by_columns ? i % 16 * 16 + i / 16 : i;
    a[i] = static_cast<signed char>(kernel.input[warp * 256 + at]);
  }
  return a;
}

TEST_CASE("each element of D is one element of the A that a form of wmma.load moves") {
  for (std::string order : {"row", "col"})
    for (std::string space : {"global", "shared"}) {
      std::vector<Kernel> kernels = fragment_kernels(
          instance_named("wmma.load.a.sync.aligned." + order + ".m16n16k16." + space + ".s8"));
      REQUIRE(kernels.size() == 2);
      Ran ran = run(kernels[0]);
      INFO(kernels[0].name << ": " << ran.end.detail);
      REQUIRE_FALSE(stops(ran));
      for (unsigned warp = 0; warp < 2; ++warp) {
        std::vector<std::int32_t> d(256);
        std::memcpy(d.data(), ran.output.data() + warp * 1024, 1024);
        CHECK(d == elements_of_a(kernels[0], warp, order == "col"));
        CHECK(d != elements_of_a(kernels[0], warp, order != "col"));
      }
    }
}

/// Bits of the elements of D, each as wide as those of `type`: in f32 two bytes stand above two.
std::vector<std::uint64_t> numbers_in(const std::string& bytes, const std::string& type) {
  std::vector<std::uint64_t> list(bytes.size() / (type == "f64" ? 8 : 4));
  std::size_t each = bytes.size() / std::max<std::size_t>(list.size(), 1);
  for (std::size_t i = 0; i < list.size(); ++i) std::memcpy(&list[i], &bytes[i * each], each);
  return list;
}

TEST_CASE("each element of D is one element of the floats that a form of wmma.load moves") {
  struct Case {
    std::string shape, type;
    unsigned m, n, k, warps;
  };
  for (const Case& each :
       {Case{"m8n32k16", "bf16", 8, 32, 16, 2}, Case{"m32n8k16", "bf16", 32, 8, 16, 2},
        Case{"m16n16k8", "tf32", 16, 16, 8, 2}, Case{"m8n8k4", "f64", 8, 8, 4, 2}})
    for (bool by_columns : {false, true}) {
      std::string order = by_columns ? "col" : "row";
      std::vector<Kernel> kernels = fragment_kernels(instance_named(
          "wmma.load.a.sync.aligned." + order + "." + each.shape + ".global." + each.type));
      REQUIRE(kernels.size() == 2);
      Ran ran = run(kernels[0]);
      INFO(kernels[0].name << ": " << ran.end.detail);
      REQUIRE_FALSE(stops(ran));
      std::vector<std::uint64_t> d = numbers_in(ran.output, each.type);
      unsigned bytes = each.type == "bf16" ? 2 : each.type == "tf32" ? 4 : 8;
      unsigned here = 0, turned = 0;
      for (unsigned i = 0; i < each.warps * each.m * each.n; ++i) {
        unsigned warp = i / each.m / each.n, row = i / each.n % each.m;
        unsigned column = (i % each.n + each.n * warp) % each.k;
        auto element = [&](bool columns) {
          unsigned at = columns ? column * each.m + row : row * each.k + column;
          std::uint64_t bits = 0;
          std::memcpy(&bits, &kernels[0].input[(warp * each.m * each.k + at) * bytes], bytes);
          return bytes == 2 ? bits << 16 : bytes == 4 ? bits & 0xFFFFE000 : bits;
        };
        here += d[i] == element(by_columns), turned += d[i] == element(!by_columns);
      }
      CHECK(here == each.warps * each.m * each.n);
      CHECK(turned < here);
    }
}

TEST_CASE("a D of f16 from a C of f32 is rounded twice") {
  std::vector<Kernel> kernels =
      fragment_kernels(instance_named("wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32"));
  REQUIRE(kernels.size() == 2);
  Ran ran = run(kernels[1]);
  INFO(kernels[1].name << ": " << ran.end.detail);
  REQUIRE_FALSE(stops(ran));
  for (unsigned i = 0; i < 256; ++i) {
    std::uint16_t d = 0;
    std::memcpy(&d, ran.output.data() + 2 * i, 2);
    // Where the product is positive only what f32 keeps is a tie, and goes to the even neighbour.
    unsigned up = i / 16 % 2 == 0 && i % 2 != 0 ? 1 : 0;
    CHECK(d == 0x3C00 + i + up);
  }
}

TEST_CASE("what saturates is tried where sums leave the range") {
  std::vector<Kernel> kernels = fragment_kernels(
      instance_named("wmma.mma.sync.aligned.row.col.m16n16k16.satfinite.s32.s8.s8.s32"));
  REQUIRE(kernels.size() == 2);
  std::string body = kernels[1].body;
  body.erase(body.find(".satfinite"), 10);
  CHECK(run(kernels[1]).output != run(kernels[1], body).output);
}

}  // namespace
}  // namespace lathe::ptx::witness
