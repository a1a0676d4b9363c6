// What is noted of a block, and what becomes undefined.

#include "ptx/trace_domain.h"

#include "ptx/isa.h"

namespace lathe::ptx {
namespace {

/// Bits are bits in every domain; all else is a number of some kind.
bool is_float_like(Type type) {
  Type half = half_of(type);
  return !is_integer(half) && half != Type::b128 && half != Type::pred;
}

}  // namespace

TraceDomain::TraceDomain(const TraceRequest& request) : name_(request.key) {
  operations_ = request.program->operations.data();
  for (const Operation& op : request.program->operations) operands_.push_back(operands_of(op));
  for (std::size_t i = 0; i < request.buffers.size(); ++i) {
    Memory memory;
    // A machine stores into no buffer that is not writable, and this domain into none.
    memory.region.bytes = const_cast<std::byte*>(request.contents[i]);
    memory.region.size = request.buffers[i].bytes;
    memory.region.global = true;
    memory.address = request.buffers[i].address;
    memory.bytes = request.buffers[i].bytes;
    memory.element_bytes = request.element_bytes[i];
    memory.changes = request.changes[i];
    lowest_ = std::min(lowest_, memory.address);
    memory_.push_back(std::move(memory));
  }
}

TraceDomain::Operands TraceDomain::operands_of(const Operation& op) {
  Operands out;
  if (op.effect == Effect::convert) {
    Type to = op.form.type, from = op.form.other;
    out.floats = is_float_like(to) || is_float_like(from);
    out.count = 3;  // The third are random bits or factors, or the first once more.
    out.result = static_cast<std::uint8_t>(cell_bytes(to));
    out.width = {static_cast<std::uint8_t>(cell_bytes(from)),
                 static_cast<std::uint8_t>(cell_bytes(from)),
                 static_cast<std::uint8_t>(op.places[3] == op.places[1] ? cell_bytes(from) : 2)};
    return out;
  }
  if (op.effect != Effect::none) return out;
  const Signature& row = rows()[op.form.row].signature;
  Type result = row.destination.in(op.form.type, op.form.other);
  out.floats = is_float_like(result);
  out.result = static_cast<std::uint8_t>(cell_bytes(result));
  out.count = static_cast<std::uint8_t>(std::min<std::size_t>(row.source_count, 4));
  for (std::size_t i = 0; i < out.count; ++i) {
    Type type = row.sources[i].in(op.form.type, op.form.other);
    out.floats |= is_float_like(type);
    out.width[i] = static_cast<std::uint8_t>(cell_bytes(type));
  }
  return out;
}

void TraceDomain::begin() {
  forget();
  name_.clear();
  bases_.assign(memory_.size(), Traces::untouched);
  written_.clear();
  read_.clear();
  for (Memory& memory : memory_) memory.written_begin = memory.written_end = 0;
}

std::size_t TraceDomain::buffer_of(std::uint64_t address) {
  auto holds = [&](std::size_t i) { return address - memory_[i].address < memory_[i].bytes; };
  if (last_ < memory_.size() && holds(last_)) return last_;
  for (std::size_t i = 0; i < memory_.size(); ++i)
    if (holds(i)) return last_ = i;
  return memory_.size();
}

/// Blocks of a kind are apart by whole elements.
std::uint64_t TraceDomain::base_of(std::size_t buffer, std::uint64_t address) {
  std::uint64_t& base = bases_[buffer];
  if (base == Traces::untouched) {
    base = address - memory_[buffer].address;
    name_.take(tag(Note::base, static_cast<unsigned>(buffer)),
               base % memory_[buffer].element_bytes);
  }
  return memory_[buffer].address + base;
}

void TraceDomain::note_addresses(Mask mask, const Words& addresses) {
  if (mask == 0) return;
  std::uint64_t all = 0;
  for (unsigned i = 0; i < lane_count; ++i) all |= (mask >> i & 1) != 0 ? addresses[i] : 0;
  if (all < lowest_) return name_.take(tag(Note::address), mask, addresses);
  std::size_t buffer = buffer_of(addresses[static_cast<unsigned>(std::countr_zero(mask))]);
  bool one = buffer < memory_.size();
  for (Mask left = mask; left != 0 && one; left &= left - 1) {
    std::uint64_t address = addresses[static_cast<unsigned>(std::countr_zero(left))];
    one = address - memory_[buffer].address < memory_[buffer].bytes;
  }
  Words words{};
  if (one) {
    std::uint64_t base = base_of(buffer, addresses[static_cast<unsigned>(std::countr_zero(mask))]);
    for (unsigned i = 0; i < lane_count; ++i) words[i] = addresses[i] - base;
    return name_.take(tag(Note::address, static_cast<unsigned>(buffer + 1)), mask, words);
  }
  for (Mask left = mask; left != 0; left &= left - 1) {
    auto i = static_cast<unsigned>(std::countr_zero(left));
    words[i] = addresses[i];
    buffer = buffer_of(addresses[i]);
    if (buffer == memory_.size()) continue;
    words[i] = (addresses[i] - base_of(buffer, addresses[i])) ^ (buffer + 1) << 52;
  }
  name_.take(tag(Note::address), mask, words);
}

void TraceDomain::note_piece(std::uint64_t address, std::uint64_t shared, std::uint32_t bytes) {
  Words words{};
  words[0] = address;
  if (address != 0) note_addresses(1, words);
  name_.take(tag(Note::piece, address != 0 ? 1 : 0), shared << 32 | bytes);
}

bool TraceDomain::blank(const Region& memory, std::span<const std::uint64_t> units) {
  if (units.empty()) return true;
  if (memory.defined == nullptr) return false;
  std::uint64_t begin = 16 * units.front(), end = 16 * units.back() + 16;
  if (std::memchr(memory.defined + begin, 1, end - begin) == nullptr) return true;
  return std::none_of(units.begin(), units.end(), [&](std::uint64_t unit) {
    return defined_of(memory, 16 * unit, 16) != Defined::none;
  });
}

namespace {

/// Where the lanes of a mask follow one another: the first, and how many; none where they do not.
std::pair<unsigned, unsigned> run_of(Mask mask) {
  if (mask == 0) return {0, 0};
  auto first = static_cast<unsigned>(std::countr_zero(mask));
  auto count = static_cast<unsigned>(std::popcount(mask));
  return first + count + static_cast<unsigned>(std::countl_zero(mask)) == lane_count
             ? std::pair{first, count}
             : std::pair{0u, 0u};
}

}  // namespace

bool TraceDomain::blank(const Lanes& lanes, Spot place, unsigned width, Mask mask) {
  if (lanes.known.empty()) return true;
  if (auto [first, count] = run_of(mask); count != 0)
    return std::memchr(lanes.known.data() + place + std::size_t{first} * width, 1,
                       std::size_t{count} * width) == nullptr;
  for (Mask left = mask; left != 0; left &= left - 1) {
    auto i = static_cast<unsigned>(std::countr_zero(left));
    if (std::memchr(lanes.known.data() + place + i * width, 1, width) != nullptr) return false;
  }
  return true;
}

void TraceDomain::lose(Lanes& lanes, Spot place, unsigned width, Mask mask) {
  lanes.defined[place / 64] &= ~mask;
  if (lanes.known.empty()) return;
  if (auto [first, count] = run_of(mask); count != 0) {
    std::memset(lanes.known.data() + place + std::size_t{first} * width, 0,
                std::size_t{count} * width);
    return;
  }
  for (Mask left = mask; left != 0; left &= left - 1)
    std::memset(lanes.known.data() + place + static_cast<unsigned>(std::countr_zero(left)) * width,
                0, width);
}

/// A cell that is defined in part.
void TraceDomain::note_bytes(const Lanes& lanes, Cell cell, unsigned bytes, unsigned which) {
  std::uint64_t set = 0;
  for (unsigned i = 0; i < bytes; ++i)
    if (exact(lanes,
              Cell{cell.place, cell.width, static_cast<std::uint8_t>(cell.byte + i), cell.lane},
              1)) {
      set |= std::uint64_t{1} << i;
      name_.take(tag(Note::bytes, which),
                 std::to_integer<std::uint64_t>(*(lanes.at(cell) + i)) | std::uint64_t{i} << 8);
    }
  if (set != 0) name_.take(tag(Note::bytes, which), set << 32 | cell.lane);
}

void TraceDomain::note_operand(const Lanes& lanes, Spot place, unsigned width, Mask mask,
                               unsigned which) {
  Mask whole = lanes.defined[place / 64] & mask, rest = mask & ~whole;
  for (unsigned part = 0; part < width && whole != 0; part += 8) {
    Words words{};
    unsigned bytes = std::min(width, 8u);
    const std::byte* at = lanes.bytes.data() + place + part;
    for (unsigned i = 0; i < lane_count; ++i) std::memcpy(&words[i], at + i * width, bytes);
    name_.take(tag(Note::operand, which), whole, words);
  }
  if (rest == 0 || blank(lanes, place, width, rest)) return;
  for (; rest != 0; rest &= rest - 1)
    note_bytes(lanes,
               {place, static_cast<std::uint8_t>(width), 0,
                static_cast<std::uint8_t>(std::countr_zero(rest))},
               width, which);
}

/// Where all is bits and known, and no float is made of it, nothing is noted: what comes of it is,
/// once it decides something or meets data.
void TraceDomain::carry_out(Rule<Bits> rule, Lanes& lanes, const Operation& op, Mask active) {
  const Operands& operands = operands_[static_cast<std::size_t>(&op - operations_)];
  const std::vector<Mask>& defined = lanes.defined;
  Mask all = defined[op.places[1] / 64] & defined[op.places[2] / 64] & defined[op.places[3] / 64] &
             defined[op.places[4] / 64];
  if (!operands.floats && (active & ~all) == 0) return rule(*this, lanes, op, active);
  for (unsigned i = 0; i < operands.count; ++i)
    note_operand(lanes, op.places[1 + i], operands.width[i], active, i);
  if (!operands.floats) return rule(*this, lanes, op, active);
  lose(lanes, op.places[0], operands.result, active);
}

TraceDomain::Defined TraceDomain::defined_of(const Region& region, std::uint64_t offset,
                                             unsigned bytes) {
  if (region.global) return region.bytes == nullptr ? Defined::none : Defined::all;
  if (region.defined == nullptr) return Defined::all;
  if (bytes == 16 || bytes == 8) {
    std::array<std::uint64_t, 2> words{};
    std::memcpy(words.data(), region.defined + offset, bytes);
    if (bytes == 8) words[1] = words[0];
    if ((words[0] | words[1]) == 0) return Defined::none;
    return (words[0] & words[1]) == 0x0101010101010101u ? Defined::all : Defined::some;
  }
  std::uint8_t any = 0, all = 1;
  for (unsigned i = 0; i < bytes; ++i)
    any |= region.defined[offset + i], all &= region.defined[offset + i];
  return all != 0 ? Defined::all : any != 0 ? Defined::some : Defined::none;
}

void TraceDomain::append(std::vector<Range>& ranges, Range range) {
  if (!ranges.empty() && ranges.back().buffer == range.buffer && ranges.back().end == range.begin) {
    ranges.back().end = range.end;
    return;
  }
  ranges.push_back(range);
}

void TraceDomain::note_read(const Region& region, std::uint64_t offset, std::uint64_t bytes) {
  std::size_t number = number_of(region);
  Memory& memory = memory_[number];
  std::uint64_t end = offset + bytes;
  auto meets = [&](const Range& range) {
    return range.buffer == number && range.begin < end && offset < range.end;
  };
  if (offset < memory.written_end && memory.written_begin < end &&
      std::any_of(written_.begin(), written_.end(), meets))
    return refuse("a block reads of the launch's memory what it wrote");
  if (memory.changes) append(read_, {static_cast<std::uint32_t>(number), offset, offset + bytes});
}

void TraceDomain::note_written(const Region& region, std::uint64_t offset, std::uint64_t bytes) {
  std::size_t number = number_of(region);
  if (region.bytes != nullptr) return refuse("a block writes what control depends on");
  Memory& memory = memory_[number];
  if (memory.written_begin == memory.written_end) memory.written_begin = offset;
  memory.written_begin = std::min(memory.written_begin, offset);
  memory.written_end = std::max(memory.written_end, offset + bytes);
  append(written_, {static_cast<std::uint32_t>(number), offset, offset + bytes});
}

std::vector<TraceRange> TraceDomain::relative(const std::vector<Range>& ranges) const {
  std::vector<TraceRange> all, out;
  for (const Range& range : ranges) {
    auto base = static_cast<std::int64_t>(bases_[range.buffer]);
    all.push_back({range.buffer, static_cast<std::int64_t>(range.begin) - base,
                   static_cast<std::int64_t>(range.end) - base});
  }
  std::sort(all.begin(), all.end(), [](const TraceRange& a, const TraceRange& b) {
    return a.buffer != b.buffer ? a.buffer < b.buffer : a.begin < b.begin;
  });
  for (const TraceRange& range : all) {
    bool joins = !out.empty() && out.back().buffer == range.buffer && out.back().end >= range.begin;
    if (joins)
      out.back().end = std::max(out.back().end, range.end);
    else
      out.push_back(range);
  }
  return out;
}

void TraceDomain::read(Region& region, std::uint64_t offset, Lanes& lanes, Cell cell,
                       unsigned bytes) {
  if (!keeps(region) || region.bytes != nullptr)
    return Bits::read(region, offset, lanes, cell, bytes);
  note_read(region, offset, bytes);
  unset(lanes, cell, bytes);
}

void TraceDomain::write(Region& region, std::uint64_t offset, const Lanes& lanes, Cell cell,
                        unsigned bytes) {
  if (!keeps(region)) return Bits::write(region, offset, lanes, cell, bytes);
  note_bytes(lanes, cell, bytes, 0);
  note_written(region, offset, bytes);
}

void TraceDomain::note_memory(const Region& memory, std::uint64_t offset, unsigned bytes) {
  if (memory.defined == nullptr) return;
  for (unsigned i = 0; i < bytes; i += 8) {
    std::uint64_t set = 0, bits = 0;
    unsigned count = std::min(bytes - i, 8u);
    std::memcpy(&set, memory.defined + offset + i, count);
    if (set == 0) continue;
    std::memcpy(&bits, memory.bytes + offset + i, count);
    name_.take(tag(Note::memory, i) ^ offset << 40, set);
    name_.take(bits & set * 0xFF, offset);
  }
}

void TraceDomain::transfer(Region& to, std::uint64_t to_offset, Region& from, std::uint64_t offset,
                           std::uint64_t bytes) {
  if (keeps(to)) {
    if (keeps(from)) return refuse("a copy within memory of the launch");
    note_memory(from, offset, static_cast<unsigned>(bytes));
    return note_written(to, to_offset, bytes);
  }
  if (!keeps(from) || from.bytes != nullptr)
    return Bits::transfer(to, to_offset, from, offset, bytes);
  note_read(from, offset, bytes);
  poison(to, to_offset, bytes);
}

bool TraceDomain::copy_lanes(Lanes& lanes, Spot to, Spot from,
                             const std::array<std::uint8_t, lane_count>& lane, Mask mask) {
  Mask whole = lanes.defined[from / 64], known = 0;
  if (whole == every_lane) return Bits::copy_lanes(lanes, to, from, lane, mask);
  if (!blank(lanes, from, 4, ~whole)) return false;
  Words taken{};
  for (unsigned i = 0; i < lane_count; ++i) {
    std::memcpy(&taken[i], lanes.bytes.data() + from + 4u * lane[i], 4);
    known |= Mask{(whole >> lane[i] & 1) != 0} << i;
  }
  put_lanes(lanes, to, taken, mask & known);
  lose(lanes, to, 4, mask & ~known);
  return true;
}

/// Where what is moved is undefined, as all of where it goes is or becomes.
bool TraceDomain::copy_part(Lanes& lanes, Cell to, Cell from, unsigned bytes, Mask mask) {
  Mask whole = lanes.defined[from.place / 64] & mask;
  if (whole == mask) return Bits::copy_part(lanes, to, from, bytes, mask);
  if (whole != 0 || !blank(lanes, from.place, from.width, mask)) return false;
  bool fills = bytes == to.width;
  bool lost = (lanes.defined[to.place / 64] & mask) == 0 && blank(lanes, to.place, to.width, mask);
  if (!fills && !lost) return false;
  lose(lanes, to.place, to.width, mask);
  return true;
}

void TraceDomain::multiply(Lanes& lanes, const Mma& mma) {
  if (mma.order == nullptr) {
    auto note = [&](const Cell* cells, unsigned count, Type type, unsigned which) {
      for (unsigned i = 0; i < count; ++i) note_bytes(lanes, cells[i], width_of(type) / 8, which);
    };
    note(mma.a, mma.m * mma.k, mma.a_type, 0);
    note(mma.b, mma.k * mma.n, mma.b_type, 1);
    if (!mma.without_c) note(mma.c, mma.m * mma.n, mma.c_type, 2);
    if (const BlockScales* scales = mma.scales) {
      note(scales->a, mma.m * scales->blocks, scales->type, 3);
      note(scales->b, scales->blocks * mma.n, scales->type, 4);
    }
    for (unsigned i = 0; i < mma.m * mma.n; ++i) unset(lanes, mma.d[i], width_of(mma.d_type) / 8);
    return;
  }
  const FragmentShape& shape = mma.order->shape;
  unsigned results = shape.d_registers;
  unsigned sources = shape.a_registers + shape.b_registers + shape.c_registers;
  for (unsigned i = 0; i < sources; ++i)
    note_operand(lanes, mma.registers[results + i], 4, every_lane, i);
  for (unsigned i = 0; i < results; ++i) lose(lanes, mma.registers[i], 4, every_lane);
}

bool TraceDomain::multiply_wide(Lanes& lanes, const Region& memory, const WideMma& wide) {
  if (wide.order == nullptr) return false;
  for (std::span<const std::uint64_t> units : {wide.a_units, wide.b_units})
    if (!blank(memory, units))
      for (std::uint64_t unit : units) note_memory(memory, 16 * unit, 16);
  unsigned which = 0;
  if (wide.a_offsets == nullptr)
    for (unsigned i = 0; i < wide.order->shape.a_registers; ++i)
      note_operand(lanes, wide.a_registers[i], 4, every_lane, which++);
  for (Spot place : wide.d_registers) {
    if (!wide.zero_c) note_operand(lanes, place, 4, every_lane, which++);
    lose(lanes, place, 4, every_lane);
  }
  return true;
}

bool TraceDomain::multiply_tile(Lanes& lanes, const TileMma& tile) {
  const Mma& mma = tile.product;
  if (width_of(mma.d_type) != 32) return false;
  auto note = [&](TileMma::Corner corner, unsigned count, Mask rows, unsigned which) {
    for (unsigned i = 0; i < count; ++i)
      note_operand(lanes, corner.place + i * register_stride, 4, rows << corner.lane, which + i);
  };
  constexpr Mask sixteen = 0xFFFF;
  note(tile.a, tile.words, sixteen, 0);
  note(tile.b, tile.words, every_lane >> (lane_count - mma.n), tile.words);
  if (!mma.without_c) note(tile.d, mma.n, sixteen, 2 * tile.words);
  for (unsigned i = 0; i < mma.n; ++i)
    lose(lanes, tile.d.place + i * register_stride, 4, sixteen << tile.d.lane);
  return true;
}

}  // namespace lathe::ptx
