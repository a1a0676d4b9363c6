"""One launch of a compiled Triton kernel, as capture and deployment both see it, and how launches
are seen at all.

Every way to launch (a JIT function, an autotuned one, a kernel from the disk's cache, a compiled
kernel by itself) ends in the callable that `CompiledKernel.run` gives; that is the one place where
a watcher stands. It looks the same from Triton 3.6 to 3.9. Nothing here needs Triton to be
imported.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import runpy
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Sequence

from .contract import DTYPE_OF_TRITON


class Unsupported(ValueError):
    """A launch that a contract cannot say."""


@dataclass(frozen=True)
class Pointer:
    """A tensor argument. The layout is that of the elements in memory: dimensions that repeat
    one place are left out."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int

    @property
    def element_bytes(self) -> int:
        return BYTES_OF_DTYPE[self.dtype]

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def span_bytes(self) -> int:
        last = sum((n - 1) * s for n, s in zip(self.shape, self.strides))
        return (last + 1) * self.element_bytes

    @property
    def align(self) -> int:
        """Of what Triton asks whether it is a multiple of 16."""
        return 16 if self.address % 16 == 0 else self.address & -self.address

    def layout(self) -> tuple[tuple[int, int], ...]:
        """Extents and strides with neighbours joined, so that a view of the same elements in the
        same places has the same layout."""
        return joined_layout(self.shape, self.strides)


@dataclass(frozen=True)
class Scalar:
    name: str
    triton_type: str
    value: Any


BYTES_OF_DTYPE = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "e4m3": 1, "e5m2": 1, "s64": 8,
                  "s32": 4, "s16": 2, "s8": 1, "u64": 8, "u32": 4, "u16": 2, "u8": 1}


def joined_layout(shape: Sequence[int], strides: Sequence[int]) -> tuple[tuple[int, int], ...]:
    out: list[tuple[int, int]] = []
    for extent, stride in zip(shape, strides):
        if extent == 1:
            continue
        if out and out[-1][1] == extent * stride:
            out[-1] = (out[-1][0] * extent, stride)
        else:
            out.append((extent, stride))
    return tuple(out)


def memory_layout(shape: Sequence[int], strides: Sequence[int]) -> tuple[tuple[int, ...],
                                                                          tuple[int, ...]]:
    """Without dimensions of stride 0; where elements still share places (overlapping windows), the
    whole span as one dimension."""
    kept = [(n, s) for n, s in zip(shape, strides) if n > 1 and s != 0]
    if any(s < 0 for _, s in kept):
        raise Unsupported("a tensor with negative strides")
    reach = 0
    for extent, stride in sorted(kept, key=lambda pair: pair[1]):
        if stride <= reach:
            last = sum((n - 1) * s for n, s in kept)
            return (last + 1,), (1,)
        reach += (extent - 1) * stride
    if not kept:
        return (1,), (1,)
    if len(kept) > 8:
        kept = list(joined_layout(*zip(*kept)))
    if len(kept) > 8:
        raise Unsupported("a tensor of more than eight dimensions")
    return tuple(n for n, _ in kept), tuple(s for _, s in kept)


def pointer_of(name: str, triton_type: str, tensor: Any) -> Pointer | Scalar:
    """A null pointer, or one to no elements, is the number 0: the kernel may not follow it."""
    element = triton_type.lstrip("*").removeprefix("k")
    dtype = "u8" if element in ("i1", "u1") else DTYPE_OF_TRITON.get(element)
    if dtype is None:
        raise Unsupported(f"{name} points to {element}, which contracts do not have")
    base = tensor
    while not hasattr(base, "stride") and hasattr(base, "base"):
        base = base.base
    if not hasattr(base, "stride") or not hasattr(tensor, "shape"):
        raise Unsupported(f"{name} is a pointer without a shape")
    address = int(tensor.data_ptr())
    shape, strides = [int(n) for n in tensor.shape], [int(n) for n in base.stride()]
    if address == 0 or 0 in shape:
        return Scalar(name, "i64", 0)
    kept = memory_layout(shape, strides)
    return Pointer(name, dtype, *kept, address)


def arguments_of(signature: dict[str, Any], values: Sequence[Any]) -> list[Pointer | Scalar]:
    """In ABI order. `signature` is that of Triton's source object: name to type, `constexpr` for
    what was compiled in."""
    out: list[Pointer | Scalar] = []
    for (name, type_), value in zip(signature.items(), values):
        if type_ == "constexpr":
            continue
        if not isinstance(type_, str):
            raise Unsupported(f"{name} is a tuple")
        if type_.startswith(("tensordesc", "nvTmaDesc")):
            raise Unsupported(f"{name} is a tensor map of the host, which contracts do not model")
        if type_.startswith("*"):
            out.append(pointer_of(name, type_, value))
        else:
            out.append(Scalar(name, type_, value))
    return out


def constants_of(signature: dict[str, Any], values: Sequence[Any]) -> dict[str, Any]:
    return {name: value for (name, type_), value in zip(signature.items(), values)
            if type_ == "constexpr"}


def scalar_bits(triton_type: str, value: Any) -> int:
    """The bits that Triton's launcher passes."""
    if triton_type in ("fp16", "fp32", "f32", "fp64"):
        form, width = {"fp16": ("<e", 2), "fp64": ("<d", 8)}.get(triton_type, ("<f", 4))
        return int.from_bytes(struct.pack(form, float(value)), "little", signed=False) \
            & ((1 << 8 * width) - 1)
    if triton_type == "bf16":
        return int.from_bytes(struct.pack("<f", float(value)), "little") >> 16
    if triton_type in ("i1", "u1"):
        return int(bool(value))
    width = int(triton_type[1:])
    return int(value) & ((1 << width) - 1)


_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)([^,)]*)")


@dataclass(frozen=True)
class Entry:
    """What the text of a kernel's PTX says of it."""

    name: str
    target: str
    isa: str
    block: tuple[int, int, int]
    parameter_types: tuple[str, ...]


def entry_of(ptx: str) -> Entry:
    at = ptx.find(".entry")
    if at < 0:
        raise Unsupported("the PTX has no entry")
    head = ptx[at:ptx.index("{", at)]
    name = re.match(r"\.entry\s+([\w$]+)", head)
    block = re.search(r"\.reqntid\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", head)
    target = re.search(r"^\s*\.target\s+(\w+)", ptx, re.M)
    isa = re.search(r"^\s*\.version\s+(\d+\.\d+)", ptx, re.M)
    if name is None or block is None or target is None or isa is None:
        raise Unsupported("the PTX says no target, version or block")
    if any("[" in rest for _, rest in _PARAMETER.findall(head)):
        raise Unsupported("a parameter that is an array (a tensor map of the host)")
    types = tuple(type_ for type_, _ in _PARAMETER.findall(head))
    return Entry(name[1], target[1], isa[1], tuple(int(n or 1) for n in block.groups()), types)


def kernel_digest(ptx: str) -> str:
    """Of what the PTX makes the device do: comments, line numbers and debug sections left out."""
    kept, inside = [], False
    for line in ptx.splitlines():
        line = line.partition("//")[0].strip()
        if inside or line.startswith(".section"):
            inside = "}" not in line
            continue
        if line and not line.startswith((".loc", ".file")):
            kept.append(line)
    return hashlib.sha256("\n".join(kept).encode()).hexdigest()


@dataclass(frozen=True)
class Launch:
    """One launch, before it happens."""

    kernel: Any  # Triton's CompiledKernel.
    grid: tuple[int, int, int]  # In blocks, clusters multiplied out.
    cluster: tuple[int, int, int]
    stream: int
    values: tuple[Any, ...]

    @property
    def signature(self) -> dict[str, Any]:
        return dict(self.kernel.src.signature)


def launch_of(kernel: Any, grid: Sequence[int], stream: int, values: Sequence[Any]) -> Launch:
    blocks = int(getattr(kernel.metadata, "num_ctas", 1) or 1)
    cluster = tuple(getattr(kernel.metadata, "cluster_dims", None) or (blocks, 1, 1))
    whole = (int(grid[0]) * blocks, int(grid[1]), int(grid[2]))
    return Launch(kernel, whole, tuple(int(n) for n in cluster), int(stream or 0), tuple(values))


class Watch:
    """While it is on, `see(launch, go)` is called for each launch; `go(function)` launches, with
    another function of the device where one is given. `tuning` counts how deep inside an
    autotuner's trials we are. Benchmarks that a program makes by itself are its own launches."""

    def __init__(self, see: Callable[[Launch, Callable], None]):
        self._see = see
        self.tuning = 0
        self.hits: dict[str, bool] = {}  # By Triton's hash: whether it came from the disk's cache.
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> "Watch":
        from triton import knobs
        from triton.compiler.compiler import CompiledKernel
        from triton.runtime.autotuner import Autotuner
        self._replace(CompiledKernel, "run", property(self._runner(CompiledKernel.run)))
        self._replace(Autotuner, "_bench", self._trial(Autotuner._bench))
        self._replace(knobs.compilation, "listener", self._listener(knobs.compilation.listener))
        return self

    def __exit__(self, *_) -> None:
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()

    def _replace(self, owner: Any, name: str, value: Any) -> None:
        before = owner.__dict__.get(name, getattr(owner, name))
        setattr(owner, name, value)
        self._undo.append(lambda: setattr(owner, name, before))

    def _runner(self, original: property):
        def run(kernel):
            launcher = original.fget(kernel)

            def launch(grid_x, grid_y, grid_z, stream, function, packed, metadata, enter, exit,
                       *values):
                def go(other=None):
                    return launcher(grid_x, grid_y, grid_z, stream,
                                    function if other is None else other, packed, metadata, enter,
                                    exit, *values)
                self._see(launch_of(kernel, (grid_x, grid_y, grid_z), stream, values), go)
            return launch
        return run

    def _trial(self, original):
        def bench(tuner, *values, **options):
            self.tuning += 1
            try:
                return original(tuner, *values, **options)
            finally:
                self.tuning -= 1
        return bench

    def _listener(self, original):
        def listener(**told):
            name = told["metadata"].get("hash")
            if name is not None:
                self.hits.setdefault(name, bool(told.get("cache_hit")))
            if original is not None:
                original(**told)
        return listener


def run_program(program: str, arguments: Sequence[str]) -> int:
    """Runs it as `python program.py arguments..` would, and gives its exit status."""
    path = Path(program)
    if not path.is_file():
        print(f"lathe_triton: {program}: no such file", file=sys.stderr)
        return 74
    argv, first = sys.argv, sys.path[0] if sys.path else ""
    sys.argv = [program, *arguments]
    sys.path[:1] = [str(path.resolve().parent)]
    try:
        runpy.run_path(program, run_name="__main__")
        return 0
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    finally:
        sys.argv, sys.path[:1] = argv, [first]
        sys.stdout.flush()


def own_process() -> Callable[[], bool]:
    """Whether we are still in the process that asked: a forked worker writes nothing."""
    own = os.getpid()
    return lambda: os.getpid() == own
