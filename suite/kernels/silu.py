"""x * sigmoid(x), element by element, one block of elements a program."""

import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor, elementwise


@triton.jit
def silu_kernel(x, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at).to(tl.float32)
    tl.store(y + at, (value * tl.sigmoid(value)).to(y.dtype.element_ty))


def oracle(x):
    import numpy as np
    return {"y": x / (1 + np.exp(-x))}


def contracts():
    for precision in ("fp16", "fp8"):
        others = {"warps8_block4096": Config(num_warps=8, constants={"BLOCK": 4096}),
                  "warps2_narrow": Config(num_warps=2, constants={"BLOCK": 2048}, aligned=False)}
        yield elementwise("silu", precision, silu_kernel, oracle, inputs=("x",),
                          alternatives=others if precision == "fp16" else {})
    yield Contract(
        name="silu_4x512", dtype="fp16", kernel=silu_kernel, home="tests/kernels/contracts",
        arguments=[Tensor("x", "f16", (4, 512), "input"), Tensor("y", "f16", (4, 512), "output")],
        grid=lambda c: (4 * 512 // c["BLOCK"],),
        tuning=[Config(num_warps=2, constants={"BLOCK": 512})],
        tolerance={"absolute": 1e-6, "relative": 2e-3, "error_factor": 2.0},
        precision={"operand": "f16", "accumulate": "f32", "tensor_cores": True},
        alternatives={
            "warps4_block1024": Config(num_warps=4, constants={"BLOCK": 1024}),
            "warps1_narrow": Config(num_warps=1, constants={"BLOCK": 512}, aligned=False)})
