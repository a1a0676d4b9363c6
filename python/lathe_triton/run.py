"""`python -m lathe_triton run --winners DIR program.py args..`: runs a Triton program as it is;
each launch that is one of a proved contract takes the winner, every other one Triton's own kernel.

The winner must agree in target, warps, shared bytes, cluster, grid, scalars, alignment, shapes,
strides and overlap of its tensors, and in the contents of tensors that the contract fixes. That
inputs are finite where a contract asks for it is not looked at. Nothing is written to Triton's
cache. At the end both kinds of launches are counted on standard error.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import traceback
from pathlib import Path
from typing import Any, Callable

from .answer import Answer, add_option
from .capture import _LazyMemory
from .launch import Launch, Watch, own_process, run_program
from .memory import DriverError
from .winners import Guards, Unusable, Winner, read_all


class Session:
    """Winners in use. `load(winner, kernel)` gives a module and a function of the device."""

    def __init__(self, winners: list[Winner], memory: Any, load: Callable):
        self.guards = Guards(winners)
        self.memory = memory
        self.modules: dict[str, int] = {}  # By candidate.
        self.taken: dict[tuple[str, str], int] = {}  # Entry and winner, to launches.
        self.own: dict[tuple[str, str], int] = {}  # Entry and reason, to launches.
        self.trials: dict[str, int] = {}  # Of autotuners: guarded like the others.
        self.tuning: Callable[[], int] = lambda: 0
        self._load = load
        self._functions: dict[tuple, Any] = {}
        self._lock = threading.Lock()

    def see(self, launch: Launch, go: Callable) -> Any:
        winner, reason = self._decide(launch)
        function = None
        if winner is not None:
            function, reason = self._function(winner, launch)
        entry = str(launch.kernel.metadata.name)
        with self._lock:
            if self.tuning():
                self.trials[entry] = self.trials.get(entry, 0) + 1
            elif function is not None:
                key = (entry, winner.name())
                self.taken[key] = self.taken.get(key, 0) + 1
            else:
                self.own[(entry, reason)] = self.own.get((entry, reason), 0) + 1
        return go(function)

    def _decide(self, launch: Launch) -> tuple[Winner | None, str]:
        def read(address: int, size_bytes: int, stream: int) -> bytes:
            self.memory.wait(stream)
            return self.memory.read(address, size_bytes)
        try:
            return self.guards.decide(launch, read, lambda stream: self.memory.is_capturing(stream))
        except (DriverError, ValueError) as wrong:  # A guard that cannot see says no.
            return None, f"not to be checked: {wrong}"

    def _function(self, winner: Winner, launch: Launch) -> tuple[Any, str]:
        from triton.runtime import driver
        key = (winner.candidate, driver.active.get_current_device())
        with self._lock:
            if key not in self._functions:
                try:
                    module, function = self._load(winner, launch.kernel, key[1])
                    self.modules[winner.candidate] = module
                    self._functions[key] = (function, "")
                except Exception as wrong:  # Whatever the driver says: Triton's own runs.
                    self._functions[key] = (None, f"the winner does not load: {wrong}")
            return self._functions[key]

    def report(self) -> dict[str, Any]:
        return {"schema": "lathe/deployed/1",
                "winners": [{"entry": e, "winner": w, "launches": n}
                            for (e, w), n in sorted(self.taken.items())],
                "own": [{"entry": e, "reason": r, "launches": n}
                        for (e, r), n in sorted(self.own.items())],
                "trials": dict(sorted(self.trials.items()))}

    def text(self) -> str:
        lines = []
        for entry in sorted({e for e, _ in (*self.taken, *self.own)}):
            taken = {w: n for (e, w), n in self.taken.items() if e == entry}
            own = {r: n for (e, r), n in self.own.items() if e == entry}
            parts = [f"{n} ran {w}" for w, n in sorted(taken.items())]
            if own:
                why = "; ".join(f"{r}: {n}" for r, n in sorted(own.items()))
                parts.append(f"{sum(own.values())} ran Triton's own ({why})")
            total = sum(taken.values()) + sum(own.values())
            if entry in self.trials:
                parts.append(f"{self.trials[entry]} trials of an autotuner beside them")
            lines.append(f"lathe: {entry}: of {total} launches " + ", ".join(parts))
        return "\n".join(lines) or "lathe: nothing was launched"


def load_cubin(winner: Winner, kernel: Any, device: int) -> tuple[int, int]:
    """With Triton's own loader, which also sets what shared memory the kernel may have."""
    from triton.runtime import driver
    loaded = driver.active.utils.load_binary(winner.entry, winner.cubin,
                                             int(kernel.metadata.shared), device)
    return loaded[0], loaded[1]


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(
        prog="python -m lathe_triton run", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    out.add_argument("--winners", type=Path, required=True, metavar="DIR",
                     help="what `lathe deploy RUN --winners DIR` wrote")
    out.add_argument("--unproved", action="store_true",
                     help="take winners too that nobody has proved; the counts say so")
    out.add_argument("--report", type=Path, metavar="FILE", help="the counts as JSON")
    add_option(out)
    out.add_argument("program", help="the Triton program, run unchanged")
    out.add_argument("arguments", nargs=argparse.REMAINDER, help="its own arguments")
    return out


def run(parsed, memory: Any = None) -> int:
    with Answer(parsed.json) as answer:
        return _run(parsed, memory, answer)


def _run(parsed, memory: Any, answer: Answer) -> int:
    try:
        winners = read_all(parsed.winners, parsed.unproved)
    except Unusable as reason:
        return answer.refuse(65, str(reason))
    ours = own_process()
    session = Session(winners, memory or _LazyMemory(), load_cubin)
    status = 1
    try:
        watch = Watch(session.see)
        session.tuning = lambda: watch.tuning
        with watch:
            status = run_program(parsed.program, parsed.arguments)
    except ImportError as missing:
        return answer.refuse(69, str(missing), "use the Python that runs the program")
    except KeyboardInterrupt:
        status = 130
    except Exception:
        traceback.print_exc()
    if not ours():
        return status
    print(session.text(), file=sys.stderr)
    answer.give(session.report())
    if parsed.report is not None:
        parsed.report.write_text(json.dumps(session.report(), indent=1) + "\n")
    return status
