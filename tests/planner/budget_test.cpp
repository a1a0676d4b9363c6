// Money is reserved before a request and settled after it.

#include <catch2/catch.hpp>

#include "planner/budget.h"

namespace lathe::planner {
namespace {

PriceTable prices() {
  return *read_prices(R"({"date":"2026-01-31","models":{"m":{"input_per_million":1,)"
                      R"("output_per_million":10},"m-*":{"input_per_million":2,)"
                      R"("output_per_million":2},"m-big*":{"input_per_million":3,)"
                      R"("output_per_million":3}}})",
                      "p.json");
}

Budget budget(std::uint64_t micro_dollars) { return Budget({micro_dollars, 0, 0, {}}, prices()); }

TEST_CASE("a reservation is the price of the longest possible answer") {
  auto entry = budget(0).reserve({1, 1, 0}, "m", 1000, 500);
  REQUIRE(entry);
  CHECK(entry->reserved_micro == 1000 * 1 + 500 * 10);
  CHECK(entry->price_known);
}

TEST_CASE("a request that might pass the limit is refused, one that fits to the dot is not") {
  Budget exact = budget(6000), short_by_one = budget(5999);
  CHECK(exact.reserve({1, 1, 0}, "m", 1000, 500));
  auto refused = short_by_one.reserve({1, 1, 0}, "m", 1000, 500);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().fault == Fault::exhausted);
  CHECK(short_by_one.ledger().empty());
}

TEST_CASE("requests in flight count before they are settled") {
  Budget both = budget(10'000);
  CHECK(both.reserve({1, 1, 0}, "m", 1000, 500));
  CHECK_FALSE(both.reserve({1, 2, 0}, "m", 1000, 500));
}

TEST_CASE("a settlement frees what was reserved too much") {
  Budget both = budget(10'000);
  REQUIRE(both.reserve({1, 1, 0}, "m", 1000, 500));
  REQUIRE(both.settle({1, 1, 0}, {900, 10, true}));
  CHECK(both.settled_micro() == 1000);
  CHECK(both.reserved_micro() == 0);
  CHECK(both.reserve({1, 2, 0}, "m", 1000, 500));
}

TEST_CASE("the second settlement of one request changes nothing") {
  Budget once = budget(0);
  REQUIRE(once.reserve({1, 1, 0}, "m", 10, 10));
  REQUIRE(once.settle({1, 1, 0}, {10, 1, true}));
  CHECK(once.settle({1, 1, 0}, {10, 9, true})->output_tokens == 1);
}

TEST_CASE("a settlement without a reservation is an error") {
  Budget none = budget(0);
  CHECK_FALSE(none.settle({1, 1, 0}, {1, 1, true}));
}

TEST_CASE("the same request after a crash is not paid for twice") {
  Budget before = budget(6000);
  auto entry = before.reserve({1, 1, 0}, "m", 1000, 500);
  Budget after = budget(6000);
  after.restore({1, 1, 0}, *entry);
  CHECK(after.reserved_micro() == 6000);
  CHECK(*after.reserve({1, 1, 0}, "m", 1000, 500) == *entry);
  CHECK_FALSE(after.reserve({1, 2, 0}, "m", 1, 1));
}

TEST_CASE("an answer without usage costs what was reserved") {
  Budget unknown = budget(0);
  REQUIRE(unknown.reserve({1, 1, 0}, "m", 1000, 500));
  CHECK(unknown.settle({1, 1, 0}, {0, 0, false})->settled_micro == 6000);
}

TEST_CASE("a request that was never sent gives its reservation back, a settled one keeps it") {
  Budget some = budget(0);
  REQUIRE(some.reserve({1, 1, 0}, "m", 10, 10));
  some.release({1, 1, 0});
  CHECK(some.ledger().empty());
  REQUIRE(some.reserve({1, 1, 0}, "m", 10, 10));
  REQUIRE(some.settle({1, 1, 0}, {1, 1, true}));
  some.release({1, 1, 0});
  CHECK(some.ledger().size() == 1);
}

TEST_CASE("an unknown price is refused where the budget is in dollars") {
  Budget money = budget(1'000'000);
  auto refused = money.reserve({1, 1, 0}, "nobody", 1, 1);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("unknown") != std::string::npos);
}

TEST_CASE("an unknown price may be capped by tokens instead, and is never called zero") {
  Budget capped({1'000'000, 100, 0, UnknownPrice::cap_by_tokens}, prices());
  auto entry = capped.reserve({1, 1, 0}, "nobody", 40, 40);
  REQUIRE(entry);
  CHECK_FALSE(entry->price_known);
  CHECK_FALSE(capped.reserve({1, 2, 0}, "nobody", 40, 40));
  Budget open({1'000'000, 0, 0, UnknownPrice::cap_by_tokens}, prices());
  CHECK_FALSE(open.reserve({1, 1, 0}, "nobody", 1, 1));
}

TEST_CASE("requests are counted, and more money may come later") {
  Budget two({0, 0, 2, {}}, prices());
  CHECK(two.reserve({1, 1, 0}, "m", 1, 1));
  CHECK(two.reserve({1, 2, 0}, "m", 1, 1));
  CHECK_FALSE(two.reserve({1, 3, 0}, "m", 1, 1));
  Budget poor = budget(10);
  CHECK_FALSE(poor.reserve({1, 1, 0}, "m", 1000, 0));
  poor.raise(1000);
  CHECK(poor.reserve({1, 1, 0}, "m", 1000, 0));
}

TEST_CASE("many planners overshoot by nothing: no order of reservations passes the limit") {
  Budget shared = budget(50'000);
  for (std::uint32_t i = 0; i < 100; ++i) {
    (void)shared.reserve({1, i, 0}, "m", 500 + 13 * i, 100 + 7 * i);
    if (i % 3 == 0 && shared.ledger().contains({1, i, 0}))
      REQUIRE(shared.settle({1, i, 0}, {500 + 13 * i, i, true}));
    CHECK(shared.settled_micro() + shared.reserved_micro() <= 50'000);
  }
}

TEST_CASE("a cost is rounded up, and absurd numbers do not wrap around") {
  Budget small = budget(0);
  REQUIRE(small.reserve({1, 1, 0}, "m-x", 1, 0));
  CHECK(small.reserved_micro() == 2);
  Budget huge = budget(1'000'000);
  CHECK_FALSE(huge.reserve({1, 1, 0}, "m", ~std::uint64_t{0} / 2, ~std::uint64_t{0} / 2));
}

TEST_CASE("a price is found by name, then by the longest prefix") {
  PriceTable table = prices();
  CHECK(table.find("m")->input_micro == 1'000'000);
  CHECK(table.find("m-small")->input_micro == 2'000'000);
  CHECK(table.find("m-big-2")->input_micro == 3'000'000);
  CHECK(table.find("n") == nullptr);
}

TEST_CASE("a price table without a date or with a wrong price is refused") {
  for (const char* bad :
       {"", "[]", R"({"models":{}})", R"({"date":"d"})", R"({"date":"d","models":{"m":1}})",
        R"({"date":"d","models":{"m":{"input_per_million":1}}})",
        R"({"date":"d","models":{"m":{"input_per_million":-1,"output_per_million":1}}})"})
    CHECK_FALSE(read_prices(bad, "p.json"));
  CHECK_FALSE(shipped_prices().date.empty());
}

}  // namespace
}  // namespace lathe::planner
