// Meeting written elements.

#include "verifier_node/ledger.h"

#include <algorithm>
#include <cmath>

namespace lathe::verifier_node {

using ptx::field::Number;
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

Ledger::Ledger(const Contract& contract, const ptx::field::Point& point)
    : point_(&point), arithmetic_(point) {
  for (std::size_t i = 0; i < contract.tensors.size(); ++i) {
    const Tensor& tensor = contract.tensors[i];
    TensorPages pages;
    ptx::Type type = point.recipes()[i].type;
    pages.compared = tensor.role == Role::output || tensor.role == Role::inout;
    pages.number = ptx::field::holds_number(type);
    std::uint64_t elements = tensor.span_bytes() / std::max(1u, ptx::width_of(type) / 8);
    if (tensor.role != Role::input) {
      pages.states.resize(elements);
      pages.pages.resize((elements + page_elements - 1) / page_elements);
    }
    tensors_.push_back(std::move(pages));
    deeds_.emplace_back();
    if (tensor.role == Role::inout) {
      deeds_.back().readers.resize(elements);
      deeds_.back().writers.resize(elements);
    }
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
  if (!tensors_[tensor].number && reference.valid == 0 && candidate.valid == 0) {
    if (reference.bits != candidate.bits) no(Kind::value);
    return;
  }
  // Integer data, where one side's is exact and the other's is not.
  if (!tensors_[tensor].number && (reference.valid == 0 || candidate.valid == 0))
    return no(Kind::value);
  if (reference.special == Special::poison || candidate.special == Special::poison)
    return no(Kind::undefined);
  if (reference.special != candidate.special) return no(Kind::value);
  if (rounds_more(candidate.rounds, reference.rounds)) no(Kind::precision);
  if (reference.special != Special::finite) return;
  std::uint8_t both = reference.valid & candidate.valid;
  if (both == 0) return no(Kind::shallow);
  auto conclusive = static_cast<std::uint8_t>(both & ~(reference.taint | candidate.taint));
  ptx::field::Slots equal = point_->moduli().same(reference.r, candidate.r);
  if ((conclusive & ~equal) != 0) return no(Kind::value);
  if (shadows_part(reference.shadow, candidate.shadow)) return no(Kind::shadow);
  if (conclusive == 0) inconclusive_.insert((std::uint64_t{tensor} << 40) + element);
}

Ledger::Record Ledger::record_of(const Number& number, std::uint64_t bits, std::uint64_t block) {
  Record record;
  record.r = number.r;
  record.block = static_cast<std::uint32_t>(block);
  record.shadow = number.shadow;
  record.bits = bits;
  record.rounds = number.rounds;
  record.degree = std::max(number.numerator, number.denominator);
  record.valid = number.valid;
  record.taint = number.taint;
  record.special = number.special;
  return record;
}

void Ledger::take_one(Side side, std::uint64_t block, const Written& written) {
  if (!tensors_[written.tensor].compared) return;
  if (side == Side::candidate && !deeds_[written.tensor].writers.empty())
    mark(deeds_[written.tensor].writers[written.element], block);
  if (!written.added)
    return take_record(side, written.tensor, written.element,
                       record_of(written.number, written.bits, block));
  auto [sum, fresh] = sums_[static_cast<std::size_t>(side)].try_emplace(
      {written.tensor, written.element}, Sum{written.number, block});
  if (fresh) return;
  ptx::Type type = point_->recipes()[written.tensor].type;
  sum->second.number = ptx::field::Arithmetic::in_format(
      arithmetic_.add(sum->second.number, written.number), type, false);
}

/// What was there first, and all that blocks added, is as if one block had written it.
void Ledger::finish_sums(Side side) {
  std::map<std::size_t, bool> zeros;
  for (const auto& [place, sum] : sums_[static_cast<std::size_t>(side)]) {
    const ptx::field::Recipe& recipe = point_->recipes()[place.first];
    auto [known, fresh] = zeros.try_emplace(place.first);
    if (fresh)
      known->second = !recipe.computed && !recipe.output &&
                      recipe.bytes.find_first_not_of('\0') == std::string::npos;
    bool zero = known->second;
    Number first = arithmetic_.poison();
    if (zero) first = arithmetic_.literal(0, recipe.type);
    if (recipe.computed) first = point_->input(place.first, place.second);
    Number total =
        ptx::field::Arithmetic::in_format(arithmetic_.add(first, sum.number), recipe.type, zero);
    take_record(side, place.first, place.second, record_of(total, 0, sum.block));
  }
}

void Ledger::note_reads(std::uint64_t block,
                        const std::vector<std::pair<std::uint32_t, std::uint64_t>>& reads) {
  for (const auto& [tensor, element] : reads)
    if (element < deeds_[tensor].readers.size()) mark(deeds_[tensor].readers[element], block);
}

/// Blocks have no order: what one reads no other may write.
void Ledger::check_between() {
  for (std::size_t t = 0; t < deeds_.size(); ++t)
    for (std::uint64_t e = 0; e < deeds_[t].readers.size(); ++e) {
      std::uint32_t reader = deeds_[t].readers[e], writer = deeds_[t].writers[e];
      if (reader == 0 || writer == 0 || (reader == writer && reader != several)) continue;
      Record one, other;
      one.block = other.block = reader == several ? 0 : reader - 1;
      differ(Difference::Kind::between, t, e, one, other);
      return;
    }
}

void Ledger::take_record(Side side, std::size_t which, std::uint64_t element,
                         const Record& record) {
  TensorPages& tensor = tensors_[which];
  std::uint8_t& state = tensor.states[element];
  std::uint8_t own = side == Side::reference ? reference_waits : candidate_waits;
  std::unique_ptr<Page>& page = tensor.pages[element / page_elements];
  if (state == met || state == own) {
    ++twice_;
    bool known = state == own && page != nullptr;
    const Record& before = known ? page->records[element % page_elements] : record;
    bool equal = known && before.r == record.r && before.bits == record.bits &&
                 before.special == record.special;
    if (!equal && side == Side::candidate)
      differ(Difference::Kind::twice, which, element, before, record);
    return;
  }
  if (!page) page = std::make_unique<Page>();
  Record& other = page->records[element % page_elements];
  if (state == none) {
    other = record;
    state = own;
    return;
  }
  state = met;
  if (side == Side::candidate) {
    meet(which, element, other, record);
  } else {
    meet(which, element, record, other);
  }
  if (++page->met == page_elements) page.reset();
}

void Ledger::take(Side side, std::uint64_t block, const std::vector<Written>& written) {
  for (const Written& one : written) take_one(side, block, one);
}

void Ledger::finish() {
  finish_sums(Side::reference);
  finish_sums(Side::candidate);
  check_between();
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
