"""The pairs that are measured: which two files of one contract, and what is expected of them.

Each is (reference, candidate) for sm_90a: another configuration of the same Triton kernel, another
Triton kernel of the same meaning, or an edit of the reference's PTX. Whether the candidate gains
is for the device to say; `why` names the resource that the pair is about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Callable

import triton
import triton.language as tl

from lathe_triton import Config


@triton.jit
def silu_strided_kernel(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = tl.program_id(0) * BLOCK + (i % (BLOCK // 16)) * 16 + i // (BLOCK // 16)
    value = tl.load(x + at).to(tl.float32)
    tl.store(y + at, (value * tl.sigmoid(value)).to(tl.float16))


@triton.jit
def sum_rows_kernel(x, y, row_stride, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    values = tl.load(x + rows[:, None] * row_stride + columns[None, :]).to(tl.float32)
    tl.store(y + rows, tl.sum(values, axis=1).to(tl.float16))


@triton.jit
def sum_loop_kernel(x, y, row_stride, COLUMNS: tl.constexpr, STEP: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((STEP,), dtype=tl.float32)
    for start in range(0, COLUMNS, STEP):
        columns = start + tl.arange(0, STEP)
        total += tl.load(x + row * row_stride + columns).to(tl.float32)
    tl.store(y + row, tl.sum(total, axis=0).to(tl.float16))


@dataclass(frozen=True)
class Side:
    """How one file of a pair comes to be: the contract's own reference where all is default."""

    config: Config | None = None
    kernel: Any = None
    edit: Callable[[str], str] | None = None
    shared_bytes: int | None = None  # Dynamic shared memory asked for at launch, where not Triton's.

    def is_reference(self) -> bool:
        return self == Side()


@dataclass(frozen=True)
class Pair:
    name: str
    kernel: str  # "softmax", "silu", "sum", "gemm"
    what: str
    why: str
    reference: Side
    candidate: Side


def _instruction(line: str) -> str:
    return re.sub(r"\s+", " ", line.split("//")[0]).strip()


def additions_as_tree(ptx: str) -> str:
    """The serial chain of additions of a thread's elements becomes a tree of the same registers."""
    lines = ptx.split("\n")
    chain: list[tuple[int, str, str, str]] = []
    for i, line in enumerate(lines):
        match = re.fullmatch(r"add\.f32 (%r\d+), (%r\d+), (%r\d+);", _instruction(line))
        if match and (not chain or match[2] == chain[-1][1]):
            chain.append((i, *match.groups()))
        elif chain and len(chain) >= 7:
            break
        elif match:
            chain = [(i, *match.groups())]
        elif chain and _instruction(line) and not _instruction(line).startswith((".", "$")):
            chain = []
    assert len(chain) >= 7, "no chain of additions"
    level = [chain[0][2], *(c[3] for c in chain)]
    targets = iter(c[1] for c in chain)
    new = []
    while len(level) > 1:
        after = []
        for a, b in zip(level[::2], level[1::2]):
            to = next(targets)
            new.append(f"\tadd.f32 \t{to}, {a}, {b};")
            after.append(to)
        level = after + (level[-1:] if len(level) % 2 else [])
    assert level[0] == chain[-1][1]
    for (i, *_), line in zip(chain, new):
        lines[i] = line
    return "\n".join(lines)


def one_reciprocal(ptx: str) -> str:
    """Divisions by one register become products with its reciprocal, taken once."""
    divisor = re.search(r"div\.full\.f32 \t%r\d+, %r\d+, (%r\d+);", ptx)[1]
    first = ptx.index("\tdiv.full.f32")
    made = f"\tmov.b32 \t%w1, 0f3F800000;\n\tdiv.full.f32 \t%w2, %w1, {divisor};\n"
    ptx = ptx[:first] + made + re.sub(
        r"div\.full\.f32 (\t%r\d+, %r\d+), " + divisor + ";", r"mul.f32 \1, %w2;", ptx[first:])
    return ptx.replace("\t.reg .b32 ", "\t.reg .b32 \t%w<3>;\n\t.reg .b32 ", 1)


def approximate_reciprocal(ptx: str) -> str:
    """1 / x by div.full becomes rcp.approx."""
    ptx, count = re.subn(r"div\.full\.f32 (\t%r\d+), %r\d+, (%r\d+);",
                         r"rcp.approx.ftz.f32 \1, \2;", ptx)
    assert count == 16
    return ptx


def redundant_arithmetic(ptx: str) -> str:
    """Eight more products an element, in pairs that are one but for rounding."""
    def more(match):
        up, down = "0f3F800001", "0f3F7FFFFE"
        return match[0] + "".join(
            f"\n\tmul.f32 \t{match[1]}, {match[1]}, {by};" for by in (up, down) * 4)
    ptx, count = re.subn(r"\tcvt\.f32\.f16 \t(%r\d+), %rs\d+;", more, ptx)
    assert count >= 8
    return ptx


def barriers(times: int) -> Callable[[str], str]:
    def edit(ptx: str) -> str:
        assert "\tbar.sync \t0;" in ptx
        return ptx.replace("\tbar.sync \t0;", "\n".join(["\tbar.sync \t0;"] * times))
    return edit


def read_only_loads(ptx: str) -> str:
    assert "ld.global.v4.b32" in ptx
    return ptx.replace("ld.global.v4.b32", "ld.global.nc.v4.b32")


def _gemm(bm, bn, bk, warps, stages, group=8) -> Side:
    return Side(Config(num_warps=warps, num_stages=stages,
                       constants={"BM": bm, "BN": bn, "BK": bk, "GROUP": group}))


def _silu(block, warps, aligned=True) -> Side:
    return Side(Config(num_warps=warps, constants={"BLOCK": block}, aligned=aligned))


def _warps(n, aligned=True) -> Side:
    return Side(Config(num_warps=n, aligned=aligned))


OWN = Side()

PAIRS = [
    Pair("sum_tree", "sum", "a thread's additions as a tree, not a chain", "latency", OWN,
         Side(edit=additions_as_tree)),
    Pair("sum_warps1_to_8", "sum", "8 warps a row where there was one", "latency", _warps(1),
         _warps(8)),
    Pair("sum_warps4_to_16", "sum", "16 warps a row where there were four", "latency", OWN,
         _warps(16)),
    Pair("sum_warps4_to_1", "sum", "one warp a row where there were four", "latency", OWN,
         _warps(1)),
    Pair("sum_warps4_to_2", "sum", "two warps a row where there were four", "latency", OWN,
         _warps(2)),
    Pair("sum_extra_barriers", "sum", "32 barriers in place of each one", "latency", OWN,
         Side(edit=barriers(32))),
    Pair("sum_narrow", "sum", "2-byte loads in place of 16-byte ones", "issue", OWN,
         _warps(4, aligned=False)),
    Pair("sum_two_rows", "sum", "two rows a block, so half as many blocks as there were", "latency",
         OWN, Side(Config(num_warps=4, constants={"ROWS": 2}, grid=(128,)), sum_rows_kernel)),
    Pair("sum_loop", "sum", "one load at a time in a loop", "latency", OWN,
         Side(Config(num_warps=4, num_stages=1, constants={"STEP": 256}), sum_loop_kernel)),
    Pair("softmax_reciprocal", "softmax", "one reciprocal in place of 32 divisions a thread",
         "dram", OWN, Side(edit=one_reciprocal)),
    Pair("softmax_warps32_to_4", "softmax", "four warps a row where there were 32", "latency",
         _warps(32), OWN),
    Pair("softmax_warps4_to_1", "softmax", "one warp a row where there were four", "occupancy", OWN,
         _warps(1)),
    Pair("softmax_warps4_to_2", "softmax", "two warps a row where there were four", "dram", OWN,
         _warps(2)),
    Pair("softmax_warps4_to_8", "softmax", "eight warps a row where there were four", "dram", OWN,
         _warps(8)),
    Pair("softmax_narrow", "softmax", "2-byte accesses in place of 16-byte ones", "issue", OWN,
         _warps(4, aligned=False)),
    Pair("softmax_low_occupancy", "softmax", "100 KB of unused shared memory a block", "occupancy",
         OWN, Side(shared_bytes=100 * 1024)),
    Pair("silu_narrow_to_wide", "silu", "16-byte accesses in place of 2-byte ones", "issue",
         _silu(2048, 4, aligned=False), OWN),
    Pair("silu_block_256", "silu", "eight times as many blocks", "launch", OWN, _silu(256, 4)),
    Pair("silu_block_1024", "silu", "twice as many blocks", "dram", OWN, _silu(1024, 4)),
    Pair("silu_block_8192", "silu", "a quarter of the blocks, 64 elements a thread", "occupancy",
         OWN, _silu(8192, 4)),
    Pair("silu_strided", "silu", "neighbouring threads 32 bytes apart", "sectors", OWN,
         Side(Config(num_warps=4), silu_strided_kernel)),
    Pair("silu_approximate_reciprocal", "silu", "rcp.approx in place of div.full", "dram", OWN,
         Side(edit=approximate_reciprocal)),
    Pair("silu_redundant_arithmetic", "silu", "eight more products an element", "dram", OWN,
         Side(edit=redundant_arithmetic)),
    Pair("silu_low_occupancy", "silu", "200 KB of unused shared memory a block", "occupancy", OWN,
         Side(shared_bytes=200 * 1024)),
    Pair("silu_read_only_loads", "silu", "loads by the read-only path", "dram", OWN,
         Side(edit=read_only_loads)),
    Pair("gemm_tile_64_to_own", "gemm", "tiles of 128x256x64 where they were 64x64x32", "tensor",
         _gemm(64, 64, 32, 4, 3), OWN),
    Pair("gemm_tile_128x128", "gemm", "tiles of 128x128x64, two rounds of blocks", "tensor", OWN,
         _gemm(128, 128, 64, 8, 3)),
    Pair("gemm_tile_256x128", "gemm", "tiles of 256x128x64", "tensor", OWN,
         _gemm(256, 128, 64, 8, 3)),
    Pair("gemm_stages_4", "gemm", "four stages of copies in flight where there were three",
         "tensor", OWN, _gemm(128, 256, 64, 8, 4)),
    Pair("gemm_stages_1_to_4", "gemm", "four stages of copies in flight where there was one",
         "latency", _gemm(128, 128, 64, 8, 1), _gemm(128, 128, 64, 8, 4)),
    Pair("gemm_group_1", "gemm", "tiles in column order, which the second-level cache does not mind",
         "tensor", OWN, _gemm(128, 256, 64, 8, 3, group=1)),
]


def contract_with(contract, side: Side):
    return replace(contract, kernel=side.kernel) if side.kernel else contract
