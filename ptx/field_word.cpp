// Patterns of integer data.

#include "ptx/field_word.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lathe::ptx::field {
namespace {

std::uint64_t low_bits(unsigned width) {
  return width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

/// The bits of `index` at the places that `mask` has.
std::uint64_t spread(std::uint64_t index, std::uint64_t mask) {
  std::uint64_t out = 0;
  for (; mask != 0; mask &= mask - 1, index >>= 1)
    if ((index & 1) != 0) out |= mask & (~mask + 1);
  return out;
}

std::uint64_t gathered(std::uint64_t bits, std::uint64_t mask) {
  std::uint64_t out = 0;
  for (unsigned i = 0; mask != 0; mask &= mask - 1, ++i)
    if ((bits & mask & (~mask + 1)) != 0) out |= std::uint64_t{1} << i;
  return out;
}

constexpr unsigned bit_of(Words::Wire wire) { return (wire - 2u) / 2; }

}  // namespace

Words::Words(const Point& point) : point_(&point) {}

bool Words::Body::operator<(const Body& other) const {
  return std::tie(width, table, wires, mask, values, split, halves, addend) <
         std::tie(other.width, other.table, other.wires, other.mask, other.values, other.split,
                  other.halves, other.addend);
}

std::uint64_t Words::mask_of(const Body& body) const {
  if (body.table) return body.mask;
  if (body.split || body.addend != 0) return ~std::uint64_t{0};
  std::uint64_t mask = 0;
  for (unsigned i = 0; i < body.width; ++i)
    if (body.wires[i] > 1) mask |= std::uint64_t{1} << bit_of(body.wires[i]);
  return mask;
}

std::uint64_t Words::value(Pattern pattern, std::uint64_t element_bits) const {
  const Body& body = bodies_[pattern];
  if (body.table) return body.values[gathered(element_bits, body.mask)];
  std::uint64_t out = 0;
  for (unsigned i = 0; i < body.width; ++i) {
    Wire wire = body.wires[i];
    std::uint64_t bit = wire <= 1 ? wire : (element_bits >> bit_of(wire) ^ wire) & 1;
    out |= bit << i;
  }
  return out;
}

/// The pattern with few bits is a table without those that it does not depend
/// on.
Pattern Words::known(Body body) {
  bool plain = !body.split && body.addend == 0;
  std::uint64_t mask = mask_of(body);
  if (plain && !body.table && static_cast<unsigned>(std::popcount(mask)) <= table_bits_max) {
    bodies_.push_back(body);
    auto last = static_cast<Pattern>(bodies_.size() - 1);
    std::vector<std::uint64_t> values;
    for (std::uint64_t i = 0; i < std::uint64_t{1} << std::popcount(mask); ++i)
      values.push_back(value(last, spread(i, mask)));
    bodies_.pop_back();
    body.table = true;
    body.wires = {};
    body.mask = mask;
    body.values = std::move(values);
  }
  for (unsigned bit = 0; body.table && bit < 64; ++bit) {
    std::uint64_t place = std::uint64_t{1} << bit;
    if ((body.mask & place) == 0) continue;
    std::vector<std::uint64_t> without;
    bool depends = false;
    for (std::uint64_t i = 0; i < body.values.size(); ++i) {
      std::uint64_t at = spread(i, body.mask);
      if ((at & place) != 0) continue;
      without.push_back(body.values[i]);
      depends |= body.values[i] != body.values[gathered(at | place, body.mask)];
    }
    if (depends) continue;
    body.mask &= ~place;
    body.values = std::move(without);
  }
  auto [found, fresh] = by_body_.try_emplace(body, static_cast<Pattern>(bodies_.size()));
  if (fresh) bodies_.push_back(std::move(body));
  return found->second;
}

Pattern Words::constant(std::uint64_t bits, unsigned width) {
  Body body;
  body.width = width;
  body.table = true;
  body.values = {bits & low_bits(width)};
  return known(std::move(body));
}

Pattern Words::identity(unsigned width) {
  Body body;
  body.width = width;
  for (unsigned i = 0; i < width; ++i) body.wires[i] = wire_of(i);
  return known(std::move(body));
}

/// The same pattern as wires, where each bit is one.
std::optional<Words::Body> Words::wired(Pattern pattern) const {
  const Body& body = bodies_[pattern];
  if (body.split || body.addend != 0) return std::nullopt;
  if (!body.table) return body;
  Body out;
  out.width = body.width;
  for (unsigned i = 0; i < body.width; ++i) {
    std::optional<Wire> wire;
    auto is = [&](Wire candidate) {
      for (std::uint64_t v = 0; v < body.values.size(); ++v) {
        std::uint64_t element = spread(v, body.mask);
        std::uint64_t bit =
            candidate <= 1 ? candidate : (element >> bit_of(candidate) ^ candidate) & 1;
        if ((body.values[v] >> i & 1) != bit) return false;
      }
      return true;
    };
    for (Wire constant : {Wire{0}, Wire{1}})
      if (is(constant)) wire = constant;
    for (std::uint64_t mask = body.mask; mask != 0 && !wire; mask &= mask - 1)
      for (unsigned inverse = 0; inverse < 2 && !wire; ++inverse) {
        auto candidate =
            static_cast<Wire>(wire_of(static_cast<unsigned>(std::countr_zero(mask))) + inverse);
        if (is(candidate)) wire = candidate;
      }
    if (!wire) return std::nullopt;
    out.wires[i] = *wire;
  }
  return out;
}

/// The element of all, no_source where all are constants.
std::optional<std::uint32_t> Words::source_of(std::span<const Word> words) {
  std::uint32_t source = Word::no_source;
  for (const Word& word : words) {
    if (word.source == Word::no_source) continue;
    if (source != Word::no_source && source != word.source) return std::nullopt;
    source = word.source;
  }
  return source;
}

/// Computed for each half of a float's word.
template <class Compute>
std::optional<Pattern> Words::on_halves(std::span<const Word> operands, Compute compute) {
  if (std::none_of(operands.begin(), operands.end(),
                   [&](const Word& word) { return bodies_[word.pattern].split; }))
    return compute(operands);
  std::array<std::optional<Pattern>, 2> made;
  for (unsigned half = 0; half < 2; ++half) {
    std::vector<Word> part(operands.begin(), operands.end());
    for (Word& word : part)
      if (bodies_[word.pattern].split) word.pattern = bodies_[word.pattern].halves[half];
    made[half] = compute(std::span<const Word>(part));
    if (!made[half]) return std::nullopt;
  }
  return of_halves(*made[0], *made[1]);
}

template <class Compute>
std::optional<Word> Words::remembered(std::uint64_t name, std::span<const Word> operands,
                                      Compute compute) {
  std::optional<std::uint32_t> source = source_of(operands);
  if (!source) return std::nullopt;
  Key key{mix(name, 1), mix(name, 2)};
  for (const Word& word : operands) {
    key.low = mix(key.low, word.pattern);
    key.high = (key.high ^ word.pattern) * 0x9E3779B97F4A7C15ull;
    key.high ^= key.high >> 31;
  }
  auto [found, fresh] = remembered_.try_emplace(key);
  std::optional<Pattern>& pattern = found->second;
  if (fresh) pattern = on_halves(operands, compute);
  if (!pattern) return std::nullopt;
  return Word{*source, *pattern};
}

/// Entry by entry, where no more than eight bits decide.
std::optional<Pattern> Words::entries(std::span<const Word> operands, unsigned width,
                                      const Function& function) {
  std::uint64_t mask = 0;
  for (const Word& word : operands) mask |= mask_of(bodies_[word.pattern]);
  if (static_cast<unsigned>(std::popcount(mask)) > table_bits_max) return std::nullopt;
  Body body;
  body.width = width;
  body.table = true;
  body.mask = mask;
  std::vector<std::uint64_t> bits(operands.size());
  for (std::uint64_t i = 0; i < std::uint64_t{1} << std::popcount(mask); ++i) {
    std::uint64_t element = spread(i, mask);
    for (std::size_t k = 0; k < bits.size(); ++k) bits[k] = value(operands[k].pattern, element);
    body.values.push_back(function(bits) & low_bits(width));
  }
  return known(std::move(body));
}

std::optional<Word> Words::apply(std::uint64_t name, std::span<const Word> operands, unsigned width,
                                 const Function& function) {
  return remembered(mix(name, width), operands,
                    [&](std::span<const Word> words) { return entries(words, width, function); });
}

std::optional<Pattern> Words::wires_of_both(Bitwise what, Pattern a, Pattern b) {
  std::optional<Body> left = wired(a), right = wired(b);
  if (!left || !right) return std::nullopt;
  for (unsigned i = 0; i < left->width; ++i) {
    Wire x = left->wires[i], y = right->wires[i];
    if (x <= 1) std::swap(x, y);
    Wire& out = left->wires[i];
    if (y <= 1) {
      out = what == Bitwise::both     ? (y == 0 ? Wire{0} : x)
            : what == Bitwise::either ? (y == 1 ? Wire{1} : x)
                                      : static_cast<Wire>(x ^ y);
    } else if (x == y) {
      out = what == Bitwise::differ ? Wire{0} : x;
    } else if ((x ^ y) == 1) {
      out = what == Bitwise::both ? Wire{0} : Wire{1};
    } else {
      return std::nullopt;
    }
  }
  return known(std::move(*left));
}

std::optional<Word> Words::bitwise(Bitwise what, Word a, Word b) {
  std::array<Word, 2> both{a, b};
  using Operands = std::span<const Word>;
  return remembered(1 + static_cast<unsigned>(what), both,
                    [&](Operands words) -> std::optional<Pattern> {
                      auto function = [&](std::span<const std::uint64_t> bits) {
                        return what == Bitwise::both     ? bits[0] & bits[1]
                               : what == Bitwise::either ? bits[0] | bits[1]
                                                         : bits[0] ^ bits[1];
                      };
                      if (auto small = entries(words, width(a.pattern), function)) return small;
                      return wires_of_both(what, words[0].pattern, words[1].pattern);
                    });
}

std::optional<Word> Words::by_bits(std::uint64_t name, std::span<const Word> operands,
                                   unsigned width, const Function& function) {
  using Operands = std::span<const Word>;
  return remembered(mix(name, width), operands, [&](Operands words) -> std::optional<Pattern> {
    Body out;
    out.width = width;
    std::vector<std::uint64_t> clear(words.size()), set(words.size());
    std::array<Wire, word_bits_max> variable{};
    for (std::size_t k = 0; k < words.size(); ++k) {
      std::optional<Body> body = wired(words[k].pattern);
      if (!body) return std::nullopt;
      for (unsigned i = 0; i < width; ++i) {
        Wire wire = body->wires[i];
        auto base = static_cast<Wire>(wire & ~1);
        if (wire > 1 && variable[i] > 1 && variable[i] != base) return std::nullopt;
        if (wire > 1) variable[i] = base;
        std::uint64_t low = wire & 1, high = wire > 1 ? low ^ 1 : low;
        clear[k] |= low << i;
        set[k] |= high << i;
      }
    }
    std::uint64_t without = function(clear), with = function(set);
    for (unsigned i = 0; i < width; ++i) {
      auto low = static_cast<Wire>(without >> i & 1);
      bool depends = (without >> i & 1) != (with >> i & 1);
      out.wires[i] = depends ? static_cast<Wire>(variable[i] + low) : low;
    }
    return known(std::move(out));
  });
}

std::optional<Word> Words::moved(std::uint64_t name, Word a, unsigned size,
                                 const std::function<std::uint64_t(std::uint64_t)>& function) {
  using Operands = std::span<const Word>;
  return remembered(mix(name, size), Operands(&a, 1),
                    [&](Operands words) -> std::optional<Pattern> {
                      std::optional<Body> body = wired(words[0].pattern);
                      if (!body) return std::nullopt;
                      Body out;
                      out.width = size;
                      std::uint64_t none = function(0);
                      for (unsigned i = 0; i < size; ++i)
                        out.wires[i] = static_cast<Wire>(none >> i & 1);
                      for (unsigned bit = 0; bit < body->width; ++bit) {
                        std::uint64_t flips = function(std::uint64_t{1} << bit) ^ none;
                        for (unsigned i = 0; i < size; ++i) {
                          if ((flips >> i & 1) == 0) continue;
                          if (out.wires[i] > 1) return std::nullopt;
                          // A wire's inverse is its neighbour, as 0 is that of 1.
                          out.wires[i] = static_cast<Wire>(body->wires[bit] ^ out.wires[i]);
                        }
                      }
                      return known(std::move(out));
                    });
}

std::optional<Word> Words::shifted(Word a, int by, bool sign) {
  std::uint64_t name = 64 + static_cast<std::uint64_t>(by + 128) * 2 + (sign ? 1 : 0);
  using Operands = std::span<const Word>;
  return remembered(name, Operands(&a, 1), [&](Operands words) -> std::optional<Pattern> {
    std::optional<Body> body = wired(words[0].pattern);
    unsigned size = width(a.pattern);
    if (!body)
      return entries(words, size, [&](std::span<const std::uint64_t> bits) {
        if (by >= 0) return by >= 64 ? 0 : bits[0] << by;
        std::uint64_t x = bits[0];
        if (sign && (x >> (size - 1) & 1) != 0) x |= ~low_bits(size);
        auto down = static_cast<unsigned>(std::min(-by, 63));
        return sign ? static_cast<std::uint64_t>(static_cast<std::int64_t>(x) >> down)
                    : (-by >= 64 ? 0 : x >> down);
      });
    Body out;
    out.width = size;
    Wire fill = sign ? body->wires[size - 1] : Wire{0};
    for (int i = 0; i < static_cast<int>(size); ++i) {
      int from = i - by;
      bool inside = from >= 0 && from < static_cast<int>(size);
      out.wires[static_cast<unsigned>(i)] = inside   ? body->wires[static_cast<unsigned>(from)]
                                            : by < 0 ? fill
                                                     : Wire{0};
    }
    return known(std::move(out));
  });
}

std::optional<Word> Words::resized(Word a, unsigned size, bool sign) {
  using Operands = std::span<const Word>;
  return remembered(1024 + size * 2 + (sign ? 1 : 0), Operands(&a, 1),
                    [&](Operands words) -> std::optional<Pattern> {
                      unsigned before = width(a.pattern);
                      std::optional<Body> body = wired(words[0].pattern);
                      if (!body)
                        return entries(words, size, [&](std::span<const std::uint64_t> bits) {
                          std::uint64_t x = bits[0];
                          if (sign && (x >> (before - 1) & 1) != 0) x |= ~low_bits(before);
                          return x;
                        });
                      body->width = size;
                      for (unsigned i = before; i < size; ++i)
                        body->wires[i] = sign ? body->wires[before - 1] : Wire{0};
                      for (unsigned i = size; i < word_bits_max; ++i) body->wires[i] = 0;
                      return known(std::move(*body));
                    });
}

std::optional<Word> Words::joined(std::span<const Word> operands,
                                  std::span<const std::uint8_t> bytes) {
  std::uint64_t name = 4096;
  for (std::uint8_t byte : bytes) name = name * 16 + byte + 1;
  using Operands = std::span<const Word>;
  return remembered(mix(name), operands, [&](Operands words) -> std::optional<Pattern> {
    Body out;
    out.width = static_cast<unsigned>(8 * words.size());
    bool wires = true;
    for (std::size_t i = 0; i < words.size() && wires; ++i) {
      std::optional<Body> body = wired(words[i].pattern);
      wires = body.has_value();
      for (unsigned bit = 0; bit < 8 && wires; ++bit)
        out.wires[8 * i + bit] = body->wires[8u * bytes[i] + bit];
    }
    if (wires) return known(std::move(out));
    return entries(words, out.width, [&](std::span<const std::uint64_t> bits) {
      std::uint64_t x = 0;
      for (std::size_t i = 0; i < bits.size(); ++i)
        x |= (bits[i] >> (8 * bytes[i]) & 0xFF) << (8 * i);
      return x;
    });
  });
}

Residues Words::bit_residues(std::uint32_t source, unsigned bit) const {
  Residues words;
  std::uint64_t base = mix(point_->key(4, 2), std::uint64_t{source} << 6 | bit);
  for (unsigned i = 0; i < slots_max; i += 2) {
    std::uint64_t word = mix(base + i);
    words[i] = static_cast<std::uint32_t>(word >> 32);
    words[i + 1] = static_cast<std::uint32_t>(word);
  }
  return point_->moduli().scaled(words);
}

/// Of a table, entry by entry; null where an entry is no real number.
const Words::Values* Words::values_of(Pattern pattern, Type as) {
  auto [found, fresh] =
      values_.try_emplace(std::uint64_t{pattern} << 8 | static_cast<std::uint64_t>(as));
  Values& values = found->second;
  const Body& body = bodies_[pattern];
  for (std::size_t i = 0; fresh && i < body.values.size(); ++i) {
    std::uint64_t bits = body.values[i];
    if (holds_number(as)) {
      double real = float_value(bits, as);
      if (!std::isfinite(real)) {
        values.reals.clear();
        break;
      }
      values.reals.push_back(real);
      values.residues.push_back(point_->literal(real, as).r);
      continue;
    }
    if (is_signed(as) && (bits >> (body.width - 1) & 1) != 0) bits |= ~low_bits(body.width);
    auto whole = static_cast<std::int64_t>(bits);
    values.reals.push_back(static_cast<double>(whole));
    values.residues.push_back(point_->moduli().integer(whole));
  }
  return values.reals.empty() ? nullptr : &values;
}

std::optional<Number> Words::number(Word word, Type as, std::uint64_t element_bits) {
  const Body& body = bodies_[word.pattern];
  if (body.split || body.addend != 0) return std::nullopt;
  const Moduli& m = point_->moduli();
  Number out;
  out.valid = point_->every_slot();
  out.kind = static_cast<std::uint8_t>(as);
  out.numerator = static_cast<std::uint16_t>(std::popcount(mask_of(body)));
  if (!body.table) {
    if (holds_number(as)) return std::nullopt;
    // An integer is the sum of its bits.
    Residues weight = m.one();
    double place = 1;
    for (unsigned i = 0; i < body.width; ++i, place *= 2, weight = m.add(weight, weight)) {
      Wire wire = body.wires[i];
      if (wire == 0) continue;
      Residues bit = wire == 1 ? m.one() : bit_residues(word.source, bit_of(wire));
      if (wire > 1 && (wire & 1) != 0) bit = m.sub(m.one(), bit);
      bool set = wire == 1 || ((element_bits >> bit_of(wire) ^ wire) & 1) != 0;
      bool minus = is_signed(as) && i + 1 == body.width;
      Residues part = m.mul(weight, bit);
      out.r = minus ? m.sub(out.r, part) : m.add(out.r, part);
      if (set) out.shadow += minus ? -place : place;
    }
    out.fits = static_cast<std::uint8_t>(body.width);
    out.signs = integral | (is_signed(as) ? Signs{0} : Signs{not_negative});
    return out;
  }
  const Values* values = values_of(word.pattern, as);
  if (values == nullptr) return std::nullopt;
  out.shadow = values->reals[gathered(element_bits, body.mask)];
  auto [least, most] = std::minmax_element(values->reals.begin(), values->reals.end());
  out.signs = signs_of(*least) & signs_of(*most);
  if (*least >= 0) out.signs |= not_negative;
  if (*most <= 0) out.signs |= not_positive;
  if (body.mask == 0) out.signs |= literal_bits;
  out.fits = static_cast<std::uint8_t>(significant_bits(as));
  if (!holds_number(as)) {
    out.signs |= integral;
    double largest = std::max(std::fabs(*least), std::fabs(*most));
    out.fits = static_cast<std::uint8_t>(largest == 0 ? 1 : std::ilogb(largest) + 1);
  }
  // Folds the table bit by bit: low + x (high - low).
  std::vector<Residues> fold = values->residues;
  for (std::uint64_t mask = body.mask; mask != 0;) {
    unsigned bit = 63u - static_cast<unsigned>(std::countl_zero(mask));
    mask &= ~(std::uint64_t{1} << bit);
    Residues x = bit_residues(word.source, bit);
    std::size_t half = fold.size() / 2;
    for (std::size_t i = 0; i < half; ++i)
      fold[i] = m.add(fold[i], m.mul(x, m.sub(fold[i + half], fold[i])));
    fold.resize(half);
  }
  out.r = fold.front();
  return out;
}

}  // namespace lathe::ptx::field
