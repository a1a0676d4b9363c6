"""What the suite's sources and the generator of integer kernels promise, without Triton."""

import json
import re
import statistics
import unittest

import place
from lathe_triton import Config, Tensor, contract, integers, rounding

SEMANTICS = place.ROOT / "suite/semantics"


class Integers(unittest.TestCase):
    def test_the_committed_kernels_are_what_their_seeds_make(self):
        for seed in (1, 2, 3):
            committed = (SEMANTICS / f"integers_{seed}.py").read_text()
            self.assertEqual(committed, integers.source(seed))

    def test_another_seed_is_another_kernel(self):
        texts = {re.sub(r"integers_\d+|seed \d+|integers \d+", "", integers.source(seed))
                 for seed in range(20)}
        self.assertEqual(len(texts), 20)

    def test_every_kernel_has_each_kind_of_statement(self):
        wanted = ["tl.sum(", "tl.max(", "tl.static_range(", "tl.where(", "tl.multiple_of(",
                  "tl.max_contiguous(", "tl.load(x + ", " % ", " // ", " >> ", " << ", " ^ "]
        for seed in range(20):
            kernel = integers.source(seed).split("@np.errstate")[0]
            for word in wanted:
                self.assertIn(word, kernel, f"seed {seed}")

    def test_a_kernel_has_about_150_lines(self):
        for seed in range(20):
            body = integers.source(seed).split("@triton.jit")[1].split("tl.store")[0]
            self.assertTrue(130 <= body.count("\n") <= 170, f"seed {seed}: {body.count(chr(10))}")

    def test_triton_and_numpy_get_the_same_statements(self):
        source = integers.source(7)
        kernel, oracle = source.split("@np.errstate")
        statement = re.compile(r"^    +(v\d+) = ", re.M)
        assigned = statement.findall(kernel.split("tl.load(y + at)")[1])
        self.assertEqual(assigned, statement.findall(oracle.split("BLOCK)\n", 1)[1]))


class Contracts(unittest.TestCase):
    def test_a_tolerance_is_three_roundings_of_the_output(self):
        for dtype, bits in (("f16", 11), ("bf16", 8), ("e4m3", 4)):
            relative = rounding(dtype)["relative"]
            self.assertAlmostEqual(relative * 2 ** bits / 3, 1, delta=0.05)
            self.assertLess(relative, 4 * 2 ** -bits)

    def test_a_rounding_on_the_way_counts_where_it_is_the_coarser(self):
        self.assertEqual(rounding("f16", of="e4m3")["relative"], rounding("e4m3")["relative"])
        self.assertEqual(rounding("e4m3", of="f16")["relative"], rounding("e4m3")["relative"])

    def test_integers_are_exact(self):
        self.assertEqual(rounding("s32"),
                         {"absolute": 0.0, "relative": 0.0, "error_factor": 1.0})

    def test_a_label_tells_configurations_apart(self):
        a = Config(num_warps=4, num_stages=3, constants={"BM": 128})
        for other in (Config(num_warps=8, constants={"BM": 128}),
                      Config(num_stages=2, constants={"BM": 128}),
                      Config(constants={"BM": 64}), Config(constants={"BM": 128}, aligned=False)):
            self.assertNotEqual(a.label(), other.label())

    def test_the_measured_configuration_is_taken_and_an_unknown_one_refused(self):
        def made(name, tuning):
            return contract.Contract(name, "fp16", None, [], (1,), tuning)
        measured = contract.chosen("sm_90a")["sum_fp16"]
        warps = int(re.search(r"w(\d+)", measured)[1])
        configs = [Config(num_warps=n) for n in (1, 2, 4, 8, 16)]
        self.assertEqual(made("sum", configs).config("sm_90a").num_warps, warps)
        self.assertEqual(made("sum", configs).config("sm_89").num_warps, 1)
        others = [c for c in configs if c.num_warps != warps]
        with self.assertRaises(ValueError):
            made("sum", others).config("sm_90a")

    def test_a_grid_follows_the_configuration(self):
        one = contract.Contract("x", "fp16", None, [], lambda c: (4096 // c["B"],),
                                [Config(constants={"B": 32})])
        self.assertEqual(one.grid_of(one.tuning[0]), [128, 1, 1])
        self.assertEqual(one.grid_of(Config(grid=(7,))), [7, 1, 1])

    def test_strides_are_those_of_rows(self):
        self.assertEqual(Tensor("x", "f16", (4, 8, 16), "input").contiguous_strides(),
                         [128, 16, 1])


class Baselines(unittest.TestCase):
    def setUp(self):
        self.measured = json.loads((place.ROOT / "suite/baselines/sm_90a.json").read_text())

    def test_every_chosen_configuration_is_right_and_has_all_its_samples(self):
        for name, row in self.measured["kernels"].items():
            if row["chosen"] is None:
                continue
            config = row["configs"][row["chosen"]]
            self.assertEqual(config["declared"]["failing"], 0, name)
            self.assertEqual(len(config["samples_us"]), 40, name)
            self.assertEqual(len(config["final_samples_us"]), 60, name)

    def test_the_chosen_one_is_the_faster_of_the_two_finalists(self):
        for name, row in self.measured["kernels"].items():
            finals = {label: sorted(c["final_samples_us"]) for label, c in row["configs"].items()
                      if "final_samples_us" in c}
            medians = {label: (s[29] + s[30]) / 2 for label, s in finals.items()}
            if medians:
                self.assertEqual(medians[row["chosen"]], min(medians.values()), name)

    def test_each_row_of_the_survey_agrees_within_a_twentieth_or_says_why(self):
        survey = json.loads((place.ROOT / "suite/baselines/survey.json").read_text())["kernels"]
        self.assertEqual(len(survey), 24)
        document = (place.ROOT / "docs/BASELINES.md").read_text()
        apart = 0
        for name, row in survey.items():
            ours = self.measured["kernels"][name]
            samples = ours["configs"][ours["chosen"]]["final_samples_us"]
            gap = statistics.median(samples) / row["median_us"] - 1
            why = row["why"] if abs(gap) > 0.05 else ""
            self.assertIn(f"| {row['median_us']} | {100 * gap:+.1f} % | {why} |", document, name)
            apart += bool(why)
        self.assertGreater(apart, 0)

    def test_the_device_and_its_versions_are_named(self):
        for key in ("device", "driver_version", "cuda", "assembler", "triton", "date", "method"):
            self.assertTrue(self.measured[key], key)


if __name__ == "__main__":
    unittest.main()
