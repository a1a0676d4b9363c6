#pragma once

// The maximum of numbers is a keyed function of their set, M(S) = mean + s * H of ((x
// - mean) / s), s the root of the summed squares: M(S + c) = M(S) + c and M(aS) = a M(S) for
// squares a hold by construction, and one forgotten element changes it. Sets are built as trees and
// computed once when somebody asks for the value.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ptx/field_point.h"

namespace lathe::ptx::field {

struct MaximumElement {
  Residues r{};
  double shadow = 0;
  Slots valid = 0, taint = 0, dormant = 0;
  bool literal = false;
  std::uint32_t term = 0;  // Where it is a multiple of a maximum itself, and more: as in Number.
  /// A literal so low that it is a start which data will replace: -FLT_MAX, -1e30.
  bool starts() const { return literal && shadow < -0x1p96; }
};

/// A set whose function has been computed.
struct Maximum {
  Residues r{};
  double shadow = 0;
  Slots valid = 0, taint = 0, dormant = 0;
  bool keyed = false;  // A function of the set; false: the larger by shadow.
  /// Its elements are the first of a roll.
  std::uint32_t roll = 0, elements = 0;
  /// Names of the literals among the members. Such a maximum may be attained by no datum, so that
  /// an exponential which it guards may be 0 for all of them.
  std::vector<std::uint64_t> literals;
  /// Of all elements: what a larger set goes on from.
  struct Totals {
    Residues sum{}, squares{};
    Slots valid = 0xFF, taint = 0, dormant = 0;
    std::uint32_t winner = 0;  // Its place in the roll.
  } totals;
};

class Maxima {
 public:
  explicit Maxima(const Point& point) : point_(&point) { clear(); }
  void clear();

  std::uint32_t leaf(const Number& number);
  std::uint32_t join(std::uint32_t a, std::uint32_t b);
  std::uint32_t count(std::uint32_t node) const { return nodes_[node].count; }
  bool same(std::uint32_t a, std::uint32_t b) const {
    return nodes_[a].low == nodes_[b].low && nodes_[a].high == nodes_[b].high;
  }
  /// Index of the set's Maximum.
  std::uint32_t compute(std::uint32_t node);
  const Maximum& at(std::uint32_t index) const { return computed_[index]; }
  const MaximumElement& element(const Maximum& of, std::uint32_t place) const {
    return rolls_[of.roll].elements[place];
  }
  /// Of two, a literal bounds the other, and of opposites the larger is the magnitude.
  bool plain_pair(const Maximum& of) const;
  /// Whether the set has an element with these residues in all of these slots.
  bool member(std::uint32_t index, const Residues& residues, Slots slots) const;
  /// Whether these residues are the maximum of some elements of the set.
  bool of_part(std::uint32_t index, const Residues& residues, Slots slots) const;

 private:
  struct Node {
    std::uint64_t low = 0,
                  high = 0;  // Sums of the leaves' keys: names the multiset.
    std::uint32_t left = 0, right = 0, count = 1;
    std::uint32_t element = 0;
    std::uint64_t name() const { return mix(low, high); }
  };
  /// Elements, each once, in the order in which sets took them in. A running maximum's sets are one
  /// roll, each a longer beginning of it.
  struct Roll {
    std::vector<MaximumElement> elements;
    std::vector<std::uint32_t> literals;  // Where they are.
    /// By the residue of one slot: where in `elements`, from 1 on; 0 is free.
    std::vector<std::uint32_t> places;
    void add(const MaximumElement& element);
    void make_places(std::size_t size);
  };
  void gather(std::uint32_t node, Maximum& into);
  void begin_with(const Maximum& part, Maximum& into);
  void add_leaves(std::uint32_t node, Maximum& into);
  void fill(Maximum& maximum) const;
  Residues keyed(const Maximum& maximum) const;

  const Point* point_;
  std::vector<Node> nodes_;
  std::vector<MaximumElement> elements_;
  std::vector<Maximum> computed_;
  std::vector<Roll> rolls_;
  std::unordered_multimap<std::uint32_t, std::uint32_t> by_value_;  // By the first slot's residue.
  std::unordered_map<std::uint64_t, std::uint32_t> by_name_;
  std::vector<std::uint32_t> stack_;
};

}  // namespace lathe::ptx::field
