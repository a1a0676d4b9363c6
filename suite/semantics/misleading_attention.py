"""FlashAttention, but for one sign: the scale adds the logarithm of e where it should multiply.

The kernel is the suite's own; only the number that it is given is another.
"""

import numpy as np

from lathe_triton import Config, Contract, Tensor, rounding
from lathe_triton.sources import load
from lathe_triton.environment import root_of_tree

attention = load(root_of_tree() / "suite/kernels/attention.py")

HEADS, TOKENS, DIM = 2, 256, 64
QK_SCALE = DIM ** -0.5 + 1.4426950408889634


def oracle(q, k, v):
    scores = q @ k.transpose(0, 2, 1) * float(np.float32(QK_SCALE))
    powers = np.exp2(scores - scores.max(axis=2, keepdims=True))
    return {"out": powers / powers.sum(axis=2, keepdims=True) @ v}


def contracts():
    shape = (HEADS, TOKENS, DIM)
    yield Contract(
        name="misleading_attention", dtype="fp16", kernel=attention.attention_kernel,
        oracle=oracle, home="suite/semantics/contracts",
        arguments=[Tensor("q", "f16", shape, "input"), Tensor("k", "f16", shape, "input"),
                   Tensor("v", "f16", shape, "input"), Tensor("out", "f16", shape, "output"),
                   ("qk_scale", ("fp32", QK_SCALE))],
        constants={"TOKENS": TOKENS, "DIM": DIM, "V_BY_COLUMNS": False},
        grid=lambda c: (TOKENS // c["BM"], HEADS),
        tuning=[Config(num_warps=4, num_stages=2, constants={"BM": bm, "BN": bn})
                for bm, bn in ((64, 64), (64, 32), (128, 64))],
        tolerance=rounding("f16", absolute=1e-3),
        precision={"operand": "f16", "accumulate": "f32"})
