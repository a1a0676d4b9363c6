// Drawing chains of primes, and the two tables that go with them.

#include "ptx/field_chain.h"

#include "base/random.h"

namespace lathe::ptx::field {
namespace {

constexpr std::uint64_t chain_stream = 0xC4A1, prime_stream = 0x9417;
constexpr std::uint32_t step = 840;  // 8 * 3 * 5 * 7

bool all_squares(const std::array<Prime, levels>& primes, const std::vector<std::uint32_t>& list) {
  for (const Prime& prime : primes)
    for (std::uint32_t n : list)
      if (!prime.is_square(prime.reduce(n))) return false;
  return true;
}

bool chain_from(std::uint32_t last, std::array<Prime, levels>& primes) {
  std::array<std::uint32_t, levels> p{4 * last + 3, 2 * last + 1, last};
  for (unsigned i = levels; i-- > 0;)
    if (!is_prime(p[i])) return false;
  for (unsigned i = 0; i < levels; ++i) primes[i] = Prime(p[i]);
  return true;
}

}  // namespace

Result<Chain> Chain::draw(std::uint64_t seed, std::uint64_t point,
                          const std::vector<std::uint32_t>& squares, unsigned bits) {
  const std::uint32_t last_low = 1u << (bits - levels), last_high = 2 * last_low - step;
  Chain chain;
  std::array<Prime, levels> plain;
  bool have_plain = false;
  for (std::uint64_t i = 0; i < 400'000 && (i < 40'000 || bits > 24); ++i) {
    std::uint64_t random = philox64(seed, chain_stream + (point << 16), i);
    std::uint32_t span = (last_high - last_low) / step;
    std::uint32_t last = static_cast<std::uint32_t>(last_low / step + random % span) * step - 1;
    if (last < last_low || !chain_from(last, chain.primes)) continue;
    if (all_squares(chain.primes, squares)) return chain;
    if (!have_plain) plain = chain.primes;
    have_plain = true;
  }
  if (!have_plain) return Error{Fault::exhausted, "no chain of primes was found", "", {}};
  chain.primes = plain;
  return chain;
}

Chain Chain::draw_independent(std::uint64_t seed, std::uint64_t point, unsigned bits) {
  Chain chain;
  chain.linked = false;
  const std::uint32_t low = 1u << (bits - 1), span = low / step - 1;
  unsigned found = 0;
  for (std::uint64_t i = 0; found < levels; ++i) {
    std::uint64_t random = philox64(seed, prime_stream + (point << 16), i);
    std::uint32_t p = static_cast<std::uint32_t>(low / step + 1 + random % span) * step - 1;
    if (p < low || !is_prime(p)) continue;
    bool fresh = true;
    for (unsigned k = 0; k < found; ++k) fresh &= chain.primes[k].p != p;
    if (fresh) chain.primes[found++] = Prime(p);
  }
  return chain;
}

PowersOfTwo::PowersOfTwo(Prime prime, std::uint32_t factor) : prime_(prime) {
  auto fill = [&](auto& table, std::uint32_t base, std::uint32_t first = 1) {
    table[0] = first;
    for (std::size_t i = 1; i < table.size(); ++i) table[i] = prime.mul(table[i - 1], base);
  };
  fill(low_, 2, factor);
  fill(middle_, prime.pow(2, 1u << 11));
  fill(high_, prime.pow(2, 1u << 21));
}

DiscreteLog::DiscreteLog(Prime prime, std::uint32_t order)
    : prime_(prime), order_(order), slots_(std::size_t{2} << baby_bits) {
  std::uint32_t power = 1;
  std::size_t mask = slots_.size() - 1;
  for (std::uint32_t i = 0; i < 1u << baby_bits; ++i) {
    std::size_t at = mix(power) & mask;
    while (slots_[at].power != 0) at = (at + 1) & mask;
    slots_[at] = {power, i};
    power = prime.add(power, power);
  }
  giant_ = prime.inverse(power);
}

DiscreteLog::Answer DiscreteLog::operator()(std::uint32_t y) const {
  bool negated = !prime_.is_square(y);
  if (negated) y = prime_.negate(y);
  std::size_t mask = slots_.size() - 1;
  for (std::uint64_t k = 0; k <= order_ >> baby_bits; ++k) {
    for (std::size_t at = mix(y) & mask; slots_[at].power != 0; at = (at + 1) & mask)
      if (slots_[at].power == y)
        return {static_cast<std::uint32_t>(((k << baby_bits) + slots_[at].exponent) % order_),
                negated};
    y = prime_.mul(y, giant_);
  }
  return {0, negated};
}

}  // namespace lathe::ptx::field
