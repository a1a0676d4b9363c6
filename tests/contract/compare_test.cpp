// When an element of the candidate holds, and when it must not.

#include "contract/compare.h"

#include <cmath>
#include <limits>

#include "contract/inputs.h"
#include "tests/contract/sample.h"

namespace lathe {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Contract with_output(Dtype dtype, std::vector<std::uint64_t> shape = {4}) {
  Contract contract;
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.role = Role::output;
  tensor.shape = std::move(shape);
  tensor.strides.assign(tensor.shape.size(), 1);
  for (std::size_t i = tensor.shape.size(); i-- > 1;)
    tensor.strides[i - 1] = tensor.strides[i] * tensor.shape[i];
  contract.tensors.push_back(tensor);
  contract.tolerance = {0.01, 0.1, 2};
  return contract;
}

std::string bytes_of(Dtype dtype, const std::vector<double>& values) {
  std::string bytes(values.size() * bits_of(dtype) / 8, '\0');
  for (std::size_t i = 0; i < values.size(); ++i) set_element(dtype, bytes, i, values[i]);
  return bytes;
}

/// Whether one f32 element holds.
bool holds(double wide, double reference, double candidate) {
  Contract contract = with_output(Dtype::f32, {1});
  return compare(contract, 0, bytes_of(Dtype::f32, {reference}), bytes_of(Dtype::f32, {candidate}),
                 {wide}, "")
             .failing == 0;
}

TEST_CASE("an error up to absolute plus relative holds, one above does not") {
  CHECK(holds(10, 10, 11));
  CHECK_FALSE(holds(10, 10, 11.02));
  CHECK(holds(10, 10, 9));
  CHECK_FALSE(holds(10, 10, 8.98));
  CHECK(holds(0, 0, 0.0099));
  CHECK_FALSE(holds(0, 0, 0.0101));
}

TEST_CASE("an error up to the factor times the reference's own holds") {
  CHECK(holds(10, 13, 15.9));
  CHECK_FALSE(holds(10, 13, 16.1));
  CHECK(holds(10, 13, 4.1));
}

TEST_CASE("where no input was NaN or infinite an overflow may end in either") {
  const double nan = NAN, inf = HUGE_VAL;
  Contract contract = with_output(Dtype::f32, {1});
  auto alike = [&](double reference, double candidate) {
    return compare(contract, 0, bytes_of(Dtype::f32, {reference}),
                   bytes_of(Dtype::f32, {candidate}), {}, "", Specials::alike)
               .failing == 0;
  };
  CHECK(alike(nan, inf));
  CHECK(alike(-inf, nan));
  CHECK(alike(nan, 0));
  CHECK_FALSE(alike(inf, 65504));
  CHECK_FALSE(alike(65504, inf));
  CHECK_FALSE(alike(1, nan));
  contract.tensors.push_back(contract.tensors[0]);
  contract.tensors[1].role = Role::input;
  contract.tensors[1].values.kind = Values::Normal{};
  CHECK(specials_of(contract, InputClass::overflow) == Specials::alike);
  CHECK(specials_of(contract, InputClass::infinities) == Specials::told_apart);
  CHECK(specials_of(contract, InputClass::declared) == Specials::told_apart);
  contract.tensors[1].values.kind = Values::AnyBits{};
  CHECK(specials_of(contract, InputClass::overflow) == Specials::told_apart);
}

TEST_CASE("where all inputs are great only what is not finite differs") {
  Contract contract = with_output(Dtype::f32, {2});
  auto failing = [&](const std::vector<double>& reference, const std::vector<double>& candidate) {
    return compare(contract, 0, bytes_of(Dtype::f32, reference), bytes_of(Dtype::f32, candidate),
                   {}, "", Specials::alone)
        .failing;
  };
  CHECK(failing({1, 2}, {3, 4}) == 0);
  CHECK(failing({HUGE_VAL, NAN}, {3, 4}) == 0);
  CHECK(failing({NAN, 2}, {1, NAN}) == 0);
  CHECK(failing({1, 2}, {1, NAN}) == 1);
  CHECK(failing({1, 2}, {-HUGE_VAL, 2}) == 1);
  CHECK(specials_of(contract, InputClass::great) == Specials::alone);
}

TEST_CASE("where the reference overflows somewhere, another order may do so elsewhere") {
  Contract contract = with_output(Dtype::f32, {4});
  auto alike = [&](const std::vector<double>& reference, const std::vector<double>& candidate,
                   const std::vector<double>& wide, std::string_view written = "") {
    return compare(contract, 0, bytes_of(Dtype::f32, reference), bytes_of(Dtype::f32, candidate),
                   wide, written, Specials::alike)
        .failing;
  };
  CHECK(alike({NAN, 2, 3, 4}, {1, 2, NAN, NAN}, {}) == 0);
  CHECK(alike({NAN, 2, 3, 4}, {1, NAN, NAN, NAN}, {}) == 3);
  CHECK(alike({1, 2, 3, 4}, {1, 2, NAN, 4}, {}) == 1);
  CHECK(alike({NAN, 2, 3, 4}, {1, 2, 9, 4}, {}) == 1);
  // What is not compared has not overflowed either.
  std::string last_two = std::string(8, '\0') + std::string(8, '\1');
  CHECK(alike({NAN, 2, 3, 4}, {1, 2, NAN, 4}, {}, last_two) == 1);
  // 1 / inf is 0: finite, and far from what the reals give.
  CHECK(alike({0, 2, 3, 4}, {NAN, 2, 3, 4}, {5, 2, 3, 4}) == 0);
  CHECK(alike({5, 2, 3, 4}, {NAN, 2, 3, 4}, {5, 2, 3, 4}) == 1);
  CHECK(alike({5, 2, 3, 4}, {NAN, 2, 3, 4}, {5.001, 2, 3, 4}) == 1);
}

TEST_CASE("the reference's own result holds, however far from the wide one") {
  Contract contract = with_output(Dtype::f32, {1});
  contract.tolerance.error_factor = 0;
  auto failing = [&](double candidate) {
    return compare(contract, 0, bytes_of(Dtype::f32, {7}), bytes_of(Dtype::f32, {candidate}), {20},
                   "")
        .failing;
  };
  CHECK(failing(7) == 0);
  CHECK(failing(7.5) == 1);
}

TEST_CASE("NaN and infinity match only where the reference has them") {
  CHECK(holds(nan, nan, nan));
  CHECK_FALSE(holds(1, 1, nan));
  CHECK_FALSE(holds(1, 1, infinity));
  CHECK(holds(infinity, infinity, infinity));
  CHECK_FALSE(holds(infinity, infinity, -infinity));
  CHECK_FALSE(holds(infinity, infinity, 1));
  CHECK_FALSE(holds(nan, nan, 1));
  CHECK_FALSE(holds(nan, nan, infinity));
}

TEST_CASE("where only the reference overflows, the wide result vouches for a finite one") {
  CHECK(holds(70000, infinity, 70001));
  CHECK_FALSE(holds(70000, infinity, 0));
}

TEST_CASE("without a wide result the reference is the yardstick") {
  Contract contract = with_output(Dtype::f16);
  std::string reference = bytes_of(Dtype::f16, {1, 2, 3, 4});
  CHECK(compare(contract, 0, reference, reference, {}, "").failing == 0);
  Comparison wrong = compare(contract, 0, reference, bytes_of(Dtype::f16, {1, 2, 5, 9}), {}, "");
  CHECK(wrong.compared == 4);
  CHECK(wrong.failing == 2);
  REQUIRE(wrong.first.has_value());
  CHECK(wrong.first->index == std::vector<std::uint64_t>{2});
  CHECK(wrong.first->candidate == 5);
  CHECK(wrong.first->reference == 3);
  CHECK(wrong.difference_max == 5);
  CHECK_FALSE(wrong.candidate_error_max);
}

TEST_CASE("errors are told against the wide result, where it knows any") {
  Contract contract = with_output(Dtype::f32);
  std::string reference = bytes_of(Dtype::f32, {1, 2, 3, 4});
  std::vector<double> wide{1, 2.5, NAN, NAN};
  Comparison same = compare(contract, 0, reference, reference, wide, "");
  CHECK(same.difference_max == 0);
  CHECK(same.candidate_error_max == 0.5);
  CHECK(same.reference_error_max == 0.5);
  // What it does not know is no error, however far the two are apart.
  Comparison far = compare(contract, 0, reference, bytes_of(Dtype::f32, {1, 2, 9, 4}), wide, "");
  CHECK(far.difference_max == 6);
  CHECK(far.candidate_error_max == 0.5);
  Comparison none = compare(contract, 0, reference, reference, {NAN, NAN, NAN, NAN}, "");
  CHECK_FALSE(none.candidate_error_max);
  CHECK_FALSE(none.reference_error_max);
}

TEST_CASE("integers are equal or not, whatever the tolerance") {
  Contract contract = with_output(Dtype::s32);
  std::string reference = bytes_of(Dtype::s32, {100, 2, 3, 4});
  CHECK(compare(contract, 0, reference, bytes_of(Dtype::s32, {101, 2, 3, 4}), {}, "").failing == 1);
  CHECK(compare(contract, 0, reference, reference, {100, 2, 3, 4}, "").failing == 0);
}

TEST_CASE("what the reference did not write is not compared") {
  Contract contract = with_output(Dtype::f32);
  std::string reference = bytes_of(Dtype::f32, {1, 2, 3, 4});
  std::string candidate = bytes_of(Dtype::f32, {1, 2, 3, 9});
  std::string written(16, '\1');
  CHECK(compare(contract, 0, reference, candidate, {}, written).failing == 1);
  written.replace(12, 4, std::string(4, '\0'));
  Comparison comparison = compare(contract, 0, reference, candidate, {}, written);
  CHECK(comparison.failing == 0);
  CHECK(comparison.compared == 3);
}

TEST_CASE("only the defined boxes are compared") {
  Contract contract = with_output(Dtype::f32, {2, 2});
  contract.tensors[0].defined = {{{0, 1}, {0, 2}}};
  std::string reference = bytes_of(Dtype::f32, {1, 2, 3, 4});
  CHECK(compare(contract, 0, reference, bytes_of(Dtype::f32, {1, 2, 9, 9}), {}, "").failing == 0);
  CHECK(compare(contract, 0, reference, bytes_of(Dtype::f32, {1, 9, 3, 4}), {}, "").failing == 1);
}

TEST_CASE("the gaps between rows are not compared, and an index has a number a dimension") {
  Contract contract = with_output(Dtype::f32, {2, 2});
  contract.tensors[0].strides = {3, 1};
  std::string reference = bytes_of(Dtype::f32, {1, 2, 0, 3, 4});
  CHECK(compare(contract, 0, reference, bytes_of(Dtype::f32, {1, 2, 7, 3, 4}), {}, "").failing ==
        0);
  Comparison wrong = compare(contract, 0, reference, bytes_of(Dtype::f32, {1, 2, 0, 3, 8}), {}, "");
  REQUIRE(wrong.first.has_value());
  CHECK(wrong.first->index == std::vector<std::uint64_t>{1, 1});
}

TEST_CASE("a transposed output fails") {
  Contract contract = with_output(Dtype::f16, {2, 2});
  CHECK(compare(contract, 0, bytes_of(Dtype::f16, {1, 2, 3, 4}), bytes_of(Dtype::f16, {1, 3, 2, 4}),
                {}, "")
            .failing == 2);
}

}  // namespace
}  // namespace lathe
