// Inputs and literals of the points of an execution.

#include "ptx/field_point.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "ptx/field_word.h"

namespace lathe::ptx::field {
namespace {

/// Which chain a slot belongs to, and which of its primes it has.
struct Place {
  unsigned chain, level;
};

Place place_of(const PointOptions& options, unsigned slot) {
  if (!options.linked) return {slot / levels, slot % levels};
  return {slot % options.points, slot / options.points};
}

double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

Moduli moduli_of(const PointOptions& options, const std::vector<Chain>& chains) {
  unsigned count = options.linked ? options.levels * options.points : levels;
  std::vector<std::uint32_t> primes;
  for (unsigned slot = 0; slot < count; ++slot) {
    Place place = place_of(options, slot);
    primes.push_back(chains[place.chain].primes[place.level].p);
  }
  return Moduli(primes);
}

}  // namespace

Result<std::shared_ptr<const Point>> Point::make(PointOptions options,
                                                 std::vector<Recipe> recipes) {
  if (!options.linked) options.points = 1;
  if (options.levels * options.points > slots_max || options.levels > levels)
    return Error{Fault::malformed, "more residues than an execution has slots", "", {}};
  std::vector<Chain> chains;
  for (std::uint64_t draw = 0; chains.size() < options.points; ++draw) {
    std::uint64_t index = options.index * 64 + draw;
    if (!options.linked) {
      chains.push_back(Chain::draw_independent(options.seed, index, options.prime_bits));
      break;
    }
    Result<Chain> drawn = Chain::draw(options.seed, index, options.squares, options.prime_bits);
    if (!drawn) return drawn.error();
    bool fresh = std::none_of(chains.begin(), chains.end(), [&](const Chain& chain) {
      return chain.primes[0].p == drawn->primes[0].p;
    });
    if (fresh || draw >= 32) chains.push_back(*drawn);
  }
  return std::shared_ptr<const Point>(
      new Point(std::move(options), std::move(chains), std::move(recipes)));
}

Point::Point(PointOptions options, std::vector<Chain> chains, std::vector<Recipe> recipes)
    : options_(std::move(options)),
      chains_(std::move(chains)),
      moduli_(moduli_of(options_, chains_)),
      recipes_(std::move(recipes)),
      input_key_(key(3, 1)) {
  for (std::size_t i = 0; i < chains_.size(); ++i)
    names_.emplace_back(chains_[i], options_.seed, options_.index * slots_max + i);
  if (options_.ties) {
    constexpr std::uint64_t pool = 4;
    Recipe any{"", Type::f32, false, true, "", -64, 64, 1, 0, 0, 0};
    recipes_.push_back(any);
    std::vector<Number> ties{literal(0, Type::f32)};
    for (std::uint64_t i = 0; i < pool; ++i) ties.push_back(input(recipes_.size() - 1, i));
    recipes_.pop_back();
    for (double boundary : options_.boundaries)
      for (double sign : {1.0, -1.0}) ties.push_back(literal(sign * boundary, Type::f32));
    ties_ = std::move(ties);
  }
  if (!options_.linked) return;
  for (unsigned slot = 0; slot + stride() < slot_count(); ++slot) {
    const Prime& p = prime_of(slot);
    std::uint32_t one = moduli_.one()[slot];
    powers_[slot] = std::make_unique<PowersOfTwo>(p, p.mul(one, p.mul(one, one)));
  }
}

Residues Point::exp2(const Residues& exponents) const {
  Residues plain = moduli_.plain(exponents), low{}, middle{}, high{};
  for (unsigned slot = 0; slot + stride() < slot_count(); ++slot) {
    std::uint32_t exponent = plain[slot + stride()];
    low[slot] = powers_[slot]->low(exponent);
    middle[slot] = powers_[slot]->middle(exponent);
    high[slot] = powers_[slot]->high(exponent);
  }
  return moduli_.mul(moduli_.mul(low, middle), high);
}

DiscreteLog::Answer Point::log2(unsigned slot, std::uint32_t y) const {
  std::unique_lock<std::mutex> lock(logs_lock_);
  if (!logs_[slot]) {
    Place place = place_of(options_, slot);
    logs_[slot] = std::make_unique<DiscreteLog>(prime_of(slot),
                                                chains_[place.chain].primes[place.level + 1].p);
  }
  const DiscreteLog& log = *logs_[slot];
  lock.unlock();
  return log(y);
}

double Point::shadow_of(const Recipe& recipe, std::uint64_t random, std::uint64_t more) const {
  double unit = static_cast<double>(random >> 11) * 0x1p-53;  // [0, 1)
  double sign = (more & 1) != 0 ? 1 : -1;
  double value = 0;
  unsigned kind = more >> 1 & 15;
  if (kind < 3 && !options_.boundaries.empty()) {
    double boundary = options_.boundaries[(more >> 8) % options_.boundaries.size()];
    value = sign * boundary * (1 + ((more >> 6 & 1) != 0 ? 1e-3 : -1e-3) * (0.5 + unit));
  } else if (kind < 6) {
    // Between 2^-12 and 4, each power of two as often.
    int exponent = static_cast<int>(more >> 40) & 0x3FFF;
    value = sign * recipe.scale * power_of_two(exponent % 14 - 12) * (1 + unit);
  } else {
    value = recipe.offset + recipe.scale * (2 * unit - 1) * 1.7;
  }
  if (value < recipe.low || value > recipe.high)
    value = recipe.low + (recipe.high - recipe.low) * unit;
  return value == 0 ? recipe.high * 0x1p-20 : value;
}

/// What this input is exactly, if that is anything. Some elements are 0 in every tensor: what is
/// made of several inputs is then 0 too.
const Number* Point::tie_of(std::uint64_t element, std::uint64_t random) const {
  if (ties_.empty()) return nullptr;
  if (mix(input_key_ ^ 0x7135, element) % 64 == 0) return &ties_.front();
  return (random >> 24 & 15) != 0 ? nullptr : &ties_[(random >> 32) % ties_.size()];
}

Number Point::input(std::size_t tensor, std::uint64_t element) const {
  const Recipe& recipe = recipes_[tensor];
  Number number;
  std::uint64_t base = mix(input_key_ + tensor, element);
  std::uint64_t random = mix(base + 1), more = mix(base + 2);
  number.shadow = shadow_of(recipe, random, more);
  Residues words;
  for (unsigned i = 0; i < slots_max; i += 2) {
    if (i >= moduli_.count()) {
      words[i] = words[i + 1] = 0;
      continue;
    }
    std::uint64_t word = (more + i * random) * 0x9E3779B97F4A7C15ull;
    word ^= word >> 29;
    word *= 0xBF58476D1CE4E5B9ull;
    words[i] = static_cast<std::uint32_t>(word >> 32);
    words[i + 1] = static_cast<std::uint32_t>(word ^ word >> 40);
  }
  number.r = moduli_.scaled(words);
  if (options_.linked) {
    // A square of the shadow's sign, so that roots and sums of squares find theirs.
    number.r = moduli_.mul(number.r, number.r);
    if (number.shadow < 0) number.r = moduli_.negate(number.r);
  }
  const Number* tie = tie_of(element, more);
  if (tie != nullptr && tie->shadow >= recipe.low && tie->shadow <= recipe.high) {
    number.r = tie->r;
    number.shadow = tie->shadow;
  }
  if (!recipe.bytes.empty()) {  // Its value is given, and with it what is not finite.
    std::uint64_t bits = 0;
    std::size_t width = width_of(recipe.type) / 8;
    if ((element + 1) * width <= recipe.bytes.size())
      std::memcpy(&bits, recipe.bytes.data() + element * width, width);
    double value = float_value(bits, recipe.type);
    if (!std::isfinite(value) || value == 0) {
      number = literal(value, recipe.type);
      return number;  // The same variable, so that none is copied.
    }
    number.shadow = value;
  }
  number.valid = every_slot();
  number.signs = recipe.signs;
  number.kind = static_cast<std::uint8_t>(recipe.type);
  number.fits = static_cast<std::uint8_t>(significant_bits(recipe.type));
  return number;
}

Number Point::literal(double value, Type type) const {
  Number number;
  number.kind = static_cast<std::uint8_t>(type);
  number.fits = static_cast<std::uint8_t>(significant_bits(type));
  number.numerator = 0;
  number.valid = every_slot();
  number.shadow = value;
  number.signs = literal_bits;
  if (std::isnan(value)) {
    number.special = Special::nan;
    return number;
  }
  number.signs |= signs_of(value);
  if (!std::signbit(value)) number.signs |= clear_sign;
  if (std::isinf(value)) {
    number.special = value > 0 ? Special::plus_infinity : Special::minus_infinity;
    return number;
  }
  Reading reading = read_literal(value, significant_bits(type));
  number.shadow = reading.value();
  if (reading.exponent >= 0 && reading.denominator == 1 && reading.named == Named::one)
    number.signs |= integral;
  for (unsigned slot = 0; slot < slot_count(); ++slot) {
    Place place = place_of(options_, slot);
    number.r[slot] = moduli_.enter(slot, names_[place.chain].residue(reading, place.level));
  }
  return number;
}

}  // namespace lathe::ptx::field
