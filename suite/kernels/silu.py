"""x * sigmoid(x), element by element, one block of elements a program."""

import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor


@triton.jit
def silu_kernel(x, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at).to(tl.float32)
    tl.store(y + at, (value * tl.sigmoid(value)).to(tl.float16))


def _contract(name, rows, columns, block, warps, home, alternatives):
    return Contract(
        name=name, dtype="fp16", kernel=silu_kernel, home=home,
        arguments=[Tensor("x", "f16", (rows, columns), "input"),
                   Tensor("y", "f16", (rows, columns), "output")],
        constants={"BLOCK": block}, grid=lambda c: (rows * columns // c["BLOCK"],),
        configs={target: Config(num_warps=warps) for target in ("sm_89", "sm_90a", "sm_100a")},
        tolerance={"absolute": 1e-6, "relative": 2e-3, "error_factor": 2.0},
        precision={"operand": "f16", "accumulate": "f32", "tensor_cores": True},
        alternatives=alternatives)


def contracts():
    yield _contract("silu", 4096, 4096, 2048, 4, "suite/contracts", {
        "warps8_block4096": Config(num_warps=8, constants={"BLOCK": 4096}),
        "warps2_narrow": Config(num_warps=2, aligned=False)})
    yield _contract("silu_4x512", 4, 512, 512, 2, "tests/kernels/contracts", {
        "warps4_block1024": Config(num_warps=4, constants={"BLOCK": 1024}),
        "warps1_narrow": Config(num_warps=1, aligned=False)})
