// What a finding of the points becomes: refuted where the bits domain replays
// it, else undecided.

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "base/random.h"
#include "ptx/trap_place.h"
#include "verifier_node/binding.h"
#include "verifier_node/circumstances.h"
#include "verifier_node/precision.h"
#include "verifier_node/verifier.h"

namespace lathe::verifier_node {
namespace {

/// Inputs of people's seeds are small numbers: a witness names one.
constexpr std::uint64_t declared_seeds = 3;

/// What a block writes may be a part of what an element becomes, or follow from what others wrote.
bool joins_blocks(const Contract& contract, const Subject& subject) {
  for (const Tensor& tensor : contract.tensors)
    if (tensor.role == Role::inout) return true;
  return adds_across_blocks(subject) ||
         std::any_of(subject.program.operations.begin(), subject.program.operations.end(),
                     [](const ptx::Operation& op) { return op.effect == ptx::Effect::bulk_copy; });
}

}  // namespace

void Verifier::refute(const Witness& witness, std::string code, std::string reason) {
  findings_.witness = witness;
  findings_.decide("refuted", std::move(code), std::move(reason));
}

/// By an input that was found: a difference for this reason, or what else the input has it do.
void Verifier::refute_by_input(const Witness& witness, std::string of_value) {
  static const std::map<std::string_view, std::string_view> deeds{
      {"bounds", "accesses memory outside of its buffers"},
      {"frame", "writes what it must leave as it is"},
      {"race", "has accesses without an order"},
      {"deadlock", "waits for what never comes"},
      {"fault", "ends in a fault"}};
  auto deed = deeds.find(witness.kind);
  if (deed != deeds.end()) {
    of_value = "on inputs of class " + witness.input_class + " it " + std::string(deed->second);
    if (!witness.candidate_lines.empty())
      of_value += " (line " + std::to_string(witness.candidate_lines.front()) + ")";
  }
  refute(witness, witness.kind, std::move(of_value));
}

std::string Verifier::name_of_element(const Difference& difference) const {
  const Tensor& tensor = contract_->tensors[difference.tensor];
  std::string text = tensor.name + "[";
  for (std::uint64_t index : index_of(tensor, difference.element))
    text += (text.back() == '[' ? "" : ", ") + std::to_string(index);
  return text + "]";
}

std::vector<std::uint64_t> Verifier::candidate_blocks_of(
    const std::vector<std::uint64_t>& blocks) const {
  std::set<std::uint64_t> wanted(blocks.begin(), blocks.end()), found;
  for (const auto& [page, writers] : reference_writers_) {
    if (std::none_of(writers.begin(), writers.end(),
                     [&](std::uint64_t block) { return wanted.contains(block); }))
      continue;
    if (auto other = candidate_writers_.find(page); other != candidate_writers_.end())
      found.insert(other->second.begin(), other->second.end());
  }
  return {found.begin(), found.end()};
}

void Verifier::replay_all_blocks() {
  if (all_blocks_) return;
  auto whole_grid = [](const Launch& launch) { return BlockRange{0, launch.blocks()}.blocks(); };
  all_blocks_ =
      StressPlan{whole_grid(sides_.reference.launch), whole_grid(sides_.candidate.launch)};
}

StressPlan Verifier::blocks_of(std::uint64_t reference, std::uint64_t candidate) const {
  return all_blocks_ ? *all_blocks_ : StressPlan{{reference}, {candidate}};
}

/// Every class, and some seeds of the declared one, until one parts the two.
Result<std::optional<Witness>> Verifier::search(const StressPlan& plan) {
  for (InputClass input_class : input_classes(*contract_)) {
    std::uint64_t seeds = input_class == InputClass::declared ? declared_seeds : 1;
    for (std::uint64_t i = 0; i < seeds; ++i) {
      std::uint64_t seed = philox64(options_->seed, seed_stream, i) >> 40;
      Result<std::optional<Witness>> witness = try_input(replay_, sides_, plan, input_class, seed);
      // Where the reference itself does not run, another input may do.
      if (witness && *witness) return witness;
    }
  }
  return std::optional<Witness>{};
}

/// The same for every doubt, so once: on sampled blocks.
Result<std::optional<Witness>> Verifier::search_sampled() {
  if (!searched_) {
    Result<std::optional<Witness>> found = search(sampled_blocks(4));
    if (!found) return found.error();
    searched_ = *std::move(found);
  }
  return *searched_;
}

/// The candidate's block in which the field domain stopped may still run in exact bits: beside all
/// others where they are few, else beside the reference's blocks that are as far in the grid.
Result<std::optional<Witness>> Verifier::search_stopped(const StoppedBlock& stopped) {
  constexpr std::uint64_t blocks_max = 8;
  if (joins_blocks(*contract_, sides_.reference) || joins_blocks(*contract_, sides_.candidate))
    return std::optional<Witness>{};
  if (std::max(candidate_range_.size(), reference_range_.size()) <= blocks_max)
    return search({reference_range_.blocks(), candidate_range_.blocks()});
  std::uint64_t of = sides_.candidate.launch.blocks(), all = sides_.reference.launch.blocks();
  std::uint64_t first = stopped.block * all / of;
  std::uint64_t last = std::max(first + 1, (stopped.block + 1) * all / of);
  BlockRange beside{first, std::min({last, first + blocks_max, all})};
  return search({beside.blocks(), {stopped.block}, true});
}

Result<Done> Verifier::conclude_stopped(const StoppedBlock& stopped) {
  using ptx::TrapKind;
  const ptx::Trap& trap = stopped.trap;
  std::string code = code_of(trap.kind);
  bool of_reference = stopped.side == Side::reference;
  const Subject& subject = sides_.at(stopped.side);
  std::string text =
      ptx::sentence(trap, subject.program, sides_.shape(stopped.side), sides_.buffers);
  // What an element turns out to be once its block has ended is of no line.
  if (trap.line != 0) text += " (line " + std::to_string(trap.line) + ")";
  if (of_reference || !refutes(trap.kind)) {
    UnsupportedPart part{of_reference, trap.line, trap.column, "", trap.what, ""};
    for (const ptx::Operation& op : subject.program.operations)
      if (op.line == trap.line && op.column == trap.column &&
          op.instruction < subject.program.texts.size())
        part.instruction = subject.program.texts[op.instruction];
    if (code == "unsupported" && !of_reference) {
      Result<std::optional<Witness>> witness = search_stopped(stopped);
      if (!witness) return witness.error();
      if (*witness) {
        refute_by_input(**witness, "it differs from the reference on exact bits: " + text);
        return Done{};
      }
    }
    if (code == "unsupported") findings_.unsupported.push_back(std::move(part));
    if (code == "exhausted") {
      Result<std::string> needs = needed_steps(stopped);
      if (!needs) return needs.error();
      text += *needs;
    }
    undecided(code == "exhausted" ? "exhausted" : "unsupported",
              (of_reference ? "the reference: " : "") + text);
    return Done{};
  }
  Check check = code == "bounds"     ? Check::bounds
                : code == "frame"    ? Check::inputs_unchanged
                : code == "deadlock" ? Check::deadlock
                                     : Check::races;
  findings_.set(check, CheckState::failed);
  for (InputClass input_class : input_classes(*contract_)) {
    Result<Done> ready = replay_.use_inputs(input_class, 1);
    if (!ready) return ready.error();
    Replayed replayed = replay_.run(Side::candidate, {stopped.block});
    // Watched, waits give up: what follows from that is shown by no other run.
    if (!replayed.trap) {
      replayed = replay_.run(Side::candidate, {stopped.block}, ptx::AsyncSchedule::at_issue, true);
      if (!replayed.races.empty())
        return conclude_race(replayed.races.front(), replayed.order_follows_all);
    }
    if (!replayed.trap || !refutes(replayed.trap->kind)) continue;
    Witness witness = trap_witness(sides_, *replayed.trap);
    witness.replayed = true;
    witness.input_class = name_of(input_class);
    witness.input_seed = 1;
    refute(witness, code_of(replayed.trap->kind), text);
    return Done{};
  }
  undecided("not_witnessed", text + "; the bits domain does not show it");
  return Done{};
}

Result<Done> Verifier::conclude_race(const ptx::OrderFinding& race, bool follows_all) {
  findings_.set(Check::races, CheckState::failed);
  std::string lines = "lines " + std::to_string(sides_.candidate.line_of(race.first.instruction)) +
                      " and " + std::to_string(sides_.candidate.line_of(race.second.instruction));
  if (!follows_all) {
    undecided("unsupported", "an order by fences or strong accesses is not followed: " + lines);
    return Done{};
  }
  Result<Done> ready = replay_.use_inputs(InputClass::declared, 1);
  if (!ready) return ready.error();
  for (auto schedule : {ptx::AsyncSchedule::at_issue, ptx::AsyncSchedule::at_wait}) {
    Replayed replayed = replay_.run(Side::candidate, {race.second.block}, schedule, true);
    if (replayed.races.empty()) continue;
    Witness witness = race_witness(sides_, replayed.races.front());
    witness.replayed = true;
    witness.input_class = name_of(InputClass::declared);
    witness.input_seed = 1;
    std::string_view why = ptx::explain(race.kind);
    refute(
        witness, "race",
        (why.empty() ? "two accesses of one place without order between them" : std::string(why)) +
            ", " + lines);
    return Done{};
  }
  undecided("not_witnessed", "a race that the bits domain does not show, " + lines);
  return Done{};
}

Result<Done> Verifier::conclude_frame(const Difference& difference) {
  findings_.set(Check::written_set, CheckState::failed);
  Result<Done> ready = replay_.use_inputs(InputClass::declared, 1);
  if (!ready) return ready.error();
  bool missing = difference.kind == Difference::Kind::missing;
  // One side wrote the element in the field; the other must not write it in the
  // bits domain.
  std::vector<std::uint64_t> blocks{missing ? difference.reference_block
                                            : difference.candidate_block};
  Side writer = missing ? Side::reference : Side::candidate;
  if (all_blocks_) blocks = missing ? all_blocks_->reference_blocks : all_blocks_->candidate_blocks;
  Replayed one = replay_.run(writer, blocks);
  std::size_t width =
      std::max<std::size_t>(1, bits_of(contract_->tensors[difference.tensor].dtype) / 8);
  bool wrote = !one.trap && one.written[difference.tensor][difference.element * width] != 0;
  std::string element = name_of_element(difference);
  std::string text =
      missing ? element + " is not written" : element + " is written, and should not";
  if (!wrote) {
    undecided("not_witnessed", text + "; the bits domain does not show it");
    return Done{};
  }
  Witness witness;
  witness.kind = "frame";
  witness.tensor = contract_->tensors[difference.tensor].name;
  witness.index = index_of(contract_->tensors[difference.tensor], difference.element);
  witness.blocks.push_back(block_index(sides_.at(writer).launch, blocks[0]));
  witness.replayed = true;
  witness.input_class = name_of(InputClass::declared);
  witness.input_seed = 1;
  refute(witness, "frame", text);
  return Done{};
}

Result<Done> Verifier::conclude_difference(const Difference& difference) {
  using Kind = Difference::Kind;
  std::string element = name_of_element(difference);
  switch (difference.kind) {
    case Kind::missing:
    case Kind::extra:
      return conclude_frame(difference);
    case Kind::shallow:
      undecided("unsupported", element + " nests exponentials deeper than the chain of primes");
      return Done{};
    case Kind::between:
      findings_.set(Check::races, CheckState::failed);
      undecided("not_witnessed",
                "one block reads " + element + ", which another writes, and blocks have no order");
      return Done{};
    default:
      break;
  }
  findings_.set(Check::equality, CheckState::failed);
  StressPlan plan = blocks_of(difference.reference_block, difference.candidate_block);
  Result<std::optional<Witness>> witness = search(plan);
  if (!witness) return witness.error();
  if (*witness) {
    refute_by_input(**witness, element + " differs");
    return Done{};
  }
  if (difference.kind == Kind::undefined) {
    undecided("poison", "an undefined value reaches " + element);
  } else if (difference.kind == Kind::twice) {
    undecided("not_witnessed", "two blocks write " + element);
  } else {
    undecided("not_witnessed",
              element +
                  " differs over the reals, but no input that was tried shows it; look at what "
                  "computes it, or try other inputs: --seed, --stress-blocks");
  }
  return Done{};
}

/// Roundings, divisors and guards: equal over the reals, but perhaps not as
/// floats.
Result<Done> Verifier::conclude_obligations() {
  auto set = [&](Check check, bool good) {
    findings_.set(check, good ? CheckState::passed : CheckState::failed);
  };
  set(Check::precision, !precision_);
  set(Check::divisors, unsigned_divisors_ == 0);
  set(Check::guards, unguarded_ == 0 && !high_bound_);
  if (!inconclusive_.empty()) {
    findings_.set(Check::equality, CheckState::skipped);
    undecided("unsupported", std::to_string(inconclusive_.size()) +
                                 " outputs were conclusive at no point; more points may help");
    return Done{};
  }
  if (!precision_ && unsigned_divisors_ == 0 && unguarded_ == 0 && !high_bound_) return Done{};
  Result<std::optional<Witness>> witness = search_sampled();
  if (!witness) return witness.error();
  auto line = [&](std::int64_t at) {
    return at < 0
               ? std::string()
               : " (line " +
                     std::to_string(sides_.candidate.line_of(static_cast<std::uint32_t>(at))) + ")";
  };
  if (*witness) {
    findings_.set(Check::stress, CheckState::failed);
    std::string why = precision_                ? "it rounds more often than the reference"
                      : unsigned_divisors_ != 0 ? "it divides by what may be zero"
                      : unguarded_ != 0         ? "an exponential has no guard"
                                                : "all of its exponentials may vanish";
    refute_by_input(**witness,
                    "equal over the reals, but beyond the tolerance on inputs of class " +
                        (*witness)->input_class + "; " + why);
  } else if (unguarded_ != 0) {
    undecided("unguarded", "unguarded exponential" + line(unguarded_at_));
  } else if (high_bound_) {
    undecided("unguarded",
              "an exponential stays below a maximum of more than what the reference takes "
              "exponentials of, which may be so great that all of them vanish" +
                  line(*high_bound_));
  } else if (unsigned_divisors_ != 0) {
    undecided("divisor", "divides by what may be zero" + line(divisor_at_));
  } else {
    undecided("precision", name_of_element(*precision_) +
                               " is rounded more often, or to fewer bits, than by the reference");
  }
  return Done{};
}

/// Equal on the pieces that the shadows entered, at the magnitudes that they had; but the candidate
/// has pieces that the reference has not, or goes where floats end and reals do not.
Result<Done> Verifier::conclude_pieces() {
  // The larger of two is among the atoms; of more, a set's function has no pieces, but in weak
  // mode.
  bool weak = !plan_.strict_maximum && candidate_.winners != 0 && reference_.winners == 0;
  // Which side of a tie an instruction takes was seen where it compared equals.
  bool ties = std::any_of(other_sides_.begin(), other_sides_.end(),
                          [&](std::uint32_t at) { return !candidate_.tied.contains(at); });
  bool compares = atoms_ != 0 || weak;
  // A piece of the reference's that no point entered is not compared: whoever makes the same
  // comparison may have the same one.
  auto unseen = std::find_if(answers_.begin(), answers_.end(), [](const auto& asked) {
    return asked.second.dropped && asked.second.yes != asked.second.no;
  });
  bool drops = unseen != answers_.end();
  bool new_pieces = compares || ties || drops || own_window_.has_value();
  std::optional<Coarse> coarse =
      coarse_function(*sides_.reference.module, *sides_.candidate.module, contract_->entry);
  // What the reference itself does not keep is no demand.
  if (!coarse && !below_contract(*sides_.reference.module, contract_->entry, contract_->precision))
    coarse = below_contract(*sides_.candidate.module, contract_->entry, contract_->precision);
  if (coarse) {
    findings_.set(Check::precision, CheckState::failed);
    undecided("precision", coarse->what + " (line " + std::to_string(coarse->line) + ")");
    return Done{};
  }
  if (!new_pieces && !out_of_range_) return Done{};
  Result<std::optional<Witness>> witness = search_sampled();
  if (!witness) return witness.error();
  std::string why =
      compares ? "it compares data that the reference does not compare, so that some inputs may "
                 "take a piece that no point entered"
      : own_window_
          ? "it takes an exponential or a reciprocal that the reference has not, and what "
            "it adds may be great in a window of the inputs that no point was in (line " +
                std::to_string(sides_.candidate.line_of(static_cast<std::uint32_t>(*own_window_))) +
                ")"
      : drops ? "the reference compares data (line " +
                    std::to_string(sides_.reference.line_of(unseen->first)) +
                    "), which came out alike at every point, and the candidate does not"
      : ties ? "of two computed values it asks < where the reference asks <=, and they were "
               "equal at no point"
             : "it passes through magnitudes far from all that the reference reaches, where "
               "floats overflow or vanish";
  if (*witness) {
    findings_.set(Check::stress, CheckState::failed);
    refute_by_input(**witness, "equal at the points, but " + why);
  } else {
    undecided(new_pieces ? "atom" : "not_witnessed", why);
  }
  return Done{};
}

/// Equal over the reals; but as floats a sum that is far smaller than its parts keeps their
/// roundings.
Result<Done> Verifier::conclude_cancellation() {
  // So many bits more than the reference's worst, over at least so many sums.
  constexpr double bits_most = 8;
  constexpr std::uint64_t sums_least = 16;
  const ptx::field::Cancellation &theirs = reference_.cancellation, &ours = candidate_.cancellation;
  double usual = 0, worst = 0;
  for (const auto& sums : theirs.by_instruction) usual = std::max(usual, sums.mean());
  std::int64_t at = -1;
  for (std::size_t i = 0; i < ours.by_instruction.size(); ++i) {
    const auto& sums = ours.by_instruction[i];
    if (sums.count < sums_least || sums.mean() <= worst) continue;
    worst = sums.mean();
    at = static_cast<std::int64_t>(i);
  }
  bool leaves = ours.leftover >= 0 && theirs.leftover < 0;
  if (!leaves && worst <= usual + bits_most) return Done{};
  findings_.set(Check::precision, CheckState::failed);
  Result<std::optional<Witness>> witness = search_sampled();
  if (!witness) return witness.error();
  std::string line = " (line " +
                     std::to_string(sides_.candidate.line_of(
                         static_cast<std::uint32_t>(leaves ? ours.leftover : at))) +
                     ")";
  std::string why =
      leaves ? "it makes what is 0 over the reals and roundings as floats, which the reference "
               "does without" +
                   line
             : "a sum is on the average 2^" + std::to_string(std::lround(worst)) +
                   " smaller than its parts, whose roundings it keeps, and no sum of the "
                   "reference's more than 2^" +
                   std::to_string(std::lround(usual)) + line;
  if (*witness) {
    findings_.set(Check::stress, CheckState::failed);
    refute_by_input(**witness, "equal at the points, but " + why);
  } else {
    undecided(leaves ? "not_witnessed" : "precision", why);
  }
  return Done{};
}

/// Every run had the same addresses and the same hardware; other launches have others.
Result<Done> Verifier::conclude_circumstances() {
  std::optional<Circumstance> found =
      deciding_circumstance(sides_.reference.program, sides_.candidate.program, *contract_);
  if (found)
    undecided(
        "circumstance",
        found->what + (found->line == 0 ? "" : " (line " + std::to_string(found->line) + ")"));
  return Done{};
}

/// Atomics of fewer threads than meet at a place are not atomic to one another, which no schedule
/// of whole blocks shows.
Result<Done> Verifier::conclude_scopes() {
  if (sides_.candidate.launch.blocks() == 1) return Done{};
  if (std::optional<std::uint32_t> narrow = narrow_atomic(sides_.candidate))
    undecided("unsupported",
              "an atomic of the scope of a block or cluster on memory that others "
              "reach too: .gpu is accepted (line " +
                  std::to_string(sides_.candidate.line_of(*narrow)) + ")");
  return Done{};
}

/// Copies that land as late as their waits allow, on sampled blocks.
Result<Done> Verifier::check_late_copies() {
  if (!uses_copies_) return Done{};
  Result<Done> ready = replay_.use_inputs(InputClass::declared, 1);
  if (!ready) return ready.error();
  std::vector<std::uint64_t> blocks = sampled_blocks(3).candidate_blocks;
  if (!all_blocks_) blocks.resize(std::min<std::size_t>(blocks.size(), 3));
  Replayed late = replay_.run(Side::candidate, blocks, ptx::AsyncSchedule::at_wait, true);
  if (!late.races.empty()) return conclude_race(late.races.front(), late.order_follows_all);
  if (!late.trap) return Done{};
  findings_.set(Check::races, CheckState::failed);
  if (!refutes(late.trap->kind)) {
    undecided("unsupported", late.trap->what);
    return Done{};
  }
  Witness witness = trap_witness(sides_, *late.trap);
  witness.replayed = true;
  witness.input_class = name_of(InputClass::declared);
  witness.input_seed = 1;
  refute(witness, code_of(late.trap->kind),
         late.trap->what + ", with copies that land as late as allowed (line " +
             std::to_string(late.trap->line) + ")");
  return Done{};
}

}  // namespace lathe::verifier_node
