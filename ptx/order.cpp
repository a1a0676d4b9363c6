#include "ptx/order.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "ptx/order_names.h"
#include "ptx/program.h"

namespace lathe::ptx {

void split(OrderCell& cell) {
  if (cell.bytes) return;
  auto bytes = std::make_unique<std::array<OrderCell, 4>>();
  for (OrderCell& byte : *bytes) {
    byte.writer = cell.writer;
    byte.reader = cell.reader;
    if (cell.plain) byte.plain = std::make_unique<OrderStamp>(*cell.plain);
    if (cell.readers) byte.readers = std::make_unique<std::vector<OrderStamp>>(*cell.readers);
  }
  cell.bytes = std::move(bytes);
}

OrderObserver::OrderObserver(std::vector<bool> writable, bool across_blocks)
    : writable_(std::move(writable)), across_blocks_(across_blocks) {}

void OrderObserver::begin(std::uint64_t block, std::uint32_t warps, std::uint32_t threads) {
  block_ = block;
  clocks_.reset(warps, threads);
  shape_ = {warps, threads};
  phased_ = blocks_ > 1;
  if (phased_) happened_.reset(warps, threads);
  passed_on_.clear();
  reached_.clear();
  began_.assign(warps, 0);
  left_.assign(warps, 0);
  shared_.clear();
  tensor_.clear();
  phases_.clear();
  groups_.clear();
  for (auto& [buffer, cells] : global_) cells.clear();
  copies_.assign(std::size_t{warps} * lane_count, {});
  arrivals_.clear();
  read_only_.clear();
}

OrderStamp OrderObserver::stamp_of(const Access& access, std::uint32_t lane) const {
  OrderStamp stamp;
  stamp.clock = clocks_.clock(access.warp * lane_count + lane);
  stamp.instruction = access.instruction;
  stamp.lanes = Mask{1} << lane;
  stamp.warp = static_cast<std::uint16_t>(access.warp);
  stamp.strong = access.kind == AccessKind::atomic;
  return stamp;
}

void OrderObserver::add(std::vector<OrderFinding>& list, const OrderFinding& finding) {
  for (OrderFinding& known : list)
    if (known.kind == finding.kind && known.space == finding.space &&
        known.first.instruction == finding.first.instruction &&
        known.second.instruction == finding.second.instruction &&
        known.first.write == finding.first.write && known.second.write == finding.second.write) {
      ++known.count;
      return;
    }
  if (list.size() < findings_max) list.push_back(finding);
}

void OrderObserver::report(OrderFinding::Kind kind, const Touch& touch, std::uint64_t address,
                           const OrderStamp& earlier, std::uint32_t earlier_lane,
                           bool earlier_write) {
  const Access& access = *touch.access;
  OrderFinding finding;
  finding.kind = kind;
  finding.space = access.space;
  finding.address = address;
  if (access.buffers != nullptr) finding.buffer = (*access.buffers)[touch.lane];
  finding.first = {earlier.instruction, earlier.warp * lane_count + earlier_lane, block_,
                   earlier_write};
  finding.second = {access.instruction, access.warp * lane_count + touch.lane, block_,
                    access.kind != AccessKind::read};
  add(kind == OrderFinding::Kind::uninitialised ? uninitialised_ : findings_, finding);
}

void OrderObserver::read(OrderCell& cell, const Touch& touch, const OrderStamp& stamp,
                         std::uint64_t address) {
  std::uint32_t warp = touch.access->warp;
  if (cell.writer.lanes == 0 && touch.access->space == Space::shared)
    report(OrderFinding::Kind::uninitialised, touch, address, {}, 0, false);
  bool excused = cell.writer.strong && stamp.strong;
  const OrderStamp& writer = excused && cell.plain ? *cell.plain : cell.writer;
  if (writer.lanes != 0) {
    auto writer_lane = static_cast<std::uint32_t>(std::countr_zero(writer.lanes));
    if (writer.under_way)
      report(OrderFinding::Kind::early_read, touch, address, writer, writer_lane, true);
    else if ((!excused || cell.plain) && clocks_.unordered(warp, touch.lane, writer) != 0)
      report(writer.agent ? OrderFinding::Kind::early_read : OrderFinding::Kind::race, touch,
             address, writer, writer_lane, true);
  }
  auto joins = [&](OrderStamp& known) {
    if (known.warp != stamp.warp || known.clock != stamp.clock) return false;
    known.lanes |= stamp.lanes;
    known.strong &= stamp.strong;
    return true;
  };
  auto passed = [&](const OrderStamp& known) {
    if (known.lanes == 0) return true;
    // A strong read does not stand for a plain one: other strong accesses are excused from it.
    return known.strong >= stamp.strong && clocks_.unordered(warp, touch.lane, known) == 0;
  };
  if (cell.reader.lanes != 0 && joins(cell.reader)) return;
  if (!cell.has_readers() && passed(cell.reader)) {
    cell.reader = stamp;
    return;
  }
  if (!cell.readers) cell.readers = std::make_unique<std::vector<OrderStamp>>();
  for (OrderStamp& known : *cell.readers)
    if (joins(known)) return;
  std::erase_if(*cell.readers, passed);
  if (passed(cell.reader))
    cell.reader = stamp;
  else
    cell.readers->push_back(stamp);
}

void OrderObserver::write(OrderCell& cell, const Touch& touch, const OrderStamp& stamp,
                          std::uint64_t address) {
  const Access& access = *touch.access;
  bool unchanged = !access.asynchronous && (access.unchanged >> touch.lane & 1) != 0;
  auto meet = [&](const OrderStamp& earlier, bool was_write) {
    if (earlier.lanes == 0) return;
    // What units and threads do to an mbarrier is what it is for.
    if (earlier.strong && stamp.strong &&
        (access.mbarrier || atomics_.commute(earlier.instruction, stamp.instruction)))
      return;
    if (was_write && earlier.under_way) {
      report(OrderFinding::Kind::early_write, touch, address, earlier,
             static_cast<std::uint32_t>(std::countr_zero(earlier.lanes)), true);
      return;
    }
    Mask others = clocks_.unordered(access.warp, touch.lane, earlier);
    if (others == 0) return;
    if (unchanged && !earlier.agent)
      ++harmless_;
    else
      report(earlier.agent ? OrderFinding::Kind::early_write : OrderFinding::Kind::race, touch,
             address, earlier, static_cast<std::uint32_t>(std::countr_zero(others)), was_write);
  };
  meet(cell.writer, true);
  if (cell.plain && cell.writer.strong && stamp.strong) meet(*cell.plain, true);
  meet(cell.reader, false);
  if (cell.readers)
    for (const OrderStamp& reader : *cell.readers) meet(reader, false);
  cell.write(stamp);
  cell.writer.under_way = cell.writer.copied = access.asynchronous;
}

void OrderObserver::touch(OrderCell& cell, const Touch& touch, std::uint64_t address) {
  OrderStamp stamp = stamp_of(*touch.access, touch.lane);
  if (touch.access->kind == AccessKind::read)
    read(cell, touch, stamp, address);
  else
    write(cell, touch, stamp, address);
}

/// `together`: null where lanes are looked at one by one.
void OrderObserver::touch_words(OrderCells& cells, const Touch& touch,
                                const OrderClocks::Together* together) {
  std::uint64_t begin = touch.address, end = begin + touch.access->bytes;
  auto touch_cell = [&](OrderCell& cell, std::uint64_t address) {
    if (together != nullptr && touch_together(cell, touch, *together)) return;
    each_lane(touch.lanes, [&](std::uint32_t lane) {
      this->touch(cell, {touch.access, lane, address, Mask{1} << lane}, address);
    });
  };
  for (std::uint64_t at = begin; at < end;) {
    std::uint64_t next = std::min(end, (at / 4 + 1) * 4);
    OrderCell& cell = cells.word(at / 4);
    if (next - at == 4 && !cell.bytes) {
      touch_cell(cell, at);
    } else {
      split(cell);
      for (std::uint64_t byte = at; byte < next; ++byte) touch_cell((*cell.bytes)[byte % 4], byte);
    }
    at = next;
  }
}

/// Lanes beside one another that read one place are one touch, where they stand alike.
void OrderObserver::touch_shared(const Access& access, const OrderClocks::Together* together) {
  const auto& addresses = *access.addresses;
  bool joined = together != nullptr && access.kind == AccessKind::read;
  for (Mask left = access.mask; left != 0;) {
    auto lane = static_cast<std::uint32_t>(std::countr_zero(left));
    Mask lanes = Mask{1} << lane;
    for (std::uint32_t other = lane + 1; joined && other < lane_count; ++other) {
      if ((left >> other & 1) == 0 || addresses[other] != addresses[lane]) break;
      lanes |= Mask{1} << other;
    }
    left &= ~lanes;
    touch_words(shared_, {&access, lane, addresses[lane], lanes}, together);
    if (!access.asynchronous || access.kind == AccessKind::read) continue;
    CopyState& state = copies_[access.warp * lane_count + lane];
    state.copies.push_back({addresses[lane], access.bytes, state.committed});
  }
}

void OrderObserver::touch_across(const Touch& touch, std::uint32_t buffer) {
  const Access& access = *touch.access;
  bool writes = access.kind != AccessKind::read;
  auto conflict = between_[buffer].record(
      touch.address, access.bytes,
      {static_cast<std::uint32_t>(block_), access.instruction, access.kind == AccessKind::atomic},
      writes);
  if (!conflict) return;
  if (writes && (access.unchanged >> touch.lane & 1) != 0) {
    ++harmless_;
    return;
  }
  OrderFinding finding;
  finding.space = Space::global;
  finding.address = touch.address;
  finding.buffer = buffer;
  finding.first = {conflict->deed.instruction, 0, conflict->deed.block, conflict->write};
  finding.second = {access.instruction, access.warp * lane_count + touch.lane, block_, writes};
  add(findings_, finding);
}

/// The read-only path may give what was there before any write of the grid, in whatever order.
void OrderObserver::touch_read_only(const Touch& touch) {
  const Access& access = *touch.access;
  bool writes = access.kind != AccessKind::read;
  if (!access.read_only && (!writes || read_only_.empty())) return;
  OrderCells& cells = global_[(*access.buffers)[touch.lane]];
  for (std::uint64_t word = touch.address / 4; word * 4 < touch.address + access.bytes; ++word) {
    OrderStamp earlier;
    if (auto found = read_only_.find(word); writes && found != read_only_.end())
      earlier = found->second;
    if (!writes) {
      read_only_[word] = stamp_of(access, touch.lane);
      earlier = cells.word(word).writer;
    }
    if (earlier.lanes != 0)
      report(OrderFinding::Kind::race, touch, word * 4, earlier,
             static_cast<std::uint32_t>(std::countr_zero(earlier.lanes)), !writes);
  }
}

void OrderObserver::note_strong(const Access& access) {
  relaxed_ = true;
  if (program_ == nullptr) return;
  const Operation& op = program_->operations[access.instruction];
  const std::string& text = program_->texts[op.instruction];
  if (text.find(".acq") != std::string::npos || text.find(".release") != std::string::npos)
    follows_all_ = false;
}

void OrderObserver::on_access(const Access& access) {
  if (access.unit != Unit::thread || access.space == Space::tensor) return unit_access(access);
  if (access.relaxed) note_strong(access);
  bool plain = !access.asynchronous && !access.mbarrier && access.mask != 0;
  const OrderClocks::Together* together =
      plain ? clocks_.together(access.warp, access.mask) : nullptr;
  if (access.space == Space::shared) {
    if (blocks_ > 1) reach(access);
    touch_shared(access, together);
    if (access.mbarrier && access.kind == AccessKind::write) make_apart(access);
    return;
  }
  if (access.space != Space::global || access.buffers == nullptr) return;
  each_lane(access.mask, [&](std::uint32_t lane) {
    std::uint32_t buffer = (*access.buffers)[lane];
    if (buffer >= writable_.size() || !writable_[buffer]) return;
    Touch touch{&access, lane, (*access.addresses)[lane], Mask{1} << lane};
    touch_read_only(touch);
    touch_words(global_[buffer], touch, together);
    if (across_blocks_) touch_across(touch, buffer);
  });
}

/// Who may complete a barrier, not who did: an arrival that does not come after every arrival of
/// the completion before it could as well have been one of those.
void OrderObserver::on_barrier_arrive(std::uint32_t warp, std::uint32_t instruction, unsigned id,
                                      std::uint32_t, Mask mask, bool) {
  auto lane = static_cast<std::uint32_t>(std::countr_zero(mask));
  Arrivals& arrivals = arrivals_[id];
  for (const OrderStamp& earlier : arrivals.completed) {
    Mask others = clocks_.unordered(warp, lane, earlier);
    if (others == 0) continue;
    OrderFinding finding;
    finding.kind = OrderFinding::Kind::barrier;
    finding.address = id;
    finding.first = {
        earlier.instruction,
        earlier.warp * lane_count + static_cast<std::uint32_t>(std::countr_zero(others)), block_,
        false};
    finding.second = {instruction, warp * lane_count + lane, block_, false};
    add(findings_, finding);
  }
  OrderStamp stamp;
  stamp.clock = clocks_.clock(warp * lane_count + lane);
  stamp.instruction = instruction;
  stamp.lanes = Mask{1} << lane;
  stamp.warp = static_cast<std::uint16_t>(warp);
  arrivals.pending.push_back(stamp);
  clocks_.barrier_arrive(id, warp, mask);
  if (phased_) happened_.barrier_arrive(id, warp, mask);
}

void OrderObserver::on_barrier_complete(unsigned id, std::span<const Mask>,
                                        std::span<const Mask> waiting) {
  Arrivals& arrivals = arrivals_[id];
  arrivals.completed = std::move(arrivals.pending);
  arrivals.pending.clear();
  clocks_.barrier_complete(id, waiting);
  if (phased_) happened_.barrier_complete(id, waiting);
}

void OrderObserver::on_warp_barrier(std::uint32_t warp, std::uint32_t, Mask mask) {
  if (mask == 0) return;
  clocks_.warp_barrier(warp, mask);
  if (phased_) happened_.warp_barrier(warp, mask);
}

void OrderObserver::on_async_commit(std::uint32_t warp, std::uint32_t, Mask mask) {
  each_lane(mask, [&](std::uint32_t lane) { ++copies_[warp * lane_count + lane].committed; });
}

void OrderObserver::land(std::uint32_t thread, const Copy& copy, std::uint32_t agent) {
  std::uint32_t clock = clocks_.clock(agent);
  auto finish = [&](OrderCell& cell) {
    OrderStamp& writer = cell.writer;
    if (!writer.under_way || writer.warp != thread / lane_count ||
        writer.lanes != Mask{1} << thread % lane_count)
      return;
    writer.under_way = false;
    writer.agent = agent != thread;
    writer.clock = clock;
    writer.lanes = Mask{1} << agent % lane_count;
    writer.warp = static_cast<std::uint16_t>(agent / lane_count);
  };
  for (std::uint64_t at = copy.offset; at < copy.offset + copy.bytes; at += 4) {
    OrderCell& cell = shared_.word(at / 4);
    finish(cell);
    if (cell.bytes)
      for (OrderCell& byte : *cell.bytes) finish(byte);
  }
}

void OrderObserver::on_async_wait(std::uint32_t warp, std::uint32_t, Mask mask,
                                  std::uint32_t pending) {
  each_lane(mask, [&](std::uint32_t lane) {
    std::uint32_t thread = warp * lane_count + lane;
    CopyState& state = copies_[thread];
    std::erase_if(state.copies, [&](const Copy& copy) {
      bool done = copy.group + pending < state.committed;
      if (done) land(thread, copy, thread);
      return done;
    });
  });
}

void OrderObserver::on_fence(std::uint32_t warp, std::uint32_t, Mask mask, char scope,
                             Proxy proxy) {
  if (proxy == Proxy::generic && scope == 'b')
    each_lane(mask, [&](std::uint32_t lane) {
      std::uint32_t thread = warp * lane_count + lane;
      std::uint32_t maker = clocks_.agent(maker_name(thread));
      passed_on_[thread] = clocks_.clock(maker);
      clocks_.step(maker);
    });
  if (proxy == Proxy::generic && scope != 'b' && scope != 'm') {
    fenced_ = true;
    if (scope != 'c') follows_all_ = false;
    if (scope != 'c')
      each_lane(mask, [&](std::uint32_t lane) { clocks_.fence(warp * lane_count + lane); });
  }
  for (bool global : {false, true})
    if (proxy == Proxy::async || proxy == (global ? Proxy::async_global : Proxy::async_shared))
      each_lane(mask,
                [&](std::uint32_t lane) { clocks_.proxy_fence(warp * lane_count + lane, global); });
}

void OrderObserver::on_mbarrier_init(std::uint32_t, std::uint32_t, std::uint64_t offset,
                                     std::uint32_t) {
  if (!phased_) happened_.reset(shape_[0], shape_[1]);
  phased_ = true;
  clocks_.token_forget(offset);
  happened_.token_forget(offset);
  Phases& phases = phases_[offset];
  phases.agent = happened_.agent(mbarrier_name(offset));
  phases.completed = 0;
  phases.waiters.clear();
}

/// A new mbarrier is its maker's, of whom the thread knows: fence.mbarrier_init passes on no more.
void OrderObserver::make_apart(const Access& access) {
  each_lane(access.mask, [&](std::uint32_t lane) {
    std::uint32_t maker = clocks_.agent(maker_name(access.warp * lane_count + lane));
    std::uint64_t begin = (*access.addresses)[lane];
    for (std::uint64_t word = begin / 4; word * 4 < begin + access.bytes; ++word) {
      OrderCell& cell = shared_.word(word);
      auto make = [&](OrderStamp& writer) {
        writer.clock = clocks_.clock(maker);
        writer.lanes = Mask{1} << maker % lane_count;
        writer.warp = static_cast<std::uint16_t>(maker / lane_count);
      };
      make(cell.writer);
      if (cell.bytes)
        for (OrderCell& byte : *cell.bytes) make(byte.writer);
    }
    clocks_.agent_acquire(access.warp, Mask{1} << lane, maker, clocks_.clock(maker));
  });
}

void OrderObserver::on_mbarrier_arrive(std::uint32_t warp, std::uint32_t instruction, Mask mask,
                                       std::uint64_t offset, std::uint64_t phase, bool relaxed) {
  check_arrival(warp, instruction, mask, offset, phase);
  if (phased_) happened_.token_release(offset, phase, warp, mask);
  if (!relaxed) return clocks_.token_release(offset, phase, warp, mask);
  clocks_.token_release_fenced(offset, phase, warp, mask);
  each_lane(mask, [&](std::uint32_t lane) {
    std::uint32_t thread = warp * lane_count + lane;
    if (auto passed = passed_on_.find(thread); passed != passed_on_.end())
      clocks_.agent_release(offset, phase, clocks_.agent(maker_name(thread)), passed->second);
  });
}

void OrderObserver::on_mbarrier_wait(std::uint32_t warp, std::uint32_t instruction, Mask mask,
                                     std::uint64_t offset, std::uint64_t phase, bool relaxed) {
  if (!relaxed) clocks_.token_acquire(offset, phase, warp, mask);
  if (phased_) happened_.token_acquire(offset, phase, warp, mask);
  auto found = phases_.find(offset);
  if (found == phases_.end()) return;
  found->second.instruction = instruction;
  Waiters waiters{warp, mask, {}};
  each_lane(mask, [&](std::uint32_t lane) {
    waiters.clock[lane] = happened_.clock(warp * lane_count + lane);
  });
  found->second.waiters.push_back(waiters);
}

}  // namespace lathe::ptx
