#pragma once

// When an element holds: |c - w| <= max(absolute + relative * |w|, error_factor * |r - w|), with w
// the wide-domain result of the reference, r the reference's own, c the candidate's. NaN and
// infinity match only where r has them: each only itself. Where no input was one, r has overflowed
// and the order of a sum decides in what that ends: infinities and NaN are then alike, and of a NaN
// nothing is asked. Nor is it where r is a number, but not w's by more than the tolerance: an
// infinity that it divided by has made it 0.

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
  std::optional<Mismatch> first;   // The first failing element in index order.
  double candidate_error_max = 0;  // max |c - w|, over finite elements.
  double reference_error_max = 0;  // max |r - w|.
};

enum class Specials : std::uint8_t { told_apart, alike };

/// Compares element by element where `written` is not zero (one byte a byte of the tensor's span;
/// empty: everywhere). `wide` holds one double an element of the span; empty: the reference itself
/// is the yardstick.
Comparison compare(const Contract& contract, std::size_t tensor, std::string_view reference,
                   std::string_view candidate, const std::vector<double>& wide,
                   std::string_view written, Specials specials = Specials::told_apart);

}  // namespace lathe
