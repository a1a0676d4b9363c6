"""The bridge with Triton itself, which compiles for a GPU that is not there."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import place
import schema

FAKE = """
import sys
sys.path[:0] = [{python!r}, {fake!r}]
import fake_gpu
import triton
from lathe_triton import capture, run
triton.runtime.driver.set_active(fake_gpu.Driver())
capture._LazyMemory = run._LazyMemory = lambda: fake_gpu.memory
command, words = sys.argv[1], sys.argv[2:]
module = {{"capture": capture, "run": run}}[command]
status = module.run(module.parser().parse_args(words))
print("functions", [f for _, _, f in triton.runtime.driver.active.launches], file=sys.stderr)
sys.exit(status)
"""

# Two kernels; Triton has no range of a hundred.
SOURCE = """
import triton
import triton.language as tl
from lathe_triton import Config, Contract, Tensor


@triton.jit
def double_kernel(x, y, COUNT: tl.constexpr):
    at = tl.arange(0, COUNT)
    tl.store(y + at, tl.load(x + at) * 2)


def contracts():
    for count in (128, 100):
        yield Contract(
            name=f"double_{count}", dtype="fp32", kernel=double_kernel, oracle=None, grid=(1,),
            arguments=[Tensor("x", "f32", (count,), "input"),
                       Tensor("y", "f32", (count,), "output")],
            constants={"COUNT": count}, tuning=[Config(num_warps=4)],
            tolerance={"absolute": 0.0, "relative": 1e-6, "error_factor": 2.0},
            precision={"operand": "f32", "accumulate": "f32"})
"""


def triton_python():
    """An interpreter that has Triton: this one, or the tree's own environment."""
    own = place.ROOT / ".venv-triton/bin/python"
    for python in (sys.executable, str(own)):
        found = subprocess.run([python, "-c", "import triton"], capture_output=True) \
            if Path(python).exists() else None
        if found is not None and found.returncode == 0:
            return python
    return None


class Triton(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.python = triton_python()
        if cls.python is None:
            print("LATHE-SKIP: no Triton is installed (python -m lathe_triton export makes one)")
            raise unittest.SkipTest("no Triton")

    def bridge(self, folder, *words):
        script = Path(folder) / "fake.py"
        script.write_text(FAKE.format(python=str(place.ROOT / "python"),
                                      fake=str(place.HERE / "fake")))
        environment = {**os.environ, "TRITON_CACHE_DIR": f"{folder}/cache",
                       "TRITON_DISABLE_LINE_INFO": "1"}
        return subprocess.run([self.python, "-B", str(script), *words], capture_output=True,
                              text=True, env=environment)

    def test_capture_of_the_five_kernels_and_a_launch_of_a_winner(self):
        """Everything in one test: each start of Triton costs seconds."""
        program = str(place.HERE / "bridge/program.py")
        with tempfile.TemporaryDirectory() as folder:
            warm = self.bridge(folder, "capture", "--out", f"{folder}/warm", program, "warm")
            self.assertEqual(warm.returncode, 0, warm.stderr)
            end = self.bridge(folder, "capture", "--out", f"{folder}/out", program)
            self.assertEqual(end.returncode, 0, end.stderr)
            report = json.loads((Path(folder) / "out/capture.json").read_text())
            self.assertEqual([r["from_cache"] for r in report["kernels"]], [False] * 5 + [True])
            self.assertEqual(report["tuning_launches"], {"matmul_kernel": 3})
            if report["triton"] == "3.6.0":
                self.compare(Path(folder) / "out")
            self.run_winner(folder, program)

    def test_export_makes_what_triton_compiles_and_quotes_it_where_it_refuses(self):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "double.py"
            source.write_text(SOURCE)
            environment = {**os.environ, "PYTHONPATH": str(place.ROOT / "python")}
            words = ["export", "--installed", "--target", "sm_90a", "--out", folder, str(source)]
            end = subprocess.run([self.python, "-B", "-m", "lathe_triton", *words, "--json"],
                                 capture_output=True, text=True, env=environment)
            answer = json.loads(end.stdout)
            self.assertEqual(schema.complaints(answer), [])
            self.assertEqual(end.returncode, 1)
            self.assertEqual(sorted(Path(path).name for path in answer["files"]),
                             ["contract.toml", "reference.ptx"])
            self.assertTrue(all((Path(folder) / path).exists() for path in answer["files"]))
            self.assertEqual([row["contract"] for row in answer["refused"]],
                             ["double_100 fp32 sm_90a"])
            self.assertIn("power of 2", answer["refused"][0]["error"])
            self.assertIn("not supported by Triton: double_100 fp32 sm_90a: ", end.stderr)

    def compare(self, out):
        """With what was captured on an H200: the same kernels, but for the tuned one's choice."""
        for recorded in sorted(p for p in place.RECORDED.iterdir() if p.is_dir()):
            if recorded.name.startswith("matmul"):
                continue
            ours = out / recorded.name
            for file in ("contract.toml", "reference.ptx"):
                self.assertEqual((ours / file).read_text(), (recorded / file).read_text(),
                                 recorded.name)

    def run_winner(self, folder, program):
        import winners_test
        reference = (Path(folder) / "out/add_kernel_1/reference.ptx").read_bytes()
        winners_test.write_winner(f"{folder}/winners", reference=reference)
        end = self.bridge(folder, "run", "--winners", f"{folder}/winners", program)
        self.assertEqual(end.returncode, 0, end.stderr)
        self.assertIn("add_kernel: of 3 launches 3 ran aaaaaaaaaaaaaaaa", end.stderr)
        self.assertIn("scale_kernel: of 1 launches 1 ran Triton's own (no winner: 1)", end.stderr)


if __name__ == "__main__":
    unittest.main()
