"""The sum of each row of a matrix, one program a row, added up in single precision."""

import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor, element, rounding


@triton.jit
def sum_kernel(x, y, row_stride, COLUMNS: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, COLUMNS)
    values = tl.load(x + row * row_stride + columns).to(tl.float32)
    tl.store(y + row, tl.sum(values, axis=0).to(tl.float16))


def oracle(x):
    return {"y": x.sum(axis=1)}


def _contract(name, dtype, rows, columns, **more):
    return Contract(
        name=name, dtype="fp16" if dtype == "f16" else "fp8", kernel=sum_kernel,
        arguments=[Tensor("x", dtype, (rows, columns), "input"),
                   Tensor("y", "f16", (rows,), "output"),
                   ("row_stride", ("i32", columns))],
        constants={"COLUMNS": columns}, grid=(rows,), **more)


def contracts():
    for precision in ("fp16", "fp8"):
        dtype = element(precision)
        yield _contract("sum", dtype, 256, 4096, oracle=oracle,
                        tuning=[Config(num_warps=n) for n in (4, 1, 2, 8, 16)],
                        tolerance=rounding("f16", absolute=1e-4),
                        precision={"operand": dtype, "accumulate": "f32"}, alternatives={
                            "warps8": Config(num_warps=8),
                            "warps2_narrow": Config(num_warps=2, aligned=False)}
                        if precision == "fp16" else {})
    yield _contract("sum_8x512", "f16", 8, 512, home="tests/kernels/contracts",
                    tuning=[Config(num_warps=2)],
                    tolerance={"absolute": 1e-3, "relative": 2e-3, "error_factor": 2.0},
                    precision={"operand": "f16", "accumulate": "f32", "tensor_cores": True},
                    alternatives={"warps4": Config(num_warps=4),
                                  "warps1_narrow": Config(num_warps=1, aligned=False)})
