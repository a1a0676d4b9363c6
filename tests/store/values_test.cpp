#include "store/values.h"

#include <catch2/catch.hpp>

#include "tests/store/samples.h"

namespace lathe::store {
namespace {

TEST_CASE("a candidate's record comes back whole") {
  CandidateRecord record = candidate(3, 2, "why");
  record.parent = digest_of("parent");
  Result<CandidateRecord> back = decode_value<CandidateRecord>(encode_value(record));
  REQUIRE(back);
  CHECK(back->ptx == record.ptx);
  CHECK(back->parent == record.parent);
  CHECK(back->family == "wide_access");
  CHECK(back->explanation == "why");
  CHECK(back->round == 3);
  CHECK(back->branch == 2);
}

TEST_CASE("a lease's record comes back with the work inside") {
  LeaseRecord lease{work(4, 5), 6, "node", 7};
  lease.work.lost_on = {"a", "b"};
  Result<LeaseRecord> back = decode_value<LeaseRecord>(encode_value(lease));
  REQUIRE(back);
  CHECK(back->work.priority == 4);
  CHECK(back->work.lost_on == std::vector<std::string>{"a", "b"});
  CHECK(back->token == 6);
  CHECK(back->node == "node");
  CHECK(back->deadline_ns == 7);
}

TEST_CASE("the record of one kind is not read as another") {
  CHECK_FALSE(decode_value<LedgerRecord>(encode_value(candidate(1, 1))));
  CHECK_FALSE(decode_value<RunRecord>("rubbish"));
  CHECK_FALSE(decode_value<RunRecord>(""));
}

TEST_CASE("none is a digest of zeros, and a real digest is not none") {
  CHECK(is_none(Digest{}));
  CHECK_FALSE(is_none(digest_of("")));
}

}  // namespace
}  // namespace lathe::store
