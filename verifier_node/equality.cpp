// Running both sides in step, so that neither gets far ahead of the other.

#include "verifier_node/equality.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "base/random.h"
#include "verifier_node/binding.h"
#include "verifier_node/last_blocks.h"
#include "verifier_node/name_text.h"
#include "verifier_node/units.h"

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
  using Blocks = std::vector<std::uint64_t>;
  Order(const Blocks& reference, const Blocks& candidate) : blocks_{&reference, &candidate} {}
  std::uint64_t size() const { return blocks_[0]->size() + blocks_[1]->size(); }
  bool done() const { return remaining(0) == 0 && remaining(1) == 0; }
  Item next() {
    bool first = part_remaining(0) >= part_remaining(1);
    if (remaining(0) == 0) first = false;
    if (remaining(1) == 0) first = true;
    unsigned side = first ? 0 : 1;
    return {first ? Side::reference : Side::candidate, (*blocks_[side])[next_[side]++]};
  }

 private:
  std::size_t remaining(unsigned side) const { return blocks_[side]->size() - next_[side]; }
  double part_remaining(unsigned side) const {
    auto size = static_cast<double>(std::max<std::size_t>(1, blocks_[side]->size()));
    return static_cast<double>(remaining(side)) / size;
  }
  std::array<const Blocks*, 2> blocks_;
  std::array<std::size_t, 2> next_{};
};

const Translation* translation_of(const Sides& sides, const PointRequest& request,
                                  const std::vector<Recipe>& recipes) {
  if (request.translations == nullptr) return nullptr;
  TranslationRequest wanted;
  wanted.reference_blocks = request.reference_blocks;
  wanted.candidate_blocks = request.candidate_blocks;
  wanted.seed = request.seed;
  wanted.steps_max = request.steps_max;
  wanted.threads = request.threads;
  wanted.kept = request.kept;
  wanted.reference = request.reference;
  return request.translations->of(sides, recipes, wanted);
}

/// What one thread runs blocks with.
struct Worker {
  FieldRunner reference, candidate;
  FieldRunner& of(Side side) { return side == Side::reference ? reference : candidate; }
};

/// A block that was run, or of which it was known what it gives.
struct Ran {
  std::shared_ptr<const KeptBlock> block;
  bool known = false;
  /// As the order observer said, where a journal knows it.
  bool follows_all = true, trusts_copies = false;
};

/// Where a reference's blocks are kept, and those of both sides noted; nowhere where null.
struct KeptPoint {
  Kept* kept = nullptr;
  Digest name;
  Journal* journal = nullptr;
  Digest unit;  // The point's own.

  Digest unit_of(const Item& item) const {
    return name_of_all(unit, name, item.side == Side::reference, item.block);
  }
};

std::optional<Ran> noted_block(const Item& item, const KeptPoint& point) {
  if (point.journal == nullptr) return std::nullopt;
  std::optional<std::string> bytes = point.journal->find(point.unit_of(item));
  if (!bytes) return std::nullopt;
  std::optional<BlockUnit> unit = read_unit<BlockUnit>(*bytes);
  if (!unit) return std::nullopt;
  return Ran{std::make_shared<KeptBlock>(std::move(unit->block)), true, unit->follows_all,
             unit->trusts_copies};
}

Ran run_block(FieldRunner& runner, const Item& item, const KeptPoint& point) {
  bool keeps = point.kept != nullptr && item.side == Side::reference;
  if (keeps)
    if (std::shared_ptr<const KeptBlock> known = point.kept->block(point.name, item.block))
      return {known, true};
  if (std::optional<Ran> noted = noted_block(item, point)) return *std::move(noted);
  auto block = std::make_shared<KeptBlock>();
  std::uint64_t before = runner.steps();
  block->outcome = runner.run(item.block);
  if (!keeps && point.journal == nullptr) return {block, false};
  block->steps = runner.steps() - before;
  block->summary = std::exchange(runner.summary(), {});
  block->literals = runner.literals();
  if (keeps && !block->outcome.trap) point.kept->keep(point.name, item.block, block);
  return {block, false};
}

/// Runs a wave of blocks, and gives their outcomes in its order.
std::vector<Ran> run_wave(std::vector<std::unique_ptr<Worker>>& workers,
                          const std::vector<Item>& wave, const KeptPoint& point) {
  std::vector<Ran> outcomes(wave.size());
  std::atomic<std::size_t> next{0};
  auto work = [&](Worker& worker) {
    for (std::size_t i = next++; i < wave.size(); i = next++)
      outcomes[i] = run_block(worker.of(wave[i].side), wave[i], point);
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

/// What one block leaves behind.
void take_block(const Item& item, const Ran& ran, bool remember_writers, Ledger& ledger,
                PointResult& result) {
  const FieldRunner::Outcome& outcome = ran.block->outcome;
  (item.side == Side::reference ? result.reference : result.candidate).add(ran.block->summary);
  result.literals.insert(result.literals.end(), ran.block->literals.begin(),
                         ran.block->literals.end());
  if (ran.known) result.steps += ran.block->steps;
  result.order_follows_all &= ran.follows_all;
  result.trusts_copies |= ran.trusts_copies;
  if (outcome.trap) {
    result.stopped = StoppedBlock{item.side, item.block, *outcome.trap};
    return;
  }
  ledger.take(item.side, item.block, outcome.written);
  if (item.side == Side::candidate) ledger.note_reads(item.block, outcome.initial_reads);
  if (remember_writers)
    note_writers(item.side == Side::reference ? result.reference_writers : result.candidate_writers,
                 item.block, outcome.written);
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

/// What ran well, while nobody has broken an order.
void note_wave(const std::vector<std::unique_ptr<Worker>>& workers, const std::vector<Item>& wave,
               const std::vector<Ran>& outcomes, const KeptPoint& point) {
  if (point.journal == nullptr) return;
  BlockUnit unit;
  for (const std::unique_ptr<Worker>& worker : workers)
    if (const ptx::OrderObserver* order = worker->candidate.order()) {
      unit.follows_all &= order->follows_all();
      unit.trusts_copies |= order->trusts_copies();
    }
  for (std::size_t i = 0; i < wave.size(); ++i) {
    if (outcomes[i].known || outcomes[i].block->outcome.trap) continue;
    unit.block = *outcomes[i].block;
    point.journal->note({point.unit_of(wave[i]), point.unit, unit.block.steps, unit_bytes(unit)});
  }
}

/// A cluster runs with the first of its blocks that is asked for, so one machine must be asked.
bool has_clusters(const Sides& sides) {
  return sides.shape(Side::reference).cluster_blocks() > 1 ||
         sides.shape(Side::candidate).cluster_blocks() > 1;
}

std::vector<std::unique_ptr<Worker>> make_workers(const Sides& sides, const PointRequest& request,
                                                  const std::shared_ptr<const Point>& point,
                                                  const Translation* translation, bool one_block) {
  FieldLaunch candidate = launch_of(sides, Side::candidate, request);
  candidate.watch_order = request.watch_order;
  candidate.schedule = request.schedule;
  candidate.one_block = one_block;
  if (translation != nullptr) candidate.kinds = &translation->candidate_kinds;
  candidate.kinds_begin = request.candidate_blocks.begin;
  unsigned threads = has_clusters(sides) ? 1 : std::max(1u, request.threads);
  std::vector<std::unique_ptr<Worker>> workers;
  for (unsigned i = 0; i < threads; ++i)
    workers.push_back(std::unique_ptr<Worker>(
        new Worker{{point, launch_of(sides, Side::reference, request)}, {point, candidate}}));
  return workers;
}

Translation::Blocks blocks_to_run(const Translation* translation, const PointRequest& request) {
  if (translation == nullptr)
    return {request.reference_blocks.blocks(), request.candidate_blocks.blocks()};
  return request.many ? translation->many : translation->few;
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
constexpr std::uint64_t last_blocks_max = 128;
constexpr std::uint64_t last_stream = 0x1A57;

/// Runs the last blocks of both sides, and meets what they write.
void run_last_blocks(Worker& worker, std::array<LastBlocks, 2>& sides, const PointRequest& request,
                     Ledger& ledger, PointResult& result) {
  for (Side side : {Side::reference, Side::candidate}) {
    LastBlocks& last = sides[side == Side::reference ? 0 : 1];
    if (!last.any() || result.stopped) continue;
    std::uint64_t choices = request.point == 0 ? last_blocks_max : 1;
    std::uint64_t draw = philox64(request.seed, last_stream, request.point);
    for (const LastBlocks::Found& found : last.run(worker.of(side), choices, draw)) {
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

StoppedBlock stopped_by(const Item& item, std::string what) {
  ptx::Trap trap;
  trap.kind = ptx::TrapKind::undecided;
  trap.block = item.block;
  trap.what = std::move(what);
  return {item.side, item.block, trap};
}

/// What holds of the blocks that those which were run stand for.
void note_translation(const Translation* translation, const PointRequest& request,
                      PointResult& result) {
  result.outputs = translation ? translation->outputs : result.compared;
  result.many = !translation || request.many;
  if (!translation || !request.remember_writers) return;
  result.reference_writers = translation->reference_writers;
  result.candidate_writers = translation->candidate_writers;
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
  options.sentinels_vanish = plan.sentinels_vanish;
  options.squares = plan.squares;
  options.boundaries = plan.boundaries;
  options.ties = plan.ties && request.point % 2 == 1;
  return options;
}

}  // namespace

Result<Done> recall_translation(const Sides& sides, const Plan& plan, const PointRequest& request) {
  std::vector<std::string> sampled;
  Result<std::vector<Recipe>> recipes =
      recipes_of(*sides.contract, request.seed, request.point, sampled, plan.symbolic);
  if (!recipes) return recipes.error();
  translation_of(sides, request, *recipes);
  return Done{};
}

Result<PointResult> run_point(const Sides& sides, const Plan& plan, const PointRequest& request) {
  std::vector<std::string> sampled;
  Result<std::vector<Recipe>> recipes =
      recipes_of(*sides.contract, request.seed, request.point, sampled, plan.symbolic);
  if (!recipes) return recipes.error();
  if (request.sampled != nullptr) *request.sampled = sampled;
  const Translation* translation = translation_of(sides, request, *recipes);
  Result<std::shared_ptr<const Point>> point =
      Point::make(options_of(plan, request), *std::move(recipes));
  if (!point) return point.error();

  PointResult result;
  Ledger ledger(*sides.contract, **point);
  Translation::Blocks blocks = blocks_to_run(translation, request);
  std::vector<std::unique_ptr<Worker>> workers =
      make_workers(sides, request, *point, translation, blocks.candidate.size() == 1);
  Order order(blocks.reference, blocks.candidate);
  KeptPoint kept;
  if (!has_clusters(sides))
    kept = {request.kept,
            name_of_point(request.reference, plan, request.seed, request.point, request.steps_max),
            request.journal, request.unit};
  std::uint64_t total = order.size();
  std::size_t wave_size = workers.size() == 1 ? 1 : 16 * workers.size();
  bool stopped = false;
  std::array<LastBlocks, 2> last_blocks;
  for (std::uint64_t done = 0; !order.done() && !stopped;) {
    std::vector<Item> wave;
    while (wave.size() < wave_size && !order.done()) wave.push_back(order.next());
    std::vector<Ran> outcomes = run_wave(workers, wave, kept);
    result.races = races_of(workers);
    if (result.races.empty()) note_wave(workers, wave, outcomes, kept);
    for (std::size_t i = 0; i < wave.size() && !stopped; ++i, ++done) {
      if (request.progress) request.progress(done + 1, total);
      bool one_ticket = last_blocks[wave[i].side == Side::reference ? 0 : 1].note(
          wave[i].block, outcomes[i].block->outcome);
      take_block(wave[i], outcomes[i], request.remember_writers && !translation, ledger, result);
      if (!one_ticket && !result.stopped)
        result.stopped = stopped_by(wave[i], "a block takes several tickets");
      stopped = result.stopped || ledger.first();
    }
    stopped |= !result.races.empty();
  }
  if (!stopped) run_last_blocks(*workers[0], last_blocks, request, ledger, result);
  stopped |= result.stopped.has_value();
  if (!stopped) ledger.finish();
  result.difference = ledger.first();
  result.precision = ledger.precision();
  result.compared = ledger.compared();
  result.blocks_run = total;
  note_translation(translation, request, result);
  result.degree = ledger.degree();
  result.inconclusive = ledger.inconclusive();
  result.blocks = request.reference_blocks.size();
  gather(workers, result);
  result.implied = implied(**point, result, plan.thresholds);
  return result;
}

}  // namespace lathe::verifier_node
