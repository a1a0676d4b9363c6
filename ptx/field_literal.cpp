// Reading literals, and the names' residues.

#include "ptx/field_literal.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string_view>

#include "base/random.h"

namespace lathe::ptx::field {
namespace {

constexpr std::uint64_t name_stream = 0x4A3E;

struct NamedReal {
  Named named;
  std::string_view text;
  long double value;
};
// clang-format off
constexpr std::array named_reals{
    NamedReal{Named::one,            "1",            1.0L},
    NamedReal{Named::log2_e,         "log2 e",       1.44269504088896340735992468100189214L},
    NamedReal{Named::ln_2,           "ln 2",         0.693147180559945309417232121458176568L},
    NamedReal{Named::pi,             "pi",           3.14159265358979323846264338327950288L},
    NamedReal{Named::inverse_pi,     "1/pi",         0.318309886183790671537767526745028724L},
    NamedReal{Named::root_pi,        "sqrt pi",      1.77245385090551602729816748334114518L},
    NamedReal{Named::root_2,         "sqrt 2",       1.41421356237309504880168872420969808L},
    NamedReal{Named::root_3,         "sqrt 3",       1.73205080756887729352744634150587237L},
    NamedReal{Named::root_2_over_pi, "sqrt(2/pi)",   0.797884560802865355879892119868763737L},
};
// clang-format on

/// The float's own range: reals nearer to it than to any neighbour.
struct Window {
  long double low, high;
  bool holds(long double x) const { return x > low && x < high; }
};

Window window_of(double magnitude, unsigned bits) {
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  long double half_ulp = std::ldexp(1.0L, exponent - static_cast<int>(bits) - 1);
  bool power = std::ldexp(1.0, exponent - 1) == magnitude;
  return {magnitude - (power ? half_ulp / 2 : half_ulp), magnitude + half_ulp};
}

Reading dyadic(double magnitude) {
  int exponent = 0;
  double fraction = std::frexp(magnitude, &exponent);
  auto numerator = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  exponent -= 53;
  while (numerator != 0 && numerator % 2 == 0) {
    numerator /= 2;
    ++exponent;
  }
  Reading reading;
  reading.numerator = numerator;
  reading.exponent = magnitude == 0 ? 0 : exponent;
  return reading;
}

/// A fraction numerator / denominator * 2^k times a name, where it falls into the window.
std::optional<Reading> named_fraction(double magnitude, const Window& window) {
  constexpr std::array<unsigned, 8> odd{1, 3, 5, 7, 9, 11, 13, 15};
  for (const NamedReal& real : named_reals) {
    if (real.named == Named::one) continue;
    for (unsigned denominator : odd)
      for (unsigned numerator : odd) {
        if (std::gcd(numerator, denominator) != 1) continue;
        long double base = real.value * numerator / denominator;
        int exponent = std::ilogb(magnitude) - std::ilogb(base);
        for (int k = exponent - 1; k <= exponent + 1; ++k)
          if (window.holds(std::ldexp(base, k)))
            return Reading{false, numerator, denominator, k, real.named, false};
      }
  }
  return std::nullopt;
}

/// The fraction of smallest denominator up to 1000 in the window.
std::optional<Reading> small_fraction(double magnitude, const Window& window) {
  if (magnitude > 1e6 || magnitude < 1e-6) return std::nullopt;
  for (std::uint64_t denominator = 1; denominator <= 1000; ++denominator) {
    long double numerator = std::round(static_cast<long double>(magnitude) * denominator);
    if (numerator >= 1 && window.holds(numerator / denominator))
      return Reading{false, static_cast<std::uint64_t>(numerator), denominator, 0, Named::one,
                     false};
  }
  return std::nullopt;
}

/// The shortest decimal of up to `digits_max` digits in the window, divided by a name.
std::optional<Reading> decimal(double magnitude, const Window& window, int digits_max,
                               const NamedReal& real) {
  long double target = magnitude / real.value;
  for (int digits = 1; digits <= digits_max; ++digits) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.*Le", digits - 1, target);
    if (!window.holds(std::strtold(text.data(), nullptr) * real.value)) continue;
    std::uint64_t numerator = 0;
    const char* at = text.data();
    int tens = 1 - digits;
    for (; *at != 0 && *at != 'e'; ++at)
      if (*at != '.') numerator = numerator * 10 + static_cast<unsigned>(*at - '0');
    tens += std::atoi(at + 1);
    if (tens < -17 || tens > 12) return std::nullopt;
    Reading reading{false, numerator, 1, 0, real.named, false};
    for (; tens > 0; --tens) reading.numerator *= 10;
    for (; tens < 0; ++tens) reading.denominator *= 10;
    return reading;
  }
  return std::nullopt;
}

bool few_bits_or_integer(double magnitude, const Reading& reading) {
  return reading.numerator < 2048 || (magnitude < 16777216.0 && reading.exponent >= 0);
}

Reading read_magnitude(double magnitude, unsigned bits) {
  Reading itself = dyadic(magnitude);
  if (few_bits_or_integer(magnitude, itself)) return itself;
  Window window = window_of(magnitude, bits);
  if (auto reading = named_fraction(magnitude, window)) return *reading;
  if (auto reading = small_fraction(magnitude, window)) return *reading;
  int digits = bits > 24 ? 15 : 7;
  if (auto reading = decimal(magnitude, window, digits, named_reals[0])) return *reading;
  if (auto reading = decimal(magnitude, window, digits - 3, named_reals[1])) return *reading;
  return itself;
}

}  // namespace

std::string_view name_of(Named named) { return named_reals[static_cast<std::size_t>(named)].text; }

double Reading::value() const {
  long double real = named_reals[static_cast<std::size_t>(named)].value *
                     static_cast<long double>(numerator) / static_cast<long double>(denominator);
  auto magnitude = static_cast<double>(std::ldexp(real, exponent));
  return negative ? -magnitude : magnitude;
}

std::string Reading::text() const {
  std::string out = negative ? "-" : "";
  bool plain = named != Named::one && numerator == 1;
  if (!plain) out += std::to_string(numerator);
  if (named != Named::one) {
    if (!plain) out += " ";
    out += name_of(named);
  }
  if (denominator != 1) out += " / " + std::to_string(denominator);
  if (exponent != 0) out += " * 2^" + std::to_string(exponent);
  return out;
}

Reading read_literal(double value, unsigned significant_bits) {
  Reading reading = read_magnitude(std::fabs(value), significant_bits);
  reading.negative = value < 0;
  return reading;
}

std::vector<std::uint32_t> factors_of(const Reading& reading) {
  std::vector<std::uint32_t> factors;
  for (std::uint64_t n : {reading.numerator, reading.denominator}) {
    for (std::uint32_t d : {2u, 3u, 5u, 7u})
      while (n != 0 && n % d == 0) n /= d;
    for (std::uint32_t d = 11; std::uint64_t{d} * d <= n && d < 1000; d += 2)
      for (; n % d == 0; n /= d)
        if (factors.empty() || factors.back() != d) factors.push_back(d);
    if (n > 1 && n < 1000) factors.push_back(static_cast<std::uint32_t>(n));
  }
  return factors;
}

Names::Names(const Chain& chain, std::uint64_t seed, std::uint64_t point) : chain_(chain) {
  for (unsigned level = 0; level < levels; ++level) {
    const Prime& prime = chain.primes[level];
    auto drawn = [&](std::uint64_t which) {
      std::uint64_t random = philox64(seed, name_stream + (point << 16), level * 16 + which);
      std::uint32_t root = prime.reduce(random) | 1;
      return prime.mul(root % prime.p, root % prime.p);
    };
    auto& named = named_[level];
    auto set = [&](Named name, std::uint32_t r) { named[static_cast<std::size_t>(name)] = r; };
    std::uint32_t log2_e = drawn(0), pi = drawn(1);
    set(Named::one, 1);
    set(Named::log2_e, log2_e);
    set(Named::ln_2, prime.inverse(log2_e));
    set(Named::pi, pi);
    set(Named::inverse_pi, prime.inverse(pi));
    set(Named::root_pi, prime.root(pi));
    set(Named::root_2, prime.root(2));
    set(Named::root_3, prime.root(3));
    set(Named::root_2_over_pi, prime.root(prime.mul(2, prime.inverse(pi))));
  }
}

std::uint32_t Names::residue(const Reading& reading, unsigned level) const {
  const Prime& prime = chain_.primes[level];
  std::uint32_t r = prime.mul(prime.reduce(reading.numerator),
                              named_[level][static_cast<std::size_t>(reading.named)]);
  if (reading.denominator != 1) r = prime.mul(r, prime.inverse(prime.reduce(reading.denominator)));
  std::uint32_t two = reading.exponent >= 0 ? 2 : prime.inverse(2);
  r = prime.mul(r, prime.pow(two, static_cast<std::uint64_t>(std::abs(reading.exponent))));
  return reading.negative ? prime.negate(r) : r;
}

}  // namespace lathe::ptx::field
