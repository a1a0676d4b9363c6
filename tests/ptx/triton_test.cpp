// What Triton emits, run on the emulated device: softmax, sum, silu and a matrix product give what
// they are for.

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ptx/bits_value.h"
#include "tests/places.h"
#include "tests/ptx/launch.h"

namespace lathe::ptx {
namespace {

/// Those of sm_90a as they were when the pairs were measured: tuning chooses other launches.
std::string reference(const std::string& contract) {
  const char* home = contract.ends_with("sm_90a") ? "/suite/pairs/contracts/" : "/suite/contracts/";
  std::ifstream in(source_folder + std::string(home) + contract + "/reference.ptx");
  std::stringstream text;
  text << in.rdbuf();
  REQUIRE(!text.str().empty());
  return text.str();
}

std::uint16_t half(double x) { return rounded<Type::f16>(x, 0, Rounding::rn).held; }
double value(std::uint16_t bits) { return to_double(BitsOf<Type::f16>{bits}); }

/// Small numbers that differ from place to place.
std::vector<std::uint16_t> numbers(std::size_t count, unsigned seed) {
  std::vector<std::uint16_t> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values[i] = half(static_cast<double>(static_cast<int>(seed >> 20) - 2048) / 1024.0);
  }
  return values;
}

void no_trap(const RunResult& result) {
  INFO((result.trap ? print(*result.trap) : ""));
  REQUIRE(!result.trap);
}

void check_softmax(const std::string& target) {
  constexpr std::size_t columns = 4096;
  Launched launch;
  launch.add(numbers(2 * columns, 1));
  launch.add(std::vector<std::uint16_t>(2 * columns));
  launch.shape = {{2, 1, 1}, {128, 1, 1}, 16};
  launch.scalars = {{2, columns}, {3, 0}, {4, 0}};
  no_trap(launch.run(reference("softmax_fp16_" + target)));
  auto x = launch.get<std::uint16_t>(0), y = launch.get<std::uint16_t>(1);
  for (std::size_t row = 0; row < 2; ++row) {
    double sum = 0, worst = 0;
    for (std::size_t i = 0; i < columns; ++i) sum += std::exp(value(x[row * columns + i]));
    for (std::size_t i = 0; i < columns; ++i) {
      double want = std::exp(value(x[row * columns + i])) / sum;
      worst = std::max(worst, (std::fabs(value(y[row * columns + i]) - want) - 6e-8) / want);
    }
    CHECK(worst < 1e-3);
  }
}

TEST_CASE("Triton's softmax for sm_89 is a softmax") { check_softmax("sm_89"); }
TEST_CASE("Triton's softmax for sm_90a is a softmax") { check_softmax("sm_90a"); }
TEST_CASE("Triton's softmax for sm_100a, with redux.f32, is a softmax") {
  check_softmax("sm_100a");
}

void check_sum(const std::string& target) {
  constexpr std::size_t columns = 4096;
  Launched launch;
  launch.add(numbers(3 * columns, 2));
  launch.add(std::vector<std::uint16_t>(3));
  launch.shape = {{3, 1, 1}, {128, 1, 1}, 16};
  launch.scalars = {{2, columns}, {3, 0}, {4, 0}};
  no_trap(launch.run(reference("sum_fp16_" + target)));
  auto x = launch.get<std::uint16_t>(0), y = launch.get<std::uint16_t>(1);
  for (std::size_t row = 0; row < 3; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < columns; ++i) sum += value(x[row * columns + i]);
    CHECK(std::fabs(value(y[row]) - sum) <= 1e-3 * std::fabs(sum) + 1e-3);
  }
}

TEST_CASE("Triton's row sum for sm_89 sums rows") { check_sum("sm_89"); }
TEST_CASE("Triton's row sum for sm_90a sums rows") { check_sum("sm_90a"); }
TEST_CASE("Triton's row sum for sm_100a sums rows") { check_sum("sm_100a"); }

void check_silu(const std::string& target) {
  Launched launch;
  launch.add(numbers(4096, 3));
  launch.add(std::vector<std::uint16_t>(4096));
  launch.shape = {{2, 1, 1}, {128, 1, 1}, 0};
  launch.scalars = {{2, 0}, {3, 0}};
  no_trap(launch.run(reference("silu_fp16_" + target)));
  auto x = launch.get<std::uint16_t>(0), y = launch.get<std::uint16_t>(1);
  for (std::size_t i = 0; i < x.size(); ++i) {
    double v = value(x[i]), want = v / (1 + std::exp(-v));
    CHECK(std::fabs(value(y[i]) - want) <= 1e-3 * std::fabs(want) + 1e-6);
  }
}

TEST_CASE("Triton's silu for sm_89 is silu") { check_silu("sm_89"); }
TEST_CASE("Triton's silu for sm_90a is silu") { check_silu("sm_90a"); }
TEST_CASE("Triton's silu for sm_100a, with mul.f32x2, is silu") { check_silu("sm_100a"); }

TEST_CASE("Triton's gemm for sm_89 multiplies matrices under either schedule of its copies") {
  constexpr std::size_t m = 256, n = 128, k = 96;
  for (AsyncSchedule schedule : {AsyncSchedule::at_issue, AsyncSchedule::at_wait}) {
    Launched launch;
    launch.add(numbers(m * k, 4));
    launch.add(numbers(k * n, 5));
    launch.add(std::vector<std::uint16_t>(m * n));
    launch.shape = {{2, 1, 1}, {128, 1, 1}, 49152};
    launch.scalars = {{3, m}, {4, n}, {5, k}, {6, k}, {7, n}, {8, n}, {9, 0}, {10, 0}};
    launch.request.schedule = schedule;
    no_trap(launch.run(reference("gemm_fp16_sm_89")));
    auto a = launch.get<std::uint16_t>(0), b = launch.get<std::uint16_t>(1),
         c = launch.get<std::uint16_t>(2);
    double worst = 0;
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::size_t l = 0; l < k; ++l) sum += value(a[i * k + l]) * value(b[l * n + j]);
        worst = std::max(worst, std::fabs(value(c[i * n + j]) - sum));
      }
    CHECK(worst < 0.02);
  }
}

/// One tile of 128 rows and 256 columns, watched: nothing is out of order, under any schedule.
void check_tile(const std::string& contract, std::uint32_t threads, AsyncSchedule schedule) {
  constexpr std::size_t m = 128, n = 256, k = 192;
  Launched launch;
  launch.add(numbers(m * k, 4));
  launch.add(numbers(k * n, 5));
  launch.add(std::vector<std::uint16_t>(m * n));
  launch.shape = {{1, 1, 1}, {threads, 1, 1}, 196608};
  launch.scalars = {{3, m}, {4, n}, {5, k}, {6, k}, {7, n}, {8, n}, {9, 0}, {10, 0}};
  launch.request.schedule = schedule;
  no_trap(launch.watch(reference(contract)));
  for (const OrderFinding& finding : launch.findings)
    FAIL_CHECK(name_of(finding.kind)
               << " " << explain(finding.kind) << " at " << finding.address << " by "
               << finding.first.instruction << " and " << finding.second.instruction);
  auto a = launch.get<std::uint16_t>(0), b = launch.get<std::uint16_t>(1),
       c = launch.get<std::uint16_t>(2);
  double worst = 0;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t l = 0; l < k; ++l) sum += value(a[i * k + l]) * value(b[l * n + j]);
      worst = std::max(worst, std::fabs(value(c[i * n + j]) - sum));
    }
  CHECK(worst < 0.04);
}

TEST_CASE("Triton's gemm for sm_90a, with wgmma, multiplies matrices in good order") {
  check_tile("gemm_fp16_sm_90a", 256, AsyncSchedule::at_issue);
}
TEST_CASE("Triton's gemm for sm_100a, with tcgen05, multiplies matrices in good order") {
  check_tile("gemm_fp16_sm_100a", 256, AsyncSchedule::at_issue);
}
TEST_CASE("and also where tensor products are done as late as allowed") {
  check_tile("gemm_fp16_sm_100a", 256, AsyncSchedule::at_wait);
}

}  // namespace
}  // namespace lathe::ptx
