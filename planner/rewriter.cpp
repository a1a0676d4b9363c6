// The rewriting subagent: picks one of the rewrites that apply and makes the candidate's text.

#include "planner/planner.h"

namespace lathe::planner {
namespace {

class Rewriter : public Subagent {
 public:
  Result<Proposal> propose(const Assignment& assignment) override {
    Proposal proposal;
    proposal.family = assignment.family;
    std::uint32_t index = 0;
    for (const Rewrite& rewrite :
         rewrites(*assignment.module, assignment.contract->entry, assignment.contract->target,
                  assignment.contract.get())) {
      if (rewrite.family != assignment.family || index++ != assignment.variant) continue;
      auto text = ptx::apply(*assignment.module, rewrite.edits);
      if (!text) {
        proposal.failure = Failure{"edits", text.error().what};
        return proposal;
      }
      proposal.ptx = *std::move(text);
      proposal.explanation = rewrite.effect + "; " + rewrite.condition;
      return proposal;
    }
    proposal.failure =
        Failure{"none_left", index == 0 ? "no rewrite of this family applies to the parent"
                                        : "the parent has only " + std::to_string(index) +
                                              " rewrites of this family"};
    return proposal;
  }
};

}  // namespace

std::unique_ptr<Subagent> make_rewriter() { return std::make_unique<Rewriter>(); }

std::vector<std::string> offered_families(const ptx::Module& module, const Contract& contract) {
  std::vector<std::string> families;
  for (const Rewrite& rewrite : rewrites(module, contract.entry, contract.target, &contract))
    families.push_back(rewrite.family);
  return families;
}

}  // namespace lathe::planner
