// Running both sides in step, so that neither gets far ahead of the other.

#include "verifier_node/equality.h"

#include <algorithm>

#include "verifier_node/binding.h"

namespace lathe::verifier_node {

using ptx::field::FieldLaunch;
using ptx::field::FieldRunner;
using ptx::field::Point;
using ptx::field::PointOptions;
using ptx::field::Recipe;

namespace {

FieldLaunch launch_of(const Sides& sides, Side side, const PointRequest& request) {
  FieldLaunch launch;
  launch.program = &sides.at(side).program;
  launch.shape = sides.shape(side);
  launch.buffers = sides.buffers;
  launch.parameters = sides.parameters;
  launch.steps_max = request.steps_max;
  return launch;
}

/// Runs blocks of one side, one at a time, into the ledger.
class OneSide {
 public:
  OneSide(Side side, std::shared_ptr<const Point> point, FieldLaunch launch, BlockRange range)
      : side_(side), runner_(std::move(point), std::move(launch)), range_(range) {
    next_ = range.begin;
  }

  bool done() const { return next_ == range_.end; }
  double fraction() const {
    return range_.end == range_.begin ? 1
                                      : static_cast<double>(next_ - range_.begin) /
                                            static_cast<double>(range_.end - range_.begin);
  }
  FieldRunner& runner() { return runner_; }
  std::uint64_t last() const { return next_ - 1; }

  std::optional<StoppedBlock> step(Ledger& ledger, Writers* writers) {
    std::uint64_t block = next_++;
    FieldRunner::Outcome outcome = runner_.run(block);
    if (outcome.trap) return StoppedBlock{side_, block, *outcome.trap};
    ledger.take(side_, block, outcome.written);
    if (writers != nullptr)
      for (const ptx::field::Written& written : outcome.written) {
        auto& blocks = (*writers)[{written.tensor, written.element / 1024}];
        if (blocks.empty() || blocks.back() != block) blocks.push_back(block);
      }
    return std::nullopt;
  }

 private:
  Side side_;
  FieldRunner runner_;
  BlockRange range_;
  std::uint64_t next_ = 0;
};

}  // namespace

Result<PointResult> run_point(const Sides& sides, const Plan& plan, const PointRequest& request) {
  std::vector<std::string> sampled;
  Result<std::vector<Recipe>> recipes =
      recipes_of(*sides.contract, request.seed, request.point, sampled);
  if (!recipes) return recipes.error();
  if (request.sampled != nullptr) *request.sampled = sampled;
  PointOptions options{request.seed,        request.point, plan.linked,    plan.levels,
                       plan.strict_maximum, plan.squares,  plan.boundaries};
  Result<std::shared_ptr<const Point>> point = Point::make(options, *std::move(recipes));
  if (!point) return point.error();

  PointResult result;
  Ledger ledger(*sides.contract, **point);
  FieldLaunch candidate_launch = launch_of(sides, Side::candidate, request);
  candidate_launch.watch_order = request.watch_order;
  candidate_launch.schedule = request.schedule;
  OneSide reference(Side::reference, *point, launch_of(sides, Side::reference, request),
                    request.reference_blocks);
  OneSide candidate(Side::candidate, *point, candidate_launch, request.candidate_blocks);
  std::uint64_t total = (request.reference_blocks.end - request.reference_blocks.begin) +
                        (request.candidate_blocks.end - request.candidate_blocks.begin);
  for (std::uint64_t done = 0; !reference.done() || !candidate.done(); ++done) {
    bool first = !reference.done() && reference.fraction() <= candidate.fraction();
    OneSide& side = first || candidate.done() ? reference : candidate;
    Writers* writers = !request.remember_writers ? nullptr
                       : &side == &reference     ? &result.reference_writers
                                                 : &result.candidate_writers;
    result.stopped = side.step(ledger, writers);
    const ptx::OrderObserver* order = candidate.runner().order();
    if (order != nullptr && !order->findings().empty()) result.races = order->findings();
    if (request.progress && done % 16 == 0) request.progress(done, total);
    if (result.stopped || ledger.first() || !result.races.empty()) break;
  }
  bool complete = reference.done() && candidate.done() && !result.stopped && !ledger.first();
  if (complete) ledger.finish();
  result.difference = ledger.first();
  result.precision = ledger.precision();
  if (const ptx::OrderObserver* order = candidate.runner().order()) {
    result.order_follows_all = order->follows_all();
    result.trusts_copies = order->trusts_copies();
  }
  result.steps = reference.runner().steps() + candidate.runner().steps();
  result.peak_numbers =
      std::max(reference.runner().peak_numbers(), candidate.runner().peak_numbers());
  result.compared = ledger.compared();
  result.degree = ledger.degree();
  result.inconclusive = ledger.inconclusive();
  result.blocks = request.reference_blocks.end - request.reference_blocks.begin;
  result.reference = std::move(reference.runner().summary());
  result.candidate = std::move(candidate.runner().summary());
  result.literals = reference.runner().literals();
  std::vector<std::uint32_t> more = candidate.runner().literals();
  result.literals.insert(result.literals.end(), more.begin(), more.end());
  std::sort(result.literals.begin(), result.literals.end());
  result.literals.erase(std::unique(result.literals.begin(), result.literals.end()),
                        result.literals.end());
  return result;
}

}  // namespace lathe::verifier_node
