// Both programs on every class of inputs that the contract admits: on blocks that are drawn, and on
// one of each kind besides.

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/random.h"
#include "pipeline/wide_result.h"
#include "verifier_node/journal.h"
#include "verifier_node/name_text.h"
#include "verifier_node/units.h"
#include "verifier_node/verifier.h"

namespace lathe::verifier_node {
namespace {

constexpr std::uint64_t block_stream = 0xB10C, kind_stream = 0x41ED;
/// Above so many warp instructions a block, the further classes run on fewer
/// blocks.
constexpr std::uint64_t long_block_steps = 40'000;
/// Blocks of further kinds are run on all classes for about so many warp instructions, or so many
/// of those that were run as numbers, each of which takes about sixteen times as long.
constexpr std::uint64_t further_steps = std::uint64_t{1} << 22;

/// Of one side's blocks: of which kinds some have been chosen.
class Kinds {
 public:
  Kinds(std::vector<std::uint32_t> of_blocks, std::uint64_t begin)
      : of_blocks_(std::move(of_blocks)), begin_(begin) {
    for (std::uint32_t kind : of_blocks_)
      seen_.resize(std::max<std::size_t>(seen_.size(), kind + 1));
  }
  void see(const std::vector<std::uint64_t>& blocks) {
    for (std::uint64_t block : blocks)
      if (block - begin_ < of_blocks_.size()) seen_[of_blocks_[block - begin_]] = true;
  }
  bool misses(const std::vector<std::uint64_t>& blocks) const {
    return std::any_of(blocks.begin(), blocks.end(), [&](std::uint64_t block) {
      return block - begin_ < of_blocks_.size() && !seen_[of_blocks_[block - begin_]];
    });
  }
  std::uint64_t all() const { return seen_.size(); }
  std::uint64_t unseen() const {
    return static_cast<std::uint64_t>(std::count(seen_.begin(), seen_.end(), false));
  }

 private:
  std::vector<std::uint32_t> of_blocks_;
  std::uint64_t begin_;
  std::vector<bool> seen_;
};

void set_in_order(std::vector<std::uint64_t>& blocks) {
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
}

/// The candidate's blocks of a plan of which all is compared: what their whole groups write.
std::vector<std::uint64_t> compared(const Translation& known, const StressPlan& plan,
                                    std::uint64_t reference_begin, std::uint64_t candidate_begin) {
  std::map<std::uint32_t, std::uint64_t> left;
  for (std::uint64_t block : plan.reference_blocks)
    left.try_emplace(known.reference_groups[block - reference_begin]);
  for (std::uint32_t group : known.reference_groups)
    if (auto found = left.find(group); found != left.end()) ++found->second;
  for (std::uint64_t block : plan.reference_blocks)
    --left[known.reference_groups[block - reference_begin]];
  std::vector<std::uint64_t> out;
  for (std::uint64_t block : plan.candidate_blocks)
    if (auto found = left.find(known.candidate_groups[block - candidate_begin]);
        found != left.end() && found->second == 0)
      out.push_back(block);
  return out;
}

/// 0 .. count - 1, as they are drawn.
std::vector<std::uint32_t> shuffled(std::size_t count, std::uint64_t seed) {
  std::vector<std::uint32_t> out(count);
  std::iota(out.begin(), out.end(), 0u);
  for (std::size_t i = count; i > 1; --i)
    std::swap(out[i - 1], out[philox64(seed, kind_stream, i) % i]);
  return out;
}

}  // namespace

StressPlan Verifier::sampled_blocks(std::uint64_t count) const {
  if (all_blocks_) return *all_blocks_;
  std::uint64_t begin = reference_range_.begin, total = reference_range_.end - begin;
  std::set<std::uint64_t> blocks;
  blocks.insert(begin);
  blocks.insert(begin + total - 1);
  const auto& grid = sides_.reference.launch.grid;
  if (count > 3 && grid[0] > 1 && grid[0] <= total) blocks.insert(begin + grid[0] - 1);
  for (std::uint64_t i = 0; blocks.size() < std::min(count, total) && i < 64 * count; ++i)
    blocks.insert(begin + philox64(options_->seed, block_stream, i) % total);
  StressPlan plan;
  plan.reference_blocks.assign(blocks.begin(), blocks.end());
  plan.candidate_blocks = candidate_blocks_of(plan.reference_blocks);
  return plan;
}

/// Blocks of every kind besides the sampled ones, as many as may be run. Where nobody knows which
/// blocks are alike, each is of its own kind.
Verifier::StressChoice Verifier::choose_blocks(std::uint64_t sampled, std::uint64_t most,
                                               std::uint64_t at_once) const {
  StressChoice out{{sampled_blocks(sampled)}, 0, 0};
  if (all_blocks_ || sides_.same_runs()) return out;
  const Translation* known = translations_.last();
  std::vector<std::uint32_t> alone(known != nullptr ? 0 : reference_range_.size());
  std::iota(alone.begin(), alone.end(), 0u);
  Kinds reference(known != nullptr ? known->reference_kinds : alone, reference_range_.begin);
  Kinds candidate(known != nullptr ? known->candidate_kinds : std::vector<std::uint32_t>{},
                  candidate_range_.begin);
  reference.see(out.plans.front().reference_blocks);
  if (known != nullptr)
    candidate.see(
        compared(*known, out.plans.front(), reference_range_.begin, candidate_range_.begin));
  std::uint64_t in_last = at_once;
  for (std::uint32_t i :
       shuffled(known != nullptr ? known->examples.size() : alone.size(), options_->seed)) {
    Translation::Blocks one = known != nullptr
                                  ? known->examples[i]
                                  : Translation::Blocks{{reference_range_.begin + i}, {}};
    if (!reference.misses(one.reference) && !candidate.misses(one.candidate)) continue;
    std::uint64_t size = std::max(one.reference.size(), one.candidate.size());
    if (size > most) continue;
    most -= size;
    reference.see(one.reference);
    candidate.see(one.candidate);
    if (in_last + size > at_once) out.plans.emplace_back(), in_last = 0;
    in_last += size;
    StressPlan& plan = out.plans.back();
    plan.reference_blocks.insert(plan.reference_blocks.end(), one.reference.begin(),
                                 one.reference.end());
    plan.candidate_blocks.insert(plan.candidate_blocks.end(), one.candidate.begin(),
                                 one.candidate.end());
  }
  for (std::size_t i = 1; i < out.plans.size(); ++i) {
    set_in_order(out.plans[i].reference_blocks);
    if (known == nullptr)
      out.plans[i].candidate_blocks = candidate_blocks_of(out.plans[i].reference_blocks);
    set_in_order(out.plans[i].candidate_blocks);
  }
  out.kinds = reference.all() + candidate.all();
  out.kinds_left = reference.unseen() + candidate.unseen();
  return out;
}

Digest Verifier::name_of_stress(const StressPlan& plan, InputClass input_class,
                                std::uint64_t seed) const {
  return name_of_all(question_, std::string("stress"), static_cast<unsigned>(input_class), seed,
                     plan.reference_blocks, plan.candidate_blocks);
}

std::uint64_t Verifier::stress_seed() const {
  return philox64(options_->seed, seed_stream, 0) >> 40;
}

/// One input of a class. Where nothing parted, that is a unit.
Result<std::optional<Witness>> Verifier::stress_input(const StressPlan& plan,
                                                      InputClass input_class, std::uint64_t seed) {
  Journal* journal = options_->journal.get();
  if (journal == nullptr) return try_input(replay_, sides_, plan, input_class, seed);
  Digest name = name_of_stress(plan, input_class, seed);
  if (std::optional<std::string> bytes = journal->find(name))
    if (std::optional<TouchedPages> touched = read_unit<TouchedPages>(*bytes)) {
      replay_.take_touched(*touched);
      return std::optional<Witness>{};
    }
  replay_.begin_whole(name);
  Result<std::optional<Witness>> witness = try_input(replay_, sides_, plan, input_class, seed);
  replay_.begin_whole({});
  if (witness && !*witness) journal->note({name, {}, 0, unit_bytes(replay_.touched())});
  return witness;
}

/// On blocks that were drawn, and on those of further kinds, as the classes that follow are; false
/// where something was decided.
Result<bool> Verifier::stress_class(InputClass input_class, const StressChoice& choice,
                                    std::span<const InputClass> following) {
  std::uint64_t seed = stress_seed(), blocks = 0;
  for (const StressPlan& plan : choice.plans) {
    std::vector<Replay::Following> next;
    for (InputClass other : following)
      if (Digest name = name_of_stress(plan, other, seed);
          options_->journal == nullptr || !options_->journal->knows(name))
        next.push_back({other, name});
    replay_.expect(std::move(next));
    Result<std::optional<Witness>> witness = stress_input(plan, input_class, seed);
    replay_.expect({});
    if (!witness) {
      undecided(witness.error().fault == Fault::malformed ? "poison" : "unsupported",
                witness.error().what);
      return false;
    }
    if (*witness) {
      findings_.set(Check::stress, CheckState::failed);
      refute_by_input(**witness,
                      "equal over the reals, but beyond the tolerance on inputs of class " +
                          std::string(name_of(input_class)));
      return false;
    }
    blocks += plan.reference_blocks.size();
  }
  findings_.proof.stress_blocks = std::max<std::uint64_t>(findings_.proof.stress_blocks, blocks);
  return true;
}

Result<Done> Verifier::stress() {
  std::vector<InputClass> classes = input_classes(*contract_);
  std::uint64_t each = std::max<std::uint64_t>(1, steps_ / std::max<std::uint64_t>(1, blocks_run_));
  // Both sides' blocks count.
  std::uint64_t most = std::max(further_steps, steps_) / (2 * each * classes.size());
  std::uint64_t at_once = std::max<std::uint64_t>(1, wide_steps_max / (2 * each));
  StressChoice all =
      choose_blocks(std::max<std::uint64_t>(options_->stress_blocks, 1), most, at_once);
  StressChoice few = each > long_block_steps ? choose_blocks(2, most, at_once) : all;
  bool alike = few.plans == all.plans;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    tell(plan_.runs, i, classes.size());
    bool first = classes[i] == InputClass::declared;
    std::span<const InputClass> following = std::span(classes).subspan(i + 1);
    Result<bool> goes_on = stress_class(
        classes[i], first ? all : few, first && !alike ? std::span<const InputClass>{} : following);
    if (!goes_on) return goes_on.error();
    if (!*goes_on) return Done{};
  }
  replay_.expect_nothing();
  if (few.kinds_left != 0)
    findings_.proof.assumed.push_back("as floats, blocks of " + std::to_string(few.kinds_left) +
                                      " of " + std::to_string(few.kinds) +
                                      " kinds do as those do on which stress inputs were run");
  findings_.set(Check::stress, CheckState::passed);
  return Done{};
}

}  // namespace lathe::verifier_node
