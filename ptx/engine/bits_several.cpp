// Several runs in the bits domain at once, under the observer of footprints. Built for AVX2 alone:
// elsewhere the runs go one by one.

#ifdef __AVX2__

#include "ptx/emulate.h"
#include "ptx/engine/variant.h"
#include "ptx/machine.h"
#include "ptx/several_bits.h"

namespace lathe::ptx {

SeveralBits::SeveralBits(const Program& program, std::size_t runs)
    : runs_(runs), operations_(program.operations.data()) {
  for (const Operation& op : program.operations) {
    Type type = Type::b32;
    if (op.effect == Effect::convert) type = op.form.type;
    if (op.effect == Effect::none)
      type = rows()[op.form.row].signature.destination.in(op.form.type, op.form.other);
    result_bytes_.push_back(static_cast<std::uint8_t>(cell_bytes(type)));
  }
}

void SeveralBits::add_buffer(const std::vector<std::byte*>& of_runs, std::uint64_t size) {
  Region& region = buffers_.emplace_back();
  for (std::byte* bytes : of_runs)
    region.of.push_back(Bits::Region{bytes, nullptr, size, true, nullptr, nullptr});
}

void SeveralBits::spread_from_first(Lanes& lanes, Spot place) const {
  std::size_t bytes = std::size_t{lane_count} * lanes.held[place / 64];
  const Bits::Lanes& first = lanes.of[0];
  for (std::size_t i = 1; i < runs_; ++i) {
    Bits::Lanes& other = lanes.of[i];
    std::memcpy(other.bytes.data() + place, first.bytes.data() + place, bytes);
    other.defined[place / 64] = first.defined[place / 64];
    if (first.known.empty() && other.known.empty()) continue;
    if (other.known.empty()) other.known.resize(other.bytes.size());
    if (first.known.empty())
      std::memset(other.known.data() + place, 0, bytes);
    else
      std::memcpy(other.known.data() + place, first.known.data() + place, bytes);
  }
  lanes.held[place / 64] = everywhere;
}

void SeveralBits::make_separate(Region& region) {
  const Bits::Region first = region.of[0];
  while (region.of.size() < runs_) {
    Bits::Region other = bits_.make_region(first.size);
    if (!region.fresh) {
      std::memcpy(other.bytes, first.bytes, first.size);
      std::memcpy(other.defined, first.defined, first.size);
    }
    region.of.push_back(std::move(other));
  }
  region.alike = region.fresh = false;
}

void SeveralBits::read(Region& region, std::uint64_t offset, Lanes& lanes, Cell cell,
                       unsigned bytes) {
  std::uint8_t& held = lanes.held[cell.number()];
  if (region.alike && held != apart) {
    bits_.read(region.of[0], offset, lanes.of[0], cell, bytes);
    held = cell.width;
    return;
  }
  spread(lanes, cell.place, apart);
  for (std::size_t i = 0; i < runs_; ++i)
    bits_.read(region.run(i), offset, lanes.of[i], cell, bytes);
}

void SeveralBits::write(Region& region, std::uint64_t offset, const Lanes& lanes, Cell cell,
                        unsigned bytes) {
  separate(region);
  for (std::size_t i = 0; i < runs_; ++i)
    bits_.write(region.of[i], offset, source(lanes, i, cell.place), cell, bytes);
}

void SeveralBits::copy(Lanes& lanes, Cell to, const Lanes& from_lanes, Cell from, unsigned bytes) {
  std::uint8_t& held = lanes.held[to.number()];
  if (from_lanes.held[from.number()] != apart && held != apart) {
    bits_.copy(lanes.of[0], to, from_lanes.of[0], from, bytes);
    held = to.width;
    return;
  }
  spread(lanes, to.place, apart);
  for (std::size_t i = 0; i < runs_; ++i)
    bits_.copy(lanes.of[i], to, source(from_lanes, i, from.place), from, bytes);
}

void SeveralBits::transfer(Region& to, std::uint64_t to_offset, Region& from, std::uint64_t offset,
                           std::uint64_t bytes) {
  separate(to);
  for (std::size_t i = 0; i < runs_; ++i)
    bits_.transfer(to.of[i], to_offset, from.run(i), offset, bytes);
}

void SeveralBits::multiply(Lanes& lanes, const Mma& mma) {
  auto reads = [&](const Cell* cells, unsigned count) {
    for (unsigned i = 0; i < count; ++i) spread(lanes, cells[i].place);
  };
  if (const BlockScales* scales = mma.scales) {
    reads(scales->a, mma.m * scales->blocks);
    reads(scales->b, scales->blocks * mma.n);
  }
  if (mma.order != nullptr) {
    const FragmentShape& shape = mma.order->shape;
    unsigned count = shape.d_registers + shape.a_registers + shape.b_registers + shape.c_registers;
    for (unsigned i = 0; i < count; ++i) spread(lanes, mma.registers[i]);
  } else {
    reads(mma.a, mma.m * mma.k);
    reads(mma.b, mma.k * mma.n);
    if (!mma.without_c) reads(mma.c, mma.m * mma.n);
  }
  for (unsigned i = 0; i < mma.m * mma.n; ++i) spread(lanes, mma.d[i].place, apart);
  for (Bits::Lanes& one : lanes.of) bits_.multiply(one, mma);
}

bool SeveralBits::multiply_wide(Lanes& lanes, const Region& memory, const WideMma& wide) {
  if (wide.order == nullptr) return false;
  for (Spot place : wide.a_registers) spread(lanes, place);
  for (Spot place : wide.d_registers) spread(lanes, place, apart);
  return agreed(
      [&](std::size_t i) { return bits_.multiply_wide(lanes.of[i], memory.run(i), wide); });
}

bool SeveralBits::multiply_tile(Lanes& lanes, const TileMma& tile) {
  auto reads = [&](TileMma::Corner corner, unsigned count) {
    for (unsigned i = 0; i < count; ++i) spread(lanes, corner.place + i * register_stride);
  };
  reads(tile.a, tile.words);
  reads(tile.b, tile.words);
  for (unsigned i = 0; i < tile.product.n; ++i)
    spread(lanes, tile.d.place + i * register_stride, apart);
  return agreed([&](std::size_t i) { return bits_.multiply_tile(lanes.of[i], tile); });
}

namespace LATHE_ENGINE {

std::optional<std::uint64_t> emulate_several(const Run& run,
                                             std::span<const std::vector<std::byte*>> memory,
                                             std::span<const std::uint64_t> blocks,
                                             FootprintObserver& footprint) {
  SeveralBits domain(run.program, memory.size());
  for (std::size_t i = 0; i < run.buffers.size(); ++i) {
    std::vector<std::byte*> of_runs;
    for (const std::vector<std::byte*>& one : memory) of_runs.push_back(one[i]);
    domain.add_buffer(of_runs, run.buffers[i].bytes);
  }
  Machine<SeveralBits, FootprintObserver> machine(domain, footprint, run);
  for (std::uint64_t block : blocks)
    if (machine.run_block(block)) return std::nullopt;
  return machine.steps();
}

}  // namespace LATHE_ENGINE
}  // namespace lathe::ptx

#endif
