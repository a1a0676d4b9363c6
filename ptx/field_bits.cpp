// Bits of floats that inputs decide.

#include <bit>
#include <cmath>

#include "ptx/field.h"
#include "ptx/isa.h"

namespace lathe::ptx::field {

Pattern Words::of_halves(Pattern clear, Pattern set) {
  if (clear == set) return clear;
  Body body;
  body.width = width(clear);
  body.split = true;
  body.halves = {clear, set};
  return known(std::move(body));
}

Pattern Words::float_bits() {
  if (float_bits_) return *float_bits_;
  std::array<Pattern, 2> halves{};
  for (unsigned sign = 0; sign < 2; ++sign) {
    Body body;
    body.width = 32;
    for (unsigned i = 0; i < 31; ++i) body.wires[i] = wire_of(i);
    body.wires[31] = static_cast<Wire>(sign);
    halves[sign] = known(std::move(body));
  }
  float_bits_ = of_halves(halves[0], halves[1]);
  return *float_bits_;
}

Pattern Words::float_plus(std::uint32_t addend) {
  if (addend == 0) return float_bits();
  Body body;
  body.width = 32;
  body.addend = addend;
  return known(std::move(body));
}

std::optional<std::array<std::uint64_t, 2>> Words::known_halves(Pattern pattern) const {
  const Body& body = bodies_[pattern];
  if (!body.split) return std::nullopt;
  std::optional<std::uint64_t> clear = known_bits(body.halves[0]), set = known_bits(body.halves[1]);
  if (!clear || !set) return std::nullopt;
  return std::array<std::uint64_t, 2>{*clear, *set};
}

std::optional<KeyShape> Words::key_shape(Pattern pattern) const {
  const Body& body = bodies_[pattern];
  if (!body.split || body.width != 32) return std::nullopt;
  KeyShape shape;
  for (unsigned half = 0; half < 2; ++half) {
    std::optional<Body> wires = wired(body.halves[half]);
    if (!wires || wires->wires[31] > 1) return std::nullopt;
    shape.halves[half].top = wires->wires[31] == 1;
    shape.halves[half].inverted = (wires->wires[0] & 1) != 0;
    for (unsigned i = 0; i < 31; ++i)
      if (wires->wires[i] != wire_of(i) + (shape.halves[half].inverted ? 1 : 0))
        return std::nullopt;
  }
  return shape;
}

// The rules.

namespace {

constexpr std::uint32_t sign_bit = 0x80000000, below_exponent = 0x007FFFFF, infinite = 0x7F800000;

/// What neither overflows nor loses bits.
bool is_normal(double shadow) {
  double magnitude = std::fabs(shadow);
  return magnitude >= 0x1p-126 && magnitude < 0x1p128;
}

/// The exponent of 0 moves too, which no product does.
void note_nonzero(Arithmetic& arithmetic, const Number& number) {
  constexpr std::uint64_t is_zero = 5;
  if (!number.is(positive) && !number.is(negative)) arithmetic.note_decision(number, is_zero);
}

/// An integer at this piece, whatever the inputs.
bool is_whole_here(const Arithmetic& arithmetic, const Number& number) {
  Number whole = arithmetic.integer(static_cast<std::int64_t>(number.shadow), number.type());
  return whole.shadow == number.shadow && arithmetic.key_of(whole) == arithmetic.key_of(number);
}

std::uint32_t bits_of(const Number& number) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(number.shadow));
}

}  // namespace

Number Arithmetic::power_of_two(const Number& exponent) {
  ++summary_.exponentials;
  return exponential(settled(exponent));
}

Number Arithmetic::shifted_left(const Number& whole, unsigned by) {
  Number out = mul(whole, integer(std::int64_t{1} << by, Type::s32));
  double turns = std::floor(out.shadow / 0x1p32 + 0.5);
  if (turns != 0)
    out = sub(out, integer(static_cast<std::int64_t>(turns) * (std::int64_t{1} << 32), Type::s32));
  out.fits = 32;
  out.signs &= integral | steps;
  return out;
}

Number Arithmetic::by_lemma(const Lemma& lemma, const Number& argument, const Number& value) {
  if (!argument.finite() || !value.finite()) return value;
  Number x = settled(argument), out;
  if (lemma.function == Lemma::Function::rest_of_literal) {
    out = x;
  } else {
    if (!point_->linked()) return value;
    // A fraction and a mantissa have been everywhere that they can be. Of any other argument the
    // interval is a piece, which is seen only where a shadow lies outside.
    Number in_base_2 = mul(x, literal(1.4426950408889634, Type::f64));
    Number one_more = add(x, literal(1, x.type()));
    if (!fractions_.contains(key_of(x)) && !fractions_.contains(key_of(in_base_2)) &&
        !mantissas_.contains(key_of(x)) && !mantissas_.contains(key_of(one_more)))
      note_decision(x, mix(std::bit_cast<std::uint64_t>(lemma.low),
                           std::bit_cast<std::uint64_t>(lemma.high)));
    if (x.shadow < lemma.low || x.shadow > lemma.high) return value;
    switch (lemma.function) {
      case Lemma::Function::exp2:
        out = power_of_two(x);
        break;
      case Lemma::Function::exp:
        out = power_of_two(mul(x, literal(1.4426950408889634, Type::f64)));
        break;
      default:
        // The interval lies above -1: nothing is asked of 1 + t.
        out = logarithm(add(x, literal(1, x.type())));
        if (lemma.function == Lemma::Function::ln_1p)
          out = mul(out, literal(0.6931471805599453, Type::f64));
    }
  }
  summary_.lemmas.insert(static_cast<std::uint32_t>(instruction_));
  out.kind = value.kind;
  out.rounds = value.rounds;
  return out;
}

bool Field::bit_by_bit(std::uint16_t row) {
  static const std::uint16_t lop3 = row_named("$lop3", Type::b32);
  return row == lop3;
}

const Number* Field::whole_at(const Tag* tags, std::uint32_t& id, Number& place) const {
  if (tags[0] == 0 || tags[0] == poison_tag || (tags[0] & 7) != 0) return nullptr;
  for (unsigned i = 1; i < 4; ++i)
    if (tags[i] != tags[0] + i) return nullptr;
  id = tags[0] >> 3;
  // Elements of tiles have no name that lasts.
  if ((id >= first_tile && id < first_input) || is_word(id) || type_of(id) != Type::f32)
    return nullptr;
  place = number(id);
  return &place;
}

std::optional<Word> Field::float_word(const Tag* tags, unsigned bytes) {
  std::uint32_t id = 0;
  Number place;
  const Number* found = bytes == 4 ? whole_at(tags, id, place) : nullptr;
  if (found == nullptr || (!found->finite() && !found->infinite())) return std::nullopt;
  auto [name, fresh] =
      float_names_.try_emplace(id, static_cast<std::uint32_t>(float_sources_.size()));
  if (fresh) float_sources_.push_back(id);
  return Word{name->second, words_.float_bits()};
}

std::uint32_t Field::float_itself(const Word& word) {
  return is_float_source(word.source) && word.pattern == words_.float_bits()
             ? float_sources_[word.source]
             : 0;
}

std::uint32_t Field::keep_float(const Number& number) {
  return keep(Arithmetic::in_format(number, Type::f32, true));
}

/// A float that is kept for what its bits became.
Word Field::float_made(const Number& number, Pattern pattern) {
  std::uint32_t id = keep_float(number);
  auto source = static_cast<std::uint32_t>(float_sources_.size());
  float_sources_.push_back(id);
  float_names_.emplace(id, source);
  return {source, pattern};
}

std::optional<Word> Field::float_plus(const Word& word, std::uint32_t addend) {
  if (!is_float_source(word.source)) return std::nullopt;
  std::optional<std::uint32_t> before = words_.addend_of(word.pattern);
  if (!before && word.pattern != words_.float_bits()) return std::nullopt;
  addend += before.value_or(0);
  Number number = number_settled(float_sources_[word.source]);
  if (!number.finite() || number.shadow == 0) return std::nullopt;
  if (addend == 0 || (addend & below_exponent) != 0)
    return Word{word.source, words_.float_plus(addend)};
  int steps_up = static_cast<std::int32_t>(addend) / static_cast<std::int32_t>(step_of_exponent);
  Number factor = arithmetic_.literal(std::ldexp(1, steps_up), Type::f64);
  Number scaled = arithmetic_.mul(number, factor);
  if (!is_normal(number.shadow) || !is_normal(scaled.shadow)) return std::nullopt;
  note_nonzero(arithmetic_, number);
  scaled.fits = number.fits;
  scaled.rounds = number.rounds;
  return float_made(scaled, words_.float_bits());
}

std::uint32_t Field::float_times(const Tag* tags, const Number& steps_up, bool inverse) {
  std::uint32_t id = 0;
  Number place;
  if (whole_at(tags, id, place) == nullptr || !place.finite()) return 0;
  Number number = arithmetic_.settled(place);
  Number exponent =
      arithmetic_.mul(steps_up, arithmetic_.literal(1.0 / step_of_exponent, Type::f64));
  if (inverse) exponent = arithmetic_.negate(exponent);
  exponent.signs |= integral;
  if (!is_whole_here(arithmetic_, exponent)) arithmetic_.note_guard(exponent);
  note_nonzero(arithmetic_, number);
  Number scaled = arithmetic_.mul(number, arithmetic_.power_of_two(exponent));
  if (!is_normal(number.shadow) || !is_normal(scaled.shadow)) return 0;
  if (inverse && exponents_.contains({arithmetic_.key_of(steps_up), arithmetic_.key_of(number)}))
    arithmetic_.note_mantissa(scaled);
  scaled.fits = number.fits;
  scaled.rounds = number.rounds;
  return keep_float(scaled);
}

std::uint32_t Field::float_of_steps(const Number& steps_up) {
  Number exponent =
      arithmetic_.mul(steps_up, arithmetic_.literal(1.0 / step_of_exponent, Type::f64));
  exponent = arithmetic_.sub(exponent, arithmetic_.literal(127, Type::f64));
  exponent.signs |= integral;
  if (!(exponent.shadow >= -126 && exponent.shadow <= 127)) {
    complain(ComplaintKind::undecided, "an exponent that a float does not have");
    return poison_id();
  }
  arithmetic_.note_guard(exponent);
  Number out = arithmetic_.power_of_two(exponent);
  out.fits = 1;
  return keep_float(out);
}

std::uint32_t Field::with_sign_of(Words::Bitwise what, const Word& a, const Word& b) {
  auto halves = words_.known_halves(a.pattern);
  const Word &sign = halves ? a : b, &other = halves ? b : a;
  if (!halves) halves = words_.known_halves(b.pattern);
  if (!halves || !is_float_source(sign.source) || float_itself(other) == 0) return 0;
  if (((*halves)[0] | (*halves)[1]) != sign_bit) return 0;
  Number from = number_settled(float_sources_[sign.source]);
  Number number = number_settled(float_itself(other));
  if (!from.finite() || !number.finite()) return 0;
  bool set = (*halves)[from.shadow < 0 ? 1 : 0] != 0;
  arithmetic_.note_sign(from);
  if (what == Words::Bitwise::either) {
    set |= number.shadow < 0;
    bool known = number.is(not_negative);
    number = arithmetic_.absolute(number);
    if (!known) number.signs &= static_cast<Signs>(~sign_part);
  }
  return keep_float(arithmetic_.signed_as(number, from, set));
}

std::optional<Number> Field::exponent_of(const std::optional<Word>& word, std::uint32_t mask) {
  if (!word || !is_float_source(word->source) || (mask & below_exponent) != 0) return std::nullopt;
  std::optional<std::uint32_t> addend = words_.addend_of(word->pattern);
  if (!addend) return std::nullopt;
  Number number = number_settled(float_sources_[word->source]);
  if (!number.finite() || !is_normal(number.shadow)) return std::nullopt;
  // Of what is not positive there is no logarithm.
  arithmetic_.note_divisor(number);
  // Wherever the exponents are split, it is a question of the exponent.
  arithmetic_.note_decision(number, mask);
  Number exponent =
      arithmetic_.integer(static_cast<std::int32_t>((bits_of(number) + *addend) & mask), Type::s32);
  // An integer at this piece only: what is asked of it counts.
  exponent.signs &= integral | steps;
  exponent.fits = 32;
  exponents_.insert({arithmetic_.key_of(exponent), arithmetic_.key_of(number)});
  return exponent;
}

std::optional<Number> Field::whole_float(const Tag* tags, std::uint32_t addend) {
  std::uint32_t id = 0;
  Number place;
  if (whole_at(tags, id, place) == nullptr || !place.finite() || !place.is(integral))
    return std::nullopt;
  if (place.shadow < 0x1p23 || place.shadow >= 0x1p24) return std::nullopt;
  constexpr std::int64_t bits_of_2_to_23 = 0x4B000000;
  std::int64_t more = bits_of_2_to_23 - step_of_exponent + static_cast<std::int32_t>(addend);
  Number whole = arithmetic_.add(arithmetic_.settled(place), arithmetic_.integer(more, Type::s32));
  whole.fits = 32;
  whole.signs &= integral | steps;
  return arithmetic_.shifted_left(whole, 0);
}

std::optional<std::uint32_t> Field::float_decided(const Tag* tags, std::uint64_t asked,
                                                  std::uint64_t known) {
  std::uint32_t id = 0;
  Number place;
  if (whole_at(tags, id, place) == nullptr) return std::nullopt;
  if (place.infinite())
    return place.special == Special::plus_infinity ? infinite : infinite | sign_bit;
  if (!place.finite()) return std::nullopt;
  arithmetic_.note_decision(arithmetic_.settled(place), mix(asked, known));
  return bits_of(place);
}

std::optional<std::uint32_t> Field::word_decided(const Word& word, std::uint64_t asked,
                                                 std::uint64_t known) {
  if (!is_float_source(word.source) || words_.width(word.pattern) != 32) return std::nullopt;
  Number number = number_settled(float_sources_[word.source]);
  if (!number.finite()) return std::nullopt;
  // Patterns have other names in the other program: this one is named by what it makes of some
  // bits.
  std::uint64_t name = mix(asked, known);
  for (std::uint32_t sample : {0x3F8CCCCDu, 0xC2F6E979u, 0x5A5A5A5Au, 0xA5A5A5A5u})
    name = mix(name, words_.float_value_of(word.pattern, sample));
  arithmetic_.note_decision(number, name);
  return static_cast<std::uint32_t>(words_.float_value_of(word.pattern, bits_of(number)));
}

namespace {

/// Whether integers of this shape rise, or fall, with the floats that they are made of.
enum class KeyOrder : std::uint8_t { none, rising, falling };

KeyOrder order_of(const KeyShape& shape, bool as_signed, bool never_negative) {
  bool rises = !shape.halves[0].inverted;
  if (!never_negative) {
    // Of negative floats the larger magnitude is the smaller number.
    if (shape.halves[1].inverted != rises) return KeyOrder::none;
    if (shape.halves[0].top == shape.halves[1].top) return KeyOrder::none;
    bool clear_is_above = shape.halves[0].top != as_signed;
    if (clear_is_above != rises) return KeyOrder::none;
  }
  return rises ? KeyOrder::rising : KeyOrder::falling;
}

/// The float whose key these bits are.
std::uint32_t unkeyed(const KeyShape& shape, std::uint32_t key) {
  unsigned sign = shape.halves[0].top == ((key & sign_bit) != 0) ? 0 : 1;
  std::uint32_t rest = shape.halves[sign].inverted ? ~key : key;
  return (rest & ~sign_bit) | (sign == 1 ? sign_bit : 0);
}

}  // namespace

std::optional<Word> Field::extreme_float(const Word& a, const Word& b, bool larger,
                                         bool as_signed) {
  const Word &one = is_float_source(a.source) ? a : b, &other = is_float_source(a.source) ? b : a;
  std::optional<KeyShape> shape = words_.key_shape(one.pattern);
  if (!is_float_source(one.source) || !shape) return std::nullopt;
  Number left = number(float_sources_[one.source]);
  bool never_negative = left.is(clear_sign);
  Number right;
  if (is_float_source(other.source)) {
    if (other.pattern != one.pattern) return std::nullopt;
    right = number(float_sources_[other.source]);
    never_negative &= right.is(clear_sign);
  }
  std::optional<std::uint64_t> bits = words_.known_bits(other.pattern);
  auto key = static_cast<std::uint32_t>(bits.value_or(0));
  if (bits) never_negative &= shape->halves[0].top == ((key & sign_bit) != 0);
  KeyOrder order = order_of(*shape, as_signed, never_negative);
  if (!bits && !is_float_source(other.source)) return std::nullopt;
  if (order == KeyOrder::none) {
    // No order of floats: what these bits are here decides.
    std::uint64_t asked = bits ? key : arithmetic_.key_of(arithmetic_.settled(right));
    std::optional<std::uint32_t> x = word_decided(one, 32 + (as_signed ? 1 : 0), asked);
    std::optional<std::uint32_t> y =
        bits ? key : word_decided(other, 34, arithmetic_.key_of(arithmetic_.settled(left)));
    if (!x || !y) return std::nullopt;
    std::uint32_t turn = as_signed ? sign_bit : 0;
    bool above = (*x ^ turn) >= (*y ^ turn);
    return above == larger ? one : other;
  }
  bool larger_float = larger == (order == KeyOrder::rising);
  if (bits) {
    std::uint32_t literal_bits_of_key = unkeyed(*shape, key);
    bool nan = (literal_bits_of_key & ~sign_bit) > infinite;
    // Beyond all infinities: a start that any float replaces.
    bool below = (literal_bits_of_key & sign_bit) != 0;
    if (nan && below == larger_float) return one;
    if (nan) return std::nullopt;
    right = number(literal(literal_bits_of_key, Type::f32));
  }
  for (const Number* each : {&left, &right})
    if (!each->finite() && !each->infinite()) return std::nullopt;
  Number extreme = larger_float ? arithmetic_.maximum(left, right, false)
                                : arithmetic_.minimum(left, right, false);
  return float_made(extreme, one.pattern);
}

}  // namespace lathe::ptx::field
