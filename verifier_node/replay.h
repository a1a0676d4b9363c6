#pragma once

// Both programs on concrete inputs in the bits domain: stress runs, and the
// replay of what the field domain found, so that nothing is refuted that the
// emulator does not show.

#include <array>
#include <map>
#include <optional>
#include <span>
#include <tuple>

#include "contract/compare.h"
#include "contract/inputs.h"
#include "ptx/footprint.h"
#include "ptx/order.h"
#include "verifier_node/findings.h"
#include "verifier_node/journal.h"
#include "verifier_node/kept.h"
#include "verifier_node/sides.h"
#include "verifier_node/units.h"

namespace lathe::verifier_node {

struct Replayed {
  std::optional<ptx::Trap> trap;
  std::vector<std::string> bytes;    // Of each tensor that may be written; poisoned before.
  std::vector<std::string> written;  // One byte a byte.
  std::vector<ptx::OrderFinding> races;
  bool order_follows_all = true;
  std::uint64_t steps = 0;  // Warp instructions.
  /// Where this is kept: of each tensor, which pages of its input were made, and their bytes.
  struct Made {
    std::vector<std::uint8_t> pages;
    std::string bytes;  // Of one page after the other.
  };
  std::vector<Made> inputs;
};

/// What blocks to run for a value: of the reference, and those of the candidate
/// that write there.
struct StressPlan {
  std::vector<std::uint64_t> reference_blocks, candidate_blocks;
  bool both_wrote = false;  // Other blocks may write the rest: only what both wrote is compared.
  bool operator==(const StressPlan&) const = default;
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
  /// From now on runs that end well are noted there, under the name of this question.
  void note_in(Journal* journal, const Digest& question) {
    journal_ = journal;
    question_ = question;
  }
  /// Of an input, all of whose runs have ended well: the whole that they are parts of.
  void begin_whole(const Digest& whole) { whole_ = whole; }
  /// Inputs of the same seed that the same blocks will be run on after the one in use, and the
  /// whole that those runs are parts of: as many of them as memory allows are run at once, and what
  /// the others give is there when they are asked for.
  struct Following {
    InputClass input_class = InputClass::declared;
    Digest whole;
  };
  void expect(std::vector<Following> following) { following_ = std::move(following); }
  /// Results that are there of inputs that follow.
  std::size_t beforehand() const { return beforehand_.size(); }
  /// Nothing more is expected, and what was made for it is not kept.
  void expect_nothing();
  /// Which pages the runs so far have touched: the next ones are likely to touch the same.
  TouchedPages touched() const;
  void take_touched(const TouchedPages& touched);
  /// From now on the candidate is the reference, text and launch: what one gives the other does.
  void use_one_program() { one_program_ = true; }
  /// The reference on the inputs in use, from what is kept where it is there.
  std::shared_ptr<const Replayed> run_reference(const std::vector<std::uint64_t>& blocks);
  /// The candidate on the same inputs; `reference` is what the reference gave on its blocks.
  std::shared_ptr<const Replayed> run_candidate(const std::vector<std::uint64_t>& blocks,
                                                const std::shared_ptr<const Replayed>& reference,
                                                const std::vector<std::uint64_t>& reference_blocks);
  /// The first element that the reference wrote and the candidate has
  /// differently, beyond the tolerance; also one that it did not write.
  /// What differs from the reference's own result must differ from the wide
  /// domain's too, where that can say.
  std::optional<Mismatch> compare(const Replayed& reference, const Replayed& candidate,
                                  const StressPlan& plan);
  InputClass input_class() const { return class_; }
  std::uint64_t input_seed() const { return seed_; }

 private:
  /// How blocks are run, one after the other.
  struct How {
    Side side = Side::reference;
    ptx::AsyncSchedule schedule = ptx::AsyncSchedule::at_issue;
    bool watch_order = false;
    std::uint64_t steps_max = 0;
  };
  using Blocks = std::span<const std::uint64_t>;
  /// A tensor's bytes, which of its pages are made, and which any run has touched.
  struct Input {
    std::shared_ptr<char> bytes;
    std::size_t size = 0;
    bool whole = false;  // All pages are made at once.
    std::vector<std::uint8_t> pages, touched;
  };
  using Inputs = std::vector<Input>;
  /// A run on an input that follows, beside that on the one in use.
  struct Beside {
    Following which;
    Inputs* inputs = nullptr;
    std::optional<Replayed> so_far;
  };
  using Memory = std::vector<std::byte*>;
  void prepare(Inputs& inputs) const;
  Replayed blank(const Inputs& inputs) const;
  Replayed begun(const std::optional<Replayed>& so_far, const Inputs& inputs) const;
  Memory memory_of(const Inputs& inputs, Replayed& part) const;
  ptx::FootprintObserver footprint_of(Replayed& part) const;
  ptx::Run run_of(const How& how) const;
  void take_pages(const ptx::FootprintObserver& footprint);
  void run_once(Blocks blocks, const How& how, Replayed& part);
  Replayed run_until_made(Blocks blocks, const How& how, const std::optional<Replayed>& so_far,
                          std::uint64_t& steps);
  void run_part(Blocks blocks, Blocks before, const How& how, std::optional<Replayed>& so_far,
                std::vector<Beside>& beside);
  std::size_t part_size(std::size_t blocks, const How& how) const;
  Digest name_of_part(Blocks blocks, Blocks before, const How& how, InputClass input_class) const;
  bool take(const RunUnit& unit, std::optional<Replayed>& so_far);
  bool take_noted(const Digest& name, std::optional<Replayed>& so_far);
  void note_part(const Digest& name, const Digest& whole, const Replayed& part,
                 std::uint64_t steps);
  using Asked = std::tuple<Side, InputClass, std::vector<std::uint64_t>>;
  static bool plain(const How& how) {
    return how.schedule == ptx::AsyncSchedule::at_issue && !how.watch_order && how.steps_max == 0;
  }
  std::size_t runs_at_once() const;
  std::vector<Beside> beside_of(const std::vector<std::uint64_t>& blocks, const How& how);
  bool likely_made(Side side) const;
  std::optional<std::uint64_t> run_at_once(Blocks blocks, const How& how,
                                           std::vector<Replayed*> parts,
                                           const std::vector<const Inputs*>& inputs);
  bool run_beside(Blocks blocks, const How& how, const std::optional<Replayed>& so_far,
                  std::vector<Beside>& beside, Replayed& part, std::vector<Replayed>& others,
                  std::uint64_t& steps);
  struct Row;
  Row row_of(std::size_t tensor, const Replayed& reference, const Replayed& candidate,
             bool both_wrote) const;
  Comparison compare_row(const Row& row, const std::vector<double>& wide) const;
  void compare_wide(const Row& row, const Replayed& reference, const StressPlan& plan,
                    Comparison& comparison);
  Result<std::uint64_t> fill_touched(bool all = true) { return fill(inputs_, class_, all); }
  Result<std::uint64_t> fill(Inputs& inputs, InputClass input_class, bool all);
  std::vector<Replayed::Made> made_inputs() const;
  void take_inputs(Inputs& into, const std::vector<Replayed::Made>& inputs);

  const Sides* sides_;
  Kept* kept_ = nullptr;
  Digest reference_;
  Journal* journal_ = nullptr;
  Digest question_, whole_;
  InputClass class_ = InputClass::declared;
  std::uint64_t seed_ = 0;
  bool ready_ = false, one_program_ = false;
  Inputs inputs_;
  std::vector<Following> following_;
  std::map<InputClass, Inputs> others_;  // Of those that follow; what is touched stands in inputs_.
  std::map<Asked, RunUnit> beforehand_;  // What they gave.
  std::array<bool, 2> parted_{}, ran_{};  // By side: whether runs at once end, and whether any did.
};

/// Runs both on an input and gives a witness where they part; an error where
/// one of them does not run: `malformed` where the candidate asks what nothing
/// has set.
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
