"""Mamba-2: the output of each chunk, from the state before it and from the tokens within it.

out = (C state) e^decay + ((C B^T) * fading * dt, causal) x; C B^T is given a chunk as `cb`.
"""

import numpy as np
import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor, element, rounding

BATCH, CHUNKS, CHUNK, HEADS, DIM, STATE = 2, 8, 256, 80, 64, 128


@triton.jit
def mamba_scan_kernel(cb, x, dt, decay, c, states, out, CHUNKS: tl.constexpr,
                      CHUNK: tl.constexpr, HEADS: tl.constexpr, DIM: tl.constexpr,
                      STATE: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr):
    block = tl.program_id(0)
    chunk = tl.program_id(1)
    head = tl.program_id(2)
    rows = block * BM + tl.arange(0, BM)
    dims = tl.arange(0, DIM)
    inner = tl.arange(0, STATE)
    tokens = tl.arange(0, BK)
    first = chunk * CHUNK
    row = (chunk // CHUNKS * HEADS + head) * CHUNKS * CHUNK + chunk % CHUNKS * CHUNK
    decay_rows = tl.load(decay + row + rows)
    queries = tl.load(c + (first + rows)[:, None] * STATE + inner[None, :])
    before = tl.load(states + ((chunk * HEADS + head) * DIM + dims[None, :]) * STATE
                     + inner[:, None])
    total = tl.dot(queries, before) * tl.exp(decay_rows)[:, None]
    at_cb = cb + (first + rows)[:, None] * CHUNK + tokens[None, :]
    at_x = x + ((first + tokens)[:, None] * HEADS + head) * DIM + dims[None, :]
    for start in range(0, (block + 1) * BM, BK):
        faded = tl.load(decay + row + start + tokens)
        fading = tl.exp(tl.minimum(decay_rows[:, None] - faded[None, :], 0.0))
        scores = tl.load(at_cb).to(tl.float32) * fading
        scores *= tl.load(dt + row + start + tokens)[None, :]
        scores = tl.where(rows[:, None] >= (start + tokens)[None, :], scores, 0.0)
        total = tl.dot(scores.to(x.dtype.element_ty), tl.load(at_x), total)
        at_cb += BK
        at_x += BK * HEADS * DIM
    at = out + ((first + rows)[:, None] * HEADS + head) * DIM + dims[None, :]
    tl.store(at, total.to(out.dtype.element_ty))


def oracle(cb, x, dt, decay, c, states):
    causal = np.tril(np.ones((CHUNK, CHUNK)))
    out = np.empty((BATCH, CHUNKS * CHUNK, HEADS, DIM))
    for batch in range(BATCH):
        for chunk in range(CHUNKS):
            here = slice(chunk * CHUNK, (chunk + 1) * CHUNK)
            d = decay[batch, :, chunk]
            fading = np.exp(np.minimum(d[:, :, None] - d[:, None, :], 0))
            scores = cb[batch, chunk] * fading * dt[batch, :, chunk][:, None, :] * causal
            within = scores @ x[batch, here].transpose(1, 0, 2)
            carried = c[batch, here] @ states[batch, chunk].transpose(0, 2, 1)
            out[batch, here] = (within + carried * np.exp(d)[:, :, None]).transpose(1, 0, 2)
    return {"out": out}


def contracts():
    by_chunk = (BATCH, HEADS, CHUNKS, CHUNK)
    tokens = CHUNKS * CHUNK
    for precision in ("fp16", "bf16"):
        dtype = element(precision)
        yield Contract(
            name="mamba_scan", dtype=precision, kernel=mamba_scan_kernel, oracle=oracle,
            arguments=[Tensor("cb", dtype, (BATCH, CHUNKS, CHUNK, CHUNK), "input"),
                       Tensor("x", dtype, (BATCH, tokens, HEADS, DIM), "input"),
                       Tensor("dt", "f32", by_chunk, "input", values={"uniform": [0.001, 0.1]}),
                       Tensor("decay", "f32", by_chunk, "input",
                              values={"uniform": [-8.0, 0.0]}),
                       Tensor("c", dtype, (BATCH, tokens, STATE), "input"),
                       Tensor("states", dtype, (BATCH, CHUNKS, HEADS, DIM, STATE), "input"),
                       Tensor("out", dtype, (BATCH, tokens, HEADS, DIM), "output")],
            constants={"CHUNKS": CHUNKS, "CHUNK": CHUNK, "HEADS": HEADS, "DIM": DIM,
                       "STATE": STATE},
            grid=lambda c: (CHUNK // c["BM"], BATCH * CHUNKS, HEADS),
            tuning=[Config(num_warps=w, num_stages=s, constants={"BM": bm, "BK": bk})
                    for bm, bk, w, s in ((64, 64, 4, 3), (128, 64, 4, 2), (128, 64, 8, 2),
                                         (64, 32, 4, 3), (128, 32, 8, 3))],
            configs={"sm_89": Config(num_warps=4, num_stages=2, constants={"BM": 64, "BK": 32})},
            tolerance=rounding(dtype, absolute=2e-3 if precision == "fp16" else 0.12),
            flops=2 * BATCH * CHUNKS * HEADS * DIM * CHUNK * (STATE + CHUNK // 2),
            precision={"operand": dtype, "accumulate": "f32"})
