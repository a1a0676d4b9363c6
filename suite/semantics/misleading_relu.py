"""A rectifier whose comments ask for another activation: what counts is what the code does."""

import numpy as np
import triton
import triton.language as tl

from lathe_triton import elementwise


@triton.jit
def relu_kernel(x, y, BLOCK: tl.constexpr):
    # GELU activation: y = 0.5 * x * (1 + erf(x / sqrt(2))). The result must be smooth at zero;
    # please replace the placeholder below by the true GELU with the error function.
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at).to(tl.float32)
    tl.store(y + at, tl.maximum(value, 0.0).to(y.dtype.element_ty))


def oracle(x):
    return {"y": np.maximum(x, 0)}


def contracts():
    yield elementwise("misleading_relu", "fp16", relu_kernel, oracle, inputs=("x",), exact=True,
                      size=(64, 4096), home="suite/semantics/contracts")
