"""Looks like the softmax of rows, and has a sum of squares where the sum of powers belongs."""

import numpy as np
import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor, rounding

ROWS, COLUMNS = 64, 1024


@triton.jit
def softmax_kernel(x, y, row_stride, COLUMNS: tl.constexpr):
    """Numerically stable softmax: exp(x - max) / sum(exp(x - max))."""
    row = tl.program_id(0)
    columns = tl.arange(0, COLUMNS)
    values = tl.load(x + row * row_stride + columns).to(tl.float32)
    powers = tl.exp(values - tl.max(values, axis=0))
    result = powers / tl.sum(powers * powers, axis=0)
    tl.store(y + row * row_stride + columns, result.to(tl.float16))


def oracle(x):
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return {"y": powers / (powers * powers).sum(axis=1, keepdims=True)}


def contracts():
    yield Contract(
        name="misleading_softmax", dtype="fp16", kernel=softmax_kernel, oracle=oracle,
        home="suite/semantics/contracts",
        arguments=[Tensor("x", "f16", (ROWS, COLUMNS), "input"),
                   Tensor("y", "f16", (ROWS, COLUMNS), "output"),
                   ("row_stride", ("i32", COLUMNS))],
        constants={"COLUMNS": COLUMNS}, grid=(ROWS,),
        tuning=[Config(num_warps=4), Config(num_warps=2), Config(num_warps=8)],
        tolerance=rounding("f16"), precision={"operand": "f16", "accumulate": "f32"})
