// What a run touches is the same, told lane by lane or of all lanes in one buffer at once.

#include <catch2/catch.hpp>
#include <random>

#include "ptx/footprint.h"

namespace lathe::ptx {
namespace {

constexpr std::uint64_t begin = 0x1000, size = 1 << 14;

/// An observer of two buffers, of which the second is watched now and then.
struct Seen {
  FootprintObserver footprint;
  std::vector<std::uint8_t> written = std::vector<std::uint8_t>(size);

  explicit Seen(std::uint64_t watched) {
    for (std::uint64_t address : {std::uint64_t{0}, begin})
      footprint.buffers.push_back(
          {address, written.data(),
           std::vector<std::uint8_t>(size / FootprintObserver::page_bytes + 2)});
    footprint.watch.wanted = watched < size;
    footprint.watch.buffer = 1;
    footprint.watch.offset = watched;
  }
};

}  // namespace

TEST_CASE("what lanes touch together is what each of them touches") {
  std::mt19937_64 random(5);
  unsigned marked = 0, seen = 0;
  for (unsigned turn = 0; turn < 2000; ++turn) {
    CAPTURE(turn);
    std::uint64_t bytes = 1u << random() % 6;
    std::array<std::uint64_t, lane_count> where;
    std::uint64_t first = begin + random() % 256 * bytes, stride = random() % 3 * bytes;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
      where[lane] = first + lane * stride;
      if (stride > bytes) where[lane] = begin + random() % (size / bytes) * bytes;
    }
    Mask mask = random() % 2 == 0 ? every_lane : static_cast<Mask>(random());
    auto kind = random() % 2 == 0 ? AccessKind::read : AccessKind::write;
    std::uint64_t watched = random() % 2 == 0 ? size : first - begin + random() % 64;
    Seen one(watched), all(watched);

    std::array<std::uint32_t, lane_count> buffers;
    buffers.fill(1);
    Access access;
    access.kind = kind;
    access.instruction = 7;
    access.warp = 3;
    access.mask = mask;
    access.bytes = static_cast<std::uint32_t>(bytes);
    access.addresses = &where;
    access.buffers = &buffers;
    one.footprint.on_access(access);

    CommonPlace<int> at;
    at.begin = begin;
    at.where = &where;
    at.buffer = 1;
    at.reach = fit_of(where, mask, begin, size - bytes, bytes).reach;
    all.footprint.on_common(at, 7, 3, mask, static_cast<std::uint32_t>(bytes), kind);

    for (unsigned i = 0; i < 2; ++i)
      REQUIRE(one.footprint.buffers[i].pages == all.footprint.buffers[i].pages);
    REQUIRE(one.written == all.written);
    REQUIRE(one.footprint.watch.seen == all.footprint.watch.seen);
    REQUIRE(one.footprint.watch.thread == all.footprint.watch.thread);
    REQUIRE(one.footprint.watch.instruction == all.footprint.watch.instruction);
    marked += all.written != std::vector<std::uint8_t>(size);
    seen += all.footprint.watch.seen;
    at.space = Space::shared;
    FootprintObserver before = all.footprint;
    all.footprint.on_common(at, 7, 3, every_lane, 1, AccessKind::write);
    REQUIRE(before.buffers[1].pages == all.footprint.buffers[1].pages);
  }
  CHECK(marked > 500);
  CHECK(seen > 100);
}

}  // namespace lathe::ptx
