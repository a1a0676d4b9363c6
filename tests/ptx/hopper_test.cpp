// A matrix product as Hopper's fastest kernels are written: a warp that brings tiles by tensor maps
// into a ring of buffers, a warpgroup that multiplies them, mbarriers both ways, and in a cluster
// tiles that are brought once for both blocks. What such a kernel may get wrong is found.

#include <cmath>

#include "ptx/bits_value.h"
#include "tests/ptx/launch.h"

namespace lathe::ptx {
namespace {

using Kind = OrderFinding::Kind;
constexpr unsigned k_tiles = 5, depth = 64 * k_tiles;
constexpr unsigned tile_bytes = 64 * 128;  // 64 rows of 64 f16.

std::string text_of(int value) { return std::to_string(value); }

const std::string declarations =
    ".reg .b32 %r<64>, %tid, %rank, %stage, %parity, %k, %x, %y, %full, %empty, %sa, %sb, %far;\n"
    ".reg .b64 %a_map, %b_map, %out, %da, %db, %at, %state; .reg .f32 %d<32>; .reg .pred %p, %q;\n"
    ".reg .b16 %both;\n"
    ".shared .align 1024 .b8 a_tiles[16384];\n.shared .align 1024 .b8 b_tiles[16384];\n"
    ".shared .align 8 .b64 bars[4];\n";

/// Addresses of this stage's mbarriers and tiles, from %stage.
const std::string stage =
    "mov.u32 %full, bars;\nmad.lo.u32 %full, %stage, 8, %full;\nadd.u32 %empty, %full, 16;\n"
    "mov.u32 %sa, a_tiles;\nmad.lo.u32 %sa, %stage, 8192, %sa;\n"
    "mov.u32 %sb, b_tiles;\nmad.lo.u32 %sb, %stage, 8192, %sb;\n";
const std::string next_stage =
    "add.u32 %k, %k, 1;\nxor.b32 %stage, %stage, 1;\nsetp.eq.u32 %q, %stage, 0;\n"
    "@%q xor.b32 %parity, %parity, 1;\nsetp.lt.u32 %q, %k, " +
    text_of(k_tiles) + ";\n";

std::string producer(bool cluster) {
  std::string copy_a =
      cluster ? "mad.lo.u32 %far, %rank, 4096, %sa;\nshl.b32 %y, %rank, 5;\nmov.u16 %both, 3;\n"
                "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                ".multicast::cluster [%far], [%a_map, {%x, %y}], [%full], %both;\n"
              : "mov.u32 %y, 0;\n"
                "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                " [%sa], [%a_map, {%x, %y}], [%full];\n";
  return "setmaxnreg.dec.sync.aligned.u32 40;\nsetp.ne.u32 %p, %tid, 0;\n@%p bra DONE;\n"
         "mov.u32 %k, 0;\nmov.u32 %stage, 0;\nmov.u32 %parity, 1;\nFILL:\n" +
         stage +
         "W0: mbarrier.try_wait.parity.shared::cta.b64 %q, [%empty], %parity;\n@!%q bra W0;\n"
         "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%full], 16384;\n"
         "shl.b32 %x, %k, 6;\n" +
         copy_a +
         "shl.b32 %y, %rank, 6;\n"
         "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
         " [%sb], [%b_map, {%x, %y}], [%full];\n" +
         next_stage + "@%q bra FILL;\nbra DONE;\n";
}

std::string consumer(bool cluster) {
  std::string list;
  for (int i = 0; i < 32; ++i) list += (i == 0 ? "" : ", ") + ("%d" + text_of(i));
  std::string text =
      "MULTIPLY: setmaxnreg.inc.sync.aligned.u32 232;\n"
      "mov.u32 %k, 0;\nmov.u32 %stage, 0;\nmov.u32 %parity, 0;\n";
  for (int i = 0; i < 32; ++i) text += "mov.f32 %d" + text_of(i) + ", 0f00000000;\n";
  text += "STEP:\n" + stage +
          "W1: mbarrier.try_wait.parity.shared::cta.b64 %q, [%full], %parity;\n@!%q bra W1;\n"
          "wgmma.fence.sync.aligned;\n";
  for (int i = 0; i < 4; ++i)
    for (auto [descriptor, tile] : {std::pair{"%da", "%sa"}, {"%db", "%sb"}}) {
      std::string d = descriptor;
      text += std::string("add.u32 %r0, ") + tile + ", " + text_of(32 * i) +
              ";\nbfe.u32 %r0, %r0, 4, 14;\ncvt.u64.u32 " + d + ", %r0;\nor.b64 " + d + ", " + d +
              ", 0x4000004000010000;\n";
      if (d == "%db")
        text += "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" + list +
                "}, %da, %db, 1, 1, 1, 0, 0;\n";
    }
  text += "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
  if (cluster)
    for (int rank = 0; rank < 2; ++rank)
      text += "mapa.shared::cluster.u32 %far, %empty, " + text_of(rank) +
              ";\nmbarrier.arrive.release.cluster.shared::cluster.b64 _, [%far];\n";
  else
    text += "mbarrier.arrive.shared::cta.b64 %state, [%empty];\n";
  text += next_stage +
          "@%q bra STEP;\n"
          "and.b32 %r1, %tid, 31;\nshr.u32 %r2, %tid, 5;\nand.b32 %r2, %r2, 3;\n"
          "shl.b32 %r2, %r2, 4;\nshr.u32 %r3, %r1, 2;\nadd.u32 %r2, %r2, %r3;\n"
          "and.b32 %r3, %r1, 3;\nshl.b32 %r3, %r3, 1;\nmad.lo.u32 %r3, %rank, 64, %r3;\n";
  for (int i = 0; i < 32; ++i)
    text += "add.u32 %r4, %r2, " + text_of(i / 2 % 2 * 8) + ";\nadd.u32 %r5, %r3, " +
            text_of(i / 4 * 8 + i % 2) +
            ";\nmad.lo.u32 %r4, %r4, 128, %r5;\n"
            "mul.wide.u32 %at, %r4, 4;\nadd.s64 %at, %out, %at;\nst.global.f32 [%at], %d" +
            text_of(i) + ";\n";
  return text;
}

const std::string cluster_sync = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";

std::string kernel(bool cluster) {
  std::string count = cluster ? "256" : "128";
  return module_text(
      ".visible .entry test(.param .u64 p0, .param .u64 p1, .param .u64 p2,\n"
      ".param .align 64 .b8 a_of[128], .param .align 64 .b8 b_of[128])\n{\n" +
      declarations +
      "ld.param.u64 %out, [p0];\nmov.b64 %a_map, a_of;\ncvta.param.u64 %a_map, %a_map;\n"
      "mov.b64 %b_map, b_of;\ncvta.param.u64 %b_map, %b_map;\nmov.u32 %tid, %tid.x;\n"
      "mov.u32 %rank, %cluster_ctarank;\nsetp.ne.u32 %p, %tid, 0;\n@%p bra MADE;\n"
      "mbarrier.init.shared::cta.b64 [bars], 1;\nmbarrier.init.shared::cta.b64 [bars+8], 1;\n"
      "mbarrier.init.shared::cta.b64 [bars+16], " +
      count +
      ";\n"
      "mbarrier.init.shared::cta.b64 [bars+24], " +
      count +
      ";\n"
      "fence.mbarrier_init.release.cluster;\nMADE: bar.sync 0;\n" +
      (cluster ? cluster_sync : "") + "setp.ge.u32 %p, %tid, 128;\n@%p bra MULTIPLY;\n" +
      producer(cluster) + consumer(cluster) + "DONE:\n" +
      (cluster ? "bar.sync 0;\n" + cluster_sync : "") + "ret;\n}\n");
}

/// Products of small integers are exact whatever the order.
int a_value(unsigned row, unsigned k) { return static_cast<int>((row * 7 + k * 3) % 5) - 2; }
int b_value(unsigned column, unsigned k) { return static_cast<int>((column * 2 + k) % 7) - 3; }

Launched launched(bool cluster) {
  auto f16 = [](int x) {
    return static_cast<std::uint16_t>(rounded<Type::f16>(x, 0, Rounding::rn).held);
  };
  std::vector<std::uint16_t> a(64 * depth), b(128 * depth);
  for (unsigned row = 0; row < 64; ++row)
    for (unsigned k = 0; k < depth; ++k) a[row * depth + k] = f16(a_value(row, k));
  for (unsigned column = 0; column < 128; ++column)
    for (unsigned k = 0; k < depth; ++k) b[column * depth + k] = f16(b_value(column, k));
  Launched launch;
  launch.add(std::vector<float>(64 * 128, -1.0f));
  launch.add(a);
  launch.add(b);
  launch.shape = {{cluster ? 2u : 1u, 1, 1}, {256, 1, 1}, 0, {cluster ? 2u : 1u, 1, 1}};
  TensorMap map;
  map.rank = 2;
  map.strides = {depth * 2, 0, 0, 0};
  map.type = MapType::f16;
  map.swizzle = MapSwizzle::bytes128;
  map.address = first_address + 0x1'0000'0000;
  map.dims = {depth, 64, 0, 0, 0};
  map.box = {64, cluster ? 32u : 64u, 0, 0, 0};
  launch.objects.push_back({3, *encode_tensor_map(map)});
  map.address = first_address + 0x2'0000'0000;
  map.dims = {depth, 128, 0, 0, 0};
  map.box = {64, 64, 0, 0, 0};
  launch.objects.push_back({4, *encode_tensor_map(map)});
  return launch;
}

Launched watched(bool cluster, AsyncSchedule schedule) {
  Launched launch = launched(cluster);
  launch.request.schedule = schedule;
  launch.watch(kernel(cluster));
  INFO((launch.result.trap ? print(*launch.result.trap) : ""));
  REQUIRE(!launch.result.trap);
  return launch;
}

void check_order(const Launched& launch) {
  for (const OrderFinding& finding : launch.findings)
    FAIL_CHECK(name_of(finding.kind)
               << " by " << finding.first.instruction << ", " << finding.second.instruction);
}

void check_products(Launched& launch, bool cluster) {
  auto out = launch.get<float>(0);
  bool good = true;
  for (unsigned row = 0; row < 64; ++row)
    for (unsigned column = 0; column < (cluster ? 128u : 64u); ++column) {
      int sum = 0;
      for (unsigned k = 0; k < depth; ++k) sum += a_value(row, k) * b_value(column, k);
      good = good && out[row * 128 + column] == static_cast<float>(sum);
    }
  CHECK(good);
}

Launched broken(bool cluster, const std::string& from, const std::string& to) {
  std::string text = kernel(cluster);
  std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  Launched launch = launched(cluster);
  launch.watch(text.replace(at, from.size(), to));
  return launch;
}

bool traps(const Launched& launch, TrapKind kind) {
  return launch.result.trap && launch.result.trap->kind == kind;
}

}  // namespace

TEST_CASE("a ring of tiles by tensor copies feeds wgmma, under every schedule") {
  for (AsyncSchedule schedule :
       {AsyncSchedule::at_issue, AsyncSchedule::at_wait, AsyncSchedule::seeded}) {
    Launched launch = watched(false, schedule);
    check_order(launch);
    check_products(launch, false);
  }
}

TEST_CASE("two blocks of a cluster share the tiles that each brings for both") {
  for (AsyncSchedule schedule : {AsyncSchedule::at_issue, AsyncSchedule::at_wait}) {
    Launched launch = watched(true, schedule);
    check_products(launch, true);
  }
}

TEST_CASE("the order of two blocks that share their tiles is found right") {
  for (AsyncSchedule schedule : {AsyncSchedule::at_issue, AsyncSchedule::at_wait})
    check_order(watched(true, schedule));
}

TEST_CASE("a consumer that does not wait for its tile reads it too early") {
  Launched launch = broken(
      false, "W1: mbarrier.try_wait.parity.shared::cta.b64 %q, [%full], %parity;\n@!%q bra W1;\n",
      "");
  CHECK((launch.found(Kind::early_read) || launch.found(Kind::race) ||
         launch.found(Kind::early_write) || launch.result.trap));
}

TEST_CASE("a buffer that is given back before its products are done is overwritten") {
  const std::string wait = "wgmma.wait_group.sync.aligned 0;\n";
  const std::string arrive = "mbarrier.arrive.shared::cta.b64 %state, [%empty];\n";
  CHECK(broken(false, wait + arrive, arrive + wait).found(Kind::early_write));
}

TEST_CASE("a buffer that is never given back, or with a wrong parity, stops the ring") {
  CHECK(traps(broken(false, "mbarrier.arrive.shared::cta.b64 %state, [%empty];\n", ""),
              TrapKind::deadlock));
  CHECK(traps(broken(false, "mov.u32 %parity, 1;\nFILL:", "mov.u32 %parity, 0;\nFILL:"),
              TrapKind::deadlock));
}

TEST_CASE("a producer that does not wait for the buffer overwrites it") {
  Launched launch = broken(
      false, "W0: mbarrier.try_wait.parity.shared::cta.b64 %q, [%empty], %parity;\n@!%q bra W0;\n",
      "");
  CHECK((launch.found(Kind::early_write) || launch.found(Kind::race) || launch.result.trap));
}

TEST_CASE("a byte count that is not the tiles' stops the ring") {
  CHECK(traps(broken(false, "[%full], 16384", "[%full], 8192"), TrapKind::deadlock));
}

TEST_CASE("in a cluster the other block's consumers give the buffer back too") {
  Launched launch = broken(true, "mapa.shared::cluster.u32 %far, %empty, 1;",
                           "mapa.shared::cluster.u32 %far, %empty, 0;");
  CHECK((launch.result.trap || !launch.findings.empty()));
  // Counting the own block's alone lets a copy overwrite what the other still reads.
  std::string text = kernel(true);
  for (const char* from : {"[bars+16], 256", "[bars+24], 256"}) {
    std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at + 11, 3, "128");
  }
  std::size_t begin = text.find("mapa.shared::cluster.u32 %far, %empty, 0;");
  std::size_t end = text.find("add.u32 %k, %k, 1;", begin);
  REQUIRE(end != std::string::npos);
  text.replace(begin, end - begin, "mbarrier.arrive.shared::cta.b64 %state, [%empty];\n");
  Launched own = launched(true);
  own.watch(text);
  CHECK((own.found(Kind::early_write) || own.found(Kind::lapped) || own.result.trap));
}

}  // namespace lathe::ptx
