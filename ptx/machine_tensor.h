#pragma once

// Tensor memory (tcgen05): its allocation, and what moves between it and registers or shared
// memory. Products are in machine_product.h. Included by machine.h.

#include <algorithm>

#include "ptx/machine.h"

namespace lathe::ptx {

inline constexpr unsigned tensor_columns_max = 512, tensor_lanes = 128;
/// Tensor memory as registers of a file: a register is 32 lanes of one column.
constexpr Spot tensor_spot(unsigned lane, unsigned column) {
  return (lane / lane_count * tensor_columns_max + column) * lane_count * 4;
}
constexpr Cell tensor_cell(unsigned lane, unsigned column, unsigned byte = 0) {
  return {tensor_spot(lane, column), 4, static_cast<std::uint8_t>(byte),
          static_cast<std::uint8_t>(lane % lane_count)};
}
/// Behind it: operands (128 rows of A, 256 of B, 32 bytes each, or 64 of B beside a sparse A), and
/// what nobody wants.
inline constexpr Spot tensor_spots = tensor_spot(tensor_lanes, 0);
inline constexpr unsigned operand_columns = 8, operand_columns_max = 16;
constexpr Cell operand_cell(unsigned first_row, unsigned row, unsigned byte) {
  unsigned at = first_row + row;
  return {tensor_spots + (at / lane_count * operand_columns_max + byte / 4) * lane_count * 4, 4,
          static_cast<std::uint8_t>(byte % 4), static_cast<std::uint8_t>(at % lane_count)};
}
inline constexpr unsigned a_rows = 128, b_rows = 256;
inline constexpr Spot sink_spots =
    tensor_spots + (a_rows + b_rows) / lane_count * operand_columns_max * lane_count * 4;
inline constexpr Spot poison_spot = sink_spots + 8 * lane_count * 4;
inline constexpr std::uint32_t tensor_bytes = poison_spot + lane_count * 4;
/// Observers see tensor memory in granules of sixteen lanes of a column.
constexpr std::uint64_t tensor_granule(unsigned lane, unsigned column) {
  return lane / 16 * tensor_columns_max + column;
}

/// Whether columns are allocated; a trap where not.
template <class D, class O>
bool Machine<D, O>::tensor_columns(const Operation& op, TensorMemory* memory, std::uint32_t begin,
                                   std::uint32_t count) {
  if (memory != nullptr)
    for (auto [first, columns] : memory->allocations)
      if (begin >= first && begin + count <= first + columns) return true;
  trap(TrapKind::out_of_bounds,
       "columns " + std::to_string(begin) + " to " + std::to_string(begin + count - 1) +
           " of tensor memory are not allocated",
       op, 0, begin);
  return false;
}

template <class D, class O>
void Machine<D, O>::tell_tensor(const Operation& op, Unit unit, unsigned lane, std::uint32_t rank,
                                std::vector<std::uint64_t>& granules, AccessKind kind) {
  std::sort(granules.begin(), granules.end());
  granules.erase(std::unique(granules.begin(), granules.end()), granules.end());
  for (std::size_t begin = 0; begin < granules.size(); begin += lane_count) {
    Addresses addresses{};
    std::array<std::uint32_t, lane_count> buffers{};
    Access access;
    for (unsigned i = 0; i < lane_count && begin + i < granules.size(); ++i) {
      addresses[i] = granules[begin + i] * 4 | std::uint64_t{rank} << rank_shift;
      access.mask |= Mask{1} << i;
    }
    access.space = Space::tensor;
    access.kind = kind;
    access.proxy = Proxy::async;
    access.unit = unit;
    access.issuer = static_cast<std::uint8_t>(lane);
    access.instruction = number(op);
    access.warp = now_warp_;
    access.bytes = 4;
    access.addresses = &addresses;
    access.buffers = &buffers;
    o_.on_access(access);
  }
}

/// tcgen05.alloc: the first columns that are free, or a wait for some.
template <class D, class O>
void Machine<D, O>::tensor_allocate(Warp& warp, std::uint32_t p, const Operation& op) {
  TensorMemory& memory = *here().tensor;
  auto count = uniform(warp, op, op.fixed[0], "a number of columns");
  if (!count) return;
  if (*count < 32 || *count > tensor_columns_max || (*count & (*count - 1)) != 0)
    return trap(TrapKind::bad_operand, "32, 64, 128, 256 or 512 columns are allocated", op, 0);
  Addresses where{};
  Locations at{};
  if (!locate_all(warp, op, 1, 4, where, at)) return;
  if (memory.relinquished)
    return trap(TrapKind::bad_operand, "an allocation after the right to it was given up", op, 0);
  auto columns = static_cast<std::uint32_t>(*count);
  std::uint32_t begin = 0;
  for (auto [first, size] : memory.allocations) {
    if (begin + columns <= first) break;
    begin = (first + size + columns - 1) / columns * columns;
  }
  if (begin + columns > tensor_columns_max) {
    Part& part = warp.parts[p];
    part.state = State::allocation;
    part.waits_at = number(op);
    part.waits_for = columns;
    --part.pc;
    return;
  }
  memory.allocations[begin] = columns;
  for (unsigned c = begin; c < begin + columns; ++c)
    for (unsigned lane = 0; lane < tensor_lanes; ++lane)
      d_.copy(memory.lanes, tensor_cell(lane, c), memory.lanes,
              {poison_spot, 4, 0, static_cast<std::uint8_t>(lane % lane_count)}, 4);
  d_.poke(*at[0].region, at[0].offset, 4, begin);
  tell(op, 1, 4, at, where, AccessKind::write, 0, false);
}

/// tcgen05.alloc, dealloc, relinquish_alloc_permit.
template <class D, class O>
void Machine<D, O>::tensor_memory(Warp& warp, std::uint32_t p, const Operation& op, Mask active) {
  if (!whole(warp, op, active, "tcgen05.alloc")) return;
  Block& block = here();
  if (!block.tensor) block.tensor.emplace(d_.make_lanes(tensor_bytes));
  TensorMemory& memory = *block.tensor;
  if (op.mode == Mode::init) return tensor_allocate(warp, p, op);
  if (op.mode == Mode::arrive) {
    memory.relinquished = true;
    return;
  }
  auto address = uniform(warp, op, op.fixed[0], "an address of tensor memory");
  if (!address) return;
  auto count = uniform(warp, op, op.fixed[1], "a number of columns");
  if (!count) return;
  auto begin = static_cast<std::uint32_t>(*address & 0xFFFF);
  auto found = memory.allocations.find(begin);
  if (found == memory.allocations.end() || found->second != *count)
    return trap(TrapKind::bad_operand, "no such allocation of tensor memory is to be freed", op, 0);
  memory.allocations.erase(found);
  if constexpr (O::active) {
    std::vector<std::uint64_t> granules;
    for (unsigned c = begin; c < begin + *count; ++c)
      for (unsigned lane = 0; lane < tensor_lanes; lane += 16)
        granules.push_back(tensor_granule(lane, c));
    tell_tensor(op, Unit::thread, 0, rank(), granules, AccessKind::write);
  }
  for (Warp& other : warps_)
    for (Part& part : other.parts)
      if (part.state == State::allocation) part.state = State::ready;
}

/// Where register `r` of a lane lies, from the first lane and column of a shape (9.7.16.2.3).
struct TensorPlace {
  unsigned lane = 0, column = 0;
};
constexpr TensorPlace tensor_place(std::string_view shape, unsigned lane, unsigned r,
                                   unsigned split) {
  if (shape == "32x32b") return {lane, r};
  if (shape == "16x64b") return {lane / 4 + 8 * (lane & 1), (lane >> 1 & 1) + 2 * r};
  if (shape == "16x128b") return {lane / 4 + 8 * (r & 1), (lane & 3) + 4 * (r >> 1)};
  if (shape == "16x256b")
    return {lane / 4 + 8 * (r >> 1 & 1), 2 * (lane & 3) + (r & 1) + 8 * (r >> 2)};
  return {lane & 15, r + lane / 16 * split};
}

/// 32 lanes of one column, which are a register; false where the domain goes cell by cell.
template <class D, class O>
bool Machine<D, O>::tensor_column(Warp& warp, TensorMemory& memory, const Slot& own, unsigned lane,
                                  unsigned column, bool load) {
  if constexpr (requires { d_.copy_across(warp.lanes, Spot{}, memory.lanes, Spot{}, 4u); }) {
    Spot there = tensor_spot(lane, column);
    return load ? d_.copy_across(warp.lanes, own.place, memory.lanes, there, 4)
                : d_.copy_across(memory.lanes, there, warp.lanes, own.place, 4);
  }
  return false;
}

/// tcgen05.ld and st: a warp reaches the quarter of the lanes that its number says.
template <class D, class O>
void Machine<D, O>::tensor_move(Warp& warp, const Operation& op, Mask active) {
  bool load = op.effect == Effect::tensor_load;
  if (!whole(warp, op, active, load ? "tcgen05.ld" : "tcgen05.st")) return;
  const AsyncForm& form = program_.async_forms[op.matrix];
  Addresses where{};
  if (!addresses_of(warp, op, op.address, active, where)) return;
  for (std::uint64_t each : where)
    if (each != where[0])
      return trap(TrapKind::bad_operand, "an address of tensor memory differs between lanes", op,
                  0);
  unsigned quarter = now_warp_ % warps_each_ % 4, given = where[0] >> 16 & 0xFFFF;
  unsigned column = where[0] & 0xFFFF, base = quarter * lane_count + given % lane_count;
  bool half = form.shape != "32x32b";
  if (given >= tensor_lanes || (given / lane_count != 0 && given / lane_count != quarter) ||
      given % (half ? 16 : lane_count) != 0)
    return trap(TrapKind::bad_operand,
                "lane " + std::to_string(given) + " of tensor memory is not this warp's", op, 0);
  Block& block = here();
  unsigned scale = form.shift ? 2 : 1;  // .pack::16b: a register is two columns' low halves.
  unsigned reach = 0;
  for (unsigned lane = 0; lane < lane_count; ++lane)
    reach = std::max(reach,
                     tensor_place(form.shape, lane, op.slot_count - 1u, form.scale_input).column);
  TensorMemory* memory = block.tensor ? &*block.tensor : nullptr;
  if (!tensor_columns(op, memory, column, scale * (reach + 1))) return;
  const Slot* slots = program_.slots.data() + op.slot_begin;
  std::vector<std::uint64_t> granules;
  for (unsigned r = 0; r < op.slot_count; ++r) {
    if (!half && scale == 1 && tensor_column(warp, *memory, slots[r], base, column + r, load)) {
      if constexpr (O::active)
        for (unsigned lane = 0; lane < lane_count; lane += 16)
          granules.push_back(tensor_granule(base + lane, column + r));
      continue;
    }
    for (unsigned lane = 0; lane < lane_count; ++lane) {
      TensorPlace at = tensor_place(form.shape, lane, r, form.scale_input);
      for (unsigned i = 0; i < scale; ++i) {
        unsigned c = column + at.column * scale + i;
        Cell there = tensor_cell(base + at.lane, c), own = slots[r].cell(lane, 2 * i);
        if constexpr (O::active) granules.push_back(tensor_granule(base + at.lane, c));
        if (load)
          d_.copy(warp.lanes, own, memory->lanes, there, 4 / scale);
        else
          d_.copy(memory->lanes, there, warp.lanes, own, 4 / scale);
      }
    }
  }
  if constexpr (O::active)
    tell_tensor(op, load ? Unit::tensor_load : Unit::tensor_store, 0, rank(), granules,
                load ? AccessKind::read : AccessKind::write);
}

template <class D, class O>
void Machine<D, O>::tensor_wait(Warp& warp, const Operation& op, Mask active) {
  if (!whole(warp, op, active, "tcgen05.wait")) return;
  if constexpr (O::active) {
    o_.on_unit(unit_event(UnitEvent::Kind::wait, op.flag ? Unit::tensor_load : Unit::tensor_store,
                          op, active));
  }
}

/// tcgen05.commit: an mbarrier is told when what this thread has issued is done.
template <class D, class O>
void Machine<D, O>::tensor_commit(Warp& warp, const Operation& op, Mask active) {
  const AsyncForm& form = program_.async_forms[op.matrix];
  Addresses where{};
  if (!addresses_of(warp, op, op.address, active, where)) return;
  for (unsigned lane = 0; lane < lane_count && !trap_; ++lane) {
    if ((active >> lane & 1) == 0) continue;
    Location at;
    // Triton 3.6 gives a shared address without naming the space.
    Space space = where[lane] >= shared_window ? Space::generic : Space::cluster;
    if (space == Space::cluster && where[lane] >> rank_shift == 0) space = Space::shared;
    if (!locate(space, where[lane], 8, false, op, lane, at)) return;
    std::vector<std::uint64_t> keys{at.key()};
    if (form.multicast.present()) {
      auto mask = control(warp.lanes, form.multicast, lane, op, "the blocks of a multicast");
      if (!mask) return;
      keys.clear();
      for (std::uint64_t rank = 0; rank < blocks_.size(); ++rank)
        if ((*mask >> rank & 1) != 0) keys.push_back(at.offset | rank << rank_shift);
    }
    for (std::uint64_t key : keys)
      if (find_mbarrier(key) == nullptr)
        return trap(TrapKind::bad_operand, "no mbarrier is initialised there", op, lane,
                    where[lane]);
    for (std::uint64_t key : keys) tell_mbarrier(op, Mask{1} << lane, key, AccessKind::atomic);
    Flight flight;
    flight.warp = now_warp_;
    flight.lane = lane;
    flight.carry_out = [this, keys, lane, &op] {
      for (std::uint64_t key : keys) {
        MemoryBarrier* object = find_mbarrier(key);
        if (object == nullptr) continue;
        if constexpr (O::active) {
          UnitEvent event = unit_event(UnitEvent::Kind::signal, Unit::tensor, op, Mask{1} << lane);
          event.offset = key;
          event.phase = object->phase;
          o_.on_unit(event);
        }
        if (object->pending == 0)
          return trap(TrapKind::bad_operand,
                      "more arrive at an mbarrier than it expects in a phase", op, lane);
        arrive(key, 1, 0);
      }
    };
    launch(std::move(flight));
  }
}

/// The lanes that row `row` of a copied matrix goes to.
inline std::vector<unsigned> tensor_rows(const AsyncForm& form, unsigned row) {
  if (form.shape == "4x256b") return {32 * row};
  if (form.shape == "32x128b") return {row, row + 32, row + 64, row + 96};
  if (form.shape != "64x128b") return {row};
  if (form.scale_input == 0) return {row, row + 64};
  unsigned first = 64 * (row / 32) + row % 32;
  return {first, first + 32};
}

/// tcgen05.cp and shift, one lane's: done after the work that the thread has issued before.
template <class D, class O>
void Machine<D, O>::tensor_copy(Warp& warp, const Operation& op, Mask active) {
  const AsyncForm& form = program_.async_forms[op.matrix];
  unsigned lane = first_lane(active);
  Addresses where{};
  if (!addresses_of(warp, op, op.address, active, where)) return;
  SharedMatrix matrix;
  if (!form.shift) {
    auto bits = control(warp.lanes, form.a_descriptor, lane, op, "a matrix descriptor");
    if (!bits) return;
    matrix = SharedMatrix::read_tensor(*bits);
  }
  if (!matrix.supported || matrix.words)
    return trap(TrapKind::unsupported, "a matrix descriptor of this mode", op, lane);
  auto address = static_cast<std::uint32_t>(where[lane]);
  if (form.shift && (address >> 16) % lane_count != 0)
    return trap(TrapKind::bad_operand, "the lane of what is shifted is no multiple of 32", op,
                lane);
  std::uint32_t first = form.group == 2 ? rank() & ~1u : rank();
  Flight flight;
  flight.warp = now_warp_;
  flight.lane = lane;
  flight.carry_out = [this, &op, lane, matrix, address, first] {
    const AsyncForm& copied = program_.async_forms[op.matrix];
    for (std::uint32_t rank = first; rank < first + copied.group && !trap_; ++rank)
      if (copied.shift)
        tensor_shift(op, lane, address, rank);
      else
        tensor_copy_block(op, lane, matrix, address & 0xFFFF, rank);
  };
  launch(std::move(flight));
}

/// A matrix in one block's shared memory to rows of its tensor memory.
template <class D, class O>
void Machine<D, O>::tensor_copy_block(const Operation& op, unsigned lane,
                                      const SharedMatrix& matrix, unsigned column,
                                      std::uint32_t rank) {
  const AsyncForm& form = program_.async_forms[op.matrix];
  unsigned rows = form.shape.starts_with("128")  ? 128
                  : form.shape.starts_with("64") ? 64
                  : form.shape.starts_with("32") ? 32
                                                 : 4;
  unsigned words = form.shape.ends_with("256b") ? 8 : 4;
  Block& block = blocks_[std::min<std::size_t>(rank, blocks_.size() - 1)];
  TensorMemory* memory = block.tensor ? &*block.tensor : nullptr;
  if (!tensor_columns(op, memory, column, words)) return;
  std::vector<std::uint64_t> units, granules;
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned word = 0; word < words; ++word) {
      std::uint64_t offset = matrix.at(row, 4 * word, 1, false) - run_.shared_base;
      if (offset >= shared_bytes_ || shared_bytes_ - offset < 4)
        return trap(TrapKind::out_of_bounds, "a matrix descriptor reaches beyond shared memory", op,
                    lane);
      if constexpr (O::active) units.push_back(offset / 16);
      for (unsigned to : tensor_rows(form, row)) {
        Cell cell = tensor_cell(to, column + word);
        if constexpr (O::active) granules.push_back(tensor_granule(to, column + word));
        if (form.packed_bits == 0) {
          d_.read(*block.shared, offset, memory->lanes, cell, 4);
          continue;
        }
        for (unsigned i = 0; i < 4; ++i, ++cell.byte)
          if (!unpack(op, lane, block, memory->lanes, offset & ~std::uint64_t{15},
                      4 * (word % 4) + i, form.packed_bits, cell))
            return;
      }
    }
  if constexpr (O::active) {
    tell_units(op, units, Unit::tensor, lane, rank);
    tell_tensor(op, Unit::tensor, lane, rank, granules, AccessKind::write);
  }
}

/// Element `i` of the sixteen of 4 or 6 bits that a unit of shared memory begins with, in a byte:
/// of 4 bits in its bits 5 to 2, of 6 in its low ones.
template <class D, class O>
bool Machine<D, O>::unpack(const Operation& op, unsigned lane, Block& from, Lanes& lanes,
                           std::uint64_t unit, unsigned i, unsigned bits, Cell to) {
  unsigned at = i * bits, count = at % 8 + bits > 8 ? 2 : 1;
  Cell stage{sink_spots, 4, 0, to.lane};
  d_.read(*from.shared, unit + at / 8, lanes, stage, count);
  auto packed = d_.exact(lanes, stage, count);
  if (!packed) {
    if (!d_.complaint())
      trap(TrapKind::undefined_value, "packed elements are no known number", op, lane);
    return false;
  }
  std::uint64_t element = *packed >> at % 8 & ((1u << bits) - 1);
  d_.put(lanes, to, 1, bits == 4 ? element << 2 : element);
  return true;
}

/// tcgen05.shift: of 32 rows of eight columns each but the last goes one row down; the first stays
/// as it is.
template <class D, class O>
void Machine<D, O>::tensor_shift(const Operation& op, unsigned lane, std::uint32_t address,
                                 std::uint32_t rank) {
  Block& block = blocks_[std::min<std::size_t>(rank, blocks_.size() - 1)];
  TensorMemory* memory = block.tensor ? &*block.tensor : nullptr;
  unsigned column = address & 0xFFFF, top = address >> 16;
  if (!tensor_columns(op, memory, column, operand_columns)) return;
  if (top >= tensor_lanes)
    return trap(TrapKind::bad_operand, "tensor memory has 128 lanes", op, lane);
  std::vector<std::uint64_t> granules;
  for (unsigned c = column; c < column + operand_columns; ++c)
    for (unsigned row = lane_count - 1; row > 0; --row) {
      d_.copy(memory->lanes, tensor_cell(top + row, c), memory->lanes,
              tensor_cell(top + row - 1, c), 4);
      if constexpr (O::active) granules.push_back(tensor_granule(top + row, c));
    }
  if constexpr (O::active) {
    tell_tensor(op, Unit::tensor, lane, rank, granules, AccessKind::read);
    tell_tensor(op, Unit::tensor, lane, rank, granules, AccessKind::write);
  }
}

/// Words of 32 rows at once, for a domain that offers it; false: element by element, which also
/// names what is wrong.
template <class D, class O>
bool Machine<D, O>::tensor_words(Block& from, Lanes& lanes, const SharedMatrix& matrix, unsigned es,
                                 unsigned rows, unsigned first_cell, unsigned bytes,
                                 std::vector<std::uint64_t>& units) {
  if constexpr (requires {
                  d_.read_all(lanes, std::span<const Slot>{}, Locations{}, 4u, false, 0u);
                }) {
    for (unsigned row = 0; row < rows;) {
      unsigned lane = (first_cell + row) % lane_count,
               count = std::min(lane_count - lane, rows - row);
      Mask mask = (count == lane_count ? every_lane : (Mask{1} << count) - 1) << lane;
      for (unsigned byte = 0; byte < bytes; byte += 16) {  // These lie side by side.
        Locations at;
        for (unsigned i = 0; i < count; ++i) {
          std::uint64_t offset = matrix.at(row + i, byte / es, es, false) - run_.shared_base;
          if (offset >= shared_bytes_ || shared_bytes_ - offset < 16) return false;
          at[lane + i].region = &*from.shared;
          at[lane + i].offset = offset;
          if constexpr (O::active)
            if (units.empty() || units.back() != offset / 16) units.push_back(offset / 16);
        }
        std::array<Slot, 4> words;
        for (unsigned w = 0; w < 4; ++w)
          words[w] = {operand_cell(first_cell, row, byte + 4 * w).place, 4};
        if (!d_.read_all(lanes, std::span<const Slot>(words), at, 4, false, mask)) return false;
      }
      row += count;
    }
    return true;
  } else {
    return false;
  }
}

}  // namespace lathe::ptx
