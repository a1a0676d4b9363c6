"""Writes the planted mistakes and their honest neighbours: one PTX file each, and an index.

Each is the reference of a small contract with a few instructions replaced, so that the file differs
in one thing only. An edit that does not find its instruction as often as it says is an error.
Run from the tree: `python3 tests/kernels/edits.py [--check]`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SMALL = "tests/kernels/contracts"


def squeezed(line: str) -> str:
    return re.sub(r"\s+", " ", line.split("//")[0]).strip()


class Text:
    """The lines of a PTX file; instructions are named with single spaces."""

    def __init__(self, base: str):
        self.lines = (HERE.parents[1] / base / "reference.ptx").read_text().split("\n")

    def _at(self, instruction: str, times: int) -> list[int]:
        found = [i for i, line in enumerate(self.lines) if squeezed(line) == instruction]
        if len(found) != times:
            raise ValueError(f"{instruction!r} occurs {len(found)} times, expected {times}")
        return found

    def replace(self, instruction: str, *new: str, times: int = 1, nth: int | None = None):
        found = self._at(instruction, times)
        for i in reversed(found if nth is None else [found[nth]]):
            self.lines[i:i + 1] = ["\t" + line for line in new]
        return self

    def drop(self, instruction: str, times: int = 1, nth: int | None = None):
        return self.replace(instruction, times=times, nth=nth)

    def after(self, instruction: str, *new: str):
        return self.replace(instruction, instruction, *new)

    def before(self, instruction: str, *new: str):
        return self.replace(instruction, *new, instruction)

    def swap_text(self, old: str, new: str, times: int):
        text = "\n".join(self.lines)
        if text.count(old) != times:
            raise ValueError(f"{old!r} occurs {text.count(old)} times, expected {times}")
        self.lines = text.replace(old, new).split("\n")
        return self

    def declare(self, *registers: str):
        at = next(i for i, line in enumerate(self.lines) if squeezed(line).startswith(".reg"))
        self.lines[at:at] = ["\t" + register for register in registers]
        return self


def softmax(target="sm_89"):
    return Text(f"{SMALL}/softmax_8x256_fp16_{target}")


def silu(target="sm_89"):
    return Text(f"{SMALL}/silu_4x512_fp16_{target}")


def sum_(target="sm_89"):
    return Text(f"{SMALL}/sum_8x512_fp16_{target}")


def gemm():
    return Text(f"{SMALL}/gemm_256x256x128_fp16_sm_89")


BASE = {
    "softmax": f"{SMALL}/softmax_8x256_fp16_sm_89", "silu": f"{SMALL}/silu_4x512_fp16_sm_89",
    "sum": f"{SMALL}/sum_8x512_fp16_sm_89", "gemm": f"{SMALL}/gemm_256x256x128_fp16_sm_89"}

LOG2E, NEXT = "0f3FB8AA3B", "0f3FB8AA3C"
SUM_STORE = "@%p4 st.global.b16 [ %rd2 + 0 ], { %rs1 };"
SILU_STORE = "st.global.v4.b32 [ %rd2 + 0 ], { %r5, %r6, %r7, %r8 };"
SILU_LOAD = "ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];"
WAIT = "cp.async.wait_group 2;"

# name, base, kind, verdicts that are right, reason codes that are right, text
MISTAKES = [
    ("silu_edge_lane", "silu", "only the last thread of a block is wrong", ["refuted"], ["value"],
     lambda: silu().declare(".reg .pred %q<2>;").before(
         SILU_STORE, "setp.eq.u32 %q1, %r13, 504;", "@%q1 mov.b32 %r8, %r7;")),
    ("sum_last_block", "sum", "only the last block is wrong", ["refuted"], ["value"],
     lambda: sum_().declare(".reg .pred %q<2>;").before(
         "cvt.rn.f16.f32 %rs1, %r48;", "setp.eq.u32 %q1, %r10, 7;", "@%q1 mov.b32 %r48, %r6;")),
    ("softmax_input_overwritten", "softmax", "the result is also stored over the input",
     ["refuted"], ["frame"],
     lambda: softmax().after("st.global.v2.b32 [ %rd2 + 0 ], { %r11, %r12 };",
                             "st.global.v2.b32 [ %rd1 + 0 ], { %r11, %r12 };")),
    ("sum_extra_write", "sum", "a second store behind the end of the output", ["refuted"],
     ["bounds", "frame"],
     lambda: sum_().after(SUM_STORE, "@%p4 st.global.b16 [ %rd2 + 16 ], { %rs1 };")),
    ("sum_neighbour_write", "sum", "each block also writes its neighbour's element", ["refuted"],
     ["race", "bounds", "frame", "value"],
     lambda: sum_().declare(".reg .pred %q<3>;").after(
         SUM_STORE, "setp.lt.u32 %q1, %r10, 7;", "and.pred %q2, %p4, %q1;",
         "@%q2 st.global.b16 [ %rd2 + 2 ], { %rs1 };")),
    ("silu_wrong_signedness", "silu", "an index that is negative in block 0 is widened unsigned",
     ["refuted"], ["bounds", "frame"],
     lambda: silu().replace("mul.wide.s32 %rd5, %r14, 2;", "add.s32 %r14, %r14, -512;",
                            "mul.wide.u32 %rd5, %r14, 2;", "add.s64 %rd5, %rd5, 1024;")),
    ("softmax_max_as_unsigned", "softmax", "a maximum of floats taken on their bits, unsigned",
     ["refuted", "undecided"], ["unguarded", "value", "unsupported", "not_witnessed"],
     lambda: softmax().replace("max.f32 %r27, %r26, %r24;", "max.u32 %r27, %r26, %r24;")),
    ("softmax_dropped_barrier", "softmax", "the maximum is read while the sums are written",
     ["refuted"], ["race"], lambda: softmax().drop("bar.sync 0;", times=5, nth=2)),
    ("sum_dropped_barrier", "sum", "partial sums are read before they are written", ["refuted"],
     ["race", "poison"], lambda: sum_().drop("bar.sync 0;", times=2, nth=0)),
    ("softmax_wrong_constant", "softmax", "log2 e is one unit in the last place too large",
     ["undecided", "refuted"], ["not_witnessed", "value"],
     lambda: softmax().swap_text(LOG2E, NEXT, 4)),
    ("silu_wrong_constant", "silu", "ln 2 in place of log2 e, in one of eight places",
     ["refuted"], ["value"],
     lambda: silu().replace(f"mul.f32 %r63, %r61, {LOG2E};", "mul.f32 %r63, %r61, 0f3F317218;")),
    ("silu_swapped_operands", "silu", "the sign of one exponent is turned round", ["refuted"],
     ["value"], lambda: silu().replace("sub.f32 %r47, %r17, %r46;", "sub.f32 %r47, %r46, %r17;")),
    ("softmax_swapped_halves", "softmax", "two neighbouring results change places", ["refuted"],
     ["value"], lambda: softmax().replace("cvt.rn.f16x2.f32 %r11, %r71, %r70;",
                                          "cvt.rn.f16x2.f32 %r11, %r70, %r71;")),
    ("silu_off_by_one_address", "silu", "each thread loads what its neighbour should",
     ["refuted"], ["value"],
     lambda: silu().replace(
         "add.s64 %rd1, %rd3, %rd5;", "add.s32 %r13, %r13, 8;", "and.b32 %r13, %r13, 504;",
         "or.b32 %r13, %r13, %r10;", "mul.wide.s32 %rd1, %r13, 2;", "add.s64 %rd1, %rd3, %rd1;")),
    ("sum_off_by_one_row", "sum", "each block writes the next element, the last one out of bounds",
     ["refuted"], ["bounds", "frame", "value"],
     lambda: sum_().replace(SUM_STORE, "@%p4 st.global.b16 [ %rd2 + 2 ], { %rs1 };")),
    ("softmax_forgotten_max", "softmax", "one element of four is left out of the maximum",
     ["refuted", "undecided"], ["unguarded", "value"],
     lambda: softmax().replace("max.f32 %r27, %r26, %r24;", "mov.b32 %r27, %r26;")),
    ("softmax_missing_max", "softmax", "no maximum is subtracted", ["refuted", "undecided"],
     ["unguarded", "value"],
     lambda: softmax().replace("ld.shared.b32 %r43, [global_smem];", "mov.b32 %r43, 0f00000000;")),
    ("sum_wrong_shuffle", "sum", "a butterfly step of 2 is taken with distance 1", ["refuted"],
     ["value"], lambda: sum_().replace("shfl.sync.bfly.b32 %r39, %r38, 2, 31, -1;",
                                       "shfl.sync.bfly.b32 %r39, %r38, 1, 31, -1;")),
    ("sum_forgotten_element", "sum", "one element of eight is not added", ["refuted"], ["value"],
     lambda: sum_().replace("add.f32 %r30, %r29, %r23;", "mov.b32 %r30, %r29;")),
    ("sum_divided_by_itself", "sum", "a factor x / x, which is not 1 where x is 0",
     ["undecided", "refuted"], ["divisor", "value"],
     lambda: sum_().replace("add.f32 %r26, %r18, %r19;", "div.full.f32 %r26, %r18, %r18;",
                            "mul.f32 %r26, %r26, %r19;", "add.f32 %r26, %r26, %r18;")),
    ("silu_missing_write", "silu", "the last thread of the last block stores nothing",
     ["refuted"], ["frame", "value"],
     lambda: silu().declare(".reg .pred %q<2>;").replace(
         SILU_STORE, "setp.ne.s32 %q1, %r14, 2040;", "@%q1 " + SILU_STORE)),
    ("sum_divergent_barrier", "sum", "the second warp does not come to the second barrier",
     ["refuted"], ["deadlock", "race", "fault"],
     lambda: sum_().declare(".reg .pred %q<2>;").replace(
         "bar.sync 0;", "setp.lt.u32 %q1, %r13, 32;", "@%q1 bar.sync 0;", times=2, nth=1)),
    ("sum_narrow_total", "sum", "the total passes through half precision before the last addition",
     ["undecided", "refuted"], ["precision", "value"],
     lambda: sum_().declare(".reg .b16 %h<2>;").before(
         "add.f32 %r9, %r7, %r46;", "cvt.rn.f16.f32 %h1, %r46;", "cvt.f32.f16 %r46, %h1;")),
    ("gemm_missing_last_tile", "gemm", "the loop ends one tile of K early", ["refuted"], ["value"],
     lambda: gemm().after("shr.s32 %r10, %r73, 5;", "add.s32 %r10, %r10, -1;")),
    ("gemm_swapped_operands", "gemm", "one product takes two fragments of A in the wrong order",
     ["refuted"], ["value"],
     lambda: gemm().replace(
         "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 { %r211, %r212, %r213, %r214 }, "
         "{ %r97, %r98, %r99, %r100 }, { %r107, %r108 }, { %r211, %r212, %r213, %r214 };",
         "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 { %r211, %r212, %r213, %r214 }, "
         "{ %r98, %r97, %r99, %r100 }, { %r107, %r108 }, { %r211, %r212, %r213, %r214 };")),
    ("gemm_dropped_barrier", "gemm", "tiles are read before all threads have waited for theirs",
     ["refuted"], ["race"], lambda: gemm_without_loop_barrier()),
    ("gemm_short_wait", "gemm", "the wait lets one group of copies too many stay in flight",
     ["refuted"], ["race", "value", "poison"],
     lambda: gemm().replace(WAIT, "cp.async.wait_group 3;")),
    ("gemm_wrong_step", "gemm", "A moves 48 bytes a tile where it should move 64",
     ["refuted"], ["fault", "value", "bounds"],
     lambda: gemm().replace("add.s64 %rd39, %rd39, 64;", "add.s64 %rd39, %rd39, 48;")),
]

HONEST = [
    ("softmax_reciprocal", "softmax", "one reciprocal and products in place of divisions",
     lambda: softmax().declare(".reg .b32 %w<3>;").after(
         "ld.shared.b32 %r69, [global_smem];", "mov.b32 %w1, 0f3F800000;",
         "div.full.f32 %w2, %w1, %r69;").replace(
             "div.full.f32 %r70, %r49, %r69;", "mul.f32 %r70, %r49, %w2;").replace(
                 "div.full.f32 %r71, %r51, %r69;", "mul.f32 %r71, %r51, %w2;").replace(
                     "div.full.f32 %r72, %r53, %r69;", "mul.f32 %r72, %r53, %w2;").replace(
                         "div.full.f32 %r73, %r55, %r69;", "mul.f32 %r73, %r55, %w2;")),
    ("silu_shifted_index", "silu", "an index through negative values, widened signed",
     lambda: silu().replace("mul.wide.s32 %rd5, %r14, 2;", "add.s32 %r14, %r14, -512;",
                            "mul.wide.s32 %rd5, %r14, 2;", "add.s64 %rd5, %rd5, 1024;")),
    ("sum_rotated_load", "sum", "each thread adds what its neighbour would",
     lambda: sum_().replace("and.b32 %r16, %r15, 504;", "add.s32 %r16, %r15, 8;",
                            "and.b32 %r16, %r16, 504;")),
    ("sum_tree", "sum", "a thread's eight elements are added as a tree",
     lambda: sum_().replace("add.f32 %r27, %r26, %r20;", "add.f32 %r27, %r20, %r21;").replace(
         "add.f32 %r28, %r27, %r21;", "add.f32 %r28, %r22, %r23;").replace(
             "add.f32 %r29, %r28, %r22;", "add.f32 %r29, %r24, %r25;").replace(
                 "add.f32 %r30, %r29, %r23;", "add.f32 %r30, %r26, %r27;").replace(
                     "add.f32 %r31, %r30, %r24;", "add.f32 %r31, %r28, %r29;").replace(
                         "add.f32 %r32, %r31, %r25;", "add.f32 %r32, %r30, %r31;")),
    ("silu_through_zero", "silu", "x / (1 + e) in place of 1 / (1 + e) * x",
     lambda: silu().replace("div.full.f32 %r27, %r26, %r24;",
                            "div.full.f32 %r27, %r16, %r24;").replace(
                                "mul.f32 %r29, %r27, %r16;", "mov.b32 %r29, %r27;")),
    ("sum_extra_barriers", "sum", "barriers that order nothing",
     lambda: sum_().replace("bar.sync 0;", "bar.sync 0;", "bar.sync 0;", "bar.sync 0;", times=2)),
]


def gemm_without_loop_barrier():
    text = gemm()
    at = next(i for i, line in enumerate(text.lines) if squeezed(line) == WAIT)
    barrier = next(i for i in range(at, len(text.lines)) if squeezed(text.lines[i]) == "bar.sync 0;")
    assert barrier - at < 4
    del text.lines[barrier]
    return text


def table(kind: str, rows: dict) -> str:
    return "\n".join([f"[[{kind}]]", *(f"{k} = {json.dumps(v)}" for k, v in rows.items())]) + "\n"


def outputs():
    """Path below tests/kernels and text of every file."""
    index = []
    for name, base, what, verdicts, reasons, make in MISTAKES:
        yield f"mistakes/{name}.ptx", "\n".join(make().lines)
        index.append(table("mistake", {
            "name": name, "contract": BASE[base], "file": f"tests/kernels/mistakes/{name}.ptx",
            "what": what, "verdicts": verdicts, "reasons": reasons}))
    for name, what, verdicts, reasons in (
            ("gemm_f16_accumulation", "products are added up in half precision",
             ["refuted", "undecided"], ["precision", "value"]),
            ("sum_f16_accumulation", "elements are added up in half precision",
             ["refuted", "undecided"], ["precision", "value"])):
        index.append(table("mistake", {
            "name": name, "contract": BASE[name.split("_")[0]],
            "file": f"tests/kernels/mistakes/{name}.ptx", "what": what, "verdicts": verdicts,
            "reasons": reasons}))
    yield "mistakes/index.toml", "\n".join(index)
    index = []
    for name, base, what, make in HONEST:
        yield f"honest/{name}.ptx", "\n".join(make().lines)
        index.append(table("honest", {
            "name": name, "contract": BASE[base], "file": f"tests/kernels/honest/{name}.ptx",
            "what": what, "verdicts": ["proved"]}))
    yield "honest/index.toml", "\n".join(index)


def main() -> int:
    wrong = 0
    for name, text in outputs():
        path = HERE / name
        if "--check" in sys.argv:
            if not path.exists() or path.read_text() != text:
                print(f"{path}: differs")
                wrong += 1
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
