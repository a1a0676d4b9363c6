#pragma once

// Accumulators of matrix products as dense tiles: a product of two gathered
// operands is added in doubles, exactly, because primes are small, and an
// element becomes a number only when somebody reads it. A tile is never
// changed: each product makes another.

#include <memory>
#include <vector>

#include "ptx/field_arithmetic.h"

namespace lathe::ptx::field {

inline constexpr unsigned tile_rows = 16, tile_columns = 8, tile_elements = 128;
inline constexpr unsigned tile_k_max = 64;
/// So many products of 23-bit primes add up without rounding.
inline constexpr unsigned tile_products_max = 256;

/// What the products of one row, or of one column, share.
struct TileSide {
  Slots valid = 0xFF, taint = 0, dormant = 0;
  std::uint16_t numerator = 0, denominator = 0;
  Rounds rounds;

  bool operator==(const TileSide&) const = default;
  void take(const Number& number);
  void take(const TileSide& more);
  /// Adds the product of this row and a column to an element of C, but for its
  /// residues.
  void join(const TileSide& column, double product, Number& d) const;
};

struct alignas(64) TileLine {
  std::array<double, tile_columns> at{};
};

/// The elements of A (16 rows of k) or of B (k rows of 8), by plane: one a
/// slot, then the shadows.
struct TileOperand {
  std::vector<std::uint32_t> ids;
  bool lasts = false;
  unsigned kind = 0;
  bool finite = true;
  double bound = 0;             // Of integers: their largest magnitude.
  std::vector<TileSide> sides;  // Of A by row, of B by column.
  bool even = false;            // All of them are alike.
  std::vector<TileLine> values;
  std::size_t plane = 0;  // Lines of a plane.
};

using Operand = std::shared_ptr<const TileOperand>;

struct Tile {
  bool integer = false;  // Of s32: exact while the sum stays below 2^31.
  double bound = 0;
  std::shared_ptr<const std::vector<Number>> start;  // C where it is not zero.
  std::array<TileSide, tile_rows> rows;
  std::array<TileSide, tile_columns> columns;
  bool even_rows = true, even_columns = true;  // The first stands for all.
  std::vector<TileLine> sums;                  // 16 lines a plane.
  unsigned products = 0;                       // Since the sums were last reduced.
};

class Tiles {
 public:
  explicit Tiles(const Point& point) : point_(&point) {}

  /// The operand with these elements, where it is still at hand; otherwise `fresh` is in its place
  /// and to be filled. `kind` is even for A and odd for B; the rest of it tells formats apart.
  /// `lasts`: no name of these elements is ever used again.
  Operand operand(const std::vector<std::uint32_t>& ids, unsigned kind, bool lasts,
                  std::shared_ptr<TileOperand>& fresh);
  void fill(TileOperand& operand, const std::vector<Number>& numbers, unsigned k, bool is_a) const;
  /// Number of a new tile: `from` (or `start`, or zero) and the product.
  std::uint32_t multiply(const Tile* from, std::vector<Number> start, const TileOperand& a,
                         const TileOperand& b, unsigned k, bool integer = false);
  const Tile& at(std::uint32_t tile) const { return *tiles_[tile]; }
  Number element(std::uint32_t tile, unsigned element) const;

  bool large() const { return tiles_.size() - free_.size() >= collect_at_; }
  std::size_t size() const { return tiles_.size(); }
  /// Keeps the tiles that are marked.
  void keep(const std::vector<bool>& live);
  void forget_operands();
  void clear();

 private:
  static constexpr std::size_t operands_max = 16384;
  std::uint32_t new_tile();
  void reduce(Tile& tile) const;

  const Point* point_;
  std::vector<std::unique_ptr<Tile>> tiles_;
  std::vector<TileLine> zeros_;
  std::vector<std::uint32_t> free_;
  /// Of A and of B apart, so that one never takes the other's place; two places for each hash.
  std::array<std::vector<std::shared_ptr<TileOperand>>, 2> operands_;
  /// Those whose elements' names are used again: the table and the place.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> passing_;
  static constexpr std::size_t collect_least = 16384;
  std::size_t collect_at_ = collect_least;
};

}  // namespace lathe::ptx::field
