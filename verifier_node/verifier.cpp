// From modules to points, and what the points leave to conclude.

#include "verifier_node/verifier.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>

#include "verifier_node/binding.h"
#include "verifier_node/journal.h"
#include "verifier_node/name_text.h"
#include "verifier_node/units.h"

namespace lathe::verifier_node {
namespace {

Launch launch_of(const Contract& contract, const std::optional<Launch>& other) {
  return other ? *other : contract.launch;
}

UnsupportedPart part_of(const Error& error, bool of_reference) {
  UnsupportedPart part;
  part.of_reference = of_reference;
  part.line = error.place.line;
  part.column = error.place.column;
  part.why = error.what;
  part.instead = error.remedy;
  return part;
}

/// Partial results in another order stay within so much of the reference's largest and smallest.
constexpr double range_above = 1024;
constexpr double range_below = 0x1p60;

/// Integer data of at most so many values is drawn, so often.
constexpr double drawn_values_max = 65536;
/// And each value so often among the elements: what asks for one value is then seen.
constexpr double draws_of_a_value = 16;
constexpr std::uint64_t draws_min = 2;

/// The same instructions, launched alike: equal for every input, whatever that is.
bool one_text(const Sides& sides) {
  const Launch &a = sides.reference.launch, &b = sides.candidate.launch;
  return a.grid == b.grid && a.block == b.block && a.cluster == b.cluster &&
         ptx::normal_form(*sides.reference.module) == ptx::normal_form(*sides.candidate.module);
}

/// Without keys, which are of one point: they are compared there.
ptx::field::Summary counts_of(ptx::field::Summary summary) {
  for (auto* keys : {&summary.unguarded_keys, &summary.divisor_keys, &summary.signed_divisor_keys,
                     &summary.falling_keys, &summary.comparison_keys, &summary.winner_keys,
                     &summary.bounding_keys})
    keys->clear();
  summary.thresholds.clear();
  summary.sides.clear();
  return summary;
}

/// Keys of the candidate that the reference has not.
std::uint64_t not_among(const std::unordered_set<std::uint64_t>& candidate,
                        const std::unordered_set<std::uint64_t>& reference) {
  std::uint64_t count = 0;
  for (std::uint64_t key : candidate) count += reference.contains(key) ? 0 : 1;
  return count;
}

}  // namespace

Verifier::Verifier(const ptx::Module& reference, const ptx::Module& candidate,
                   const Contract& contract, const Options& options)
    : contract_(&contract), options_(&options), replay_(sides_) {
  sides_.contract = &contract;
  sides_.buffers = buffers_of(contract);
  sides_.parameters = parameter_bytes(contract);
  sides_.reference.module = &reference;
  sides_.candidate.module = &candidate;
  sides_.reference.launch = launch_of(contract, options.reference_launch);
  sides_.candidate.launch = launch_of(contract, options.candidate_launch);
  reference_range_ = {0, sides_.reference.launch.blocks()};
  candidate_range_ = {0, sides_.candidate.launch.blocks()};
}

bool Verifier::decode() {
  for (Side side : {Side::reference, Side::candidate}) {
    Subject& subject = side == Side::reference ? sides_.reference : sides_.candidate;
    Result<ptx::Program> program = ptx::decode(*subject.module, contract_->entry);
    bool of_reference = side == Side::reference;
    if (!program) {
      findings_.unsupported.push_back(part_of(program.error(), of_reference));
      const Error& error = program.error();
      undecided("unsupported",
                std::string("the ") + (of_reference ? "reference" : "candidate") +
                    " cannot be carried out: " + error.what +
                    (error.place.line == 0 ? std::string()
                                           : " (line " + std::to_string(error.place.line) + ")"));
      continue;
    }
    subject.program = *std::move(program);
    subject.lemmas = ptx::field::find_lemmas(subject.program);
    if (of_reference) continue;
    for (const ptx::Operation& op : subject.program.operations) {
      uses_copies_ |= op.effect == ptx::Effect::copy_async || op.effect == ptx::Effect::bulk_copy ||
                      op.effect == ptx::Effect::tensor_multiply ||
                      op.effect == ptx::Effect::tensor_copy;
    }
  }
  if (findings_.decided()) return false;
  if (sides_.candidate.program.parameter_bytes != sides_.reference.program.parameter_bytes) {
    undecided("unsupported", "the parameter lists of the two entries differ in size");
    return false;
  }
  if (options_->block_begin != 0 || options_->block_end != 0) {
    if (sides_.reference.launch.grid != sides_.candidate.launch.grid) {
      undecided("unsupported", "a range of blocks needs equal grids");
      return false;
    }
    std::uint64_t end = options_->block_end == 0 ? reference_range_.end : options_->block_end;
    end = std::min(end, reference_range_.end);
    reference_range_ = candidate_range_ = {std::min(options_->block_begin, end), end};
  }
  return true;
}

void Verifier::tell(std::uint64_t run, std::uint64_t done, std::uint64_t total) const {
  // Stress inputs are taken to need a quarter of what the points did.
  constexpr std::uint64_t parts = 1000;
  std::uint64_t points = parts * plan_.runs, stress = points / 4;
  std::uint64_t now = run < plan_.runs ? parts : stress;
  if (options_->progress) options_->progress(parts * run + now * done / total, points + stress);
}

Result<Done> Verifier::one_point(std::uint64_t number, PointResult& result) {
  PointRequest request;
  request.seed = options_->seed;
  request.point = number;
  request.watch_order = number == 0;
  request.remember_writers = number == 0;
  request.steps_max = options_->steps_max == 0 ? steps_most : options_->steps_max;
  request.reference_blocks = reference_range_;
  request.candidate_blocks = candidate_range_;
  request.threads = options_->threads;
  request.translations = &translations_;
  request.kept = options_->kept.get();
  request.reference = reference_name_;
  request.many = decided_by_shadows();
  PointUnit unit;
  request.sampled = &unit.sampled;
  request.progress = [&, number](std::uint64_t done, std::uint64_t total) {
    tell(number, done, total);
  };
  Journal* journal = request.journal = options_->journal.get();
  if (journal == nullptr) return run_one_point(request, result);
  request.unit = name_of_all(
      question_, name_of_point(reference_name_, plan_, request.seed, number, request.steps_max),
      request.many);
  if (std::optional<std::string> bytes = journal->find(request.unit))
    if (std::optional<PointUnit> known = read_unit<PointUnit>(*bytes)) {
      result = std::move(known->result);
      findings_.sampled = std::move(known->sampled);
      return recall_translation(sides_, plan_, request);
    }
  Result<Done> done = run_one_point(request, result);
  bool good = done && !result.difference && !result.stopped && result.races.empty();
  if (!good) return done;
  unit.result = result;
  journal->note({request.unit, {}, 0, unit_bytes(unit)});
  return done;
}

Result<Done> Verifier::run_one_point(const PointRequest& request, PointResult& result) {
  Result<PointResult> answer = run_point(sides_, plan_, request);
  if (!answer) return answer.error();
  if (past_sentinels(*answer)) {
    Plan exact = plan_;
    exact.sentinels_vanish = false;
    Result<PointResult> again = run_point(sides_, exact, request);
    if (!again) return again.error();
    if (!again->difference && !again->stopped) answer = std::move(again);
  }
  result = *std::move(answer);
  findings_.sampled = *request.sampled;
  return Done{};
}

/// Whether a difference may only be that of which terms were taken for 0: a program that scales its
/// sum down step by step passes 2^-10000 in none of them, where another does at once. Without
/// sentinels the two are told as the reals have them.
bool Verifier::past_sentinels(const PointResult& result) const {
  return plan_.sentinels_vanish && result.difference &&
         result.difference->kind == Difference::Kind::value && !result.stopped &&
         result.races.empty() && result.reference.sentinels + result.candidate.sentinels != 0;
}

void Verifier::take(const PointResult& result, std::uint64_t number) {
  Proof& proof = findings_.proof;
  proof.blocks = result.blocks;
  proof.blocks_total = sides_.reference.launch.blocks();
  proof.outputs_compared = result.outputs;
  findings_.outputs_translated = result.outputs - std::min(result.outputs, result.compared);
  proof.degree = std::max(proof.degree, result.degree);
  proof.points += plan_.points_each;
  if (!precision_) precision_ = result.precision;
  last_blocks_ = std::max(last_blocks_, result.last_blocks);
  last_runs_ = std::max(last_runs_, result.last_runs);
  steps_ += result.steps;
  blocks_run_ += result.blocks_run;
  reference_.add(counts_of(result.reference));
  candidate_.add(counts_of(result.candidate));
  unguarded_ += not_among(result.candidate.unguarded_keys, result.reference.unguarded_keys);
  for (std::uint64_t key : result.candidate.divisor_keys)
    unsigned_divisors_ += result.reference.divisor_keys.contains(key) ||
                                  result.reference.signed_divisor_keys.contains(key)
                              ? 0
                              : 1;
  note_own_windows(result);
  note_bounds(result);
  note_answers(result);
  follows_ |= !result.implied.empty();
  for (std::uint64_t key : result.candidate.comparison_keys)
    atoms_ +=
        result.reference.comparison_keys.contains(key) || result.implied.contains(key) ? 0 : 1;
  // A start is one of maxima that the reference has too.
  if (result.reference.maxima + result.reference.starts == 0 &&
      result.reference.winner_keys.empty())
    atoms_ += result.candidate.starts;
  for (const auto& [key, side] : result.candidate.sides)
    if (!result.reference.sides.contains(key) &&
        !result.reference.winner_keys.contains(side.comparison) &&
        !result.implied.contains(side.comparison))
      other_sides_.insert(side.instruction);
  out_of_range_ |= result.candidate.largest > range_above * result.reference.largest ||
                   result.candidate.smallest * range_below < result.reference.smallest;
  if (unguarded_at_ < 0) unguarded_at_ = result.candidate.unguarded_instruction;
  if (divisor_at_ < 0) divisor_at_ = result.candidate.divisor_instruction;
  literals_.insert(literals_.end(), result.literals.begin(), result.literals.end());
  if (number == 0) {
    inconclusive_ = result.inconclusive;
    reference_writers_ = result.reference_writers;
    candidate_writers_ = result.candidate_writers;
  } else {
    std::erase_if(inconclusive_, [&](std::uint64_t e) { return !result.inconclusive.contains(e); });
  }
}

/// Exponentials and reciprocals that the candidate alone computes. Where one is great may be as
/// narrow as one likes, so that what it adds there no point sees.
void Verifier::note_own_windows(const PointResult& result) {
  const ptx::field::Summary &reference = result.reference, &candidate = result.candidate;
  auto take = [&](std::int64_t at) {
    if (at >= 0 && !own_window_) own_window_ = at;
  };
  for (std::uint64_t key : candidate.falling_keys)
    if (!reference.falling_keys.contains(key) && !reference.unguarded_keys.contains(key))
      take(candidate.falling_instruction);
  if (reference.exponential_instruction < 0) take(candidate.exponential_instruction);
  // Of what the sign is not known there the reference may have said the same otherwise.
  if (reference.square_instruction < 0 && reference.unsigned_divisors == 0)
    take(candidate.square_instruction);
}

/// What an exponential stays below is the greatest of what the reference takes exponentials of, or
/// it may be above all of them.
void Verifier::note_bounds(const PointResult& result) {
  const ptx::field::Summary &reference = result.reference, &candidate = result.candidate;
  // Of a reference that takes none a candidate may take none either.
  if (reference.exponential_instruction < 0) return;
  if (high_bound_ || reference.bounds_cut || candidate.bounds_cut) return;
  for (std::uint64_t key : candidate.bounding_keys)
    if (!reference.bounding_keys.contains(key) && !reference.unguarded_keys.contains(key) &&
        !reference.falling_keys.contains(key))
      high_bound_ = candidate.bounded_instruction;
}

/// Shadows fall on both sides of what an input is compared with, if the contract admits both.
void Verifier::note_answers(const PointResult& result) {
  for (const auto& [key, side] : result.reference.sides) {
    if (side.linear) continue;
    Answers& answers = answers_[side.instruction];
    (side.negative ? answers.yes : answers.no) = true;
    answers.dropped |=
        !result.candidate.keys_cut && !result.candidate.comparison_keys.contains(side.comparison);
  }
}

Result<Done> Verifier::evaluate() {
  for (std::uint64_t number = 0; number < plan_.runs; ++number) {
    PointResult result;
    Result<Done> done = one_point(number, result);
    if (!done) return done.error();
    using Kind = Difference::Kind;
    bool shallow = result.difference && result.difference->kind == Kind::shallow;
    if (shallow && plan_.linked && plan_.levels < ptx::field::levels) {
      // Exponentials are nested deeper than was guessed: once more with all
      // levels.
      deepen(plan_);
      findings_.proof = {};
      number = ~std::uint64_t{0};
      continue;
    }
    bool words = plan_.symbolic &&
                 std::any_of(contract_->tensors.begin(), contract_->tensors.end(), may_be_words);
    if (words && (result.stopped || result.difference)) {
      // What is not a function of few bits, or not told equal so, is looked at again on drawn
      // values.
      plan_.symbolic = false;
      look_at_drawn_tensors();
      findings_.proof = {};
      number = ~std::uint64_t{0};
      continue;
    }
    take(result, number);
    if (result.last_blocks != 0) replay_all_blocks();
    trusts_copies_ |= result.trusts_copies;
    if (!result.races.empty()) return conclude_race(result.races.front(), result.order_follows_all);
    if (result.stopped) return conclude_stopped(*result.stopped);
    if (!result.difference) {
      if (plan_.one_if_undecided && !decided_by_shadows()) break;
      // What shadows choose is looked at on many blocks at least once.
      if (number + 1 == plan_.runs && decided_by_shadows() && !result.many) {
        ++plan_.runs;
        plan_.points += plan_.points_each;
      }
      continue;
    }
    bool may_be_weak =
        plan_.strict_maximum && result.difference->kind == Kind::value &&
        result.reference.maxima + result.candidate.maxima != 0 &&
        std::fabs(result.difference->reference_shadow - result.difference->candidate_shadow) <=
            1e-9 * std::fabs(result.difference->reference_shadow);
    if (may_be_weak) {
      plan_.strict_maximum = false;
      forget_points();
      plan_.runs = 32;
      plan_.points = plan_.runs * plan_.points_each;
      plan_.one_if_undecided = false;
      findings_.proof = {};
      number = ~std::uint64_t{0};
      continue;
    }
    return conclude_difference(*result.difference);
  }
  finish_points();
  return Done{};
}

/// What the points so far have said.
void Verifier::forget_points() {
  reference_ = candidate_ = {};
  unguarded_ = unsigned_divisors_ = atoms_ = 0;
  unguarded_at_ = divisor_at_ = -1;
  follows_ = false;
  own_window_.reset();
  high_bound_.reset();
  answers_.clear();
  other_sides_.clear();
  out_of_range_ = false;
  precision_.reset();
}

void Verifier::finish_points() {
  using enum Check;
  for (Check check : {equality, races, deadlock, bounds, inputs_unchanged, written_set})
    findings_.set(check, CheckState::passed);
  Proof& proof = findings_.proof;
  // The first prime of a chain, and every independent one, has its top bit set; outputs of
  // logarithms have residues only further down.
  bool logarithms = reference_.logarithms + candidate_.logarithms != 0;
  proof.prime_bits = plan_.prime_bits - (logarithms ? ptx::field::levels : 1);
  double one = 2.0 * static_cast<double>(std::max<std::uint64_t>(proof.degree, 1)) /
               std::ldexp(1, static_cast<int>(proof.prime_bits));
  proof.failure_probability = std::pow(std::min(one, 1.0), static_cast<double>(proof.points));
  proof.rigorous =
      !plan_.linked &&
      candidate_.comparisons + candidate_.winners + candidate_.maxima + candidate_.floors == 0;
  auto& assumed = proof.assumed;
  assumed = {"reals"};
  for (const auto& [bits, text] : plan_.readings)
    if (std::find(literals_.begin(), literals_.end(), bits) != literals_.end())
      assumed.push_back(text);
  auto note = [&](bool used, const char* text) {
    if (used) assumed.push_back(text);
  };
  ptx::field::Summary both = reference_;
  both.add(candidate_);
  note(both.exponentials != 0, "different exponents act as independent elements");
  note(both.maxima != 0, "a maximum as a keyed function of its set");
  note(!plan_.strict_maximum, "weak mode: maxima by the winner of the shadows");
  note(both.comparisons != 0, "comparisons of data follow shadows; other pieces are not seen");
  note(follows_, "no data pass a literal of the reference's comparisons that no point passes");
  note(both.sentinels != 0, "exponentials below 2^-10000 are 0");
  bool words = plan_.symbolic &&
               std::any_of(contract_->tensors.begin(), contract_->tensors.end(), may_be_words);
  note(words, "integer data by the multilinear extension of functions of its bits");
  note(both.saturations != 0, "conversions to eight bits do not saturate");
  note(both.integers != 0, "integers made of floats stay in the range of their type");
  note(both.floors != 0, "rounding to integers as a keyed function of the fraction");
  for (Side side : {Side::reference, Side::candidate}) assume_lemmas(side);
  if (last_blocks_ != 0)
    assumed.push_back(
        "the last block puts together what the others left: " + std::to_string(last_runs_) +
        " of " + std::to_string(last_blocks_) + " blocks were run as the last");
  note(trusts_copies_, "products read what cp.async brought without a fence between the proxies");
  note(both.bounds_cut, "what exponentials stay below is the maximum of no more than they are of");
  note(both.keys_cut, "divisors and exponentials beyond the first 2097152 were not compared");
}

/// Polynomials that were read as functions, in the order of the lines.
void Verifier::assume_lemmas(Side side) {
  const Subject& subject = sides_.at(side);
  const ptx::field::Summary& summary = side == Side::reference ? reference_ : candidate_;
  for (std::uint32_t operation :
       std::set<std::uint32_t>(summary.lemmas.begin(), summary.lemmas.end()))
    if (auto found = subject.lemmas.find(operation); found != subject.lemmas.end())
      findings_.proof.assumed.push_back(
          found->second.text() + " (" + (side == Side::reference ? "reference" : "candidate") +
          " line " + std::to_string(subject.line_of(operation)) + ")");
}

/// Integers are exact, so what holds for all of them is shown for those that were drawn: enough
/// where they are few.
void Verifier::look_at_drawn_tensors() {
  for (const Tensor& tensor : contract_->tensors) {
    bool read = tensor.role == Role::input || tensor.role == Role::inout;
    if (!read || carried_as_numbers(tensor) ||
        std::holds_alternative<Values::Zero>(tensor.values.kind) ||
        (plan_.symbolic && may_be_words(tensor)))
      continue;
    plan_.runs = std::max<std::uint64_t>(plan_.runs, draws_min);
    double elements = 1, values = possibilities(tensor);
    for (std::uint64_t extent : tensor.shape) elements *= static_cast<double>(extent);
    // Two stand for what is no data: indices and masks, each of which is looked at as an address.
    bool seldom = values * draws_of_a_value > static_cast<double>(plan_.runs) * elements;
    if (const auto* mask = std::get_if<Values::Mask>(&tensor.values.kind)) {
      double rarer = std::min(mask->density, 1 - mask->density);
      seldom = rarer * elements * static_cast<double>(plan_.runs) < draws_of_a_value;
      values = 3;
    }
    if (values > drawn_values_max || (values > 2 && seldom)) drawn_ = tensor.name;
    plan_.points = plan_.runs * plan_.points_each;
    plan_.one_if_undecided = false;
  }
}

Result<Findings> Verifier::run() {
  if (!decode()) return std::move(findings_);
  if (options_->kept || options_->journal) reference_name_ = name_of_reference(sides_);
  if (options_->kept) replay_.keep_in(options_->kept.get(), reference_name_);
  if (options_->journal) {
    question_ = name_of_question(sides_, *options_);
    translations_.note_in(options_->journal.get(), question_);
    replay_.note_in(options_->journal.get(), question_);
  }
  Polynomials polynomials;
  for (const Subject* subject : {&sides_.reference, &sides_.candidate})
    polynomials.take(subject->lemmas);
  if (sides_.same_runs()) replay_.use_one_program();
  // Parts of sums are compared with nothing.
  if (adds_across_blocks(sides_.reference) || adds_across_blocks(sides_.candidate))
    replay_all_blocks();
  plan_ = make_plan(*sides_.reference.module, *sides_.candidate.module, contract_->entry,
                    options_->points, polynomials);
  look_at_drawn_tensors();
  if (reference_range_.begin == reference_range_.end) {
    undecided("unsupported", "there is no block to compare");
    return std::move(findings_);
  }
  for (auto step :
       {&Verifier::check_end, &Verifier::evaluate, &Verifier::conclude_obligations,
        &Verifier::conclude_pieces, &Verifier::conclude_cancellation, &Verifier::check_late_copies,
        &Verifier::stress, &Verifier::conclude_circumstances, &Verifier::conclude_scopes}) {
    Result<Done> done = (this->*step)();
    if (!done) return done.error();
    if (findings_.decided()) return std::move(findings_);
  }
  if (findings_.proof.outputs_compared == 0) {
    undecided("unsupported", "the reference writes no output");
    return std::move(findings_);
  }
  if (!drawn_.empty() && one_text(sides_)) {
    findings_.proof.assumed.emplace_back("the two are one program but for names and layout");
  } else if (!drawn_.empty()) {
    undecided("sampled", "equal on " + std::to_string(plan_.runs) + " draws of tensor " + drawn_ +
                             ", whose integers are too many to be drawn");
    return std::move(findings_);
  }
  std::string translated;
  if (findings_.outputs_translated != 0)
    translated =
        ", " + std::to_string(findings_.outputs_translated) + " of them as translations of others";
  findings_.decide("proved", "equal",
                   "equal over the reals at " + std::to_string(findings_.proof.points) +
                       " points, " + std::to_string(findings_.proof.outputs_compared) +
                       " outputs compared" + translated);
  return std::move(findings_);
}

}  // namespace lathe::verifier_node
