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
           std::string_view candidate, const std::vector<double>& wide, std::string_view written,
           Specials specials, Comparison& comparison)
      : tolerance_(contract.tolerance),
        tensor_(contract.tensors[tensor]),
        number_(tensor),
        reference_(reference),
        candidate_(candidate),
        wide_(wide),
        written_(written),
        specials_(specials),
        comparison_(comparison) {}

  /// Whether the element is compared at all.
  bool asked(const Walk& walk) const {
    std::uint64_t byte = walk.offset() * bits_of(tensor_.dtype) / 8;
    return (written_.empty() || written_[byte] != 0) && in_boxes(tensor_.defined, walk.index());
  }

  void element(const Walk& walk) {
    ++comparison_.compared;
    std::uint64_t at = walk.offset();
    if (wide_.empty() && same_bits(at)) return;
    double r = element_at(tensor_.dtype, reference_, at);
    double c = element_at(tensor_.dtype, candidate_, at);
    bool knows = !wide_.empty() && std::isfinite(wide_[at]);
    double w = knows ? wide_[at] : r;
    double allowed = 0;
    if (is_float(tensor_.dtype)) note(r, c, w, knows);
    // What is the reference's own result holds, however far that is from the wide one.
    bool good = is_float(tensor_.dtype) ? holds(r, c, w, allowed) : specials_ == Specials::alone;
    if (good || same_bits(at)) return;
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

  void note(double r, double c, double w, bool knows) {
    if (!std::isfinite(r) || !std::isfinite(c)) return;
    auto raise = [](std::optional<double>& most, double error) {
      most = std::max(most.value_or(0), error);
    };
    comparison_.difference_max = std::max(comparison_.difference_max, std::fabs(c - r));
    if (!knows) return;
    raise(comparison_.candidate_error_max, std::fabs(c - w));
    raise(comparison_.reference_error_max, std::fabs(r - w));
  }

  bool holds(double r, double c, double w, double& allowed) {
    allowed = tolerance_.absolute + tolerance_.relative * std::fabs(w);
    bool alone = specials_ == Specials::alone;
    if (alone && std::isfinite(c)) return true;
    if ((alone || specials_ == Specials::alike) && std::isnan(r)) return true;
    // What is far from the wide result went through an infinity on its way: 1 / inf is 0.
    if ((alone || specials_ == Specials::alike) && !std::isfinite(c))
      return !std::isfinite(r) || std::fabs(r - w) > allowed || overflows_elsewhere();
    if (std::isnan(c)) return std::isnan(r);
    if (std::isinf(c)) return c == r;
    // Where the reference has no finite result its own error would excuse anything at all, so only
    // the wide result can vouch for a finite one.
    if (!std::isfinite(r)) return std::isfinite(w) && std::fabs(c - w) <= allowed;
    allowed = std::max(allowed, tolerance_.error_factor * std::fabs(r - w));
    return std::fabs(c - w) <= allowed;
  }

  /// Whether the reference overflows in other elements, about as often as the candidate does where
  /// the reference does not: one that overflows sooner does so far more often. Looked for once.
  bool overflows_elsewhere() {
    if (looked_) return elsewhere_;
    looked_ = true;
    constexpr std::uint64_t times = 2;
    std::uint64_t theirs = 0, ours = 0;
    Walk walk(tensor_);
    do {
      if (!asked(walk)) continue;
      if (!std::isfinite(element_at(tensor_.dtype, reference_, walk.offset())))
        ++theirs;
      else if (!std::isfinite(element_at(tensor_.dtype, candidate_, walk.offset())))
        ++ours;
    } while (walk.next());
    elsewhere_ = ours <= times * theirs;
    return elsewhere_;
  }

  const Tolerance& tolerance_;
  const Tensor& tensor_;
  std::size_t number_;
  std::string_view reference_, candidate_;
  const std::vector<double>& wide_;
  std::string_view written_;
  bool looked_ = false, elsewhere_ = false;
  Specials specials_;
  Comparison& comparison_;
};

}  // namespace

Comparison compare(const Contract& contract, std::size_t tensor, std::string_view reference,
                   std::string_view candidate, const std::vector<double>& wide,
                   std::string_view written, Specials specials) {
  Comparison comparison;
  Comparer comparer(contract, tensor, reference, candidate, wide, written, specials, comparison);
  Walk walk(contract.tensors[tensor]);
  do {
    if (comparer.asked(walk)) comparer.element(walk);
  } while (walk.next());
  return comparison;
}

}  // namespace lathe
