#pragma once

// How the planner's decisions and answers lie in the store, and the lines in which people hear of
// them. Functions of their arguments; none knows an actor.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "actors/search.h"
#include "planner/planner.h"
#include "store/deeds.h"

namespace lathe::actors {

/// Work that another waits for goes first: the gates in their order, proofs before timings.
std::uint64_t priority_of(Gate gate);

template <class Next>
Verdict verdict_of(const Step<Next>& step);
extern template Verdict verdict_of(const Step<Screened>& step);

std::string verdict_line(const Digest& candidate, const Verdict& verdict);
std::string proposal_line(const planner::Assignment& assignment, const planner::Proposal& proposal);

store::ProposalKey proposal_key(const Search& search, const planner::Assignment& assignment);
Result<Done> find_proposal(store::Store& store, const store::ProposalKey& key,
                           std::optional<planner::Proposal>& found);
Result<Done> keep_proposal(store::Store& store, const Search& search,
                           const planner::Assignment& assignment,
                           const planner::Proposal& proposal);
Result<Done> keep_open_round(store::Store& store, const Search& search,
                             const planner::RoundRecord& record);
Result<Done> keep_round(store::Store& store, const Search& search,
                        const std::vector<planner::Admit>& admitted,
                        const planner::CloseRound& close,
                        const std::map<Digest, std::string>& resources);
/// The end of the whole run: its outcome is that of each search, in their order.
Result<Done> keep_finish(store::Store& store, std::uint64_t run,
                         const std::vector<planner::Finish>& finishes);

}  // namespace lathe::actors
