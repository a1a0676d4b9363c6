// The order observer, which remembers of each word what it needs, against clocks of all threads and
// every access to a byte: they find races in the same sequences, between the same instructions.

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "ptx/order.h"

namespace lathe::ptx {
namespace {

/// Every thread's clocks of all others, and every access to a byte.
struct Clocks {
  struct Deed {
    std::uint32_t thread, clock;
    AccessKind kind;
  };
  std::vector<std::vector<std::uint32_t>> known;
  std::map<std::uint64_t, std::vector<Deed>> deeds;  // By byte.
  /// The later instruction, and who of the two wrote. Of reads of one warp at one clock the
  /// observer names one instruction, so the earlier one is not asked for.
  std::set<std::tuple<std::uint32_t, bool, bool>> races;
  std::uint64_t uninitialised = 0;

  explicit Clocks(std::uint32_t threads) : known(threads, std::vector<std::uint32_t>(threads, 0)) {
    for (std::uint32_t i = 0; i < threads; ++i) known[i][i] = 1;
  }
  /// Threads of a mask that repeats, from `first` on.
  void meet(std::uint32_t first, std::uint32_t count, Mask mask) {
    std::vector<std::uint32_t> all(known.size(), 0);
    auto each = [&](auto use) {
      for (std::uint32_t i = first; i < first + count; ++i)
        if ((mask >> i % lane_count & 1) != 0) use(i);
    };
    each([&](std::uint32_t i) {
      for (std::size_t k = 0; k < all.size(); ++k) all[k] = std::max(all[k], known[i][k]);
    });
    each([&](std::uint32_t i) {
      known[i] = all;
      ++known[i][i];
    });
  }
  void access(const Access& access) {
    for (std::uint32_t lane = 0; lane < lane_count; ++lane)
      for (std::uint32_t k = 0; k < access.bytes && (access.mask >> lane & 1) != 0; ++k)
        byte(access, access.warp * lane_count + lane, (*access.addresses)[lane] + k);
  }
  void byte(const Access& access, std::uint32_t thread, std::uint64_t address) {
    bool written = false, writes = access.kind != AccessKind::read;
    for (const Deed& one : deeds[address]) {
      bool wrote = one.kind != AccessKind::read;
      written |= wrote;
      if (one.thread != thread && one.clock > known[thread][one.thread] && (wrote || writes))
        races.insert({access.instruction, wrote, writes});
    }
    if (!written && !writes) ++uninitialised;
    deeds[address].push_back({thread, known[thread][thread], access.kind});
  }
};

/// Of warps from `first` on, all of whose threads wait.
void barrier(OrderObserver& order, std::uint32_t first, std::uint32_t count) {
  std::vector<Mask> all(3, 0);
  for (std::uint32_t warp = first; warp < first + count; ++warp) {
    order.on_barrier_arrive(warp, 0, first * 4 + count, count * lane_count, every_lane, true);
    all[warp] = every_lane;
  }
  order.on_barrier_complete(first * 4 + count, all, all);
}

}  // namespace

TEST_CASE("any sequence of accesses and barriers races where clocks of all threads say so") {
  unsigned good = 0, bad = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    // Of some, warps write where others do, between so many barriers that most is in order.
    bool anywhere = seed > 300;
    std::mt19937_64 random(seed);
    auto below = [&](std::uint64_t limit) { return static_cast<std::uint32_t>(random() % limit); };
    OrderObserver order({true}, false);
    order.begin(0, 3, 96);
    Clocks clocks(96);
    std::uint32_t often = anywhere ? 8 : below(13);  // How many of sixteen are barriers.
    for (unsigned i = 0; i < (anywhere ? 16u : 100u); ++i) {
      std::uint32_t what = below(16), warp = below(3);
      Mask mask = below(3) == 0 ? static_cast<Mask>(random()) | 1 : every_lane;
      if (what < often) {
        // Of some, two of the three warps meet.
        std::uint32_t first = anywhere && below(3) != 0 ? below(2) : 0;
        std::uint32_t count = anywhere && below(3) != 0 ? 2 : 3 - first;
        barrier(order, first, count);
        clocks.meet(first * lane_count, count * lane_count, every_lane);
      } else if (what == 8) {
        order.on_warp_barrier(warp, 9, mask);
        clocks.meet(warp * lane_count, lane_count, mask);
      } else {
        AccessKind kind = what > 13 ? AccessKind::write : AccessKind::read;
        std::uint32_t bytes = 2u << below(3);
        std::uint64_t step = below(3) == 0 && kind != AccessKind::write ? 0 : bytes;
        std::uint64_t begin =
            std::uint64_t{below(4)} * 128 + warp * 512 * (kind == AccessKind::write && !anywhere);
        std::array<std::uint64_t, lane_count> addresses{};
        for (std::uint32_t lane = 0; lane < lane_count; ++lane)
          addresses[lane] = begin + lane * step;
        Access one;
        one.space = Space::shared;
        one.kind = kind;
        one.instruction = below(4);
        one.warp = warp;
        one.mask = mask;
        one.bytes = bytes;
        one.addresses = &addresses;
        order.on_access(one);
        clocks.access(one);
      }
    }
    for (const OrderFinding& one : order.findings())
      CHECK(clocks.races.contains({one.second.instruction, one.first.write, one.second.write}));
    CHECK((!order.findings().empty()) == !clocks.races.empty());
    CHECK(order.uninitialised().empty() == (clocks.uninitialised == 0));
    ++(clocks.races.empty() ? good : bad);
  }
  CHECK(good > 20);
  CHECK(bad > 20);
}

}  // namespace lathe::ptx
