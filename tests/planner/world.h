#pragma once

// A world for the planner: answers its decisions by rule, in an order drawn from a seed.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "planner/planner.h"

namespace lathe::planner::world {

/// A kernel with a serial chain of additions and two divisions; `mark` makes candidates differ.
inline std::string kernel(int mark = 0) {
  std::string text =
      ".version 8.7\n.target sm_90a\n.address_size 64\n"
      ".visible .entry k(.param .u64 x, .param .u64 y)\n{\n"
      "  .reg .f32 %f<16>;\n  .reg .b64 %rd<8>;\n"
      "  ld.param.u64 %rd1, [x];\n  ld.param.u64 %rd2, [y];\n"
      "  ld.global.f32 %f1, [%rd1];\n  ld.global.f32 %f2, [%rd1+4];\n"
      "  add.f32 %f3, %f1, %f2;\n  add.f32 %f4, %f3, %f2;\n  add.f32 %f5, %f4, %f2;\n"
      "  add.f32 %f6, %f5, %f2;\n  div.full.f32 %f7, %f6, %f1;\n  div.full.f32 %f8, %f2, %f1;\n"
      "  add.f32 %f9, %f7, %f8;\n";
  for (int i = 0; i < mark; ++i) text += "  add.f32 %f9, %f9, %f9;\n";
  return text + "  st.global.f32 [%rd2], %f9;\n  ret;\n}\n";
}

inline std::shared_ptr<const Contract> contract() {
  auto made = std::make_shared<Contract>();
  made->name = "k";
  made->entry = "k";
  made->target = "sm_90a";
  made->ptx_isa = "8.7";
  made->reference = kernel();
  return made;
}

inline Verdict verdict(Gate gate, Verdict::Answer answer, std::string code = "",
                       std::string reason = "") {
  Verdict made;
  made.gate = gate;
  made.answer = answer;
  made.evidence.code = std::move(code);
  made.evidence.reason = std::move(reason);
  return made;
}

inline Timing timing(double time_ns, double incumbent_ns, std::string bound_by = "latency") {
  Timing made;
  made.device = "H200 (modelled)";
  made.time_ns = made.low_ns = made.high_ns = time_ns;
  made.incumbent_ns = incumbent_ns;
  made.baseline_ns = 1000;
  made.verdict = time_ns < incumbent_ns ? "faster" : time_ns > incumbent_ns ? "slower" : "same";
  made.bound_by = std::move(bound_by);
  made.reason = "fewer steps in the critical path";
  return made;
}

/// What the gates say; the default passes everything at 1000 ns.
struct World {
  std::map<Digest, double> time_ns;  // By candidate.
  std::map<std::pair<Digest, Gate>, Verdict> refusals;
  std::function<Proposal(const Assignment&)> propose;
  std::string bound_by = "latency";
  std::uint64_t seed = 0;
  std::vector<Decoy> decoys;

  // What happened.
  std::vector<std::string> log;  // Records, admissions, the end.
  std::map<std::pair<Digest, Gate>, int> evaluated;
  std::vector<Assignment> assignments;
  std::vector<RoundRecord> rounds;
  std::vector<Admit> admitted;
  std::optional<Finish> end;

  double time_of(const Digest& candidate) const {
    auto found = time_ns.find(candidate);
    return found == time_ns.end() ? 1000 : found->second;
  }

  Judged judge(const Evaluate& asked) {
    ++evaluated[{asked.candidate, asked.gate}];
    auto refused = refusals.find({asked.candidate, asked.gate});
    if (refused != refusals.end()) return {asked.candidate, asked.gate, refused->second, {}, {}};
    Judged judged{
        asked.candidate, asked.gate, verdict(asked.gate, Verdict::Answer::passed), {}, {}};
    if (asked.gate == Gate::benchmark)
      judged.timing = timing(time_of(asked.candidate),
                             time_of(candidate_digest(*asked.incumbent_ptx)), bound_by);
    if (asked.gate == Gate::verify) judged.proof = Proof{};
    return judged;
  }

  std::optional<Event> answer(const Decision& decision) {
    if (auto* asked = std::get_if<Propose>(&decision)) {
      assignments.push_back(asked->assignment);
      const Assignment& a = asked->assignment;
      return ProposalReceived{a.round, a.branch, a.turn, propose(a)};
    }
    if (auto* asked = std::get_if<Evaluate>(&decision)) return judge(*asked);
    if (auto* open = std::get_if<OpenRound>(&decision)) log.push_back(print(open->record));
    if (auto* admit = std::get_if<Admit>(&decision)) {
      admitted.push_back(*admit);
      log.push_back("admit " + hex(admit->candidate));
    }
    if (auto* close = std::get_if<CloseRound>(&decision)) {
      rounds.push_back(close->record);
      log.push_back(print(close->record));
    }
    if (auto* finish = std::get_if<Finish>(&decision)) {
      end = *finish;
      log.push_back("finish " + finish->reason);
    }
    return {};
  }

  void run(Planner& planner, std::vector<Event> first = {}) {
    std::vector<Event> waiting = std::move(first);
    waiting.push_back(Started{contract(), decoys});
    for (std::uint64_t step = 0; !waiting.empty() && step < 100'000; ++step) {
      std::size_t pick = seed == 0 ? 0 : philox64(seed, 0, step) % waiting.size();
      Event event = waiting[pick];
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(pick));
      for (const Decision& decision : planner.on(event))
        if (auto next = answer(decision)) waiting.push_back(*next);
    }
  }
};

inline Proposal proposal(std::string ptx) {
  Proposal made;
  made.ptx = std::move(ptx);
  made.explanation = "a change";
  return made;
}

inline Proposal failure(std::string code) {
  Proposal made;
  made.failure = Failure{std::move(code), "a reason"};
  return made;
}

}  // namespace lathe::planner::world
