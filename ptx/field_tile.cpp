// Dense products of tiles.

#include "ptx/field_tile.h"

#include <algorithm>
#include <cmath>

#include "base/wide_loops.h"

namespace lathe::ptx::field {
namespace {

typedef double Eight __attribute__((vector_size(64)));

/// to[16][8] = from[16][8] + a[16][k] * b[k][8]
__attribute__((target_clones("avx512f", "arch=x86-64-v3", "default"),
               optimize("O3", "fp-contract=fast"))) void
add_product(const double* a, const TileLine* b, const TileLine* from, TileLine* to, unsigned k) {
  const auto* begin = reinterpret_cast<const Eight*>(from);
  auto* lines = reinterpret_cast<Eight*>(to);
  const auto* columns = reinterpret_cast<const Eight*>(b);
  for (unsigned i = 0; i < tile_rows; i += 8, a += 8 * k) {
    Eight s0 = begin[i], s1 = begin[i + 1], s2 = begin[i + 2], s3 = begin[i + 3];
    Eight s4 = begin[i + 4], s5 = begin[i + 5], s6 = begin[i + 6], s7 = begin[i + 7];
    for (unsigned q = 0; q < k; ++q) {
      Eight line = columns[q];
      s0 += a[q] * line;
      s1 += a[k + q] * line;
      s2 += a[2 * k + q] * line;
      s3 += a[3 * k + q] * line;
      s4 += a[4 * k + q] * line;
      s5 += a[5 * k + q] * line;
      s6 += a[6 * k + q] * line;
      s7 += a[7 * k + q] * line;
    }
    lines[i] = s0, lines[i + 1] = s1, lines[i + 2] = s2, lines[i + 3] = s3;
    lines[i + 4] = s4, lines[i + 5] = s5, lines[i + 6] = s6, lines[i + 7] = s7;
  }
}

/// Into [-p, p], by adding and taking away what rounds to an integer.
LATHE_WIDE_LOOPS void reduce_lines(TileLine* lines, double p) {
  constexpr double rounder = 6755399441055744.0;
  double inverse = 1 / p;
  for (unsigned i = 0; i < tile_rows; ++i)
    for (double& x : lines[i].at) x -= ((x * inverse + rounder) - rounder) * p;
}

/// Whether a side may take the first for all of them.
bool all_alike(const std::vector<Number>& numbers) {
  const Number& first = numbers[0];
  return std::all_of(numbers.begin(), numbers.end(), [&](const Number& n) {
    return n.denominator == 0 && n.numerator == first.numerator && n.valid == first.valid &&
           n.taint == first.taint && n.dormant == first.dormant && n.rounds == first.rounds;
  });
}

/// All sides of a tile take their operand's.
template <std::size_t count>
void take_all(std::array<TileSide, count>& sides, bool& even, const TileOperand& operand) {
  if (even && operand.even) return sides[0].take(operand.sides[0]);
  if (even) sides.fill(TileSide(sides[0]));
  even = false;
  for (std::size_t i = 0; i < count; ++i) sides[i].take(operand.sides[i]);
}

std::uint64_t hash_of(const std::vector<std::uint32_t>& ids, unsigned kind) {
  std::array<std::uint64_t, 4> h{kind + 1, 3, 5, 7};
  std::size_t i = 0;
  for (; i + 4 <= ids.size(); i += 4)
    for (unsigned l = 0; l < 4; ++l) h[l] = (h[l] ^ ids[i + l]) * 0x9E3779B97F4A7C15ull;
  for (; i < ids.size(); ++i) h[0] = (h[0] ^ ids[i]) * 0x9E3779B97F4A7C15ull;
  return mix(mix(h[0] ^ h[1] >> 3), h[2] ^ h[3] >> 5);
}

}  // namespace

void TileSide::take(const Number& number) {
  valid &= number.valid;
  taint |= number.taint;
  dormant |= number.dormant;
  numerator = std::max(numerator, number.numerator);
  // A sum of quotients has the product of the denominators.
  denominator = add_degrees(denominator, number.denominator);
  rounds = longest(rounds, number.rounds);
}

void TileSide::take(const TileSide& more) {
  valid &= more.valid;
  taint |= more.taint;
  dormant |= more.dormant;
  numerator = std::max(numerator, more.numerator);
  denominator = add_degrees(denominator, more.denominator);
  rounds = longest(rounds, more.rounds);
}

void TileSide::join(const TileSide& column, double product, Number& d) const {
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

Operand Tiles::operand(const std::vector<std::uint32_t>& ids, unsigned kind, bool lasts,
                       std::shared_ptr<TileOperand>& fresh) {
  std::vector<std::shared_ptr<TileOperand>>& operands = operands_[kind % 2];
  if (operands.empty()) operands.resize(operands_max);
  std::size_t at = hash_of(ids, kind) % operands_max;
  for (std::size_t place : {at, at ^ 1})
    if (operands[place] && operands[place]->kind == kind && operands[place]->ids == ids)
      return operands[place];
  // The older of the two, which is the one that was not filled last.
  std::swap(operands[at], operands[at ^ 1]);
  if (!operands[at] || operands[at].use_count() > 1) operands[at] = std::make_shared<TileOperand>();
  fresh = operands[at];
  fresh->ids = ids;
  fresh->kind = kind;
  fresh->lasts = lasts;
  if (!lasts)
    for (std::size_t place : {at, at ^ 1})
      passing_.push_back({kind % 2, static_cast<std::uint32_t>(place)});
  return fresh;
}

void Tiles::fill(TileOperand& operand, const std::vector<Number>& numbers, unsigned k,
                 bool is_a) const {
  const Moduli& m = point_->moduli();
  operand.finite = true;
  operand.bound = 0;
  operand.sides.assign(is_a ? tile_rows : tile_columns, {});
  operand.plane = is_a ? tile_rows * k / tile_columns : k;
  operand.values.resize(operand.plane * (m.count() + 1));
  unsigned fits = 0;
  operand.even = all_alike(numbers);
  if (operand.even) {
    TileSide side;
    side.take(numbers[0]);
    std::fill(operand.sides.begin(), operand.sides.end(), side);
  }
  for (unsigned i = 0; i < numbers.size(); ++i) {
    const Number& number = numbers[i];
    operand.finite &= number.finite();
    fits = std::max<unsigned>(fits, number.fits);
    if (!operand.even) operand.sides[is_a ? i / k : i % tile_columns].take(number);
    double* at = &operand.values[i / tile_columns].at[i % tile_columns];
    for (unsigned slot = 0; slot < m.count(); ++slot, at += operand.plane * tile_columns) {
      auto r = static_cast<double>(number.r[slot]);
      *at = number.r[slot] > m.p(slot) / 2 ? r - static_cast<double>(m.p(slot)) : r;
    }
    *at = number.shadow;
  }
  operand.bound = std::ldexp(1, static_cast<int>(fits));
}

std::uint32_t Tiles::new_tile() {
  if (free_.empty()) {
    tiles_.push_back(std::make_unique<Tile>());
    return static_cast<std::uint32_t>(tiles_.size() - 1);
  }
  std::uint32_t tile = free_.back();
  free_.pop_back();
  if (!tiles_[tile]) tiles_[tile] = std::make_unique<Tile>();
  return tile;
}

void Tiles::reduce(Tile& tile) const {
  const Moduli& m = point_->moduli();
  for (unsigned slot = 0; slot < m.count(); ++slot)
    reduce_lines(&tile.sums[std::size_t{slot} * tile_rows], static_cast<double>(m.p(slot)));
  tile.products = 0;
}

std::uint32_t Tiles::multiply(const Tile* from, std::vector<Number> start, const TileOperand& a,
                              const TileOperand& b, unsigned k, bool integer) {
  std::uint32_t number = new_tile();
  Tile& tile = *tiles_[number];
  unsigned planes = point_->slot_count() + 1;
  std::size_t lines = std::size_t{planes} * tile_rows;
  if (zeros_.size() != lines) zeros_.assign(lines, {});
  tile.sums.resize(lines);
  const TileLine* sums = zeros_.data();
  if (from != nullptr) {
    tile.integer = from->integer;
    tile.bound = from->bound;
    tile.start = from->start;
    tile.rows = from->rows;
    tile.columns = from->columns;
    tile.even_rows = from->even_rows;
    tile.even_columns = from->even_columns;
    tile.products = from->products;
    sums = from->sums.data();
    if (tile.products + k > tile_products_max) {
      tile.sums = from->sums;
      reduce(tile);
      sums = tile.sums.data();
    }
  } else {
    tile.integer = integer;
    tile.bound = 0;
    for (const Number& c : start) tile.bound = std::max(tile.bound, std::ldexp(1, c.fits));
    tile.start.reset();
    if (!start.empty()) tile.start = std::make_shared<const std::vector<Number>>(std::move(start));
    tile.rows.fill({});
    tile.columns.fill({});
    tile.even_rows = tile.even_columns = true;
    tile.products = 0;
  }
  tile.bound += a.bound * b.bound * k;
  take_all(tile.rows, tile.even_rows, a);
  take_all(tile.columns, tile.even_columns, b);
  tile.products += k;
  for (unsigned plane = 0; plane < planes; ++plane)
    add_product(a.values[plane * a.plane].at.data(), &b.values[plane * b.plane],
                sums + std::size_t{plane} * tile_rows, &tile.sums[std::size_t{plane} * tile_rows],
                k);
  return number;
}

Number Tiles::element(std::uint32_t which, unsigned element) const {
  const Tile& tile = *tiles_[which];
  const Moduli& m = point_->moduli();
  Number out = tile.start ? (*tile.start)[element] : point_->literal(0, Type::f32);
  if (!tile.start) out.signs = 0;
  unsigned row = element / tile_columns, column = element % tile_columns;
  Residues product{};
  const double* at = &tile.sums[row].at[column];
  for (unsigned slot = 0; slot < m.count(); ++slot, at += tile_elements) {
    auto p = static_cast<double>(m.p(slot));
    double rest = *at - std::floor(*at / p) * p;
    auto r = static_cast<std::int64_t>(rest);
    if (r < 0) r += m.p(slot);
    if (r >= m.p(slot)) r -= m.p(slot);
    product[slot] = static_cast<std::uint32_t>(r);
  }
  tile.rows[tile.even_rows ? 0 : row].join(tile.columns[tile.even_columns ? 0 : column], *at, out);
  out.r = m.add(out.r, m.plain(product));
  for (unsigned slot = 0; slot < slots_max; ++slot)
    if ((out.valid >> slot & 1) == 0) out.r[slot] = 0;
  if (!tile.integer) return Arithmetic::in_format(out, Type::f32, false);
  out.kind = static_cast<std::uint8_t>(Type::s32);
  out.signs = integral;
  out.fits = static_cast<std::uint8_t>(std::ilogb(tile.bound) + 1);
  return out;
}

void Tiles::keep(const std::vector<bool>& live) {
  free_.clear();
  for (std::uint32_t i = 0; i < tiles_.size(); ++i)
    if (!live[i]) free_.push_back(i);
  collect_at_ = std::max(collect_least, 2 * (tiles_.size() - free_.size()));
  forget_operands();
}

void Tiles::forget_operands() {
  for (const auto& [table, place] : passing_)
    if (operands_[table][place] && !operands_[table][place]->lasts) operands_[table][place].reset();
  passing_.clear();
}

void Tiles::clear() {
  free_.clear();
  for (std::uint32_t i = 0; i < tiles_.size(); ++i) free_.push_back(i);
  collect_at_ = collect_least;
  forget_operands();
}

}  // namespace lathe::ptx::field
