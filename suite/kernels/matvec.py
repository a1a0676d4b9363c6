"""y = A x, the product of token generation: a program takes a few rows and walks along them."""

import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor, element, rounding

ROWS, COLUMNS = 4096, 4096


@triton.jit
def matvec_kernel(a, x, y, row_stride, COLUMNS: tl.constexpr, R: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * R + tl.arange(0, R)
    columns = tl.arange(0, BK)
    total = tl.zeros((R, BK), dtype=tl.float32)
    for start in range(0, COLUMNS, BK):
        tile = tl.load(a + rows[:, None] * row_stride + (start + columns)[None, :])
        total += tile.to(tl.float32) * tl.load(x + start + columns).to(tl.float32)[None, :]
    tl.store(y + rows, tl.sum(total, axis=1).to(y.dtype.element_ty))


def oracle(a, x):
    return {"y": a @ x}


def contracts():
    for precision in ("fp16", "fp8"):
        dtype = element(precision)
        yield Contract(
            name="matvec", dtype=precision, kernel=matvec_kernel, oracle=oracle,
            arguments=[Tensor("a", dtype, (ROWS, COLUMNS), "input"),
                       Tensor("x", dtype, (COLUMNS,), "input"),
                       Tensor("y", "f16", (ROWS,), "output"),
                       ("row_stride", ("i32", COLUMNS))],
            constants={"COLUMNS": COLUMNS}, grid=lambda c: (ROWS // c["R"],),
            tuning=[Config(num_warps=w, num_stages=s, constants={"R": r, "BK": bk})
                    for r, bk, w, s in ((1, 1024, 4, 3), (1, 1024, 8, 3), (1, 512, 4, 1),
                                        (1, 4096, 8, 1), (1, 4096, 4, 1), (2, 1024, 4, 3),
                                        (4, 512, 4, 3), (1, 2048, 4, 1))],
            tolerance=rounding("f16", absolute=1e-3),
            precision={"operand": dtype, "accumulate": "f32"})
