#include <catch2/catch.hpp>

#include "store/deeds.h"
#include "tests/store/samples.h"

namespace lathe::store {
namespace {

const Digest item = digest_of("item");

/// One deed as one commit.
template <class Deed>
auto now(Store& store, Deed&& deed) {
  Batch batch;
  auto answer = deed(batch);
  REQUIRE(answer);
  REQUIRE(store.commit(std::move(batch)));
  return *answer;
}

bool enqueue_now(Store& store, const Digest& item, const WorkRecord& work) {
  return now(store, [&](Batch& batch) { return enqueue(store, batch, item, work); });
}
bool claim_now(Store& store, const Digest& item, std::uint64_t token, const std::string& node) {
  auto all = waiting(store);
  for (const auto& [ready, work] : all->ready)
    if (ready == item)
      return now(store, [&](Batch& batch) {
        return claim(store, batch, item, LeaseRecord{work, token, node, 100});
      });
  return false;
}
Completion complete_now(Store& store, std::uint64_t token, const std::string& node) {
  return now(store, [&](Batch& batch) { return complete(store, batch, item, token, node); });
}
bool requeue_now(Store& store, std::uint64_t token, const std::string& lost_on) {
  return now(store, [&](Batch& batch) { return requeue(store, batch, item, token, lost_on); });
}

TEST_CASE("an item goes from ready over leased to done") {
  auto store = Store::in_memory();
  CHECK(*state_of(*store, item) == WorkState::absent);
  CHECK(enqueue_now(*store, item, work(1, 1)));
  CHECK(*state_of(*store, item) == WorkState::ready);
  CHECK(claim_now(*store, item, 7, "node"));
  CHECK(*state_of(*store, item) == WorkState::leased);
  CHECK(complete_now(*store, 7, "node") == Completion::accepted);
  CHECK(*state_of(*store, item) == WorkState::done);
}

TEST_CASE("equal work is queued once, whatever state it is in") {
  auto store = Store::in_memory();
  CHECK(enqueue_now(*store, item, work(1, 1)));
  CHECK_FALSE(enqueue_now(*store, item, work(9, 2)));
  claim_now(*store, item, 7, "node");
  CHECK_FALSE(enqueue_now(*store, item, work(1, 1)));
  complete_now(*store, 7, "node");
  CHECK_FALSE(enqueue_now(*store, item, work(1, 1)));
}

TEST_CASE("work waits by priority, then by age") {
  auto store = Store::in_memory();
  enqueue_now(*store, digest_of("young"), work(1, 2));
  enqueue_now(*store, digest_of("old"), work(1, 1));
  enqueue_now(*store, digest_of("urgent"), work(5, 3));
  auto all = waiting(*store);
  REQUIRE(all->ready.size() == 3);
  CHECK(all->ready[0].first == digest_of("urgent"));
  CHECK(all->ready[1].first == digest_of("old"));
}

TEST_CASE("an item is claimed once") {
  auto store = Store::in_memory();
  enqueue_now(*store, item, work(1, 1));
  CHECK(claim_now(*store, item, 7, "first"));
  Batch batch;
  CHECK_FALSE(*claim(*store, batch, item, LeaseRecord{work(1, 1), 8, "second", 100}));
}

TEST_CASE("the old token of an item that was given again is stale") {
  auto store = Store::in_memory();
  enqueue_now(*store, item, work(1, 1));
  claim_now(*store, item, 7, "first");
  CHECK(requeue_now(*store, 7, "first"));
  claim_now(*store, item, 8, "second");
  CHECK(complete_now(*store, 7, "first") == Completion::stale);
  CHECK(complete_now(*store, 8, "second") == Completion::accepted);
}

TEST_CASE("the old token is stale even where the same node holds the item again") {
  auto store = Store::in_memory();
  enqueue_now(*store, item, work(1, 1));
  claim_now(*store, item, 7, "first");
  CHECK(requeue_now(*store, 7, "first"));
  claim_now(*store, item, 8, "first");
  CHECK(complete_now(*store, 7, "first") == Completion::stale);
  CHECK(complete_now(*store, 8, "first") == Completion::accepted);
}

TEST_CASE("a result comes stale even while nobody holds the item") {
  auto store = Store::in_memory();
  enqueue_now(*store, item, work(1, 1));
  claim_now(*store, item, 7, "first");
  requeue_now(*store, 7, "first");
  CHECK(complete_now(*store, 7, "first") == Completion::stale);
  CHECK(*state_of(*store, item) == WorkState::ready);
}

TEST_CASE("a result that is sent again is a duplicate, one of another token stale") {
  auto store = Store::in_memory();
  enqueue_now(*store, item, work(1, 1));
  claim_now(*store, item, 7, "node");
  complete_now(*store, 7, "node");
  CHECK(complete_now(*store, 7, "node") == Completion::duplicate);
  CHECK(complete_now(*store, 6, "node") == Completion::stale);
}

TEST_CASE("a node cannot complete another node's lease, even with its token") {
  auto store = Store::in_memory();
  enqueue_now(*store, item, work(1, 1));
  claim_now(*store, item, 7, "holder");
  CHECK(complete_now(*store, 7, "thief") == Completion::stale);
  CHECK(complete_now(*store, 7, "holder") == Completion::accepted);
}

TEST_CASE("a lease is lengthened by its own token alone") {
  auto store = Store::in_memory();
  enqueue_now(*store, item, work(1, 1));
  claim_now(*store, item, 7, "node");
  CHECK(now(*store, [&](Batch& b) { return renew(*store, b, item, 7, 200); }));
  CHECK_FALSE(now(*store, [&](Batch& b) { return renew(*store, b, item, 8, 300); }));
  CHECK(waiting(*store)->leased.front().second.deadline_ns == 200);
  CHECK(store->rows<DeadlineKey>()->size() == 1);
}

TEST_CASE("the nodes on which a lease died are remembered, a return counts against nobody") {
  auto store = Store::in_memory();
  enqueue_now(*store, item, work(1, 1));
  claim_now(*store, item, 7, "a");
  requeue_now(*store, 7, "a");
  claim_now(*store, item, 8, "b");
  requeue_now(*store, 8, "");
  CHECK(waiting(*store)->ready.front().second.lost_on == std::vector<std::string>{"a"});
}

TEST_CASE("a stranger's token requeues nothing") {
  auto store = Store::in_memory();
  enqueue_now(*store, item, work(1, 1));
  claim_now(*store, item, 7, "a");
  CHECK_FALSE(requeue_now(*store, 6, "a"));
  CHECK(*state_of(*store, item) == WorkState::leased);
}

TEST_CASE("quarantined work is done without an answer, from ready and from leased") {
  for (bool leased : {false, true}) {
    auto store = Store::in_memory();
    enqueue_now(*store, item, work(1, 1));
    if (leased) claim_now(*store, item, 7, "a");
    CHECK(now(*store, [&](Batch& b) { return quarantine(*store, b, item); }));
    CHECK((*store->get(DoneKey{item}))->quarantined);
    auto all = waiting(*store);
    CHECK(all->ready.empty());
    CHECK(all->leased.empty());
    CHECK(complete_now(*store, 7, "a") == Completion::stale);
  }
  auto store = Store::in_memory();
  CHECK_FALSE(now(*store, [&](Batch& b) { return quarantine(*store, b, item); }));
}

}  // namespace
}  // namespace lathe::store
