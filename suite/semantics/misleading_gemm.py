"""Named a product of matrices, and none: c loses the product of a and b element by element."""

import triton
import triton.language as tl

from lathe_triton import elementwise_inout


@triton.jit
def gemm_kernel(a, b, c, BLOCK: tl.constexpr):
    """General matrix multiplication: C += A B."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    accumulator = tl.load(c + at).to(tl.float32)
    accumulator -= tl.load(a + at).to(tl.float32) * tl.load(b + at).to(tl.float32)
    tl.store(c + at, accumulator.to(tl.float16))


def oracle(a, b, c):
    return {"c": c - a * b}


def contracts():
    yield elementwise_inout("misleading_gemm", gemm_kernel, oracle, ("a", "b"), "c")
