// The order observer's asynchronous units: what they access, when they are done, who is told.

#include <algorithm>
#include <utility>

#include "ptx/order.h"
#include "ptx/order_names.h"

namespace lathe::ptx {
namespace {

bool by_warp(Unit unit) {
  return unit == Unit::warpgroup || unit == Unit::tensor_load || unit == Unit::tensor_store;
}

}  // namespace

std::string_view name_of(OrderFinding::Kind kind) {
  static constexpr std::array names{std::string_view("race"),
                                    std::string_view("early_read"),
                                    std::string_view("early_write"),
                                    std::string_view("unfenced"),
                                    std::string_view("lapped"),
                                    std::string_view("early_register"),
                                    std::string_view("unfenced_register"),
                                    std::string_view("uninitialised"),
                                    std::string_view("barrier"),
                                    std::string_view("absent")};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view explain(OrderFinding::Kind kind) {
  using Kind = OrderFinding::Kind;
  switch (kind) {
    case Kind::early_read:
      return "reads what asynchronous work has not brought yet: no wait stands between";
    case Kind::early_write:
      return "writes where asynchronous work is still reading or writing";
    case Kind::unfenced:
      return "an asynchronous unit uses what a thread wrote without fence.proxy.async";
    case Kind::lapped:
      return "a phase of an mbarrier may end before all have left the wait for the one before";
    case Kind::early_register:
      return "touches a register of a wgmma that has not been waited for";
    case Kind::unfenced_register:
      return "a wgmma uses a register that was touched since the last wgmma.fence";
    case Kind::barrier:
      return "two arrivals at one barrier that may come in either order";
    case Kind::absent:
      return "uses shared memory of a block that may not have begun, or may have ended";
    default:
      return {};
  }
}

std::uint32_t OrderObserver::agent_of(const Access& access) {
  if (access.unit == Unit::copy) return clocks_.agent(mbarrier_name(access.completes));
  std::uint64_t user =
      by_warp(access.unit) ? access.warp : access.warp * lane_count + access.issuer;
  bool reads = access.unit == Unit::store && access.kind == AccessKind::read;
  return clocks_.agent(unit_name(user, static_cast<unsigned>(access.unit), reads));
}

void OrderObserver::check_fence(const OrderCell& cell, const Touch& touch, std::uint64_t address) {
  const OrderStamp& writer = cell.writer;
  if (writer.lanes == 0 || writer.agent) return;
  if (writer.copied) {
    trusts_copies_ = true;
    return;
  }
  std::uint32_t reader = touch.access->warp * lane_count + touch.access->issuer;
  each_lane(writer.lanes, [&](std::uint32_t lane) {
    std::uint32_t thread = writer.warp * lane_count + lane;
    if (!clocks_.fenced(thread, writer.clock, reader, touch.access->space == Space::global))
      report(OrderFinding::Kind::unfenced, touch, address, writer, lane, true);
  });
}

/// One word of a unit's access. Its issuer must be ordered after whom it conflicts with.
void OrderObserver::unit_touch(OrderCell& cell, const Touch& touch, const OrderStamp& stamp,
                               std::uint64_t address) {
  const Access& access = *touch.access;
  bool reads = access.kind == AccessKind::read;
  auto late = [&](const OrderStamp& earlier) -> Mask {
    if (earlier.lanes == 0 || (earlier.strong && stamp.strong)) return 0;
    // A unit of one user works in order, but for copies.
    if (earlier.agent && stamp.agent && earlier.warp == stamp.warp &&
        earlier.lanes == stamp.lanes && access.unit != Unit::copy && access.unit != Unit::store)
      return 0;
    return clocks_.unordered(access.warp, access.issuer, earlier);
  };
  auto meet = [&](const OrderStamp& earlier, bool was_write) {
    Mask others = earlier.under_way && earlier.lanes != 0 ? earlier.lanes : late(earlier);
    if (others == 0) return;
    auto kind = !earlier.agent && !earlier.under_way ? OrderFinding::Kind::race
                : reads                              ? OrderFinding::Kind::early_read
                                                     : OrderFinding::Kind::early_write;
    report(kind, touch, address, earlier, static_cast<std::uint32_t>(std::countr_zero(others)),
           was_write);
  };
  if (reads && cell.writer.lanes == 0 && access.space == Space::shared)
    report(OrderFinding::Kind::uninitialised, touch, address, {}, 0, false);
  meet(cell.writer, true);
  if (reads) {
    if (access.space != Space::tensor) check_fence(cell, touch, address);
    if (cell.reader.lanes == 0 ||
        (cell.reader.warp == stamp.warp && cell.reader.lanes == stamp.lanes)) {
      cell.reader = stamp;
      return;
    }
    if (!cell.readers) cell.readers = std::make_unique<std::vector<OrderStamp>>();
    for (OrderStamp& known : *cell.readers)
      if (known.warp == stamp.warp && known.lanes == stamp.lanes) {
        known = stamp;
        return;
      }
    std::erase_if(*cell.readers, [&](const OrderStamp& known) { return late(known) == 0; });
    cell.readers->push_back(stamp);
    return;
  }
  if (access.unit == Unit::copy) check_fence(cell, touch, address);
  meet(cell.reader, false);
  if (cell.readers)
    for (const OrderStamp& reader : *cell.readers) meet(reader, false);
  cell.write(stamp);
}

void OrderObserver::unit_access(const Access& access) {
  OrderStamp stamp;
  if (access.unit == Unit::thread) {  // A thread's own: tensor memory is freed.
    stamp = stamp_of(access, access.issuer);
  } else {
    std::uint32_t agent = agent_of(access);
    stamp.clock = clocks_.clock(agent);
    stamp.instruction = access.instruction;
    stamp.lanes = Mask{1} << agent % lane_count;
    stamp.warp = static_cast<std::uint16_t>(agent / lane_count);
    stamp.agent = true;
    stamp.strong = access.kind == AccessKind::atomic;
  }
  if (access.space != Space::shared && access.space != Space::tensor &&
      (access.space != Space::global || access.buffers == nullptr))
    return;
  each_lane(access.mask, [&](std::uint32_t slot) {
    OrderCells* cells = access.space == Space::tensor ? &tensor_ : &shared_;
    Touch touch{&access, slot, (*access.addresses)[slot], Mask{1} << slot};
    if (access.space == Space::global) {
      std::uint32_t buffer = (*access.buffers)[slot];
      if (buffer >= writable_.size() || !writable_[buffer]) return;
      cells = &global_[buffer];
      if (across_blocks_) touch_across(touch, buffer);
    }
    std::uint64_t end = touch.address + access.bytes;
    for (std::uint64_t at = touch.address; at < end;) {
      std::uint64_t next = std::min(end, (at / 4 + 1) * 4);
      OrderCell& cell = cells->word(at / 4);
      if (next - at == 4 && !cell.bytes) {
        unit_touch(cell, touch, stamp, at);
      } else {
        split(cell);
        for (std::uint64_t byte = at; byte < next; ++byte)
          unit_touch((*cell.bytes)[byte % 4], touch, stamp, byte);
      }
      at = next;
    }
  });
}

void OrderObserver::report_at(OrderFinding::Kind kind, Space space, std::uint64_t address,
                              std::uint32_t first, std::uint32_t second, std::uint32_t warp,
                              Mask mask) {
  OrderFinding finding;
  finding.kind = kind;
  finding.space = space;
  finding.address = address;
  std::uint32_t thread =
      warp * lane_count + static_cast<std::uint32_t>(std::countr_zero(mask | 1u << 31));
  finding.first = {first, thread, block_, true};
  finding.second = {second, thread, block_, true};
  add(findings_, finding);
}

void OrderObserver::touch_registers(std::uint32_t warp, std::uint32_t instruction, Mask active) {
  OrderRegisters::Fault fault = registers_.touch(warp, instruction);
  if (fault.found)
    report_at(OrderFinding::Kind::early_register, Space::generic, fault.place, fault.product,
              instruction, warp, active);
}

void OrderObserver::commit_units(const UnitEvent& event) {
  auto close = [&](std::uint64_t name) {
    std::uint32_t agent = clocks_.agent(name);
    groups_[name].clocks.push_back(clocks_.clock(agent));
    clocks_.step(agent);
  };
  auto unit = static_cast<unsigned>(event.unit);
  if (by_warp(event.unit)) return close(unit_name(event.warp, unit, false));
  each_lane(event.mask, [&](std::uint32_t lane) {
    close(unit_name(event.warp * lane_count + lane, unit, true));
    close(unit_name(event.warp * lane_count + lane, unit, false));
  });
}

void OrderObserver::wait_units(const UnitEvent& event) {
  auto unit = static_cast<unsigned>(event.unit);
  auto learn = [&](std::uint64_t name, Mask mask) {
    auto found = groups_.find(name);
    if (found == groups_.end() || found->second.clocks.size() <= event.pending) return;
    std::vector<std::uint32_t>& clocks = found->second.clocks;
    clocks_.agent_acquire(event.warp, mask, clocks_.agent(name),
                          clocks[clocks.size() - 1 - event.pending]);
  };
  if (event.unit == Unit::tensor_load || event.unit == Unit::tensor_store) {
    std::uint32_t agent = clocks_.agent(unit_name(event.warp, unit, false));
    clocks_.agent_acquire(event.warp, event.mask, agent, clocks_.clock(agent));
    return clocks_.step(agent);
  }
  if (by_warp(event.unit)) return learn(unit_name(event.warp, unit, false), event.mask);
  each_lane(event.mask, [&](std::uint32_t lane) {
    std::uint64_t user = event.warp * lane_count + lane;
    learn(unit_name(user, unit, true), Mask{1} << lane);
    if (event.kind == UnitEvent::Kind::wait) learn(unit_name(user, unit, false), Mask{1} << lane);
  });
}

/// An arrival that a unit makes: it tells what the unit has done, and comes after its user's waits.
void OrderObserver::signal(const UnitEvent& event) {
  check_arrival(event.warp, event.instruction, event.mask, event.offset, event.phase);
  each_lane(event.mask, [&](std::uint32_t lane) {
    std::uint32_t thread = event.warp * lane_count + lane;
    if (event.unit == Unit::tensor) {
      std::uint32_t agent =
          clocks_.agent(unit_name(thread, static_cast<unsigned>(Unit::tensor), false));
      clocks_.agent_release(event.offset, event.phase, agent);
      clocks_.step(agent);
      clocks_.token_release(event.offset, event.phase, event.warp, Mask{1} << lane);
      if (phased_) happened_.token_release(event.offset, event.phase, event.warp, Mask{1} << lane);
      return;
    }
    // The thread's cp.asyncs are the mbarrier's from here on.
    std::uint32_t agent = clocks_.agent(mbarrier_name(event.offset));
    for (const Copy& copy : copies_[thread].copies) land(thread, copy, agent);
    copies_[thread].copies.clear();
    if (phased_) happened_.token_release(event.offset, event.phase, event.warp, Mask{1} << lane);
  });
}

/// A copy's bytes come after what its issuer has seen happen; they order none of its memory.
void OrderObserver::copy_issued(const UnitEvent& event) {
  if (!phased_) return;
  check_phase_before(event.warp, event.instruction, event.mask, event.offset, event.phase);
  happened_.token_release(event.offset, event.phase, event.warp, event.mask);
}

/// Whoever adds to a phase must know that the one before is over, or he may add to that one.
void OrderObserver::check_phase_before(std::uint32_t warp, std::uint32_t instruction, Mask mask,
                                       std::uint64_t offset, std::uint64_t phase) {
  auto found = phases_.find(offset);
  if (found == phases_.end() || phase == 0) return;
  each_lane(mask, [&](std::uint32_t lane) {
    if (happened_.known(warp * lane_count + lane, found->second.agent) < found->second.completed)
      report_at(OrderFinding::Kind::lapped, Space::shared, offset, instruction, instruction, warp,
                Mask{1} << lane);
  });
}

/// And who has waited for that one must be known to have left, or the new phase may end under him.
void OrderObserver::check_arrival(std::uint32_t warp, std::uint32_t instruction, Mask mask,
                                  std::uint64_t offset, std::uint64_t phase) {
  check_phase_before(warp, instruction, mask, offset, phase);
  auto found = phases_.find(offset);
  if (found == phases_.end()) return;
  Phases& phases = found->second;
  each_lane(mask, [&](std::uint32_t lane) {
    std::uint32_t thread = warp * lane_count + lane;
    std::erase_if(phases.waiters, [&](const Waiters& waiters) {
      bool left = false;
      each_lane(waiters.lanes, [&](std::uint32_t other) {
        left = left ||
               happened_.known(thread, waiters.warp * lane_count + other) >= waiters.clock[other];
      });
      return left;
    });
  });
}

void OrderObserver::end_phase(const UnitEvent& event) {
  auto found = phases_.find(event.offset);
  if (found == phases_.end()) return;
  Phases& phases = found->second;
  for (const Waiters& waiters : phases.waiters)
    report_at(OrderFinding::Kind::lapped, Space::shared, event.offset, phases.instruction,
              phases.instruction, waiters.warp, waiters.lanes);
  phases.waiters.clear();
  for (OrderClocks* clocks : {&clocks_, &happened_}) {
    std::uint32_t agent = clocks->agent(mbarrier_name(event.offset));
    clocks->agent_release(event.offset, event.phase, agent);
    if (clocks == &happened_) phases.completed = clocks->clock(agent);
    clocks->step(agent);
    if (event.phase > 1) clocks->token_forget_before(event.offset, event.phase - 1);
  }
}

void OrderObserver::on_unit(const UnitEvent& event) {
  using Kind = UnitEvent::Kind;
  bool warpgroup = event.unit == Unit::warpgroup && registers_.any();
  switch (event.kind) {
    case Kind::issue: {
      if (event.unit == Unit::copy) return copy_issued(event);
      if (!warpgroup) return;
      OrderRegisters::Fault fault = registers_.issue(event.warp, event.instruction);
      if (!fault.found) return;
      bool fence = fault.product == event.instruction;
      return report_at(
          fence ? OrderFinding::Kind::unfenced_register : OrderFinding::Kind::early_register,
          Space::generic, fault.place, fault.product, event.instruction, event.warp, event.mask);
    }
    case Kind::fence:
      if (warpgroup) registers_.fence(event.warp);
      return;
    case Kind::commit:
      if (warpgroup) registers_.commit(event.warp);
      return commit_units(event);
    case Kind::wait:
    case Kind::wait_read:
      if (warpgroup) registers_.wait(event.warp, event.pending);
      return wait_units(event);
    case Kind::signal:
      return signal(event);
    case Kind::phase:
      return end_phase(event);
  }
}

}  // namespace lathe::ptx
