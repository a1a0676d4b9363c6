// The model's time is that of the resource that binds; nothing else is worth anything.

#include "gpu_node/model.h"

#include <catch2/catch.hpp>

namespace lathe::gpu_node {
namespace {

using ptx::CostClass;

/// A kernel that streams: 4096 blocks of 128 threads, 16 KB a block, like a softmax.
ptx::CostCounters streaming() {
  ptx::CostCounters counters;
  counters.blocks = 64;
  counters.warps = 256;
  counters.slots = 64 * 3000;
  counters.executed[static_cast<std::size_t>(CostClass::single)] = 64 * 1000;
  counters.executed[static_cast<std::size_t>(CostClass::special)] = 64 * 128;
  counters.global_requests = counters.global_passes = 64 * 128;
  counters.l2_read_sectors = counters.l2_write_sectors = 64 * 256;
  counters.read_sectors[0] = counters.written_sectors[1] = 64 * 256;
  counters.critical_cycles = 64 * 2800;
  return counters;
}

Shape shape(std::uint64_t blocks = 4096) { return {blocks, 128, 16, {4096 * 8192, 4096 * 8192}}; }

Resources resources(std::int64_t registers) {
  Resources used;
  used.registers = registers;
  return used;
}

Estimate on_h200(const ptx::CostCounters& counters, std::int64_t registers = 46,
                 const Shape& of = shape()) {
  return estimate(*rates_of("sm_90a"), *limits_of("sm_90a"), of, counters, resources(registers));
}

}  // namespace

TEST_CASE("a kernel that streams is bound by memory, at the rate of a large copy") {
  Estimate one = on_h200(streaming());
  CHECK(one.bound == Bound::dram);
  CHECK(one.of(Bound::dram) == Approx(2.0 * 4096 * 8192 / (4800 * 0.885)));
  CHECK(one.time_ns == Approx(one.launch_ns + one.of(Bound::dram)));
}

TEST_CASE("saving what does not bind gains exactly nothing") {
  Estimate before = on_h200(streaming());
  ptx::CostCounters fewer = streaming();
  fewer.slots /= 2;
  fewer.executed[static_cast<std::size_t>(CostClass::special)] = 0;
  fewer.critical_cycles /= 2;
  Estimate after = on_h200(fewer);
  CHECK(after.time_ns == before.time_ns);
  CHECK(compare_times(after.time_ns, before.time_ns) == "same");
  CHECK(explain(after, before).find("do not bind") != std::string::npos);
  CHECK(explain(before, before).find("do not bind") == std::string::npos);
}

TEST_CASE("the reason says when fewer instructions do not bind") {
  ptx::CostCounters fewer = streaming();
  fewer.executed[static_cast<std::size_t>(CostClass::single)] /= 2;
  std::string reason = explain(on_h200(fewer), on_h200(streaming()));
  CHECK(reason.find("bound by dram") != std::string::npos);
  CHECK(reason.find("do not bind") != std::string::npos);
}

TEST_CASE("a saving on the resource that binds counts in full") {
  ptx::CostCounters less = streaming();
  less.read_sectors[0] /= 2;
  Estimate before = on_h200(streaming()), after = on_h200(less);
  CHECK(after.of(Bound::dram) == Approx(before.of(Bound::dram) * 0.75));
  CHECK(compare_times(after.time_ns, before.time_ns) == "faster");
  CHECK(compare_times(before.time_ns, after.time_ns) == "slower");
}

TEST_CASE("a small grid is bound by its longest chain") {
  ptx::CostCounters counters = streaming();
  Estimate one = on_h200(counters, 25, shape(256));
  CHECK(one.bound == Bound::latency);
  CHECK(one.waves == 1);
  counters.critical_cycles -= 64 * 400;
  Estimate shorter = on_h200(counters, 25, shape(256));
  CHECK(compare_times(shorter.time_ns, one.time_ns) == "faster");
  CHECK(explain(shorter, one).find("longest chain of a block against") != std::string::npos);
}

TEST_CASE("fewer resident blocks make more waves") {
  Shape one = shape();
  one.shared_bytes = 200 * 1024;
  Estimate low = on_h200(streaming(), 46, one);
  CHECK(low.occupancy.blocks == 1);
  CHECK(low.waves == 32);
  CHECK(low.bound == Bound::latency);
  CHECK(low.time_ns > on_h200(streaming()).time_ns);
}

TEST_CASE("a buffer that all blocks read is fetched once") {
  ptx::CostCounters counters = streaming();
  Shape small = shape();
  small.buffer_bytes = {8192, 4096 * 8192};
  Estimate one = on_h200(counters, 46, small);
  CHECK(one.of(Bound::dram) == Approx((8192.0 + 4096 * 8192) / (4800 * 0.885)));
}

TEST_CASE("each resource can bind") {
  ptx::CostCounters counters = streaming();
  counters.slots *= 100;
  CHECK(on_h200(counters).bound == Bound::issue);
  counters = streaming();
  counters.executed[static_cast<std::size_t>(CostClass::special)] *= 100;
  CHECK(on_h200(counters).bound == Bound::xu);
  counters = streaming();
  counters.l2_write_sectors *= 50;
  CHECK(on_h200(counters).bound == Bound::l2);
  counters = streaming();
  counters.shared_passes = 64 * 20000;
  CHECK(on_h200(counters).bound == Bound::shared);
  counters = streaming();
  counters.matrix_macs = 64ull * 100'000'000;
  CHECK(on_h200(counters).bound == Bound::tensor);
  counters = streaming();
  counters.global_passes *= 200;
  CHECK(on_h200(counters).bound == Bound::lsu);
}

TEST_CASE("times within half a percent are the same") {
  CHECK(compare_times(99.6, 100) == "same");
  CHECK(compare_times(99.4, 100) == "faster");
  CHECK(compare_times(100.4, 100) == "same");
  CHECK(compare_times(100.6, 100) == "slower");
}

TEST_CASE("the three targets have rates, limits and one set of latencies") {
  for (std::string_view target : known_targets) {
    CHECK(rates_of(target));
    CHECK(limits_of(target));
  }
  CHECK_FALSE(rates_of("sm_80"));
  CHECK(latencies().dram > latencies().l2);
  CHECK(latencies().l2 > latencies().l1);
}

TEST_CASE("an estimate is a function of its arguments") {
  CHECK(on_h200(streaming()).time_ns == on_h200(streaming()).time_ns);
  CHECK(figures_of(on_h200(streaming())) == figures_of(on_h200(streaming())));
}

}  // namespace lathe::gpu_node
