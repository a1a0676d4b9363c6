"""max(x, 0), element by element, one block of elements a program."""

import numpy as np
import triton
import triton.language as tl

from lathe_triton import elementwise


@triton.jit
def relu_kernel(x, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at).to(tl.float32)
    tl.store(y + at, tl.maximum(value, 0.0).to(y.dtype.element_ty))


def oracle(x):
    return {"y": np.maximum(x, 0)}


def contracts():
    for precision in ("fp16", "fp8"):
        yield elementwise("relu", precision, relu_kernel, oracle, inputs=("x",), exact=True)
