"""Mamba-2: the state that each chunk of tokens adds, B^T (x dt decay) for each head.

`decay` holds the running sums of dt A within a chunk: what a token added has faded by the
difference to the chunk's last token.
"""

import numpy as np
import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor, element

BATCH, CHUNKS, CHUNK, HEADS, DIM, STATE = 2, 8, 256, 80, 64, 128


@triton.jit
def mamba_state_kernel(x, b, dt, decay, states, CHUNKS: tl.constexpr, CHUNK: tl.constexpr,
                       HEADS: tl.constexpr, DIM: tl.constexpr, STATE: tl.constexpr,
                       BN: tl.constexpr, BK: tl.constexpr):
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    chunk = tl.program_id(1)
    head = tl.program_id(2)
    dims = tl.arange(0, DIM)
    tokens = tl.arange(0, BK)
    first = chunk * CHUNK
    row = (chunk // CHUNKS * HEADS + head) * CHUNKS * CHUNK + chunk % CHUNKS * CHUNK
    last = tl.load(decay + row + CHUNK - 1)
    at_x = x + ((first + tokens)[None, :] * HEADS + head) * DIM + dims[:, None]
    at_b = b + (first + tokens)[:, None] * STATE + columns[None, :]
    total = tl.zeros((DIM, BN), dtype=tl.float32)
    for start in range(0, CHUNK, BK):
        faded = tl.load(decay + row + start + tokens)
        scale = tl.exp(tl.minimum(last - faded, 0.0)) * tl.load(dt + row + start + tokens)
        scaled = (tl.load(at_b).to(tl.float32) * scale[:, None]).to(b.dtype.element_ty)
        total = tl.dot(tl.load(at_x), scaled, total)
        at_x += BK * HEADS * DIM
        at_b += BK * STATE
    at = states + ((chunk * HEADS + head) * DIM + dims[:, None]) * STATE + columns[None, :]
    tl.store(at, total)


def oracle(x, b, dt, decay):
    scale = np.exp(np.minimum(decay[..., -1:] - decay, 0)) * dt
    x = x.reshape(BATCH, CHUNKS, CHUNK, HEADS, DIM).transpose(0, 1, 3, 4, 2)
    b = b.reshape(BATCH, CHUNKS, 1, CHUNK, STATE)
    return {"states": (x * scale.transpose(0, 2, 1, 3)[:, :, :, None, :]) @ b}


def contracts():
    by_chunk = (BATCH, HEADS, CHUNKS, CHUNK)
    for precision in ("fp16", "bf16"):
        dtype = element(precision)
        yield Contract(
            name="mamba_state", dtype=precision, kernel=mamba_state_kernel, oracle=oracle,
            arguments=[Tensor("x", dtype, (BATCH, CHUNKS * CHUNK, HEADS, DIM), "input"),
                       Tensor("b", dtype, (BATCH, CHUNKS * CHUNK, STATE), "input"),
                       Tensor("dt", "f32", by_chunk, "input", values={"uniform": [0.001, 0.1]}),
                       Tensor("decay", "f32", by_chunk, "input",
                              values={"uniform": [-8.0, 0.0]}),
                       Tensor("states", "f32", (BATCH, CHUNKS, HEADS, DIM, STATE), "output")],
            constants={"CHUNKS": CHUNKS, "CHUNK": CHUNK, "HEADS": HEADS, "DIM": DIM,
                       "STATE": STATE},
            grid=lambda c: (STATE // c["BN"], BATCH * CHUNKS, HEADS),
            tuning=[Config(num_warps=w, num_stages=s, constants={"BN": bn, "BK": bk})
                    for bn, bk, w, s in ((128, 64, 4, 3), (128, 32, 4, 3), (64, 64, 4, 3),
                                         (128, 64, 8, 3), (64, 32, 4, 4))],
            tolerance={"absolute": 1.5e-3 if precision == "fp16" else 9e-3,
                       "relative": 1e-3 if precision == "fp16" else 8e-3, "error_factor": 2.0},
            flops=2 * BATCH * CHUNKS * CHUNK * HEADS * DIM * STATE,
            precision={"operand": dtype, "accumulate": "f32"})
