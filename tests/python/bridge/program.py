"""Five Triton kernels as a user has them: one autotuned, one launched with two shapes, one with an
index tensor, one in place. Prints a digest of each output. `program.py warm` launches the last one
alone, so that the next run finds it in the disk's cache."""

import hashlib
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@triton.jit
def softmax_kernel(x, out, row_stride, COLUMNS: tl.constexpr):
    at = tl.program_id(0) * row_stride + tl.arange(0, COLUMNS)
    row = tl.load(x + at).to(tl.float32)
    power = tl.exp(row - tl.max(row, axis=0))
    tl.store(out + at, (power / tl.sum(power, axis=0)).to(tl.float16))


@triton.autotune(configs=[triton.Config({"BK": 32}, num_warps=4, num_stages=2),
                          triton.Config({"BK": 64}, num_warps=4, num_stages=2),
                          triton.Config({"BK": 32}, num_warps=8, num_stages=3)], key=["k"])
@triton.jit
def matmul_kernel(a, b, c, k, stride_a, stride_b, stride_c, BM: tl.constexpr, BN: tl.constexpr,
                  BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    at_a = a + rows[:, None] * stride_a + depth[None, :]
    at_b = b + depth[:, None] * stride_b + columns[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, k, BK):
        total = tl.dot(tl.load(at_a), tl.load(at_b), total)
        at_a += BK
        at_b += BK * stride_b
    tl.store(c + rows[:, None] * stride_c + columns[None, :], total.to(tl.float16))


@triton.jit
def gather_kernel(table, index, out, COLUMNS: tl.constexpr):
    row = tl.load(index + tl.program_id(0))
    at = tl.arange(0, COLUMNS)
    tl.store(out + tl.program_id(0) * COLUMNS + at, tl.load(table + row * COLUMNS + at))


@triton.jit
def scale_kernel(x, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at) * factor)


def say(name, tensor):
    print(name, hashlib.sha256(tensor.cpu().numpy().tobytes()).hexdigest()[:16])


def scale():
    x = torch.arange(8192, device="cuda", dtype=torch.float32)
    scale_kernel[(8,)](x, 0.625, BLOCK=1024)
    say("scale", x)


def main():
    torch.manual_seed(7)
    x = torch.randn(5000, device="cuda", dtype=torch.float32)
    y = torch.randn(5000, device="cuda", dtype=torch.float32)
    out = torch.empty(5000, device="cuda", dtype=torch.float32)
    for _ in range(3):
        add_kernel[(5,)](x, y, out, 5000, BLOCK=1024)
    say("add", out)

    for rows in (64, 96):
        logits = torch.randn(rows, 512, device="cuda", dtype=torch.float16)
        chances = torch.empty(rows, 512, device="cuda", dtype=torch.float16)
        softmax_kernel[(rows,)](logits, chances, 512, COLUMNS=512)
        say(f"softmax {rows}", chances)

    a = torch.randn(256, 128, device="cuda", dtype=torch.float16)
    b = torch.randn(128, 192, device="cuda", dtype=torch.float16)
    c = torch.empty(256, 192, device="cuda", dtype=torch.float16)
    for _ in range(2):
        matmul_kernel[(4, 3)](a, b, c, 128, 128, 192, 192, BM=64, BN=64)
    say("matmul", c)

    table = torch.randn(100, 256, device="cuda", dtype=torch.float32)
    index = torch.randint(0, 100, (32,), device="cuda", dtype=torch.int32)
    picked = torch.empty(32, 256, device="cuda", dtype=torch.float32)
    gather_kernel[(32,)](table, index, picked, COLUMNS=256)
    say("gather", picked)

    scale()


if __name__ == "__main__":
    scale() if sys.argv[1:] == ["warm"] else main()
