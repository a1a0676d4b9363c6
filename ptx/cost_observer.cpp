#include "ptx/cost_observer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

namespace lathe::ptx {
namespace {

constexpr std::uint64_t sector_bytes = 32, line_bytes = 128;
constexpr std::uint32_t bank_count = 32;

std::size_t number(CostClass cost) { return static_cast<std::size_t>(cost); }

template <class Each>
void each_lane(Mask mask, Each&& each) {
  for (; mask != 0; mask &= mask - 1) each(static_cast<std::uint32_t>(std::countr_zero(mask)));
}

/// The distinct units (sectors, lines) that an access touches, in order.
std::vector<std::uint64_t> units_of(const Access& access, std::uint64_t unit) {
  std::vector<std::uint64_t> units;
  each_lane(access.mask, [&](std::uint32_t lane) {
    std::uint64_t begin = (*access.addresses)[lane];
    for (std::uint64_t at = begin / unit; at <= (begin + access.bytes - 1) / unit; ++at)
      units.push_back(at);
  });
  std::sort(units.begin(), units.end());
  units.erase(std::unique(units.begin(), units.end()), units.end());
  return units;
}

/// Passes that the lanes of one phase need: the most distinct words in one bank.
std::uint32_t passes_of(const Access& access, Mask lanes) {
  std::array<std::vector<std::uint64_t>, bank_count> banks;
  std::size_t most = 0;
  each_lane(lanes, [&](std::uint32_t lane) {
    std::uint64_t begin = (*access.addresses)[lane];
    for (std::uint64_t word = begin / 4; word <= (begin + access.bytes - 1) / 4; ++word) {
      std::vector<std::uint64_t>& bank = banks[word % bank_count];
      if (std::find(bank.begin(), bank.end(), word) == bank.end()) bank.push_back(word);
      most = std::max(most, bank.size());
    }
  });
  return static_cast<std::uint32_t>(most);
}

/// "m16n8k16" in an instruction's text as m * n * k.
std::uint64_t shape_of(std::string_view text) {
  for (std::size_t at = text.find(".m"); at != std::string_view::npos;
       at = text.find(".m", at + 1)) {
    std::array<std::uint64_t, 3> sizes{};
    const char* next = text.data() + at + 1;
    const char* end = text.data() + text.size();
    bool good = true;
    for (std::size_t i = 0; i < 3 && good; ++i) {
      good = next != end && *next == "mnk"[i];
      if (!good) break;
      auto [after, code] = std::from_chars(next + 1, end, sizes[i]);
      good = code == std::errc{};
      next = after;
    }
    if (good) return sizes[0] * sizes[1] * sizes[2];
  }
  return 0;
}

/// Products of one matrix instruction, as if of 16-bit operands.
std::uint64_t matrix_macs(std::string_view text) {
  std::uint64_t macs = shape_of(text);
  for (std::string_view narrow : {".e4m3", ".e5m2", ".s8", ".u8"})
    if (text.find(narrow) != std::string_view::npos) return macs / 2;
  return text.find(".tf32") != std::string_view::npos ? macs * 2 : macs;
}

}  // namespace

std::uint64_t CostCounters::instructions() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < executed.size(); ++i)
    if (i != number(CostClass::none)) sum += executed[i];
  return sum;
}

CostObserver::Price CostObserver::price_of(const Operation& operation) const {
  Price price;
  price.cost = operation.cost;
  const std::string& text = program_->texts[operation.instruction];
  // Minima and maxima of floats go where integers are compared.
  bool selects = text.find("min.") != std::string::npos || text.find("max.") != std::string::npos;
  if (price.cost == CostClass::single && selects) price.cost = CostClass::integer;
  price.cycles = latencies_.cycles[number(price.cost)];
  price.slots = latencies_.slots[number(price.cost)];
  if (price.cost == CostClass::special && text.find(".ftz") == std::string::npos) {
    price.cycles += latencies_.subnormal_cycles;
    price.slots += latencies_.subnormal_slots;
  }
  if (price.cost == CostClass::matrix) price.matrix_macs = matrix_macs(text);
  return price;
}

void CostObserver::on_block(const Program& program, std::uint64_t, std::uint32_t warps,
                            std::uint32_t) {
  if (program_ != &program || prices_.size() != program.operations.size()) {
    program_ = &program;
    prices_.clear();
    for (const Operation& operation : program.operations) prices_.push_back(price_of(operation));
  }
  warps_.assign(warps, {});
  for (Warp& warp : warps_) warp.ready.assign(program.register_bytes / 64 + 1, 0);
  barriers_.clear();
  phases_.clear();
  held_.clear();
  ++counters_.blocks;
  counters_.warps += warps;
}

void CostObserver::on_block_end() {
  std::uint64_t longest = 0;
  for (const Warp& warp : warps_) longest = std::max(longest, warp.cursor);
  longest += latencies_.block;
  counters_.critical_cycles += longest;
  counters_.critical_cycles_max = std::max(counters_.critical_cycles_max, longest);
  for (const auto& [buffer, sectors] : read_) counters_.read_sectors[buffer] = sectors.size();
  for (const auto& [buffer, sectors] : written_) counters_.written_sectors[buffer] = sectors.size();
}

void CostObserver::on_issue(std::uint32_t number_of_warp, std::uint32_t instruction, Mask active) {
  const Operation& operation = program_->operations[instruction];
  Warp& warp = warps_[number_of_warp];
  const Price& price = prices_[instruction];
  std::uint64_t slots = price.slots;
  ++counters_.executed[number(price.cost)];
  counters_.slots += slots;
  auto ready = [&](Spot place) -> std::uint64_t {
    return place / 64 < warp.ready.size() ? warp.ready[place / 64] : 0;
  };
  // Loads, and the integers that make their addresses, go ahead of the arithmetic before them.
  bool early = slots == 0 || operation.cost == CostClass::global_load ||
               operation.cost == CostClass::async_copy || operation.cost == CostClass::integer ||
               operation.cost == CostClass::multiply;
  issue_ = early ? warp.floor : warp.cursor;
  if (operation.guard != no_spot) issue_ = std::max(issue_, ready(operation.guard));
  if (active != 0)
    for (Spot place : program_->read(operation)) issue_ = std::max(issue_, ready(place));
  warp.cursor = (early ? warp.cursor : issue_) + slots;
  if (active == 0) return;
  std::uint64_t done = issue_ + price.cycles;
  for (Spot place : program_->written(operation)) {
    if (place / 64 >= warp.ready.size()) continue;
    std::uint64_t& when = warp.ready[place / 64];
    when = operation.guard != no_spot ? std::max(when, done) : done;
  }
  counters_.matrix_macs += price.matrix_macs;
}

void CostObserver::finish_load(const Access& access, std::uint64_t cycles) {
  Warp& warp = warps_[access.warp];
  // Loads of a basic block leave one after another, however early the assembler puts them.
  std::uint64_t held = access.bytes >= 16 ? 4 : access.bytes >= 8 ? 2 : 1;
  warp.requests += latencies_.request * held;
  issue_ = std::max(issue_, warp.floor + warp.requests);
  if (access.unit == Unit::copy) {
    std::uint64_t& latest = phases_[{access.completes, access.phase}];
    latest = std::max(latest, issue_ + cycles);
    return;
  }
  if (access.asynchronous) {
    warp.copies_ready = std::max(warp.copies_ready, issue_ + cycles);
    return;
  }
  const Operation& operation = program_->operations[access.instruction];
  for (Spot place : program_->written(operation))
    if (place / 64 < warp.ready.size())
      warp.ready[place / 64] = std::max(warp.ready[place / 64], issue_ + cycles);
}

void CostObserver::count_shared(const Access& access) {
  if (access.asynchronous) return;  // What a copy brings is counted where it is read.
  std::uint32_t phases = access.bytes >= 16 ? 4 : access.bytes >= 8 ? 2 : 1;
  std::uint32_t lanes = lane_count / phases, passes = 0, needed = 0;
  for (std::uint32_t phase = 0; phase < phases; ++phase) {
    Mask part = access.mask & ((lanes == 32 ? ~Mask{0} : (Mask{1} << lanes) - 1) << phase * lanes);
    if (part == 0) continue;
    ++needed;
    passes += passes_of(access, part);
  }
  ++counters_.shared_requests;
  counters_.shared_passes += passes;
  counters_.bank_conflicts += passes - needed;
  if (access.kind == AccessKind::read && passes > 1)
    finish_load(access, latencies_.cycles[number(CostClass::shared_load)] +
                            std::uint64_t{latencies_.conflict} * (passes - 1));
}

void CostObserver::count_global(const Access& access) {
  std::uint64_t moved = std::uint64_t{access.bytes} * std::popcount(access.mask);
  ++counters_.global_requests;
  counters_.global_passes +=
      std::max<std::uint64_t>(units_of(access, line_bytes).size(), (moved + 127) / line_bytes);
  if (access.kind == AccessKind::atomic) counters_.atomics += std::popcount(access.mask);
  std::uint32_t buffer =
      access.buffers != nullptr ? (*access.buffers)[std::countr_zero(access.mask)] : 0;
  std::uint64_t cycles = 0;
  for (std::uint64_t sector : units_of(access, sector_bytes)) {
    if (access.kind == AccessKind::write) {
      ++counters_.l2_write_sectors;
      written_[buffer].insert(sector);
      continue;
    }
    if (access.kind == AccessKind::read && held_.contains(sector)) {
      if (access.asynchronous)
        ++counters_.l2_read_sectors;
      else
        ++counters_.l1_hit_sectors;
      cycles = std::max<std::uint64_t>(cycles, access.asynchronous ? latencies_.l2 : latencies_.l1);
      continue;
    }
    ++counters_.l2_read_sectors;
    held_.insert(sector);
    bool first = read_[buffer].insert(sector).second && !written_[buffer].contains(sector);
    cycles = std::max<std::uint64_t>(cycles, first ? latencies_.dram : latencies_.l2);
  }
  if (access.kind != AccessKind::write) finish_load(access, cycles);
}

void CostObserver::on_access(const Access& access) {
  if (access.mask == 0) return;
  if (access.space == Space::shared) count_shared(access);
  if (access.space == Space::global) count_global(access);
}

void CostObserver::on_barrier_arrive(std::uint32_t warp, std::uint32_t, unsigned id, std::uint32_t,
                                     Mask, bool) {
  std::uint64_t& latest = barriers_[id];
  latest = std::max(latest, warps_[warp].cursor);
}

void CostObserver::on_barrier_complete(unsigned id, std::span<const Mask>,
                                       std::span<const Mask> waiting) {
  std::uint64_t at = barriers_[id] + latencies_.barrier;
  barriers_.erase(id);
  for (std::size_t warp = 0; warp < waiting.size(); ++warp)
    if (waiting[warp] != 0) warps_[warp].restart(at);
}

void CostObserver::on_async_commit(std::uint32_t warp, std::uint32_t, Mask) {
  warps_[warp].groups.push_back(warps_[warp].copies_ready);
  warps_[warp].copies_ready = 0;
}

void CostObserver::on_async_wait(std::uint32_t warp, std::uint32_t, Mask, std::uint32_t pending) {
  Warp& one = warps_[warp];
  std::uint64_t at = one.cursor;
  while (one.groups.size() > pending) {
    at = std::max(at, one.groups.front());
    one.groups.pop_front();
  }
  one.restart(at);
}

void CostObserver::on_mbarrier_arrive(std::uint32_t warp, std::uint32_t, Mask, std::uint64_t offset,
                                      std::uint64_t phase, bool) {
  std::uint64_t& latest = phases_[{offset, phase}];
  latest = std::max(latest, warps_[warp].cursor);
}

void CostObserver::on_mbarrier_wait(std::uint32_t warp, std::uint32_t, Mask, std::uint64_t offset,
                                    std::uint64_t phase, bool) {
  auto found = phases_.find({offset, phase});
  if (found == phases_.end()) return;
  warps_[warp].restart(std::max(warps_[warp].cursor, found->second + latencies_.barrier));
}

/// Matrix units keep up with what feeds them: only copies that an mbarrier tells of are waited for.
void CostObserver::on_unit(const UnitEvent& event) {
  counters_.matrix_macs += event.macs;
  if (event.kind != UnitEvent::Kind::signal) return;
  std::uint64_t& latest = phases_[{event.offset, event.phase}];
  latest = std::max(latest, warps_[event.warp].cursor);
}

void CostObserver::on_branch(std::uint32_t warp, std::uint32_t, Mask, Mask) {
  // A short loop is unrolled: an iteration's loads need not wait for the one before.
  Warp& one = warps_[warp];
  one.turns.push_back(one.cursor);
  if (one.turns.size() <= latencies_.unrolled) return;
  one.floor = std::max(one.floor, one.turns.front());
  one.turns.pop_front();
  one.requests = 0;
}

}  // namespace lathe::ptx
