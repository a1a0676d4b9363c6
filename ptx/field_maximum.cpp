// Sets of the keyed maximum.

#include "ptx/field_maximum.h"

#include <algorithm>

namespace lathe::ptx::field {
namespace {

/// The slot whose residues index a set's members.
constexpr unsigned index_slot = 0;

std::size_t place_of(std::uint32_t residue, std::size_t size) {
  return (residue * 0x9E3779B97F4A7C15ull >> 32) & (size - 1);
}

}  // namespace

void Maxima::clear() {
  nodes_.assign(1, {});
  elements_.assign(1, {});
  computed_.assign(1, {});
  rolls_.assign(1, {});
  by_name_.clear();
  by_value_.clear();
}

std::uint32_t Maxima::leaf(const Number& number) {
  Node node;
  node.low = name_of(number.r, number.valid, point_->key(0, 5));
  node.high = name_of(number.r, number.valid, point_->key(1, 5));
  node.element = static_cast<std::uint32_t>(elements_.size());
  elements_.push_back({number.r, number.shadow, number.valid, number.taint, number.dormant,
                       number.is(literal_bits), number.term});
  nodes_.push_back(node);
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

std::uint32_t Maxima::join(std::uint32_t a, std::uint32_t b) {
  if (same(a, b)) return a;
  Node node;
  node.low = nodes_[a].low + nodes_[b].low;
  node.high = nodes_[a].high + nodes_[b].high;
  node.left = a;
  node.right = b;
  node.count = nodes_[a].count + nodes_[b].count;
  nodes_.push_back(node);
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

void Maxima::Roll::make_places(std::size_t size) {
  places.assign(size, 0);
  for (std::uint32_t i = 0; i < elements.size(); ++i) {
    std::size_t at = place_of(elements[i].r[index_slot], size);
    while (places[at] != 0) at = (at + 1) & (size - 1);
    places[at] = i + 1;
  }
}

void Maxima::Roll::add(const MaximumElement& element) {
  constexpr std::size_t places_least = 16;
  if (2 * (elements.size() + 1) > places.size())
    make_places(std::max(places_least, 2 * places.size()));
  std::size_t mask = places.size() - 1, at = place_of(element.r[index_slot], places.size());
  for (; places[at] != 0; at = (at + 1) & mask) {
    const MaximumElement& other = elements[places[at] - 1];
    if (other.valid == element.valid && equal(other.r, element.r)) return;
  }
  if (element.literal) literals.push_back(static_cast<std::uint32_t>(elements.size()));
  elements.push_back(element);
  places[at] = static_cast<std::uint32_t>(elements.size());
}

/// Takes over the elements of a part that is computed; of its roll where that ends there.
void Maxima::begin_with(const Maximum& part, Maximum& into) {
  into.totals = part.totals;
  into.elements = part.elements;
  into.roll = part.roll;
  if (rolls_[part.roll].elements.size() == part.elements) return;
  into.roll = static_cast<std::uint32_t>(rolls_.size());
  rolls_.emplace_back();
  for (std::uint32_t i = 0; i < part.elements; ++i)
    rolls_.back().add(rolls_[part.roll].elements[i]);
}

/// The set's elements, each once. What one of its two parts is made of may be known.
void Maxima::gather(std::uint32_t node, Maximum& into) {
  const Node& root = nodes_[node];
  if (root.element == 0) {
    auto left = by_name_.find(nodes_[root.left].name());
    auto right = by_name_.find(nodes_[root.right].name());
    auto elements = [&](auto found) {
      return found == by_name_.end() ? 0 : computed_[found->second].elements;
    };
    std::uint32_t of_left = elements(left), of_right = elements(right);
    if (of_left + of_right != 0) {
      begin_with(computed_[(of_left >= of_right ? left : right)->second], into);
      return add_leaves(of_left >= of_right ? root.right : root.left, into);
    }
  }
  into.roll = static_cast<std::uint32_t>(rolls_.size());
  rolls_.emplace_back();
  add_leaves(node, into);
}

void Maxima::add_leaves(std::uint32_t node, Maximum& into) {
  Roll& roll = rolls_[into.roll];
  stack_.assign(1, node);
  while (!stack_.empty()) {
    const Node& top = nodes_[stack_.back()];
    stack_.pop_back();
    if (top.element == 0) {
      stack_.push_back(top.right);
      stack_.push_back(top.left);
    } else {
      roll.add(elements_[top.element]);
    }
  }
  const Moduli& m = point_->moduli();
  Maximum::Totals& totals = into.totals;
  for (std::uint32_t i = into.elements; i < roll.elements.size(); ++i) {
    const MaximumElement& e = roll.elements[i];
    totals.sum = m.add(totals.sum, e.r);
    totals.squares = m.add(totals.squares, m.mul(e.r, e.r));
    totals.valid &= e.valid;
    totals.taint |= e.taint;
    totals.dormant |= e.dormant;
    if (e.shadow > roll.elements[totals.winner].shadow) totals.winner = i;
  }
  into.elements = static_cast<std::uint32_t>(roll.elements.size());
}

Residues Maxima::keyed(const Maximum& maximum) const {
  const Moduli& m = point_->moduli();
  const MaximumElement* elements = rolls_[maximum.roll].elements.data();
  const Maximum::Totals& totals = maximum.totals;
  Residues mean = m.mul(totals.sum, m.inverse(m.integer(maximum.elements)));
  Residues scale = m.root(m.sub(totals.squares, m.mul(totals.sum, mean)));
  Residues secret{};
  for (unsigned slot = 0; slot < m.count(); ++slot)
    secret[slot] = m.prime(slot).reduce(point_->key(slot, 6));
  // The set is named by the product of (secret + (x - mean) / scale) over its elements, which is
  // that of (secret scale - mean + x) over a power of the scale. Some at a time: a product waits
  // for the one before it.
  constexpr std::uint32_t at_once = 4;
  std::array<Residues, at_once> products;
  products.fill(m.one());
  Residues from = m.sub(m.mul(secret, scale), mean), powers;
  std::uint32_t i = 0;
  for (; i + at_once <= maximum.elements; i += at_once)
    for (std::uint32_t k = 0; k < at_once; ++k)
      products[k] = m.mul(products[k], m.add(from, elements[i + k].r));
  for (; i < maximum.elements; ++i) products[0] = m.mul(products[0], m.add(from, elements[i].r));
  powers.fill(maximum.elements);
  Residues product = m.power(m.inverse(scale), powers);
  for (const Residues& part : products) product = m.mul(product, part);
  Residues hash{};
  for (unsigned slot = 0; slot < m.count(); ++slot)
    hash[slot] = m.prime(slot).reduce(
        mix(point_->key(slot, 6), product[slot] + (std::uint64_t{maximum.elements} << 32)));
  return m.add(mean, m.mul(scale, hash));
}

bool Maxima::plain_pair(const Maximum& of) const {
  if (of.elements != 2) return false;
  const MaximumElement &a = element(of, 0), &b = element(of, 1);
  return a.literal || b.literal || equal(point_->moduli().add(a.r, b.r), Residues{});
}

void Maxima::fill(Maximum& maximum) const {
  const Roll& roll = rolls_[maximum.roll];
  const std::vector<MaximumElement>& elements = roll.elements;
  const Maximum::Totals& totals = maximum.totals;
  const MaximumElement& winner = elements[totals.winner];
  maximum.valid = point_->every_slot() & totals.valid;
  maximum.taint = totals.taint;
  maximum.dormant = totals.dormant;
  maximum.shadow = winner.shadow;
  if (maximum.elements > 2)
    for (std::uint32_t i : roll.literals)
      if (i < maximum.elements && !elements[i].starts())
        maximum.literals.push_back(name_of(elements[i].r, elements[i].valid, point_->key(0, 8)));
  maximum.keyed = maximum.elements >= 2 && !plain_pair(maximum) && point_->strict_maximum();
  if (!maximum.keyed) {
    maximum.r = winner.r;
    maximum.valid = winner.valid;
    maximum.taint = winner.taint;
    maximum.dormant = winner.dormant;
    return;
  }
  maximum.r = keyed(maximum);
  for (unsigned slot = 0; slot < slots_max; ++slot)
    if ((maximum.valid >> slot & 1) == 0) maximum.r[slot] = 0;
}

std::uint32_t Maxima::compute(std::uint32_t node) {
  std::uint64_t name = nodes_[node].name();
  if (auto found = by_name_.find(name); found != by_name_.end()) return found->second;
  Maximum maximum;
  gather(node, maximum);
  fill(maximum);
  auto index = static_cast<std::uint32_t>(computed_.size());
  by_name_.emplace(name, index);
  by_value_.emplace(maximum.r[index_slot], index);
  computed_.push_back(std::move(maximum));
  return index;
}

bool Maxima::member(std::uint32_t index, const Residues& residues, Slots slots) const {
  const Maximum& set = computed_[index];
  const Roll& roll = rolls_[set.roll];
  const Moduli& m = point_->moduli();
  auto holds = [&](const MaximumElement& e) {
    return (e.valid & slots) == slots && (m.same(e.r, residues) & slots) == slots;
  };
  if ((slots >> index_slot & 1) == 0)
    return std::any_of(roll.elements.begin(), roll.elements.begin() + set.elements, holds);
  std::size_t mask = roll.places.size() - 1;
  for (std::size_t at = place_of(residues[index_slot], mask + 1); roll.places[at] != 0;
       at = (at + 1) & mask)
    if (roll.places[at] <= set.elements && holds(roll.elements[roll.places[at] - 1])) return true;
  return false;
}

bool Maxima::of_part(std::uint32_t index, const Residues& residues, Slots slots) const {
  if ((slots >> index_slot & 1) == 0) return false;
  const Moduli& m = point_->moduli();
  const Maximum& set = computed_[index];
  auto [begin, end] = by_value_.equal_range(residues[index_slot]);
  for (auto it = begin; it != end; ++it) {
    const Maximum& part = computed_[it->second];
    if (it->second == index || (part.valid & slots) != slots ||
        (m.same(part.r, residues) & slots) != slots)
      continue;
    const MaximumElement* elements = rolls_[part.roll].elements.data();
    auto in_set = [&](const MaximumElement& e) {
      return (e.valid & slots) == slots && member(index, e.r, slots);
    };
    // The beginning of a roll whose longer beginning is the set.
    bool begins = part.roll == set.roll && part.elements <= set.elements &&
                  (part.totals.valid & slots) == slots;
    if (begins || std::all_of(elements, elements + part.elements, in_set)) return true;
  }
  return false;
}

}  // namespace lathe::ptx::field
