#pragma once

// The maximum of three or more numbers is a keyed function of their set, M(S) = mean + s * H of
// ((x - mean) / s), s the root of the summed squares: M(S + c) = M(S) + c and M(aS) = a M(S) for
// squares a hold by construction, and one forgotten element changes it. Sets are built as trees and
// computed once when somebody asks for the value.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ptx/field_point.h"

namespace lathe::ptx::field {

/// A set whose function has been computed.
struct Maximum {
  std::array<std::uint32_t, levels> r{};
  double shadow = 0;
  std::uint8_t valid = 0, taint = 0, dormant = 0;
  std::uint32_t elements = 0;
  /// Of each level, a hash table of the elements' residues; 0 is held as the prime itself.
  std::array<std::vector<std::uint32_t>, levels> members;
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
  bool member(std::uint32_t index, unsigned level, std::uint32_t residue) const;

 private:
  struct Element {
    std::array<std::uint32_t, levels> r{};
    double shadow = 0;
    std::uint8_t valid = 0, taint = 0, dormant = 0;
  };
  struct Node {
    std::uint64_t low = 0, high = 0;  // Sums of the leaves' keys: names the multiset.
    std::uint32_t left = 0, right = 0, count = 1;
    std::uint32_t element = 0;
  };
  void gather(std::uint32_t node, std::vector<Element>& out) const;
  void fill(Maximum& maximum, const std::vector<Element>& elements) const;
  std::uint32_t keyed(unsigned level, const std::vector<Element>& elements) const;

  const Point* point_;
  std::vector<Node> nodes_;
  std::vector<Element> elements_;
  std::vector<Maximum> computed_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_name_;
};

}  // namespace lathe::ptx::field
