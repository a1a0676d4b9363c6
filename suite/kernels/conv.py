"""3x3 convolution with padding, channels last, as a product of gathered patches and the filters.

A program takes a block of output pixels of all images and a block of output channels, and walks
over the nine taps and the input channels. Only the border of an image needs a mask.
"""

import numpy as np
import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor, element, rounding

IMAGES, CHANNELS, HEIGHT, WIDTH, FILTERS = 32, 64, 56, 56, 128
PIXELS = IMAGES * HEIGHT * WIDTH


@triton.jit
def conv_kernel(x, w, y, HEIGHT: tl.constexpr, WIDTH: tl.constexpr, CHANNELS: tl.constexpr,
                FILTERS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pixel = tl.program_id(0) * BM + tl.arange(0, BM)
    filters = tl.program_id(1) * BN + tl.arange(0, BN)
    channel = tl.arange(0, BK)
    row = pixel // WIDTH % HEIGHT
    column = pixel % WIDTH
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, 9 * CHANNELS // BK):
        tap = step // (CHANNELS // BK)
        channels = step % (CHANNELS // BK) * BK + channel
        down = tap // 3 - 1
        right = tap % 3 - 1
        inside = (row + down >= 0) & (row + down < HEIGHT)
        inside &= (column + right >= 0) & (column + right < WIDTH)
        source = (pixel + down * WIDTH + right) * CHANNELS
        patch = tl.load(x + source[:, None] + channels[None, :], mask=inside[:, None], other=0.0)
        taps = tl.load(w + (filters[None, :] * 9 + tap) * CHANNELS + channels[:, None])
        total = tl.dot(patch, taps, total)
    tl.store(y + pixel[:, None] * FILTERS + filters[None, :], total.to(y.dtype.element_ty))


def oracle(x, w):
    padded = np.zeros((IMAGES, HEIGHT + 2, WIDTH + 2, CHANNELS))
    padded[:, 1:-1, 1:-1] = x
    y = np.zeros((PIXELS, FILTERS))
    for tap in range(9):
        down, right = divmod(tap, 3)
        patch = padded[:, down:down + HEIGHT, right:right + WIDTH].reshape(PIXELS, CHANNELS)
        y += patch @ w[:, down, right].T
    return {"y": y}


def contracts():
    for precision in ("fp16", "fp8"):
        dtype = element(precision)
        yield Contract(
            name="conv", dtype=precision, kernel=conv_kernel, oracle=oracle,
            arguments=[Tensor("x", dtype, (IMAGES, HEIGHT, WIDTH, CHANNELS), "input"),
                       Tensor("w", dtype, (FILTERS, 3, 3, CHANNELS), "input"),
                       Tensor("y", "f16", (PIXELS, FILTERS), "output")],
            constants={"HEIGHT": HEIGHT, "WIDTH": WIDTH, "CHANNELS": CHANNELS,
                       "FILTERS": FILTERS},
            grid=lambda c: (PIXELS // c["BM"], FILTERS // c["BN"]),
            tuning=[Config(num_warps=w, num_stages=s, constants={"BM": bm, "BN": bn, "BK": bk})
                    for bm, bn, bk, w, s in ((128, 128, 64, 8, 3), (128, 128, 64, 4, 3),
                                             (128, 64, 64, 4, 3), (128, 128, 32, 8, 4),
                                             (64, 128, 64, 4, 3), (256, 128, 64, 8, 3))],
            configs={"sm_89": Config(num_warps=4, num_stages=3,
                                     constants={"BM": 128, "BN": 64, "BK": 32})},
            # Hopper adds eight-bit products up in fewer than 24 bits.
            tolerance=rounding("f16", absolute=5e-3 if precision == "fp16" else 0.25),
            flops=2 * PIXELS * FILTERS * 9 * CHANNELS,
            precision={"operand": dtype, "accumulate": "f32"})
