"""silu(A B): the first half of a feed-forward block, the activation in the epilogue."""

import numpy as np
import triton
import triton.language as tl

from lathe_triton import element, rounding
from lathe_triton.sources import sibling

gemm = sibling(__file__, "gemm")


@triton.jit
def gemm_silu_kernel(a, b, c, M, N, K, stride_a, stride_b, stride_c, BM: tl.constexpr,
                     BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
                     B_BY_COLUMNS: tl.constexpr):
    program = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    in_group = GROUP * tiles_n
    group = program // in_group
    first_m = group * GROUP
    group_size = min(tiles_m - first_m, GROUP)
    tile_m = first_m + (program % in_group) % group_size
    tile_n = (program % in_group) // group_size

    rows = tile_m * BM + tl.arange(0, BM)
    columns = tile_n * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    at_a = a + rows[:, None] * stride_a + depth[None, :]
    if B_BY_COLUMNS:
        at_b = b + columns[None, :] * stride_b + depth[:, None]
        step_b = BK
    else:
        at_b = b + depth[:, None] * stride_b + columns[None, :]
        step_b = BK * stride_b
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, tl.cdiv(K, BK)):
        total = tl.dot(tl.load(at_a), tl.load(at_b), total)
        at_a += BK
        at_b += step_b
    total = total * tl.sigmoid(total)
    tl.store(c + rows[:, None] * stride_c + columns[None, :], total.to(c.dtype.element_ty))


def _silu(x):
    return {"c": x / (1 + np.exp(-x))}


def oracle(a, b):
    return _silu(a @ b)


def oracle_by_columns(a, b):
    return _silu(a @ b.T)


def contracts():
    for precision in ("fp16", "fp8"):
        by_columns = precision == "fp8"
        yield gemm.contract(
            "gemm_silu", precision, gemm_silu_kernel, 4096, 4096, 4096,
            oracle=oracle_by_columns if by_columns else oracle,
            constants={"B_BY_COLUMNS": by_columns},
            tuning=gemm.TILES_8_BIT if by_columns else gemm.TILES,
            configs={"sm_89": gemm.tile(128, 128, 64 if by_columns else 32, 4, 3)},
            tolerance=rounding("f16", absolute=2.0 if by_columns else 1e-2),
            precision={"operand": element(precision), "accumulate": "f32"})
