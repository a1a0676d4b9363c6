#pragma once

// Bulk copies: their operands, how they are carried out and told to observers, their groups; and
// stores that tell an mbarrier. The boxes of tensor maps are in machine_box.h. Included by
// machine.h.

#include <algorithm>

#include "ptx/machine.h"

namespace lathe::ptx {

/// The mbarrier that a copy tells, and in whose blocks.
template <class D, class O>
bool Machine<D, O>::resolve_signal(Warp& warp, const Operation& op, unsigned lane, BulkCopy& copy) {
  const AsyncForm& form = *copy.form;
  if (form.move == AsyncForm::Move::to_global) return true;
  Addresses where{};
  Location at;
  if (!addresses_of(warp, op, form.barrier, Mask{1} << lane, where)) return false;
  Space space = op.space == Space::cluster ? Space::cluster : Space::shared;
  if (where[lane] >= shared_window) space = Space::generic;
  if (where[lane] % 8 != 0) {
    trap(TrapKind::misaligned, "an mbarrier is not aligned", op, lane, where[lane]);
    return false;
  }
  if (!locate(space, where[lane], 8, false, op, lane, at)) return false;
  copy.barrier = at.offset;
  copy.barrier_rank = at.rank;
  copy.ranks = {copy.shared_rank};
  // A pair's mbarrier may be that of either block: bit 24 of its address says which.
  copy.signals_own = false;
  if (form.group == 1 && at.rank != copy.shared_rank) {
    trap(TrapKind::bad_operand, "a copy and its mbarrier lie in different blocks", op, lane,
         where[lane]);
    return false;
  }
  if (form.multicast.present()) {
    auto mask = control(warp.lanes, form.multicast, lane, op, "the blocks of a multicast");
    if (!mask) return false;
    copy.ranks.clear();
    copy.signals_own = true;
    for (std::uint32_t rank = 0; rank < 16; ++rank) {
      if ((*mask >> rank & 1) == 0) continue;
      if (rank >= blocks_.size()) {
        trap(TrapKind::bad_operand, "the cluster has no block of rank " + std::to_string(rank), op,
             lane);
        return false;
      }
      copy.ranks.push_back(rank);
    }
  }
  for (std::uint32_t rank : copy.ranks)
    if (find_mbarrier(copy.barrier | std::uint64_t{copy.signals_own ? rank : at.rank}
                                         << rank_shift) == nullptr) {
      trap(TrapKind::bad_operand, "no mbarrier is initialised there", op, lane, where[lane]);
      return false;
    }
  return true;
}

/// Some contiguous bytes.
template <class D, class O>
bool Machine<D, O>::resolve_plain(Warp& warp, const Operation& op, unsigned lane, BulkCopy& copy,
                                  std::uint64_t shared, std::uint64_t global) {
  const AsyncForm& form = *copy.form;
  auto size = control(warp.lanes, form.size, lane, op, "the size of a copy");
  if (!size) return false;
  if (*size % 16 != 0 || shared % 16 != 0 || global % 16 != 0) {
    trap(TrapKind::misaligned, "a bulk copy's size and addresses are multiples of 16", op, lane,
         shared % 16 != 0 ? shared : global);
    return false;
  }
  copy.bytes = *size;
  copy.type = form.type;
  if (*size == 0) return true;
  Location at, other;
  auto bytes = static_cast<unsigned>(*size);
  bool stores = form.move == AsyncForm::Move::to_global;
  bool within = form.move == AsyncForm::Move::to_cluster;
  Space space = shared >= shared_window ? Space::generic : stores ? Space::shared : op.space;
  if (!locate(space, shared, bytes, !stores, op, lane, at)) return false;
  if (form.ignored[0].present()) return resolve_ends(warp, op, lane, copy, at, global, bytes);
  Space far = !within ? Space::global : global >= shared_window ? Space::generic : Space::shared;
  if (!locate(far, global, bytes, stores, op, lane, other)) return false;
  if (!within && other.space != Space::global) {
    trap(TrapKind::unsupported, "a bulk copy of a module variable", op, lane, global);
    return false;
  }
  copy.shared_rank = at.rank;
  copy.buffer = other.buffer;
  copy.from = other.offset;
  if (form.byte_mask.present()) {
    auto mask = control(warp.lanes, form.byte_mask, lane, op, "the byte mask of a copy");
    if (!mask) return false;
    copy.byte_mask = static_cast<std::uint16_t>(*mask);
  }
  if (copy.byte_mask == 0xFFFF) {
    copy.pieces.push_back({at.offset, other.offset, bytes, true});
    return true;
  }
  for (unsigned i = 0; i < bytes; ++i)
    if ((copy.byte_mask >> i % 16 & 1) != 0)
      copy.pieces.push_back({at.offset + i, other.offset + i, 1, true});
  return true;
}

/// .ignore_oob: bytes at either end need not be there, and nobody knows what arrives in their
/// place.
template <class D, class O>
bool Machine<D, O>::resolve_ends(Warp& warp, const Operation& op, unsigned lane, BulkCopy& copy,
                                 const Location& to, std::uint64_t from, std::uint32_t bytes) {
  constexpr std::uint64_t ignored_max = 15;
  std::array<std::uint32_t, 2> ends{};
  for (std::size_t i = 0; i < 2; ++i) {
    auto count = control(warp.lanes, copy.form->ignored[i], lane, op, "the bytes that are ignored");
    if (!count) return false;
    if (*count > ignored_max) {
      trap(TrapKind::bad_operand, "at most 15 bytes of an end are ignored", op, lane);
      return false;
    }
    ends[i] = static_cast<std::uint32_t>(*count);
  }
  auto [left, right] = ends;
  right = std::min(right, bytes - left);  // Of 16 bytes all may be.
  std::uint32_t middle = bytes - left - right;
  Location source;
  if (middle != 0 && !locate(Space::global, from + left, middle, false, op, lane, source))
    return false;
  if (middle != 0 && source.space != Space::global) {
    trap(TrapKind::unsupported, "a bulk copy of a module variable", op, lane, from);
    return false;
  }
  copy.shared_rank = to.rank;
  copy.buffer = source.buffer;
  copy.unknown_fill = true;
  if (left != 0) copy.pieces.push_back({to.offset, 0, left, false});
  if (middle != 0) copy.pieces.push_back({to.offset + left, source.offset, middle, true});
  if (right != 0) copy.pieces.push_back({to.offset + left + middle, 0, right, false});
  return true;
}

template <class D, class O>
bool Machine<D, O>::resolve_bulk(Warp& warp, const Operation& op, unsigned lane, BulkCopy& copy) {
  const AsyncForm& form = program_.async_forms[op.matrix];
  copy.form = &form;
  copy.op = &op;
  copy.warp = now_warp_;
  copy.lane = lane;
  copy.shared_rank = rank();
  Addresses to{}, from{};
  Mask bit = Mask{1} << lane;
  if (!addresses_of(warp, op, op.address, bit, to)) return false;
  if (!addresses_of(warp, op, op.source, bit, from)) return false;
  bool stores = form.move == AsyncForm::Move::to_global;
  std::uint64_t shared = stores ? from[lane] : to[lane], global = stores ? to[lane] : from[lane];
  bool good = form.tile == AsyncForm::Tile::none
                  ? resolve_plain(warp, op, lane, copy, shared, global)
                  : resolve_tensor(warp, op, lane, copy, shared, global);
  return good && resolve_signal(warp, op, lane, copy);
}

template <class D, class O>
void Machine<D, O>::bulk_copy(Warp& warp, const Operation& op, Mask active) {
  for (unsigned lane = 0; lane < lane_count && !trap_; ++lane) {
    if ((active >> lane & 1) == 0) continue;
    BulkCopy copy;
    if (!resolve_bulk(warp, op, lane, copy)) return;
    if constexpr (NotesControl<D>)
      for (const Piece& piece : copy.pieces)
        d_.note_piece(piece.inside ? run_.buffers[copy.buffer].address + piece.global : 0,
                      piece.shared, piece.bytes);
    if constexpr (O::active) {
      tell_bulk(copy);
      if (copy.form->move != AsyncForm::Move::to_global)
        for (std::uint32_t rank : copy.ranks) {
          std::uint64_t owner = copy.signals_own ? rank : copy.barrier_rank;
          tell_completion(op, lane, copy.barrier | owner << rank_shift);
        }
    }
    bool stores = copy.form->move == AsyncForm::Move::to_global;
    if (run_.schedule != AsyncSchedule::at_issue && !stores && !copy.form->reduces)
      for (std::uint32_t rank : copy.ranks)
        for (const Piece& piece : copy.pieces)
          d_.poison(*blocks_[rank].shared, piece.shared, piece.bytes);
    Flight flight;
    flight.warp = now_warp_;
    flight.lane = lane;
    flight.bulk = stores;
    flight.group = warp.bulk_groups[lane];
    flight.carry_out = [this, copy = std::move(copy)] { carry_out_bulk(copy); };
    launch(std::move(flight));
  }
}

template <class D, class O>
void Machine<D, O>::carry_out_bulk(const BulkCopy& copy) {
  if (copy.form->move == AsyncForm::Move::to_global) {
    for (const Piece& piece : copy.pieces) move_piece(copy, piece, copy.shared_rank);
    return;
  }
  for (std::uint32_t rank : copy.ranks) {
    for (const Piece& piece : copy.pieces) move_piece(copy, piece, rank);
    std::uint64_t owner = copy.signals_own ? rank : copy.barrier_rank;
    arrive(copy.barrier | owner << rank_shift, 0, static_cast<std::int64_t>(copy.bytes));
  }
}

template <class D, class O>
void Machine<D, O>::move_piece(const BulkCopy& copy, const Piece& piece, std::uint32_t rank) {
  Region& shared = *blocks_[rank].shared;
  if (copy.form->move == AsyncForm::Move::to_global) {
    if (!piece.inside) return;
    Region& to = d_.buffer(copy.buffer);
    if (copy.form->reduces)
      combine_piece(copy, piece, to, piece.global);
    else
      d_.transfer(to, piece.global, shared, piece.shared, piece.bytes);
    return;
  }
  if (!piece.inside) {
    if (copy.unknown_fill) return d_.poison(shared, piece.shared, piece.bytes);
    if (!copy.nan_fill) return d_.zero(shared, piece.shared, piece.bytes);
    // The same 16 bits for every type.
    for (unsigned i = 0; i < piece.bytes; i += copy.element_bytes)
      d_.poke(shared, piece.shared + i, copy.element_bytes, 0x7FF7'7FF7'7FF7'7FF7);
    return;
  }
  if (copy.form->reduces) return combine_piece(copy, piece, shared, piece.shared);
  Region& from = copy.form->move == AsyncForm::Move::to_cluster
                     ? *blocks_[copy.warp / warps_each_].shared
                     : d_.buffer(copy.buffer);
  d_.transfer(shared, piece.shared, from, piece.global, piece.bytes);
  if (copy.rounds) round_piece(copy, piece, shared);
}

/// A tensor of tf32 loses what tf32 has no room for, to nearest, on its way into shared memory.
template <class D, class O>
void Machine<D, O>::round_piece(const BulkCopy& copy, const Piece& piece, Region& shared) {
  constexpr unsigned bytes = 4;
  Form form;
  form.type = Type::tf32;
  Spot place = copy.op->places[1];
  Cell cell = Slot{place, bytes}.cell(copy.lane);
  Lanes& lanes = warps_[copy.warp].lanes;
  for (unsigned i = 0; i < piece.bytes; i += bytes) {
    d_.read(shared, piece.shared + i, lanes, cell, bytes);
    for_each_run(d_, lanes, std::array{place}, [&](auto& d, auto& one) {
      using Each = std::remove_reference_t<decltype(d)>;
      auto value = detail::load_value<Each, Type::f32>(d, one, place, copy.lane);
      detail::store_value<Each, Type::tf32>(d, one, place, copy.lane,
                                            convert<Type::tf32>(form, value));
    });
    d_.write(shared, piece.shared + i, lanes, cell, bytes);
  }
}

/// A reduction is the atomic's, element by element.
template <class D, class O>
void Machine<D, O>::combine_piece(const BulkCopy& copy, const Piece& piece, Region& to,
                                  std::uint64_t offset) {
  Operation op = *copy.op;
  op.form.type = copy.type;
  op.element_bytes = static_cast<std::uint8_t>(width_of(copy.type) / 8);
  Warp& warp = warps_[copy.warp];
  Region& from = *blocks_[copy.warp / warps_each_].shared;
  std::uint64_t source =
      copy.form->move == AsyncForm::Move::to_global ? piece.shared : piece.global;
  unsigned bytes = width_of(op.form.type) / 8;
  auto cell = [&](std::size_t place) {
    return Slot{op.places[place], static_cast<std::uint8_t>(cell_bytes(op.form.type))}.cell(
        copy.lane);
  };
  for (unsigned i = 0; i < piece.bytes && !trap_; i += bytes) {
    d_.read(from, source + i, warp.lanes, cell(3), bytes);
    if constexpr (requires { d_.reduce(to, offset, warp.lanes, op, copy.lane); }) {
      if (d_.reduce(to, offset + i, warp.lanes, op, copy.lane)) continue;
    }
    d_.read(to, offset + i, warp.lanes, cell(1), bytes);
    // What reduces into a tensor by its map keeps subnormals of f32, other bulk copies do not.
    bool flush = copy.type != Type::f32 || copy.form->tile == AsyncForm::Tile::none;
    combine(warp.lanes, op, copy.lane, flush);
    d_.write(to, offset + i, warp.lanes, cell(2), bytes);
  }
}

/// Pieces as accesses of at most 32 lanes that have as many bytes each.
template <class D, class O>
void Machine<D, O>::tell_pieces(const BulkCopy& copy, Space space, std::uint32_t rank,
                                AccessKind kind) {
  bool global = space == Space::global;
  bool source = copy.form->move == AsyncForm::Move::to_cluster && kind == AccessKind::read;
  Addresses addresses{};
  std::array<std::uint32_t, lane_count> buffers{};
  buffers.fill(copy.buffer);
  Access access;
  access.space = space;
  access.kind = kind;
  access.proxy = Proxy::async;
  access.asynchronous = true;
  access.instruction = number(*copy.op);
  access.warp = copy.warp;
  access.issuer = static_cast<std::uint8_t>(copy.lane);
  access.addresses = &addresses;
  access.buffers = &buffers;
  access.unit = copy.form->move == AsyncForm::Move::to_global ? Unit::store : Unit::copy;
  if (access.unit == Unit::copy) {
    std::uint64_t owner = copy.signals_own && !source ? rank : copy.barrier_rank;
    if (copy.signals_own && source) owner = copy.ranks.empty() ? rank : copy.ranks[0];
    access.completes = copy.barrier | owner << rank_shift;
    if (MemoryBarrier* object = find_mbarrier(access.completes)) access.phase = object->phase;
  }
  unsigned used = 0;
  auto flush = [&] {
    if (used == 0) return;
    access.mask = used == lane_count ? every_lane : (Mask{1} << used) - 1;
    o_.on_access(access);
    used = 0;
  };
  std::uint64_t base = global ? run_.buffers[copy.buffer].address : 0;
  for (const Piece& piece : copy.pieces) {
    if (global && !piece.inside) continue;
    std::uint64_t begin = global || source ? piece.global : piece.shared;
    for (std::uint32_t done = 0; done < piece.bytes;) {
      std::uint32_t bytes = std::min<std::uint32_t>(piece.bytes - done, 16);
      if (bytes != access.bytes) flush();
      access.bytes = bytes;
      addresses[used++] =
          global ? base + begin + done : (begin + done) | std::uint64_t{rank} << rank_shift;
      if (used == lane_count) flush();
      done += bytes;
    }
  }
  flush();
}

template <class D, class O>
void Machine<D, O>::tell_bulk(const BulkCopy& copy) {
  using Move = AsyncForm::Move;
  AccessKind writes = copy.form->reduces ? AccessKind::atomic : AccessKind::write;
  if (copy.form->move == Move::to_global) {
    tell_pieces(copy, Space::shared, copy.shared_rank, AccessKind::read);
    return tell_pieces(copy, Space::global, 0, writes);
  }
  if (copy.form->move == Move::to_cluster)
    tell_pieces(copy, Space::shared, copy.warp / warps_each_, AccessKind::read);
  else
    tell_pieces(copy, Space::global, 0, AccessKind::read);
  for (std::uint32_t rank : copy.ranks) tell_pieces(copy, Space::shared, rank, writes);
}

/// The mbarrier that a unit will tell is accessed as by its issuer (the manual: through the generic
/// proxy), so it must be there for him; and what he knows is so when the bytes are there.
template <class D, class O>
void Machine<D, O>::tell_completion(const Operation& op, unsigned lane, std::uint64_t key) {
  if constexpr (O::active) {
    MemoryBarrier* object = find_mbarrier(key);
    if (object == nullptr) return;
    tell_mbarrier(op, Mask{1} << lane, key, AccessKind::atomic);
    UnitEvent event = unit_event(UnitEvent::Kind::issue, Unit::copy, op, Mask{1} << lane);
    event.offset = key;
    event.phase = object->phase;
    o_.on_unit(event);
  }
}

template <class D, class O>
void Machine<D, O>::bulk_commit(Warp& warp, const Operation& op, Mask active) {
  for (unsigned lane = 0; lane < lane_count; ++lane) warp.bulk_groups[lane] += active >> lane & 1;
  if constexpr (O::active) {
    o_.on_unit(unit_event(UnitEvent::Kind::commit, Unit::store, op, active));
  }
}

/// Work of the waiting threads that was put off is carried out now, in its order.
template <class D, class O>
void Machine<D, O>::bulk_wait(Warp& warp, const Operation& op, Mask active) {
  std::deque<Flight> left;
  std::vector<Flight> due;
  for (Flight& flight : flights_) {
    bool own = flight.bulk && flight.warp == now_warp_ && (active >> flight.lane & 1) != 0;
    if (own && flight.group + op.form.constant < warp.bulk_groups[flight.lane])
      due.push_back(std::move(flight));
    else
      left.push_back(std::move(flight));
  }
  flights_ = std::move(left);
  for (Flight& flight : due) flight.carry_out();
  if constexpr (O::active) {
    UnitEvent event = unit_event(op.flag ? UnitEvent::Kind::wait_read : UnitEvent::Kind::wait,
                                 Unit::store, op, active);
    event.pending = op.form.constant;
    o_.on_unit(event);
  }
}

/// st.async, red.async: the value is taken now, and lands when the schedule says; `barrier` is told
/// of its bytes.
template <class D, class O>
void Machine<D, O>::launch_store(Warp& warp, const Operation& op, unsigned lane, const Location& at,
                                 std::optional<std::uint64_t> barrier) {
  unsigned each = op.element_bytes, bytes = each * op.element_count;
  const Slot* slots = program_.slots.data() + op.slot_begin;
  auto value = std::make_shared<Region>(d_.make_region(bytes));
  for (unsigned i = 0; i < op.element_count; ++i)
    d_.write(*value, i * each, warp.lanes, slots[i].cell(lane), each);
  Flight flight;
  flight.warp = now_warp_;
  flight.lane = lane;
  flight.carry_out = [this, at, value, bytes, barrier, lane, &op, &warp] {
    if (!program_.async_forms[op.matrix].reduces) {
      d_.transfer(*at.region, at.offset, *value, 0, bytes);
    } else {
      auto cell = [&](std::size_t place) {
        return Slot{op.places[place], static_cast<std::uint8_t>(bytes)}.cell(lane);
      };
      d_.read(*value, 0, warp.lanes, cell(3), bytes);
      d_.read(*at.region, at.offset, warp.lanes, cell(1), bytes);
      combine(warp.lanes, op, lane, at.space == Space::global);
      d_.write(*at.region, at.offset, warp.lanes, cell(2), bytes);
    }
    if (barrier) arrive(*barrier, 0, bytes);
  };
  launch(std::move(flight));
}

/// Into another block's shared memory, whose mbarrier learns of it.
template <class D, class O>
void Machine<D, O>::store_async(Warp& warp, const Operation& op, Mask active) {
  const AsyncForm& form = program_.async_forms[op.matrix];
  if (form.move == AsyncForm::Move::to_global) return release_async(warp, op, active);
  unsigned bytes = op.element_bytes * op.element_count;
  Addresses to{};
  if (!addresses_of(warp, op, op.address, active, to)) return;
  for (unsigned lane = 0; lane < lane_count && !trap_; ++lane) {
    if ((active >> lane & 1) == 0) continue;
    BulkCopy copy;
    copy.form = &form;
    copy.op = &op;
    copy.warp = now_warp_;
    copy.lane = lane;
    Location at;
    if (to[lane] % bytes != 0)
      return trap(TrapKind::misaligned, "a store is not aligned", op, lane, to[lane]);
    Space space = to[lane] >= shared_window ? Space::generic : Space::cluster;
    if (!locate(space, to[lane], bytes, true, op, lane, at)) return;
    copy.shared_rank = at.rank;
    copy.pieces.push_back({at.offset, 0, bytes, true});
    if (!resolve_signal(warp, op, lane, copy)) return;
    std::uint64_t key = copy.barrier | std::uint64_t{copy.barrier_rank} << rank_shift;
    if constexpr (O::active) {
      tell_pieces(copy, Space::shared, at.rank,
                  form.reduces ? AccessKind::atomic : AccessKind::write);
      tell_completion(op, lane, key);
    }
    if (run_.schedule != AsyncSchedule::at_issue && !form.reduces)
      d_.poison(*at.region, at.offset, bytes);
    launch_store(warp, op, lane, at, key);
  }
}

/// Into global memory: a strong store that nobody waits for. It lands whole, so that who reads
/// before sees the old value.
template <class D, class O>
void Machine<D, O>::release_async(Warp& warp, const Operation& op, Mask active) {
  // Not even its own thread's next access is ordered behind it, which no clock here can say.
  if constexpr (O::active)
    return trap(TrapKind::unsupported, "the order of an asynchronous store that releases", op,
                first_lane(active));
  Addresses to{};
  if (!addresses_of(warp, op, op.address, active, to)) return;
  for (unsigned lane = 0; lane < lane_count && !trap_; ++lane) {
    if ((active >> lane & 1) == 0) continue;
    Location at;
    if (to[lane] % op.element_bytes != 0)
      return trap(TrapKind::misaligned, "a store is not aligned", op, lane, to[lane]);
    if (!locate(op.space, to[lane], op.element_bytes, true, op, lane, at)) return;
    if (at.space != Space::global)
      return trap(TrapKind::bad_operand, "a store that releases is for global memory alone", op,
                  lane, to[lane]);
    launch_store(warp, op, lane, at, std::nullopt);
  }
}

}  // namespace lathe::ptx
