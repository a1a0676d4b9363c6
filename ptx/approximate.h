#pragma once

// Functions that the device approximates: here within half an ulp of f32 or a little more, which is
// inside the manual's bounds, and the same on every host (no call into the C library's tables). Not
// bit for bit what a device gives.

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace lathe::ptx::approximate {

/// 2^x in double, of any x; relative error below 1e-13. Without branches: it vectorises.
[[gnu::always_inline]] inline double exponential2(double x) {
  constexpr std::array<double, 14> factorials = [] {
    std::array<double, 14> inverse{1.0};
    for (std::size_t i = 1; i < inverse.size(); ++i)
      inverse[i] = inverse[i - 1] / static_cast<double>(i);
    return inverse;
  }();
  double c = x < -1100.0 ? -1100.0 : x;
  c = c > 1100.0 ? 1100.0 : c;
  constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52: rounds to an integer.
  double n = (c + magic) - magic, t = (c - n) * 0.69314718055994530942;
  double r = factorials[13];
  for (std::size_t i = 13; i-- > 0;) r = r * t + factorials[i];
  double half = (n * 0.5 + magic) - magic;
  auto power = [](double k) {  // 2^k for |k| < 1023: the exponent from the low bits of a sum.
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(k + (magic + 1023.0)) << 52);
  };
  r = r * power(half) * power(n - half);
  return x != x ? x : r;
}

/// log2 x for positive finite x.
inline double logarithm2(double x) {
  auto bits = std::bit_cast<std::uint64_t>(x);
  int e = static_cast<int>(bits >> 52 & 0x7FF);
  if (e == 0) {
    x *= 18014398509481984.0;  // 2^54
    bits = std::bit_cast<std::uint64_t>(x);
    e = static_cast<int>(bits >> 52 & 0x7FF) - 54;
  }
  double m =
      std::bit_cast<double>((bits & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1023} << 52);
  e -= 1023;
  if (m > 1.41421356237309504880) m *= 0.5, ++e;
  constexpr std::array<double, 13> odd{1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,
                                       1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19,
                                       1.0 / 21, 1.0 / 23, 1.0 / 25};
  double s = (m - 1) / (m + 1), z = s * s, r = 0;
  for (std::size_t i = odd.size(); i-- > 0;) r = r * z + odd[i];
  return e + 2.0 * s * r * 1.44269504088896340736;
}

/// The sine of x + quarter * pi / 2, for |x| of sensible size.
inline double sine_of(double x, int quarter) {
  constexpr double two_over_pi = 0.63661977236758134308;
  double n = std::floor(x * two_over_pi + 0.5);
  double r = (x - n * 1.57079632673412561417) - n * 6.07710050650619224932e-11;
  auto q = static_cast<unsigned>(static_cast<std::int64_t>(n) + quarter) & 3;
  double z = r * r, s = 0;
  if ((q & 1) == 0) {
    for (int i = 17; i > 1; i -= 2) s = (s + 1) * -z / (i * (i - 1));
    s = (s + 1) * r;
  } else {
    for (int i = 16; i > 1; i -= 2) s = (s + 1) * -z / (i * (i - 1));
    s += 1;
  }
  return (q & 2) != 0 ? -s : s;
}

inline double hyperbolic_tangent(double x) {
  double magnitude = x < 0 ? -x : x, t;
  if (magnitude < 0.01) {
    t = magnitude - magnitude * magnitude * magnitude / 3;
  } else {
    double e = exponential2(magnitude * 2.8853900817779268147);  // 2 log2 e
    t = magnitude > 40 ? 1.0 : (e - 1) / (e + 1);
  }
  return x < 0 ? -t : t;
}

/// Where the device's tanh of f16 lies a unit beside the truncated one, by the argument's
/// magnitude; read off a sweep of every argument.
inline int half_tangent_step(std::uint32_t magnitude) {
  constexpr std::array<std::uint16_t, 16> above{0x29C6, 0x2C95, 0x2C96, 0x2E39, 0x2E9D, 0x3064,
                                                0x323F, 0x32FF, 0x355B, 0x372D, 0x3824, 0x399A,
                                                0x3CC9, 0x3DE3, 0x3ED6, 0x4080};
  constexpr std::array<std::uint16_t, 8> below{0x2D3F, 0x39F8, 0x3C8E, 0x3C9D,
                                               0x3DB8, 0x3E23, 0x3EAB, 0x4429};
  for (std::uint16_t each : above)
    if (each == magnitude) return 1;
  for (std::uint16_t each : below)
    if (each == magnitude) return -1;
  return 0;
}

}  // namespace lathe::ptx::approximate
