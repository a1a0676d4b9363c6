// Inputs and literals of a point.

#include "ptx/field_point.h"

#include <cmath>

namespace lathe::ptx::field {

Result<std::shared_ptr<const Point>> Point::make(PointOptions options,
                                                 std::vector<Recipe> recipes) {
  Chain chain;
  if (options.linked) {
    Result<Chain> drawn = Chain::draw(options.seed, options.index, options.squares);
    if (!drawn) return drawn.error();
    chain = *drawn;
  } else {
    chain = Chain::draw_independent(options.seed, options.index);
  }
  return std::shared_ptr<const Point>(new Point(std::move(options), chain, std::move(recipes)));
}

Point::Point(PointOptions options, Chain chain, std::vector<Recipe> recipes)
    : options_(std::move(options)),
      chain_(chain),
      names_(chain, options_.seed, options_.index),
      recipes_(std::move(recipes)) {
  if (!chain_.linked) return;
  for (unsigned i = 0; i + 1 < levels; ++i)
    powers_[i] = std::make_unique<PowersOfTwo>(chain_.primes[i]);
}

DiscreteLog::Answer Point::log2(unsigned level, std::uint32_t y) const {
  if (!logs_[level])
    logs_[level] = std::make_unique<DiscreteLog>(prime(level), chain_.primes[level + 1].p);
  return (*logs_[level])(y);
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
    value = sign * recipe.scale * std::exp2(unit * 14 - 12);
  } else {
    value = recipe.offset + recipe.scale * (2 * unit - 1) * 1.7;
  }
  if (value < recipe.low || value > recipe.high)
    value = recipe.low + (recipe.high - recipe.low) * unit;
  return value == 0 ? recipe.high * 0x1p-20 : value;
}

Number Point::input(std::size_t tensor, std::uint64_t element) const {
  const Recipe& recipe = recipes_[tensor];
  Number number;
  std::uint64_t base = mix(key(3, 1) + tensor, element);
  number.shadow = shadow_of(recipe, mix(base + 1), mix(base + 2));
  for (unsigned level = 0; level < options_.levels; ++level) {
    const Prime& p = prime(level);
    std::uint32_t root = p.reduce(mix(base + 3 + level));
    if (root == 0) root = 1;
    std::uint32_t square = p.mul(root, root);
    number.r[level] = number.shadow < 0 ? p.negate(square) : square;
  }
  number.valid = every_level();
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
  number.valid = every_level();
  number.shadow = value;
  number.signs = literal_bits;
  if (std::isnan(value)) {
    number.special = Special::nan;
    return number;
  }
  number.signs |= signs_of(value);
  if (std::isinf(value)) {
    number.special = value > 0 ? Special::plus_infinity : Special::minus_infinity;
    return number;
  }
  Reading reading = read_literal(value, significant_bits(type));
  number.shadow = reading.value();
  if (reading.exponent >= 0 && reading.denominator == 1 && reading.named == Named::one)
    number.signs |= integral;
  for (unsigned level = 0; level < options_.levels; ++level)
    number.r[level] = names_.residue(reading, level);
  return number;
}

}  // namespace lathe::ptx::field
