#include "store/export.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>

#include "base/files.h"
#include "base/random.h"
#include "tests/store/samples.h"

namespace lathe::store {
namespace {

using Step = std::function<void(const Store&, Batch&)>;

const Digest contract = digest_of("contract");

LedgerRecord money(std::uint64_t micro) {
  LedgerRecord record;
  record.reserved_micro = micro;
  record.model = "some-model";
  return record;
}

/// What a run of three rounds leaves, one commit a step. `run` and the local texts differ from
/// store to store; the knowledge does not.
std::vector<Step> knowledge(std::uint64_t run, const std::string& local) {
  std::vector<Step> steps;
  steps.push_back([=](const Store&, Batch& batch) {
    RunRecord record;
    record.settings_json = "{\"seed\":1}";
    record.local_json = local;
    record.contracts = {contract};
    batch.put(RunKey{{run}}, record).put(ContractKey{contract}, {"sum", "sm_90a", {}, {}});
  });
  for (std::uint64_t round = 1; round <= 3; ++round) {
    steps.push_back([=](const Store&, Batch& batch) {
      batch.put(RoundKey{run, contract, round}, {true, "{\"hypothesis\":\"latency\"}"});
    });
    for (std::uint64_t branch = 0; branch < 3; ++branch) {
      // The last branch of each round proposes what its neighbour did.
      Digest text = digest_of(std::to_string(round) + "/" + std::to_string(branch / 2));
      steps.push_back([=](const Store&, Batch& batch) {
        batch.put(CandidateKey{contract, text}, candidate(round, branch));
        ProposalRecord proposal;
        proposal.candidate = text;
        batch.put(ProposalKey{run, contract, round, branch, 0}, proposal);
        batch.event({"proposed", run, philox64(run, round, branch), 0, local});
      });
      steps.push_back([=](const Store&, Batch& batch) {
        keep_verdict(batch, {text, contract, Gate::test, "seed 1", "engine", "sm_90a"},
                     "\x81\xa1v\x01");
      });
      steps.push_back([=](const Store& store, Batch& batch) {
        (void)reserve(store, batch, {run, contract, round, branch, 0}, money(9));
      });
      steps.push_back([=](const Store& store, Batch& batch) {
        FrontierKey key{contract, 0, 1000 - round * 10 - branch / 2, text};
        (void)admit(store, batch, key, {});
      });
    }
  }
  return steps;
}

void carry_out(Store& store, const Step& step) {
  Batch batch;
  step(store, batch);
  REQUIRE(store.commit(std::move(batch)));
}

std::string exported(const Store& store, const std::optional<Digest>& contract = {}) {
  Result<std::string> text = export_text(store, contract);
  REQUIRE(text);
  return *text;
}

std::string straight() {
  auto store = Store::in_memory();
  for (const Step& step : knowledge(1, "here")) carry_out(*store, step);
  return exported(*store);
}

TEST_CASE("two stores with the same knowledge export the same bytes, whatever the order") {
  std::string expected = straight();
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    auto store = Store::in_memory();
    std::vector<Step> steps = knowledge(1, "here");
    for (std::size_t i = steps.size() - 1; i > 0; --i)
      std::swap(steps[i], steps[philox64(seed, 0, i) % (i + 1)]);
    for (const Step& step : steps) carry_out(*store, step);
    CHECK(exported(*store) == expected);
  }
}

TEST_CASE("steps that are done again leave no trace in the export") {
  auto store = Store::in_memory();
  std::vector<Step> steps = knowledge(1, "here");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    carry_out(*store, steps[i]);
    carry_out(*store, steps[philox64(5, 0, i) % (i + 1)]);
  }
  CHECK(exported(*store) == straight());
}

TEST_CASE("a run that is interrupted anywhere and begun again exports the same bytes") {
  Scratch scratch;
  std::string expected = straight();
  std::vector<Step> steps = knowledge(1, "here");
  for (std::size_t stop : {std::size_t{1}, steps.size() / 2, steps.size() - 1}) {
    std::filesystem::path path = scratch.path() / std::to_string(stop);
    {
      Result<std::unique_ptr<Store>> store = Store::open(path, roomy());
      REQUIRE(store);
      for (std::size_t i = 0; i < stop; ++i) carry_out(**store, steps[i]);
    }
    Result<std::unique_ptr<Store>> store = Store::open(path, roomy());
    REQUIRE(store);
    for (const Step& step : steps) carry_out(**store, step);
    CHECK(exported(**store) == expected);
    Result<std::unique_ptr<Store>> reader = Store::open_reader(path);
    REQUIRE(reader);
    CHECK(exported(**reader) == expected);
  }
}

TEST_CASE("run numbers, paths, names and times are not exported") {
  auto store = Store::in_memory();
  for (const Step& step : knowledge(4711, "/some/where/else")) carry_out(*store, step);
  CHECK(exported(*store) == straight());
  CHECK(exported(*store).find("some/where") == std::string::npos);
}

TEST_CASE("a difference in knowledge is a difference in the export") {
  std::string expected = straight();
  auto differs = [&](const Step& step) {
    auto store = Store::in_memory();
    for (const Step& known : knowledge(1, "here")) carry_out(*store, known);
    carry_out(*store, step);
    return exported(*store) != expected;
  };
  CHECK(differs([](const Store&, Batch& batch) {
    batch.put(RoundKey{1, contract, 3}, {true, "{\"hypothesis\":\"dram\"}"});
  }));
  CHECK(differs([](const Store& store, Batch& batch) {
    (void)settle(store, batch, {1, contract, 1, 0, 0}, 1, 1, 1);
  }));
  CHECK(differs([](const Store& store, Batch& batch) {
    (void)admit(store, batch, {contract, 1, 5, digest_of("1/0")}, {});
  }));
  CHECK(differs([](const Store&, Batch& batch) {
    keep_verdict(batch, {digest_of("1/0"), contract, Gate::test, "seed 2", "", ""}, "");
  }));
  CHECK_FALSE(differs([](const Store&, Batch& batch) { batch.event({"noise", 1, 99, 0, "{}"}); }));
}

TEST_CASE("one contract's export holds nothing of another") {
  auto store = Store::in_memory();
  for (const Step& step : knowledge(1, "here")) carry_out(*store, step);
  std::string alone = exported(*store, contract);
  Batch batch;
  Digest other = digest_of("other");
  batch.put(ContractKey{other}, {"gemm", "sm_89", {}, {}});
  batch.put(CandidateKey{other, digest_of("y")}, candidate(1, 0));
  batch.put(RoundKey{2, other, 1}, {});
  REQUIRE(store->commit(std::move(batch)));
  CHECK(exported(*store, contract) == alone);
  CHECK(exported(*store).find("gemm") != std::string::npos);
  CHECK(exported(*store, digest_of("nobody")) == "{\"schema\":\"lathe/store/1\"}\n");
}

TEST_CASE("a verdict's bytes are exported as JSON, and unreadable ones by their digest") {
  auto store = Store::in_memory();
  Batch batch;
  keep_verdict(batch, {digest_of("x"), contract, Gate::test, "", "", ""}, "\x81\xa1v\x01");
  keep_verdict(batch, {digest_of("y"), contract, Gate::test, "", "", ""}, "\xc1");
  REQUIRE(store->commit(std::move(batch)));
  std::string text = exported(*store);
  CHECK(text.find("\"verdict\":{\"v\":1}") != std::string::npos);
  CHECK(text.find("unreadable " + hex(sha256("\xc1"))) != std::string::npos);
}

}  // namespace
}  // namespace lathe::store
