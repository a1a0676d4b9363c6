"""One half of a Sinkhorn iteration between two clouds of points, without the matrix of costs:
f_i = -eps log sum_j exp((g_j - |x_i - y_j|^2) / eps), tile by tile as FlashSinkhorn does it.

The squared lengths are given; what belongs to column j alone is `offset`, g_j - |y_j|^2.
"""

import numpy as np
import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor, element

PROBLEMS, POINTS, DIM = 32, 1024, 64
EPS = 0.5
TO_BASE_2 = 1.4426950408889634 / EPS
FROM_BASE_2 = EPS * 0.6931471805599453


@triton.jit
def sinkhorn_kernel(x, y, length, offset, f, TO_BASE_2: tl.constexpr, FROM_BASE_2: tl.constexpr,
                    POINTS: tl.constexpr, DIM: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    problem = tl.program_id(1)
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.arange(0, BN)
    dims = tl.arange(0, DIM)
    points = tl.load(x + problem * POINTS * DIM + rows[:, None] * DIM + dims[None, :])
    at_y = y + problem * POINTS * DIM + columns[None, :] * DIM + dims[:, None]
    at_offset = offset + problem * POINTS + columns
    greatest = tl.full((BM,), float("-inf"), dtype=tl.float32)
    weight = tl.zeros((BM,), dtype=tl.float32)
    for _ in range(0, POINTS, BN):
        products = tl.dot(points, tl.load(at_y))
        scores = (2.0 * products + tl.load(at_offset)[None, :]) * TO_BASE_2
        new_greatest = tl.maximum(greatest, tl.max(scores, 1))
        powers = tl.exp2(scores - new_greatest[:, None])
        weight = weight * tl.exp2(greatest - new_greatest) + tl.sum(powers, 1)
        greatest = new_greatest
        at_y += BN * DIM
        at_offset += BN
    at = problem * POINTS + rows
    tl.store(f + at, tl.load(length + at) - (greatest + tl.log2(weight)) * FROM_BASE_2)


def oracle(x, y, length, offset):
    f = np.empty(length.shape)
    for problem in range(len(x)):
        scores = (2 * x[problem] @ y[problem].T + offset[problem][None, :]) / EPS
        greatest = scores.max(axis=1)
        weight = np.exp(scores - greatest[:, None]).sum(axis=1)
        f[problem] = length[problem] - EPS * (greatest + np.log(weight))
    return {"f": f}


def contracts():
    for precision in ("fp16", "bf16"):
        dtype = element(precision)
        yield Contract(
            name="sinkhorn", dtype=precision, kernel=sinkhorn_kernel, oracle=oracle,
            arguments=[Tensor("x", dtype, (PROBLEMS, POINTS, DIM), "input"),
                       Tensor("y", dtype, (PROBLEMS, POINTS, DIM), "input"),
                       Tensor("length", "f32", (PROBLEMS, POINTS), "input",
                              values={"uniform": [0.0, 256.0]}),
                       Tensor("offset", "f32", (PROBLEMS, POINTS), "input",
                              values={"uniform": [-256.0, 0.0]}),
                       Tensor("f", "f32", (PROBLEMS, POINTS), "output")],
            constants={"TO_BASE_2": TO_BASE_2, "FROM_BASE_2": FROM_BASE_2, "POINTS": POINTS,
                       "DIM": DIM},
            grid=lambda c: (POINTS // c["BM"], PROBLEMS),
            tuning=[Config(num_warps=w, num_stages=s, constants={"BM": bm, "BN": bn})
                    for bm, bn, w, s in ((64, 64, 4, 3), (128, 64, 4, 3), (128, 128, 8, 3),
                                         (64, 128, 4, 3), (128, 64, 8, 3))],
            tolerance={"absolute": 1e-4, "relative": 1e-6, "error_factor": 2.0},
            flops=2 * PROBLEMS * POINTS * POINTS * DIM,
            precision={"operand": dtype, "accumulate": "f32"})
