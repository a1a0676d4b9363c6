// Sets of the keyed maximum.

#include "ptx/field_maximum.h"

#include <algorithm>

namespace lathe::ptx::field {

void Maxima::clear() {
  nodes_.assign(1, {});
  elements_.assign(1, {});
  computed_.assign(1, {});
  by_name_.clear();
}

std::uint32_t Maxima::leaf(const Number& number) {
  Element element{number.r, number.shadow, number.valid, number.taint, number.dormant};
  Node node;
  std::uint64_t key = number.valid;
  for (unsigned level = 0; level < levels; ++level)
    if ((number.valid >> level & 1) != 0) key = mix(key, number.r[level] + 7);
  node.low = mix(key, point_->key(0, 5));
  node.high = mix(key, point_->key(1, 5));
  node.element = static_cast<std::uint32_t>(elements_.size());
  elements_.push_back(element);
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

void Maxima::gather(std::uint32_t node, std::vector<Element>& out) const {
  std::vector<std::uint32_t> stack{node};
  while (!stack.empty()) {
    const Node& top = nodes_[stack.back()];
    stack.pop_back();
    if (top.element != 0) {
      out.push_back(elements_[top.element]);
      continue;
    }
    stack.push_back(top.right);
    stack.push_back(top.left);
  }
  auto key = [](const Element& e) { return std::tuple(e.valid, e.r); };
  std::sort(out.begin(), out.end(),
            [&](const Element& a, const Element& b) { return key(a) < key(b); });
  out.erase(std::unique(out.begin(), out.end(),
                        [&](const Element& a, const Element& b) { return key(a) == key(b); }),
            out.end());
}

std::uint32_t Maxima::keyed(unsigned level, const std::vector<Element>& elements) const {
  const Prime& p = point_->prime(level);
  std::uint32_t sum = 0;
  for (const Element& e : elements) sum = p.add(sum, e.r[level]);
  std::uint32_t count = p.reduce(elements.size());
  std::uint32_t mean = p.mul(sum, p.inverse(count)), squares = 0;
  for (const Element& e : elements) {
    std::uint32_t d = p.sub(e.r[level], mean);
    squares = p.add(squares, p.mul(d, d));
  }
  std::uint32_t scale = p.root(squares), inverse = p.inverse(scale);
  std::uint64_t hash = elements.size(), key = point_->key(level, 6);
  for (const Element& e : elements) hash += mix(key, p.mul(p.sub(e.r[level], mean), inverse));
  return p.add(mean, p.mul(scale, p.reduce(mix(key, hash))));
}

void Maxima::fill(Maximum& maximum, const std::vector<Element>& elements) const {
  const Element* winner = &elements.front();
  maximum.valid = point_->every_level();
  for (const Element& e : elements) {
    if (e.shadow > winner->shadow) winner = &e;
    maximum.valid &= e.valid;
    maximum.taint |= e.taint;
    maximum.dormant |= e.dormant;
  }
  maximum.shadow = winner->shadow;
  maximum.elements = static_cast<std::uint32_t>(elements.size());
  bool by_shadow = elements.size() <= 2 || !point_->strict_maximum();
  std::size_t slots = 4;
  while (slots < 2 * elements.size()) slots *= 2;
  for (unsigned level = 0; level < point_->level_count(); ++level) {
    if (by_shadow) {
      maximum.r[level] = winner->r[level];
    } else if ((maximum.valid >> level & 1) != 0) {
      maximum.r[level] = keyed(level, elements);
    }
    if ((maximum.valid >> level & 1) == 0) continue;
    auto& table = maximum.members[level];
    table.assign(slots, 0);
    for (const Element& e : elements) {
      std::uint32_t r = e.r[level] == 0 ? point_->prime(level).p : e.r[level];
      std::size_t at = mix(r) & (slots - 1);
      while (table[at] != 0 && table[at] != r) at = (at + 1) & (slots - 1);
      table[at] = r;
    }
  }
  if (by_shadow) {
    maximum.valid = winner->valid;
    maximum.taint = winner->taint;
    maximum.dormant = winner->dormant;
  }
}

std::uint32_t Maxima::compute(std::uint32_t node) {
  std::uint64_t name = mix(nodes_[node].low, nodes_[node].high);
  auto [found, fresh] = by_name_.try_emplace(name, static_cast<std::uint32_t>(computed_.size()));
  if (!fresh) return found->second;
  std::vector<Element> elements;
  elements.reserve(nodes_[node].count);
  gather(node, elements);
  Maximum maximum;
  fill(maximum, elements);
  computed_.push_back(std::move(maximum));
  return found->second;
}

bool Maxima::member(std::uint32_t index, unsigned level, std::uint32_t residue) const {
  const auto& table = computed_[index].members[level];
  if (table.empty()) return false;
  if (residue == 0) residue = point_->prime(level).p;
  std::size_t mask = table.size() - 1;
  for (std::size_t at = mix(residue) & mask; table[at] != 0; at = (at + 1) & mask)
    if (table[at] == residue) return true;
  return false;
}

}  // namespace lathe::ptx::field
