// Tensor memory beyond one block and one shape: pairs of blocks, the layouts of .ws, copies from
// shared memory, and the shapes of loads and stores.

#include <cmath>
#include <cstring>
#include <functional>
#include <optional>

#include "ptx/bits_value.h"
#include "ptx/zero_columns.h"
#include "tests/ptx/launch.h"

namespace lathe::ptx {
namespace {

int a_value(unsigned row, unsigned k) { return static_cast<int>((row * 5 + k * 3) % 7) - 3; }
int b_value(unsigned k, unsigned column) { return static_cast<int>((k * 2 + column * 3) % 5) - 2; }
std::int32_t expected(unsigned row, unsigned column) {
  std::int32_t sum = 0;
  for (unsigned k = 0; k < 32; ++k) sum += a_value(row, k) * b_value(k, column);
  return sum;
}

/// Rows of 32 signed bytes, or of e4m3, in cores of 8 x 16 bytes.
void add_rows(std::vector<std::uint8_t>& bytes, unsigned first, unsigned rows, bool a_operand,
              bool floats = false) {
  std::size_t begin = bytes.size();
  bytes.resize(begin + rows * 32);
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned k = 0; k < 32; ++k) {
      int value = a_operand ? a_value(first + row, k) : b_value(k, first + row);
      bytes[begin + row / 8 * 256 + k / 16 * 128 + row % 8 * 16 + k % 16] =
          floats ? rounded<Type::e4m3>(value, 0, Rounding::rn).held
                 : static_cast<std::uint8_t>(value);
    }
}

std::string descriptor(const std::string& d, unsigned offset) {
  return "add.u32 %at, %s, " + std::to_string(offset) + ";\nbfe.u32 %at, %at, 4, 14;\n" +
         "cvt.u64.u32 " + d + ", %at;\nor.b64 " + d + ", " + d + ", " +
         std::to_string(std::uint64_t{1} << 46 | std::uint64_t{16} << 32 | 8u << 16) + ";\n";
}

const std::string registers =
    ".reg .b32 %s, %i, %v, %at, %t, %w, %n, %rank, %d<64>; .reg .b64 %da, %db, %mb;"
    " .reg .pred %p, %q; .reg .b16 %both;\n";

/// Brings `bytes` bytes from behind %base to shared memory; tensor memory of 64 columns in %t.
std::string prologue(unsigned bytes, const std::string& group) {
  return ".shared .align 1024 .b8 data[" + std::to_string(bytes) + "];\n" +
         ".shared .align 8 .b64 bar;\n.shared .align 4 .b32 base;\n"
         "mov.u32 %s, data;\nmov.u32 %i, %tid;\n"
         "LOAD: mul.wide.u32 %offset, %i, 4;\nadd.s64 %in, %base, %offset;\n"
         "ld.global.u32 %v, [%in];\nmad.lo.u32 %at, %i, 4, %s;\nst.shared.u32 [%at], %v;\n"
         "add.u32 %i, %i, 128;\nsetp.lt.u32 %p, %i, " +
         std::to_string(bytes / 4) +
         ";\n"
         "@%p bra LOAD;\nfence.proxy.async.shared::cta;\n"
         "setp.eq.u32 %p, %tid, 0;\nsetp.lt.u32 %q, %tid, 32;\nmov.u32 %at, base;\n"
         "@%q tcgen05.alloc." +
         group +
         ".sync.aligned.shared::cta.b32 [%at], 64;\n"
         "@%p mbarrier.init.shared::cta.b64 [bar], 1;\nbar.sync 0;\nld.shared.b32 %t, [base];\n";
}

std::string epilogue(unsigned columns, const std::string& group) {
  std::string list, text;
  for (unsigned i = 0; i < columns; ++i) list += (i == 0 ? "" : ", ") + ("%d" + std::to_string(i));
  text =
      "shr.u32 %w, %tid, 5;\nshl.b32 %w, %w, 21;\nadd.u32 %w, %w, %t;\n"
      "tcgen05.ld.sync.aligned.32x32b.x" +
      std::to_string(columns) + ".b32 {" + list +
      "}, [%w];\ntcgen05.wait::ld.sync.aligned;\n"
      "ld.param.u64 %base, [p0];\nmad.lo.u32 %i, %rank, 128, %tid;\n";
  for (unsigned i = 0; i < columns; ++i)
    text += "mad.lo.u32 %n, %i, " + std::to_string(columns) + ", " + std::to_string(i) +
            ";\nmul.wide.u32 %offset, %n, 4;\nadd.s64 %out, %base, %offset;\n"
            "st.global.u32 [%out], %d" +
            std::to_string(i) + ";\n";
  return text + "bar.sync 0;\nsetp.lt.u32 %q, %tid, 32;\n@%q tcgen05.dealloc." + group +
         ".sync.aligned.b32 %t, 64;\n";
}

const std::string cluster_sync = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
const std::string wait =
    "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n@!%q bra WAIT;\n";

std::string pair_text(unsigned m) {
  std::uint32_t idesc = 2u << 4 | 1u << 7 | 1u << 10 | 32u / 8 << 17 | m / 16 << 24;
  unsigned rows = m / 2;
  std::string text = "mov.u32 %rank, %cluster_ctarank;\nmul.wide.u32 %offset, %rank, " +
                     std::to_string(rows * 32 + 512) + ";\nadd.s64 %base, %base, %offset;\n" +
                     prologue(rows * 32 + 512, "cta_group::2") + descriptor("%da", 0) +
                     descriptor("%db", rows * 32) + cluster_sync + "mov.u32 %n, " +
                     std::to_string(idesc) +
                     ";\nmov.u32 %at, bar;\ncvt.u64.u32 %mb, %at;\n"
                     "mov.u16 %both, 3;\nor.b32 %i, %rank, %tid;\nsetp.eq.u32 %p, %i, 0;\n"
                     "@%p tcgen05.mma.cta_group::2.kind::i8 [%t], %da, %db, %n, 0;\n"
                     "@%p tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster"
                     ".multicast::cluster.b64 [%mb], %both;\n" +
                     wait + epilogue(m == 256 ? 32 : 16, "cta_group::2") + cluster_sync;
  return body_text(registers, text, "sm_100a", "8.8");
}

Launched pair_launch(unsigned m, bool floats = false) {
  std::vector<std::uint8_t> bytes;
  for (unsigned rank = 0; rank < 2; ++rank) {
    add_rows(bytes, rank * m / 2, m / 2, true, floats);
    add_rows(bytes, rank * 16, 16, false, floats);
  }
  Launched launch;
  launch.add(std::vector<std::int32_t>(2 * 128 * 32));
  launch.add(bytes);
  launch.shape = {{2, 1, 1}, {128, 1, 1}, 0, {2, 1, 1}};
  return launch;
}

}  // namespace

TEST_CASE("a pair of blocks multiplies 256 rows, each block its half of A and of B") {
  Launched launch = pair_launch(256);
  launch.watch(pair_text(256));
  no_fault(launch);
  auto out = launch.get<std::int32_t>(0);
  for (unsigned row = 0; row < 256; ++row)
    for (unsigned column = 0; column < 32; ++column)
      CHECK(out[row * 32 + column] == expected(row, column));
}

TEST_CASE("a pair's 128 rows lie in two banks of lanes in each block") {
  Launched launch = pair_launch(128);
  launch.watch(pair_text(128));
  no_fault(launch);
  auto out = launch.get<std::int32_t>(0);
  for (unsigned row = 0; row < 128; ++row)
    for (unsigned column = 0; column < 32; ++column) {
      unsigned lane = row % 64 + 64 * (column / 16);
      CHECK(out[(row / 64 * 128 + lane) * 16 + column % 16] == expected(row, column));
    }
}

namespace {

/// The same of e4m3 with a scale for each row of A, 2^(row % 4), and each column of B,
/// 2^(column / 4 % 4). Every quarter of the lanes has the scales of its block's rows, and of the
/// columns that lie there: of 128 rows two quarters have the first half, two the second.
std::string scaled_pair_text(unsigned m) {
  std::uint32_t idesc = 32u / 8 << 17 | 1u << 23 | m / 128 << 27;
  std::string scales;
  for (unsigned c = 0; c < 4; ++c)
    scales += "and.b32 %n, %tid, 31;\nadd.u32 %n, %n, " + std::to_string(32 * c) +
              ";\nmad.lo.u32 %n, %rank, " + std::to_string(m / 2) +
              ", %n;\nand.b32 %n, %n, 3;\nadd.u32 %d" + std::to_string(c) + ", %n, 127;\n";
  scales += "and.b32 %n, %tid, 31;\n";
  if (m == 128) scales += "shr.u32 %i, %tid, 6;\nmad.lo.u32 %n, %i, 16, %n;\n";
  scales +=
      "shr.u32 %n, %n, 2;\nand.b32 %n, %n, 3;\nadd.u32 %d4, %n, 127;\n"
      "shr.u32 %w, %tid, 5;\nshl.b32 %w, %w, 21;\nadd.u32 %w, %w, %t;\n"
      "tcgen05.st.sync.aligned.32x32b.x4.b32 [%w + 40], {%d0, %d1, %d2, %d3};\n"
      "tcgen05.st.sync.aligned.32x32b.x1.b32 [%w + 48], {%d4};\n"
      "tcgen05.wait::st.sync.aligned;\ntcgen05.fence::before_thread_sync;\n";
  std::string text = pair_text(m);
  auto replace = [&](const std::string& from, const std::string& to) {
    std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
  };
  replace(cluster_sync, scales + cluster_sync + "tcgen05.fence::after_thread_sync;\n");
  std::size_t at = text.rfind("mov.u32 %n, ", text.find("mov.u32 %at, bar;\ncvt.u64"));
  text.replace(at, text.find('\n', at) - at, "mov.u32 %n, " + std::to_string(idesc) + ";");
  replace("@%p tcgen05.mma.cta_group::2.kind::i8 [%t], %da, %db, %n, 0;\n",
          "add.u32 %v, %t, 40;\nadd.u32 %i, %t, 48;\n@%p tcgen05.mma.cta_group::2.kind::mxf8f6f4"
          ".block_scale.scale_vec::1X [%t], %da, %db, %n, [%v], [%i], 0;\n");
  return text;
}

}  // namespace

TEST_CASE("a pair's scaled product takes each block's rows and each bank's columns") {
  for (unsigned m : {256u, 128u}) {
    Launched launch = pair_launch(m, true);
    launch.watch(scaled_pair_text(m));
    no_fault(launch);
    auto out = launch.get<float>(0);
    for (unsigned row = 0; row < m; ++row)
      for (unsigned column = 0; column < 32; ++column) {
        unsigned lane = row % 64 + 64 * (column / 16);
        std::size_t at = m == 256 ? row * 32 + column : (row / 64 * 128 + lane) * 16 + column % 16;
        double scale = std::ldexp(1.0, static_cast<int>(row % 4 + column / 4 % 4));
        CHECK(static_cast<double>(out[at]) == expected(row, column) * scale);
      }
  }
}

TEST_CASE("a pair that is not synchronised reads the other block's half too early") {
  std::string text = pair_text(256);
  std::size_t at = text.find(cluster_sync);
  REQUIRE(at != std::string::npos);
  text.erase(at, cluster_sync.size());
  Launched launch = pair_launch(256);
  launch.watch(text);
  CHECK((!launch.findings.empty() || launch.result.trap));
}

namespace {

constexpr unsigned b_rows_most = 96;  // Of 64 columns, shifted by 32 at most.

/// A product of m rows by 64 columns; `mask` is a zero-column mask, `shifts` what the instruction's
/// descriptor has of the greatest shift.
Launched stationary(unsigned m, std::optional<std::uint64_t> mask = {}, unsigned shifts = 0) {
  std::uint32_t idesc = 2u << 4 | 1u << 7 | 1u << 10 | 64u / 8 << 17 | m / 16 << 24 | shifts << 30;
  unsigned columns = 64 * m / 128;
  std::string text = "mov.u32 %rank, 0;\n" + prologue(m * 32 + 32 * b_rows_most, "cta_group::1") +
                     descriptor("%da", 0) + descriptor("%db", m * 32);
  if (mask) text += ".reg .b64 %zero;\nmov.b64 %zero, " + std::to_string(*mask) + ";\n";
  text += "mov.u32 %n, " + std::to_string(idesc) +
          ";\nmov.u32 %at, bar;\ncvt.u64.u32 %mb, %at;\n"
          "@%p tcgen05.mma.ws.cta_group::1.kind::i8.collector::b0::fill [%t], %da, %db, %n, 0" +
          (mask ? ", %zero" : "") +
          ";\n@%p tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%mb];\n" +
          wait + epilogue(columns, "cta_group::1");
  std::vector<std::uint8_t> bytes;
  add_rows(bytes, 0, m, true);
  add_rows(bytes, 0, b_rows_most, false);
  Launched launch;
  launch.add(std::vector<std::int32_t>(128 * columns));
  launch.add(bytes);
  launch.shape = {{1, 1, 1}, {128, 1, 1}, 0};
  launch.watch(body_text(registers, text, "sm_100a", "8.8"));
  return launch;
}

/// Column c is that of B `shift` on, or zero.
void check_stationary(unsigned m, const Launched& launch, unsigned shift = 0,
                      const std::function<bool(unsigned)>& is_zero = {}) {
  no_fault(launch);
  unsigned columns = 64 * m / 128;
  auto out = launch.get<std::int32_t>(0);
  for (unsigned row = 0; row < m; ++row)
    for (unsigned column = 0; column < 64; ++column) {
      bool zero = is_zero && is_zero(column);
      CHECK(out[(row + m * (column / columns)) * columns + column % columns] ==
            (zero ? 0 : expected(row, column + shift)));
    }
}

/// Start counts and first spans, the lowest first.
std::uint64_t zero_mask(std::array<unsigned, 4> starts, std::array<unsigned, 4> firsts,
                        unsigned skip, unsigned use, unsigned shift, bool any = true) {
  std::uint64_t bits = std::uint64_t{any} << 39 | std::uint64_t{skip} << 40 |
                       std::uint64_t{use} << 48 | std::uint64_t{shift} << 56;
  for (unsigned i = 0; i < 4; ++i)
    bits |= std::uint64_t{starts[i]} << 8 * i | std::uint64_t{firsts[i]} << (32 + i);
  return bits;
}

std::string lowest(const ZeroColumns& columns, unsigned begin, unsigned count) {
  std::string text;
  for (unsigned i = count; i-- > 0;) text += columns.zero[begin + i] ? '1' : '0';
  return text;
}

}  // namespace

TEST_CASE("tcgen05.mma.ws spreads 64 rows over two banks and 32 rows over four") {
  check_stationary(64, stationary(64));
  check_stationary(32, stationary(32));
}

TEST_CASE("zero-column masks are those of the manual's examples") {
  auto none = ZeroColumns::read(zero_mask({}, {}, 4, 3, 0, false), 128, 128);
  CHECK(none.zero.none());
  auto whole = ZeroColumns::read(zero_mask({}, {}, 2, 3, 0), 128, 128);
  CHECK(lowest(whole, 0, 14) == "11100001110000");
  auto halves = ZeroColumns::read(zero_mask({}, {1, 0}, 2, 3, 0), 64, 128);
  CHECK(lowest(halves, 0, 17) == "11100001110000111");
  CHECK(lowest(halves, 64, 18) == "000011100001110000");
  auto quarters = ZeroColumns::read(zero_mask({0, 1, 2, 1}, {1, 1, 0, 0}, 2, 3, 2), 32, 128);
  CHECK(quarters.shift == 2);
  CHECK(lowest(quarters, 0, 14) == "00001110000111");
  CHECK(lowest(quarters, 32, 13) == "0000111000011");
  CHECK(lowest(quarters, 64, 12) == "111000011100");
  CHECK(lowest(quarters, 96, 13) == "1110000111000");
}

TEST_CASE("columns of B that a mask leaves out are zero, and a shift begins at another one") {
  for (unsigned m : {128u, 64u, 32u}) {
    std::uint64_t mask = zero_mask({0, 1, 2, 1}, {1, 1, 0, 0}, 2, 3, 0);
    ZeroColumns columns = ZeroColumns::read(mask, m, 64);
    auto is_zero = [&](unsigned column) { return columns.zero[column]; };
    CHECK(columns.zero.any());
    check_stationary(m, stationary(m, mask), 0, is_zero);
    check_stationary(m, stationary(m, mask | std::uint64_t{5} << 56, 1), 5, is_zero);
    check_stationary(m, stationary(m, 0));
  }
  check_stationary(64, stationary(64, zero_mask({}, {}, 0, 0, 32, false), 3), 32);
}

TEST_CASE("a shift of more columns than the descriptor allows, or 32 rows do, is a fault") {
  for (auto [m, shift, shifts] : {std::tuple{64u, 1u, 0u}, {64u, 9u, 1u}, {32u, 17u, 3u}}) {
    Launched launch = stationary(m, zero_mask({}, {}, 0, 0, shift, false), shifts);
    REQUIRE(launch.result.trap);
    CHECK(launch.result.trap->kind == TrapKind::bad_operand);
  }
}

TEST_CASE("tcgen05.cp brings rows from shared memory, to one quarter or to all") {
  for (bool all : {false, true}) {
    std::string shape = all ? "32x128b.warpx4" : "128x128b";
    std::string text =
        "mov.u32 %rank, 0;\n" + prologue(2048, "cta_group::1") + descriptor("%da", 0) +
        "mov.u32 %at, bar;\ncvt.u64.u32 %mb, %at;\n"
        "@%p tcgen05.cp.cta_group::1." +
        shape +
        " [%t], %da;\n"
        "@%p tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%mb];\n" +
        wait + epilogue(4, "cta_group::1");
    // Rows of 16 bytes: cores of eight rows, 256 bytes apart as the descriptor says.
    std::vector<std::uint32_t> words(4096 / 4);
    for (std::uint32_t i = 0; i < words.size(); ++i) words[i] = i;
    Launched launch;
    launch.add(std::vector<std::uint32_t>(512));
    launch.add(words);
    launch.shape = {{1, 1, 1}, {128, 1, 1}, 0};
    std::string whole = body_text(registers, text, "sm_100a", "8.8");
    // 128 rows reach 4096 bytes.
    for (std::string from : {"data[2048]", "%i, 512;"}) {
      std::size_t at = whole.find(from);
      REQUIRE(at != std::string::npos);
      whole.replace(at, from.size(), from == "%i, 512;" ? "%i, 1024;" : "data[4096]");
    }
    launch.watch(whole);
    no_fault(launch);
    auto out = launch.get<std::uint32_t>(0);
    for (std::uint32_t lane = 0; lane < 128; ++lane)
      for (std::uint32_t word = 0; word < 4; ++word) {
        std::uint32_t row = all ? lane % 32 : lane;
        CHECK(out[lane * 4 + word] == row / 8 * 64 + row % 8 * 4 + word);
      }
  }
}

TEST_CASE("what one shape stores another loads by the lanes and columns of both") {
  // 16x256b.x1 stores four registers a lane: row lane / 4 (+ 8), columns 2 (lane % 4), + 1.
  const std::string text =
      "mov.u32 %rank, 0;\n" + prologue(512, "cta_group::1") +
      "shr.u32 %w, %tid, 5;\nshl.b32 %w, %w, 21;\nadd.u32 %w, %w, %t;\n"
      "mul.lo.u32 %d0, %tid, 4;\nadd.u32 %d1, %d0, 1;\nadd.u32 %d2, %d0, 2;\nadd.u32 %d3, %d0, 3;\n"
      "tcgen05.st.sync.aligned.16x256b.x1.b32 [%w], {%d0, %d1, %d2, %d3};\n"
      "tcgen05.wait::st.sync.aligned;\nmov.u32 %v, 0;\n"
      "tcgen05.st.sync.aligned.16x64b.x4.b32 [%w + 1048576], {%v, %v, %v, %v};\n"
      "tcgen05.wait::st.sync.aligned;\n" +
      epilogue(8, "cta_group::1");
  Launched launch;
  launch.add(std::vector<std::uint32_t>(1024));
  launch.add(std::vector<std::uint32_t>(128));
  launch.shape = {{1, 1, 1}, {128, 1, 1}, 0};
  launch.watch(body_text(registers, text, "sm_100a", "8.8"));
  no_fault(launch);
  auto out = launch.get<std::uint32_t>(0);
  for (unsigned thread = 0; thread < 128; ++thread)
    for (unsigned r = 0; r < 4; ++r) {
      unsigned lane = thread % 32, row = lane / 4 + 8 * (r / 2), column = 2 * (lane % 4) + r % 2;
      CHECK(out[(thread / 32 * 32 + row) * 8 + column] == thread * 4 + r);
      CHECK(out[(thread / 32 * 32 + 16 + row) * 8 + column] == 0);
    }
}

}  // namespace lathe::ptx
