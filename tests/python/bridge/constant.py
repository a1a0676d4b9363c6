"""A kernel of which every scalar is a constexpr: Triton's override mechanism may have it."""

import hashlib

import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at).to(tl.float32)
    tl.store(y + at, (value / (1 + tl.exp(-value))).to(tl.float16))


def main():
    torch.manual_seed(3)
    x = torch.randn(16384, device="cuda", dtype=torch.float16)
    y = torch.empty(16384, device="cuda", dtype=torch.float16)
    for _ in range(2):
        silu_kernel[(16,)](x, y, BLOCK=1024)
    print("silu", hashlib.sha256(y.cpu().numpy().tobytes()).hexdigest()[:16])


if __name__ == "__main__":
    main()
