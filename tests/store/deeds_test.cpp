#include "store/deeds.h"

#include <catch2/catch.hpp>

#include "tests/store/samples.h"

namespace lathe::store {
namespace {

const Digest contract = digest_of("contract");

FrontierKey at(const std::string& name, std::uint64_t time_ps, bool proved = true) {
  return {contract, proved ? 0u : 1u, time_ps, digest_of(name)};
}

void admit_now(Store& store, const FrontierKey& key) {
  Batch batch;
  REQUIRE(admit(store, batch, key, {}));
  REQUIRE(store.commit(std::move(batch)));
}

TEST_CASE("the frontier gives the fastest first") {
  auto store = Store::in_memory();
  admit_now(*store, at("slow", 300));
  admit_now(*store, at("fast", 20));
  auto entries = frontier(*store, contract);
  REQUIRE(entries->size() == 2);
  CHECK(entries->front().key.candidate == digest_of("fast"));
  CHECK(frontier(*store, contract, 1)->size() == 1);
}

TEST_CASE("an unproved candidate never outranks a proved one, however fast") {
  auto store = Store::in_memory();
  admit_now(*store, at("proved", 300));
  admit_now(*store, at("unproved", 1, false));
  CHECK(frontier(*store, contract)->front().key.candidate == digest_of("proved"));
}

TEST_CASE("a candidate stands on the frontier once, with its newest time") {
  auto store = Store::in_memory();
  admit_now(*store, at("x", 300));
  admit_now(*store, at("x", 200));
  auto entries = frontier(*store, contract);
  REQUIRE(entries->size() == 1);
  CHECK(entries->front().key.time_ps == 200);
}

TEST_CASE("one contract's frontier does not show another's") {
  auto store = Store::in_memory();
  admit_now(*store, at("x", 300));
  CHECK(frontier(*store, digest_of("other"))->empty());
}

TEST_CASE("a verdict is found under the key of equal work and no other") {
  auto store = Store::in_memory();
  ResultKey key{digest_of("x"), contract, Gate::test, "seed 1", "engine", "sm_90a"};
  Batch batch;
  keep_verdict(batch, key, "verdict", "what it made");
  REQUIRE(store->commit(std::move(batch)));
  auto found = find_verdict(*store, key);
  REQUIRE(*found);
  CHECK((*found)->verdict == "verdict");
  CHECK(*store->blob((*found)->output) == "what it made");
  key.parameters = "seed 2";
  CHECK_FALSE(*find_verdict(*store, key));
}

TEST_CASE("timings of one device are not found for another") {
  auto store = Store::in_memory();
  ResultKey key{digest_of("x"), contract, Gate::benchmark, "", "", "GPU-1"};
  Batch batch;
  keep_verdict(batch, key, "verdict");
  REQUIRE(store->commit(std::move(batch)));
  key.architecture = "GPU-2";
  CHECK_FALSE(*find_verdict(*store, key));
}

TEST_CASE("a gate that made nothing keeps no blob") {
  auto store = Store::in_memory();
  ResultKey key{digest_of("x"), contract, Gate::screen, "", "", ""};
  Batch batch;
  keep_verdict(batch, key, "verdict");
  REQUIRE(store->commit(std::move(batch)));
  CHECK(is_none((*find_verdict(*store, key))->output));
  CHECK(store->rows<BlobKey>()->empty());
}

TEST_CASE("of two texts with one normal form the earlier branch stands, in either order") {
  for (bool swapped : {false, true}) {
    auto store = Store::in_memory();
    for (std::uint64_t i : {0, 1}) {
      std::uint64_t branch = swapped ? 1 - i : i;
      Batch batch;
      batch.put(CandidateKey{contract, digest_of("x")}, candidate(1, branch));
      REQUIRE(store->commit(std::move(batch)));
    }
    CHECK((*store->get(CandidateKey{contract, digest_of("x")}))->branch == 0);
  }
}

TEST_CASE("the same holds inside one batch") {
  auto store = Store::in_memory();
  Batch batch;
  batch.put(CandidateKey{contract, digest_of("x")}, candidate(1, 0));
  batch.put(CandidateKey{contract, digest_of("x")}, candidate(1, 1));
  REQUIRE(store->commit(std::move(batch)));
  CHECK((*store->get(CandidateKey{contract, digest_of("x")}))->branch == 0);
}

TEST_CASE("candidates are found by the first digits of their digest") {
  auto store = Store::in_memory();
  Batch batch;
  batch.put(CandidateKey{contract, digest_of("x")}, candidate(1, 0));
  batch.put(CandidateKey{digest_of("other"), digest_of("y")}, candidate(1, 0));
  REQUIRE(store->commit(std::move(batch)));
  CHECK(find_candidates(*store, "")->size() == 2);
  auto found = find_candidates(*store, short_hex(digest_of("y")));
  REQUIRE(found->size() == 1);
  CHECK(found->front().first.contract == digest_of("other"));
  CHECK(find_candidates(*store, "0123456789abcdef")->empty());
}

const LedgerKey request{1, contract, 1, 0, 0};

void reserve_now(Store& store, const LedgerKey& key, std::uint64_t micro) {
  Batch batch;
  LedgerRecord record;
  record.reserved_micro = micro;
  REQUIRE(reserve(store, batch, key, record));
  REQUIRE(store.commit(std::move(batch)));
}

void settle_now(Store& store, const LedgerKey& key, std::uint64_t micro) {
  Batch batch;
  REQUIRE(settle(store, batch, key, micro, 10, 20));
  REQUIRE(store.commit(std::move(batch)));
}

TEST_CASE("money counts as reserved until it is settled, and then as it was settled") {
  auto store = Store::in_memory();
  reserve_now(*store, request, 500);
  CHECK(spent(*store, 1)->committed_micro() == 500);
  settle_now(*store, request, 120);
  auto sum = spent(*store, 1);
  CHECK(sum->committed_micro() == 120);
  CHECK(sum->tokens_in == 10);
  CHECK(sum->tokens_out == 20);
}

TEST_CASE("a resumed request is neither reserved nor settled twice") {
  auto store = Store::in_memory();
  reserve_now(*store, request, 500);
  reserve_now(*store, request, 900);
  CHECK(spent(*store, 1)->reserved_micro == 500);
  settle_now(*store, request, 120);
  settle_now(*store, request, 999);
  reserve_now(*store, request, 900);
  CHECK(spent(*store, 1)->committed_micro() == 120);
  CHECK(spent(*store, 1)->requests == 1);
}

TEST_CASE("settling what nobody reserved is refused") {
  auto store = Store::in_memory();
  Batch batch;
  CHECK_FALSE(settle(*store, batch, request, 1, 1, 1));
  CHECK(batch.empty());
}

TEST_CASE("each run and each contract has its own money") {
  auto store = Store::in_memory();
  reserve_now(*store, request, 500);
  reserve_now(*store, {1, digest_of("other"), 1, 0, 0}, 30);
  reserve_now(*store, {2, contract, 1, 0, 0}, 7);
  CHECK(spent(*store, 1)->reserved_micro == 530);
  CHECK(spent(*store, 1, contract)->reserved_micro == 500);
  CHECK(spent(*store, 2)->reserved_micro == 7);
}

TEST_CASE("an unknown price is counted as unknown") {
  auto store = Store::in_memory();
  Batch batch;
  LedgerRecord record;
  record.price_known = false;
  REQUIRE(reserve(*store, batch, request, record));
  REQUIRE(store->commit(std::move(batch)));
  CHECK(spent(*store, 1)->unknown_prices == 1);
}

}  // namespace
}  // namespace lathe::store
