"""Rotary position embedding: the two halves of each head are rotated by the angle of the token.

One program takes a block of heads of one token, so the cosines and sines are read once for them.
"""

import numpy as np
import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor, element, rounding

TOKENS, HEADS, DIM = 4096, 32, 128


@triton.jit
def rope_kernel(x, cosines, sines, y, HEADS: tl.constexpr, DIM: tl.constexpr, B: tl.constexpr):
    token = tl.program_id(0)
    heads = tl.program_id(1) * B + tl.arange(0, B)
    half = tl.arange(0, DIM // 2)
    cosine = tl.load(cosines + token * (DIM // 2) + half)[None, :]
    sine = tl.load(sines + token * (DIM // 2) + half)[None, :]
    at = (token * HEADS + heads[:, None]) * DIM + half[None, :]
    first = tl.load(x + at).to(tl.float32)
    second = tl.load(x + at + DIM // 2).to(tl.float32)
    tl.store(y + at, (first * cosine - second * sine).to(y.dtype.element_ty))
    tl.store(y + at + DIM // 2, (second * cosine + first * sine).to(y.dtype.element_ty))


def oracle(x, cosines, sines):
    first, second = x[..., :DIM // 2], x[..., DIM // 2:]
    cosines, sines = cosines[:, None, :], sines[:, None, :]
    return {"y": np.concatenate([first * cosines - second * sines,
                                 second * cosines + first * sines], axis=2)}


def contracts():
    for precision in ("fp16", "fp8"):
        dtype = element(precision)
        angles = {"uniform": [-1.0, 1.0]}
        yield Contract(
            name="rope", dtype=precision, kernel=rope_kernel, oracle=oracle,
            arguments=[Tensor("x", dtype, (TOKENS, HEADS, DIM), "input"),
                       Tensor("cosines", "f32", (TOKENS, DIM // 2), "input", values=angles),
                       Tensor("sines", "f32", (TOKENS, DIM // 2), "input", values=angles),
                       Tensor("y", dtype, (TOKENS, HEADS, DIM), "output")],
            constants={"HEADS": HEADS, "DIM": DIM}, grid=lambda c: (TOKENS, HEADS // c["B"]),
            tuning=[Config(num_warps=w, constants={"B": b}) for b, w in
                    ((8, 2), (8, 4), (4, 1), (16, 4), (32, 4), (32, 8), (16, 2))],
            tolerance=rounding(dtype), precision={"operand": dtype, "accumulate": "f32"})
