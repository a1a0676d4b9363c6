#include "gpu_node/model.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace lathe::gpu_node {
namespace {

using ptx::CostClass;

constexpr std::size_t at(CostClass cost) { return static_cast<std::size_t>(cost); }
constexpr std::size_t at(Bound bound) { return static_cast<std::size_t>(bound); }

// A large copy reaches 4.25 of an H200's 4.8 TB/s; the same share is taken of the others.
constexpr double dram_share = 0.885;

// clang-format off
// Launch: an H200's empty launch (suite/pairs/device.json) less a block's own start and end.
// Multiprocessors, boost clocks and memory rates: the vendor's data sheets of L40S, H200 SXM and
// B200. Lanes a cycle: the CUDA programming guide's table of arithmetic throughput. L2 rates and
// mma.sync's share of the tensor peak on Hopper (0.62; wgmma reaches the rest): Luo et al.,
// "Dissecting the NVIDIA Hopper Architecture through Microbenchmarking and Multiple Level
// Analysis". B200's share is not published and taken as half.
constexpr std::array<Rates, 3> table{{
    {.target = "sm_89", .device = "L40S", .multiprocessors = 142, .clock_ghz = 2.52,
     .dram_bytes_per_ns = 864 * dram_share, .l2_bytes_per_ns = 4000, .half = 4, .double_ = 0.0625,
     .matrix_macs = 512, .launch_ns = 2300},
    {.target = "sm_90a", .device = "H200", .multiprocessors = 132, .clock_ghz = 1.98,
     .dram_bytes_per_ns = 4800 * dram_share, .l2_bytes_per_ns = 5600, .half = 8, .double_ = 2,
     .matrix_macs = 2048 * 0.62, .launch_ns = 2300},
    {.target = "sm_100a", .device = "B200", .multiprocessors = 148, .clock_ghz = 1.965,
     .dram_bytes_per_ns = 8000 * dram_share, .l2_bytes_per_ns = 10000, .half = 8, .double_ = 2,
     .matrix_macs = 4096 * 0.5, .launch_ns = 2300},
}};
// clang-format on

ptx::CostLatencies make_latencies() {
  ptx::CostLatencies all;
  auto set = [&](CostClass cost, std::uint32_t cycles, std::uint32_t slots) {
    all.cycles[at(cost)] = cycles;
    all.slots[at(cost)] = slots;
  };
  // Moves are renamed away by the assembler; parameters are operands of the constant bank.
  set(CostClass::none, 0, 0);
  set(CostClass::move, 0, 0);
  set(CostClass::integer, 4, 1);
  set(CostClass::multiply, 5, 1);
  set(CostClass::single, 4, 1);
  set(CostClass::half, 5, 1);
  set(CostClass::double_, 8, 1);
  set(CostClass::special, 22, 1);
  set(CostClass::divide, 44, 7);
  set(CostClass::convert, 6, 1);
  set(CostClass::global_load, 41, 1);
  set(CostClass::global_store, 0, 1);
  set(CostClass::shared_load, 29, 1);
  set(CostClass::shared_store, 0, 1);
  set(CostClass::other_load, 0, 0);
  set(CostClass::other_store, 0, 1);
  set(CostClass::atomic, 263, 1);
  set(CostClass::async_copy, 0, 1);
  set(CostClass::matrix, 33, 1);
  set(CostClass::shuffle, 24, 1);
  set(CostClass::vote, 12, 1);
  set(CostClass::reduce, 20, 1);
  set(CostClass::barrier, 0, 1);
  set(CostClass::fence, 30, 1);
  set(CostClass::branch, 8, 1);
  set(CostClass::other, 8, 1);
  all.subnormal_cycles = 8;
  all.subnormal_slots = 3;
  all.l2 = 263;
  all.l1 = 41;
  all.barrier = 20;
  all.conflict = 2;
  all.request = 4;
  all.unrolled = 4;
  // Published chases of pointers (479 cycles) hit warm translation tables. Behind a flushed second
  // level both figures come from one pair, suite/pairs/silu_low_occupancy: one block at a time on a
  // multiprocessor takes 1875 cycles, of which its own instructions explain some 900.
  all.dram = 600;
  all.block = 366;
  return all;
}

double bytes_of_dram(const Shape& shape, const ptx::CostCounters& counters) {
  double scale = static_cast<double>(shape.blocks) / static_cast<double>(counters.blocks);
  double bytes = 0;
  for (const auto* sectors : {&counters.read_sectors, &counters.written_sectors})
    for (const auto& [buffer, count] : *sectors) {
      double all = static_cast<double>(count) * 32 * scale;
      // A buffer that all blocks share is fetched once, however often it is asked for.
      if (buffer < shape.buffer_bytes.size())
        all = std::min(all, std::ceil(static_cast<double>(shape.buffer_bytes[buffer]) / 32) * 32);
      bytes += all;
    }
  return bytes;
}

std::string number(double value, const char* unit) {
  char text[64];
  const char* form = value >= 100 ? "%.0f%s" : value >= 10 ? "%.1f%s" : "%.2f%s";
  std::snprintf(text, sizeof text, form, value, unit);
  return text;
}

std::string microseconds(double ns) { return number(ns / 1000, " us"); }

std::string change(double now, double before) {
  if (before <= 0) return "from none";
  double percent = (now - before) / before * 100;
  return number(std::abs(percent), " %") + (percent < 0 ? " less" : " more");
}

/// What of a block the binding resource counts, and its unit.
std::pair<double, std::string> load_of(const Estimate& one, Bound bound) {
  const ptx::CostCounters& c = one.counters;
  double blocks = static_cast<double>(c.blocks);
  switch (bound) {
    case Bound::latency:
      return {one.critical_cycles, "cycles on the longest chain of a block"};
    case Bound::issue:
      return {static_cast<double>(c.slots) / blocks, "issue slots a block"};
    case Bound::l2:
      return {static_cast<double>(c.l2_read_sectors + c.l2_write_sectors) / blocks,
              "L2 sectors a block"};
    case Bound::lsu:
      return {static_cast<double>(c.global_passes) / blocks, "memory passes a block"};
    case Bound::shared:
      return {static_cast<double>(c.shared_passes + c.of(CostClass::shuffle)) / blocks,
              "shared memory passes and shuffles a block"};
    case Bound::tensor:
      return {static_cast<double>(c.matrix_macs) / blocks, "matrix products a block"};
    default:
      return {one.of(bound), "ns of " + std::string(name_of(bound))};
  }
}

}  // namespace

std::string_view name_of(Bound bound) {
  // clang-format off
  constexpr std::array<std::string_view, at(Bound::count)> names{
      "dram", "l2", "issue", "fma", "alu", "xu", "lsu", "shared", "tensor", "latency"};
  // clang-format on
  return names[at(bound)];
}

std::optional<Rates> rates_of(std::string_view target) {
  for (const Rates& one : table)
    if (one.target == target) return one;
  return {};
}

const ptx::CostLatencies& latencies() {
  static const ptx::CostLatencies all = make_latencies();
  return all;
}

Estimate estimate(const Rates& rates, const TargetLimits& limits, const Shape& shape,
                  const ptx::CostCounters& counters, const Resources& resources) {
  Estimate result;
  result.counters = counters;
  result.resources = resources;
  result.launch_ns = rates.launch_ns;
  result.occupancy = occupancy(limits, shape.threads, resources.registers, shape.shared_bytes);
  double blocks = static_cast<double>(counters.blocks), grid = static_cast<double>(shape.blocks);
  double resident = std::max(1u, result.occupancy.blocks);
  double waves = std::ceil(grid / (rates.multiprocessors * resident));
  result.waves = static_cast<std::uint64_t>(waves);
  result.critical_cycles = static_cast<double>(counters.critical_cycles) / blocks;
  double busiest =
      std::ceil(grid / rates.multiprocessors);  // Blocks of the fullest multiprocessor.
  auto put = [&](Bound bound, double ns) { result.resource_ns[at(bound)] = ns; };
  auto per_block = [&](double count, double rate) {
    return count / blocks * busiest / rate / rates.clock_ghz;
  };
  auto of = [&](CostClass cost) { return static_cast<double>(counters.of(cost)); };
  put(Bound::dram, bytes_of_dram(shape, counters) / rates.dram_bytes_per_ns);
  put(Bound::l2, static_cast<double>(counters.l2_read_sectors + counters.l2_write_sectors) * 32 *
                     grid / blocks / rates.l2_bytes_per_ns);
  put(Bound::issue, per_block(static_cast<double>(counters.slots), rates.issue));
  double halves = of(CostClass::half) / rates.half;
  double doubles = rates.double_ > 0 ? of(CostClass::double_) / rates.double_ : 0;
  // A division is a reciprocal and a handful of products.
  put(Bound::fma, per_block((of(CostClass::single) + 4 * of(CostClass::divide)) / rates.single +
                                halves + doubles + of(CostClass::multiply) / rates.integer,
                            1));
  put(Bound::alu,
      per_block(of(CostClass::integer) / rates.integer + of(CostClass::convert) / rates.convert,
                1));
  put(Bound::xu, per_block(of(CostClass::special) + of(CostClass::divide), rates.special));
  put(Bound::lsu, per_block(static_cast<double>(counters.global_passes), rates.passes));
  put(Bound::shared, per_block(static_cast<double>(counters.shared_passes) / rates.passes +
                                   (of(CostClass::shuffle) + of(CostClass::reduce)) / rates.shuffle,
                               1));
  put(Bound::tensor, per_block(static_cast<double>(counters.matrix_macs), rates.matrix_macs));
  put(Bound::latency, waves * result.critical_cycles / rates.clock_ghz);
  for (std::size_t i = 0; i < result.resource_ns.size(); ++i)
    if (result.resource_ns[i] > result.of(result.bound)) result.bound = static_cast<Bound>(i);
  result.time_ns = rates.launch_ns + result.of(result.bound);
  return result;
}

std::string_view compare_times(double candidate_ns, double incumbent_ns) {
  if (candidate_ns < incumbent_ns * (1 - same_within)) return "faster";
  if (candidate_ns > incumbent_ns * (1 + same_within)) return "slower";
  return "same";
}

std::string explain(const Estimate& candidate, const Estimate& incumbent) {
  Bound bound = incumbent.bound;
  auto [now, unit] = load_of(candidate, bound);
  auto [before, same_unit] = load_of(incumbent, bound);
  std::string text = "the incumbent is bound by " + std::string(name_of(bound)) + " (" +
                     microseconds(incumbent.of(bound)) + " beside " +
                     microseconds(incumbent.launch_ns) + " of launch); the candidate has " +
                     number(now, " ") + unit + " against " + number(before, "");
  if (now != before) text += " (" + change(now, before) + ")";
  if (candidate.waves != incumbent.waves)
    text += ", in " + std::to_string(candidate.waves) + " waves against " +
            std::to_string(incumbent.waves);
  if (candidate.bound != bound)
    text += ", and is itself bound by " + std::string(name_of(candidate.bound)) + " (" +
            microseconds(candidate.of(candidate.bound)) + ")";
  if (compare_times(candidate.time_ns, incumbent.time_ns) == "same" &&
      candidate.counters.instructions() != incumbent.counters.instructions())
    text += "; the " +
            change(static_cast<double>(candidate.counters.instructions()) /
                       static_cast<double>(candidate.counters.blocks),
                   static_cast<double>(incumbent.counters.instructions()) /
                       static_cast<double>(incumbent.counters.blocks)) +
            " instructions that it executes do not bind";
  return text;
}

std::vector<std::pair<std::string, double>> figures_of(const Estimate& one) {
  const ptx::CostCounters& c = one.counters;
  double blocks = static_cast<double>(c.blocks);
  std::vector<std::pair<std::string, double>> figures;
  auto add = [&](std::string name, double value) { figures.emplace_back(std::move(name), value); };
  for (std::size_t i = 0; i < one.resource_ns.size(); ++i)
    add("time_" + std::string(name_of(static_cast<Bound>(i))) + "_ns", one.resource_ns[i]);
  add("launch_ns", one.launch_ns);
  add("blocks_resident", one.occupancy.blocks);
  add("warps_resident", one.occupancy.warps);
  add("waves", static_cast<double>(one.waves));
  add("critical_cycles_per_block", one.critical_cycles);
  add("registers", static_cast<double>(one.resources.registers));
  add("blocks_sampled", blocks);
  add("warp_instructions_per_block", static_cast<double>(c.instructions()) / blocks);
  add("issue_slots_per_block", static_cast<double>(c.slots) / blocks);
  for (std::size_t i = 1; i < c.executed.size(); ++i)
    if (c.executed[i] != 0)
      add("executed_" + std::string(ptx::name_of(static_cast<CostClass>(i))) + "_per_block",
          static_cast<double>(c.executed[i]) / blocks);
  add("global_requests_per_block", static_cast<double>(c.global_requests) / blocks);
  add("l2_read_sectors_per_block", static_cast<double>(c.l2_read_sectors) / blocks);
  add("l2_write_sectors_per_block", static_cast<double>(c.l2_write_sectors) / blocks);
  add("l1_hit_sectors_per_block", static_cast<double>(c.l1_hit_sectors) / blocks);
  add("shared_passes_per_block", static_cast<double>(c.shared_passes) / blocks);
  add("bank_conflicts_per_block", static_cast<double>(c.bank_conflicts) / blocks);
  add("matrix_macs_per_block", static_cast<double>(c.matrix_macs) / blocks);
  return figures;
}

}  // namespace lathe::gpu_node
