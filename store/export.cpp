#include "store/export.h"

#include <map>
#include <set>

#include "base/json.h"

namespace lathe::store {
namespace {

using Lines = std::set<std::string>;  // Sorted, and equal knowledge once.

/// Bytes that are no UTF-8 are shown, never thrown.
std::string line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// A record of pipeline/codec.h as JSON. What cannot be read is named by its digest.
Json unpacked(const std::string& bytes) {
  if (bytes.empty()) return nullptr;
  Json json = Json::from_msgpack(bytes, true, false);
  return json.is_discarded() ? Json("unreadable " + hex(sha256(bytes))) : json;
}

Json parsed(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  return json.is_discarded() ? Json(text) : json;
}

Json name(const Digest& digest) { return is_none(digest) ? Json(nullptr) : Json(hex(digest)); }

class Export {
 public:
  Export(const Store& store, const std::optional<Digest>& contract)
      : store_(store), contract_(contract) {}

  Result<std::string> text() {
    for (auto part : {&Export::contracts, &Export::runs, &Export::candidates, &Export::proposals,
                      &Export::rounds, &Export::verdicts, &Export::ledger, &Export::frontier}) {
      lines_.clear();
      if (Result<Done> done = (this->*part)(); !done) return done.error();
      for (const std::string& line : lines_) text_ += line;
    }
    return text_;
  }

 private:
  /// The rows of a table that are asked for, each as one line.
  template <class Key, class Describe>
  Result<Done> each(Describe&& describe) {
    return store_.scan<Key>(prefix<Key>(), [&](const Key& key, const auto& record) {
      if (!contract_ || key.contract == *contract_) lines_.insert(line(describe(key, record)));
      return true;
    });
  }

  /// A run is known by what decides its results, not by its number.
  Json run_name(std::uint64_t run) {
    auto found = runs_.find(run);
    return found == runs_.end() ? Json(nullptr) : Json(found->second);
  }

  Result<Done> contracts() {
    return each<ContractKey>([](const ContractKey& key, const ContractRecord& record) {
      return Json{{"kind", "contract"},        {"contract", hex(key.contract)},
                  {"name", record.name},       {"target", record.target},
                  {"text", name(record.text)}, {"reference", name(record.reference)}};
    });
  }

  Result<Done> runs() {
    return store_.scan<RunKey>(prefix<RunKey>(), [&](const RunKey& key, const RunRecord& record) {
      std::string run = hex(sha256(record.settings_json));
      runs_[key.run.number] = run;
      bool asked = !contract_;
      std::set<std::string> contracts;
      for (const Digest& contract : record.contracts) {
        asked |= contract == contract_;
        contracts.insert(hex(contract));
      }
      if (asked)
        lines_.insert(line(Json{{"kind", "run"},
                                {"run", run},
                                {"settings", parsed(record.settings_json)},
                                {"contracts", contracts},
                                {"finished", record.state == RunState::finished},
                                {"outcome", record.outcome}}));
      return true;
    });
  }

  Result<Done> candidates() {
    return each<CandidateKey>([](const CandidateKey& key, const CandidateRecord& record) {
      return Json{{"kind", "candidate"},
                  {"contract", hex(key.contract)},
                  {"candidate", hex(key.candidate)},
                  {"ptx", name(record.ptx)},
                  {"parent", name(record.parent)},
                  {"family", record.family},
                  {"subagent", record.subagent},
                  {"explanation", record.explanation},
                  {"round", record.round},
                  {"branch", record.branch}};
    });
  }

  Result<Done> proposals() {
    return each<ProposalKey>([&](const ProposalKey& key, const ProposalRecord& record) {
      return Json{{"kind", "proposal"},
                  {"run", run_name(key.run)},
                  {"contract", hex(key.contract)},
                  {"round", key.round},
                  {"branch", key.branch},
                  {"turn", key.turn},
                  {"candidate", name(record.candidate)},
                  {"ptx", name(record.ptx)},
                  {"failure", record.failure},
                  {"family", record.family},
                  {"subagent", record.subagent},
                  {"explanation", record.explanation},
                  {"prompt", name(record.prompt)},
                  {"reply", name(record.reply)},
                  {"cost_micro", record.cost_micro},
                  {"tokens_in", record.tokens_in},
                  {"tokens_out", record.tokens_out}};
    });
  }

  Result<Done> rounds() {
    return each<RoundKey>([&](const RoundKey& key, const RoundRecord& record) {
      return Json{
          {"kind", "round"},    {"run", run_name(key.run)}, {"contract", hex(key.contract)},
          {"round", key.round}, {"closed", record.closed},  {"record", parsed(record.record_json)}};
    });
  }

  Result<Done> verdicts() {
    return each<VerdictKey>([](const VerdictKey& key, const VerdictRecord& record) {
      return Json{{"kind", "verdict"},
                  {"contract", hex(key.contract)},
                  {"candidate", hex(key.candidate)},
                  {"gate", name_of(static_cast<Gate>(key.gate))},
                  {"parameters", record.parameters},
                  {"toolchain", record.toolchain},
                  {"architecture", record.architecture},
                  {"verdict", unpacked(record.verdict)}};
    });
  }

  Result<Done> ledger() {
    return each<LedgerKey>([&](const LedgerKey& key, const LedgerRecord& record) {
      return Json{{"kind", "ledger"},
                  {"run", run_name(key.run)},
                  {"contract", hex(key.contract)},
                  {"round", key.round},
                  {"branch", key.branch},
                  {"turn", key.turn},
                  {"model", record.model},
                  {"settled", record.settled},
                  {"price_known", record.price_known},
                  {"reserved_micro", record.reserved_micro},
                  {"settled_micro", record.settled_micro},
                  {"tokens_in", record.tokens_in},
                  {"tokens_out", record.tokens_out}};
    });
  }

  Result<Done> frontier() {
    return each<FrontierKey>([](const FrontierKey& key, const FrontierRecord& record) {
      return Json{{"kind", "frontier"},
                  {"contract", hex(key.contract)},
                  {"proved", key.unproved == 0},
                  {"time_ps", key.time_ps},
                  {"candidate", hex(key.candidate)},
                  {"timing", unpacked(record.timing)},
                  {"proof", unpacked(record.proof)},
                  {"resources", parsed(record.resources_json)}};
    });
  }

  const Store& store_;
  const std::optional<Digest>& contract_;
  std::map<std::uint64_t, std::string> runs_;
  Lines lines_;
  std::string text_ = line(Json{{"schema", "lathe/store/1"}});
};

}  // namespace

Result<std::string> export_text(const Store& store, const std::optional<Digest>& contract) {
  return Export(store, contract).text();
}

}  // namespace lathe::store
