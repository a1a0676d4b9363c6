"""BitDelta: activations times a matrix of signs, one bit each, times one scale.

The 32 signs of a word lie along the depth: bit k % 32 of word k / 32 is the sign of row k, one for
plus. The batched form has a matrix and a scale for each of several fine-tuned models.
"""

import numpy as np
import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor, element, rounding

TOKENS, DEPTH, COLUMNS = 512, 4096, 4096


@triton.jit
def bitdelta_kernel(a, words, scale, c, DEPTH: tl.constexpr, COLUMNS: tl.constexpr,
                    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    at_a = a + rows[:, None] * DEPTH + depth[None, :]
    at_words = words + (depth[:, None] // 32) * COLUMNS + columns[None, :]
    shift = (depth % 32)[:, None]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, DEPTH, BK):
        bits = (tl.load(at_words) >> shift) & 1
        signs = (2 * bits - 1).to(a.dtype.element_ty)
        total = tl.dot(tl.load(at_a), signs, total)
        at_a += BK
        at_words += BK // 32 * COLUMNS
    total *= tl.load(scale)
    tl.store(c + rows[:, None] * COLUMNS + columns[None, :], total.to(c.dtype.element_ty))


def signs_of(words):
    bits = words[..., :, None, :] >> np.arange(32)[:, None] & 1
    return (2.0 * bits - 1).reshape(*words.shape[:-2], -1, words.shape[-1])


def oracle(a, words, scale):
    return {"c": a @ signs_of(words) * scale}


TUNING = [Config(num_warps=w, num_stages=s, constants={"BM": bm, "BN": bn, "BK": bk})
          for bm, bn, bk, w, s in ((64, 128, 64, 4, 3), (128, 128, 32, 8, 3),
                                   (128, 64, 64, 4, 3), (64, 64, 64, 4, 3), (128, 128, 64, 8, 3))]
ANY_BITS = {"integers": [-2147483648, 2147483647]}
SCALE = {"uniform": [0.001, 0.01]}


def contracts():
    for precision in ("fp16", "bf16"):
        dtype = element(precision)
        yield Contract(
            name="bitdelta", dtype=precision, kernel=bitdelta_kernel, oracle=oracle,
            arguments=[Tensor("a", dtype, (TOKENS, DEPTH), "input"),
                       Tensor("words", "s32", (DEPTH // 32, COLUMNS), "input", values=ANY_BITS),
                       Tensor("scale", "f32", (1,), "input", values=SCALE),
                       Tensor("c", dtype, (TOKENS, COLUMNS), "output")],
            constants={"DEPTH": DEPTH, "COLUMNS": COLUMNS},
            grid=lambda c: (TOKENS // c["BM"], COLUMNS // c["BN"]), tuning=TUNING,
            tolerance=rounding(dtype, absolute=1e-4), flops=2 * TOKENS * DEPTH * COLUMNS,
            precision={"operand": dtype, "accumulate": "f32"})
