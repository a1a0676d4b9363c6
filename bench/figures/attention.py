"""One head of the suite's attention, 1024 queries and keys of 64 halves: the size for which
`verify_bench --figures` has a time to keep.
`PYTHONPATH=python python3 -m lathe_triton export bench/figures/attention.py --target sm_90a`
writes it again."""

from dataclasses import replace
from pathlib import Path

from lathe_triton.sources import load

TOKENS = 1024


def contracts():
    suite = load(Path(__file__).resolve().parents[2] / "suite/kernels/attention.py")
    whole = next(c for c in suite.contracts() if c.dtype == "fp16")
    shape = (1, TOKENS, suite.DIM)
    yield replace(
        whole, name="attention_1024x64", home="bench/figures",
        arguments=[replace(a, shape=shape) if hasattr(a, "shape") else a for a in whole.arguments],
        constants={**whole.constants, "TOKENS": TOKENS},
        grid=lambda c: (TOKENS // c["BM"], 1),
        alternatives={f"tile{c.constants['BM']}x{c.constants['BN']}_warps{c.num_warps}": c
                      for c in whole.tuning[1:4]},
        flops=4 * TOKENS * TOKENS * suite.DIM)
