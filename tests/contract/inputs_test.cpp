// Inputs are a function of contract, tensor, class and seed, and stay inside what `values` admits.

#include "contract/inputs.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/digest.h"
#include "tests/contract/sample.h"

namespace lathe {
namespace {

Contract with_input(Dtype dtype, Values values, std::vector<std::uint64_t> shape = {1000}) {
  Contract contract;
  Tensor tensor;
  tensor.name = "x";
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  tensor.strides.assign(tensor.shape.size(), 1);
  for (std::size_t i = tensor.shape.size(); i-- > 1;)
    tensor.strides[i - 1] = tensor.strides[i] * tensor.shape[i];
  tensor.values = std::move(values);
  contract.tensors.push_back(std::move(tensor));
  return contract;
}

std::vector<double> drawn(const Contract& contract, InputClass input_class = InputClass::declared,
                          std::uint64_t seed = 1) {
  auto bytes = make_input(contract, 0, input_class, seed);
  REQUIRE(bytes.has_value());
  REQUIRE(bytes->size() == contract.tensors[0].span_bytes());
  std::vector<double> values;
  for (std::uint64_t i = 0; i < contract.tensors[0].element_count(); ++i)
    values.push_back(element_at(contract.tensors[0].dtype, *bytes, i));
  return values;
}

TEST_CASE("the same seed gives the same bytes, another seed, class or tensor others") {
  Contract contract = with_input(Dtype::f16, {Values::Normal{}});
  contract.tensors.push_back(contract.tensors[0]);
  auto bytes = [&](std::size_t tensor, InputClass input_class, std::uint64_t seed) {
    return *make_input(contract, tensor, input_class, seed);
  };
  std::string first = bytes(0, InputClass::declared, 7);
  CHECK(bytes(0, InputClass::declared, 7) == first);
  CHECK(bytes(0, InputClass::declared, 8) != first);
  CHECK(bytes(1, InputClass::declared, 7) != first);
  CHECK(bytes(0, InputClass::overflow, 7) != first);
}

TEST_CASE("a part of the inputs equals that part of the whole") {
  for (Dtype dtype : {Dtype::f16, Dtype::f32, Dtype::e2m1, Dtype::e2m3, Dtype::b32, Dtype::s64,
                      Dtype::u4, Dtype::f64})
    for (InputClass input_class : {InputClass::declared, InputClass::cancellation}) {
      INFO(name_of(dtype));
      Contract contract = with_input(dtype, {Values::AnyBits{}}, {1003});
      std::string whole = *make_input(contract, 0, input_class, 3);
      for (std::uint64_t first : {0, 8, 496}) {
        auto part = make_input_part(contract, 0, input_class, 3, first, 32);
        REQUIRE(part.has_value());
        CHECK(*part == whole.substr(first * bits_of(dtype) / 8, part->size()));
      }
    }
}

TEST_CASE("inputs are what they have always been") {
  // A witness names its input by class and seed alone.
  std::pair<Dtype, std::string> known[] = {{Dtype::f16, "92351e18dfd3d7af"},
                                           {Dtype::bf16, "e50ed580f17b4352"},
                                           {Dtype::f32, "a8c6d6e5d22671f6"}};
  for (const auto& [dtype, digest] : known) {
    INFO(name_of(dtype));
    std::string all;
    for (const Values& values :
         {Values{Values::Normal{}}, Values{Values::Uniform{-8, 3}}, Values{Values::AnyBits{}}}) {
      Contract contract = with_input(dtype, values, {9, 79});
      for (InputClass input_class : input_classes(contract))
        all += *make_input(contract, 0, input_class, 5);
    }
    CHECK(hex(sha256(all)).substr(0, 16) == digest);
  }
}

TEST_CASE("a part outside of the tensor is refused") {
  Contract contract = with_input(Dtype::f16, {Values::Normal{}});
  CHECK_FALSE(make_input_part(contract, 0, InputClass::declared, 1, 8, 1000).has_value());
  CHECK_FALSE(make_input_part(contract, 0, InputClass::declared, 1, 3, 4).has_value());
  CHECK_FALSE(make_input(contract, 1, InputClass::declared, 1).has_value());
}

TEST_CASE("normal values have mean 0 and variance 1") {
  for (Dtype dtype : {Dtype::f16, Dtype::f32, Dtype::bf16}) {
    auto values = drawn(with_input(dtype, {Values::Normal{}}, {100000}));
    double mean = 0, square = 0;
    for (double value : values) {
      mean += value / 100000.0;
      square += value * value / 100000.0;
    }
    CHECK(std::fabs(mean) < 0.02);
    CHECK(std::fabs(square - 1) < 0.03);
  }
}

TEST_CASE("uniform values stay between their bounds and reach near both") {
  auto values = drawn(with_input(Dtype::f32, {Values::Uniform{-2, 3}}, {10000}));
  auto [low, high] = std::minmax_element(values.begin(), values.end());
  CHECK(*low >= -2);
  CHECK(*low < -1.99);
  CHECK(*high <= 3);
  CHECK(*high > 2.99);
}

TEST_CASE("integers come from their range and from the extra values") {
  auto values = drawn(with_input(Dtype::s32, {Values::Integers{-3, 3, {-100}}}));
  std::set<double> seen(values.begin(), values.end());
  CHECK(seen == std::set<double>{-100, -3, -2, -1, 0, 1, 2, 3});
}

TEST_CASE("a permutation has each index once, for any size") {
  for (std::uint64_t size : {1, 2, 3, 17, 1000, 4096}) {
    auto values = drawn(with_input(Dtype::u32, {Values::Permutation{}}, {size}));
    std::sort(values.begin(), values.end());
    for (std::uint64_t i = 0; i < size; ++i) CHECK(values[i] == static_cast<double>(i));
  }
}

TEST_CASE("indices stay below their bound, masks are zeros and ones of a density") {
  for (double value : drawn(with_input(Dtype::s64, {Values::IndicesBelow{5}}))) {
    CHECK(value >= 0);
    CHECK(value < 5);
  }
  auto mask = drawn(with_input(Dtype::u8, {Values::Mask{0.25}}, {10000}));
  auto ones = std::count(mask.begin(), mask.end(), 1.0);
  CHECK(ones + std::count(mask.begin(), mask.end(), 0.0) == 10000);
  CHECK(std::abs(ones - 2500) < 200);
}

TEST_CASE("a list gives its own values only, and zero gives zero") {
  auto values = drawn(with_input(Dtype::s8, {Values::List{{-7, 9}}}));
  CHECK(std::set<double>(values.begin(), values.end()) == std::set<double>{-7, 9});
  auto zeros = drawn(with_input(Dtype::f32, {Values::Zero{}}));
  CHECK(std::count(zeros.begin(), zeros.end(), 0.0) == 1000);
}

TEST_CASE("the stress classes of normal values are finite and extreme") {
  Contract contract = with_input(Dtype::f16, {Values::Normal{}});
  auto most = [](const std::vector<double>& values) {
    double most = 0;
    for (double value : values) most = std::max(most, std::fabs(value));
    return most;
  };
  for (InputClass input_class : input_classes(contract))
    for (double value : drawn(contract, input_class)) CHECK(std::isfinite(value));
  CHECK(most(drawn(contract, InputClass::overflow)) > 60000);
  CHECK(most(drawn(contract, InputClass::underflow)) < 1e-3);
  CHECK(most(drawn(contract, InputClass::denormals)) <= 0x1p-14);
  CHECK(most(drawn(contract, InputClass::denormals)) > 0);
  CHECK(most(drawn(contract, InputClass::zeros)) == 0);
  for (double value : drawn(contract, InputClass::ones)) CHECK(value == 1);
}

TEST_CASE("the great class fills rows of one sign with what is near the greatest") {
  auto check = [](const Contract& contract, double low, double high) {
    auto values = drawn(contract, InputClass::great);
    constexpr std::size_t row = 64;
    std::size_t below = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      CHECK(std::signbit(values[i]) == std::signbit(values[i - i % row]));
      CHECK((values[i] < 0 ? values[i] / low : values[i] / high) > 0.87);
      CHECK((values[i] < 0 ? values[i] / low : values[i] / high) <= 1);
      below += values[i] < 0 ? 1 : 0;
    }
    CHECK(below % values.size() != 0);
  };
  check(with_input(Dtype::f16, {Values::Normal{}}), -65504, 65504);
  check(with_input(Dtype::f32, {Values::Uniform{-200, 50}}), -200, 50);
  for (double value : drawn(with_input(Dtype::f32, {Values::Uniform{-8, -2}}), InputClass::great))
    CHECK(value <= -7);
}

TEST_CASE("neighbours of the cancellation class nearly cancel") {
  auto values = drawn(with_input(Dtype::f32, {Values::Normal{}}), InputClass::cancellation);
  for (std::size_t i = 0; i + 1 < values.size(); i += 2) {
    CHECK(std::fabs(values[i]) >= 32);
    CHECK(std::fabs(values[i] + values[i + 1]) <= std::fabs(values[i]) * 0x1p-7);
  }
}

TEST_CASE("infinities and NaN come only where any bits are admitted") {
  auto has = [](const Contract& contract, InputClass input_class) {
    auto classes = input_classes(contract);
    return std::find(classes.begin(), classes.end(), input_class) != classes.end();
  };
  Contract normal = with_input(Dtype::f16, {Values::Normal{}});
  Contract any = with_input(Dtype::f16, {Values::AnyBits{}});
  CHECK_FALSE(has(normal, InputClass::infinities));
  CHECK_FALSE(has(normal, InputClass::nans));
  CHECK(has(any, InputClass::infinities));
  CHECK(has(any, InputClass::nans));
  CHECK_FALSE(has(with_input(Dtype::e4m3, {Values::AnyBits{}}), InputClass::infinities));
  auto values = drawn(any, InputClass::nans);
  CHECK(std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); }));
}

TEST_CASE("the stress classes stay inside a uniform range") {
  Contract contract = with_input(Dtype::f32, {Values::Uniform{0.5, 2}});
  auto classes = input_classes(contract);
  CHECK(std::find(classes.begin(), classes.end(), InputClass::zeros) == classes.end());
  CHECK(std::find(classes.begin(), classes.end(), InputClass::ones) != classes.end());
  for (InputClass input_class : classes)
    for (double value : drawn(contract, input_class)) {
      CHECK(value >= 0.5);
      CHECK(value <= 2);
    }
}

TEST_CASE("stress classes never touch integers") {
  Contract contract = with_input(Dtype::s32, {Values::IndicesBelow{9}});
  CHECK(input_classes(contract).size() == 1);
  contract.tensors.push_back(with_input(Dtype::f16, {Values::Normal{}}).tensors[0]);
  CHECK(input_classes(contract).size() == 9);
  CHECK(make_input(contract, 0, InputClass::overflow, 5).has_value());
  for (double value : drawn(contract, InputClass::overflow)) CHECK(value < 9);
}

TEST_CASE("an element set is the element read, of every type") {
  for (int i = 0; i <= static_cast<int>(Dtype::b32); ++i) {
    auto dtype = static_cast<Dtype>(i);
    INFO(name_of(dtype));
    std::string bytes(64, '\0');
    for (std::uint64_t k = 0; k < 8; ++k) set_element(dtype, bytes, k, k % 2 == 0 ? 1 : 2);
    for (std::uint64_t k = 0; k < 8; ++k)
      CHECK(element_at(dtype, bytes, k) == (k % 2 == 0 ? 1 : 2));
  }
}

TEST_CASE("elements of four and six bits lie without gaps, the lowest first") {
  std::string bytes(3, '\0');
  set_element(Dtype::u4, bytes, 0, 1);
  set_element(Dtype::u4, bytes, 1, 15);
  CHECK(static_cast<unsigned char>(bytes[0]) == 0xF1);
  bytes.assign(3, '\0');
  set_element(Dtype::e2m3, bytes, 1, 1);  // 001000 at bit 6.
  CHECK(static_cast<unsigned char>(bytes[0]) == 0x00);
  CHECK(static_cast<unsigned char>(bytes[1]) == 0x02);
}

TEST_CASE("integers saturate when they are set from doubles") {
  std::string bytes(8, '\0');
  set_element(Dtype::s8, bytes, 0, 1000);
  CHECK(element_at(Dtype::s8, bytes, 0) == 127);
  set_element(Dtype::u32, bytes, 0, -5);
  CHECK(element_at(Dtype::u32, bytes, 0) == 0);
  set_element(Dtype::s64, bytes, 0, -0x1p63);
  CHECK(element_at(Dtype::s64, bytes, 0) == -0x1p63);
}

}  // namespace
}  // namespace lathe
