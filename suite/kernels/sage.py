"""SageAttention, forward: queries and keys in eight bits with a scale a block, values in half
precision. The scale of the queries holds 1 / sqrt(d) and the logarithm that turns e^x into 2^x.
"""

import numpy as np
import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor, rounding

BATCH_HEADS, TOKENS, DIM = 2 * 16, 2048, 64
Q_BLOCK, K_BLOCK = 128, 64  # Tokens that share a scale.


@triton.jit
def sage_kernel(q, k, v, q_scale, k_scale, out, TOKENS: tl.constexpr, DIM: tl.constexpr,
                Q_BLOCK: tl.constexpr, K_BLOCK: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    block = tl.program_id(0)
    head = tl.program_id(1)
    place = head * TOKENS * DIM
    rows = block * BM + tl.arange(0, BM)
    columns = tl.arange(0, BN)
    dims = tl.arange(0, DIM)
    queries = tl.load(q + place + rows[:, None] * DIM + dims[None, :])
    row_scale = tl.load(q_scale + head * (TOKENS // Q_BLOCK) + block * BM // Q_BLOCK)
    at_k = k + place + columns[None, :] * DIM + dims[:, None]
    at_v = v + place + columns[:, None] * DIM + dims[None, :]
    greatest = tl.full((BM,), float("-inf"), dtype=tl.float32)
    weight = tl.zeros((BM,), dtype=tl.float32)
    total = tl.zeros((BM, DIM), dtype=tl.float32)
    for start in range(0, TOKENS, BN):
        column_scale = tl.load(k_scale + head * (TOKENS // K_BLOCK) + start // K_BLOCK)
        scores = tl.dot(queries, tl.load(at_k)).to(tl.float32) * (row_scale * column_scale)
        new_greatest = tl.maximum(greatest, tl.max(scores, 1))
        powers = tl.exp2(scores - new_greatest[:, None])
        shrink = tl.exp2(greatest - new_greatest)
        weight = weight * shrink + tl.sum(powers, 1)
        total = tl.dot(powers.to(tl.float16), tl.load(at_v), total * shrink[:, None])
        greatest = new_greatest
        at_k += BN * DIM
        at_v += BN * DIM
    total = total / weight[:, None]
    tl.store(out + place + rows[:, None] * DIM + dims[None, :], total.to(tl.float16))


def oracle(q, k, v, q_scale, k_scale):
    out = np.empty(q.shape)
    for head in range(len(q)):
        scores = q[head] @ k[head].T
        scores *= np.repeat(q_scale[head], Q_BLOCK)[:, None]
        scores *= np.repeat(k_scale[head], K_BLOCK)[None, :]
        powers = np.exp2(scores - scores.max(axis=1, keepdims=True))
        out[head] = powers @ v[head] / powers.sum(axis=1, keepdims=True)
    return {"out": out}


def contracts():
    shape = (BATCH_HEADS, TOKENS, DIM)
    eight_bits = {"integers": [-127, 127]}
    yield Contract(
        name="sage", dtype="int8", kernel=sage_kernel, oracle=oracle,
        arguments=[Tensor("q", "s8", shape, "input", values=eight_bits),
                   Tensor("k", "s8", shape, "input", values=eight_bits),
                   Tensor("v", "f16", shape, "input"),
                   Tensor("q_scale", "f32", (BATCH_HEADS, TOKENS // Q_BLOCK), "input",
                          values={"uniform": [0.001, 0.004]}),
                   Tensor("k_scale", "f32", (BATCH_HEADS, TOKENS // K_BLOCK), "input",
                          values={"uniform": [0.01, 0.03]}),
                   Tensor("out", "f16", shape, "output")],
        constants={"TOKENS": TOKENS, "DIM": DIM, "Q_BLOCK": Q_BLOCK, "K_BLOCK": K_BLOCK},
        grid=lambda c: (TOKENS // c["BM"], BATCH_HEADS),
        tuning=[Config(num_warps=w, num_stages=s, constants={"BM": bm, "BN": bn})
                for bm, bn, w, s in ((128, 64, 4, 3), (128, 64, 8, 3), (64, 64, 4, 3),
                                     (128, 64, 8, 4), (128, 32, 4, 4))],
        tolerance=rounding("f16", absolute=1e-3), flops=4 * BATCH_HEADS * TOKENS * TOKENS * DIM,
        precision={"operand": "s8", "accumulate": "f32"})
