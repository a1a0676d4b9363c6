"""Encodings, stress inputs and comparisons. Needs NumPy, so `scripts/triton` runs it, not ctest."""

import math
import unittest

import numpy as np

import place  # noqa: F401
from lathe_triton import Contract, Tensor, elements, rounding


def contract(dtype):
    return Contract("x", "fp16", None, [Tensor("y", dtype, (4,), "output")], (1,), [],
                    tolerance=rounding(dtype))


class Encoding(unittest.TestCase):
    def test_every_e4m3_number_survives(self):
        bits = np.arange(256)[~np.isnan(elements.E4M3)]
        self.assertTrue(np.array_equal(elements.encode("e4m3", elements.E4M3[bits]), bits))

    def test_e4m3_rounds_ties_to_even_and_saturates(self):
        sizes = np.unique(np.abs(elements.E4M3[~np.isnan(elements.E4M3)]))
        between = elements.encode("e4m3", (sizes[1:] + sizes[:-1]) / 2)
        self.assertTrue((between % 2 == 0).all())
        self.assertEqual(elements.encode("e4m3", np.array([1e3, -1e9, np.nan])).tolist(),
                         [0x7E, 0xFE, 0x7F])

    def test_bf16_rounds_ties_to_even(self):
        made = elements.encode("bf16", np.array([1.0, 1 + 2.0 ** -8, 1 + 3 * 2.0 ** -8, -np.inf]))
        self.assertEqual(made.tolist(), [0x3F80, 0x3F80, 0x3F82, 0xFF80])

    def test_decoding_undoes_encoding(self):
        values = np.random.default_rng(1).standard_normal(10000)
        for dtype, bits in (("f16", 11), ("bf16", 8), ("e4m3", 4)):
            back = elements.decode(dtype, elements.encode(dtype, values))
            normal = np.abs(values) > 0.02
            self.assertLessEqual(np.abs(back / values - 1)[normal].max(), 2.0 ** -bits, dtype)


class Inputs(unittest.TestCase):
    def test_stress_classes_stay_within_what_is_declared(self):
        tensor = Tensor("x", "f32", (1000,), "input", values={"uniform": [-2.0, 3.0]})
        for kind in elements.CLASSES:
            made = elements.make_input(tensor, kind, 1, 0)
            self.assertTrue((made >= -2).all() and (made <= 3).all(), kind)

    def test_each_class_is_what_its_name_says(self):
        tensor = Tensor("x", "f16", (1000,), "input")
        made = {kind: elements.make_input(tensor, kind, 1, 0).astype(np.float64)
                for kind in elements.CLASSES}
        self.assertGreater(np.abs(made["overflow"]).max(), 60000)
        self.assertLess(np.abs(made["underflow"]).max(), 2.0 ** -9)
        self.assertLessEqual(np.abs(made["denormals"]).max(), 2.0 ** -14)
        self.assertLess(np.abs(made["cancellation"].sum()), np.abs(made["cancellation"]).sum() / 50)
        self.assertTrue((made["zeros"] == 0).all() and (made["ones"] == 1).all())

    def test_another_seed_gives_other_numbers_and_the_same_one_the_same(self):
        tensor = Tensor("x", "f16", (100,), "input")
        first, again, other = (elements.make_input(tensor, "declared", s, 0) for s in (1, 1, 2))
        self.assertTrue(np.array_equal(first, again))
        self.assertFalse(np.array_equal(first, other))


class Comparison(unittest.TestCase):
    def compared(self, dtype, wide, got):
        one = contract(dtype)
        wide, got = np.array(wide, np.float64), np.array(got, np.float64)
        return elements.compare(one, one.arguments[0], wide, elements.encode(dtype, got))

    def test_a_rounding_holds_and_twice_the_tolerance_does_not(self):
        self.assertEqual(self.compared("f16", [1.0, 3.14159, 0.1, 7], [1, 3.14159, 0.1, 7])
                         ["failing"], 0)
        self.assertEqual(self.compared("f16", [1.0, 2, 3, 4], [1.003, 2, 3, 4])["failing"], 1)

    def test_infinity_is_right_where_the_type_overflows_and_nowhere_else(self):
        right = self.compared("f16", [70000, -70000, 1, 1], [np.inf, -np.inf, 1, 1])
        self.assertEqual(right["failing"], 0)
        wrong = self.compared("f16", [70000, 60000, 1, 1], [-np.inf, np.inf, 1, 1])
        self.assertEqual((wrong["failing"], wrong["beyond_range"]), (2, 2))

    def test_eight_bit_floats_saturate(self):
        self.assertEqual(self.compared("e4m3", [1e4, -500, 1, 0], [448, -448, 1, 0])["failing"], 0)

    def test_nan_is_right_only_where_the_oracle_has_it(self):
        self.assertEqual(self.compared("f16", [math.nan, 1, 1, 1], [math.nan, 1, 1, 1])["failing"],
                         0)
        self.assertEqual(self.compared("f16", [1.0, 1, 1, 1], [math.nan, 1, 1, 1])["failing"], 1)


if __name__ == "__main__":
    unittest.main()
