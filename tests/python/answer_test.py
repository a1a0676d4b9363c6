"""Under `--json` each command prints one document on standard output, which its schema admits, and
nothing else; what a user's program prints goes to standard error."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import place
import schema
import winners_test
from lathe_triton import __main__

# A command in a process of its own, with the stub in Triton's place.
COMMAND = """
import sys
sys.path[:0] = [{python!r}, {fake!r}, {tests!r}]
import fake_gpu, stub_triton
stub_triton.install()
from lathe_triton import __main__, capture, run
capture._LazyMemory = run._LazyMemory = lambda: fake_gpu.memory
sys.exit(__main__.main())
"""
PROGRAM = """
import os
import sys
import stub_triton as stub
x, y, out = stub.tensors(3, 5000)
print("the program's own words")
os.write(1, b"and those below Python\\n")
sys.__stdout__.write("and those past sys.stdout\\n")
stub.add_kernel().launch((5,), x, y, out, 5000, 1024)
"""


class Answers(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.program = self.folder / "program.py"
        self.program.write_text(PROGRAM)
        self.command = self.folder / "command.py"
        self.command.write_text(COMMAND.format(
            python=str(place.ROOT / "python"), fake=str(place.HERE / "fake"),
            tests=str(place.HERE)))

    def run_command(self, *words):
        return subprocess.run([sys.executable, "-B", str(self.command), *map(str, words)],
                              capture_output=True, text=True)

    def answer(self, end):
        document = json.loads(end.stdout)
        self.assertEqual(next(iter(document)), "schema")
        self.assertEqual(schema.complaints(document), [])
        return document

    def test_capture_answers_with_its_report(self):
        end = self.run_command("capture", "--json", "--out", self.folder / "out", self.program)
        self.assertEqual(end.returncode, 0, end.stderr)
        document = self.answer(end)
        self.assertEqual(document["schema"], "lathe/capture/1")
        self.assertEqual([k["contract"] for k in document["kernels"]], ["add_kernel_1"])
        self.assertIn("the program's own words", end.stderr)
        self.assertIn("and those below Python", end.stderr)
        self.assertIn("and those past sys.stdout", end.stderr)

    def test_without_the_option_a_program_keeps_standard_output(self):
        end = self.run_command("capture", "--out", self.folder / "out", self.program)
        self.assertEqual(sorted(end.stdout.splitlines()),
                         ["and those below Python", "and those past sys.stdout",
                          "the program's own words"])

    def test_run_answers_with_its_counts(self):
        winners_test.write_winner(self.folder / "winners")
        end = self.run_command("run", "--json", "--winners", self.folder / "winners", self.program)
        self.assertEqual(end.returncode, 0, end.stderr)
        document = self.answer(end)
        self.assertEqual(document["schema"], "lathe/deployed/1")
        self.assertEqual(sum(row["launches"] for row in document["winners"]), 1)

    def test_a_refusal_is_a_document_with_the_exit_status(self):
        (self.folder / "out").mkdir()
        (self.folder / "out/mine").write_text("x")
        out, none = self.folder / "out", self.folder / "none"
        for words, status in ((("capture", "--out", out, self.program), 64),
                              (("run", "--winners", none, self.program), 65)):
            end = self.run_command(words[0], "--json", *words[1:])
            document = self.answer(end)
            self.assertEqual((end.returncode, document["schema"], document["exit_status"]),
                             (status, "lathe/error/1", status))

    def test_help_lists_the_commands_and_an_unknown_one_is_wrong_usage(self):
        end = self.run_command("--help")
        self.assertEqual(end.returncode, 0, end.stderr)
        for name in ("export", *__main__.HOSTED):
            self.assertIn(f"\n  {name} ", end.stdout)
        end = self.run_command("exprot")
        self.assertEqual((end.returncode, end.stdout), (64, ""))
        self.assertIn("unknown command 'exprot'", end.stderr)

    def test_export_of_a_file_that_is_not_there_ends_before_an_environment_is_made(self):
        self.command.write_text(COMMAND.format(
            python=str(place.ROOT / "python"), fake=str(place.HERE / "fake"),
            tests=str(place.HERE)).replace("sys.exit(", """
from lathe_triton import environment
def enter(*_, **__): sys.exit("an environment is made")
environment.enter = enter
sys.exit("""))
        end = self.run_command("export", "--json", self.program, f"{self.folder}/none.py:kernel")
        document = self.answer(end)
        self.assertEqual((end.returncode, document["exit_status"]), (74, 74))
        self.assertIn("none.py", document["errors"][0]["what"])
        self.assertNotIn("environment", end.stderr)
        end = self.run_command("export", f"{self.program}:kernel")
        self.assertIn("an environment is made", end.stderr)

    def test_integers_answers_with_its_files(self):
        end = self.run_command("integers", "--json", "--out", self.folder / "made", "4", "5")
        document = self.answer(end)
        self.assertEqual([Path(f).name for f in document["files"]],
                         ["integers_4.py", "integers_5.py"])

    def test_autotune_answers_with_the_tuners_end_where_there_is_no_gpu(self):
        end = self.run_command("autotune", "--json", self.folder / "tuned")
        document = self.answer(end)
        self.assertNotEqual(end.returncode, 0)
        self.assertEqual(document["exit_status"], end.returncode)

    def test_the_committed_measurement_is_a_document_of_the_tuner(self):
        document = json.loads((place.ROOT / "suite/baselines/sm_90a.json").read_text())
        self.assertEqual(schema.complaints(document), [])

    def test_a_document_that_strays_from_its_schema_is_complained_of(self):
        right = {"schema": "lathe/integers/1", "files": ["a"]}
        self.assertEqual(schema.complaints(right), [])
        for wrong in ({"schema": "lathe/integers/1"}, {**right, "files": [1]},
                      {**right, "more": 1}, {**right, "files": "a"},
                      {**right, "schema": "lathe/integers/2"}):
            self.assertNotEqual(schema.complaints(wrong), [], wrong)


if __name__ == "__main__":
    unittest.main()
