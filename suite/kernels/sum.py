"""The sum of each row of a matrix, one program a row, added up in single precision."""

import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor


@triton.jit
def sum_kernel(x, y, row_stride, COLUMNS: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, COLUMNS)
    values = tl.load(x + row * row_stride + columns).to(tl.float32)
    tl.store(y + row, tl.sum(values, axis=0).to(tl.float16))


def _contract(name, rows, columns, warps, home, alternatives):
    return Contract(
        name=name, dtype="fp16", kernel=sum_kernel, home=home,
        arguments=[Tensor("x", "f16", (rows, columns), "input"),
                   Tensor("y", "f16", (rows,), "output"),
                   ("row_stride", ("i32", columns))],
        constants={"COLUMNS": columns}, grid=(rows,),
        configs={target: Config(num_warps=warps) for target in ("sm_89", "sm_90a", "sm_100a")},
        tolerance={"absolute": 1e-3, "relative": 2e-3, "error_factor": 2.0},
        precision={"operand": "f16", "accumulate": "f32", "tensor_cores": True},
        alternatives=alternatives)


def contracts():
    yield _contract("sum", 256, 4096, 4, "suite/contracts", {
        "warps8": Config(num_warps=8),
        "warps2_narrow": Config(num_warps=2, aligned=False)})
    yield _contract("sum_8x512", 8, 512, 2, "tests/kernels/contracts", {
        "warps4": Config(num_warps=4),
        "warps1_narrow": Config(num_warps=1, aligned=False)})
