"""FlashAttention, forward, without a mask: softmax(Q K^T / sqrt(d)) V, keys and values in tiles.

In eight bits the values are given by columns, and the weights are rounded for the second product.
"""

import numpy as np
import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor, element, rounding

BATCH_HEADS, TOKENS, DIM = 2 * 16, 2048, 64


@triton.jit
def attention_kernel(q, k, v, out, qk_scale, TOKENS: tl.constexpr, DIM: tl.constexpr,
                     BM: tl.constexpr, BN: tl.constexpr, V_BY_COLUMNS: tl.constexpr):
    head = tl.program_id(1) * TOKENS * DIM
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.arange(0, BN)
    dims = tl.arange(0, DIM)
    queries = tl.load(q + head + rows[:, None] * DIM + dims[None, :])
    at_k = k + head + columns[None, :] * DIM + dims[:, None]
    if V_BY_COLUMNS:
        at_v = v + head + dims[None, :] * TOKENS + columns[:, None]
        step_v = BN
    else:
        at_v = v + head + columns[:, None] * DIM + dims[None, :]
        step_v = BN * DIM
    greatest = tl.full((BM,), float("-inf"), dtype=tl.float32)
    weight = tl.zeros((BM,), dtype=tl.float32)
    total = tl.zeros((BM, DIM), dtype=tl.float32)
    for _ in range(0, TOKENS, BN):
        scores = tl.dot(queries, tl.load(at_k)) * qk_scale
        new_greatest = tl.maximum(greatest, tl.max(scores, 1))
        powers = tl.exp2(scores - new_greatest[:, None])
        shrink = tl.exp2(greatest - new_greatest)
        weight = weight * shrink + tl.sum(powers, 1)
        total = total * shrink[:, None]
        total = tl.dot(powers.to(v.dtype.element_ty), tl.load(at_v), total)
        greatest = new_greatest
        at_k += BN * DIM
        at_v += step_v
    total = total / weight[:, None]
    tl.store(out + head + rows[:, None] * DIM + dims[None, :], total.to(out.dtype.element_ty))


# 1 / sqrt(64), times the logarithm that turns e^x into 2^x.
QK_SCALE = DIM ** -0.5 * 1.4426950408889634


def oracle(q, k, v):
    scale = float(np.float32(QK_SCALE)) * np.log(2)
    out = np.empty(q.shape)
    for head in range(len(q)):
        scores = q[head] @ k[head].T * scale
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        out[head] = powers @ v[head] / powers.sum(axis=1, keepdims=True)
    return {"out": out}


def oracle_by_columns(q, k, v):
    return oracle(q, k, v.transpose(0, 2, 1))


def contracts():
    shape = (BATCH_HEADS, TOKENS, DIM)
    for precision in ("fp16", "bf16", "fp8"):
        dtype = element(precision)
        by_columns = precision == "fp8"
        v_shape = (BATCH_HEADS, DIM, TOKENS) if by_columns else shape
        out = "f16" if by_columns else dtype
        yield Contract(
            name="attention", dtype=precision, kernel=attention_kernel,
            oracle=oracle_by_columns if by_columns else oracle,
            arguments=[Tensor("q", dtype, shape, "input"), Tensor("k", dtype, shape, "input"),
                       Tensor("v", dtype, v_shape, "input"), Tensor("out", out, shape, "output"),
                       ("qk_scale", ("fp32", QK_SCALE))],
            constants={"TOKENS": TOKENS, "DIM": DIM, "V_BY_COLUMNS": by_columns},
            grid=lambda c: (TOKENS // c["BM"], BATCH_HEADS),
            tuning=[Config(num_warps=w, num_stages=s, constants={"BM": bm, "BN": bn})
                    for bm, bn, w, s in ((128, 128, 8, 3), (128, 64, 4, 3), (128, 64, 8, 3),
                                         (64, 64, 4, 3), (128, 128, 4, 2), (64, 128, 4, 2))],
            configs={"sm_89": Config(num_warps=4, num_stages=3, constants={"BM": 64, "BN": 64})},
            tolerance=rounding("f16" if precision == "fp8" else dtype, of=dtype,
                               absolute={"fp16": 2.5e-4, "bf16": 1e-3, "fp8": 2e-2}[precision]),
            flops=4 * BATCH_HEADS * TOKENS * TOKENS * DIM,
            precision={"operand": dtype, "accumulate": "f32"})
