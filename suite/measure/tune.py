"""Checks and tunes every kernel of the suite on a GPU.

`PYTHONPATH=python python3 suite/measure/tune.py --out $OUT` compiles all configurations in parallel
(Triton, then the toolkit's ptxas), runs each kernel on the declared inputs and on the stress
classes against its oracle in double precision, and times all configurations interleaved. It writes
tuned.json as it goes and goes on from one that is there (`--resume FILE`).
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "suite/measure")]

from lathe_triton import elements, sources  # noqa: E402

TARGET = "sm_90a"
EMPTY = """.version 8.7
.target sm_90a
.address_size 64
.visible .entry empty_kernel()
.reqntid 128
{
\tret;
}
"""
SEED = 20
ROUNDS, FINAL_ROUNDS, SETS = 40, 60, 2


def key_of(contract) -> str:
    return f"{contract.name}_{contract.dtype}"


def contracts() -> dict:
    """The suite, and the kernels of the semantics tests."""
    return {key_of(c): c for path in sources.shipped() for c in sources.contracts_of(path)
            if c.oracle is not None and c.home != "tests/kernels/contracts"}


def find_ptxas() -> str:
    beside = [str(Path(p).resolve().parent / "ptxas") for p in [shutil.which("nvcc")] if p]
    for place in [*beside, shutil.which("ptxas"), "/usr/local/cuda/bin/ptxas"]:
        if place and Path(place).exists():
            return place
    import triton
    return str(Path(triton.__file__).parent / "backends/nvidia/bin/ptxas")


# In processes of their own: nothing here touches the GPU.

def compile_one(key: str, label: str, folder: str) -> dict:
    """A cubin, and what the contract says of its launch."""
    from lathe_triton import compile as compiler
    compiler.prepare(ROOT)
    contract = contracts()[key]
    config = next(c for c in contract.tuning if c.label() == label)
    made = compiler.compile_kernel(contract, config, TARGET)
    stem = Path(folder) / f"{key}__{label}"
    stem.with_suffix(".ptx").write_text(made.ptx)
    said = subprocess.run([find_ptxas(), "-v", f"-arch={TARGET}", f"{stem}.ptx", "-o",
                           f"{stem}.cubin"], capture_output=True, text=True)
    if said.returncode != 0:
        raise RuntimeError(said.stderr.strip().splitlines()[-1])
    spilled = re.search(r"(\d+) bytes spill stores", said.stderr)
    return {"entry": made.entry, "grid": contract.grid_of(config), "block": list(made.block),
            "dynamic_shared_bytes": made.shared_bytes, "num_warps": config.num_warps,
            "num_stages": config.num_stages, "constants": contract.constants_of(config),
            "ptx_sha256": hashlib.sha256(made.ptx.encode()).hexdigest(),
            "registers": int(re.search(r"Used (\d+) registers", said.stderr)[1]),
            "spill_store_bytes": int(spilled[1]) if spilled else 0}


def stored_place(folder: str, key: str, kind: str, tensor: str) -> Path:
    return Path(folder) / f"{key}__{kind}__{tensor}.npy"


def make_inputs(key: str, kind: str, folder: str) -> bool:
    """Inputs of one class into files. False where they are the declared ones over again."""
    applies = kind == "declared"
    for i, tensor in enumerate(contracts()[key].tensors()):
        if tensor.role in ("input", "inout"):
            applies |= tensor.dtype not in ("s8", "s32")
            np.save(stored_place(folder, key, kind, tensor.name),
                    elements.make_input(tensor, kind, SEED, i))
    return applies


def check_outputs(key: str, kind: str, folder: str, labels: list[str]) -> dict:
    """The outputs of each configuration against the oracle, which is asked once."""
    contract = contracts()[key]
    inputs = {t.name: np.load(stored_place(folder, key, kind, t.name))
              for t in contract.tensors() if t.role in ("input", "inout")}
    wide = elements.wide_outputs(contract, inputs)
    found = {}
    for label in labels:
        rows = []
        for tensor in contract.tensors():
            if tensor.role not in ("output", "inout"):
                continue
            place = stored_place(folder, key, f"{kind}__{label}", tensor.name)
            rows.append(elements.compare(contract, tensor, wide[tensor.name], np.load(place)))
            place.unlink()
        found[label] = {name: max(r[name] for r in rows) if name.endswith("_max")
                        else sum(r[name] for r in rows) for name in rows[0]}
    for name in inputs:
        stored_place(folder, key, kind, name).unlink()
    return found


class Tuner:
    """The one that owns the GPU."""

    def __init__(self, driver, folder: str, out: Path, known: dict, workers: int, budget_s: float):
        self.driver, self.folder, self.out = driver, folder, out
        self.contracts = contracts()
        self.started, self.budget_s = time.monotonic(), budget_s
        about = driver.describe()
        self.flush_bytes = max(2 * about["l2_bytes"], 256 << 20)
        self.flush_at = driver.allocate(self.flush_bytes)
        self.pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
        self.events: list = []
        self.buffers: list[int] = []
        self.result = known or {
            "schema": "lathe/baseline/1", **about, "target": TARGET, "assembler": assembler(),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
            "method": f"CUDA events round one launch, configurations interleaved in drawn order, "
                      f"{self.flush_bytes >> 20} MiB overwritten before each launch, {SETS} sets "
                      f"of buffers in turn; {ROUNDS} samples each, then {FINAL_ROUNDS} of the two "
                      "fastest, from which the choice is made",
            "kernels": {}, "errors": []}
        import triton
        self.result["triton"] = triton.__version__

    def say(self, text: str) -> None:
        print(f"[{time.monotonic() - self.started:7.1f}] {text}", flush=True)

    def save(self) -> None:
        place = self.out / "tuned.json"
        place.with_suffix(".new").write_text(json.dumps(self.result) + "\n")
        place.with_suffix(".new").rename(place)

    def fault(self, step: str, error: BaseException) -> None:
        self.result["errors"].append({"step": step, "error": f"{type(error).__name__}: {error}"})
        self.say(f"{step}: FAILED {error}")
        traceback.print_exception(error, file=sys.stderr)

    # What is on the device.

    def place(self, contract, inputs: dict[str, np.ndarray] | None) -> dict[str, int]:
        """Addresses of the tensors; inputs uploaded where they are given."""
        addresses = {}
        for tensor in contract.tensors():
            stored = np.dtype(elements.STORED[tensor.dtype])
            address = self.driver.allocate(math.prod(tensor.shape) * stored.itemsize)
            self.buffers.append(address)
            addresses[tensor.name] = address
            if inputs is not None and tensor.name in inputs:
                self.driver.upload(address, inputs[tensor.name])
        return addresses

    def release(self) -> None:
        self.driver.synchronize()
        for address in self.buffers:
            self.driver.call("cuMemFree_v2", address)
        self.buffers = []

    def launcher(self, key: str, label: str, row: dict, addresses: dict[str, int]):
        kinds = {"i32": "u32", "fp32": "f32", "i64": "u64"}
        arguments = [["tensor", addresses[a.name]] if hasattr(a, "role")
                     else [kinds[a[1][0]], a[1][1]] for a in self.contracts[key].arguments]
        arguments += [["u64", 0], ["u64", 0]]
        cubin = Path(self.folder) / f"{key}__{label}.cubin"
        function = self.driver.function(cubin, row["entry"], row["dynamic_shared_bytes"])
        return self.driver.launcher(function, row, arguments)

    def run_class(self, key: str, kind: str, labels: list[str]) -> list[str]:
        """Launches each configuration on one class and leaves its outputs in files."""
        contract, done = self.contracts[key], []
        inputs = {t.name: np.load(stored_place(self.folder, key, kind, t.name))
                  for t in contract.tensors() if t.role in ("input", "inout")}
        addresses = self.place(contract, inputs)
        for label in labels:
            row = self.result["kernels"][key]["configs"][label]
            try:
                go = self.launcher(key, label, row, addresses)
            except Exception as error:  # More shared memory than there is, and the like.
                row["error"] = f"{type(error).__name__}: {error}"
                continue
            for tensor in contract.tensors():
                size = math.prod(tensor.shape) * np.dtype(elements.STORED[tensor.dtype]).itemsize
                if tensor.role == "inout":
                    self.driver.upload(addresses[tensor.name], inputs[tensor.name])
                elif tensor.role == "output":
                    self.driver.poison(addresses[tensor.name], size)
            go()
            self.driver.synchronize()
            for tensor in contract.tensors():
                if tensor.role in ("output", "inout"):
                    got = np.empty(math.prod(tensor.shape), elements.STORED[tensor.dtype])
                    self.driver.download(addresses[tensor.name], got)
                    np.save(stored_place(self.folder, key, f"{kind}__{label}", tensor.name), got)
            done.append(label)
        self.release()
        return done

    # Time.

    def timed(self, order: list) -> list[float]:
        d = self.driver
        while len(self.events) < len(order):
            self.events.append((d.event(), d.event()))
        for i, go in enumerate(order):
            d.overwrite(self.flush_at, self.flush_bytes, i)
            d.record(self.events[i][0])
            go()
            d.record(self.events[i][1])
        d.synchronize()
        return [d.elapsed_us(*self.events[i]) for i in range(len(order))]

    def interleaved(self, goes: dict[str, list], rounds: int) -> dict[str, list[float]]:
        draw = random.Random(SEED)
        samples: dict[str, list[float]] = {label: [] for label in goes}
        labels = list(goes)
        for turn in range(-3, rounds):
            draw.shuffle(labels)
            times = self.timed([goes[label][turn % SETS] for label in labels])
            for label, taken in zip(labels, times):
                if turn >= 0:
                    samples[label].append(round(taken, 2))
        return samples

    def time_kernel(self, key: str) -> None:
        kernel, contract = self.result["kernels"][key], self.contracts[key]
        right = [label for label, row in kernel["configs"].items()
                 if not row.get("error") and row["declared"]["failing"] == 0]
        if not right:
            return
        sets = []
        for s in range(SETS):
            inputs = {t.name: elements.make_input(
                replace(t, shape=(min(math.prod(t.shape), 1 << 20),)), "declared", s, i)
                for i, t in enumerate(contract.tensors()) if t.role in ("input", "inout")}
            for t in contract.tensors():
                if t.name in inputs:
                    inputs[t.name] = np.resize(inputs[t.name], math.prod(t.shape))
            sets.append(self.place(contract, inputs))
        goes = {label: [self.launcher(key, label, kernel["configs"][label], addresses)
                        for addresses in sets] for label in right}
        for label, samples in self.interleaved(goes, ROUNDS).items():
            kernel["configs"][label]["samples_us"] = samples
        fastest = sorted(right, key=lambda n: np.median(kernel["configs"][n]["samples_us"]))[:2]
        final = self.interleaved({label: goes[label] for label in fastest}, FINAL_ROUNDS)
        for label, samples in final.items():
            kernel["configs"][label]["final_samples_us"] = samples
        kernel["fastest"] = min(fastest, key=lambda n: np.median(final[n]))
        self.release()
        median = np.median(final[kernel["fastest"]])
        self.say(f"{key:24s} {median:8.2f} us  {kernel['fastest']}")

    def floor(self) -> None:
        place = Path(self.folder) / "empty"
        place.with_suffix(".ptx").write_text(EMPTY)
        subprocess.run([find_ptxas(), f"-arch={TARGET}", f"{place}.ptx", "-o", f"{place}.cubin"],
                       check=True)
        go = self.driver.launcher(
            self.driver.function(place.with_suffix(".cubin"), "empty_kernel", 0),
            {"grid": [132, 1, 1], "block": [128, 1, 1], "dynamic_shared_bytes": 0}, [])
        self.result["empty_launch_us"] = round(float(np.median(
            [t for _ in range(20) for t in self.timed([go] * 4)])), 2)
        nothing = [t for _ in range(20) for t in self.timed([lambda: None] * 4)]
        size = 1 << 30
        a, b = self.driver.allocate(size), self.driver.allocate(size)
        copies = self.timed([lambda: self.driver.copy(a, b, size)] * 12)[2:]
        for address in (a, b):
            self.driver.call("cuMemFree_v2", address)
        self.result["no_launch_us"] = round(float(np.median(nothing)), 2)
        self.result["copy_1_gib"] = {
            "median_us": round(float(np.median(copies)), 1),
            "terabytes_per_second": round(2 * size / float(np.median(copies)) * 1e-6, 3)}
        self.say(f"no launch {self.result['no_launch_us']} us, copy {self.result['copy_1_gib']}")

    # The order of the work.

    def left(self) -> float:
        return self.budget_s - (time.monotonic() - self.started)

    def run(self, only: set[str], classes: list[str]) -> None:
        self.floor()
        todo = [key for key in self.contracts if not only or key in only]
        finished = self.result["kernels"]
        todo = [key for key in todo
                if not set(["declared", *classes]) <= set(finished.get(key, {}).get("classes", {}))]
        pending: dict[Future, tuple] = {}

        def submit(what: tuple, *call) -> None:
            pending[self.pool.submit(*call)] = what

        waiting = {}
        for key in todo:
            labels = [config.label() for config in self.contracts[key].tuning]
            if finished.get(key, {}).get("fastest"):
                labels = [finished[key]["fastest"]]
            else:
                finished[key] = {"configs": {}, "classes": {}}
            waiting[key] = len(labels)
            for label in labels:
                submit(("compiled", key, label), compile_one, key, label, self.folder)
        while pending and self.left() > 0:
            done, _ = wait(pending, timeout=5, return_when=FIRST_COMPLETED)
            for future in done:
                what = pending.pop(future)
                try:
                    self.advance(what, future.result(), waiting, submit, classes)
                except Exception as error:
                    self.fault(" ".join(map(str, what)), error)
                    if what[0] == "compiled":
                        finished[what[1]]["configs"][what[2]] = {
                            "error": f"{type(error).__name__}: {error}"}
                        waiting[what[1]] -= 1
                        if waiting[what[1]] == 0:
                            self.begin(what[1], submit, classes)
                self.save()
        for future, what in pending.items():
            future.cancel()
            self.result["errors"].append({"step": " ".join(map(str, what)),
                                          "error": "out of time"})
        self.save()
        self.say(f"{sum(1 for k in finished.values() if k.get('fastest'))} kernels tuned, "
                 f"{len(self.result['errors'])} errors")
        self.pool.shutdown(wait=False, cancel_futures=True)

    def begin(self, key: str, submit, classes: list[str]) -> None:
        """The next inputs of a kernel whose configurations are compiled."""
        kernel = self.result["kernels"][key]
        wanted = [c for c in classes if c not in kernel["classes"]]
        for kind in wanted if kernel.get("fastest") else ["declared"]:
            submit(("inputs", key, kind), make_inputs, key, kind, self.folder)

    def advance(self, what: tuple, got, waiting: dict, submit, classes: list[str]) -> None:
        step, key, name = what
        kernel = self.result["kernels"][key]
        if step == "compiled":
            kernel["configs"][name] = {**kernel["configs"].get(name, {}), **got}
            waiting[key] -= 1
            if waiting[key] == 0:
                self.begin(key, submit, classes)
        elif step == "inputs":
            labels = [n for n, row in kernel["configs"].items() if not row.get("error")]
            if name != "declared":
                labels = [kernel["fastest"]] if got else []
            if not labels:
                kernel["classes"][name] = None  # It has no floats to stress.
                return
            ran = self.run_class(key, name, labels)
            submit(("checked", key, name), check_outputs, key, name, self.folder, ran)
        elif name == "declared":
            for label, row in got.items():
                kernel["configs"][label]["declared"] = row
                if self.result["device"] == "none":  # Nothing was run, so all is wrong.
                    row["failing"] = 0
                if row["failing"]:
                    self.say(f"{key} {label}: WRONG {row}")
            self.time_kernel(key)
            if kernel.get("fastest"):
                kernel["classes"]["declared"] = kernel["configs"][kernel["fastest"]]["declared"]
                self.begin(key, submit, classes)
        else:
            for row in got.values():
                kernel["classes"][name] = row


def assembler() -> str:
    said = subprocess.run([find_ptxas(), "--version"], capture_output=True, text=True, check=True)
    return "ptxas " + re.search(r"V([\d.]+)", said.stdout)[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--class", dest="classes", action="append",
                        help="stress classes; default: all")
    parser.add_argument("--workers", type=int, default=14)
    parser.add_argument("--budget-s", type=float, default=400)
    parser.add_argument("--dry", action="store_true", help="a driver that runs nothing")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    known = json.loads(arguments.resume.read_text()) if arguments.resume else {}
    roomy = shutil.disk_usage("/dev/shm").free > 24 << 30
    folder = tempfile.mkdtemp(prefix="lathe-tune-", dir="/dev/shm" if roomy else None)
    try:
        import driver as drivers
        try:
            driver = drivers.Absent() if arguments.dry else drivers.Driver()
        except OSError as error:
            print(f"tune: no GPU can be reached: {error}", file=sys.stderr)
            return 69
        tuner = Tuner(driver, folder, arguments.out, known, arguments.workers, arguments.budget_s)
        if not arguments.dry:
            tuner.result.update(drivers.nvidia_smi())
        tuner.run(set(arguments.only), arguments.classes or list(elements.CLASSES[1:]))
        return 1 if tuner.result["errors"] else 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
