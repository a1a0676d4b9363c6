#pragma once

// Inputs from a seed and a counter: the same bytes on every host and device.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "contract/compare.h"
#include "contract/contract.h"

namespace lathe {

/// The classes that a candidate is tested on; all but `declared` apply to float tensors only and
/// stay inside what the contract's `values` admit.
enum class InputClass : std::uint8_t {
  declared,
  overflow,
  underflow,
  cancellation,
  precision_loss,
  zeros,
  ones,
  denormals,
  infinities,
  nans,
  great
};
std::string_view name_of(InputClass input_class);
/// How results of such inputs are compared.
Specials specials_of(const Contract& contract, InputClass input_class);
/// Those that make sense for this contract, `declared` first.
std::vector<InputClass> input_classes(const Contract& contract);

/// The bytes of a tensor from its first element on (span_bytes() of them, gaps between rows filled
/// too).
Result<std::string> make_input(const Contract& contract, std::size_t tensor, InputClass input_class,
                               std::uint64_t seed);

/// A part of the same bytes: `count` elements of the span from its element `first` on, so that a
/// sampled block needs only what it reads. `first` is a multiple of elements_per_piece.
Result<std::string> make_input_part(const Contract& contract, std::size_t tensor,
                                    InputClass input_class, std::uint64_t seed, std::uint64_t first,
                                    std::uint64_t count);
inline constexpr std::uint64_t elements_per_piece = 8;

/// Elements as doubles, and back with round to nearest even; for comparison and witnesses.
double element_at(Dtype dtype, std::string_view bytes, std::uint64_t index);
void set_element(Dtype dtype, std::string& bytes, std::uint64_t index, double value);

}  // namespace lathe
