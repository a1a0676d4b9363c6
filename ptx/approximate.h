#pragma once

// Functions that the device approximates: here within half an ulp of f32 or a little more, which is
// inside the manual's bounds, and the same on every host (no call into the C library's tables). Not
// bit for bit what a device gives.

#include <bit>
#include <cmath>
#include <cstdint>

namespace lathe::ptx::approximate {

/// 2^x in double, |x| at most a few thousand; relative error below 1e-13.
inline double exponential2(double x) {
  if (!(x > -1100.0)) return x != x ? x : 0.0;
  if (x > 1030.0) return HUGE_VAL;
  double n = std::floor(x + 0.5), t = (x - n) * 0.69314718055994530942;
  double r = 1.0;
  for (int i = 13; i > 0; --i) r = 1.0 + r * t / i;
  int e = static_cast<int>(n), half = e / 2;
  auto power = [](int k) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
  };
  return r * power(half) * power(e - half);
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
  double s = (m - 1) / (m + 1), z = s * s, r = 0;
  for (int i = 25; i > 0; i -= 2) r = r * z + 1.0 / i;
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

}  // namespace lathe::ptx::approximate
