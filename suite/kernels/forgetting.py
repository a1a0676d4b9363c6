"""Forgetting attention, forward, causal: the scores lose what the forget gates between the two
tokens took away. `decay` holds the sums of the gates' logarithms up to each token.
"""

import numpy as np
import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor, element, rounding

BATCH_HEADS, TOKENS, DIM = 2 * 16, 2048, 64
LOG2_E = 1.4426950408889634
QK_SCALE = DIM ** -0.5 * LOG2_E


@triton.jit
def _step(queries, decay_rows, rows, columns, at_k, at_v, at_decay, greatest, weight, total,
          qk_scale, MASKED: tl.constexpr):
    scores = tl.dot(queries, tl.load(at_k)) * qk_scale
    faded = tl.load(at_decay) * 1.4426950408889634
    scores += decay_rows[:, None] - faded[None, :]
    if MASKED:
        scores = tl.where(rows[:, None] >= columns[None, :], scores, float("-inf"))
    new_greatest = tl.maximum(greatest, tl.max(scores, 1))
    powers = tl.exp2(scores - new_greatest[:, None])
    shrink = tl.exp2(greatest - new_greatest)
    weight = weight * shrink + tl.sum(powers, 1)
    values = tl.load(at_v)
    total = tl.dot(powers.to(values.dtype), values, total * shrink[:, None])
    return new_greatest, weight, total


@triton.jit
def forgetting_kernel(q, k, v, decay, out, qk_scale, TOKENS: tl.constexpr, DIM: tl.constexpr,
                      BM: tl.constexpr, BN: tl.constexpr):
    block = tl.program_id(0)
    head = tl.program_id(1)
    rows = block * BM + tl.arange(0, BM)
    dims = tl.arange(0, DIM)
    columns = tl.arange(0, BN)
    place = head * TOKENS * DIM
    queries = tl.load(q + place + rows[:, None] * DIM + dims[None, :])
    decay_rows = tl.load(decay + head * TOKENS + rows) * 1.4426950408889634
    at_k = k + place + columns[None, :] * DIM + dims[:, None]
    at_v = v + place + columns[:, None] * DIM + dims[None, :]
    at_decay = decay + head * TOKENS + columns
    greatest = tl.full((BM,), float("-inf"), dtype=tl.float32)
    weight = tl.zeros((BM,), dtype=tl.float32)
    total = tl.zeros((BM, DIM), dtype=tl.float32)
    for start in range(0, block * BM, BN):
        greatest, weight, total = _step(queries, decay_rows, rows, start + columns, at_k, at_v,
                                        at_decay, greatest, weight, total, qk_scale, False)
        at_k += BN * DIM
        at_v += BN * DIM
        at_decay += BN
    for start in range(block * BM, (block + 1) * BM, BN):
        greatest, weight, total = _step(queries, decay_rows, rows, start + columns, at_k, at_v,
                                        at_decay, greatest, weight, total, qk_scale, True)
        at_k += BN * DIM
        at_v += BN * DIM
        at_decay += BN
    total = total / weight[:, None]
    tl.store(out + place + rows[:, None] * DIM + dims[None, :], total.to(out.dtype.element_ty))


def oracle(q, k, v, decay):
    later = np.triu(np.ones((TOKENS, TOKENS), bool), 1)
    out = np.empty(q.shape)
    for head in range(len(q)):
        scores = q[head] @ k[head].T * DIM ** -0.5
        scores += decay[head][:, None] - decay[head][None, :]
        scores[later] = -np.inf
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        out[head] = powers @ v[head] / powers.sum(axis=1, keepdims=True)
    return {"out": out}


def contracts():
    shape = (BATCH_HEADS, TOKENS, DIM)
    for precision in ("fp16", "bf16"):
        dtype = element(precision)
        yield Contract(
            name="forgetting", dtype=precision, kernel=forgetting_kernel, oracle=oracle,
            arguments=[Tensor("q", dtype, shape, "input"), Tensor("k", dtype, shape, "input"),
                       Tensor("v", dtype, shape, "input"),
                       Tensor("decay", "f32", (BATCH_HEADS, TOKENS), "input",
                              values={"uniform": [-16.0, 0.0]}),
                       Tensor("out", dtype, shape, "output"), ("qk_scale", ("fp32", QK_SCALE))],
            constants={"TOKENS": TOKENS, "DIM": DIM},
            grid=lambda c: (TOKENS // c["BM"], BATCH_HEADS),
            tuning=[Config(num_warps=w, num_stages=s, constants={"BM": bm, "BN": bn})
                    for bm, bn, w, s in ((128, 64, 4, 3), (128, 64, 8, 3), (64, 64, 4, 3),
                                         (128, 128, 8, 3), (64, 32, 4, 3))],
            configs={"sm_89": Config(num_warps=4, num_stages=3, constants={"BM": 64, "BN": 64})},
            tolerance=rounding(dtype, absolute=1e-3 if precision == "fp16" else 6e-3),
            flops=2 * BATCH_HEADS * TOKENS * TOKENS * DIM,
            precision={"operand": dtype, "accumulate": "f32"})
