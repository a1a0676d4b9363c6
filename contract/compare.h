#pragma once

// When an element holds: |c - w| <= max(absolute + relative * |w|, error_factor * |r - w|), with w
// the wide-domain result of the reference, r the reference's own, c the candidate's. NaN and
// infinity match only where r has them: each only itself. Where no input was one, r has overflowed,
// and the order of a sum decides in what that ends and in which elements: infinities and NaN are
// then alike, and nothing is asked where r is NaN. There c may also be an infinity or NaN where r
// is beyond the tolerance from w, and elsewhere at most twice as often as r is. Where all inputs
// are great nothing else is asked: roundings are then as great as results.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "contract/contract.h"

namespace lathe {

struct Mismatch {
  std::size_t tensor = 0;
  std::vector<std::uint64_t> index;
  double wide = 0, reference = 0, candidate = 0, allowed = 0;
};

struct Comparison {
  std::uint64_t compared = 0, failing = 0;
  std::optional<Mismatch> first;  // The first failing element in index order.
  double difference_max = 0;      // max |c - r|, over finite elements.
  /// max |c - w| and max |r - w|, over those that the wide result knows; absent where it knows
  /// none.
  std::optional<double> candidate_error_max, reference_error_max;
};

enum class Specials : std::uint8_t { told_apart, alike, alone };

/// Compares element by element where `written` is not zero (one byte a byte of the tensor's span;
/// empty: everywhere). `wide` holds one double an element of the span; empty: the reference itself
/// is the yardstick.
Comparison compare(const Contract& contract, std::size_t tensor, std::string_view reference,
                   std::string_view candidate, const std::vector<double>& wide,
                   std::string_view written, Specials specials = Specials::told_apart);

}  // namespace lathe
