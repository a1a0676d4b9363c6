"""Capture of launches of recorded kernels, on a fake GPU and without Triton."""

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

import place  # noqa: F401
import fake_gpu
import stub_triton as stub
from lathe_triton import capture, captured
from lathe_triton.capture import Capture
from lathe_triton.launch import Watch, launch_of

PROGRAM = """
import sys
import stub_triton as stub
x, y, out = stub.tensors(3, 5000)
kernel = stub.add_kernel()
for _ in range(3):
    kernel.launch((5,), x, y, out, 5000, 1024)
"""


class Base(unittest.TestCase):
    def setUp(self):
        stub.install()
        self.memory = fake_gpu.memory
        self.memory.copied.clear()
        self.memory.capturing = False
        stub.launched.clear()
        self.watch = None
        self.capture = Capture(self.memory, lambda: self.watch, 16)

    @contextlib.contextmanager
    def watching(self):
        self.watch = Watch(self.capture.see)
        with self.watch:
            yield

    def only(self):
        self.assertEqual(len(self.capture.seen), 1)
        return next(iter(self.capture.seen.values()))


class Instances(Base):
    def test_launches_of_one_form_are_one_instance(self):
        x, y, out = stub.tensors(3, 5000)
        with self.watching():
            for _ in range(4):
                stub.add_kernel().launch((5,), x, y, out, 5000, 1024)
        self.assertEqual(self.only().launches, 4)
        self.assertEqual(len(stub.launched), 4)

    def test_another_grid_scalar_or_layout_is_another_instance(self):
        x, y, out = stub.tensors(3, 6000)
        small = stub.tensors(3, 5000)
        with self.watching():
            kernel = stub.add_kernel()
            kernel.launch((5,), x, y, out, 5000, 1024)
            kernel.launch((6,), x, y, out, 5000, 1024)
            kernel.launch((5,), x, y, out, 4999, 1024)
            kernel.launch((5,), *small, 5000, 1024)
        self.assertEqual([name for name, _ in self.capture.named()],
                         [f"add_kernel_{i}" for i in (1, 2, 3, 4)])

    def test_time_is_shared_out_by_launches(self):
        x, y, out = stub.tensors(3, 5000)
        scaled = fake_gpu.tensor((8192,), stub.float32, 60)
        with self.watching():
            for _ in range(3):
                stub.add_kernel(hash="a").launch((5,), x, y, out, 5000, 1024)
            stub.scale_kernel(hash="s").launch((8,), scaled, 0.625, 1024)
        self.capture.settle()
        rows = self.capture.report("3.6.0", {"s": True})["kernels"]
        self.assertEqual([row["share"] for row in rows], [0.75, 0.25])
        self.assertEqual([row["from_cache"] for row in rows], [False, True])
        self.assertEqual(rows[1]["scalars"], {"factor": 0.625})

    def test_an_autotuners_trials_are_counted_and_not_captured(self):
        x, y, out = stub.tensors(3, 5000)
        kernel = stub.add_kernel()
        with self.watching():
            stub.Autotuner()._bench((5,), x, y, out, 5000, 1024, config=kernel.launch)
        self.assertEqual(self.capture.seen, {})
        self.assertEqual(self.capture.tuning, {"add_kernel": 1})
        self.assertEqual(len(stub.launched), 1)

    def test_forms_without_end_stop_at_the_limit_and_are_said(self):
        self.capture.instances_max = 2
        x, y, out = stub.tensors(3, 5000)
        with self.watching():
            for n in range(4990, 4995):
                stub.add_kernel().launch((5,), x, y, out, n, 1024)
        report = self.capture.report("3.6.0", {})
        self.assertEqual(len(report["kernels"]), 2)
        self.assertEqual(report["not_captured"][0]["launches"], 3)
        self.assertIn("--instances", report["not_captured"][0]["reason"])

    def test_when_it_ends_triton_is_as_it_was(self):
        before = stub.CompiledKernel.__dict__["run"], stub.Autotuner.__dict__["_bench"]
        with self.watching():
            self.assertIsNot(stub.CompiledKernel.__dict__["run"], before[0])
        after = stub.CompiledKernel.__dict__["run"], stub.Autotuner.__dict__["_bench"]
        self.assertEqual(before, after)


class Contents(Base):
    def test_a_large_tensor_is_sampled_and_never_copied_whole(self):
        x, y, out = stub.tensors(3, 1 << 20)
        with self.watching():
            stub.add_kernel().launch((1024,), x, y, out, 1 << 20, 1024)
        self.assertEqual(sum(self.memory.copied), 2 * 4096 * 4)
        sample = self.only().instance.samples["x"]
        self.assertEqual((sample["elements"], sample["of_elements"]), (4096, 1 << 20))

    def test_a_tensor_that_decides_addresses_is_kept_as_it_was_before_the_launch(self):
        table, out = stub.tensors(2, 100 * 256)
        index = fake_gpu.tensor((32,), stub.int32, 0)
        self.memory.store(index.data_ptr(), bytes(range(128)))
        with self.watching():
            stub.gather_kernel().launch((32,), table, index, out, 256)
        self.assertEqual(self.only().instance.kept, {"index": bytes(range(128))})
        self.assertIn('values = {file = "index.bin"}',
                      captured.text(self.only().instance, "3.6.0"))

    def test_a_deciding_tensor_larger_than_a_contract_keeps_is_said(self):
        table, out = stub.tensors(2, 256)
        index = fake_gpu.tensor((32,), stub.int32, 0)
        index.shape = (1 << 26,)
        with self.watching():
            stub.gather_kernel().launch((32,), table, index, out, 256)
        self.assertIsNone(self.only().instance)
        self.assertIn("decides addresses", self.only().reason)

    def test_a_graph_that_is_being_captured_is_not_disturbed(self):
        x, y, out = stub.tensors(3, 5000)
        self.memory.capturing = True
        with self.watching():
            stub.add_kernel().launch((5,), x, y, out, 5000, 1024)
        self.assertEqual(self.memory.copied, [])
        self.assertEqual((self.only().in_graphs, self.only().marks), (1, []))
        self.assertIsNotNone(self.only().instance)

    def test_what_a_graph_hides_is_caught_up_at_the_next_launch(self):
        table, out = stub.tensors(2, 100 * 256)
        index = fake_gpu.tensor((32,), stub.int32, 0)
        with self.watching():
            self.memory.capturing = True
            stub.gather_kernel().launch((32,), table, index, out, 256)
            self.assertIsNone(self.only().instance)
            self.memory.capturing = False
            stub.gather_kernel().launch((32,), table, index, out, 256)
        self.assertIsNotNone(self.only().instance)
        self.assertEqual(self.only().launches, 2)

    def test_a_sample_says_what_it_saw(self):
        tensor = fake_gpu.tensor((4,), stub.float32, 0)
        pointer = captured.Pointer("x", "f32", (4,), (1,), tensor.data_ptr())
        content = b"\x00\x00\x80\x3f" + b"\x00\x00\x00\xc0" + b"\x00\x00\xc0\x7f" + bytes(4)
        self.assertEqual(capture.summary(pointer, content), {
            "elements": 4, "of_elements": 4, "not_finite": 1, "least": -2.0, "largest": 1.0,
            "mean": -1 / 3, "zeros": 1})


class Sharing(Base):
    def test_a_tensor_given_twice_and_written_is_one_tensor(self):
        x, y, _ = stub.tensors(3, 5000)
        with self.watching():
            stub.add_kernel().launch((5,), x, y, x, 5000, 1024)
        instance = self.only().instance
        self.assertEqual(instance.same, {"out": "x"})
        self.assertEqual(instance.roles["x"], "inout")
        text = captured.text(instance, "3.6.0")
        self.assertEqual(text.count('tensor = "x"'), 2)
        self.assertNotIn('name = "out"\ndtype', text)

    def test_a_tensor_read_twice_stays_two(self):
        x, out = stub.tensors(2, 5000)
        with self.watching():
            stub.add_kernel().launch((5,), x, x, out, 5000, 1024)
        self.assertEqual(self.only().instance.same, {})

    def test_an_output_that_is_part_of_an_input_is_no_contract(self):
        x, y, out = stub.tensors(3, 5000)
        shifted = fake_gpu.Tensor((4000,), (1,), stub.float32, x.data_ptr() + 64)
        with self.watching():
            stub.add_kernel().launch((5,), x, y, shifted, 4000, 1024)
        self.assertIn("share memory in part", self.only().reason)

    def test_an_empty_tensor_becomes_a_null_pointer(self):
        x, out = stub.tensors(2, 5000)
        empty = fake_gpu.tensor((0,), stub.float32)
        with self.watching():
            stub.add_kernel().launch((5,), x, empty, out, 5000, 1024)
        self.assertIn('name = "y"\ntype = "u64"\nvalue = 0',
                      captured.text(self.only().instance, "3.6.0"))


class Refusals(Base):
    def test_a_cache_without_ptx_is_said(self):
        x, y, out = stub.tensors(3, 5000)
        kernel = stub.add_kernel()
        del kernel.asm["ptx"]
        with self.watching():
            kernel.launch((5,), x, y, out, 5000, 1024)
        self.assertIn("TRITON_STORE_BINARY_ONLY", self.only().reason)
        self.assertEqual(len(stub.launched), 1)

    def test_another_target_is_said(self):
        x, y, out = stub.tensors(3, 5000)
        kernel = stub.add_kernel()
        kernel.asm["ptx"] = kernel.asm["ptx"].replace("sm_90a", "sm_75")
        with self.watching():
            kernel.launch((5,), x, y, out, 5000, 1024)
        self.assertIn("sm_75", self.only().reason)

    def test_a_host_tensor_map_is_said(self):
        x, y, out = stub.tensors(3, 5000)
        kernel = stub.add_kernel()
        kernel.src.signature["y"] = "tensordesc<fp32[64,64]>"
        with self.watching():
            kernel.launch((5,), x, y, out, 5000, 1024)
        self.assertIn("tensor map", self.only().reason)


class Text(Base):
    def instance(self, kernel, grid, *values):
        with self.watching():
            kernel.launch(grid, *values)
        return self.only().instance

    def test_a_captured_contract_reads_as_the_recorded_one(self):
        x, y, out = stub.tensors(3, 5000)
        text = captured.text(self.instance(stub.add_kernel(), (5,), x, y, out, 5000, 1024), "3.6.0")
        recorded = (place.RECORDED / "add_kernel_1/contract.toml").read_text()
        without = [[line for line in t.splitlines() if "triton_override" not in line]
                   for t in (text, recorded)]
        self.assertEqual(*without)

    def test_clusters_count_as_blocks_of_the_grid(self):
        kernel = stub.add_kernel(num_ctas=2)
        launch = launch_of(kernel, (5, 3, 1), 0, ())
        self.assertEqual((launch.grid, launch.cluster), ((10, 3, 1), (2, 1, 1)))

    def test_scratch_of_the_device_is_a_tensor(self):
        x, y, out = stub.tensors(3, 5000)
        kernel = stub.add_kernel(global_scratch_size=128, global_scratch_align=128)
        text = captured.text(self.instance(kernel, (5,), x, y, out, 5000, 1024), "3.6.0")
        self.assertIn('name = "global_scratch"\ndtype = "b8"\nshape = [640]', text)
        self.assertIn('name = "global_scratch"\ntensor = "global_scratch"', text)

    def test_profiling_scratch_is_refused(self):
        x, y, out = stub.tensors(3, 5000)
        self.assertIsNone(self.instance(stub.add_kernel(profile_scratch_size=8), (5,), x, y, out,
                                        5000, 1024))

    def test_a_negative_scalar_is_written_as_its_bits(self):
        x, y, out = stub.tensors(3, 5000)
        text = captured.text(self.instance(stub.add_kernel(), (5,), x, y, out, -1, 1024), "3.6.0")
        self.assertIn("value = 4294967295", text)


class Command(Base):
    def run_capture(self, folder, program=PROGRAM, *arguments):
        path = Path(folder) / "program.py"
        path.write_text(program)
        real, capture._LazyMemory = capture._LazyMemory, lambda: self.memory
        parsed = capture.parser().parse_args(["--out", f"{folder}/out", str(path), *arguments])
        err = io.StringIO()
        try:
            with contextlib.redirect_stderr(err):
                return capture.run(parsed), err.getvalue()
        finally:
            capture._LazyMemory = real

    def test_a_program_is_run_and_its_contracts_written(self):
        with tempfile.TemporaryDirectory() as folder:
            status, said = self.run_capture(folder)
            self.assertEqual(status, 0)
            names = sorted(p.name for p in (Path(folder) / "out").iterdir())
            self.assertEqual(names, ["add_kernel_1", "capture.json"])
            report = json.loads((Path(folder) / "out/capture.json").read_text())
            self.assertEqual(report["kernels"][0]["launches"], 3)
            self.assertIn("3 launches", said)
            self.assertFalse((Path(folder) / "out.part").exists())

    def test_a_programs_own_status_and_arguments_pass_through(self):
        with tempfile.TemporaryDirectory() as folder:
            program = PROGRAM + "sys.exit(int(sys.argv[2]) if sys.argv[1] == '--n' else 1)\n"
            self.assertEqual(self.run_capture(folder, program, "--n", "7")[0], 7)
            self.assertTrue((Path(folder) / "out/add_kernel_1").exists())

    def test_a_program_that_fails_leaves_what_was_seen(self):
        with tempfile.TemporaryDirectory() as folder:
            status, said = self.run_capture(folder, PROGRAM + "raise ValueError('so')\n")
            self.assertEqual(status, 1)
            self.assertIn("ValueError: so", said)
            self.assertTrue((Path(folder) / "out/add_kernel_1").exists())

    def test_a_folder_that_is_not_empty_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "out").mkdir()
            (Path(folder) / "out/mine").write_text("x")
            self.assertEqual(self.run_capture(folder)[0], 64)
            self.assertEqual([p.name for p in (Path(folder) / "out").iterdir()], ["mine"])

    def test_a_program_that_is_not_there_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            parsed = capture.parser().parse_args(["--out", f"{folder}/out", f"{folder}/none.py"])
            with contextlib.redirect_stderr(io.StringIO()) as err:
                self.assertEqual(capture.run(parsed), 74)
            self.assertIn("none.py", err.getvalue())


if __name__ == "__main__":
    unittest.main()
