// Work as bytes: a request and its reply survive the way; anything else is refused, not read.

#include "actors/work.h"

#include <catch2/catch.hpp>

#include "pipeline/codec.h"

namespace lathe::actors {
namespace {

WorkRequest request() {
  WorkRequest made;
  made.gate = Gate::benchmark;
  made.payload = std::string("bytes\0with zeros", 16);
  made.incumbent = ".version 8.7";
  made.seed = 0xFFFF'FFFF'FFFF'FFFFull;
  made.ptx_isa = "8.7";
  made.assembler = "ptxas 13.0.88";
  made.steps_max = 5;
  return made;
}

WorkReply reply() {
  WorkReply made;
  made.outcome = WorkReply::Outcome::rejected;
  made.verdict.gate = Gate::test;
  made.verdict.answer = Verdict::Answer::rejected;
  made.verdict.evidence = {"value", "element 3 differs", {"", 17, 4}, R"({"index": [3]})"};
  made.verdict.limits = "seed=1";
  made.passed = "left over";
  return made;
}

TEST_CASE("a work request comes back as it was sent") {
  WorkRequest sent = request();
  Result<WorkRequest> got = decode_request(encode(sent));
  REQUIRE(got);
  CHECK(got->gate == sent.gate);
  CHECK(got->payload == sent.payload);
  CHECK(got->incumbent == sent.incumbent);
  CHECK(got->seed == sent.seed);
  CHECK(got->ptx_isa == sent.ptx_isa);
  CHECK(got->assembler == sent.assembler);
  CHECK(got->steps_max == sent.steps_max);
  CHECK(encode(*got) == encode(sent));
}

TEST_CASE("a work reply comes back as it was sent, with its evidence and place") {
  Result<WorkReply> got = decode_reply(encode(reply()));
  REQUIRE(got);
  CHECK(got->outcome == WorkReply::Outcome::rejected);
  CHECK(got->verdict.evidence.code == "value");
  CHECK(got->verdict.evidence.place.line == 17);
  CHECK(got->verdict.evidence.json == R"({"index": [3]})");
  CHECK(got->passed == "left over");
  CHECK(encode(*got) == encode(reply()));
}

TEST_CASE("an error crosses with its fault, its words and what is absent") {
  WorkReply sent;
  sent.error = {Fault::unavailable, "no ptxas", "install it", {}, Absent::permission};
  Result<WorkReply> got = decode_reply(encode(sent));
  REQUIRE(got);
  CHECK(got->outcome == WorkReply::Outcome::error);
  CHECK(got->error.fault == Fault::unavailable);
  CHECK(got->error.what == "no ptxas");
  CHECK(got->error.remedy == "install it");
  CHECK(got->error.absent == Absent::permission);
}

TEST_CASE("a request that is cut anywhere is refused") {
  std::string whole = encode(request());
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK_FALSE(decode_request(std::string_view(whole).substr(0, size)));
}

TEST_CASE("a reply that is cut anywhere is refused") {
  std::string whole = encode(reply());
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK_FALSE(decode_reply(std::string_view(whole).substr(0, size)));
}

TEST_CASE("a byte too many is refused") {
  CHECK_FALSE(decode_request(encode(request()) + "x"));
  CHECK_FALSE(decode_reply(encode(reply()) + "x"));
}

TEST_CASE("a gate that does not exist is refused") {
  WorkRequest made = request();
  for (int gate : {0, 9, 200}) {
    made.gate = static_cast<Gate>(gate);
    CHECK_FALSE(decode_request(encode(made)));
  }
  made.gate = Gate::admit;
  CHECK(decode_request(encode(made)));
}

TEST_CASE("damaged bytes never crash and are read only where they are whole") {
  std::string whole = encode(reply());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    if (Result<WorkReply> got = decode_reply(damaged)) CHECK(encode(*got).size() > 0);
  }
}

TEST_CASE("a gate that no node runs answers with an error") {
  WorkRequest made = request();
  made.gate = Gate::admit;
  WorkReply got = run_work(made);
  CHECK(got.outcome == WorkReply::Outcome::error);
  CHECK(got.error.fault == Fault::unsupported);
}

TEST_CASE("a gate that is handed another gate's value answers with an error, not a verdict") {
  WorkRequest made = request();
  made.payload = encode(Proof{});
  for (Gate gate : {Gate::assemble, Gate::sanitize, Gate::test, Gate::verify, Gate::benchmark}) {
    made.gate = gate;
    CHECK(run_work(made).outcome == WorkReply::Outcome::error);
  }
}

TEST_CASE("limits are part of a verdict's name: another seed or step limit is another one") {
  WorkRequest left = request(), right = request();
  right.seed = 1;
  CHECK(limits_of(left) != limits_of(right));
  right = left;
  right.steps_max = 6;
  CHECK(limits_of(left) != limits_of(right));
  left.gate = right.gate = Gate::verify;
  CHECK(limits_of(left) != limits_of(right));
  CHECK(limits_of(left) == limits_of(left));
}

TEST_CASE("what assembles needs the run's own assembler, what runs or proves does not") {
  WorkRequest asked = request();
  asked.gate = Gate::assemble;
  CHECK(needs_of(asked) == std::set<std::string>{"gate:assemble", "tool:ptxas 13.0.88"});
  asked.gate = Gate::benchmark;
  CHECK(needs_of(asked) == std::set<std::string>{"gate:benchmark", "tool:ptxas 13.0.88"});
  asked.gate = Gate::verify;
  CHECK(needs_of(asked) == std::set<std::string>{"gate:verify"});
  CHECK(offers_here().contains("gate:verify"));
}

}  // namespace
}  // namespace lathe::actors
