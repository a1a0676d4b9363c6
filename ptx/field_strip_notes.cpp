// What strips note of their numbers for the proof: magnitudes, and what sums lose of parts that had
// been rounded. Every sum of a warp comes here, so that the words of all lanes' shadows are looked
// at as integers, side by side, and a lane by itself only where it lost much.

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/wide_loops.h"
#include "ptx/field_strip.h"

namespace lathe::ptx::field {
namespace {

using Shadows = std::array<double, lane_count>;

constexpr std::uint64_t magnitude_bits = ~std::uint64_t{0} >> 1;
constexpr std::uint64_t infinity_bits = std::uint64_t{0x7FF} << 52;

/// The largest magnitude, and the smallest that is not 0; false where one is not finite. Of
/// magnitudes the bits are ordered as the numbers are.
LATHE_WIDE_LOOPS bool extremes(const Shadows& x, double& largest, double& smallest) {
  std::int64_t most = 0, least = infinity_bits;
  for (unsigned i = 0; i < lane_count; ++i) {
    auto bits = static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(x[i]) & magnitude_bits);
    std::int64_t of = bits == 0 ? static_cast<std::int64_t>(infinity_bits) : bits;
    most = bits > most ? bits : most;
    least = of < least ? of : least;
  }
  largest = std::bit_cast<double>(most);
  smallest = std::bit_cast<double>(least);
  return most < static_cast<std::int64_t>(infinity_bits);
}

/// The exponent's bits, where they are in the upper word.
constexpr unsigned exponent_at = 20;
inline std::int32_t exponent_word(double value) {
  auto upper = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(value) >> 32);
  return static_cast<std::int32_t>(upper & 0x7FFu << exponent_at);
}

/// How many bits smaller sums are than the larger of their parts, all lanes together, and the most
/// of one; of a lane where one of the three is 0, none.
struct Lost {
  std::int32_t all = 0, most = 0;
};
LATHE_WIDE_LOOPS Lost lost_bits(const Shadows& a, const Shadows& b, const Shadows& sum) {
  Lost lost;
  for (unsigned i = 0; i < lane_count; ++i) {
    std::int32_t of_a = exponent_word(a[i]), of_b = exponent_word(b[i]);
    std::int32_t of_sum = exponent_word(sum[i]);
    std::int32_t larger = of_a > of_b ? of_a : of_b, smaller = of_a > of_b ? of_b : of_a;
    std::int32_t bits = (larger - of_sum) >> exponent_at;
    bits = smaller != 0 && of_sum != 0 ? bits : 0;
    lost.all += bits;
    lost.most = bits > lost.most ? bits : lost.most;
  }
  return lost;
}

LATHE_WIDE_LOOPS bool any_zero(const Shadows& x) {
  std::uint64_t zeros = 0;
  for (unsigned i = 0; i < lane_count; ++i)
    zeros |= (std::bit_cast<std::uint64_t>(x[i]) & magnitude_bits) == 0 ? 1u : 0u;
  return zeros != 0;
}

LATHE_WIDE_LOOPS void multiply_shadows(const Shadows& a, const Shadows& b, Shadows& out) {
  for (unsigned i = 0; i < lane_count; ++i) out[i] = a[i] * b[i];
}
LATHE_WIDE_LOOPS void multiply_shadows(double a, const Shadows& b, Shadows& out) {
  for (unsigned i = 0; i < lane_count; ++i) out[i] = a * b[i];
}

int lost_by(double a, double b, double sum) {
  int of_a = Cancellation::exponent_of(a), of_b = Cancellation::exponent_of(b);
  int of_sum = Cancellation::exponent_of(sum);
  return of_a != 0 && of_b != 0 && of_sum != 0 ? std::max(of_a, of_b) - of_sum : 0;
}

}  // namespace

void Strips::note_magnitudes(const Strip& strip) const {
  Summary& summary = field_->arithmetic_.summary();
  double largest = 0, smallest = 0;
  if (active_ == every_lane && extremes(strip.shadows, largest, smallest)) {
    summary.largest = std::max(summary.largest, largest);
    summary.smallest = std::min(summary.smallest, smallest);
    return;
  }
  for (unsigned lane = 0; lane < lane_count; ++lane)
    if ((active_ >> lane & 1) != 0) summary.note_magnitude(strip.shadows[lane]);
}

/// What a sum lost of numbers that had been rounded; lane by lane where it was much.
void Strips::note_sum(const Shadows& a, const Shadows& b, const Strip& sum) {
  Arithmetic& arithmetic = field_->arithmetic_;
  Lost lost = lost_bits(a, b, sum.shadows);
  unsigned count = lane_count;
  if (lost.most >= Cancellation::much)
    for (unsigned lane = 0; lane < lane_count; ++lane) {
      int bits = lost_by(a[lane], b[lane], sum.shadows[lane]);
      if (bits < Cancellation::much) continue;
      arithmetic.note_lost(bits, number_of(sum, lane));
      lost.all -= bits;
      --count;
    }
  if (count != 0) arithmetic.summary().cancellation.note(arithmetic.instruction(), lost.all, count);
}

/// The product is not rounded: beside what it becomes when it is, it leaves the rounding.
void Strips::note_fused(const StripValue& a, const StripValue& b, const Strip& z,
                        const Strip& sum) {
  const Strip &x = *a.strip, &y = *b.strip;
  Shadows product;
  if (a.one)
    multiply_shadows(x.first.shadow, filled(b).shadows, product);
  else if (b.one)
    multiply_shadows(y.first.shadow, x.shadows, product);
  else
    multiply_shadows(x.shadows, y.shadows, product);
  note_sum(product, z.shadows, sum);
  if (z.first.rounds.count[0] == 0 || !any_zero(sum.shadows) || only_moves(x.first) ||
      only_moves(y.first))
    return;
  for (unsigned lane = 0; lane < lane_count; ++lane)
    if (sum.shadows[lane] == 0 && z.shadows[lane] != 0)
      field_->arithmetic_.note_fused(z.first, number_of(sum, lane));
}

}  // namespace lathe::ptx::field
