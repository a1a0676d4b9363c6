#include "store/keys.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "base/random.h"

namespace lathe::store {
namespace {

TEST_CASE("a key comes back as it was written") {
  LedgerKey key{7, sha256("c"), 1, UINT64_MAX, 3};
  Result<LedgerKey> back = decode_key<LedgerKey>(encode_key(key));
  REQUIRE(back);
  CHECK(LedgerKey::fields(*back) == LedgerKey::fields(key));
}

TEST_CASE("a key that is cut, longer or of another table is refused") {
  std::string bytes = encode_key(CandidateKey{sha256("a"), sha256("b")});
  REQUIRE(decode_key<CandidateKey>(bytes));
  CHECK_FALSE(decode_key<CandidateKey>(bytes.substr(0, bytes.size() - 1)));
  CHECK_FALSE(decode_key<CandidateKey>(bytes + '\0'));
  CHECK_FALSE(decode_key<CandidateKey>(""));
  CHECK_FALSE(decode_key<ContractKey>(encode_key(DoneKey{sha256("a")})));
}

TEST_CASE("the bytes of keys sort as their fields do") {
  for (std::uint64_t i = 0; i < 500; ++i) {
    // Shifts bring numbers of every size, where a little-endian order would fail.
    std::uint64_t a = philox64(1, 0, i) >> (i % 64), b = philox64(1, 1, i) >> (i * 7 % 64);
    FrontierKey left{{}, 0, a, sha256("x")}, right{{}, 0, b, sha256("a")};
    CHECK((encode_key(left) < encode_key(right)) ==
          (FrontierKey::fields(left) < FrontierKey::fields(right)));
  }
}

TEST_CASE("the newest run and the highest priority come first") {
  CHECK(encode_key(RunKey{{2}}) < encode_key(RunKey{{1}}));
  CHECK(encode_key(ReadyKey{{9}, 5, {}}) < encode_key(ReadyKey{{1}, 4, {}}));
  CHECK(encode_key(ReadyKey{{9}, 4, {}}) < encode_key(ReadyKey{{9}, 5, {}}));
}

TEST_CASE("a prefix holds the keys that begin with its fields and no others") {
  std::string rows = prefix<RoundKey>(std::uint64_t{1}, sha256("c"));
  CHECK(encode_key(RoundKey{1, sha256("c"), 9}).starts_with(rows));
  CHECK_FALSE(encode_key(RoundKey{1, sha256("d"), 9}).starts_with(rows));
  CHECK_FALSE(encode_key(RoundKey{256, sha256("c"), 9}).starts_with(rows));
}

TEST_CASE("every part of what decides an answer changes its key") {
  ResultKey key{sha256("x"), sha256("c"), Gate::test, "seed 1", "ptxas 13", "sm_90a"};
  std::set<Digest> keys{result_key(key)};
  auto with = [&](auto change) {
    ResultKey other = key;
    change(other);
    keys.insert(result_key(other));
  };
  with([](ResultKey& k) { k.candidate = sha256("y"); });
  with([](ResultKey& k) { k.contract = sha256("d"); });
  with([](ResultKey& k) { k.gate = Gate::verify; });
  with([](ResultKey& k) { k.parameters = "seed 2"; });
  with([](ResultKey& k) { k.toolchain = "ptxas 12"; });
  with([](ResultKey& k) { k.architecture = "sm_89"; });
  // Texts do not run into one another.
  with([](ResultKey& k) { k.parameters = "seed 1ptxas", k.toolchain = " 13"; });
  CHECK(keys.size() == 8);
  CHECK(result_key(key) == result_key(ResultKey(key)));
}

TEST_CASE("times keep their order as keys, and nonsense has a place") {
  CHECK(picoseconds(1.5) == 1500);
  CHECK(picoseconds(1.5) < picoseconds(1.501));
  CHECK(picoseconds(-1) == 0);
  CHECK(picoseconds(1e300) == UINT64_MAX);
}

}  // namespace
}  // namespace lathe::store
