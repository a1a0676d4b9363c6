"""X X^T, the symmetric product of the orthonormalisation in Dion and Muon: only the tiles on and
above the diagonal are computed, each is stored twice.
"""

import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor, element, rounding

ROWS, DEPTH = 2048, 4096


@triton.jit
def dion_kernel(x, c, ROWS: tl.constexpr, DEPTH: tl.constexpr, BM: tl.constexpr,
                BK: tl.constexpr):
    tile_m = tl.program_id(0)
    tile_n = tl.program_id(1)
    if tile_m > tile_n:
        return
    rows = tile_m * BM + tl.arange(0, BM)
    columns = tile_n * BM + tl.arange(0, BM)
    depth = tl.arange(0, BK)
    at_rows = x + rows[:, None] * DEPTH + depth[None, :]
    at_columns = x + columns[None, :] * DEPTH + depth[:, None]
    total = tl.zeros((BM, BM), dtype=tl.float32)
    for _ in range(0, DEPTH, BK):
        total = tl.dot(tl.load(at_rows), tl.load(at_columns), total)
        at_rows += BK
        at_columns += BK
    result = total.to(c.dtype.element_ty)
    tl.store(c + rows[:, None] * ROWS + columns[None, :], result)
    if tile_m < tile_n:
        tl.store(c + columns[:, None] * ROWS + rows[None, :], tl.trans(result))


def oracle(x):
    return {"c": x @ x.T}


def contracts():
    for precision in ("fp16", "bf16"):
        dtype = element(precision)
        yield Contract(
            name="dion", dtype=precision, kernel=dion_kernel, oracle=oracle,
            arguments=[Tensor("x", dtype, (ROWS, DEPTH), "input"),
                       Tensor("c", dtype, (ROWS, ROWS), "output")],
            constants={"ROWS": ROWS, "DEPTH": DEPTH},
            grid=lambda c: (ROWS // c["BM"], ROWS // c["BM"]),
            tuning=[Config(num_warps=w, num_stages=s, constants={"BM": bm, "BK": bk})
                    for bm, bk, w, s in ((128, 64, 8, 3), (128, 64, 4, 3), (64, 64, 4, 4),
                                         (128, 32, 8, 4), (128, 64, 8, 4))],
            configs={"sm_89": Config(num_warps=4, num_stages=3, constants={"BM": 128, "BK": 32})},
            tolerance=rounding(dtype, absolute=1e-2), flops=ROWS * (ROWS + 128) * DEPTH,
            precision={"operand": dtype, "accumulate": "f32"})
