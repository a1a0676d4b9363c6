"""The gated unit of the Llama models: silu(gate) * up, one block of elements a program."""

import numpy as np
import triton
import triton.language as tl

from lathe_triton import elementwise


@triton.jit
def swiglu_kernel(gate, up, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(gate + at).to(tl.float32)
    u = tl.load(up + at).to(tl.float32)
    tl.store(y + at, (g * tl.sigmoid(g) * u).to(y.dtype.element_ty))


def oracle(gate, up):
    return {"y": gate / (1 + np.exp(-gate)) * up}


def contracts():
    for precision in ("fp16", "fp8", "bf16"):
        yield elementwise("swiglu", precision, swiglu_kernel, oracle, inputs=("gate", "up"))
