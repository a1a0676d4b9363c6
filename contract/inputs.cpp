// Every element is a function of (seed, tensor, class, index), so any part can be made alone and in
// any order. No function of the C library whose last bit may differ between hosts is used.

#include "contract/inputs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/random.h"
#include "base/small_float.h"
#include "base/wide_loops.h"
#include "contract/values.h"

namespace lathe {
namespace {

constexpr std::array<std::string_view, 11> class_names{
    "declared", "overflow",  "underflow",  "cancellation", "precision_loss", "zeros",
    "ones",     "denormals", "infinities", "nans",         "great"};

/// What a float type can hold, as doubles.
struct FloatLimits {
  double greatest, least_normal, least;
  bool has_infinity, has_nan;
};

FloatLimits limits_of(Dtype dtype) {
  if (const FloatFormat* format = format_of(dtype))
    return {format->greatest(), format->least_normal(), format->least(), format->has_infinity,
            format->has_nan};
  return {std::numeric_limits<double>::max(), std::numeric_limits<double>::min(),
          std::numeric_limits<double>::denorm_min(), true, true};
}

/// The range that the stress classes must stay in; nothing where they do not apply.
struct Range {
  double low, high;
};
std::optional<Range> stress_range(const Tensor& tensor) {
  if (!is_float(tensor.dtype) || tensor.dtype == Dtype::ue8m0) return std::nullopt;
  if (tensor.role != Role::input && tensor.role != Role::inout) return std::nullopt;
  double greatest = greatest_of(tensor.dtype);
  if (const auto* uniform = std::get_if<Values::Uniform>(&tensor.values.kind))
    return Range{uniform->low, uniform->high};
  if (std::holds_alternative<Values::Normal>(tensor.values.kind) ||
      std::holds_alternative<Values::AnyBits>(tensor.values.kind))
    return Range{-greatest, greatest};
  return std::nullopt;
}

bool admits(const Tensor& tensor, InputClass input_class) {
  auto range = stress_range(tensor);
  if (!range) return false;
  FloatLimits limits = limits_of(tensor.dtype);
  bool any_bits = std::holds_alternative<Values::AnyBits>(tensor.values.kind);
  switch (input_class) {
    case InputClass::declared:
    case InputClass::overflow:
    case InputClass::cancellation:
    case InputClass::precision_loss:
    case InputClass::great:
      return true;
    case InputClass::underflow:
    case InputClass::denormals:
      return range->low < limits.least_normal && range->high > -limits.least_normal;
    case InputClass::zeros:
      return range->low <= 0 && range->high >= 0;
    case InputClass::ones:
      return range->low <= 1 && range->high >= 1;
    case InputClass::infinities:
      return any_bits && limits.has_infinity;
    case InputClass::nans:
      break;
  }
  return any_bits && limits.has_nan;
}

using Draw = std::array<std::uint32_t, 4>;

double unit(std::uint32_t word) { return static_cast<double>(word) * 0x1p-32; }  // [0, 1)
double sign(std::uint32_t word) { return (word & 1) != 0 ? -1.0 : 1.0; }

/// Draws of neighbours, made side by side: inputs are made by the gigabyte.
constexpr unsigned batch = 32;
struct Draws {
  std::array<std::array<std::uint32_t, batch>, 4> words;
  Draw at(std::uint64_t i) const { return {words[0][i], words[1][i], words[2][i], words[3][i]}; }
};
LATHE_WIDE_LOOPS void draw_all(std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                               Draws& out) {
  for (unsigned i = 0; i < batch; ++i) {
    Draw one = philox(seed, stream, first + i);
    for (unsigned k = 0; k < 4; ++k) out.words[k][i] = one[k];
  }
}

/// The sum of four uniform numbers has the variance 1/3 and is close to normal.
double normal(const Draw& draw) {
  std::uint64_t sum = std::uint64_t{draw[0]} + draw[1] + draw[2] + draw[3];
  return (static_cast<double>(sum) * 0x1p-32 - 2.0) * 1.7320508075688772;
}

/// The same of 16-bit numbers: enough for types of at most 11 bits of precision, at half the cost.
double narrow_normal(std::uint32_t first, std::uint32_t second) {
  std::uint32_t sum = (first & 0xFFFF) + (first >> 16) + (second & 0xFFFF) + (second >> 16);
  // The low bits of a word once more, scaled down, fill the steps between the sums.
  return (static_cast<double>(sum) * 0x1p-16 + unit(first * 0x9E3779B9u) * 0x1p-16 - 2.0) *
         1.7320508075688772;
}

class Generator {
 public:
  Generator(const Tensor& tensor, std::size_t index, InputClass input_class, std::uint64_t seed)
      : tensor_(tensor),
        class_(admits(tensor, input_class) ? input_class : InputClass::declared),
        seed_(seed),
        stream_(std::uint64_t{index} << 8 | static_cast<std::uint64_t>(class_)),
        range_(stress_range(tensor).value_or(Range{0, 0})),
        limits_(is_float(tensor.dtype) ? limits_of(tensor.dtype) : FloatLimits{}) {
    prepare_permutation();
  }

  /// Elements first .. first + count - 1, at the front of `bytes`.
  void fill(std::string& bytes, std::uint64_t first, std::uint64_t count) const {
    if (class_ == InputClass::declared) {
      const auto& kind = tensor_.values.kind;
      if (std::holds_alternative<Values::Zero>(kind)) return;  // Already zero.
      if (std::holds_alternative<Values::AnyBits>(kind)) return fill_bits(bytes, first);
    }
    switch (tensor_.dtype) {
      case Dtype::f16:
        return fill_floats<std::uint16_t>(
            bytes, first, count, [](double value) { return encode_float(float16, value); });
      case Dtype::bf16:
        return fill_floats<std::uint16_t>(
            bytes, first, count, [](double value) { return encode_float(bfloat16, value); });
      case Dtype::f32:
        return fill_floats<float>(bytes, first, count,
                                  [](double value) { return static_cast<float>(value); });
      default:
        break;
    }
    for (std::uint64_t i = 0; i < count; ++i)
      if (is_float(tensor_.dtype))
        set_element(tensor_.dtype, bytes, i, float_at(first + i));
      else
        set_bits(bytes, i, static_cast<std::uint64_t>(integer_at(first + i)));
  }

 private:
  Draw draw(std::uint64_t index) const { return philox(seed_, stream_, index); }

  void set_bits(std::string& bytes, std::uint64_t index, std::uint64_t bits) const {
    unsigned width = bits_of(tensor_.dtype);
    if (width == 4) {
      auto& byte = reinterpret_cast<unsigned char&>(bytes[index / 2]);
      unsigned shift = index % 2 != 0 ? 4 : 0;
      byte = static_cast<unsigned char>((byte & ~(0xFu << shift)) | (bits & 0xF) << shift);
      return;
    }
    std::memcpy(bytes.data() + index * (width / 8), &bits, width / 8);
  }

  /// Four words a draw; `first` begins a piece, so its bit is a multiple of 32 only by luck of the
  /// width: draws are by the piece of eight elements, which is a whole number of bytes.
  void fill_bits(std::string& bytes, std::uint64_t first) const {
    std::uint64_t piece_bytes = elements_per_piece * bits_of(tensor_.dtype) / 8;
    std::uint64_t piece = first / elements_per_piece;
    for (std::size_t at = 0; at < bytes.size(); at += piece_bytes, ++piece)
      for (std::uint64_t part = 0; part * 16 < piece_bytes; ++part) {
        Draw words = draw(piece * 4 + part);
        std::size_t begin = at + part * 16;
        if (begin >= bytes.size()) break;
        std::size_t size =
            std::min<std::size_t>({sizeof words, piece_bytes - part * 16, bytes.size() - begin});
        std::memcpy(bytes.data() + begin, words.data(), size);
      }
  }

  /// The common types, with their encoding known to the compiler: inputs are made by the gigabyte.
  template <class Stored, class Encode>
  void fill_floats(std::string& bytes, std::uint64_t first, std::uint64_t count,
                   Encode encode) const {
    bool normal_values = class_ == InputClass::declared &&
                         std::holds_alternative<Values::Normal>(tensor_.values.kind);
    auto store = [&](std::uint64_t i, double value) {
      auto stored = static_cast<Stored>(encode(value));
      std::memcpy(bytes.data() + i * sizeof stored, &stored, sizeof stored);
    };
    if (normal_values && sizeof(Stored) <= 2)
      return each_drawn<2>(first, count, [&](std::uint64_t i, const Draw& words) {
        unsigned at = i % 2 == 0 ? 0 : 2;
        store(i, narrow_normal(words[at], words[at + 1]));
      });
    if (class_ == InputClass::declared) {
      for (std::uint64_t i = 0; i < count; ++i) store(i, declared_float(first + i));
      return;
    }
    std::uint64_t row = 0;
    double end = end_of(row);
    with_class([&](auto constant) {
      constexpr InputClass known = decltype(constant)::value;
      each_drawn<known == InputClass::cancellation ? 2 : 1>(
          first, count, [&](std::uint64_t i, const Draw& words) {
            if (known == InputClass::great && row_of(first + i) != row)
              end = end_of(row = row_of(first + i));
            store(i, stressed<known>(first + i, words, end));
          });
    });
  }

  /// So many neighbours share a draw; `first` is a multiple of that.
  template <unsigned shared, class Each>
  [[gnu::flatten]] void each_drawn(std::uint64_t first, std::uint64_t count, Each each) const {
    Draws draws;
    for (std::uint64_t at = 0; at < count; at += shared * batch) {
      draw_all(seed_, stream_, (first + at) / shared, draws);
      std::uint64_t many = std::min<std::uint64_t>(shared * batch, count - at);
      for (std::uint64_t i = 0; i < many; ++i) each(at + i, draws.at(i / shared));
    }
  }

  /// With the class as a constant.
  template <class Use, std::size_t... i>
  void with_class(Use use, std::index_sequence<i...>) const {
    ((static_cast<std::size_t>(class_) == i
          ? use(std::integral_constant<InputClass, static_cast<InputClass>(i)>())
          : void()),
     ...);
  }
  template <class Use>
  void with_class(Use use) const {
    with_class(use, std::make_index_sequence<class_names.size()>());
  }

  double clamp(double value) const { return std::clamp(value, range_.low, range_.high); }

  double float_at(std::uint64_t index) const {
    if (class_ == InputClass::declared) return declared_float(index);
    double value = 0;
    with_class([&](auto constant) {
      constexpr InputClass known = decltype(constant)::value;
      Draw words = draw(known == InputClass::cancellation ? index / 2 : index);
      value = stressed<known>(index, words, end_of(row_of(index)));
    });
    return value;
  }

  double declared_float(std::uint64_t index) const {
    Draw words = draw(index);
    const auto& kind = tensor_.values.kind;
    if (const auto* uniform = std::get_if<Values::Uniform>(&kind))
      return uniform_between(uniform->low, uniform->high, words);
    if (const auto* list = std::get_if<Values::List>(&kind))
      return list->values[below(words, list->values.size())];
    if (const auto* mask = std::get_if<Values::Mask>(&kind))
      return unit(words[0]) < mask->density ? 1 : 0;
    if (std::holds_alternative<Values::Integers>(kind))
      return static_cast<double>(integer_at(index));
    if (tensor_.dtype == Dtype::ue8m0) return std::ldexp(1.0, static_cast<int>(words[0] % 9) - 4);
    double greatest = limits_.greatest;
    return std::clamp(normal(words), -greatest, greatest);
  }

  static double uniform_between(double low, double high, const Draw& words) {
    double fraction =
        static_cast<double>((std::uint64_t{words[1]} << 32 | words[0]) >> 11) * 0x1p-53;
    // Halves first: high - low of two great numbers overflows.
    return std::clamp((low / 2 + fraction * (high / 2 - low / 2)) * 2, low, high);
  }

  static std::uint64_t below(const Draw& words, std::uint64_t bound) {
    return (std::uint64_t{words[1]} << 32 | words[0]) % bound;
  }

  /// `end`: of `great`, what all of the row are near to.
  template <InputClass known>
  double stressed(std::uint64_t index, const Draw& words, double end) const {
    switch (known) {
      case InputClass::overflow:
        // Half of the elements near the greatest value, so that sums and products leave the type.
        if ((words[2] & 1) == 0) return clamp(normal(words));
        return clamp(sign(words[0]) * limits_.greatest * (0.25 + 0.75 * unit(words[1])));
      case InputClass::underflow:
        return clamp(sign(words[0]) * limits_.least_normal * (1 + 15 * unit(words[1])));
      case InputClass::cancellation:
        return clamp(cancelling(index, words));
      case InputClass::precision_loss:
        return clamp(mixed_magnitude(words));
      case InputClass::zeros:
        return range_.low < 0 && (words[0] & 1) != 0 ? -0.0 : 0.0;
      case InputClass::ones:
        return 1;
      case InputClass::denormals:
        return clamp(sign(words[0]) * limits_.least_normal * unit(words[1]));
      case InputClass::infinities:
        return words[2] % 64 == 0 ? sign(words[0]) * std::numeric_limits<double>::infinity()
                                  : clamp(normal(words));
      case InputClass::nans:
        return words[2] % 64 == 0 ? std::numeric_limits<double>::quiet_NaN() : clamp(normal(words));
      case InputClass::great:
        return clamp(end * (1 - unit(words[1]) / 8));
      case InputClass::declared:
        break;
    }
    return declared_float(index);
  }

  /// Neighbours are each other's negative but for their last bits.
  static double cancelling(std::uint64_t index, const Draw& words) {
    double value = 64.0 * (0.5 + unit(words[1])) * sign(words[0]);
    if (index % 2 == 0) return value;
    return -value * (1 + static_cast<double>(words[2] % 5) * 0x1p-9 - 0x1p-8);
  }

  /// All within an eighth of the greatest that is admitted, and rows of one sign: a product of many
  /// leaves the type, and nothing of a row is above 0.
  double end_of(std::uint64_t row) const {
    constexpr std::uint64_t row_stream = std::uint64_t{1} << 40;
    if (class_ != InputClass::great) return 0;
    bool below = (philox64(seed_, stream_ | row_stream, row) & 1) != 0;
    double least = std::max(range_.low, -limits_.greatest);
    double greatest = std::min(range_.high, limits_.greatest);
    return (below && least < 0) || greatest <= 0 ? least : greatest;
  }
  std::uint64_t row_of(std::uint64_t index) const {
    constexpr std::uint64_t row_of_one = 64;
    std::size_t rank = tensor_.shape.size();
    return index / (rank < 2 ? row_of_one : std::max<std::uint64_t>(1, tensor_.strides[rank - 2]));
  }

  /// Magnitudes from 2^-12 to 2^11: small terms beside great ones.
  static double mixed_magnitude(const Draw& words) {
    static constexpr double scales[] = {0x1p-12, 0x1p-8, 0x1p-4, 1.0, 0x1p4, 0x1p8, 0x1p11, 0x1p-2};
    return sign(words[0]) * (1 + unit(words[1])) * scales[words[2] % 8];
  }

  std::int64_t integer_at(std::uint64_t index) const {
    Draw words = draw(index);
    const auto& kind = tensor_.values.kind;
    if (const auto* integers = std::get_if<Values::Integers>(&kind)) return drawn(*integers, words);
    if (const auto* list = std::get_if<Values::List>(&kind))
      return static_cast<std::int64_t>(list->values[below(words, list->values.size())]);
    if (const auto* indices = std::get_if<Values::IndicesBelow>(&kind))
      return static_cast<std::int64_t>(below(words, indices->bound));
    if (const auto* mask = std::get_if<Values::Mask>(&kind))
      return unit(words[0]) < mask->density ? 1 : 0;
    if (std::holds_alternative<Values::Permutation>(kind))
      return static_cast<std::int64_t>(permuted(index));
    return 0;
  }

  static std::int64_t drawn(const Values::Integers& integers, const Draw& words) {
    // An eighth of the elements, where there are extra values: they are the edge cases.
    if (!integers.extra.empty() && words[2] % 8 == 0)
      return integers.extra[words[3] % integers.extra.size()];
    std::uint64_t span =
        static_cast<std::uint64_t>(integers.high) - static_cast<std::uint64_t>(integers.low) + 1;
    std::uint64_t offset =
        span == 0 ? (std::uint64_t{words[1]} << 32 | words[0]) : below(words, span);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(integers.low) + offset);
  }

  void prepare_permutation() {
    if (!std::holds_alternative<Values::Permutation>(tensor_.values.kind)) return;
    count_ = tensor_.element_count();
    half_bits_ = std::max(1u, (static_cast<unsigned>(std::bit_width(count_ - 1)) + 1) / 2);
  }

  /// A Feistel network permutes the numbers of an even number of bits; walking on from those that
  /// are too great makes it a permutation of the smaller ones.
  std::uint64_t permuted(std::uint64_t index) const {
    if (index >= count_) return 0;  // A gap of the span.
    std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    std::uint64_t value = index;
    do {
      std::uint64_t left = value >> half_bits_, right = value & mask;
      for (std::uint64_t round = 0; round < 4; ++round) {
        std::uint64_t next = left ^ (philox64(seed_, stream_ | round << 56, right) & mask);
        left = right;
        right = next;
      }
      value = left << half_bits_ | right;
    } while (value >= count_);
    return value;
  }

  const Tensor& tensor_;
  InputClass class_;
  std::uint64_t seed_, stream_;
  Range range_;
  FloatLimits limits_;
  std::uint64_t count_ = 0;
  unsigned half_bits_ = 1;
};

std::uint64_t span_elements(const Tensor& tensor) {
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i)
    last += (tensor.shape[i] - 1) * tensor.strides[i];
  return last + 1;
}

}  // namespace

Specials specials_of(const Contract& contract, InputClass input_class) {
  if (input_class == InputClass::great) return Specials::alone;
  bool given = input_class != InputClass::overflow;
  for (const Tensor& tensor : contract.tensors) {
    const auto& kind = tensor.values.kind;
    given |= is_float(tensor.dtype) && tensor.role != Role::output &&
             !std::holds_alternative<Values::Normal>(kind) &&
             !std::holds_alternative<Values::Uniform>(kind) &&
             !std::holds_alternative<Values::Zero>(kind);
  }
  return given ? Specials::told_apart : Specials::alike;
}

std::string_view name_of(InputClass input_class) {
  return class_names[static_cast<std::size_t>(input_class)];
}

std::vector<InputClass> input_classes(const Contract& contract) {
  std::vector<InputClass> classes{InputClass::declared};
  for (std::size_t i = 1; i < class_names.size(); ++i) {
    auto input_class = static_cast<InputClass>(i);
    if (std::any_of(contract.tensors.begin(), contract.tensors.end(),
                    [&](const Tensor& tensor) { return admits(tensor, input_class); }))
      classes.push_back(input_class);
  }
  return classes;
}

Result<std::string> make_input_part(const Contract& contract, std::size_t tensor,
                                    InputClass input_class, std::uint64_t seed, std::uint64_t first,
                                    std::uint64_t count) {
  if (tensor >= contract.tensors.size())
    return Error{Fault::malformed, "there is no tensor " + std::to_string(tensor), "", {}};
  const Tensor& made = contract.tensors[tensor];
  std::uint64_t elements = span_elements(made);
  if (first % elements_per_piece != 0 || first > elements || count > elements - first)
    return Error{Fault::malformed, "the part is not within the tensor", "", {}};
  std::uint64_t bytes = (count * bits_of(made.dtype) + 7) / 8;
  if (const auto* file = std::get_if<Values::File>(&made.values.kind)) {
    if (file->bytes == nullptr)
      return Error{Fault::unavailable, "the bytes of " + file->path + " were not read", "", {}};
    return file->bytes->substr(first * bits_of(made.dtype) / 8, bytes);
  }
  std::string part(bytes, '\0');
  Generator(made, tensor, input_class, seed).fill(part, first, count);
  return part;
}

Result<std::string> make_input(const Contract& contract, std::size_t tensor, InputClass input_class,
                               std::uint64_t seed) {
  std::uint64_t count =
      tensor < contract.tensors.size() ? span_elements(contract.tensors[tensor]) : 0;
  return make_input_part(contract, tensor, input_class, seed, 0, count);
}

}  // namespace lathe
