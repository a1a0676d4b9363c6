"""What one H200 showed (h200/bridge.json), against what it should have shown."""

import json
import unittest

import place

RESULT = json.loads((place.HERE / "h200/bridge.json").read_text())
STEPS = RESULT["steps"]

# Name, grid, scalars, launches, from the disk's cache.
EXPECTED = [
    ("add_kernel_1", [5, 1, 1], {"n": 5000}, 3, False),
    ("softmax_kernel_1", [64, 1, 1], {"row_stride": 512}, 1, False),
    ("softmax_kernel_2", [96, 1, 1], {"row_stride": 512}, 1, False),
    ("matmul_kernel_1", [4, 3, 1],
     {"k": 128, "stride_a": 128, "stride_b": 192, "stride_c": 192}, 2, False),
    ("gather_kernel_1", [32, 1, 1], {}, 1, False),
    ("scale_kernel_1", [8, 1, 1], {"factor": 0.625}, 1, True),
]


class Capture(unittest.TestCase):
    REPORT = STEPS["capture"]["report"]

    def test_the_origin_is_an_h200_with_its_versions(self):
        origin = STEPS["origin"]
        self.assertIn("H200", origin["device_and_driver"])
        self.assertEqual(origin["triton"], "3.6.0")

    def test_exactly_the_contracts_of_the_five_kernels_were_captured(self):
        found = [(k["contract"], k["grid"], k["scalars"], k["launches"], k["from_cache"])
                 for k in self.REPORT["kernels"]]
        self.assertEqual(found, EXPECTED)
        self.assertEqual(self.REPORT["not_captured"], [])
        self.assertEqual(sorted(p.name for p in place.RECORDED.iterdir() if p.is_dir()),
                         sorted(row[0] for row in EXPECTED))

    def test_the_tuners_trials_are_apart_from_the_launches(self):
        self.assertEqual(list(self.REPORT["tuning_launches"]), ["matmul_kernel"])
        self.assertGreater(self.REPORT["tuning_launches"]["matmul_kernel"], 100)

    def test_time_is_shared_out_whole(self):
        self.assertAlmostEqual(sum(k["share"] for k in self.REPORT["kernels"]), 1)
        self.assertTrue(all(k["time_ns"] > 0 for k in self.REPORT["kernels"]))

    def test_the_index_is_kept_and_nothing_large_is(self):
        for kernel in self.REPORT["kernels"]:
            kept = {"index": 128} if kernel["entry"] == "gather_kernel" else {}
            self.assertEqual(kernel["kept"], kept)
            self.assertTrue(all(s["elements"] <= 4096 for s in kernel["sampled"].values()))
        index = (place.RECORDED / "gather_kernel_1/index.bin").read_bytes()
        rows = [int.from_bytes(index[i:i + 4], "little") for i in range(0, 128, 4)]
        self.assertTrue(all(0 <= row < 100 for row in rows) and len(set(rows)) > 8)

    def test_capture_changed_no_output(self):
        self.assertEqual(STEPS["capture"]["out"], STEPS["plain"]["out"])


class Winners(unittest.TestCase):
    def test_winners_ran_where_the_guards_held_and_tritons_own_elsewhere(self):
        report = STEPS["winners"]["report"]
        self.assertEqual({(r["entry"], r["launches"]) for r in report["winners"]},
                         {("add_kernel", 3), ("softmax_kernel", 1), ("scale_kernel", 1),
                          ("gather_kernel", 1)})
        self.assertTrue(all("proved" in r["winner"] and "NOT" not in r["winner"]
                            for r in report["winners"]))
        own = {(r["entry"], r["reason"]): r["launches"] for r in report["own"]}
        self.assertEqual(own[("softmax_kernel", "grid")], 1)
        self.assertEqual(own[("matmul_kernel", "no winner")], 2)
        self.assertGreater(report["trials"]["matmul_kernel"], 100)

    def test_the_device_ran_them_once_a_block(self):
        self.assertEqual(STEPS["marked"]["marks"]["add_kernel"], 3 * 5)
        self.assertEqual(STEPS["marked"]["marks"]["softmax_kernel"], 64)
        self.assertEqual(STEPS["marked"]["marks"]["scale_kernel"], 8)
        self.assertEqual(STEPS["marked"]["marks"]["gather_kernel"], 32)

    def test_outputs_agree_with_tritons_own_and_after_removal(self):
        for step in ("winners", "marked", "removed"):
            self.assertEqual((STEPS[step]["status"], STEPS[step]["out"]),
                             (0, STEPS["plain"]["out"]), step)

    def test_no_deployment_leaves_a_trace_in_tritons_cache(self):
        for step in ("winners", "marked", "removed", "override"):
            self.assertTrue(STEPS[step]["cache_unchanged"], step)
        self.assertGreater(STEPS["removed"]["cache_files"], 10)


class Others(unittest.TestCase):
    def test_tritons_override_took_the_winner_and_left_nothing(self):
        step = STEPS["override"]
        self.assertIn("Overriding kernel with file", step["overridden"]["out"])
        self.assertTrue(step["winner_in_own_cache"])
        self.assertEqual(step["plain"]["out"], step["after"]["out"])
        self.assertEqual(step["overridden"]["out"].split("\n")[-2:],
                         step["plain"]["out"].split("\n")[-2:])

    def test_the_loader_in_c_computes_and_refuses_what_is_misaligned(self):
        step = STEPS["cubin"]
        self.assertEqual(step["built"]["status"], 0)
        self.assertEqual(step["ran"]["out"], "add from C: 0 of 5000 elements wrong; misaligned "
                         "launch refused: 1\n")

    def test_the_exported_reference_and_solution_compute_and_refuse_other_scalars(self):
        self.assertEqual(STEPS["flashinfer"]["status"], 0)
        self.assertEqual(STEPS["flashinfer"]["out"].splitlines()[0], "True")
        self.assertIn("refused: add_kernel was made for other", STEPS["flashinfer"]["out"])

    def test_a_foreign_definitions_solution_was_captured_for_each_workload(self):
        kernels = STEPS["imported"]["report"]["kernels"]
        self.assertEqual([(k["contract"], k["grid"]) for k in kernels],
                         [("rmsnorm_kernel_1", [8, 1, 1]), ("rmsnorm_kernel_2", [32, 1, 1])])


if __name__ == "__main__":
    unittest.main()
