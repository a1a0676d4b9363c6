// The names and sizes of a contract's types, and the sizes of its tensors.

#include <array>

#include "contract/contract.h"

namespace lathe {
namespace {

struct DtypeRow {
  std::string_view name;
  unsigned bits;
  bool is_float;
  const FloatFormat* format;
};

// clang-format off
constexpr std::array<DtypeRow, 23> dtypes{{
    {"f64",  64, true, nullptr},    {"f32",  32, true, &float32}, {"f16",  16, true, &float16},
    {"bf16", 16, true, &bfloat16},  {"e4m3",  8, true, &e4m3},    {"e5m2",  8, true, &e5m2},
    {"e2m1",  4, true, &e2m1},      {"e2m3",  6, true, &e2m3},    {"e3m2",  6, true, &e3m2},
    {"ue8m0", 8, true, &ue8m0},
    {"s64", 64, false, nullptr}, {"s32", 32, false, nullptr}, {"s16", 16, false, nullptr},
    {"s8",   8, false, nullptr}, {"s4",   4, false, nullptr},
    {"u64", 64, false, nullptr}, {"u32", 32, false, nullptr}, {"u16", 16, false, nullptr},
    {"u8",   8, false, nullptr}, {"u4",   4, false, nullptr},
    {"b8",   8, false, nullptr}, {"b16", 16, false, nullptr}, {"b32", 32, false, nullptr},
}};

struct ParameterRow {
  std::string_view name;
  unsigned bytes;
  bool is_float;
};
constexpr std::array<ParameterRow, 15> parameter_types{{
    {"b8", 1, false}, {"b16", 2, false}, {"b32", 4, false}, {"b64", 8, false},
    {"u8", 1, false}, {"u16", 2, false}, {"u32", 4, false}, {"u64", 8, false},
    {"s8", 1, false}, {"s16", 2, false}, {"s32", 4, false}, {"s64", 8, false},
    {"f32", 4, true}, {"f64", 8, true},  {"f16", 2, true},
}};
// clang-format on

const DtypeRow& row(Dtype dtype) { return dtypes[static_cast<std::size_t>(dtype)]; }
const ParameterRow& row(ParameterType type) {
  return parameter_types[static_cast<std::size_t>(type)];
}

}  // namespace

std::string_view name_of(Dtype dtype) { return row(dtype).name; }
unsigned bits_of(Dtype dtype) { return row(dtype).bits; }
bool is_float(Dtype dtype) { return row(dtype).is_float; }
const FloatFormat* format_of(Dtype dtype) { return row(dtype).format; }

std::optional<Dtype> parse_dtype(std::string_view name) {
  for (std::size_t i = 0; i < dtypes.size(); ++i)
    if (dtypes[i].name == name) return static_cast<Dtype>(i);
  return std::nullopt;
}

std::string_view name_of(ParameterType type) { return row(type).name; }
unsigned bytes_of(ParameterType type) { return row(type).bytes; }
bool is_float(ParameterType type) { return row(type).is_float; }

std::string_view name_of(Role role) {
  switch (role) {
    case Role::input:
      return "input";
    case Role::output:
      return "output";
    case Role::inout:
      return "inout";
    case Role::scratch:
      break;
  }
  return "scratch";
}

std::uint64_t Tensor::element_count() const {
  std::uint64_t count = 1;
  for (std::uint64_t extent : shape) count *= extent;
  return count;
}

std::uint64_t Tensor::span_bytes() const {
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return 0;
    last += (shape[i] - 1) * strides[i];
  }
  return ((last + 1) * bits_of(dtype) + 7) / 8;
}

std::uint32_t shared_bytes_max(std::string_view target) {
  return target == "sm_89" ? 99u << 10 : 227u << 10;
}

std::optional<unsigned> version_number(std::string_view version) {
  std::size_t dot = version.find('.');
  auto digits = [](std::string_view text, std::size_t most) {
    if (text.empty() || text.size() > most || (text.size() > 1 && text[0] == '0')) return false;
    return text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (dot == std::string_view::npos) return std::nullopt;
  std::string_view major = version.substr(0, dot), minor = version.substr(dot + 1);
  if (!digits(major, 3) || !digits(minor, 2)) return std::nullopt;
  return static_cast<unsigned>(std::stoul(std::string(major)) * 100 +
                               std::stoul(std::string(minor)));
}

}  // namespace lathe
