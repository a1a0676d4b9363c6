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
  by_name_.clear();
  by_value_.clear();
}

std::uint32_t Maxima::leaf(const Number& number) {
  Node node;
  node.low = name_of(number.r, number.valid, point_->key(0, 5));
  node.high = name_of(number.r, number.valid, point_->key(1, 5));
  node.element = static_cast<std::uint32_t>(elements_.size());
  elements_.push_back({number.r, number.shadow, number.valid, number.taint, number.dormant,
                       number.is(literal_bits)});
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

/// The set's elements, each once, with the table that finds them.
void Maxima::gather(std::uint32_t node, Maximum& into) {
  std::size_t size = 8;
  while (size < 2 * std::size_t{nodes_[node].count}) size *= 2;
  into.places.assign(size, 0);
  stack_.assign(1, node);
  while (!stack_.empty()) {
    const Node& top = nodes_[stack_.back()];
    stack_.pop_back();
    if (top.element == 0) {
      stack_.push_back(top.right);
      stack_.push_back(top.left);
      continue;
    }
    const MaximumElement& element = elements_[top.element];
    std::size_t at = place_of(element.r[index_slot], size);
    bool known = false;
    for (; into.places[at] != 0 && !known; at = (at + 1) & (size - 1)) {
      const MaximumElement& other = into.members[into.places[at] - 1];
      known = other.valid == element.valid && equal(other.r, element.r);
    }
    if (known) continue;
    into.members.push_back(element);
    into.places[at] = static_cast<std::uint32_t>(into.members.size());
  }
}

Residues Maxima::keyed(const std::vector<MaximumElement>& elements) const {
  const Moduli& m = point_->moduli();
  Residues sum{}, squares{}, secret{};
  for (const MaximumElement& e : elements) sum = m.add(sum, e.r);
  Residues count = m.integer(static_cast<std::int64_t>(elements.size()));
  Residues mean = m.mul(sum, m.inverse(count));
  for (const MaximumElement& e : elements) {
    Residues d = m.sub(e.r, mean);
    squares = m.add(squares, m.mul(d, d));
  }
  Residues scale = m.root(squares), inverse = m.inverse(scale), product = m.one();
  for (unsigned slot = 0; slot < m.count(); ++slot)
    secret[slot] = m.prime(slot).reduce(point_->key(slot, 6));
  // The set is named by the product of (secret + z) over its elements.
  for (const MaximumElement& e : elements)
    product = m.mul(product, m.add(secret, m.mul(m.sub(e.r, mean), inverse)));
  Residues hash{};
  for (unsigned slot = 0; slot < m.count(); ++slot)
    hash[slot] = m.prime(slot).reduce(
        mix(point_->key(slot, 6), product[slot] + (std::uint64_t{elements.size()} << 32)));
  return m.add(mean, m.mul(scale, hash));
}

void Maxima::fill(Maximum& maximum) const {
  const std::vector<MaximumElement>& elements = maximum.members;
  const MaximumElement* winner = &elements.front();
  maximum.valid = point_->every_slot();
  for (const MaximumElement& e : elements) {
    if (e.shadow > winner->shadow) winner = &e;
    maximum.valid &= e.valid;
    maximum.taint |= e.taint;
    maximum.dormant |= e.dormant;
  }
  maximum.shadow = winner->shadow;
  maximum.elements = static_cast<std::uint32_t>(elements.size());
  if (elements.size() > 2)
    for (const MaximumElement& e : elements)
      if (e.literal && !e.starts())
        maximum.literals.push_back(name_of(e.r, e.valid, point_->key(0, 8)));
  // Of two, a literal bounds the other, and of opposites the larger is the magnitude.
  bool plain_pair = elements.size() == 2 &&
                    (elements[0].literal || elements[1].literal ||
                     equal(point_->moduli().add(elements[0].r, elements[1].r), Residues{}));
  maximum.keyed = elements.size() >= 2 && !plain_pair && point_->strict_maximum();
  if (!maximum.keyed) {
    maximum.r = winner->r;
    maximum.valid = winner->valid;
    maximum.taint = winner->taint;
    maximum.dormant = winner->dormant;
    return;
  }
  maximum.r = keyed(elements);
  for (unsigned slot = 0; slot < slots_max; ++slot)
    if ((maximum.valid >> slot & 1) == 0) maximum.r[slot] = 0;
}

std::uint32_t Maxima::compute(std::uint32_t node) {
  std::uint64_t name = mix(nodes_[node].low, nodes_[node].high);
  auto [found, fresh] = by_name_.try_emplace(name, static_cast<std::uint32_t>(computed_.size()));
  if (!fresh) return found->second;
  Maximum maximum;
  gather(node, maximum);
  fill(maximum);
  by_value_.emplace(maximum.r[index_slot], found->second);
  computed_.push_back(std::move(maximum));
  return found->second;
}

bool Maxima::member(std::uint32_t index, const Residues& residues, Slots slots) const {
  const Maximum& set = computed_[index];
  const Moduli& m = point_->moduli();
  auto holds = [&](const MaximumElement& e) {
    return (e.valid & slots) == slots && (m.same(e.r, residues) & slots) == slots;
  };
  if ((slots >> index_slot & 1) == 0)
    return std::any_of(set.members.begin(), set.members.end(), holds);
  std::size_t mask = set.places.size() - 1;
  for (std::size_t at = place_of(residues[index_slot], mask + 1); set.places[at] != 0;
       at = (at + 1) & mask)
    if (holds(set.members[set.places[at] - 1])) return true;
  return false;
}

bool Maxima::of_part(std::uint32_t index, const Residues& residues, Slots slots) const {
  if ((slots >> index_slot & 1) == 0) return false;
  const Moduli& m = point_->moduli();
  auto [begin, end] = by_value_.equal_range(residues[index_slot]);
  for (auto it = begin; it != end; ++it) {
    const Maximum& part = computed_[it->second];
    if (it->second == index || (part.valid & slots) != slots ||
        (m.same(part.r, residues) & slots) != slots)
      continue;
    if (std::all_of(part.members.begin(), part.members.end(), [&](const MaximumElement& e) {
          return (e.valid & slots) == slots && member(index, e.r, slots);
        }))
      return true;
  }
  return false;
}

}  // namespace lathe::ptx::field
