"""Kernels that add up in half precision where their contract asks for single precision, compiled
by Triton: `PYTHONPATH=python .venv-triton/bin/python tests/kernels/narrow.py`."""

import sys
from dataclasses import replace
from pathlib import Path

import triton
import triton.language as tl

ROOT = Path(__file__).resolve().parents[2]


@triton.jit
def sum_kernel(x, y, row_stride, COLUMNS: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, COLUMNS)
    tl.store(y + row, tl.sum(tl.load(x + row * row_stride + columns), axis=0))


@triton.jit
def gemm_kernel(a, b, c, M, N, K, stride_a, stride_b, stride_c, BM: tl.constexpr,
                BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    program = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    tile_m = program % tiles_m
    tile_n = program // tiles_m
    rows = tile_m * BM + tl.arange(0, BM)
    columns = tile_n * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    at_a = a + rows[:, None] * stride_a + depth[None, :]
    at_b = b + depth[:, None] * stride_b + columns[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float16)
    for _ in range(0, tl.cdiv(K, BK)):
        total = tl.dot(tl.load(at_a), tl.load(at_b), total, out_dtype=tl.float16)
        at_a += BK
        at_b += BK * stride_b
    tl.store(c + rows[:, None] * stride_c + columns[None, :], total)


def main() -> None:
    from lathe_triton.compile import compile_kernel, prepare
    from lathe_triton.sources import load
    prepare(ROOT)
    for source, kernel, name in (("sum", sum_kernel, "sum_8x512"),
                                 ("gemm", gemm_kernel, "gemm_256x256x128")):
        module = load(ROOT / f"suite/kernels/{source}.py")
        contract = next(c for c in module.contracts() if c.name == name)
        made = compile_kernel(replace(contract, kernel=kernel), contract.config("sm_89"), "sm_89")
        out = ROOT / f"tests/kernels/mistakes/{source}_f16_accumulation.ptx"
        out.write_text(made.ptx)


if __name__ == "__main__":
    sys.exit(main())
