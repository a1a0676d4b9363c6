"""C = A B in half precision, added up in single precision, tiles in groups of rows so that
neighbouring programs share what the second-level cache holds."""

import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor


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
    tl.store(c + rows[:, None] * stride_c + columns[None, :], total.to(tl.float16))


def _tile(bm, bn, bk, warps, stages, group=8):
    return Config(num_warps=warps, num_stages=stages,
                  constants={"BM": bm, "BN": bn, "BK": bk, "GROUP": group})


def _contract(name, m, n, k, configs, home, alternatives, targets=None):
    return Contract(
        name=name, dtype="fp16", kernel=gemm_kernel, home=home,
        arguments=[Tensor("a", "f16", (m, k), "input"), Tensor("b", "f16", (k, n), "input"),
                   Tensor("c", "f16", (m, n), "output"),
                   ("M", ("i32", m)), ("N", ("i32", n)), ("K", ("i32", k)),
                   ("stride_a", ("i32", k)), ("stride_b", ("i32", n)), ("stride_c", ("i32", n))],
        grid=lambda t: ((m // t["BM"]) * (n // t["BN"]),), configs=configs,
        tolerance={"absolute": 1e-2, "relative": 2e-3, "error_factor": 2.0},
        precision={"operand": "f16", "accumulate": "f32", "tensor_cores": True},
        alternatives=alternatives)


def contracts():
    yield _contract("gemm", 2048, 2048, 2048, {
        "sm_89": _tile(128, 128, 32, 4, 4), "sm_90a": _tile(128, 256, 64, 8, 3),
        "sm_100a": _tile(128, 256, 64, 8, 3)}, "suite/contracts", {
            "tile64x128_warps4": _tile(64, 128, 32, 4, 3),
            "tile128x128_warps8": _tile(128, 128, 64, 8, 2)})
    small = {target: _tile(64, 64, 32, 4, 3) for target in ("sm_89", "sm_90a", "sm_100a")}
    yield _contract("gemm_128x128x64", 128, 128, 64, small, "tests/kernels/contracts", {
        "tile32x64_warps2": _tile(32, 64, 32, 2, 2)})
    yield _contract("gemm_256x256x128", 256, 256, 128, small, "tests/kernels/contracts", {
        "tile128x64_warps8": _tile(128, 64, 32, 8, 3),
        "tile32x64_warps4": _tile(32, 64, 32, 4, 2)})
