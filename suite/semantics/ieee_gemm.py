"""A product of single-precision matrices that asks for IEEE arithmetic: no Tensor Core may round
its operands, so none may be used.
"""

import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor

SIZE = 256


@triton.jit
def ieee_gemm_kernel(a, b, c, SIZE: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                     BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, SIZE, BK):
        left = tl.load(a + rows[:, None] * SIZE + (start + depth)[None, :])
        right = tl.load(b + (start + depth)[:, None] * SIZE + columns[None, :])
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(c + rows[:, None] * SIZE + columns[None, :], total)


def oracle(a, b):
    return {"c": a @ b}


def contracts():
    yield Contract(
        name="ieee_gemm", dtype="fp32", kernel=ieee_gemm_kernel, oracle=oracle,
        home="suite/semantics/contracts",
        arguments=[Tensor("a", "f32", (SIZE, SIZE), "input"),
                   Tensor("b", "f32", (SIZE, SIZE), "input"),
                   Tensor("c", "f32", (SIZE, SIZE), "output")],
        constants={"SIZE": SIZE}, grid=lambda c: (SIZE // c["BM"], SIZE // c["BN"]),
        tuning=[Config(num_warps=4, num_stages=2, constants={"BM": bm, "BN": bn, "BK": 16})
                for bm, bn in ((32, 32), (32, 64), (16, 32))],
        tolerance={"absolute": 5e-5, "relative": 4e-7, "error_factor": 2.0},
        precision={"operand": "f32", "accumulate": "f32", "tensor_cores": False})
