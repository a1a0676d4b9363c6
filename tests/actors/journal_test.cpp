// What a holder of a lease has finished goes on with the work, to whoever gets it next.

#include "verifier_node/journal.h"

#include <catch2/catch.hpp>

#include "actors/node_actor.h"
#include "desk.h"

namespace lathe::actors {
namespace {

std::shared_ptr<const std::string> unit_of(const std::string& name, const std::string& bytes,
                                           const std::string& whole = "") {
  verifier_node::Unit unit{sha256(name), whole.empty() ? Digest{} : sha256(whole), 100, bytes};
  return std::make_shared<const std::string>(verifier_node::encode(unit));
}

/// The names of the units, as `names` has them.
std::set<std::string> names_in(const Offer& offer, const std::vector<std::string>& names) {
  std::set<std::string> found;
  if (!offer.journal) return found;
  auto frames = verifier_node::frames_of(*offer.journal);
  REQUIRE(frames);
  for (const std::string& bytes : *frames) {
    auto unit = verifier_node::decode_unit(bytes);
    REQUIRE(unit);
    for (const std::string& name : names)
      if (unit->name == sha256(name)) found.insert(name);
  }
  return found;
}

struct Office : Desk {
  using Desk::Desk;
  bool note(const std::string& node, const Offer& offer, std::shared_ptr<const std::string> unit) {
    return world.ask<Renewed>(dispatcher, Note{node, offer.item, offer.token, std::move(unit)})
        .held;
  }
  void lose(const std::string& node) {
    caf::anon_send(dispatcher, NodeLost{node});
    world.run();
  }
};

const std::vector<std::string> names{"a", "b", "c", "whole"};

TEST_CASE("what a lost node has finished goes to the next holder") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    INFO("seed " << seed);
    Office office(seed);
    auto end = office.order(order_of("kernel", Gate::verify));
    auto first = office.claim("n1");
    CHECK_FALSE(first->journal);
    CHECK(office.note("n1", *first, unit_of("a", "1")));
    CHECK(office.note("n1", *first, unit_of("b", "2")));
    office.lose("n1");
    auto second = office.claim("n2");
    CHECK(names_in(*second, names) == std::set<std::string>{"a", "b"});
    CHECK(office.note("n2", *second, unit_of("c", "3")));
    office.lose("n2");
    auto third = office.claim("n1");
    CHECK(names_in(*third, names) == std::set<std::string>{"a", "b", "c"});
    CHECK(office.complete("n1", *third, passed_reply(Gate::verify)) == store::Completion::accepted);
    CHECK(end.came());
  }
}

TEST_CASE("a worker that died gives its work back with what it had finished") {
  Office office;
  auto end = office.order(order_of("kernel", Gate::verify));
  auto first = office.claim("n1");
  CHECK(office.note("n1", *first, unit_of("a", "1")));
  CHECK(office.complete("n1", *first, died_reply()) == store::Completion::accepted);
  CHECK(names_in(*office.claim("n2"), names) == std::set<std::string>{"a"});
  CHECK_FALSE(end.came());
}

TEST_CASE("the whole takes the place of its parts") {
  Office office;
  auto end = office.order(order_of("kernel", Gate::verify));
  auto first = office.claim("n1");
  office.note("n1", *first, unit_of("a", "1", "whole"));
  office.note("n1", *first, unit_of("b", "2", "whole"));
  office.note("n1", *first, unit_of("c", "3", "another"));
  office.note("n1", *first, unit_of("whole", "all"));
  office.lose("n1");
  CHECK(names_in(*office.claim("n2"), names) == std::set<std::string>{"c", "whole"});
}

TEST_CASE("who does not hold the lease has no say in the journal") {
  Office office;
  auto end = office.order(order_of("kernel", Gate::verify));
  auto first = office.claim("n1");
  Offer other = *first;
  ++other.token;
  CHECK_FALSE(office.note("n1", other, unit_of("a", "1")));
  CHECK_FALSE(office.note("n2", *first, unit_of("b", "2")));
  office.lose("n1");
  auto second = office.claim("n2");
  CHECK_FALSE(second->journal);
  CHECK_FALSE(office.note("n1", *first, unit_of("a", "late")));
  office.lose("n2");
  CHECK_FALSE(office.claim("n1")->journal);
}

TEST_CASE("a unit whose seal is broken is not kept") {
  Office office;
  auto end = office.order(order_of("kernel", Gate::verify));
  auto first = office.claim("n1");
  std::string damaged = *unit_of("a", "some bytes");
  damaged[damaged.size() / 2] ^= 1;
  office.note("n1", *first, std::make_shared<const std::string>(damaged));
  office.note("n1", *first, std::make_shared<const std::string>("no unit at all"));
  office.lose("n1");
  CHECK_FALSE(office.claim("n2")->journal);
}

TEST_CASE("a journal is of its own work, and gone with the verdict") {
  Office office;
  auto end = office.order(order_of("kernel", Gate::verify));
  auto other = office.order(order_of("another kernel", Gate::verify));
  auto first = office.claim("n1");
  auto second = office.claim("n2");
  office.note("n1", *first, unit_of("a", "1"));
  office.lose("n2");
  auto again = office.claim("n2");
  CHECK(again->item == second->item);
  CHECK_FALSE(again->journal);
  auto rows = [&] { return store::journal_of(*office.store, first->item)->size(); };
  CHECK(rows() == 1);
  office.complete("n1", *first, passed_reply(Gate::verify));
  CHECK(rows() == 0);
}

TEST_CASE("a journal outlives its owner's process, and is gone when the work is given up") {
  auto kept = memory_store();
  Digest item;
  {
    Office office(0, kept, 1);
    auto end = office.order(order_of("kernel", Gate::verify));
    auto first = office.claim("n1");
    item = first->item;
    office.note("n1", *first, unit_of("a", "1"));
  }
  Office office(0, kept, 2);
  auto end = office.order(order_of("kernel", Gate::verify));
  for (const char* node : {"n1", "n2", "n3"}) {
    auto offer = office.claim(node);
    CHECK(names_in(*offer, names) == std::set<std::string>{"a"});
    office.lose(node);
  }
  CHECK(end.came());
  CHECK(store::journal_of(*kept, item)->empty());
}

WorkReply outgrown_reply() {
  WorkReply reply;
  reply.outcome = WorkReply::Outcome::undecided;
  reply.verdict.gate = Gate::verify;
  reply.verdict.answer = Verdict::Answer::undecided;
  reply.verdict.reason_code = Reason::exhausted;
  reply.verdict.evidence = {std::string(short_of_memory), "it needed more", {}, "{}"};
  return reply;
}

TEST_CASE("work that memory did not suffice for goes on where there is more, and nowhere else") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    INFO("seed " << seed);
    Office office(seed);
    std::set<std::string> narrow{"memory:1000"}, roomy{"memory:2000"};
    auto end = office.order(order_of("kernel", Gate::verify));
    auto first = office.claim("n1", narrow);
    auto large = office.claim("n2", roomy);
    REQUIRE_FALSE(large.came());
    CHECK(office.note("n1", *first, unit_of("a", "1")));
    CHECK(office.complete("n1", *first, outgrown_reply()) == store::Completion::accepted);
    REQUIRE(large.came());
    CHECK(names_in(*large, names) == std::set<std::string>{"a"});
    office.lose("n2");
    auto again = office.claim("n3", narrow);
    CHECK_FALSE(again.came());
    CHECK(office.claim("n4")->token != 0);
    CHECK_FALSE(end.came());
  }
}

TEST_CASE("where nobody has more memory the answer is undecided, and says what it lacked") {
  Office office;
  auto end = office.order(order_of("kernel", Gate::verify));
  auto first = office.claim("n1", {"memory:1000"});
  auto second = office.claim("n2", {"memory:1000"});
  CHECK(office.complete("n1", *first, outgrown_reply()) == store::Completion::accepted);
  REQUIRE(end.came());
  CHECK(end->reply.verdict.reason_code == Reason::exhausted);
  CHECK(end->reply.verdict.evidence.reason == "it needed more");
  CHECK_FALSE(second.came());
}

TEST_CASE("what a node's work may take is read off its offers") {
  CHECK(memory_in({"gate:verify", "memory:4096", "tool:ptxas 13.0"}) == 4096);
  CHECK(memory_in({"gate:verify"}) == UINT64_MAX);
  CHECK(memory_in({"memory:"}) == 0);
  CHECK(memory_in({"memory:12x"}) == 0);
  CHECK(memory_in(offers_here(std::uint64_t{1} << 31)) == std::uint64_t{1} << 31);
}

TEST_CASE("a node passes on what its work has finished, before its end") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    INFO("seed " << seed);
    Office office(seed);
    NodeSettings settings;
    settings.name = "n1";
    int runs = 0;
    std::vector<std::string> journals;
    settings.runner = [&](const Errand& errand) {
      journals.push_back(errand.journal);
      errand.note(*unit_of("a", "1"));
      errand.note(*unit_of("b", "2"));
      return ++runs == 1 ? died_reply() : passed_reply(Gate::verify);
    };
    settings.tell = [](const std::string&, const Offer&, const std::string&) {};
    settings.aside = office.world.aside();
    caf::anon_send(office.world.spawn(node_actor, office.dispatcher, settings), Pull{});
    auto end = office.order(order_of("kernel", Gate::verify));
    office.world.pass(std::chrono::milliseconds(3000));
    REQUIRE(end.came());
    REQUIRE(journals.size() == 2);
    CHECK(journals[0].empty());
    CHECK(verifier_node::frames_of(journals[1])->size() == 2);
  }
}

TEST_CASE("a worker's words are read as they come, however they are cut") {
  std::string said;
  auto say = [&](char kind, const std::string& bytes) {
    said += kind + std::string(7, '\0') + static_cast<char>(bytes.size()) + bytes;
  };
  say(1, "first unit");
  say(1, "");
  say(2, "the reply");
  for (std::size_t step = 1; step <= said.size(); ++step) {
    std::vector<std::string> units;
    WorkerOutput output([&](const std::string& unit) { units.push_back(unit); });
    for (std::size_t at = 0; at < said.size(); at += step)
      output.take(std::string_view(said).substr(at, step));
    CHECK(units == std::vector<std::string>{"first unit", ""});
    CHECK(output.reply() == "the reply");
  }
  for (std::size_t size = 0; size < said.size(); ++size) {
    WorkerOutput output({});
    output.take(std::string_view(said).substr(0, size));
    CHECK(output.reply().empty());
  }
  WorkerOutput other({});
  other.take("what another program prints: not of a worker");
  CHECK(other.reply().empty());
}

}  // namespace
}  // namespace lathe::actors
