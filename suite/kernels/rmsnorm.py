"""Root-mean-square normalisation of rows with a weight a column, one program a row."""

import numpy as np
import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor, element, rounding

EPSILON = 1e-6
ROWS, COLUMNS = 4096, 4096


@triton.jit
def rmsnorm_kernel(x, w, y, row_stride, EPSILON: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, COLUMNS)
    values = tl.load(x + row * row_stride + columns).to(tl.float32)
    weights = tl.load(w + columns).to(tl.float32)
    mean = tl.sum(values * values, axis=0) / COLUMNS
    result = values * tl.rsqrt(mean + EPSILON) * weights
    tl.store(y + row * row_stride + columns, result.to(y.dtype.element_ty))


def oracle(x, w):
    return {"y": x / np.sqrt((x * x).mean(axis=1, keepdims=True) + EPSILON) * w}


def contracts():
    for precision in ("fp16", "fp8", "bf16"):
        dtype = element(precision)
        weight = "f16" if precision == "fp8" else dtype
        yield Contract(
            name="rmsnorm", dtype=precision, kernel=rmsnorm_kernel, oracle=oracle,
            arguments=[Tensor("x", dtype, (ROWS, COLUMNS), "input"),
                       Tensor("w", weight, (COLUMNS,), "input"),
                       Tensor("y", dtype, (ROWS, COLUMNS), "output"),
                       ("row_stride", ("i32", COLUMNS))],
            constants={"EPSILON": EPSILON, "COLUMNS": COLUMNS}, grid=(ROWS,),
            tuning=[Config(num_warps=n) for n in (4, 1, 2, 8, 16)],
            tolerance=rounding(dtype), precision={"operand": dtype, "accumulate": "f32"})
