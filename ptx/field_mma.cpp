// Matrix products of the field domain: elements are gathered once, each residue level and the
// shadows are multiplied as small dense matrices, and what cannot be dense goes element by element.

#include "ptx/field.h"

namespace lathe::ptx::field {
namespace {

constexpr unsigned m_max = 16, n_max = 8, k_max = 64;

/// d[i][j] = sum over k of a[i][k] * b[k][j] mod p, in two halves so that nothing overflows.
__attribute__((target_clones("avx2", "default"), optimize("O3"))) void multiply_residues(
    const std::uint32_t* a, const std::uint32_t* b, std::uint64_t* low, std::uint64_t* high,
    unsigned m, unsigned k) {
  for (unsigned i = 0; i < m; ++i) {
    std::uint64_t lo[n_max] = {}, hi[n_max] = {};
    for (unsigned q = 0; q < k; q += 4) {
      std::uint64_t sum[n_max] = {};
      for (unsigned s = 0; s < 4; ++s)
        for (unsigned j = 0; j < n_max; ++j)
          sum[j] += std::uint64_t{a[i * k_max + q + s]} * b[(q + s) * n_max + j];
      for (unsigned j = 0; j < n_max; ++j) {
        lo[j] += sum[j] & 0xFFFFFFFFu;
        hi[j] += sum[j] >> 32;
      }
    }
    for (unsigned j = 0; j < n_max; ++j) {
      low[i * n_max + j] = lo[j];
      high[i * n_max + j] = hi[j];
    }
  }
}

__attribute__((target_clones("avx2", "default"), optimize("O3"))) void multiply_shadows(
    const double* a, const double* b, double* d, unsigned m, unsigned k) {
  for (unsigned i = 0; i < m; ++i) {
    double sum[n_max] = {};
    for (unsigned q = 0; q < k; ++q)
      for (unsigned j = 0; j < n_max; ++j) sum[j] += a[i * k_max + q] * b[q * n_max + j];
    for (unsigned j = 0; j < n_max; ++j) d[i * n_max + j] = sum[j];
  }
}

/// What the products of one row, or of one column, share.
struct Shared {
  std::uint8_t valid = 0xFF, taint = 0, dormant = 0;
  std::uint16_t numerator = 0, denominator = 0;
  Rounds rounds;

  void take(const Number& number) {
    valid &= number.valid;
    taint |= number.taint;
    dormant |= number.dormant;
    numerator = std::max(numerator, number.numerator);
    // A sum of quotients has the product of the denominators.
    denominator = add_degrees(denominator, number.denominator);
    rounds = longest(rounds, number.rounds);
  }
  /// Adds the product of this row and a column to an element of C, but for its residues.
  void join(const Shared& column, double product, Number& d) const {
    d.valid &= valid & column.valid;
    d.taint |= taint | column.taint;
    d.dormant |= dormant | column.dormant;
    d.rounds = longest(d.rounds, longest(rounds, column.rounds));
    unsigned both = denominator + column.denominator;
    d.numerator = std::max(add_degrees(d.numerator, both),
                           add_degrees(numerator + column.numerator, d.denominator));
    d.denominator = add_degrees(d.denominator, both);
    d.shadow += product;
    d.term = d.set = 0;
    d.signs = 0;
    d.reversed = false;
  }
};

}  // namespace

struct MmaOperands {
  alignas(32) std::uint32_t a[levels][m_max * k_max] = {};
  alignas(32) std::uint32_t b[levels][k_max * n_max] = {};
  alignas(32) double a_shadow[m_max * k_max] = {}, b_shadow[k_max * n_max] = {};
  Shared rows[m_max], columns[n_max];
  std::uint64_t low[m_max * n_max] = {}, high[m_max * n_max] = {};
  double product[m_max * n_max] = {};
};

bool Field::gather(const Lanes& lanes, const Mma& mma, MmaOperands& o) {
  bool dense = true;
  auto take = [&](Cell cell, Type type) {
    lane_ = cell.lane;
    std::size_t at = cell.at();
    Number number =
        number_settled(read_number(&lanes.plane->bits[at], &lanes.plane->tags[at], type));
    if (type == Type::tf32 && number.fits > 11) number.rounds = rounded(number.rounds, 11);
    dense &= number.finite();
    scratch_.push_back(number);
    return number;
  };
  unsigned level_count = point_->level_count();
  for (unsigned i = 0; i < mma.m; ++i)
    for (unsigned q = 0; q < mma.k; ++q) {
      Number number = take(mma.a[i * mma.k + q], mma.a_type);
      for (unsigned l = 0; l < level_count; ++l) o.a[l][i * k_max + q] = number.r[l];
      o.a_shadow[i * k_max + q] = number.shadow;
      o.rows[i].take(number);
    }
  for (unsigned q = 0; q < mma.k; ++q)
    for (unsigned j = 0; j < mma.n; ++j) {
      Number number = take(mma.b[q * mma.n + j], mma.b_type);
      o.columns[j].take(number);
      for (unsigned l = 0; l < level_count; ++l) o.b[l][q * n_max + j] = number.r[l];
      o.b_shadow[q * n_max + j] = number.shadow;
    }
  for (unsigned i = 0; i < mma.m * mma.n; ++i) take(mma.c[i], mma.c_type);
  return dense;
}

void Field::multiply(Lanes& lanes, const Mma& mma) {
  collect_if_large();
  if (!is_float(mma.c_type) || width_of(mma.a_type) < 16)
    return complain(ComplaintKind::unsupported, "the field domain has no such matrix product yet");
  if (mma.m > m_max || mma.n > n_max || mma.k > k_max || mma.k % 4 != 0)
    return complain(ComplaintKind::unsupported, "a matrix product of a shape that is not modelled");
  if (!operands_) operands_ = std::make_shared<MmaOperands>();
  MmaOperands& o = *operands_;
  scratch_.clear();
  std::fill(std::begin(o.rows), std::end(o.rows), Shared{});
  std::fill(std::begin(o.columns), std::end(o.columns), Shared{});
  bool dense = gather(lanes, mma, o);
  arithmetic_.summary().products += std::uint64_t{mma.m} * mma.n * mma.k;
  if (!dense) return multiply_each(lanes, mma);
  Number* results = &scratch_[std::size_t{mma.m} * mma.k + std::size_t{mma.k} * mma.n];
  multiply_shadows(o.a_shadow, o.b_shadow, o.product, mma.m, mma.k);
  for (unsigned i = 0; i < mma.m; ++i)
    for (unsigned j = 0; j < mma.n; ++j)
      o.rows[i].join(o.columns[j], o.product[i * n_max + j], results[i * mma.n + j]);
  for (unsigned l = 0; l < point_->level_count(); ++l) {
    const Prime& p = point_->prime(l);
    multiply_residues(o.a[l], o.b[l], o.low, o.high, mma.m, mma.k);
    for (unsigned i = 0; i < mma.m; ++i)
      for (unsigned j = 0; j < mma.n; ++j) {
        std::uint64_t high = p.reduce(o.high[i * n_max + j]);
        std::uint32_t sum = p.reduce((high << 32) + o.low[i * n_max + j]);
        std::uint32_t& r = results[i * mma.n + j].r[l];
        r = p.add(r, sum);
      }
  }
  for (unsigned i = 0; i < mma.m * mma.n; ++i) put_number(lanes, mma.d[i], results[i], mma.d_type);
}

/// Infinities, NaN and poison follow IEEE rules, one product at a time.
void Field::multiply_each(Lanes& lanes, const Mma& mma) {
  const std::vector<Number>& wide = scratch_;
  std::size_t b = std::size_t{mma.m} * mma.k, c = b + std::size_t{mma.k} * mma.n;
  std::vector<Number> results;
  for (unsigned i = 0; i < mma.m; ++i)
    for (unsigned j = 0; j < mma.n; ++j) {
      Number sum = wide[c + i * mma.n + j];
      for (unsigned q = 0; q < mma.k; ++q)
        sum = arithmetic_.add(arithmetic_.mul(wide[i * mma.k + q], wide[b + q * mma.n + j]), sum);
      results.push_back(sum);
    }
  for (unsigned i = 0; i < mma.m * mma.n; ++i) put_number(lanes, mma.d[i], results[i], mma.d_type);
}

void Field::put_number(Lanes& lanes, Cell cell, const Number& number, Type type) {
  std::uint32_t id = keep(Arithmetic::in_format(number, type, false));
  Tag* tags = &lanes.plane->tags[cell.at()];
  for (unsigned i = 0; i < width_of(type) / 8; ++i)
    tags[i] = id == poison_id() ? poison_tag : id << 3 | i;
}

}  // namespace lathe::ptx::field
