// The parts of a verification one by one: buffers and parameters, plans, the ledger, the document.

#include "kernels.h"
#include "verifier_node/binding.h"
#include "verifier_node/findings.h"
#include "verifier_node/ledger.h"
#include "verifier_node/plan.h"

namespace lathe::verifier_node {
namespace {

using ptx::field::Point;
using ptx::field::PointOptions;
using ptx::field::Recipe;
using ptx::field::Special;
using ptx::field::Written;

struct LedgerWorld {
  Contract contract;
  std::shared_ptr<const Point> point;

  LedgerWorld() {
    Tensor in{"x", Dtype::f16, {8}, {1}, Role::input, 16, {}, {}};
    Tensor out{"y", Dtype::f16, {8}, {1}, Role::output, 16, {}, {}};
    contract.tensors = {in, out};
    Recipe x, y;
    x.computed = true;
    y.output = true;
    point = *Point::make(PointOptions{}, {x, y});
  }
  Written at(std::uint64_t element, std::uint64_t value) const {
    return {1, element, point->input(0, value), 0};
  }
};

TEST_CASE("a ledger meets equal elements in any order of sides") {
  LedgerWorld w;
  Ledger ledger(w.contract, *w.point);
  ledger.take(Side::reference, 0, {w.at(0, 5), w.at(1, 6)});
  ledger.take(Side::candidate, 3, {w.at(1, 6), w.at(2, 7), w.at(0, 5)});
  ledger.take(Side::reference, 1, {w.at(2, 7)});
  ledger.finish();
  CHECK_FALSE(ledger.first().has_value());
  CHECK(ledger.compared() == 3);
}

TEST_CASE("a ledger names the element and the blocks that differ") {
  LedgerWorld w;
  Ledger ledger(w.contract, *w.point);
  ledger.take(Side::reference, 2, {w.at(4, 1)});
  ledger.take(Side::candidate, 7, {w.at(4, 2)});
  REQUIRE(ledger.first().has_value());
  CHECK(ledger.first()->kind == Difference::Kind::value);
  CHECK(ledger.first()->element == 4);
  CHECK(ledger.first()->reference_block == 2);
  CHECK(ledger.first()->candidate_block == 7);
}

TEST_CASE("what only one side writes is missing or extra") {
  LedgerWorld w;
  Ledger missing(w.contract, *w.point), extra(w.contract, *w.point);
  missing.take(Side::reference, 0, {w.at(3, 1)});
  missing.finish();
  REQUIRE(missing.first().has_value());
  CHECK(missing.first()->kind == Difference::Kind::missing);
  extra.take(Side::candidate, 0, {w.at(3, 1)});
  extra.finish();
  REQUIRE(extra.first().has_value());
  CHECK(extra.first()->kind == Difference::Kind::extra);
}

TEST_CASE("what one block writes no other may read") {
  LedgerWorld w;
  w.contract.tensors[1].role = Role::inout;
  for (std::uint64_t reader : {0, 1}) {
    Ledger ledger(w.contract, *w.point);
    ledger.take(Side::reference, 0, {w.at(3, 1)});
    ledger.note_reads(reader, {{1, 3}});
    ledger.take(Side::candidate, 0, {w.at(3, 1)});
    ledger.finish();
    REQUIRE(ledger.first().has_value() == (reader == 1));
    if (reader == 1) CHECK(ledger.first()->kind == Difference::Kind::between);
  }
}

TEST_CASE("two blocks of a candidate that write different values to one place are told") {
  LedgerWorld w;
  Ledger same(w.contract, *w.point), different(w.contract, *w.point);
  same.take(Side::candidate, 0, {w.at(3, 1)});
  same.take(Side::candidate, 1, {w.at(3, 1)});
  CHECK_FALSE(same.first().has_value());
  CHECK(same.written_twice() == 1);
  different.take(Side::candidate, 0, {w.at(3, 1)});
  different.take(Side::candidate, 1, {w.at(3, 2)});
  REQUIRE(different.first().has_value());
  CHECK(different.first()->kind == Difference::Kind::twice);
}

TEST_CASE("more roundings than the reference are kept apart from a difference of value") {
  LedgerWorld w;
  Ledger ledger(w.contract, *w.point);
  Written once = w.at(0, 1), twice = once;
  once.number.rounds = ptx::field::rounded({}, 11);
  twice.number.rounds = ptx::field::rounded(once.number.rounds, 11);
  ledger.take(Side::reference, 0, {once});
  ledger.take(Side::candidate, 0, {twice});
  CHECK_FALSE(ledger.first().has_value());
  CHECK(ledger.precision().has_value());
  Ledger other(w.contract, *w.point);
  other.take(Side::reference, 0, {twice});
  other.take(Side::candidate, 0, {once});
  CHECK_FALSE(other.precision().has_value());
}

TEST_CASE("a NaN on one side only is a difference, poison on either is no value") {
  LedgerWorld w;
  Ledger nan(w.contract, *w.point), poison(w.contract, *w.point);
  Written good = w.at(0, 1), bad = good;
  bad.number.special = Special::nan;
  nan.take(Side::reference, 0, {good});
  nan.take(Side::candidate, 0, {bad});
  REQUIRE(nan.first().has_value());
  CHECK(nan.first()->kind == Difference::Kind::value);
  bad.number.special = Special::poison;
  poison.take(Side::reference, 0, {bad});
  poison.take(Side::candidate, 0, {bad});
  REQUIRE(poison.first().has_value());
  CHECK(poison.first()->kind == Difference::Kind::undefined);
}

TEST_CASE("a tainted level is inconclusive: neither equal nor different") {
  LedgerWorld w;
  Ledger ledger(w.contract, *w.point);
  Written one = w.at(0, 1), other = one;
  one.number.taint = w.point->every_slot();
  other.number.r[0] ^= 1;
  ledger.take(Side::reference, 0, {one});
  ledger.take(Side::candidate, 0, {other});
  CHECK_FALSE(ledger.first().has_value());
  CHECK(ledger.inconclusive().size() == 1);
}

TEST_CASE("a value without any residue left is not taken for equal") {
  LedgerWorld w;
  Ledger ledger(w.contract, *w.point);
  Written one = w.at(0, 1);
  one.number.valid = 0;
  ledger.take(Side::reference, 0, {one});
  ledger.take(Side::candidate, 0, {one});
  REQUIRE(ledger.first().has_value());
  CHECK(ledger.first()->kind == Difference::Kind::shallow);
}

TEST_CASE("buffers lie apart, aligned as the contract says and no better") {
  Contract contract = small_contract("sum_8x512_fp16_sm_89");
  std::vector<ptx::Buffer> buffers = buffers_of(contract);
  REQUIRE(buffers.size() == 2);
  CHECK(buffers[0].address % 16 == 0);
  CHECK(buffers[0].address % 32 != 0);
  CHECK(buffers[1].address > buffers[0].address + buffers[0].bytes + (1u << 20));
  CHECK_FALSE(buffers[0].writable);
  CHECK(buffers[1].writable);
}

TEST_CASE("parameters lie at multiples of their size, addresses and scalars alike") {
  Contract contract = small_contract("sum_8x512_fp16_sm_89");
  std::string bytes = parameter_bytes(contract);
  CHECK(bytes.size() == 40);
  std::uint64_t first = 0;
  std::memcpy(&first, bytes.data(), 8);
  CHECK(first == address_of(contract, 0));
  CHECK(static_cast<unsigned char>(bytes[16]) + 256 * static_cast<unsigned char>(bytes[17]) == 512);
}

TEST_CASE("a rational program takes three independent primes, an exponential one a chain") {
  Contract sum = small_contract("sum_8x512_fp16_sm_89");
  Contract silu = small_contract("silu_4x512_fp16_sm_89");
  auto plan_of = [](const Contract& contract, std::uint32_t points) {
    ptx::Parsed parsed = ptx::parse(contract.reference, "x");
    return make_plan(parsed.module, parsed.module, contract.entry, points);
  };
  CHECK_FALSE(plan_of(sum, 0).linked);
  CHECK(plan_of(sum, 0).points == 3);
  CHECK(plan_of(silu, 0).linked);
  CHECK(plan_of(silu, 0).points == 4);
  CHECK(plan_of(silu, 9).points >= 9);
  CHECK(plan_of(sum, 9).runs == 3);
}

TEST_CASE("an element's index follows the strides") {
  Tensor tensor{"t", Dtype::f16, {4, 8}, {10, 1}, Role::output, 16, {}, {}};
  CHECK(index_of(tensor, 23) == std::vector<std::uint64_t>{2, 3});
  Tensor columns{"t", Dtype::f16, {4, 8}, {1, 4}, Role::output, 16, {}, {}};
  CHECK(index_of(columns, 23) == std::vector<std::uint64_t>{3, 5});
}

TEST_CASE("the document leaves out what there is nothing to say about") {
  Findings findings;
  findings.decide("undecided", "unsupported", "why");
  std::string json = document(findings, "a", "b");
  for (const char* absent : {"witness", "bound", "scope", "assumed", "checks", "unsupported\":["})
    CHECK(json.find(absent) == std::string::npos);
  findings.set(Check::races, CheckState::failed);
  findings.witness = Witness{};
  findings.witness->kind = "race";
  findings.witness->candidate_value = std::numeric_limits<double>::quiet_NaN();
  json = document(findings, "a", "b");
  CHECK(json.find("\"checks\":{\"races\":\"failed\"}") != std::string::npos);
  CHECK(json.find("\"candidate_value\":\"NaN\"") != std::string::npos);
  CHECK(json.find("reference_value") == std::string::npos);
}

TEST_CASE("undecided codes have the gate's reasons") {
  CHECK(reason_of("precision") == Reason::precision);
  CHECK(reason_of("divisor") == Reason::divisor);
  CHECK(reason_of("unguarded") == Reason::unguarded);
  CHECK(reason_of("not_witnessed") == Reason::not_witnessed);
  CHECK(reason_of("exhausted") == Reason::exhausted);
  CHECK(reason_of("one_schedule") == Reason::unsupported);
}

}  // namespace
}  // namespace lathe::verifier_node
