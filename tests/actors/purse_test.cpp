// Money of a run: durable before it is spent, settled once, and remembered by the next process.

#include "actors/purse.h"

#include <catch2/catch.hpp>

namespace lathe::actors {
namespace {

using planner::Expense;
using planner::Usage;

planner::Budget budget(std::uint64_t micro) {
  planner::PriceTable prices{"2026-01-01", {{"priced", {1'000'000, 2'000'000}}}};
  planner::BudgetLimits limits;
  limits.micro_dollars = micro;
  return planner::Budget(limits, prices);
}

struct Till {
  std::shared_ptr<store::Store> store{store::Store::in_memory()};
  bool open = true;
  Digest contract = sha256("contract");
  StorePurse purse(std::uint64_t micro = 1000, std::uint64_t run = 1) {
    return StorePurse(budget(micro), run, contract,
                      [this](std::function<Result<Done>(store::Store&)> deed) -> Result<Done> {
                        if (!open) return Error{Fault::unavailable, "the disk is full", "", {}};
                        return deed(*store);
                      });
  }
  store::Spent spent() { return *store::spent(*store, 1, contract); }
};

TEST_CASE("a reservation is in the ledger before anything is sent") {
  Till till;
  StorePurse purse = till.purse();
  REQUIRE(purse.reserve({1, 2, 0}, "priced", 100, 50));
  CHECK(till.spent().reserved_micro == 200);
  CHECK(till.spent().settled_micro == 0);
  CHECK(till.spent().requests == 1);
}

TEST_CASE("a settlement is in the ledger once, and frees the rest of its reservation") {
  Till till;
  StorePurse purse = till.purse();
  REQUIRE(purse.reserve({1, 2, 0}, "priced", 100, 50));
  REQUIRE(purse.settle({1, 2, 0}, Usage{100, 10, true}));
  REQUIRE(purse.settle({1, 2, 0}, Usage{100, 50, true}));
  CHECK(till.spent().reserved_micro == 0);
  CHECK(till.spent().settled_micro == 120);
  CHECK(till.spent().tokens_out == 10);
}

TEST_CASE("what the next process may spend is what the one before it has left") {
  Till till;
  {
    StorePurse purse = till.purse();
    REQUIRE(purse.reserve({1, 1, 0}, "priced", 100, 200));
    REQUIRE(purse.settle({1, 1, 0}, Usage{100, 200, true}));
    REQUIRE(purse.reserve({1, 2, 0}, "priced", 100, 100));
  }
  StorePurse purse = till.purse();
  REQUIRE(purse.restore());
  CHECK_FALSE(purse.reserve({2, 1, 0}, "priced", 100, 100));
  CHECK(purse.reserve({2, 2, 0}, "priced", 100, 50));
}

TEST_CASE("a request that a crash left open is the same request when it is asked again") {
  Till till;
  {
    StorePurse purse = till.purse(350);
    REQUIRE(purse.reserve({1, 2, 0}, "priced", 100, 100));
  }
  StorePurse purse = till.purse(350);
  REQUIRE(purse.restore());
  REQUIRE(purse.reserve({1, 2, 0}, "priced", 100, 100));
  CHECK(till.spent().requests == 1);
  CHECK(till.spent().reserved_micro == 300);
}

TEST_CASE("a settled request is not paid again after a crash") {
  Till till;
  {
    StorePurse purse = till.purse();
    REQUIRE(purse.reserve({1, 2, 0}, "priced", 100, 100));
    REQUIRE(purse.settle({1, 2, 0}, Usage{100, 100, true}));
  }
  StorePurse purse = till.purse();
  REQUIRE(purse.restore());
  Result<planner::LedgerEntry> entry = purse.reserve({1, 2, 0}, "priced", 100, 100);
  REQUIRE(entry);
  CHECK(entry->settled);
  CHECK(till.spent().settled_micro == 300);
}

TEST_CASE("tokens of a request that a crash left open count against a cap of tokens") {
  Till till;
  planner::BudgetLimits limits;
  limits.tokens = 300;
  planner::PriceTable prices{"2026-01-01", {{"priced", {1'000'000, 2'000'000}}}};
  auto door = [&till](std::function<Result<Done>(store::Store&)> deed) {
    return deed(*till.store);
  };
  {
    StorePurse purse(planner::Budget(limits, prices), 1, till.contract, door);
    REQUIRE(purse.reserve({1, 1, 0}, "priced", 100, 100));
  }
  StorePurse purse(planner::Budget(limits, prices), 1, till.contract, door);
  REQUIRE(purse.restore());
  CHECK_FALSE(purse.reserve({1, 2, 0}, "priced", 100, 50));
  CHECK(purse.reserve({1, 3, 0}, "priced", 50, 50));
}

TEST_CASE("nothing is sent where its reservation cannot be kept") {
  Till till;
  StorePurse purse = till.purse(300);
  till.open = false;
  CHECK_FALSE(purse.reserve({1, 1, 0}, "priced", 100, 100));
  till.open = true;
  CHECK(till.spent().requests == 0);
  CHECK(purse.reserve({1, 2, 0}, "priced", 100, 100));
}

TEST_CASE("a request that was never sent gives its money back, in the ledger too") {
  Till till;
  StorePurse purse = till.purse(300);
  REQUIRE(purse.reserve({1, 1, 0}, "priced", 100, 100));
  purse.release({1, 1, 0});
  CHECK(till.spent().requests == 0);
  CHECK(purse.reserve({1, 2, 0}, "priced", 100, 100));
}

TEST_CASE("releasing what is settled takes nothing back") {
  Till till;
  StorePurse purse = till.purse();
  REQUIRE(purse.reserve({1, 1, 0}, "priced", 100, 100));
  REQUIRE(purse.settle({1, 1, 0}, Usage{100, 100, true}));
  purse.release({1, 1, 0});
  CHECK(till.spent().settled_micro == 300);
}

TEST_CASE("another run's money is not this one's") {
  Till till;
  StorePurse other = till.purse(1000, 2);
  REQUIRE(other.reserve({1, 1, 0}, "priced", 100, 300));
  StorePurse purse = till.purse(300);
  REQUIRE(purse.restore());
  CHECK(purse.reserve({1, 1, 0}, "priced", 100, 100));
  CHECK(till.spent().requests == 1);
}

}  // namespace
}  // namespace lathe::actors
