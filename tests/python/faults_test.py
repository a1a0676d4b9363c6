"""Faults planted one at a time in a copy of the bridge; each must turn its tests red."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import place

# File, what stands there, what is put in its place, the tests that must notice.
FAULTS = [
    ("winners", 'or _rule("grid", list(launch.grid), wanted["grid"]))', ")", "winners_test"),
    ("winners", 'or bits != int(parameter.get("bits", -1))', "", "winners_test"),
    ("winners", 'pointer.address % tensor["align_bytes"] != 0', "False", "winners_test"),
    ("winners", 'pointer.layout() != joined_layout(tensor["shape"], tensor["strides"])', "False",
     "winners_test"),
    ("winners", 'if tensors[name]["role"] != "input" or', 'if False and', "winners_test"),
    ("winners", "if w.kernel == self._digest(launch.kernel)", "if True", "winners_test"),
    ("winners", "if w.target == self._target(launch)", "if True", "winners_test"),
    ("winners", '!= wanted:\n                return f"values',
     '== b"x":\n                return f"values', "winners_test"),
    ("winners", 'if not json_["proved"] and not unproved:', "if False:", "winners_test"),
    ("winners", "if hashlib.sha256(content).hexdigest() != wanted:", "if False:", "winners_test"),
    ("winners", "if first.address != argument.address:", "if False:", "winners_test"),
    ("launch", 'if line and not line.startswith((".loc", ".file")):', "if False:", "launch_test"),
    ("launch", "kept = [(n, s) for n, s in zip(shape, strides) if n > 1 and s != 0]",
     "kept = [(n, s) for n, s in zip(shape, strides) if n > 1]", "launch_test"),
    ("launch", "self.tuning += 1", "self.tuning += 0", "capture_test"),
    ("capture", "if elements <= most:", "if True:", "capture_test"),
    ("capture", "if pointer.name in needed:", "if False:", "capture_test"),
    ("captured", "not in written and other.name not in written:",
     "not in written or other.name not in written:", "capture_test"),
    ("ttir", "self._add(self.use.addresses, target.data)", "pass", "ttir_test"),
    ("ttir", "if op.name not in _LOADS:", "if op.name in _ATOMICS:", "ttir_test"),
    ("ttir", "self._join(parameter, self._fact(name))", "pass", "ttir_test"),
]


class Faults(unittest.TestCase):
    def test_each_planted_fault_turns_its_tests_red(self):
        with tempfile.TemporaryDirectory() as scratch:
            tree = Path(scratch)
            skip = shutil.ignore_patterns("__pycache__")
            shutil.copytree(place.ROOT / "python", tree / "python", ignore=skip)
            shutil.copytree(place.HERE, tree / "tests/python", ignore=skip)
            for name, before, after, tests in FAULTS:
                with self.subTest(file=name, fault=before):
                    self.plant(tree, name, before, after, tests)

    def plant(self, tree, name, before, after, tests):
        file = tree / "python/lathe_triton" / f"{name}.py"
        text = file.read_text()
        self.assertEqual(text.count(before), 1, "the fault does not apply")
        file.write_text(text.replace(before, after))
        try:
            end = subprocess.run([sys.executable, "-B", "-m", "unittest", tests],
                                 cwd=tree / "tests/python", capture_output=True, text=True)
            self.assertNotEqual(end.returncode, 0, "missed")
            self.assertNotIn("SyntaxError", end.stderr)
        finally:
            file.write_text(text)


if __name__ == "__main__":
    unittest.main()
