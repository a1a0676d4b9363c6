// Running both sides in step, so that neither gets far ahead of the other.

#include "verifier_node/equality.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "verifier_node/binding.h"
#include "verifier_node/last_blocks.h"

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
  launch.lemmas = &sides.at(side).lemmas;
  return launch;
}

/// One block of one side.
struct Item {
  Side side;
  std::uint64_t block;
};

/// All blocks of both sides, so that neither gets far ahead of the other.
class Order {
 public:
  Order(BlockRange reference, BlockRange candidate) : left_{reference, candidate} {
    for (unsigned i = 0; i < 2; ++i)
      size_[i] = std::max<double>(1, static_cast<double>(left_[i].end - left_[i].begin));
  }
  bool done() const { return remaining(0) == 0 && remaining(1) == 0; }
  Item next() {
    bool first = static_cast<double>(remaining(0)) / size_[0] >=
                 static_cast<double>(remaining(1)) / size_[1];
    if (remaining(0) == 0) first = false;
    if (remaining(1) == 0) first = true;
    return {first ? Side::reference : Side::candidate, left_[first ? 0 : 1].begin++};
  }

 private:
  std::uint64_t remaining(unsigned side) const { return left_[side].end - left_[side].begin; }
  std::array<BlockRange, 2> left_;
  std::array<double, 2> size_;
};

/// What one thread runs blocks with.
struct Worker {
  FieldRunner reference, candidate;
  FieldRunner& of(Side side) { return side == Side::reference ? reference : candidate; }
};

/// Runs a wave of blocks, and gives their outcomes in its order.
std::vector<FieldRunner::Outcome> run_wave(std::vector<std::unique_ptr<Worker>>& workers,
                                           const std::vector<Item>& wave) {
  std::vector<FieldRunner::Outcome> outcomes(wave.size());
  std::atomic<std::size_t> next{0};
  auto work = [&](Worker& worker) {
    for (std::size_t i = next++; i < wave.size(); i = next++)
      outcomes[i] = worker.of(wave[i].side).run(wave[i].block);
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < workers.size() && i < wave.size(); ++i)
    threads.emplace_back(work, std::ref(*workers[i]));
  work(*workers[0]);
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

void note_writers(Writers& writers, std::uint64_t block,
                  const std::vector<ptx::field::Written>& written) {
  std::pair<std::size_t, std::uint64_t> last{~std::size_t{0}, 0};
  for (const ptx::field::Written& one : written) {
    std::pair<std::size_t, std::uint64_t> page{one.tensor, one.element / 1024};
    if (page == last) continue;
    last = page;
    auto& blocks = writers[page];
    if (blocks.empty() || blocks.back() != block) blocks.push_back(block);
  }
}

/// What all workers leave behind.
void gather(std::vector<std::unique_ptr<Worker>>& workers, PointResult& result) {
  for (std::unique_ptr<Worker>& worker : workers) {
    for (Side side : {Side::reference, Side::candidate}) {
      FieldRunner& runner = worker->of(side);
      result.steps += runner.steps();
      result.peak_numbers = std::max(result.peak_numbers, runner.peak_numbers());
      (side == Side::reference ? result.reference : result.candidate).add(runner.summary());
      std::vector<std::uint32_t> literals = runner.literals();
      result.literals.insert(result.literals.end(), literals.begin(), literals.end());
    }
    if (const ptx::OrderObserver* order = worker->candidate.order()) {
      result.order_follows_all &= order->follows_all();
      result.trusts_copies |= order->trusts_copies();
    }
  }
  std::sort(result.literals.begin(), result.literals.end());
  result.literals.erase(std::unique(result.literals.begin(), result.literals.end()),
                        result.literals.end());
}

/// The races that the first block in order has shown.
std::vector<ptx::OrderFinding> races_of(std::vector<std::unique_ptr<Worker>>& workers) {
  std::vector<ptx::OrderFinding> races;
  for (std::unique_ptr<Worker>& worker : workers) {
    const ptx::OrderObserver* order = worker->candidate.order();
    if (order == nullptr || order->findings().empty()) continue;
    const auto& found = order->findings();
    if (races.empty() || found.front().second.block < races.front().second.block) races = found;
  }
  return races;
}

/// Comparisons of the candidate with a literal whose answer follows from one of the same with
/// another literal, which the reference makes: below 1 is below 2.
std::unordered_set<std::uint64_t> implied(const Point& point, const PointResult& result,
                                          const std::vector<double>& literals) {
  ptx::field::Arithmetic arithmetic(point);
  std::unordered_set<std::uint64_t> out;
  const auto& known = result.reference.comparison_keys;
  for (const auto& [key, asked] : result.candidate.thresholds) {
    if (known.contains(key)) continue;
    for (double literal : literals) {
      double gap = asked.literal - literal, other = asked.shadow + gap;
      bool follows = asked.shadow < 0 ? other < 0 && gap > 0 : other > 0 && gap < 0;
      if (!follows) continue;
      ptx::field::Number difference;
      difference.r = asked.r;
      difference.valid = asked.valid;
      for (double part : {asked.literal, -literal})
        difference = arithmetic.add(difference, arithmetic.literal(part, ptx::Type::f32));
      std::uint64_t one = arithmetic.key_of(difference);
      if (known.contains(std::min(one, arithmetic.key_of(arithmetic.negate(difference)))))
        out.insert(key);
    }
    if (!out.contains(key)) return out;  // One that does not follow is enough.
  }
  return out;
}

/// Every block of a counter is the last once at the first point, up to so many.
constexpr std::uint64_t last_blocks_max = 64;

/// Runs the last blocks of both sides, and meets what they write.
void run_last_blocks(Worker& worker, std::array<LastBlocks, 2>& sides, const PointRequest& request,
                     Ledger& ledger, PointResult& result) {
  for (Side side : {Side::reference, Side::candidate}) {
    LastBlocks& last = sides[side == Side::reference ? 0 : 1];
    if (!last.any() || result.stopped) continue;
    std::uint64_t choices = request.point == 0 ? last_blocks_max : 1;
    for (const LastBlocks::Found& found : last.run(worker.of(side), choices, request.point * 7)) {
      if (found.trap) {
        result.stopped = StoppedBlock{side, found.block, *found.trap};
        return;
      }
      ledger.take(side, found.block, found.written);
    }
    result.last_blocks += last.blocks();
    result.last_runs += last.runs();
  }
}

PointOptions options_of(const Plan& plan, const PointRequest& request) {
  PointOptions options;
  options.seed = request.seed;
  options.index = request.point;
  options.linked = plan.linked;
  options.levels = plan.levels;
  options.points = plan.linked ? plan.points_each : 1;
  options.prime_bits = plan.prime_bits;
  options.strict_maximum = plan.strict_maximum;
  options.squares = plan.squares;
  options.boundaries = plan.boundaries;
  options.ties = plan.ties && request.point % 2 == 1;
  return options;
}

}  // namespace

Result<PointResult> run_point(const Sides& sides, const Plan& plan, const PointRequest& request) {
  std::vector<std::string> sampled;
  Result<std::vector<Recipe>> recipes =
      recipes_of(*sides.contract, request.seed, request.point, sampled, plan.symbolic);
  if (!recipes) return recipes.error();
  if (request.sampled != nullptr) *request.sampled = sampled;
  Result<std::shared_ptr<const Point>> point =
      Point::make(options_of(plan, request), *std::move(recipes));
  if (!point) return point.error();

  PointResult result;
  Ledger ledger(*sides.contract, **point);
  FieldLaunch candidate_launch = launch_of(sides, Side::candidate, request);
  candidate_launch.watch_order = request.watch_order;
  candidate_launch.schedule = request.schedule;
  std::vector<std::unique_ptr<Worker>> workers;
  // A cluster runs with the first of its blocks that is asked for, so one machine must be asked.
  bool clusters = sides.shape(Side::reference).cluster_blocks() > 1 ||
                  sides.shape(Side::candidate).cluster_blocks() > 1;
  unsigned threads = clusters ? 1 : std::max(1u, request.threads);
  for (unsigned i = 0; i < threads; ++i)
    workers.push_back(std::unique_ptr<Worker>(new Worker{
        {*point, launch_of(sides, Side::reference, request)}, {*point, candidate_launch}}));
  Order order(request.reference_blocks, request.candidate_blocks);
  std::uint64_t total = (request.reference_blocks.end - request.reference_blocks.begin) +
                        (request.candidate_blocks.end - request.candidate_blocks.begin);
  std::size_t wave_size = workers.size() == 1 ? 1 : 16 * workers.size();
  bool stopped = false;
  std::array<LastBlocks, 2> last_blocks;
  for (std::uint64_t done = 0; !order.done() && !stopped;) {
    std::vector<Item> wave;
    while (wave.size() < wave_size && !order.done()) wave.push_back(order.next());
    std::vector<FieldRunner::Outcome> outcomes = run_wave(workers, wave);
    for (std::size_t i = 0; i < wave.size() && !stopped; ++i, ++done) {
      const Item& item = wave[i];
      if (request.progress) request.progress(done + 1, total);
      if (outcomes[i].trap) result.stopped = StoppedBlock{item.side, item.block, *outcomes[i].trap};
      if (!last_blocks[item.side == Side::reference ? 0 : 1].note(item.block, outcomes[i]) &&
          !result.stopped) {
        ptx::Trap trap;
        trap.kind = ptx::TrapKind::undecided;
        trap.block = item.block;
        trap.what = "a block takes several tickets";
        result.stopped = StoppedBlock{item.side, item.block, trap};
      }
      if (!result.stopped) ledger.take(item.side, item.block, outcomes[i].written);
      if (!result.stopped && item.side == Side::candidate)
        ledger.note_reads(item.block, outcomes[i].initial_reads);
      if (!result.stopped && request.remember_writers)
        note_writers(
            item.side == Side::reference ? result.reference_writers : result.candidate_writers,
            item.block, outcomes[i].written);
      stopped = result.stopped || ledger.first();
    }
    result.races = races_of(workers);
    stopped |= !result.races.empty();
  }
  if (!stopped) run_last_blocks(*workers[0], last_blocks, request, ledger, result);
  stopped |= result.stopped.has_value();
  if (!stopped) ledger.finish();
  result.difference = ledger.first();
  result.precision = ledger.precision();
  result.compared = ledger.compared();
  result.degree = ledger.degree();
  result.inconclusive = ledger.inconclusive();
  result.blocks = request.reference_blocks.end - request.reference_blocks.begin;
  gather(workers, result);
  result.implied = implied(**point, result, plan.thresholds);
  return result;
}

}  // namespace lathe::verifier_node
