#pragma once

// The written elements of both programs at one point, met element by element. An element is held
// only until both sides have written it, so that the memory is that of what one side is ahead.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "contract/contract.h"
#include "ptx/field_run.h"

namespace lathe::verifier_node {

enum class Side : std::uint8_t { reference, candidate };

struct Difference {
  enum class Kind : std::uint8_t {
    value,      // Residues, specials or exact bits differ.
    shadow,     // Residues agree or say nothing, shadows do not.
    precision,  // Equal over the reals, with more roundings than the reference.
    missing,    // The reference writes it, the candidate does not.
    extra,      // The other way round.
    twice,      // Two blocks of the candidate write different values.
    undefined,  // An undefined value reaches it.
    shallow,    // No residue is left on either side.
    between,    // A block of the candidate reads what another writes.
  };
  Kind kind = Kind::value;
  std::size_t tensor = 0;
  std::uint64_t element = 0;
  std::uint64_t reference_block = 0, candidate_block = 0;
  double reference_shadow = 0, candidate_shadow = 0;
};

class Ledger {
 public:
  Ledger(const Contract& contract, const ptx::field::Point& point);

  void take(Side side, std::uint64_t block, const std::vector<ptx::field::Written>& written);
  /// What a block of the candidate read before it wrote it.
  void note_reads(std::uint64_t block,
                  const std::vector<std::pair<std::uint32_t, std::uint64_t>>& reads);
  /// After all blocks of both sides.
  void finish();

  const std::optional<Difference>& first() const { return first_; }
  /// A precision difference does not hide what else differs.
  const std::optional<Difference>& precision() const { return precision_; }
  std::uint64_t compared() const { return compared_; }
  std::uint64_t degree() const { return degree_; }
  /// Of tensor * 2^40 + element: equal as far as can be said, but no slot was conclusive.
  const std::unordered_set<std::uint64_t>& inconclusive() const { return inconclusive_; }
  std::uint64_t written_twice() const { return twice_; }

 private:
  enum State : std::uint8_t { none, reference_waits, candidate_waits, met };
  struct Record {
    ptx::field::Residues r{};
    std::uint32_t block = 0;
    double shadow = 0;
    std::uint64_t bits = 0;
    ptx::field::Rounds rounds;
    std::uint16_t degree = 0;
    ptx::field::Slots valid = 0, taint = 0;
    ptx::field::Special special = ptx::field::Special::finite;
  };
  static Record record_of(const ptx::field::Number& number, std::uint64_t bits,
                          std::uint64_t block);
  static constexpr std::uint64_t page_elements = 1024;
  struct Page {
    std::array<Record, page_elements> records;
    std::uint32_t met = 0;
  };
  struct TensorPages {
    bool compared = true, number = true;
    std::vector<std::uint8_t> states;
    std::vector<std::unique_ptr<Page>> pages;
  };

  void take_one(Side side, std::uint64_t block, const ptx::field::Written& written);
  void take_record(Side side, std::size_t tensor, std::uint64_t element, const Record& record);
  void finish_sums(Side side);
  void check_between();
  void meet(std::size_t tensor, std::uint64_t element, const Record& reference,
            const Record& candidate);
  void differ(Difference::Kind kind, std::size_t tensor, std::uint64_t element,
              const Record& reference, const Record& candidate);

  /// What blocks added to an element by atomics.
  struct Sum {
    ptx::field::Number number;
    std::uint64_t block = 0;
  };
  using Sums = std::map<std::pair<std::size_t, std::uint64_t>, Sum>;
  /// The block that did something to an element, plus one; none, or several.
  static constexpr std::uint32_t several = ~std::uint32_t{0};
  static void mark(std::uint32_t& who, std::uint64_t block) {
    auto one = static_cast<std::uint32_t>(block + 1);
    who = who == 0 || who == one ? one : several;
  }
  struct Deeds {
    std::vector<std::uint32_t> readers, writers;  // Of a tensor that changes, by element.
  };

  const ptx::field::Point* point_;
  ptx::field::Arithmetic arithmetic_;
  std::array<Sums, 2> sums_;  // By side.
  std::vector<Deeds> deeds_;  // Of the candidate, by tensor.
  std::vector<TensorPages> tensors_;
  std::optional<Difference> first_, precision_;
  std::uint64_t compared_ = 0, degree_ = 0, twice_ = 0;
  std::unordered_set<std::uint64_t> inconclusive_;
};

}  // namespace lathe::verifier_node
