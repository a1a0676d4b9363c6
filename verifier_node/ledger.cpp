// Meeting written elements.

#include "verifier_node/ledger.h"

#include <algorithm>
#include <cmath>

namespace lathe::verifier_node {

using ptx::field::Special;
using ptx::field::Written;

namespace {

/// Shadows of one real by two routes part only by rounding in double precision.
bool shadows_part(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return false;
  if (!std::isfinite(a) || !std::isfinite(b)) return true;
  return std::fabs(a - b) > 1e-6 * std::max(std::fabs(a), std::fabs(b)) + 1e-7;
}

bool rounds_more(const ptx::field::Rounds& candidate, const ptx::field::Rounds& reference) {
  for (std::size_t i = 0; i < candidate.count.size(); ++i)
    if (candidate.count[i] > reference.count[i]) return true;
  return false;
}

}  // namespace

Ledger::Ledger(const Contract& contract, const ptx::field::Point& point) : point_(&point) {
  for (std::size_t i = 0; i < contract.tensors.size(); ++i) {
    const Tensor& tensor = contract.tensors[i];
    TensorPages pages;
    ptx::Type type = point.recipes()[i].type;
    pages.compared = tensor.role == Role::output || tensor.role == Role::inout;
    pages.number = ptx::is_float(type);
    std::uint64_t elements = tensor.span_bytes() / std::max(1u, ptx::width_of(type) / 8);
    if (tensor.role != Role::input) {
      pages.states.resize(elements);
      pages.pages.resize((elements + page_elements - 1) / page_elements);
    }
    tensors_.push_back(std::move(pages));
  }
}

void Ledger::differ(Difference::Kind kind, std::size_t tensor, std::uint64_t element,
                    const Record& reference, const Record& candidate) {
  auto& place = kind == Difference::Kind::precision ? precision_ : first_;
  if (place) return;
  place = Difference{
      kind, tensor, element, reference.block, candidate.block, reference.shadow, candidate.shadow};
}

void Ledger::meet(std::size_t tensor, std::uint64_t element, const Record& reference,
                  const Record& candidate) {
  ++compared_;
  degree_ = std::max<std::uint64_t>(degree_, std::max(reference.degree, candidate.degree));
  using Kind = Difference::Kind;
  auto no = [&](Kind kind) { differ(kind, tensor, element, reference, candidate); };
  if (!tensors_[tensor].number) {
    if (reference.bits != candidate.bits) no(Kind::value);
    return;
  }
  if (reference.special == Special::poison || candidate.special == Special::poison)
    return no(Kind::undefined);
  if (reference.special != candidate.special) return no(Kind::value);
  if (rounds_more(candidate.rounds, reference.rounds)) no(Kind::precision);
  if (reference.special != Special::finite) return;
  std::uint8_t both = reference.valid & candidate.valid;
  if (both == 0) return no(Kind::shallow);
  auto conclusive = static_cast<std::uint8_t>(both & ~(reference.taint | candidate.taint));
  for (unsigned level = 0; level < point_->level_count(); ++level)
    if ((conclusive >> level & 1) != 0 && reference.r[level] != candidate.r[level])
      return no(Kind::value);
  if (shadows_part(reference.shadow, candidate.shadow)) return no(Kind::shadow);
  if (conclusive == 0) inconclusive_.insert((std::uint64_t{tensor} << 40) + element);
}

void Ledger::take_one(Side side, std::uint64_t block, const Written& written) {
  TensorPages& tensor = tensors_[written.tensor];
  if (!tensor.compared) return;
  Record record;
  record.r = written.number.r;
  record.block = static_cast<std::uint32_t>(block);
  record.shadow = written.number.shadow;
  record.bits = written.bits;
  record.rounds = written.number.rounds;
  record.degree = std::max(written.number.numerator, written.number.denominator);
  record.valid = written.number.valid;
  record.taint = written.number.taint;
  record.special = written.number.special;
  std::uint8_t& state = tensor.states[written.element];
  std::uint8_t own = side == Side::reference ? reference_waits : candidate_waits;
  std::unique_ptr<Page>& page = tensor.pages[written.element / page_elements];
  if (state == met || state == own) {
    ++twice_;
    bool known = state == own && page != nullptr;
    const Record& before = known ? page->records[written.element % page_elements] : record;
    bool equal = known && before.r == record.r && before.bits == record.bits &&
                 before.special == record.special;
    if (!equal && side == Side::candidate)
      differ(Difference::Kind::twice, written.tensor, written.element, before, record);
    return;
  }
  if (!page) page = std::make_unique<Page>();
  Record& other = page->records[written.element % page_elements];
  if (state == none) {
    other = record;
    state = own;
    return;
  }
  state = met;
  if (side == Side::candidate) {
    meet(written.tensor, written.element, other, record);
  } else {
    meet(written.tensor, written.element, record, other);
  }
  if (++page->met == page_elements) page.reset();
}

void Ledger::take(Side side, std::uint64_t block, const std::vector<Written>& written) {
  for (const Written& one : written) take_one(side, block, one);
}

void Ledger::finish() {
  for (std::size_t t = 0; t < tensors_.size(); ++t)
    for (std::uint64_t e = 0; e < tensors_[t].states.size(); ++e) {
      std::uint8_t state = tensors_[t].states[e];
      if (state != reference_waits && state != candidate_waits) continue;
      const Record& record = tensors_[t].pages[e / page_elements]->records[e % page_elements];
      bool missing = state == reference_waits;
      differ(missing ? Difference::Kind::missing : Difference::Kind::extra, t, e, record, record);
    }
}

}  // namespace lathe::verifier_node
