"""Softmax over the rows of a matrix, one program a row."""

import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor, element, rounding


@triton.jit
def softmax_kernel(x, y, row_stride, COLUMNS: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, COLUMNS)
    values = tl.load(x + row * row_stride + columns).to(tl.float32)
    values = values - tl.max(values, axis=0)
    powers = tl.exp(values)
    result = powers / tl.sum(powers, axis=0)
    tl.store(y + row * row_stride + columns, result.to(tl.float16))


@triton.jit
def softmax_scaled_kernel(x, y, row_stride, SCALE: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, COLUMNS)
    values = tl.load(x + row * row_stride + columns).to(tl.float32)
    values = values - tl.max(values, axis=0)
    powers = tl.exp(values)
    result = powers / tl.sum(powers, axis=0) * SCALE
    tl.store(y + row * row_stride + columns, result.to(y.dtype.element_ty))


# The greatest e4m3: probabilities of a long row vanish in eight bits unless they are scaled.
SCALE = 448.0


def oracle(x):
    import numpy as np
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return {"y": powers / powers.sum(axis=1, keepdims=True)}


def scaled_oracle(x):
    return {"y": oracle(x)["y"] * SCALE}


def _contract(name, dtype, rows, columns, **more):
    return Contract(
        name=name, dtype="fp16" if dtype == "f16" else "fp8",
        arguments=[Tensor("x", dtype, (rows, columns), "input"),
                   Tensor("y", dtype, (rows, columns), "output"),
                   ("row_stride", ("i32", columns))],
        grid=(rows,), **more)


def contracts():
    tuning = [Config(num_warps=n) for n in (4, 1, 2, 8, 16, 32)]
    yield _contract("softmax", "f16", 4096, 4096, kernel=softmax_kernel, oracle=oracle,
                    constants={"COLUMNS": 4096}, tuning=tuning, tolerance=rounding("f16"),
                    precision={"operand": "f16", "accumulate": "f32"}, alternatives={
                        "warps8": Config(num_warps=8),
                        "warps2_narrow": Config(num_warps=2, aligned=False)})
    yield _contract("softmax", "e4m3", 4096, 4096, kernel=softmax_scaled_kernel,
                    oracle=scaled_oracle, constants={"SCALE": SCALE, "COLUMNS": 4096},
                    tuning=tuning, tolerance=rounding("e4m3"),
                    precision={"operand": "e4m3", "accumulate": "f32"})
    yield _contract("softmax_8x256", "f16", 8, 256, kernel=softmax_kernel,
                    home="tests/kernels/contracts", constants={"COLUMNS": 256},
                    tuning=[Config(num_warps=2)],
                    tolerance={"absolute": 1e-6, "relative": 2e-3, "error_factor": 2.0},
                    precision={"operand": "f16", "accumulate": "f32", "tensor_cores": True},
                    alternatives={"warps4": Config(num_warps=4),
                                  "warps1_narrow": Config(num_warps=1, aligned=False)})
