"""What a launch says of its arguments, and what a PTX says of its kernel."""

import unittest

import place
import fake_gpu
from lathe_triton import launch
from lathe_triton.launch import Pointer, Unsupported

HALF = fake_gpu.Type("float16", 2)


def pointer(tensor, type_="*fp16"):
    return launch.pointer_of("x", type_, tensor)


class Layout(unittest.TestCase):
    def test_neighbours_join_where_they_lie_side_by_side(self):
        self.assertEqual(launch.joined_layout((4, 8), (8, 1)), ((32, 1),))
        self.assertEqual(launch.joined_layout((4, 8), (16, 1)), ((4, 16), (8, 1)))
        self.assertEqual(launch.joined_layout((4, 1, 8), (8, 99, 1)), ((32, 1),))

    def test_a_transposed_tensor_is_another_layout(self):
        self.assertNotEqual(launch.joined_layout((4, 8), (1, 4)),
                            launch.joined_layout((4, 8), (8, 1)))

    def test_a_repeated_dimension_is_left_out(self):
        self.assertEqual(launch.memory_layout((5, 8), (0, 1)), ((8,), (1,)))
        self.assertEqual(launch.memory_layout((5, 4, 3), (0, 8, 1)), ((4, 3), (8, 1)))

    def test_overlapping_windows_become_their_span(self):
        self.assertEqual(launch.memory_layout((4, 3), (1, 1)), ((6,), (1,)))
        self.assertEqual(launch.memory_layout((4, 3), (2, 1)), ((9,), (1,)))

    def test_a_slice_of_rows_keeps_its_stride(self):
        self.assertEqual(launch.memory_layout((4, 3), (8, 1)), ((4, 3), (8, 1)))

    def test_a_zero_dimensional_tensor_has_one_element(self):
        self.assertEqual(launch.memory_layout((), ()), ((1,), (1,)))

    def test_negative_strides_are_refused(self):
        with self.assertRaises(Unsupported):
            launch.memory_layout((4,), (-1,))


class Arguments(unittest.TestCase):
    def test_an_unaligned_view_says_how_far(self):
        self.assertEqual(pointer(fake_gpu.tensor((8,), HALF)).align, 16)
        self.assertEqual(pointer(fake_gpu.tensor((8,), HALF, offset=8)).align, 8)
        self.assertEqual(pointer(fake_gpu.tensor((8,), HALF, offset=2)).align, 2)

    def test_an_empty_tensor_is_the_number_zero(self):
        self.assertEqual(pointer(fake_gpu.tensor((0, 4), HALF)).value, 0)

    def test_types_that_contracts_lack_are_refused(self):
        with self.assertRaises(Unsupported):
            pointer(fake_gpu.tensor((8,), HALF), "*fp8e4b8")

    def test_compiled_in_values_are_no_arguments(self):
        tensor = fake_gpu.tensor((8,), HALF)
        out = launch.arguments_of({"x": "*fp16", "B": "constexpr", "n": "i32"}, (tensor, 64, 8))
        self.assertEqual([type(a).__name__ for a in out], ["Pointer", "Scalar"])
        self.assertIsInstance(out[0], Pointer)

    def test_tensor_maps_and_tuples_are_refused(self):
        for type_ in ("tensordesc<fp16[64,64]>", "nvTmaDesc", ("i32", "i32")):
            with self.assertRaises(Unsupported):
                launch.arguments_of({"x": type_}, (None,))


class Scalars(unittest.TestCase):
    def test_bits_are_those_that_triton_passes(self):
        for type_, value, bits in (
                ("i32", 7, 7), ("i32", -1, 0xFFFFFFFF), ("u8", 255, 255),
                ("i64", -2, (1 << 64) - 2),
                ("i1", True, 1), ("fp32", 1.0, 0x3F800000), ("fp32", 0.1, 0x3DCCCCCD),
                ("fp64", 1.0, 0x3FF0000000000000), ("fp16", 1.0, 0x3C00),
                ("bf16", 1.0, 0x3F80), ("bf16", 0.1, 0x3DCC)):
            self.assertEqual(launch.scalar_bits(type_, value), bits, (type_, value))


class Ptx(unittest.TestCase):
    TEXT = (place.RECORDED / "add_kernel_1/reference.ptx").read_text()

    def test_the_entry_is_read(self):
        entry = launch.entry_of(self.TEXT)
        self.assertEqual((entry.name, entry.target, entry.block),
                         ("add_kernel", "sm_90a", (128, 1, 1)))
        self.assertEqual(len(entry.parameter_types), 6)

    def test_lines_and_comments_do_not_change_a_kernel(self):
        at = self.TEXT.index("{") + 1
        other = self.TEXT[:at] + "\n\t.loc\t1 7 3 // a place\n" + self.TEXT[at:] + \
            "\t.file\t1 \"a.py\"\n\t.section\t.debug_abbrev\n\t{\n.b8 1\n\t}\n"
        self.assertEqual(launch.kernel_digest(other), launch.kernel_digest(self.TEXT))

    def test_an_instruction_changes_a_kernel(self):
        other = self.TEXT.replace("add.f32", "sub.f32", 1)
        self.assertNotEqual(other, self.TEXT)
        self.assertNotEqual(launch.kernel_digest(other), launch.kernel_digest(self.TEXT))

    def test_a_file_without_an_entry_is_refused(self):
        with self.assertRaises(Unsupported):
            launch.entry_of(".version 8.7\n.target sm_90a\n")

    def test_an_array_parameter_is_refused(self):
        with self.assertRaises(Unsupported):
            launch.entry_of(".version 8.7\n.target sm_90a\n.visible .entry k(\n "
                            ".param .align 64 .b8 k_param_0[128]\n)\n.reqntid 128\n{\n}")


if __name__ == "__main__":
    unittest.main()
