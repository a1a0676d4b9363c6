"""BitDelta for several fine-tuned models at once: each part of the batch has its own matrix of
signs and its own scale.
"""

import numpy as np
import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor, rounding
from lathe_triton.sources import sibling

bitdelta = sibling(__file__, "bitdelta")
MODELS, TOKENS, DEPTH, COLUMNS = 8, 64, 4096, 4096


@triton.jit
def bitdelta_batched_kernel(a, words, scale, c, TOKENS: tl.constexpr, DEPTH: tl.constexpr,
                            COLUMNS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                            BK: tl.constexpr):
    model = tl.program_id(2)
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    at_a = a + model * TOKENS * DEPTH + rows[:, None] * DEPTH + depth[None, :]
    at_words = words + model * (DEPTH // 32) * COLUMNS
    at_words += (depth[:, None] // 32) * COLUMNS + columns[None, :]
    shift = (depth % 32)[:, None]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, DEPTH, BK):
        bits = (tl.load(at_words) >> shift) & 1
        signs = (2 * bits - 1).to(a.dtype.element_ty)
        total = tl.dot(tl.load(at_a), signs, total)
        at_a += BK
        at_words += BK // 32 * COLUMNS
    total *= tl.load(scale + model)
    at_c = c + model * TOKENS * COLUMNS + rows[:, None] * COLUMNS + columns[None, :]
    tl.store(at_c, total.to(c.dtype.element_ty))


def oracle(a, words, scale):
    return {"c": np.stack([a[i] @ bitdelta.signs_of(words[i]) * scale[i] for i in range(len(a))])}


def contracts():
    yield Contract(
        name="bitdelta_batched", dtype="fp16", kernel=bitdelta_batched_kernel, oracle=oracle,
        arguments=[Tensor("a", "f16", (MODELS, TOKENS, DEPTH), "input"),
                   Tensor("words", "s32", (MODELS, DEPTH // 32, COLUMNS), "input",
                          values=bitdelta.ANY_BITS),
                   Tensor("scale", "f32", (MODELS,), "input", values=bitdelta.SCALE),
                   Tensor("c", "f16", (MODELS, TOKENS, COLUMNS), "output")],
        constants={"TOKENS": TOKENS, "DEPTH": DEPTH, "COLUMNS": COLUMNS},
        grid=lambda c: (TOKENS // c["BM"], COLUMNS // c["BN"], MODELS),
        tuning=[Config(num_warps=w, num_stages=s, constants={"BM": 64, "BN": bn, "BK": bk})
                for bn, bk, w, s in ((128, 64, 4, 3), (64, 64, 4, 3), (128, 32, 4, 4),
                                     (256, 64, 8, 3), (64, 128, 4, 3))],
        tolerance=rounding("f16", absolute=1e-4), flops=2 * MODELS * TOKENS * DEPTH * COLUMNS,
        precision={"operand": "f16", "accumulate": "f32"})
