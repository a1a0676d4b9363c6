#pragma once

// Loads, stores and asynchronous copies. Included by machine.h.

#include "ptx/machine.h"

namespace lathe::ptx {

template <class D, class O>
bool Machine<D, O>::find_buffer(std::uint64_t address, unsigned bytes, Location& out) {
  auto holds = [&](std::uint64_t i) {
    const Buffer& buffer = run_.buffers[i];
    return address >= buffer.address && address - buffer.address < buffer.bytes &&
           buffer.bytes - (address - buffer.address) >= bytes;
  };
  std::uint64_t found = last_buffer_;
  if (found >= run_.buffers.size() || !holds(found)) {
    std::uint64_t low = 0, high = run_.buffers.size();
    while (low < high) {
      std::uint64_t middle = (low + high) / 2;
      if (run_.buffers[middle].address <= address)
        low = middle + 1;
      else
        high = middle;
    }
    if (low == 0 || !holds(low - 1)) return false;
    found = low - 1;
  }
  last_buffer_ = found;
  out.region = &d_.buffer(found);
  out.offset = address - run_.buffers[found].address;
  out.space = Space::global;
  out.buffer = static_cast<std::uint32_t>(found);
  return true;
}

template <class D, class O>
bool Machine<D, O>::locate(Space space, std::uint64_t address, unsigned bytes, bool write,
                           const Operation& op, unsigned lane, Location& out) {
  std::uint64_t given = address;
  if (space == Space::generic || space == Space::global || space == Space::constant) {
    if (address >= local_window && address < local_window + window_bytes && space == Space::generic)
      space = Space::local, address -= local_window;
    else if (address >= shared_window && address < shared_window + window_bytes &&
             space == Space::generic)
      space = Space::cluster, address -= shared_window;
    else if (address >= parameter_window && address < parameter_window + window_bytes &&
             space == Space::generic)
      space = Space::param, address -= parameter_window;
    else if (address >= variable_window && address < local_window)
      space = Space::constant;
    else if (space == Space::generic)
      space = Space::global;
  }
  if (op.multicast && space != Space::global)
    trap(TrapKind::bad_operand, "a multimem address is not global", op, lane, given);
  out.space = space;
  std::uint64_t size = 0;
  if (space == Space::shared || space == Space::cluster) {
    constexpr std::uint64_t low = (std::uint64_t{1} << rank_shift) - 1;
    std::uint64_t owner = address >> rank_shift;
    // An address without a rank is one's own, and .shared::cta reaches no other.
    out.rank = owner == 0 && space == Space::shared ? rank() : static_cast<std::uint32_t>(owner);
    bool reached = space == Space::cluster ? owner < blocks_.size() : out.rank == rank();
    out.space = Space::shared;
    out.region = reached ? &*blocks_[out.rank].shared : nullptr;
    out.offset = (address & low) - run_.shared_base;  // One below the base becomes huge.
    size = reached ? shared_bytes_ : 0;
  } else if (space == Space::param) {
    if (write) trap(TrapKind::read_only, "a store into the parameters", op, lane, given);
    out.region = &*parameters_;
    out.offset = address;
    size = program_.parameter_bytes;
  } else if (space == Space::local) {
    std::uint64_t thread = now_warp_ * lane_count + lane;
    out.region = local_ ? &*local_ : nullptr;
    size = program_.local_bytes;
    out.offset = address;
    if (address < size && size - address >= bytes) {
      out.offset += thread * size;
      size *= warps_.size() * lane_count;
    } else {
      size = 0;
    }
  } else if (space == Space::constant) {
    for (std::size_t i = 0; i < variables_.size(); ++i)
      if (address - variable_addresses_[i] < program_.variables[i].bytes) {
        out.region = &variables_[i];
        out.offset = address - variable_addresses_[i];
        size = program_.variables[i].bytes;
        // Other blocks would see it, and blocks are independent here.
        if (write && run_.shape.blocks() > 1)
          trap(TrapKind::unsupported, "a store to a module variable", op, lane, given);
      }
  } else if (find_buffer(address, bytes, out)) {
    size = run_.buffers[out.buffer].bytes;
    if (run_.buffers[out.buffer].multicast != op.multicast)
      trap(TrapKind::bad_operand,
           op.multicast ? "a multimem access to memory that is no multicast object"
                        : "a multicast object is accessed by other than multimem",
           op, lane, given);
    if (write && !run_.buffers[out.buffer].writable)
      trap(TrapKind::read_only, "a store into `" + run_.buffers[out.buffer].name + "`, an input",
           op, lane, given);
  }
  if (out.offset >= size || size - out.offset < bytes || out.region == nullptr) {
    static constexpr std::array names{"generic"sv, "global"sv,   "shared"sv, "local"sv,
                                      "param"sv,   "constant"sv, "tensor"sv, "cluster"sv};
    trap(TrapKind::out_of_bounds,
         "an access of " + std::to_string(bytes) + " bytes at " +
             std::string(names[static_cast<std::size_t>(space)]) + " address " +
             std::to_string(given) + " is in no allocation",
         op, lane, given);
    return false;
  }
  return !trap_;
}

template <class D, class O>
bool Machine<D, O>::read_addresses(Warp& warp, const Operation& op, const Address& address,
                                   Mask active, Addresses& out) {
  auto offset = static_cast<std::uint64_t>(address.offset);
  const Slot& base = address.base;
  if (!base.present()) {
    out.fill(offset);
    return true;
  }
  std::uint64_t kept = base.width == 4 ? 0xFFFFFFFFu : ~std::uint64_t{0};
  if (std::has_single_bit(active)) {
    auto bits = bits_of(warp.lanes, base, first_lane(active), op, "an address");
    out.fill((bits.value_or(0) + offset) & kept);
    return bits.has_value();
  }
  if (!bits_of(warp.lanes, base, active, op, "an address", out)) return false;
  for (std::uint64_t& each : out) each = (each + offset) & kept;
  return true;
}

template <class D, class O>
bool Machine<D, O>::addresses_of(Warp& warp, const Operation& op, const Address& address,
                                 Mask active, Addresses& out) {
  if (!read_addresses(warp, op, address, active, out)) return false;
  if constexpr (NotesControl<D>)
    if (address.base.present()) d_.note_addresses(active, out);
  return true;
}

/// What most accesses are: all lanes aligned and in the block's own shared memory, in one global
/// buffer or in the parameters. False: to be looked at lane by lane, which also names what is
/// wrong.
template <class D, class O>
bool Machine<D, O>::locate_common(Space space, const Operation& op, Mask active, unsigned bytes,
                                  bool write, const Addresses& where, Common& out) {
  if (active == 0 || op.multicast) return false;
  std::uint64_t size = 0;
  if (space == Space::shared) {
    out.region = &*here().shared;
    out.space = Space::shared;
    out.rank = rank();
    out.begin = run_.shared_base, size = shared_bytes_;
    if (out.begin + size > std::uint64_t{1} << rank_shift) return false;
  } else if (space == Space::global || space == Space::generic) {
    Location first;
    if (!find_buffer(where[first_lane(active)], bytes, first)) return false;
    const Buffer& buffer = run_.buffers[first.buffer];
    out.region = first.region;
    out.buffer = first.buffer;
    out.begin = buffer.address, size = buffer.bytes;
    if (buffer.multicast || (write && !buffer.writable) || out.begin + size > variable_window)
      return false;
  } else if (space == Space::param && !write) {
    out.region = &*parameters_;
    out.space = Space::param;
    size = program_.parameter_bytes;
  } else {
    return false;
  }
  out.where = &where;
  if (size < bytes) return false;
  if (std::has_single_bit(active)) {
    std::uint64_t address = where[first_lane(active)];
    return address - out.begin <= size - bytes && (address & (bytes - 1)) == 0;
  }
  Fit fit = fit_of(where, active, out.begin, size - bytes, bytes);
  out.reach = fit.reach;
  return fit.good;
}

/// The same as places, for what takes them one by one.
template <class D, class O>
bool Machine<D, O>::locate_plain(Space space, const Operation& op, Mask active, unsigned bytes,
                                 bool write, const Addresses& where, Locations& out) {
  Common common;
  if (!locate_common(space, op, active, bytes, write, where, common)) return false;
  Location one{common.region, 0, common.space, common.buffer, common.rank};
  for (unsigned lane = 0; lane < lane_count; ++lane) {
    out[lane] = one;
    out[lane].offset = where[lane] - common.begin;
  }
  return true;
}

template <class D, class O>
bool Machine<D, O>::locate_each(const Operation& op, Mask active, unsigned bytes,
                                const Addresses& where, Locations& out, bool write) {
  if (locate_plain(op.space, op, active, bytes, write, where, out)) return true;
  for (unsigned lane = 0; lane < lane_count; ++lane) {
    if ((active >> lane & 1) == 0) continue;
    if ((where[lane] & (bytes - 1)) != 0) {
      trap(TrapKind::misaligned,
           "an access of " + std::to_string(bytes) + " bytes at address " +
               std::to_string(where[lane]) + " is not aligned",
           op, lane, where[lane]);
      return false;
    }
    if (!locate(op.space, where[lane], bytes, write, op, lane, out[lane])) return false;
  }
  return true;
}

template <class D, class O>
bool Machine<D, O>::locate_all(Warp& warp, const Operation& op, Mask active, unsigned bytes,
                               Addresses& where, Locations& out, bool write) {
  return addresses_of(warp, op, op.address, active, where) &&
         locate_each(op, active, bytes, where, out, write);
}

/// An access whose lanes are all in one place.
template <class D, class O>
void Machine<D, O>::tell_common(const Operation& op, Mask active, unsigned bytes, const Common& at,
                                AccessKind kind, Mask unchanged) {
  if constexpr (requires { requires O::global_only; })
    if (at.space != Space::global) return;
  if constexpr (requires { o_.on_common(at, number(op), now_warp_, active, bytes, kind); }) {
    o_.on_common(at, number(op), now_warp_, active, bytes, kind);
  } else if constexpr (O::active) {
    std::array<std::uint32_t, lane_count> buffers;
    buffers.fill(at.buffer);
    Addresses keys;
    Access access;
    access.space = at.space;
    access.kind = kind;
    access.read_only = op.read_only;
    access.relaxed = op.strong;
    access.instruction = number(op);
    access.warp = now_warp_;
    access.mask = active;
    access.bytes = bytes;
    access.addresses = at.where;
    access.buffers = &buffers;
    access.unchanged = unchanged & active;
    if (at.space == Space::shared) {
      std::uint64_t rank = std::uint64_t{at.rank} << rank_shift;
      for (unsigned lane = 0; lane < lane_count; ++lane)
        keys[lane] = ((*at.where)[lane] - at.begin) | rank;
      access.addresses = &keys;
    }
    o_.on_access(access);
  }
}

/// One Access a space for the observer.
template <class D, class O>
void Machine<D, O>::tell(const Operation& op, Mask active, unsigned bytes, const Locations& at,
                         const Addresses& where, AccessKind kind, Mask unchanged,
                         bool asynchronous) {
  if constexpr (requires { requires O::global_only; })
    if (op.space == Space::shared && !asynchronous) return;
  if constexpr (O::active) {
    std::array<std::uint32_t, lane_count> buffers{};
    Addresses addresses{};
    Mask left = active;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
      if ((active >> lane & 1) == 0) continue;
      buffers[lane] = at[lane].buffer;
      addresses[lane] = at[lane].space == Space::global || at[lane].space == Space::constant
                            ? where[lane]
                            : at[lane].key();
    }
    while (left != 0) {
      Access access;
      access.space = at[first_lane(left)].space;
      access.kind = kind;
      access.asynchronous = asynchronous;
      access.read_only = op.read_only;
      access.relaxed = op.strong;
      access.instruction = number(op);
      access.warp = now_warp_;
      for (unsigned lane = 0; lane < lane_count; ++lane)
        if ((left >> lane & 1) != 0 && at[lane].space == access.space)
          access.mask |= Mask{1} << lane;
      left &= ~access.mask;
      access.bytes = bytes;
      access.addresses = &addresses;
      access.buffers = &buffers;
      access.unchanged = unchanged & access.mask;
      o_.on_access(access);
    }
  }
}

template <class D, class O>
void Machine<D, O>::load(Warp& warp, const Operation& op, Mask active) {
  Addresses where{};
  unsigned each = op.element_bytes, count = op.element_count, bytes = each * count;
  if (!addresses_of(warp, op, op.address, active, where)) return;
  std::span<const Slot> slots(program_.slots.data() + op.slot_begin, count);
  bool sign = is_signed(op.form.type), done = false;
  if constexpr (requires(Common at) { d_.read_all(warp.lanes, slots, at, each, sign, active); }) {
    Common common;
    if (locate_common(op.space, op, active, bytes, false, where, common) &&
        d_.read_all(warp.lanes, slots, common, each, sign, active))
      return tell_common(op, active, bytes, common, AccessKind::read, 0);
  }
  Locations at;
  if (!locate_each(op, active, bytes, where, at, false)) return;
  if constexpr (requires { d_.read_all(warp.lanes, slots, at, each, sign, active); })
    done = d_.read_all(warp.lanes, slots, at, each, sign, active);
  for (unsigned lane = 0; lane < lane_count && !done; ++lane) {
    if ((active >> lane & 1) == 0) continue;
    for (unsigned i = 0; i < count; ++i) {
      Cell cell = slots[i].cell(lane);
      d_.read(*at[lane].region, at[lane].offset + i * each, warp.lanes, cell, each);
      if (cell.width > each) d_.extend(warp.lanes, cell, each, sign);
    }
  }
  tell(op, active, bytes, at, where, AccessKind::read, 0, false);
}

template <class D, class O>
void Machine<D, O>::store(Warp& warp, const Operation& op, Mask active) {
  Addresses where{};
  unsigned each = op.element_bytes, count = op.element_count, bytes = each * count;
  if (!addresses_of(warp, op, op.address, active, where)) return;
  std::span<const Slot> slots(program_.slots.data() + op.slot_begin, count);
  Mask unchanged = 0;
  bool done = false;
  constexpr bool compares = O::compares_writes;
  if constexpr (requires(Common at) {
                  d_.template write_all<compares>(warp.lanes, slots, at, each, active, unchanged);
                }) {
    Common common;
    if (locate_common(op.space, op, active, bytes, true, where, common) &&
        d_.template write_all<compares>(warp.lanes, slots, common, each, active, unchanged))
      return tell_common(op, active, bytes, common, AccessKind::write, unchanged);
  }
  Locations at;
  if (!locate_each(op, active, bytes, where, at, true)) return;
  if constexpr (requires {
                  d_.template write_all<compares>(warp.lanes, slots, at, each, active, unchanged);
                })
    done = d_.template write_all<compares>(warp.lanes, slots, at, each, active, unchanged);
  for (unsigned lane = 0; lane < lane_count && !done; ++lane) {
    if ((active >> lane & 1) == 0) continue;
    bool same = true;
    for (unsigned i = 0; i < count; ++i) {
      Cell cell = slots[i].cell(lane);
      std::uint64_t offset = at[lane].offset + i * each;
      if constexpr (O::compares_writes)
        same = same && d_.same(*at[lane].region, offset, warp.lanes, cell, each);
      d_.write(*at[lane].region, offset, warp.lanes, cell, each);
    }
    if (same) unchanged |= Mask{1} << lane;
  }
  tell(op, active, bytes, at, where, AccessKind::write, unchanged, false);
}

template <class D, class O>
void Machine<D, O>::land(Warp&, const Copy& copy) {
  Region& shared = *here().shared;
  if (copy.taken != 0) d_.transfer(shared, copy.to, d_.buffer(copy.buffer), copy.from, copy.taken);
  if (copy.taken < copy.bytes) d_.zero(shared, copy.to + copy.taken, copy.bytes - copy.taken);
}

/// How many bytes each lane of a copy reads; the rest of what it writes is zero.
template <class D, class O>
bool Machine<D, O>::bytes_taken(Warp& warp, const Operation& op, Mask active, Addresses& taken) {
  taken.fill(op.element_bytes);
  if (op.fixed[0].present() &&
      !controls(warp.lanes, op.fixed[0], active, op, "the size of a copy", taken))
    return false;
  Addresses ignored{};
  if (op.fixed[1].present() &&
      !controls(warp.lanes, op.fixed[1], active, op, "the predicate of a copy", ignored))
    return false;
  for (Mask left = active; left != 0; left &= left - 1) {
    unsigned lane = first_lane(left);
    if (taken[lane] > op.element_bytes) {
      trap(TrapKind::bad_operand, "a copy reads more than it writes", op, lane);
      return false;
    }
    if ((ignored[lane] & 1) != 0) taken[lane] = 0;
  }
  return true;
}

/// Where the lanes of `reads` read; of the others nothing is asked.
template <class D, class O>
bool Machine<D, O>::locate_sources(const Operation& op, Mask reads, const Addresses& taken,
                                   const Addresses& from, Locations& source) {
  if constexpr (NotesControl<D>) d_.note_addresses(reads, from);
  std::uint64_t bits = 0, part = 0;
  for (Mask left = reads; left != 0; left &= left - 1) {
    bits |= from[first_lane(left)];
    part |= taken[first_lane(left)] ^ op.element_bytes;
  }
  bool plain = part == 0 && (bits & (op.element_bytes - 1u)) == 0;
  if (plain && locate_plain(Space::global, op, reads, op.element_bytes, false, from, source))
    return true;
  for (Mask left = reads; left != 0; left &= left - 1) {
    unsigned lane = first_lane(left);
    if ((from[lane] & (op.element_bytes - 1u)) != 0) {
      trap(TrapKind::misaligned, "the source of a copy is not aligned", op, lane, from[lane]);
      return false;
    }
    auto bytes = static_cast<unsigned>(taken[lane]);
    if (!locate(Space::global, from[lane], bytes, false, op, lane, source[lane])) return false;
    if (source[lane].space != Space::global) {
      trap(TrapKind::unsupported, "a copy from a module variable", op, lane);
      return false;
    }
  }
  return true;
}

template <class D, class O>
void Machine<D, O>::copy_async(Warp& warp, const Operation& op, Mask active) {
  Addresses to{}, from{}, taken{};
  Locations at, source{};
  unsigned bytes = op.element_bytes;
  if (!locate_all(warp, op, active, bytes, to, at, true)) return;
  if (!read_addresses(warp, op, op.source, active, from)) return;
  if (!bytes_taken(warp, op, active, taken)) return;
  Mask reads = 0;
  for (unsigned lane = 0; lane < lane_count; ++lane)
    if ((active >> lane & 1) != 0 && taken[lane] != 0) reads |= Mask{1} << lane;
  if (reads != 0 && !locate_sources(op, reads, taken, from, source)) return;
  for (Mask left = active; left != 0; left &= left - 1) {
    unsigned lane = first_lane(left);
    Copy copy{at[lane].offset,
              source[lane].offset,
              warp.groups[lane],
              source[lane].buffer,
              static_cast<std::uint8_t>(lane),
              static_cast<std::uint8_t>(bytes),
              static_cast<std::uint8_t>(taken[lane]),
              warp.copies_made++};
    if (run_.schedule == AsyncSchedule::at_issue) {
      land(warp, copy);
    } else {
      d_.poison(*here().shared, copy.to, copy.bytes);
      warp.copies.push_back(copy);
    }
  }
  if (reads != 0) tell(op, reads, bytes, source, from, AccessKind::read, 0, true);
  tell(op, active, bytes, at, to, AccessKind::write, 0, true);
}

template <class D, class O>
void Machine<D, O>::wait_async(Warp& warp, const Operation& op, Mask active) {
  bool all = op.mode == Mode::wait_all;
  std::uint32_t pending = all ? 0 : op.form.constant;
  if (all)
    for (unsigned lane = 0; lane < lane_count; ++lane) warp.groups[lane] += active >> lane & 1;
  auto lands = [&](const Copy& copy) {
    return (active >> copy.lane & 1) != 0 && copy.group + pending < warp.groups[copy.lane];
  };
  std::vector<Copy> left;
  for (const Copy& copy : warp.copies) {
    if (lands(copy))
      land(warp, copy);
    else
      left.push_back(copy);
  }
  warp.copies = std::move(left);
  if (all) o_.on_async_commit(now_warp_, number(op), active);
  o_.on_async_wait(now_warp_, number(op), active, pending);
}

}  // namespace lathe::ptx
