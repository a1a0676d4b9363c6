"""Which pointers a kernel reads, writes and follows, from its TTIR."""

import unittest

import place  # noqa: F401
from lathe_triton import ttir


def kernel(body, parameters="%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %i: !tt.ptr<i32>, %n: i32"):
    return f"module {{\n  tt.func public @k({parameters}) attributes {{noinline = false}} {{\n" \
        + body + "\n    tt.return\n  }\n}\n"


COPY = """    %0 = tt.load %p : !tt.ptr<f32>
    tt.store %q, %0 : !tt.ptr<f32>"""


class Ttir(unittest.TestCase):
    def test_a_copy_reads_one_pointer_and_writes_the_other(self):
        use = ttir.use_of(kernel(COPY))
        self.assertEqual((use.reads, use.writes), ({0}, {1}))
        self.assertEqual((use.addresses, use.decides), (set(), set()))

    def test_scalars_are_no_pointers(self):
        use = ttir.use_of(kernel("    %0 = tt.addptr %p, %n : !tt.ptr<f32>, i32\n"
                                 "    %1 = tt.load %0 : !tt.ptr<f32>\n"
                                 "    tt.store %q, %1 : !tt.ptr<f32>"))
        self.assertEqual((use.reads, use.writes), ({0}, {1}))

    def test_loaded_data_that_becomes_an_offset_decides_addresses(self):
        use = ttir.use_of(kernel("    %r = tt.load %i : !tt.ptr<i32>\n"
                                 "    %s = arith.muli %r, %n : i32\n"
                                 "    %0 = tt.addptr %p, %s : !tt.ptr<f32>, i32\n"
                                 "    %1 = tt.load %0 : !tt.ptr<f32>\n"
                                 "    tt.store %q, %1 : !tt.ptr<f32>"))
        self.assertEqual(use.addresses, {2})

    def test_loaded_data_that_is_stored_decides_nothing(self):
        use = ttir.use_of(kernel("    %r = tt.load %i : !tt.ptr<i32>\n"
                                 "    %s = arith.sitofp %r : i32 to f32\n"
                                 "    tt.store %q, %s : !tt.ptr<f32>"))
        self.assertEqual((use.addresses, use.decides), (set(), set()))

    def test_loaded_data_in_a_mask_decides(self):
        use = ttir.use_of(kernel("    %r = tt.load %i : !tt.ptr<i32>\n"
                                 "    %m = arith.cmpi slt, %n, %r : i32\n"
                                 "    %1 = tt.load %p, %m : !tt.ptr<f32>\n"
                                 "    tt.store %q, %1 : !tt.ptr<f32>"))
        self.assertEqual((use.addresses, use.decides), (set(), {2}))

    def test_a_loop_carries_pointers_through_its_arguments_and_results(self):
        use = ttir.use_of(kernel(
            "    %c = arith.constant 1 : i32\n"
            "    %r:2 = scf.for %k = %c to %n step %c iter_args(%a = %c, %b = %p) -> "
            "(i32, !tt.ptr<f32>)  : i32 {\n"
            "      %1 = tt.load %b : !tt.ptr<f32>\n"
            "      %2 = tt.addptr %b, %c : !tt.ptr<f32>, i32\n"
            "      scf.yield %a, %2 : i32, !tt.ptr<f32>\n"
            "    }\n"
            "    %3 = tt.load %r#1 : !tt.ptr<f32>\n"
            "    tt.store %q, %3 : !tt.ptr<f32>"))
        self.assertEqual((use.reads, use.writes), ({0}, {1}))

    def test_a_loop_bound_from_memory_decides(self):
        use = ttir.use_of(kernel("    %c = arith.constant 1 : i32\n"
                                 "    %e = tt.load %i : !tt.ptr<i32>\n"
                                 "    scf.for %k = %c to %e step %c  : i32 {\n"
                                 "      tt.store %q, %c : !tt.ptr<f32>\n    }"))
        self.assertEqual(use.decides, {2})

    def test_a_pointer_chosen_in_a_branch_may_be_either(self):
        use = ttir.use_of(kernel(
            "    %c = arith.cmpi eq, %n, %n : i32\n"
            "    %r = scf.if %c -> (!tt.ptr<f32>) {\n"
            "      scf.yield %p : !tt.ptr<f32>\n    } else {\n"
            "      scf.yield %q : !tt.ptr<f32>\n    }\n"
            "    tt.store %r, %n : !tt.ptr<f32>"))
        self.assertEqual(use.writes, {0, 1})

    def test_a_while_loop_carries_what_decides(self):
        use = ttir.use_of(kernel(
            "    %w = scf.while (%a = %n) : (i32) -> i32 {\n"
            "      %0 = tt.load %i : !tt.ptr<i32>\n"
            "      %1 = arith.cmpi ne, %0, %a : i32\n"
            "      scf.condition(%1) %0 : i32\n"
            "    } do {\n    ^bb0(%b: i32):\n"
            "      scf.yield %b : i32\n    }\n"
            "    %2 = tt.addptr %q, %w : !tt.ptr<f32>, i32\n"
            "    tt.store %2, %w : !tt.ptr<f32>"))
        self.assertEqual((use.decides, use.addresses), ({2}, {2}))

    def test_a_branch_between_blocks_carries_pointers(self):
        use = ttir.use_of(kernel(
            "    %c = arith.cmpi eq, %n, %n : i32\n"
            "    cf.cond_br %c, ^bb1(%q : !tt.ptr<f32>), ^bb2\n"
            "  ^bb1(%x: !tt.ptr<f32>):\n"
            "    tt.store %x, %n : !tt.ptr<f32>\n    cf.br ^bb2\n"
            "  ^bb2:"))
        self.assertEqual(use.writes, {1})

    def test_a_call_is_followed(self):
        text = kernel("    %0 = tt.call @f(%p) : (!tt.ptr<f32>) -> !tt.ptr<f32>\n"
                      "    tt.store %0, %n : !tt.ptr<f32>")
        text = text.rstrip()[:-1] + ("  tt.func private @f(%a: !tt.ptr<f32>) -> !tt.ptr<f32> {\n"
                                     "    tt.return %a : !tt.ptr<f32>\n  }\n}\n")
        self.assertEqual(ttir.use_of(text).writes, {0})

    def test_an_atomic_reads_and_writes(self):
        use = ttir.use_of(kernel("    %0 = tt.atomic_rmw fadd, acq_rel, gpu, %q, %n : "
                                 "(!tt.ptr<f32>, f32) -> f32"))
        self.assertEqual((use.reads, use.writes), ({1}, {1}))

    def test_a_reduction_passes_its_data_on(self):
        use = ttir.use_of(kernel(
            "    %0 = tt.load %i : tensor<4x!tt.ptr<i32>>\n"
            '    %1 = "tt.reduce"(%0) <{axis = 0 : i32}> ({\n'
            "    ^bb0(%a: i32 loc(callsite(#loc1 at #loc2)), %b: i32):\n"
            "      %2 = arith.addi %a, %b : i32\n      tt.reduce.return %2 : i32\n"
            "    }) : (tensor<4xi32>) -> i32\n"
            "    %3 = tt.addptr %q, %1 : !tt.ptr<f32>, i32\n"
            "    tt.store %3, %n : !tt.ptr<f32>"))
        self.assertEqual(use.addresses, {2})

    def test_a_descriptor_made_on_the_device_is_its_pointer(self):
        use = ttir.use_of(kernel(
            "    %d = tt.make_tensor_descriptor %p, [%n, %n], [%n, %n] : !tt.ptr<f32>, "
            "!tt.tensordesc<tensor<8x8xf32>>\n"
            "    %e = tt.make_tensor_descriptor %q, [%n, %n], [%n, %n] : !tt.ptr<f32>, "
            "!tt.tensordesc<tensor<8x8xf32>>\n"
            "    %0 = tt.descriptor_load %d[%n, %n] : tensor<8x8xf32>\n"
            "    tt.descriptor_store %e[%n, %n], %0 : tensor<8x8xf32>"))
        self.assertEqual((use.reads, use.writes), ({0}, {1}))

    def test_inline_assembly_that_sees_a_pointer_may_do_both(self):
        use = ttir.use_of(kernel('    %0 = tt.elementwise_inline_asm "ld %0;" {a = 1} %p : '
                                 "!tt.ptr<f32> -> f32"))
        self.assertEqual((use.reads, use.writes), ({0}, {0}))

    def test_pointers_made_of_numbers_are_not_traced(self):
        with self.assertRaises(ttir.Untraceable):
            ttir.use_of(kernel("    %0 = tt.int_to_ptr %n : i32 -> !tt.ptr<f32>"))

    def test_pointers_that_lie_in_memory_are_not_traced(self):
        with self.assertRaises(ttir.Untraceable):
            ttir.use_of(kernel("    %0 = tt.load %p : !tt.ptr<!tt.ptr<f32>>"))

    def test_a_module_without_a_function_is_refused(self):
        with self.assertRaises(ttir.Untraceable):
            ttir.use_of("module {\n}\n")

    def test_recorded_kernels_have_the_roles_that_their_sources_say(self):
        for name, reads, writes, addresses in (
                ("add_kernel_1", {0, 1}, {2}, set()), ("softmax_kernel_1", {0}, {1}, set()),
                ("matmul_kernel_1", {0, 1}, {2}, set()), ("gather_kernel_1", {0, 1}, {2}, {1}),
                ("scale_kernel_1", {0}, {0}, set())):
            use = ttir.use_of((place.RECORDED / name / "kernel.ttir").read_text())
            self.assertEqual((use.reads, use.writes, use.addresses), (reads, writes, addresses),
                             name)


if __name__ == "__main__":
    unittest.main()
