// The order observer calls a pair of accesses a race exactly where no barrier, wait or phase stands
// between them, whatever the schedule was.

#include "ptx/order.h"

#include <catch2/catch.hpp>

namespace lathe::ptx {
namespace {

/// A block under observation: each call is one warp instruction, `at` the instruction's number.
class Scene {
 public:
  explicit Scene(std::uint32_t threads = 64, std::uint64_t block = 0) : order({true, false}) {
    enter(block, threads);
  }
  void enter(std::uint64_t block, std::uint32_t threads = 64) {
    warps_ = (threads + 31) / 32;
    order.begin(block, warps_, threads);
  }
  Access access(std::uint32_t at, std::uint32_t warp, Mask mask, std::uint64_t begin,
                std::uint64_t step, std::uint32_t bytes, AccessKind kind) {
    for (std::uint32_t lane = 0; lane < lane_count; ++lane) addresses_[lane] = begin + lane * step;
    Access one;
    one.space = Space::shared;
    one.kind = kind;
    one.instruction = at;
    one.warp = warp;
    one.mask = mask;
    one.bytes = bytes;
    one.addresses = &addresses_;
    return one;
  }
  void write(std::uint32_t at, std::uint32_t warp, std::uint64_t begin, Mask mask = every_lane,
             Mask unchanged = 0) {
    Access one = access(at, warp, mask, begin, 4, 4, AccessKind::write);
    one.unchanged = unchanged;
    order.on_access(one);
  }
  void read(std::uint32_t at, std::uint32_t warp, std::uint64_t begin, Mask mask = every_lane) {
    order.on_access(access(at, warp, mask, begin, 4, 4, AccessKind::read));
  }
  void global(std::uint32_t at, std::uint32_t warp, std::uint64_t begin, AccessKind kind,
              std::uint32_t buffer = 0, Mask unchanged = 0, std::uint32_t bytes = 4) {
    Access one = access(at, warp, every_lane, begin, bytes, bytes, kind);
    one.space = Space::global;
    buffers_.fill(buffer);
    one.buffers = &buffers_;
    one.unchanged = unchanged;
    order.on_access(one);
  }
  void copy(std::uint32_t at, std::uint32_t warp, std::uint64_t begin) {
    Access one = access(at, warp, every_lane, begin, 16, 16, AccessKind::write);
    one.asynchronous = true;
    order.on_access(one);
  }
  void barrier(unsigned id, std::vector<std::uint32_t> warps,
               std::vector<std::uint32_t> only_arrive = {}) {
    std::vector<Mask> waiting(warps_, 0), arrived(warps_, 0);
    for (std::uint32_t warp : only_arrive) arrive(id, warp, arrived);
    for (std::uint32_t warp : warps) {
      arrive(id, warp, arrived);
      waiting[warp] = every_lane;
    }
    order.on_barrier_complete(id, arrived, waiting);
  }
  std::size_t races() const { return order.findings().size(); }

  OrderObserver order;

 private:
  void arrive(unsigned id, std::uint32_t warp, std::vector<Mask>& arrived) {
    order.on_barrier_arrive(warp, 0, id, 64, every_lane, true);
    arrived[warp] = every_lane;
  }
  std::uint32_t warps_ = 0;
  std::array<std::uint64_t, lane_count> addresses_{};
  std::array<std::uint32_t, lane_count> buffers_{};
};

constexpr AccessKind reading = AccessKind::read, writing = AccessKind::write,
                     atomic = AccessKind::atomic;

}  // namespace

TEST_CASE("a read of another warp's write with a barrier between is in order") {
  Scene scene;
  scene.write(1, 0, 0);
  scene.barrier(0, {0, 1});
  scene.read(2, 1, 0);
  CHECK(scene.races() == 0);
}

TEST_CASE("without the barrier it is a race that names both instructions and threads") {
  Scene scene;
  scene.write(1, 0, 0);
  scene.read(2, 1, 0, 1u << 3);
  REQUIRE(scene.races() == 1);
  const OrderFinding& race = scene.order.findings()[0];
  CHECK(race.kind == OrderFinding::Kind::race);
  CHECK(race.first.instruction == 1);
  CHECK(race.first.thread == 3);
  CHECK(race.first.write);
  CHECK(race.second.instruction == 2);
  CHECK(race.second.thread == 35);
  CHECK_FALSE(race.second.write);
  CHECK(race.address == 12);
}

TEST_CASE("one pair of instructions is one finding, however many lanes show it") {
  Scene scene;
  scene.write(1, 0, 0);
  scene.read(2, 1, 0);
  REQUIRE(scene.races() == 1);
  CHECK(scene.order.findings()[0].count == 32);
}

TEST_CASE("a write over what another warp read needs a barrier too") {
  Scene scene;
  scene.write(1, 0, 0);
  scene.barrier(0, {0, 1});
  scene.read(2, 1, 0);
  scene.write(3, 0, 0);
  REQUIRE(scene.races() == 1);
  CHECK_FALSE(scene.order.findings()[0].first.write);
}

TEST_CASE("all readers since the last write count, not only the latest") {
  Scene scene(96);
  scene.write(1, 0, 0);
  scene.barrier(0, {0, 1, 2});
  scene.read(2, 1, 0);
  scene.read(3, 2, 0);
  scene.barrier(1, {0, 2});
  scene.write(4, 0, 0);
  REQUIRE(scene.races() == 1);
  CHECK(scene.order.findings()[0].first.instruction == 2);
}

TEST_CASE("a barrier that one of the two did not reach orders nothing") {
  Scene scene(96);
  scene.write(1, 0, 0);
  scene.barrier(1, {1, 2});
  scene.read(2, 1, 0);
  CHECK(scene.races() == 1);
}

TEST_CASE("order passes on through a third warp's barriers") {
  Scene scene(96);
  scene.write(1, 0, 0);
  scene.barrier(1, {0, 2});
  scene.barrier(2, {2, 1});
  scene.read(2, 1, 0);
  CHECK(scene.races() == 0);
}

TEST_CASE("who only arrives is ordered before those that wait, not after them") {
  Scene before;
  before.write(1, 0, 0);
  before.barrier(1, {1}, {0});
  before.read(2, 1, 0);
  CHECK(before.races() == 0);
  Scene after;
  after.write(1, 1, 0);
  after.barrier(1, {1}, {0});
  after.read(2, 0, 0);
  CHECK(after.races() == 1);
}

TEST_CASE("lanes of one warp are not ordered by sitting in one warp") {
  Scene scene;
  scene.write(1, 0, 0);
  scene.read(2, 0, 4, 1u);
  CHECK(scene.races() == 1);
}

TEST_CASE("a lane is in order with itself") {
  Scene scene;
  scene.write(1, 0, 0);
  scene.read(2, 0, 0);
  scene.write(3, 0, 0);
  CHECK(scene.races() == 0);
}

TEST_CASE("bar.warp.sync orders the lanes of its mask and no others") {
  Scene full;
  full.write(1, 0, 0);
  full.order.on_warp_barrier(0, 9, every_lane);
  full.read(2, 0, 4, 0x7fffffffu);
  CHECK(full.races() == 0);
  Scene part;
  part.write(1, 0, 0);
  part.order.on_warp_barrier(0, 9, 0x0000ffffu);
  part.read(2, 0, 4, 1u << 15);
  CHECK(part.races() == 1);
  Scene other;
  other.write(1, 0, 0);
  other.order.on_warp_barrier(0, 9, every_lane);
  other.read(2, 1, 0);
  CHECK(other.races() == 1);
}

TEST_CASE("what a warp's barrier gathered goes on through the block's") {
  Scene scene;
  scene.write(1, 0, 0);
  scene.order.on_warp_barrier(0, 9, every_lane);
  scene.barrier(0, {0, 1});
  scene.read(2, 1, 64);
  CHECK(scene.races() == 0);
}

TEST_CASE("two writes of the same bits are harmless and counted") {
  Scene scene;
  scene.write(1, 0, 0);
  scene.write(2, 1, 0, every_lane, every_lane);
  CHECK(scene.races() == 0);
  CHECK(scene.order.harmless() == 32);
  scene.write(3, 0, 0, every_lane, 0xfffffffeu);
  CHECK(scene.races() == 1);
}

TEST_CASE("neighbouring bytes of one word are apart, the same byte is not") {
  Scene scene;
  Access half = scene.access(1, 0, 1, 0, 2, 2, writing);
  scene.order.on_access(half);
  half = scene.access(2, 1, 1, 2, 2, 2, writing);
  scene.order.on_access(half);
  CHECK(scene.races() == 0);
  half = scene.access(3, 0, 1, 3, 1, 1, reading);
  scene.order.on_access(half);
  CHECK(scene.races() == 1);
}

TEST_CASE("a wide access meets a narrow one in each of its words") {
  Scene scene;
  Access wide = scene.access(1, 0, 1, 0, 16, 16, writing);
  scene.order.on_access(wide);
  Access narrow = scene.access(2, 1, 1, 14, 2, 2, reading);
  scene.order.on_access(narrow);
  REQUIRE(scene.races() == 1);
  CHECK(scene.order.findings()[0].address == 14);
}

TEST_CASE("a cp.async may be read only after a wait, by others only after a barrier as well") {
  Scene early;
  early.copy(1, 0, 0);
  early.order.on_async_commit(0, 2, every_lane);
  early.read(3, 0, 0);
  REQUIRE(early.races() == 1);
  CHECK(early.order.findings()[0].kind == OrderFinding::Kind::early_read);
  Scene alone;
  alone.copy(1, 0, 0);
  alone.order.on_async_commit(0, 2, every_lane);
  alone.order.on_async_wait(0, 3, every_lane, 0);
  alone.read(4, 0, 0, 1);
  CHECK(alone.races() == 0);
  alone.read(5, 1, 0, 1);
  CHECK(alone.races() == 1);
  Scene both;
  both.copy(1, 0, 0);
  both.order.on_async_commit(0, 2, every_lane);
  both.order.on_async_wait(0, 3, every_lane, 0);
  both.barrier(0, {0, 1});
  both.read(5, 1, 0);
  CHECK(both.races() == 0);
}

TEST_CASE("a barrier before the wait does not help the others") {
  Scene scene;
  scene.copy(1, 0, 0);
  scene.order.on_async_commit(0, 2, every_lane);
  scene.barrier(0, {0, 1});
  scene.order.on_async_wait(0, 3, every_lane, 0);
  scene.read(5, 1, 0);
  REQUIRE(scene.races() == 1);
  CHECK(scene.order.findings()[0].kind == OrderFinding::Kind::race);
}

TEST_CASE("waiting for all but the newest group lands the older ones only") {
  Scene scene;
  scene.copy(1, 0, 0);
  scene.order.on_async_commit(0, 2, every_lane);
  scene.copy(3, 0, 1024);
  scene.order.on_async_commit(0, 4, every_lane);
  scene.order.on_async_wait(0, 5, every_lane, 1);
  scene.read(6, 0, 0, 1);
  CHECK(scene.races() == 0);
  scene.read(7, 0, 1024, 1);
  CHECK(scene.races() == 1);
}

TEST_CASE("a copy that no group holds is not waited for") {
  Scene scene;
  scene.copy(1, 0, 0);
  scene.order.on_async_wait(0, 2, every_lane, 0);
  scene.read(3, 0, 0, 1);
  CHECK(scene.races() == 1);
}

TEST_CASE("a cp.async over a buffer that others still read is a race at its issue") {
  Scene scene;
  scene.write(1, 0, 0);
  scene.barrier(0, {0, 1});
  scene.read(2, 1, 0);
  scene.copy(3, 0, 0);
  CHECK(scene.races() == 1);
}

TEST_CASE("a write over what a cp.async still brings is its own kind of fault") {
  Scene scene;
  scene.copy(1, 0, 0);
  scene.write(2, 0, 0, 1);
  REQUIRE(scene.races() == 1);
  CHECK(scene.order.findings()[0].kind == OrderFinding::Kind::early_write);
}

TEST_CASE("an mbarrier's phase orders its arrivals before its waiters") {
  Scene scene;
  scene.order.on_mbarrier_init(0, 0, 512, 32);
  scene.write(1, 0, 0);
  scene.order.on_mbarrier_arrive(0, 2, every_lane, 512, 0, false);
  scene.order.on_mbarrier_wait(1, 3, every_lane, 512, 0, false);
  scene.read(4, 1, 0);
  CHECK(scene.races() == 0);
  scene.write(5, 0, 256);
  scene.order.on_mbarrier_wait(1, 6, every_lane, 512, 1, false);
  scene.read(7, 1, 256);
  CHECK(scene.races() == 1);
}

TEST_CASE("a read of shared memory that nothing wrote is told apart from races") {
  Scene scene;
  scene.read(1, 0, 0, 1);
  CHECK(scene.races() == 0);
  REQUIRE(scene.order.uninitialised().size() == 1);
  CHECK(scene.order.uninitialised()[0].second.instruction == 1);
  scene.enter(1);
  scene.write(2, 0, 0, 1);
  scene.enter(2);
  scene.read(3, 0, 0, 1);
  CHECK(scene.order.uninitialised().size() == 2);
}

TEST_CASE("two blocks that write one place race, unless they write the same bits") {
  Scene scene;
  scene.global(1, 0, 4096, writing);
  scene.enter(1);
  scene.global(1, 0, 4096, writing, 0, every_lane);
  CHECK(scene.races() == 0);
  CHECK(scene.order.harmless() == 32);
  scene.enter(2);
  scene.global(1, 0, 4096, writing);
  REQUIRE(scene.races() == 1);
  CHECK(scene.order.findings()[0].first.block == 1);
  CHECK(scene.order.findings()[0].second.block == 2);
}

TEST_CASE("two blocks may write neighbouring halves of a word, not the same half") {
  Scene scene;
  scene.global(1, 0, 4096, writing, 0, 0, 2);
  scene.enter(1);
  scene.global(1, 0, 4096 + 64, writing, 0, 0, 2);
  scene.enter(2);
  scene.global(1, 0, 4096 + 126, writing, 0, 0, 2);
  REQUIRE(scene.races() == 1);
  CHECK(scene.order.findings()[0].address == 4096 + 126);
  CHECK(scene.order.findings()[0].first.block == 1);
}

TEST_CASE("a block that reads what another wrote races, in either order") {
  Scene scene;
  scene.global(1, 0, 4096, reading);
  scene.enter(1);
  scene.global(2, 0, 4096, reading);
  CHECK(scene.races() == 0);
  scene.enter(2);
  scene.global(3, 0, 4096, writing);
  CHECK(scene.races() == 1);
  scene.enter(3);
  scene.global(4, 0, 4096, reading);
  CHECK(scene.races() == 2);
}

TEST_CASE("atomics do not race with atomics, but with plain accesses they do") {
  Scene scene;
  scene.global(1, 0, 4096, atomic);
  scene.global(2, 1, 4096, atomic);
  scene.enter(1);
  scene.global(3, 0, 4096, atomic);
  CHECK(scene.races() == 0);
  scene.global(4, 1, 4096, reading);
  CHECK(scene.races() >= 1);
}

TEST_CASE("buffers that nobody may write are not remembered") {
  Scene scene;
  scene.global(1, 0, 4096, reading, 1);
  scene.global(2, 1, 4096, reading, 1);
  CHECK(scene.races() == 0);
}

TEST_CASE("a device-wide fence says that memory itself is used to order") {
  Scene scene;
  scene.order.on_fence(0, 1, every_lane, 'c', Proxy::generic);
  CHECK(scene.order.follows_all());
  scene.order.on_fence(0, 1, every_lane, 'g', Proxy::generic);
  CHECK_FALSE(scene.order.follows_all());
}

TEST_CASE("a fence alone orders no two threads") {
  Scene scene;
  scene.write(1, 0, 0);
  scene.order.on_fence(0, 2, every_lane, 'c', Proxy::generic);
  scene.order.on_fence(1, 2, every_lane, 'c', Proxy::generic);
  scene.read(3, 1, 0);
  CHECK(scene.races() == 1);
}

TEST_CASE("a thousand barriers of a thousand threads leave no false alarm") {
  Scene scene(1024);
  std::vector<std::uint32_t> all;
  for (std::uint32_t warp = 0; warp < 32; ++warp) all.push_back(warp);
  for (std::uint32_t round = 0; round < 1000; ++round) {
    for (std::uint32_t warp = 0; warp < 32; ++warp) scene.write(1, warp, warp * 128);
    scene.barrier(0, all);
    for (std::uint32_t warp = 0; warp < 32; ++warp) scene.read(2, warp, (31 - warp) * 128);
    scene.barrier(0, all);
  }
  CHECK(scene.races() == 0);
  scene.write(3, 7, 0);
  scene.read(4, 0, 0);
  CHECK(scene.races() == 1);
}

TEST_CASE("a read beside another warp's read stays known until a write meets both") {
  for (bool apart : {true, false}) {
    Scene scene(96);
    scene.write(1, 0, 0, 1);
    scene.barrier(0, {0, 1, 2});
    for (std::uint32_t warp : {1, 2})
      scene.order.on_access(scene.access(1 + warp, warp, every_lane, 0, 0, 4, reading));
    // The write comes after the reads of its own warp, and of the other one if they meet.
    if (!apart) scene.barrier(1, {1, 2});
    scene.order.on_warp_barrier(2, 9, every_lane);
    scene.write(4, 2, 0, 1);
    CHECK(scene.races() == (apart ? 1 : 0));
  }
}

}  // namespace lathe::ptx
