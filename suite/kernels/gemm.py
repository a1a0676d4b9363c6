"""C = A B in half precision, added up in single precision, tiles in groups of rows so that
neighbouring programs share what the second-level cache holds."""

import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor, element, rounding


@triton.jit
def gemm_kernel(a, b, c, M, N, K, stride_a, stride_b, stride_c, BM: tl.constexpr,
                BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
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
    at_b = b + depth[:, None] * stride_b + columns[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, tl.cdiv(K, BK)):
        total = tl.dot(tl.load(at_a), tl.load(at_b), total)
        at_a += BK
        at_b += BK * stride_b
    tl.store(c + rows[:, None] * stride_c + columns[None, :], total.to(c.dtype.element_ty))


@triton.jit
def gemm_by_columns_kernel(a, b, c, M, N, K, stride_a, stride_b, stride_c, BM: tl.constexpr,
                           BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    """The same with B given by columns, as eight-bit weights are: b is N x K."""
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
    at_b = b + columns[None, :] * stride_b + depth[:, None]
    sum_type: tl.constexpr = tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32
    total = tl.zeros((BM, BN), dtype=sum_type)
    for _ in range(0, tl.cdiv(K, BK)):
        total = tl.dot(tl.load(at_a), tl.load(at_b), total, out_dtype=sum_type)
        at_a += BK
        at_b += BK
    tl.store(c + rows[:, None] * stride_c + columns[None, :], total.to(c.dtype.element_ty))


def oracle(a, b):
    return {"c": a @ b}


def oracle_by_columns(a, b):
    return {"c": a @ b.T}


def tile(bm, bn, bk, warps, stages, group=8):
    return Config(num_warps=warps, num_stages=stages,
                  constants={"BM": bm, "BN": bn, "BK": bk, "GROUP": group})


TILES = [tile(128, 256, 64, 8, 3), tile(128, 128, 64, 8, 3), tile(128, 256, 64, 8, 4),
         tile(256, 128, 64, 8, 3), tile(128, 128, 64, 4, 4), tile(64, 256, 64, 4, 4)]
TILES_8_BIT = [tile(128, 256, 128, 8, 3), tile(128, 128, 128, 8, 3), tile(256, 128, 128, 8, 3),
               tile(128, 256, 64, 8, 4), tile(128, 128, 128, 4, 4)]


def contract(name, kind, kernel, m, n, k, **more):
    dtype = element(kind)
    b_shape = (k, n) if kind in ("fp16", "bf16") else (n, k)
    out = {"fp8": "f16", "int8": "s32"}.get(kind, dtype)
    return Contract(
        name=name, dtype=kind, kernel=kernel,
        arguments=[Tensor("a", dtype, (m, k), "input", **integers(dtype)),
                   Tensor("b", dtype, b_shape, "input", **integers(dtype)),
                   Tensor("c", out, (m, n), "output"),
                   ("M", ("i32", m)), ("N", ("i32", n)), ("K", ("i32", k)),
                   ("stride_a", ("i32", k)), ("stride_b", ("i32", b_shape[1])),
                   ("stride_c", ("i32", n))],
        grid=lambda t: ((m // t["BM"]) * (n // t["BN"]),), flops=2 * m * n * k, **more)


def integers(dtype):
    return {"values": {"integers": [-127, 127]}} if dtype == "s8" else {}


def contracts():
    size = (4096, 4096, 4096)
    for precision in ("fp16", "bf16"):
        dtype = element(precision)
        yield contract("gemm", precision, gemm_kernel, *size, oracle=oracle, tuning=TILES,
                       configs={"sm_89": tile(128, 128, 32, 4, 4)},
                       tolerance=rounding(dtype, absolute=1e-2),
                       precision={"operand": dtype, "accumulate": "f32"},
                       alternatives={"tile64x128_warps4": tile(64, 128, 32, 4, 3),
                                     "tile128x128_warps8": tile(128, 128, 64, 8, 2)}
                       if precision == "fp16" else {})
    yield contract("gemm", "fp8", gemm_by_columns_kernel, *size, oracle=oracle_by_columns,
                   tuning=TILES_8_BIT, configs={"sm_89": tile(128, 128, 64, 4, 3)},
                   # Hopper adds eight-bit products up in fewer than 24 bits.
                   tolerance=rounding("f16", absolute=2.2),
                   precision={"operand": "e4m3", "accumulate": "f32"})
    yield contract("gemm", "int8", gemm_by_columns_kernel, *size, oracle=oracle_by_columns,
                   tuning=TILES_8_BIT, configs={"sm_89": tile(128, 128, 64, 4, 3)},
                   tolerance=rounding("s32"), precision={"operand": "s8", "accumulate": "s32"})
    small = {"tolerance": {"absolute": 1e-2, "relative": 2e-3, "error_factor": 2.0},
             "precision": {"operand": "f16", "accumulate": "f32", "tensor_cores": True},
             "home": "tests/kernels/contracts", "tuning": [tile(64, 64, 32, 4, 3)]}
    yield contract("gemm_128x128x64", "fp16", gemm_kernel, 128, 128, 64, **small, alternatives={
        "tile32x64_warps2": tile(32, 64, 32, 2, 2)})
    yield contract("gemm_256x256x128", "fp16", gemm_kernel, 256, 256, 128, **small, alternatives={
        "tile128x64_warps8": tile(128, 64, 32, 8, 3),
        "tile32x64_warps4": tile(32, 64, 32, 4, 2)})
