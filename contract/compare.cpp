#include "contract/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "contract/inputs.h"

namespace lathe {
namespace {

/// The elements of a tensor in index order, with their place in the span.
class Walk {
 public:
  explicit Walk(const Tensor& tensor) : tensor_(tensor), index_(tensor.shape.size()) {}

  std::uint64_t offset() const { return offset_; }
  const std::vector<std::uint64_t>& index() const { return index_; }

  bool next() {
    for (std::size_t i = index_.size(); i-- > 0;) {
      offset_ += tensor_.strides[i];
      if (++index_[i] < tensor_.shape[i]) return true;
      offset_ -= tensor_.strides[i] * tensor_.shape[i];
      index_[i] = 0;
    }
    return false;
  }

 private:
  const Tensor& tensor_;
  std::vector<std::uint64_t> index_;
  std::uint64_t offset_ = 0;
};

bool in_boxes(const std::vector<Box>& boxes, const std::vector<std::uint64_t>& index) {
  if (boxes.empty()) return true;
  return std::any_of(boxes.begin(), boxes.end(), [&](const Box& box) {
    for (std::size_t i = 0; i < box.size(); ++i)
      if (index[i] < box[i][0] || index[i] >= box[i][1]) return false;
    return true;
  });
}

/// One tensor of reference and candidate.
class Comparer {
 public:
  Comparer(const Contract& contract, std::size_t tensor, std::string_view reference,
           std::string_view candidate, const std::vector<double>& wide, Specials specials,
           Comparison& comparison)
      : tolerance_(contract.tolerance),
        tensor_(contract.tensors[tensor]),
        number_(tensor),
        reference_(reference),
        candidate_(candidate),
        wide_(wide),
        specials_(specials),
        comparison_(comparison) {}

  void element(const Walk& walk) {
    ++comparison_.compared;
    std::uint64_t at = walk.offset();
    if (wide_.empty() && same_bits(at)) return;
    double r = element_at(tensor_.dtype, reference_, at);
    double c = element_at(tensor_.dtype, candidate_, at);
    double w = wide_.empty() || !std::isfinite(wide_[at]) ? r : wide_[at];
    double allowed = 0;
    if (is_float(tensor_.dtype) ? holds(r, c, w, allowed) : same_bits(at)) return;
    ++comparison_.failing;
    if (!comparison_.first) comparison_.first = Mismatch{number_, walk.index(), w, r, c, allowed};
  }

 private:
  bool same_bits(std::uint64_t at) const {
    unsigned width = bits_of(tensor_.dtype);
    if (width >= 8)
      return std::memcmp(reference_.data() + at * (width / 8), candidate_.data() + at * (width / 8),
                         width / 8) == 0;
    return element_at(tensor_.dtype, reference_, at) == element_at(tensor_.dtype, candidate_, at);
  }

  bool holds(double r, double c, double w, double& allowed) {
    allowed = tolerance_.absolute + tolerance_.relative * std::fabs(w);
    if (specials_ == Specials::alike && std::isnan(r)) return true;
    if (specials_ == Specials::alike && !std::isfinite(c))
      return !std::isfinite(r) || std::fabs(r - w) > allowed;
    if (std::isnan(c)) return std::isnan(r);
    if (std::isinf(c)) return c == r;
    // Where the reference has no finite result its own error would excuse anything at all, so only
    // the wide result can vouch for a finite one.
    if (!std::isfinite(r)) return std::isfinite(w) && std::fabs(c - w) <= allowed;
    double error = std::fabs(c - w), own = std::fabs(r - w);
    allowed = std::max(allowed, tolerance_.error_factor * own);
    comparison_.candidate_error_max = std::max(comparison_.candidate_error_max, error);
    comparison_.reference_error_max = std::max(comparison_.reference_error_max, own);
    return error <= allowed;
  }

  const Tolerance& tolerance_;
  const Tensor& tensor_;
  std::size_t number_;
  std::string_view reference_, candidate_;
  const std::vector<double>& wide_;
  Specials specials_;
  Comparison& comparison_;
};

}  // namespace

Comparison compare(const Contract& contract, std::size_t tensor, std::string_view reference,
                   std::string_view candidate, const std::vector<double>& wide,
                   std::string_view written, Specials specials) {
  const Tensor& compared = contract.tensors[tensor];
  unsigned width = bits_of(compared.dtype);
  Comparison comparison;
  Comparer comparer(contract, tensor, reference, candidate, wide, specials, comparison);
  Walk walk(compared);
  do {
    if (!written.empty() && written[walk.offset() * width / 8] == 0) continue;
    if (!in_boxes(compared.defined, walk.index())) continue;
    comparer.element(walk);
  } while (walk.next());
  return comparison;
}

}  // namespace lathe
