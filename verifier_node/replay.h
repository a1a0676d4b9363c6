#pragma once

// Both programs on concrete inputs in the bits domain: stress runs, and the
// replay of what the field domain found, so that nothing is refuted that the
// emulator does not show.

#include <optional>

#include "contract/compare.h"
#include "contract/inputs.h"
#include "ptx/order.h"
#include "verifier_node/findings.h"
#include "verifier_node/kept.h"
#include "verifier_node/sides.h"

namespace lathe::verifier_node {

struct Replayed {
  std::optional<ptx::Trap> trap;
  std::vector<std::string> bytes;    // Of each tensor that may be written; poisoned before.
  std::vector<std::string> written;  // One byte a byte.
  std::vector<ptx::OrderFinding> races;
  bool order_follows_all = true;
  std::uint64_t steps = 0;  // Warp instructions.
};

/// What blocks to run for a value: of the reference, and those of the candidate
/// that write there.
struct StressPlan {
  std::vector<std::uint64_t> reference_blocks, candidate_blocks;
  bool both_wrote = false;  // Other blocks may write the rest: only what both wrote is compared.
};

class Replay {
 public:
  explicit Replay(const Sides& sides) : sides_(&sides) {}

  /// The inputs of the next runs.
  Result<Done> use_inputs(InputClass input_class, std::uint64_t seed);
  Replayed run(Side side, const std::vector<std::uint64_t>& blocks,
               ptx::AsyncSchedule schedule = ptx::AsyncSchedule::at_issue, bool watch_order = false,
               std::uint64_t steps_max = 0);
  /// From now on what the reference gives is kept there, under this name of it.
  void keep_in(Kept* kept, const Digest& reference) {
    kept_ = kept;
    reference_ = reference;
  }
  /// The reference on the inputs in use, from what is kept where it is there.
  std::shared_ptr<const Replayed> run_reference(const std::vector<std::uint64_t>& blocks);
  /// The first element that the reference wrote and the candidate has
  /// differently, beyond the tolerance; also one that it did not write.
  /// (where both must have: that is no difference).
  std::optional<Mismatch> compare(const Replayed& reference, const Replayed& candidate,
                                  const StressPlan& plan) const;
  InputClass input_class() const { return class_; }
  std::uint64_t input_seed() const { return seed_; }

 private:
  Replayed run_once(Side side, const std::vector<std::uint64_t>& blocks,
                    ptx::AsyncSchedule schedule, bool watch_order, std::uint64_t steps_max);
  Result<std::uint64_t> fill_touched();
  std::vector<double> wide(const std::vector<std::uint64_t>& blocks, std::size_t tensor) const;
  Result<Done> fill();

  const Sides* sides_;
  Kept* kept_ = nullptr;
  Digest reference_;
  InputClass class_ = InputClass::declared;
  std::uint64_t seed_ = 0;
  bool ready_ = false;
  /// A tensor's bytes, which of its pages are made, and which any run has touched.
  struct Input {
    std::string bytes;
    std::vector<std::uint8_t> pages, touched;
  };
  std::vector<Input> inputs_;
};

/// Runs both on an input and gives a witness where they part; an error where
/// the reference itself does not run.
Result<std::optional<Witness>> try_input(Replay& replay, const Sides& sides, const StressPlan& plan,
                                         InputClass input_class, std::uint64_t seed);

Witness value_witness(const Replay& replay, const Sides& sides, const Mismatch& mismatch);
Witness trap_witness(const Sides& sides, const ptx::Trap& trap);
Witness race_witness(const Sides& sides, const ptx::OrderFinding& race);

/// The reason code of a trap of the candidate: bounds, frame, deadlock, fault,
/// poison, exhausted or unsupported.
std::string code_of(ptx::TrapKind kind);
bool refutes(ptx::TrapKind kind);

}  // namespace lathe::verifier_node
