"""Winners are taken where every guard holds, and nowhere else; without Triton and a GPU."""

import contextlib
import hashlib
import io
import json
import tempfile
import unittest
from pathlib import Path

import place
import fake_gpu
import stub_triton as stub
from lathe_triton import run, winners
from lathe_triton.launch import launch_of
from lathe_triton.winners import Guards, Unusable

CUBIN = b"\x7fELF a cubin"


def tensor(name, shape, role, dtype="f32", values="normal", align=16):
    strides = fake_gpu.contiguous(shape)
    row = {"name": name, "dtype": dtype, "shape": list(shape), "strides": list(strides),
           "role": role, "align_bytes": align}
    return row | ({"values": values} if role != "output" else {})


def write_winner(folder, name="add_kernel", tensors=None, scalars=(("n", 5000),), grid=(5, 1, 1),
                 files=None, shapes=None, reference=None, **changes):
    """A winner's folder as `lathe deploy --winners` writes it."""
    folder = Path(folder) / f"{name}_1"
    folder.mkdir(parents=True, exist_ok=True)
    reference = reference or (place.RECORDED / f"{name}_1/reference.ptx").read_bytes()
    tensors = tensors or [tensor("x", (5000,), "input"), tensor("y", (5000,), "input"),
                          tensor("out", (5000,), "output")]
    parameters = [{"name": t["name"], "type": "u64", "tensor": t["name"]} for t in tensors]
    parameters += [{"name": n, "type": "u32", "bits": str(bits)} for n, bits in scalars]
    parameters += [{"name": n, "type": "u64", "bits": "0"}
                   for n in ("global_scratch", "profile_scratch")]
    shape = {"launch": {"grid": list(grid), "block": [128, 1, 1], "cluster": [1, 1, 1],
                        "dynamic_shared_bytes": 0, "pdl": False, "cooperative": False},
             "parameters": parameters, "tensors": tensors}
    for file, content in (files or {}).items():
        (folder / file).write_bytes(content)
    json_ = {"schema": "lathe/winner/1", "contract": "c" * 64, "name": name, "entry": name,
             "target": "sm_90a", "candidate": "a" * 64, "proved": True,
             "assembler": "ptxas 13.0.88", "cubin_sha256": hashlib.sha256(CUBIN).hexdigest(),
             "reference_sha256": hashlib.sha256(reference).hexdigest(),
             "shapes": [shape, *(shapes or [])]} | changes
    (folder / "winner.json").write_text(json.dumps(json_))
    (folder / "winner.cubin").write_bytes(CUBIN)
    (folder / "reference.ptx").write_bytes(reference)
    return folder


class Base(unittest.TestCase):
    def setUp(self):
        self.utilities = stub.install()
        fake_gpu.memory.capturing = False
        stub.launched.clear()
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.x, self.y, self.out = stub.tensors(3, 5000)

    def decide(self, launch, unproved=False):
        guards = Guards(winners.read_all(self.folder, unproved))
        winner, reason = guards.decide(launch, lambda a, n, s: fake_gpu.memory.read(a, n),
                                       lambda stream: fake_gpu.memory.capturing)
        return "winner" if winner is not None else reason

    def launch(self, *values, grid=(5, 1, 1), **changes):
        values = values or (self.x, self.y, self.out, 5000, 1024)
        return launch_of(stub.add_kernel(**changes), grid, 0, values)


class Guard(Base):
    def setUp(self):
        super().setUp()
        write_winner(self.folder)

    def test_a_launch_of_the_contract_takes_the_winner(self):
        self.assertEqual(self.decide(self.launch()), "winner")

    def test_another_grid_does_not(self):
        self.assertEqual(self.decide(self.launch(grid=(6, 1, 1))), "grid")

    def test_another_scalar_does_not(self):
        self.assertEqual(self.decide(self.launch(self.x, self.y, self.out, 4999, 1024)), "scalar n")

    def test_other_shared_bytes_do_not(self):
        self.assertEqual(self.decide(self.launch(shared=16)), "shared bytes")

    def test_other_warps_do_not(self):
        launch = self.launch()
        launch.kernel.asm["ptx"] = launch.kernel.asm["ptx"].replace(".reqntid 128", ".reqntid 256")
        self.assertIn(self.decide(launch), ("warps", "another kernel of that name (or another "
                                            "Triton, or other constants)"))

    def test_another_cluster_does_not(self):
        self.assertEqual(self.decide(self.launch(num_ctas=2)), "cluster")

    def test_another_launch_attribute_does_not(self):
        self.assertEqual(self.decide(self.launch(launch_pdl=True)), "launch attributes")

    def test_another_target_does_not(self):
        launch = self.launch()
        launch.kernel.asm["ptx"] = launch.kernel.asm["ptx"].replace("sm_90a", "sm_100a")
        self.assertEqual(self.decide(launch), "target")

    def test_another_kernel_of_that_name_does_not(self):
        launch = self.launch()
        launch.kernel.asm["ptx"] = launch.kernel.asm["ptx"].replace("add.f32", "sub.f32")
        self.assertIn("another kernel", self.decide(launch))

    def test_a_kernel_that_differs_in_its_line_numbers_only_does(self):
        launch = self.launch()
        ptx = launch.kernel.asm["ptx"]
        at = ptx.index("{") + 1
        launch.kernel.asm["ptx"] = ptx[:at] + "\n\t.loc 1 2 3\n" + ptx[at:]
        self.assertEqual(self.decide(launch), "winner")

    def test_an_unaligned_tensor_does_not(self):
        x = fake_gpu.tensor((5000,), stub.float32, offset=4)
        self.assertEqual(self.decide(self.launch(x, self.y, self.out, 5000, 1024)),
                         "alignment of x")

    def test_other_strides_do_not(self):
        x = fake_gpu.tensor((5000,), stub.float32, strides=(2,))
        self.assertEqual(self.decide(self.launch(x, self.y, self.out, 5000, 1024)),
                         "shape or strides of x")

    def test_a_view_of_the_same_elements_does(self):
        x = fake_gpu.tensor((50, 100), stub.float32)
        self.assertEqual(self.decide(self.launch(x, self.y, self.out, 5000, 1024)), "winner")

    def test_an_output_that_is_an_input_does_not(self):
        self.assertEqual(self.decide(self.launch(self.x, self.y, self.x, 5000, 1024)),
                         "overlap of x and out")

    def test_an_input_given_twice_does(self):
        self.assertEqual(self.decide(self.launch(self.x, self.x, self.out, 5000, 1024)), "winner")

    def test_a_decision_is_kept_for_its_own_form_alone(self):
        guards = Guards(winners.read_all(self.folder, False))
        ask = lambda launch: guards.decide(launch, None, lambda s: False)[1]  # noqa: E731
        self.assertEqual([ask(self.launch()), ask(self.launch())], ["", ""])
        self.assertEqual(ask(self.launch(self.x, self.y, self.out, 4999, 1024)), "scalar n")
        self.assertEqual(ask(self.launch(self.x, self.y, self.x, 5000, 1024)),
                         "overlap of x and out")

    def test_a_kernel_without_a_winner_is_said(self):
        launch = launch_of(stub.scale_kernel(), (8, 1, 1), 0, (self.x, 0.625, 1024))
        self.assertEqual(self.decide(launch), "no winner")

    def test_what_a_contract_cannot_say_runs_tritons_own(self):
        launch = self.launch()
        launch.kernel.src.signature["y"] = ("i32", "i32")
        self.assertIn("tuple", self.decide(launch))


class More(Base):
    def test_a_case_of_the_contract_is_a_launch_of_it(self):
        tensors = [tensor("x", (4000,), "input"), tensor("y", (4000,), "input"),
                   tensor("out", (4000,), "output")]
        folder = write_winner(self.folder)
        json_ = json.loads((folder / "winner.json").read_text())
        case = json.loads(json.dumps(json_["shapes"][0]))
        case["tensors"], case["launch"]["grid"] = tensors, [4, 1, 1]
        case["parameters"][3]["bits"] = "4000"
        write_winner(self.folder, shapes=[case])
        small = stub.tensors(3, 4000)
        self.assertEqual(self.decide(self.launch(*small, 4000, 1024, grid=(4, 1, 1))), "winner")
        self.assertNotEqual(self.decide(self.launch(*small, 4000, 1024, grid=(5, 1, 1))), "winner")

    def gather(self, content):
        index = fake_gpu.tensor((32,), stub.int32, 0)
        values = {"file": "index.bin", "sha256": hashlib.sha256(content).hexdigest()}
        write_winner(self.folder, "gather_kernel",
                     [tensor("table", (100, 256), "input"),
                      tensor("index", (32,), "input", "s32", values),
                      tensor("out", (32, 256), "output")], (), (32, 1, 1), {"index.bin": content})
        table, out = stub.tensors(2, 100 * 256)[0], fake_gpu.tensor((32, 256), stub.float32)
        return index, launch_of(stub.gather_kernel(), (32, 1, 1), 0, (table, index, out, 256))

    def test_contents_that_the_contract_fixes_are_compared_before_each_launch(self):
        index, launch = self.gather(bytes(128))
        guards = Guards(winners.read_all(self.folder, False))
        read = lambda a, n, s: fake_gpu.memory.read(a, n)  # noqa: E731
        self.assertIsNotNone(guards.decide(launch, read, lambda s: False)[0])
        fake_gpu.memory.store(index.data_ptr(), b"\x01")
        self.assertEqual(guards.decide(launch, read, lambda s: False), (None, "values of index"))

    def test_contents_are_not_read_while_a_graph_is_captured(self):
        _, launch = self.gather(bytes(128))
        fake_gpu.memory.capturing = True
        self.assertIn("graph", self.decide(launch))

    def test_values_that_cannot_be_seen_run_tritons_own(self):
        write_winner(self.folder, tensors=[tensor("x", (5000,), "input", values="restricted"),
                                           tensor("y", (5000,), "input"),
                                           tensor("out", (5000,), "output")])
        self.assertIn("values of x", self.decide(self.launch()))

    def test_one_tensor_of_two_parameters_must_be_one(self):
        folder = write_winner(self.folder, tensors=[tensor("x", (5000,), "inout"),
                                                    tensor("y", (5000,), "input")])
        json_ = json.loads((folder / "winner.json").read_text())
        json_["shapes"][0]["parameters"].insert(2, {"name": "out", "type": "u64", "tensor": "x"})
        (folder / "winner.json").write_text(json.dumps(json_))
        self.assertEqual(self.decide(self.launch(self.x, self.y, self.x, 5000, 1024)), "winner")
        self.assertEqual(self.decide(self.launch()), "overlap of x and out")


class Folders(Base):
    def refused(self, unproved=False):
        with self.assertRaises(Unusable) as caught:
            winners.read_all(self.folder, unproved)
        return str(caught.exception)

    def test_an_unproved_winner_is_taken_only_when_asked_for(self):
        write_winner(self.folder, proved=False)
        self.assertIn("not proved", self.refused())
        self.assertIn("NOT proved", winners.read_all(self.folder, True)[0].name())

    def test_a_damaged_cubin_is_refused(self):
        (write_winner(self.folder) / "winner.cubin").write_bytes(CUBIN + b"!")
        self.assertIn("damaged", self.refused())

    def test_a_damaged_reference_is_refused(self):
        (write_winner(self.folder) / "reference.ptx").write_bytes(b"")
        self.assertIn("damaged", self.refused())

    def test_another_schema_is_refused(self):
        write_winner(self.folder, schema="lathe/winner/2")
        self.assertIn("schema", self.refused())

    def test_a_document_that_lacks_a_member_is_refused(self):
        folder = write_winner(self.folder)
        (folder / "winner.json").write_text('{"schema": "lathe/winner/1"}')
        self.assertIn("no winner that can be read", self.refused())

    def test_a_folder_without_winners_is_refused(self):
        self.assertIn("no winners", self.refused())


class Session(Base):
    def run_program(self, program, *options):
        path = self.folder / "program.py"
        path.write_text("import stub_triton as stub, fake_gpu\n" + program)
        parsed = run.parser().parse_args(["--winners", str(self.folder / "w"), "--report",
                                          str(self.folder / "report.json"), *options, str(path)])
        with contextlib.redirect_stderr(io.StringIO()) as err:
            status = run.run(parsed, fake_gpu.memory)
        return status, err.getvalue()

    PROGRAM = ("x, y, out = stub.tensors(3, 5000)\nkernel = stub.add_kernel()\n"
               "for _ in range(3):\n    kernel.launch((5,), x, y, out, 5000, 1024)\n"
               "kernel.launch((4,), x, y, out, 5000, 1024)\n"
               "stub.scale_kernel().launch((4,), x, 0.5, 1024)\n")

    def test_the_winner_runs_where_the_guards_hold_and_both_kinds_are_counted(self):
        write_winner(self.folder / "w")
        status, said = self.run_program(self.PROGRAM)
        self.assertEqual(status, 0)
        winner = 0x1000 + 1
        self.assertEqual([f for _, _, f in stub.launched], [winner, winner, winner, 7, 7])
        self.assertIn("of 4 launches 3 ran aaaaaaaaaaaaaaaa (contract cccccccccccccccc, proved), "
                      "1 ran Triton's own (grid: 1)", said)
        self.assertIn("scale_kernel: of 1 launches 1 ran Triton's own (no winner: 1)", said)
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual(report["winners"][0]["launches"], 3)
        self.assertEqual(sum(row["launches"] for row in report["own"]), 2)

    def test_a_winner_is_loaded_once(self):
        write_winner(self.folder / "w")
        self.run_program(self.PROGRAM)
        self.assertEqual(self.utilities.loaded,
                         [("add_kernel", hashlib.sha256(CUBIN).hexdigest(), 0)])

    def test_a_winner_that_does_not_load_leaves_tritons_own(self):
        write_winner(self.folder / "w")
        self.utilities.load_binary = lambda *_: 1 / 0
        _, said = self.run_program(self.PROGRAM)
        self.assertEqual([f for _, _, f in stub.launched], [7] * 5)
        self.assertIn("does not load", said)

    def test_unusable_winners_stop_before_the_program(self):
        write_winner(self.folder / "w", proved=False)
        status, said = self.run_program(self.PROGRAM)
        self.assertEqual((status, stub.launched), (65, []))
        self.assertIn("not proved", said)

    def test_a_program_that_fails_is_counted_all_the_same(self):
        write_winner(self.folder / "w")
        status, said = self.run_program(self.PROGRAM + "raise SystemExit(3)\n")
        self.assertEqual(status, 3)
        self.assertIn("3 ran", said)


if __name__ == "__main__":
    unittest.main()
