"""`python -m lathe_triton capture [--out DIR] program.py args..`: runs a Triton program as it is
and writes a contract for each kernel instance that it launches.

An instance is a compiled kernel with its grid, scalars and layouts. Trials of an autotuner are
counted and not captured. Nothing large is copied: of a tensor whose data decides addresses or
control all of it, of the others a few thousand elements.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import sys
import threading
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

from . import captured
from .answer import Answer, add_option
from .launch import Launch, Pointer, Scalar, Unsupported, Watch, arguments_of, own_process, \
    run_program, scalar_bits
from .memory import DriverError, Memory
from .ttir import Untraceable

SAMPLE_CHUNKS = 16
SAMPLE_CHUNK_ELEMENTS = 256
TIMED_LAUNCHES_MAX = 200  # An instance; the others are taken to have the same mean.
_FORMS = {"f64": "d", "f32": "f", "f16": "e", "s64": "q", "s32": "i", "s16": "h", "s8": "b",
          "u64": "Q", "u32": "I", "u16": "H", "u8": "B"}


@dataclass
class Seen:
    """What is known of one instance while the program runs."""

    entry: str
    digest: str  # Triton's own hash of the compiled kernel.
    instance: captured.Instance | None = None
    reason: str = ""  # Why there is no contract.
    launches: int = 0
    in_graphs: int = 0
    marks: list[tuple[Any, Any]] = field(default_factory=list)
    timed: int = 0
    time_ns: float = 0.0

    def total_ns(self) -> float:
        return self.time_ns / self.timed * self.launches if self.timed else 0.0


def _chunks(pointer: Pointer) -> list[tuple[int, int]]:
    """Offset and number of elements of what is looked at, spread over the span."""
    elements = pointer.span_bytes // pointer.element_bytes
    most = SAMPLE_CHUNKS * SAMPLE_CHUNK_ELEMENTS
    if elements <= most:
        return [(0, elements)]
    step = (elements - SAMPLE_CHUNK_ELEMENTS) // (SAMPLE_CHUNKS - 1)
    return [(i * step, SAMPLE_CHUNK_ELEMENTS) for i in range(SAMPLE_CHUNKS)]


def _numbers(dtype: str, content: bytes) -> list[float] | None:
    if dtype == "bf16":
        halves = struct.unpack(f"<{len(content) // 2}H", content)
        return [struct.unpack("<f", struct.pack("<I", half << 16))[0] for half in halves]
    if dtype not in _FORMS:
        return None
    return list(struct.unpack(f"<{len(content) // struct.calcsize(_FORMS[dtype])}{_FORMS[dtype]}",
                              content))


def summary(pointer: Pointer, content: bytes) -> dict[str, Any]:
    """Of the elements that were looked at."""
    numbers = _numbers(pointer.dtype, content)
    out: dict[str, Any] = {"elements": len(content) // pointer.element_bytes,
                           "of_elements": pointer.count}
    if not numbers:
        return out
    finite = [n for n in numbers if n == n and abs(n) != float("inf")]
    out["not_finite"] = len(numbers) - len(finite)
    if finite:
        out |= {"least": min(finite), "largest": max(finite), "mean": sum(finite) / len(finite),
                "zeros": sum(n == 0 for n in finite)}
    return out


class Capture:
    def __init__(self, memory: Any, watch: Callable[[], Watch], instances_max: int):
        self.memory = memory
        self.seen: dict[tuple, Seen] = {}
        self.tuning: dict[str, int] = {}
        self.instances_max = instances_max
        self._watch = watch
        self._lock = threading.Lock()

    def see(self, launch: Launch, go: Callable) -> Any:
        entry = str(launch.kernel.metadata.name)
        if self._watch().tuning:
            with self._lock:
                self.tuning[entry] = self.tuning.get(entry, 0) + 1
            return go()
        capturing = self._quietly(lambda: self.memory.is_capturing(launch.stream), False)
        with self._lock:
            seen = self._seen(entry, launch, capturing)
            seen.launches += 1
            seen.in_graphs += capturing
            timed = not capturing and seen.launches <= TIMED_LAUNCHES_MAX
        pair = self._quietly(self.memory.events, None) if timed else None
        if pair is None:
            return go()
        marked = self._marked(pair[0], launch.stream)
        out = go()
        if marked and self._marked(pair[1], launch.stream):
            seen.marks.append(pair)
        return out

    def _marked(self, event: Any, stream: int) -> bool:
        return self._quietly(lambda: self.memory.mark(event, stream) is None, False)

    @staticmethod
    def _quietly(call: Callable, otherwise: Any) -> Any:
        """What looking on cannot do must not end the program."""
        try:
            return call()
        except DriverError:
            return otherwise

    def _key(self, launch: Launch) -> tuple:
        rows: list[tuple] = []
        for argument in arguments_of(launch.signature, launch.values):
            if isinstance(argument, Scalar):
                rows.append((argument.name, scalar_bits(argument.triton_type, argument.value)))
            else:
                rows.append((argument.name, argument.shape, argument.strides, argument.align))
        return (launch.kernel.hash, launch.grid, *rows)

    def _seen(self, entry: str, launch: Launch, capturing: bool) -> Seen:
        try:
            key = self._key(launch)
        except Unsupported as reason:
            key = (launch.kernel.hash, str(reason))
            return self.seen.setdefault(key, Seen(entry, launch.kernel.hash, reason=str(reason)))
        if key in self.seen:
            seen = self.seen[key]
            if seen.instance is not None or not seen.reason.startswith("graph: ") or capturing:
                return seen
        of_kernel = sum(k[0] == launch.kernel.hash and s.instance is not None
                        for k, s in self.seen.items())
        if of_kernel >= self.instances_max:
            key = (launch.kernel.hash, "more")
            reason = f"more than {self.instances_max} instances of it (--instances)"
            return self.seen.setdefault(key, Seen(entry, launch.kernel.hash, reason=reason))
        seen = self.seen.setdefault(key, Seen(entry, launch.kernel.hash))
        try:
            seen.instance, seen.reason = self._instance(launch, capturing), ""
        except (Unsupported, Untraceable, DriverError) as reason:
            seen.reason = str(reason)
        return seen

    def _instance(self, launch: Launch, capturing: bool) -> captured.Instance:
        instance, needed = captured.instance_of(launch)
        captured.parameter_rows(instance)  # What cannot be written is known now.
        if capturing:
            if needed:
                raise Unsupported("graph: it was launched into a graph only, and the data of "
                                  f"{', '.join(sorted(needed))} decides addresses")
            return instance
        self.memory.wait(launch.stream)
        for pointer in instance.tensors():
            if pointer.name in needed:
                instance.kept[pointer.name] = self.memory.read(pointer.address, pointer.span_bytes)
            elif instance.roles[pointer.name] != "output":
                instance.samples[pointer.name] = self._sample(pointer)
        return instance

    def _sample(self, pointer: Pointer) -> dict[str, Any]:
        size = pointer.element_bytes
        content = b"".join(self.memory.read(pointer.address + first * size, count * size)
                           for first, count in _chunks(pointer))
        return summary(pointer, content)

    def settle(self) -> None:
        """Reads the events; the program has ended. A first launch is colder than the others and
        counts only where it is the only one."""
        for seen in self.seen.values():
            for start, end in seen.marks[1:] or seen.marks:
                time_ns = self._quietly(lambda: self.memory.between_ns(start, end), None)
                if time_ns is not None:
                    seen.time_ns, seen.timed = seen.time_ns + time_ns, seen.timed + 1
            seen.marks.clear()

    def named(self) -> list[tuple[str, Seen]]:
        """Folders' names, in the order of the first launches."""
        counts: dict[str, int] = {}
        out = []
        for seen in self.seen.values():
            if seen.instance is None:
                continue
            counts[seen.entry] = counts.get(seen.entry, 0) + 1
            out.append((f"{seen.entry}_{counts[seen.entry]}", seen))
        return out

    def report(self, triton: str, hits: dict[str, bool]) -> dict[str, Any]:
        whole_ns = sum(seen.total_ns() for seen in self.seen.values())
        kernels = [_row(name, seen, whole_ns, hits) for name, seen in self.named()]
        missed = [{"entry": s.entry, "launches": s.launches, "time_ns": s.total_ns(),
                   "reason": s.reason} for s in self.seen.values() if s.instance is None]
        return {"schema": "lathe/capture/1", "triton": triton, "kernels": kernels,
                "tuning_launches": dict(sorted(self.tuning.items())), "not_captured": missed}

    def write(self, folder: Path, triton: str, hits: dict[str, bool]) -> dict[str, Any]:
        report = self.report(triton, hits)
        aside = folder.with_name(folder.name + ".part")
        aside.mkdir(parents=True)
        for name, seen in self.named():
            captured.write(seen.instance, aside / name, triton)
        (aside / "capture.json").write_text(json.dumps(report, indent=1) + "\n")
        if folder.exists():
            folder.rmdir()  # Empty: the command has looked.
        os.replace(aside, folder)
        return report


def _row(name: str, seen: Seen, whole_ns: float, hits: dict[str, bool]) -> dict[str, Any]:
    instance = seen.instance
    scalars = {a.name: a.value for a in instance.arguments if isinstance(a, Scalar)}
    return {
        "contract": name, "entry": seen.entry, "target": instance.entry.target,
        "grid": list(instance.launch.grid), "block": list(instance.entry.block),
        "shared_bytes": int(instance.launch.kernel.metadata.shared), "scalars": scalars,
        "launches": seen.launches, "launches_in_graphs": seen.in_graphs,
        "timed_launches": seen.timed, "time_ns": seen.total_ns(),
        "share": seen.total_ns() / whole_ns if whole_ns else 0.0,
        "from_cache": hits.get(seen.digest, False),
        "kept": {n: len(content) for n, content in instance.kept.items()},
        "sampled": instance.samples}


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(
        prog="python -m lathe_triton capture", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    out.add_argument("--out", type=Path, default=Path("captured"),
                     help="folder to write, absent or empty; default: captured")
    out.add_argument("--instances", type=int, default=16, metavar="N",
                     help="contracts at most of one compiled kernel; default 16")
    add_option(out)
    out.add_argument("program", help="the Triton program, run unchanged")
    out.add_argument("arguments", nargs=argparse.REMAINDER, help="its own arguments")
    return out


def _say(report: dict[str, Any], out: Path) -> None:
    whole_ms = sum(row["time_ns"] for row in report["kernels"]) / 1e6
    for row in report["kernels"]:
        grid = "x".join(str(n) for n in row["grid"])
        print(f"captured {out / row['contract']}: grid {grid}, {row['launches']} launches, "
              f"{100 * row['share']:.1f} % of {whole_ms:.3f} ms"
              + (", from the disk's cache" if row["from_cache"] else ""), file=sys.stderr)
    for row in report["not_captured"]:
        print(f"not captured {row['entry']}: {row['launches']} launches: {row['reason']}",
              file=sys.stderr)


def run(parsed) -> int:
    with Answer(parsed.json) as answer:
        return _run(parsed, answer)


def _run(parsed, answer: Answer) -> int:
    out: Path = parsed.out
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        return answer.refuse(64, f"{out} exists and is not empty", "name another with --out")
    try:
        import triton
    except ImportError:
        return answer.refuse(69, "this Python has no Triton", "use the one that runs the program")
    ours = own_process()
    watch: Watch
    capture = Capture(_LazyMemory(), lambda: watch, parsed.instances)
    watch = Watch(capture.see)
    status = 1
    try:
        with watch:
            status = run_program(parsed.program, parsed.arguments)
    except KeyboardInterrupt:
        status = 130
    except Exception:
        traceback.print_exc()
    if not ours():
        return status
    capture.settle()
    report = capture.write(out, triton.__version__, watch.hits)
    _say(report, out)
    answer.give(report)
    return status


class _LazyMemory:
    """The driver, once a launch shows that there is one."""

    def __init__(self):
        self._memory: Memory | None = None

    def __getattr__(self, name: str):
        if self._memory is None:
            try:
                self._memory = Memory()
            except OSError as missing:
                raise DriverError(str(missing)) from None
        return getattr(self._memory, name)
