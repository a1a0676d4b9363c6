// What the bits domain does to a whole warp at once is what it does lane by lane, or nothing where
// something is undefined; and the conversions without branches are those of exact rounding.

#include <catch2/catch.hpp>
#include <random>
#include <span>

#include "ptx/bits.h"
#include "ptx/common_place.h"
#include "ptx/program.h"

namespace lathe::ptx {
namespace {

constexpr unsigned registers = 8, memory_bytes = 4096;

/// A register file and a memory, with holes where the seed says so.
struct World {
  Bits bits;
  Bits::Lanes lanes;
  Bits::Region memory;
  std::mt19937_64 random;

  explicit World(std::uint64_t seed) : random(seed) {
    lanes = bits.make_lanes(registers * 512);
    memory = bits.make_region(memory_bytes);
    for (unsigned r = 0; r < registers; ++r)
      for (unsigned lane = 0; lane < lane_count; ++lane)
        bits.put(lanes, slot(r, 8).cell(lane), 8, random());
    for (unsigned i = 0; i < memory_bytes; i += 8) bits.poke(memory, i, 8, random());
    if (seed % 3 == 1) bits.poison(memory, random() % memory_bytes, 1);
    if (seed % 3 == 2)
      for (unsigned r = 0; r < registers; ++r)
        bits.unset(lanes, slot(r, 8).cell(random() % lane_count), 8);
  }
  static Slot slot(unsigned number, unsigned width) {
    return {number * 512, static_cast<std::uint8_t>(width)};
  }
  unsigned below(unsigned limit) { return static_cast<unsigned>(random() % limit); }
  Mask mask() { return below(2) == 0 ? every_lane : static_cast<Mask>(random()); }
  bool equals(const World& other) const {
    return lanes.bytes == other.lanes.bytes && lanes.defined == other.lanes.defined &&
           std::memcmp(memory.bytes, other.memory.bytes, memory_bytes) == 0 &&
           std::memcmp(memory.defined, other.memory.defined, memory_bytes) == 0;
  }
};

struct Place {
  Bits::Region* region = nullptr;
  std::uint64_t offset = 0;
};

/// Carries out `at_once` (a World to whether it was done) and `by_lanes` in worlds that began
/// alike; counts how often it was done.
template <class AtOnce, class ByLanes>
void compare(AtOnce at_once, ByLanes by_lanes) {
  unsigned done = 0;
  constexpr unsigned seeds = 600;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    World fast(seed), slow(seed), untouched(seed);
    bool went = at_once(fast);
    if (went) by_lanes(slow);
    done += went;
    REQUIRE(fast.equals(went ? slow : untouched));
  }
  CHECK(done >= seeds / 3);
  CHECK(done < seeds);
}

/// Some lanes' places in memory, for `slots` elements of `each` bytes.
struct Moved {
  unsigned each, count;
  bool sign;
  Mask mask;
  std::vector<Slot> slots;
  std::array<Place, lane_count> at{};
  /// The same where all is in one place; now and then one for all, or lane after lane in a row. How
  /// they lie is told of all lanes, also where fewer take part.
  std::array<std::uint64_t, lane_count> where{};
  CommonPlace<Bits::Region> common;

  Moved(World& w, bool in_common = false) {
    constexpr std::array<unsigned, 4> sizes{1, 2, 4, 8};
    each = sizes[w.below(4)];
    count = 1u << w.below(3);
    sign = w.below(2) != 0;
    mask = w.mask();
    unsigned width = each < 4 && w.below(2) == 0 ? 4 : each;
    for (unsigned i = 0; i < count; ++i) slots.push_back(World::slot(i, width));
    for (Place& place : at) place = {&w.memory, std::uint64_t{w.below(64)} * each};
    if (!in_common) return;
    constexpr std::uint64_t begin = 4096;
    unsigned how = w.below(4);
    for (unsigned lane = 0; lane < lane_count; ++lane) {
      if (how != 0) at[lane].offset = at[0].offset;
      if (how == 2) at[lane].offset += std::uint64_t{lane} * each * count;
      if (how == 3) at[lane].offset += std::uint64_t{lane} * each;
      where[lane] = begin + at[lane].offset;
    }
    common = {&w.memory, begin, &where, Space::shared, 0, 0, Reach::any};
    common.reach = fit_of(where, every_lane, begin, memory_bytes, each * count).reach;
  }
};

}  // namespace

TEST_CASE("a load of a warp is that of its lanes") {
  compare(
      [](World& w) {
        Moved a(w);
        return w.bits.read_all(w.lanes, std::span<const Slot>(a.slots), a.at, a.each, a.sign,
                               a.mask);
      },
      [](World& w) {
        Moved a(w);
        for (unsigned lane = 0; lane < lane_count; ++lane)
          for (unsigned i = 0; i < a.count && (a.mask >> lane & 1) != 0; ++i) {
            Cell cell = a.slots[i].cell(lane);
            w.bits.read(*a.at[lane].region, a.at[lane].offset + i * a.each, w.lanes, cell, a.each);
            if (cell.width > a.each) w.bits.extend(w.lanes, cell, a.each, a.sign);
          }
      });
}

TEST_CASE("a load of a warp from one place is that of its lanes") {
  compare(
      [](World& w) {
        Moved a(w, true);
        return w.bits.read_all(w.lanes, std::span<const Slot>(a.slots), a.common, a.each, a.sign,
                               a.mask);
      },
      [](World& w) {
        Moved a(w, true);
        for (unsigned lane = 0; lane < lane_count; ++lane)
          for (unsigned i = 0; i < a.count && (a.mask >> lane & 1) != 0; ++i) {
            Cell cell = a.slots[i].cell(lane);
            w.bits.read(w.memory, a.at[lane].offset + i * a.each, w.lanes, cell, a.each);
            if (cell.width > a.each) w.bits.extend(w.lanes, cell, a.each, a.sign);
          }
      });
}

TEST_CASE("a store of a warp is that of its lanes in order, and knows who changed nothing") {
  Mask fast_unchanged = 0;
  compare(
      [&](World& w) {
        Moved a(w);
        fast_unchanged = 0;
        if (w.below(2) == 0)  // Twice: the second changes nothing, but where lanes overlap.
          w.bits.write_all<false>(w.lanes, a.slots, a.at, a.each, a.mask, fast_unchanged);
        return w.bits.write_all<true>(w.lanes, a.slots, a.at, a.each, a.mask, fast_unchanged);
      },
      [&](World& w) {
        Moved a(w);
        Mask unchanged = 0;
        for (unsigned turns = w.below(2) == 0 ? 2 : 1; turns != 0; --turns)
          for (unsigned lane = 0; lane < lane_count; ++lane) {
            if ((a.mask >> lane & 1) == 0) continue;
            bool same = true;
            for (unsigned i = 0; i < a.count; ++i) {
              Cell cell = a.slots[i].cell(lane);
              std::uint64_t offset = a.at[lane].offset + i * a.each;
              same = same && w.bits.same(w.memory, offset, w.lanes, cell, a.each);
              w.bits.write(w.memory, offset, w.lanes, cell, a.each);
            }
            if (same && turns == 1) unchanged |= Mask{1} << lane;
          }
        CHECK(unchanged == fast_unchanged);
      });
}

TEST_CASE("a store of a warp to one place is that of its lanes in order") {
  Mask fast_unchanged = 0;
  compare(
      [&](World& w) {
        Moved a(w, true);
        fast_unchanged = 0;
        if (w.below(2) == 0)
          return w.bits.write_all<false>(w.lanes, a.slots, a.common, a.each, a.mask,
                                         fast_unchanged);
        return w.bits.write_all<true>(w.lanes, a.slots, a.common, a.each, a.mask, fast_unchanged);
      },
      [&](World& w) {
        Moved a(w, true);
        Mask unchanged = 0;
        bool compares = w.below(2) != 0;
        for (unsigned lane = 0; lane < lane_count; ++lane) {
          if ((a.mask >> lane & 1) == 0) continue;
          bool same = compares;
          for (unsigned i = 0; i < a.count; ++i) {
            Cell cell = a.slots[i].cell(lane);
            std::uint64_t offset = a.at[lane].offset + i * a.each;
            same = same && w.bits.same(w.memory, offset, w.lanes, cell, a.each);
            w.bits.write(w.memory, offset, w.lanes, cell, a.each);
          }
          if (same) unchanged |= Mask{1} << lane;
        }
        CHECK(unchanged == fast_unchanged);
      });
}

TEST_CASE("how the lanes of an access lie is what a look at each of them tells") {
  std::mt19937_64 random(11);
  unsigned found[3] = {}, bad = 0;
  constexpr unsigned turns = 3000;
  for (unsigned turn = 0; turn < turns; ++turn) {
    CAPTURE(turn);
    std::uint64_t bytes = 1u << random() % 5, begin = 0x7000, size = 4096 - random() % bytes;
    std::array<std::uint64_t, lane_count> where;
    std::uint64_t stride = random() % 3 == 0 ? 0 : bytes;
    for (unsigned lane = 0; lane < lane_count; ++lane)
      where[lane] = begin + random() % 8 * bytes + lane * stride;
    if (random() % 4 != 0)
      for (unsigned lane = 0; lane < lane_count; ++lane) where[lane] = where[0] + lane * stride;
    // One lane elsewhere: beside its place, before the allocation, or at and beyond its end.
    std::uint64_t odd = random() % lane_count;
    std::array elsewhere{where[odd] ^ bytes,   where[odd] + 1,       begin - bytes,
                         begin + 4096 - bytes, begin + size - bytes, begin + 4096};
    if (random() % 3 == 0) where[odd] = elsewhere[random() % elsewhere.size()];
    Mask active = random() % 2 == 0 ? every_lane : static_cast<Mask>(random());
    bool good = true, same = active == every_lane, row = same;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
      same &= where[lane] == where[0];
      row &= where[lane] == where[0] + lane * bytes;
      if ((active >> lane & 1) == 0) continue;
      good &= where[lane] >= begin && where[lane] + bytes <= begin + size;
      good &= where[lane] % bytes == 0;
    }
    Fit fit = fit_of(where, active, begin, size - bytes, bytes);
    REQUIRE(fit.good == good);
    REQUIRE(fit.reach == (same ? Reach::same : row ? Reach::row : Reach::any));
    ++found[static_cast<std::size_t>(fit.reach)];
    bad += !fit.good;
  }
  for (unsigned each : found) CHECK(each > turns / 20);
  CHECK(bad > turns / 10);
}

TEST_CASE("a shuffle of a warp is that of its lanes") {
  auto lanes_of = [](World& w) {
    std::array<std::uint8_t, lane_count> from{};
    for (auto& lane : from) lane = static_cast<std::uint8_t>(w.below(lane_count));
    return from;
  };
  compare(
      [&](World& w) {
        auto from = lanes_of(w);
        return w.bits.copy_lanes(w.lanes, World::slot(1, 4).place, World::slot(0, 4).place, from,
                                 w.mask());
      },
      [&](World& w) {
        auto from = lanes_of(w);
        Mask mask = w.mask();
        for (unsigned lane = 0; lane < lane_count; ++lane)
          if ((mask >> lane & 1) != 0)
            w.bits.copy(w.lanes, World::slot(1, 4).cell(lane), w.lanes,
                        World::slot(0, 4).cell(from[lane]), 4);
      });
}

TEST_CASE("a part of each lane's register is moved as lane by lane") {
  struct Part {
    Cell to, from;
    unsigned bytes;
    Mask mask;
    explicit Part(World& w) {
      bytes = 1u << w.below(3);
      to = World::slot(2, 4).cell(0, w.below(4 / bytes) * bytes);
      from = World::slot(3, 8).cell(0, w.below(8 / bytes) * bytes);
      mask = w.mask();
    }
  };
  compare(
      [](World& w) {
        Part part(w);
        return w.bits.copy_part(w.lanes, part.to, part.from, part.bytes, part.mask);
      },
      [](World& w) {
        Part part(w);
        for (unsigned lane = 0; lane < lane_count; ++lane) {
          if ((part.mask >> lane & 1) == 0) continue;
          part.to.lane = part.from.lane = static_cast<std::uint8_t>(lane);
          w.bits.copy(w.lanes, part.to, w.lanes, part.from, part.bytes);
        }
      });
}

TEST_CASE("eight rows of a matrix land as element by element, transposed or not") {
  for (bool transposed : {false, true}) {
    auto rows_of = [](World& w) {
      std::array<Place, 8> rows{};
      for (Place& row : rows) row = {&w.memory, std::uint64_t{w.below(255)} * 16};
      return rows;
    };
    compare(
        [&](World& w) {
          auto rows = rows_of(w);
          return w.bits.read_matrix(w.lanes, World::slot(4, 4).place, rows.data(), transposed);
        },
        [&](World& w) {
          auto rows = rows_of(w);
          for (unsigned lane = 0; lane < lane_count; ++lane)
            for (unsigned half = 0; half < 2; ++half) {
              unsigned g = lane / 4, e = 2 * (lane % 4) + half;
              w.bits.read(w.memory, rows[transposed ? e : g].offset + 2 * (transposed ? g : e),
                          w.lanes, World::slot(4, 4).cell(lane, 2 * half), 2);
            }
        });
  }
}

TEST_CASE("every f16 in f32 is its value, and comes back") {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    float single = single_of_half(static_cast<std::uint16_t>(bits));
    unsigned magnitude = bits & 0x7FFF;
    if (magnitude > 0x7C00) {
      REQUIRE(single != single);
      REQUIRE(half_of_single(single) == 0x7FFF);
      continue;
    }
    int e = static_cast<int>(magnitude >> 10), m = static_cast<int>(magnitude & 0x3FF);
    double value = e == 31 ? HUGE_VAL : e == 0 ? std::ldexp(m, -24) : std::ldexp(1024 + m, e - 25);
    REQUIRE(static_cast<double>(single) == (bits >= 0x8000 ? -value : value));
    REQUIRE(half_of_single(single) == bits);
  }
}

TEST_CASE("f32 in 16 bits is rounded to nearest even") {
  std::mt19937_64 random(7);
  for (unsigned i = 0; i < 100000; ++i) {
    auto bits = static_cast<std::uint32_t>(random());
    if (i % 2 == 0) bits = (bits & 0x800FFFFFu) | (100u + i % 50) << 23;  // In the range of f16,
    if (i % 4 == 0) bits &= 0xFFFFF000u << (i % 8), bits |= i % 3 != 0;   // at and beside ties.
    float x = std::bit_cast<float>(bits);
    CAPTURE(bits);
    REQUIRE(half_of_single(x) == rounded<Type::f16>(static_cast<double>(x), 0, Rounding::rn).held);
    REQUIRE(bfloat_of_single(x) ==
            rounded<Type::bf16>(static_cast<double>(x), 0, Rounding::rn).held);
  }
  for (float edge : {65504.0f, 65519.996f, 65520.0f, 65536.0f, 1e30f, INFINITY, 0x1p-14f, 0x1p-15f,
                     0x1p-24f, 0x1p-25f, 0x1.000002p-25f, 0x1p-26f, 0.0f, -0.0f, 3.3895314e38f})
    for (float x : {edge, -edge}) {
      CAPTURE(x);
      CHECK(half_of_single(x) == rounded<Type::f16>(static_cast<double>(x), 0, Rounding::rn).held);
      CHECK(bfloat_of_single(x) ==
            rounded<Type::bf16>(static_cast<double>(x), 0, Rounding::rn).held);
    }
}

}  // namespace lathe::ptx
