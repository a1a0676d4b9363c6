#pragma once

// One verification from the two modules to its findings: the order of the
// steps, each of which may decide.

#include "verifier_node/equality.h"
#include "verifier_node/replay.h"
#include "verifier_node/verify.h"

namespace lathe::verifier_node {

class Verifier {
 public:
  Verifier(const ptx::Module& reference, const ptx::Module& candidate, const Contract& contract,
           const Options& options);

  Result<Findings> run();

 private:
  /// Of the draws of inputs' seeds.
  static constexpr std::uint64_t seed_stream = 0x5EED;
  /// Warp instructions of a block, where no limit was given.
  static constexpr std::uint64_t steps_most = 200'000'000;

  // verifier.cpp: each leaves findings_ undecided, or decides.
  bool decode();
  Result<Done> evaluate();
  Result<Done> one_point(std::uint64_t number, PointResult& result);
  Result<Done> run_one_point(const PointRequest& request, PointResult& result);
  bool past_sentinels(const PointResult& result) const;
  /// How far a run of a point is, or of the stress inputs, which come after all of them.
  void tell(std::uint64_t run, std::uint64_t done, std::uint64_t total) const;
  void take(const PointResult& result, std::uint64_t number);
  /// Whether shadows have chosen among pieces of a function.
  bool decided_by_shadows() const {
    auto decisions = [](const ptx::field::Summary& summary) {
      return summary.comparisons + summary.winners + summary.floors;
    };
    return decisions(reference_) + decisions(candidate_) != 0;
  }
  void note_own_windows(const PointResult& result);
  void note_bounds(const PointResult& result);
  void note_answers(const PointResult& result);
  void finish_points();
  void forget_points();
  void look_at_drawn_tensors();
  void assume_lemmas(Side side);

  // ends.cpp
  Result<Done> check_end();
  Result<std::string> needed_steps(const StoppedBlock& stopped);

  // conclude.cpp
  Result<Done> conclude_stopped(const StoppedBlock& stopped);
  Result<Done> conclude_race(const ptx::OrderFinding& race, bool follows_all);
  Result<Done> conclude_difference(const Difference& difference);
  Result<Done> conclude_frame(const Difference& difference);
  Result<Done> conclude_obligations();
  Result<Done> conclude_pieces();
  Result<Done> conclude_cancellation();
  Result<Done> conclude_circumstances();
  Result<Done> conclude_scopes();
  Result<Done> check_late_copies();
  Result<std::optional<Witness>> search(const StressPlan& plan);
  Result<std::optional<Witness>> search_sampled();
  Result<std::optional<Witness>> search_stopped(const StoppedBlock& stopped);
  /// The blocks where a difference is looked for.
  StressPlan blocks_of(std::uint64_t reference, std::uint64_t candidate) const;
  void replay_all_blocks();
  std::vector<std::uint64_t> candidate_blocks_of(const std::vector<std::uint64_t>& blocks) const;

  // stress.cpp
  Result<Done> stress();
  StressPlan sampled_blocks(std::uint64_t count) const;
  /// Blocks that are drawn, and then one of each further kind.
  struct StressChoice {
    std::vector<StressPlan> plans;
    std::uint64_t kinds = 0, kinds_left = 0;  // Of blocks of both sides.
  };
  StressChoice choose_blocks(std::uint64_t sampled, std::uint64_t most,
                             std::uint64_t at_once) const;
  Result<std::optional<Witness>> stress_input(const StressPlan& plan, InputClass input_class,
                                              std::uint64_t seed);
  Digest name_of_stress(const StressPlan& plan, InputClass input_class, std::uint64_t seed) const;
  std::uint64_t stress_seed() const;
  Result<bool> stress_class(InputClass input_class, const StressChoice& choice,
                            std::span<const InputClass> following);

  void refute(const Witness& witness, std::string code, std::string reason);
  void refute_by_input(const Witness& witness, std::string of_value);
  void undecided(std::string code, std::string reason) {
    findings_.decide("undecided", std::move(code), std::move(reason));
  }
  std::string name_of_element(const Difference& difference) const;

  const Contract* contract_;
  const Options* options_;
  Sides sides_;
  Plan plan_;
  Findings findings_;
  Replay replay_;
  Digest reference_name_;  // Where something is kept or noted.
  Digest question_;        // Where something is noted.
  BlockRange reference_range_, candidate_range_;
  // Of all points so far.
  std::optional<Difference> precision_;
  ptx::field::Summary reference_, candidate_;
  std::unordered_set<std::uint64_t> inconclusive_;
  std::vector<std::uint32_t> literals_;
  Writers reference_writers_, candidate_writers_;
  std::uint64_t unguarded_ = 0, unsigned_divisors_ = 0;  // Not the reference's.
  std::uint64_t atoms_ = 0;  // Comparisons of data that the reference does not make.
  bool follows_ = false;     // One follows from the reference's with another literal.
  std::unordered_set<std::uint32_t> other_sides_;  // Or makes with the other side of a tie.
  /// What comparisons of the reference were answered, by instruction, and whether the candidate
  /// did not make one of them.
  struct Answers {
    bool yes = false, no = false, dropped = false;
  };
  std::map<std::uint32_t, Answers> answers_;
  bool out_of_range_ = false;  // Magnitudes far from all that the reference reaches.
  std::int64_t unguarded_at_ = -1, divisor_at_ = -1;
  /// Where the candidate computes what may be great in a window that the reference has not.
  std::optional<std::int64_t> own_window_;
  /// Where a candidate's exponential stays below more than what the reference takes any of.
  std::optional<std::int64_t> high_bound_;
  std::uint64_t steps_ = 0, blocks_run_ = 0;
  Translations translations_;
  std::optional<std::optional<Witness>> searched_;  // What search_sampled found.
  std::string drawn_;  // A tensor of integers that are too many to be drawn.
  std::uint64_t last_blocks_ = 0, last_runs_ = 0;
  /// Blocks work together: the bits domain runs all of them or none of them.
  std::optional<StressPlan> all_blocks_;
  bool trusts_copies_ = false;
  bool uses_copies_ = false;
};

}  // namespace lathe::verifier_node
