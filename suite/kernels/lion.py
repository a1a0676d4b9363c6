"""A step of the optimiser Lion in place: the sign of a mixture of momentum and gradient moves the
weight, then the momentum takes the gradient in.
"""

import numpy as np
import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor, element, rounding

ELEMENTS = 4096 * 4096
RATE, DECAY, BETA1, BETA2 = 1e-4, 0.1, 0.9, 0.99


@triton.jit
def lion_kernel(weight, gradient, momentum, rate, decay, beta1, beta2, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    w = tl.load(weight + at).to(tl.float32)
    g = tl.load(gradient + at).to(tl.float32)
    m = tl.load(momentum + at).to(tl.float32)
    mixed = m * beta1 + g * (1.0 - beta1)
    step = tl.where(mixed > 0.0, rate, tl.where(mixed < 0.0, -rate, 0.0))
    w = w * (1.0 - rate * decay) - step
    m = m * beta2 + g * (1.0 - beta2)
    tl.store(weight + at, w.to(weight.dtype.element_ty))
    tl.store(momentum + at, m.to(momentum.dtype.element_ty))


def oracle(weight, gradient, momentum):
    rate, decay, beta1, beta2 = (
        float(np.float32(v)) for v in (RATE, DECAY, BETA1, BETA2))
    step = rate * np.sign(momentum * beta1 + gradient * (1 - beta1))
    return {"weight": weight * (1 - rate * decay) - step,
            "momentum": momentum * beta2 + gradient * (1 - beta2)}


def contracts():
    for precision in ("fp16", "bf16"):
        dtype = element(precision)
        yield Contract(
            name="lion", dtype=precision, kernel=lion_kernel, oracle=oracle,
            arguments=[Tensor("weight", dtype, (ELEMENTS,), "inout"),
                       Tensor("gradient", dtype, (ELEMENTS,), "input"),
                       Tensor("momentum", dtype, (ELEMENTS,), "inout"),
                       ("rate", ("fp32", RATE)), ("decay", ("fp32", DECAY)),
                       ("beta1", ("fp32", BETA1)), ("beta2", ("fp32", BETA2))],
            grid=lambda c: (ELEMENTS // c["BLOCK"],),
            tuning=[Config(num_warps=w, constants={"BLOCK": b})
                    for b, w in ((1024, 4), (2048, 4), (2048, 8), (4096, 8), (1024, 2),
                                 (512, 2))],
            tolerance=rounding(dtype), precision={"operand": dtype, "accumulate": "f32"})
