"""`python -m lathe_triton integers`: random integer kernels that compute nothing known.

A seed gives one source of about 150 lines: integer and bitwise arithmetic, remainders, hashing,
reductions over the block, unrolled loops, selections, gathers and Triton's hints on indices. The
same statements are written for Triton and, as the oracle, for NumPy.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from .answer import Answer, add_option

STATEMENTS = 108
BLOCK, PROGRAMS = 256, 96


# What every kernel has.
KINDS = (" % ", " // ", " >> ", " << ", " ^ ", "tl.where(", "tl.maximum(", "tl.minimum(",
         "tl.sum(", "tl.max(", "tl.static_range(", "tl.load(")


class Writer:
    """Statements of one kernel, in both languages, over variables v0, v1, .."""

    def __init__(self, seed: int | str):
        self.random = random.Random(seed)
        self.triton: list[str] = []
        self.numpy: list[str] = []
        self.count = 2

    def both(self, triton: str, numpy: str | None = None) -> None:
        self.triton.append(triton)
        self.numpy.append(triton if numpy is None else numpy)

    def some(self) -> str:
        """A variable, of the last ones more often, so that chains grow long."""
        back = min(int(self.random.expovariate(0.25)), self.count - 1)
        return f"v{self.count - 1 - back}"

    def new(self) -> str:
        self.count += 1
        return f"v{self.count - 1}"

    def constant(self) -> int:
        return self.random.choice([self.random.randrange(1, 256), self.random.randrange(1, 2**30)])

    def arithmetic(self) -> None:
        a, b = self.some(), self.some()
        op = self.random.choice("+-*&|^")
        self.both(f"{self.new()} = {a} {op} {b}")

    def with_constant(self) -> None:
        a, op = self.some(), self.random.choice("+-*^&|")
        self.both(f"{self.new()} = {a} {op} {self.constant()}")

    def shift(self) -> None:
        a, n = self.some(), self.random.randrange(1, 31)
        self.both(f"{self.new()} = {a} {self.random.choice(['>>', '<<'])} {n}")

    def remainder(self) -> None:
        a, n = self.some(), self.random.randrange(3, 10000)
        self.both(f"{self.new()} = ({a} & 0x7FFFFFFF) {self.random.choice(['%', '//'])} {n}")

    def hashed(self) -> None:
        a, odd = self.some(), self.random.randrange(1, 2**30) * 2 + 1
        h, n = self.new(), self.random.randrange(5, 17)
        self.both(f"{h} = {a} ^ ({a} >> {n})")
        self.both(f"{h} = {h} * {odd}")
        self.both(f"{h} = {h} ^ (({h} >> {n + 3}) & {(1 << (29 - n)) - 1})")

    def selection(self) -> None:
        a, b, c, d = (self.some() for _ in range(4))
        op = self.random.choice(["<", ">=", "==", "!=", ">"])
        v = self.new()
        rest = f".where({a} {op} {b}, {c}, {d})"
        self.both(f"{v} = tl{rest}", f"{v} = np{rest}")

    def extremum(self) -> None:
        a, b, which = self.some(), self.some(), self.random.choice(["maximum", "minimum"])
        v = self.new()
        self.both(f"{v} = tl.{which}({a}, {b})", f"{v} = np.{which}({a}, {b})")

    def reduction(self) -> None:
        a, b, which = self.some(), self.some(), self.random.choice(["sum", "max"])
        v = self.new()
        wide = ", dtype=np.int32" if which == "sum" else ""
        self.both(f"{v} = {b} ^ tl.{which}({a}, axis=0)",
                  f"{v} = {b} ^ {a}.{which}(axis=1, keepdims=True{wide})")

    def unrolled(self) -> None:
        a, times, odd = self.some(), self.random.randrange(2, 5), self.constant() | 1
        v = self.new()
        self.both(f"{v} = {a}")
        self.both(f"for i in tl.static_range({times}):", f"for i in range({times}):")
        self.both(f"    {v} = ({v} ^ ({v} << (i + 1))) + {odd}")

    def gather(self) -> None:
        a, which = self.some(), self.random.choice("xy")
        v = self.new()
        size = BLOCK * PROGRAMS
        self.both(f"{v} = tl.load({which} + ({a} & 0x7FFFFFFF) % {size})",
                  f"{v} = {which}[({a} & 0x7FFFFFFF) % {size}]")

    def write(self) -> None:
        kinds = [(self.arithmetic, 10), (self.with_constant, 8), (self.shift, 5),
                 (self.remainder, 4), (self.hashed, 5), (self.selection, 5), (self.extremum, 4),
                 (self.reduction, 3), (self.unrolled, 2), (self.gather, 2)]
        steps = [step for step, _ in kinds]  # Each at least once, the others as drawn.
        steps += self.random.choices(steps, [weight for _, weight in kinds],
                                     k=STATEMENTS - len(steps))
        self.random.shuffle(steps)
        for step in steps:
            step()
        last = " ^ ".join(f"v{i}" for i in range(self.count - 6, self.count))
        self.both(f"result = {last}")


def _drawn(seed: int) -> Writer:
    """The first draw of the seed that has a statement of every kind."""
    attempt = 0
    while True:
        writer = Writer(f"{seed}/{attempt}" if attempt else seed)
        writer.write()
        if all(any(kind in line for line in writer.triton) for kind in KINDS):
            return writer
        attempt += 1


def source(seed: int) -> str:
    """The text of the source file of one seed."""
    writer = _drawn(seed)
    indented = {name: "\n".join("    " + line for line in lines)
                for name, lines in (("triton", writer.triton), ("numpy", writer.numpy))}
    return f'''"""Integer arithmetic of no known meaning, drawn from the seed {seed}: written by
`python -m lathe_triton integers {seed}`."""

import numpy as np
import triton
import triton.language as tl

from lathe_triton import Config, Contract, Tensor

BLOCK, PROGRAMS = {BLOCK}, {PROGRAMS}


@triton.jit
def integers_{seed}_kernel(x, y, out, BLOCK: tl.constexpr):
    start = tl.multiple_of(tl.program_id(0) * BLOCK, BLOCK)
    at = start + tl.max_contiguous(tl.arange(0, BLOCK), BLOCK)
    v0 = tl.load(x + at)
    v1 = tl.load(y + at)
{indented["triton"]}
    tl.store(out + at, result)


@np.errstate(over="ignore")
def oracle(x, y):
    x, y = x.astype(np.int32), y.astype(np.int32)
    v0, v1 = x.reshape(PROGRAMS, BLOCK), y.reshape(PROGRAMS, BLOCK)
{indented["numpy"]}
    return {{"out": result.reshape(-1)}}


def contracts():
    bits = {{"integers": [-2147483648, 2147483647]}}
    yield Contract(
        name="integers_{seed}", dtype="int32", kernel=integers_{seed}_kernel, oracle=oracle,
        home="suite/semantics/contracts",
        arguments=[Tensor("x", "s32", (BLOCK * PROGRAMS,), "input", values=bits),
                   Tensor("y", "s32", (BLOCK * PROGRAMS,), "input", values=bits),
                   Tensor("out", "s32", (BLOCK * PROGRAMS,), "output")],
        constants={{"BLOCK": BLOCK}}, grid=(PROGRAMS,),
        tuning=[Config(num_warps=4), Config(num_warps=2), Config(num_warps=8)],
        tolerance={{"absolute": 0.0, "relative": 0.0, "error_factor": 1.0}})
'''


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(prog="python -m lathe_triton integers", description=__doc__)
    out.add_argument("seeds", nargs="+", type=int, metavar="SEED")
    out.add_argument("--out", type=Path, default=Path("."), help="folder; default: this one")
    add_option(out)
    return out


def run(arguments) -> int:
    arguments.out.mkdir(parents=True, exist_ok=True)
    with Answer(arguments.json) as answer:
        places = [arguments.out / f"integers_{seed}.py" for seed in arguments.seeds]
        for seed, place in zip(arguments.seeds, places):
            place.write_text(source(seed))
            print(place)
        answer.give({"schema": "lathe/integers/1", "files": [str(place) for place in places]})
    return 0
