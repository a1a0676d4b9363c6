// Arithmetic over strips.

#include <cmath>

#include "base/wide_loops.h"
#include "ptx/field_strip.h"

namespace lathe::ptx::field {
namespace {

inline std::uint32_t wrapped(std::uint32_t x, std::uint32_t p) {
  return x + (static_cast<std::uint32_t>(static_cast<std::int32_t>(x) >> 31) & p);
}

/// In Montgomery form, as Moduli has it.
inline std::uint32_t product(std::uint32_t a, std::uint32_t b, std::uint32_t p, std::uint32_t n) {
  std::uint64_t wide = std::uint64_t{a} * b;
  std::uint64_t whole = std::uint64_t{static_cast<std::uint32_t>(wide) * n} * p;
  return wrapped(static_cast<std::uint32_t>(wide >> 32) - static_cast<std::uint32_t>(whole >> 32),
                 p);
}

/// How the slots of a strip are computed with.
struct Modulus {
  std::uint32_t p, n;
};
using Modules = std::array<Modulus, slots_max>;

LATHE_WIDE_LOOPS void multiply(const Strip& a, const Strip& b, Strip& out, const Modules& m,
                               unsigned slots) {
  for (unsigned slot = 0; slot < slots; ++slot)
    for (unsigned i = 0; i < lane_count; ++i)
      out.r[slot][i] = product(a.r[slot][i], b.r[slot][i], m[slot].p, m[slot].n);
  for (unsigned i = 0; i < lane_count; ++i) out.shadows[i] = a.shadows[i] * b.shadows[i];
}
LATHE_WIDE_LOOPS void multiply_by(const Number& a, const Strip& b, Strip& out, const Modules& m,
                                  unsigned slots) {
  for (unsigned slot = 0; slot < slots; ++slot)
    for (unsigned i = 0; i < lane_count; ++i)
      out.r[slot][i] = product(a.r[slot], b.r[slot][i], m[slot].p, m[slot].n);
  for (unsigned i = 0; i < lane_count; ++i) out.shadows[i] = a.shadow * b.shadows[i];
}
LATHE_WIDE_LOOPS void fuse(const Strip& a, const Strip& b, const Strip& c, Strip& out,
                           const Modules& m, unsigned slots) {
  for (unsigned slot = 0; slot < slots; ++slot) {
    const std::uint32_t p = m[slot].p, n = m[slot].n;
    for (unsigned i = 0; i < lane_count; ++i)
      out.r[slot][i] = wrapped(product(a.r[slot][i], b.r[slot][i], p, n) - (p - c.r[slot][i]), p);
  }
  for (unsigned i = 0; i < lane_count; ++i)
    out.shadows[i] = a.shadows[i] * b.shadows[i] + c.shadows[i];
}
LATHE_WIDE_LOOPS void fuse_by(const Number& a, const Strip& b, const Strip& c, Strip& out,
                              const Modules& m, unsigned slots) {
  for (unsigned slot = 0; slot < slots; ++slot) {
    const std::uint32_t p = m[slot].p, n = m[slot].n, factor = a.r[slot];
    for (unsigned i = 0; i < lane_count; ++i)
      out.r[slot][i] = wrapped(product(factor, b.r[slot][i], p, n) - (p - c.r[slot][i]), p);
  }
  for (unsigned i = 0; i < lane_count; ++i) out.shadows[i] = a.shadow * b.shadows[i] + c.shadows[i];
}
LATHE_WIDE_LOOPS void add_lanes(const Strip& a, const Strip& b, Strip& out, const Modules& m,
                                unsigned slots) {
  for (unsigned slot = 0; slot < slots; ++slot)
    for (unsigned i = 0; i < lane_count; ++i)
      out.r[slot][i] = wrapped(a.r[slot][i] - (m[slot].p - b.r[slot][i]), m[slot].p);
  for (unsigned i = 0; i < lane_count; ++i) out.shadows[i] = a.shadows[i] + b.shadows[i];
}
LATHE_WIDE_LOOPS void subtract_lanes(const Strip& a, const Strip& b, Strip& out, const Modules& m,
                                     unsigned slots) {
  for (unsigned slot = 0; slot < slots; ++slot)
    for (unsigned i = 0; i < lane_count; ++i)
      out.r[slot][i] = wrapped(a.r[slot][i] - b.r[slot][i], m[slot].p);
  for (unsigned i = 0; i < lane_count; ++i) out.shadows[i] = a.shadows[i] - b.shadows[i];
}
LATHE_WIDE_LOOPS void negate_lanes(const Strip& a, Strip& out, const Modules& m, unsigned slots) {
  for (unsigned slot = 0; slot < slots; ++slot)
    for (unsigned i = 0; i < lane_count; ++i) out.r[slot][i] = wrapped(0 - a.r[slot][i], m[slot].p);
  for (unsigned i = 0; i < lane_count; ++i) out.shadows[i] = -a.shadows[i];
}

Modules modules_of(const Moduli& moduli) {
  Modules out{};
  for (unsigned slot = 0; slot < moduli.count(); ++slot)
    out[slot] = {moduli.p(slot), moduli.low_inverse(slot)};
  return out;
}

/// `.sat` and `.relu` compare.
bool compares(Form f) { return f.has(Flag::sat) || f.has(Flag::relu); }

/// A sum with a literal of such a size rounds to an integer, which is more than a sum.
bool rounds(const Strip& strip) {
  double magnitude = std::fabs(strip.first.shadow);
  return strip.first.type() == Type::f32 && strip.first.is(literal_bits) && magnitude >= 0x1p22 &&
         magnitude < 0x1p24;
}

}  // namespace

/// Of a square it is known that it is not negative: which lanes are squares must be the same.
bool Strips::ambiguous_square(const StripValue& a, const StripValue& b) const {
  const Strip &x = *a.strip, &y = *b.strip;
  if (&x == &y || x.first.shadow != y.first.shadow || !equal(x.first.r, y.first.r)) return false;
  return a.one != b.one || (!a.one && (x.shadows != y.shadows || x.r != y.r));
}

/// Residues and shadows are there; `first` says all else, as for the first lane alone.
StripValue Strips::finished(std::uint32_t index, Number first, Type type, bool exact) {
  Strip& strip = at(index);
  Arithmetic::put_in_format(first, type, exact);
  strip.first = first;
  strip.first.shadow = strip.shadows[0];
  for (unsigned slot = 0; slot < field_->point_->slot_count(); ++slot) {
    if ((first.valid >> slot & 1) == 0) strip.r[slot].fill(0);
    strip.first.r[slot] = strip.r[slot][0];
  }
  note_magnitudes(strip);
  return value(index);
}

StripValue Strips::sum(Form f, const StripValue& a, const StripValue& b, bool less) {
  if (a.strip == nullptr || b.strip == nullptr || compares(f)) return {};
  if (rounds(*a.strip) || rounds(*b.strip)) return {};
  const Strip &x = filled(a), &y = filled(b);
  std::uint32_t index = new_strip();
  Strip& out = at(index);
  const Moduli& m = field_->point_->moduli();
  (less ? subtract_lanes : add_lanes)(x, y, out, modules_of(m), m.count());
  Arithmetic& arithmetic = field_->arithmetic_;
  bool exact = x.first.zero() || y.first.zero();
  StripValue result =
      finished(index, less ? arithmetic.sub(x.first, y.first) : arithmetic.add(x.first, y.first),
               x.first.type(), exact);
  if (!exact && x.first.rounds.count[0] + y.first.rounds.count[0] != 0)
    note_sum(x.shadows, y.shadows, out);
  return result;
}

StripValue Strips::mul(Form f, const StripValue& a, const StripValue& b) {
  if (a.strip == nullptr || b.strip == nullptr || compares(f) || ambiguous_square(a, b)) return {};
  const Strip &x = *a.strip, &y = *b.strip;
  std::uint32_t index = new_strip();
  Strip& out = at(index);
  const Moduli& m = field_->point_->moduli();
  if (a.one)
    multiply_by(x.first, filled(b), out, modules_of(m), m.count());
  else if (b.one)
    multiply_by(y.first, x, out, modules_of(m), m.count());
  else
    multiply(x, y, out, modules_of(m), m.count());
  return finished(index, field_->arithmetic_.mul(x.first, y.first), x.first.type(),
                  only_moves(x.first) || only_moves(y.first));
}

StripValue Strips::fused(Form f, const StripValue& a, const StripValue& b, const StripValue& c) {
  if (a.strip == nullptr || b.strip == nullptr || c.strip == nullptr || compares(f) ||
      ambiguous_square(a, b))
    return {};
  if (rounds(*c.strip)) return {};
  const Strip &x = *a.strip, &y = *b.strip, &z = filled(c);
  std::uint32_t index = new_strip();
  Strip& out = at(index);
  const Moduli& m = field_->point_->moduli();
  if (a.one)
    fuse_by(x.first, filled(b), z, out, modules_of(m), m.count());
  else if (b.one)
    fuse_by(y.first, x, z, out, modules_of(m), m.count());
  else
    fuse(x, y, z, out, modules_of(m), m.count());
  Arithmetic& arithmetic = field_->arithmetic_;
  StripValue result = finished(index, arithmetic.add(arithmetic.mul(x.first, y.first), z.first),
                               x.first.type(), false);
  if (x.first.rounds.count[0] + y.first.rounds.count[0] + z.first.rounds.count[0] != 0 &&
      !z.first.zero())
    note_fused(a, b, z, out);
  return result;
}

StripValue Strips::negate(const StripValue& a) {
  if (a.strip == nullptr) return {};
  std::uint32_t index = new_strip();
  Strip& out = at(index);
  const Moduli& m = field_->point_->moduli();
  negate_lanes(filled(a), out, modules_of(m), m.count());
  return finished(index, field_->arithmetic_.negate(a.strip->first), a.strip->first.type(), true);
}

StripValue Strips::converted(const StripValue& value, Type to) {
  if (value.strip == nullptr) return {};
  std::uint32_t index = new_strip();
  const Strip& from = filled(value);
  Strip& out = at(index);
  out.shadows = from.shadows;
  for (unsigned slot = 0; slot < field_->point_->slot_count(); ++slot) out.r[slot] = from.r[slot];
  return finished(index, from.first, to, true);
}

}  // namespace lathe::ptx::field
