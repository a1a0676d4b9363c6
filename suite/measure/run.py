"""Measures the pairs on a GPU, through the CUDA driver alone, and checks every output.

`python3 suite/measure/run.py --from .measure --out $OUT` writes pairs.json as results come, and
measure.log. Both files of a pair are timed interleaved (ABBA), each launch after twice the L2 has
been overwritten, between two events; the overwriting hides the cost of the launch. Only numpy is
needed beside the driver. `--dry` tries everything with a plain interpreter in the driver's place.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import sys
import time
import traceback
from pathlib import Path

import numpy as np

from driver import POISON, Driver, nvidia_smi

ROOT = Path(__file__).resolve().parents[2]


class Dry:
    """The same calls on a plain interpreter: the first and the last block run, times are made up."""

    def __init__(self):
        sys.path.insert(0, str(Path(__file__).parent))
        import dry
        self.dry = dry
        self.memory = np.zeros(1 << 29, np.uint8)
        self.end = 4096
        self.clock = 0.0

    def describe(self) -> dict:
        return {"device": "none (dry)", "multiprocessors": 1, "l2_bytes": 1 << 20, "cuda": "0.0"}

    def allocate(self, size: int) -> int:
        at = self.end
        self.end += (size + 1023) // 1024 * 1024
        assert self.end <= len(self.memory)
        return at

    def upload(self, address, array) -> None:
        raw = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
        self.memory[address:address + len(raw)] = raw

    def download(self, address, array) -> None:
        raw = array.view(np.uint8).reshape(-1)
        raw[:] = self.memory[address:address + len(raw)]

    def poison(self, address, size) -> None:
        self.memory[address:address + size].view(np.uint16)[:] = POISON

    def overwrite(self, address, size, value) -> None:
        pass

    copy = overwrite

    def function(self, cubin: Path, entry: str, shared_bytes: int):
        assert cubin.read_bytes()[:4] == b"\x7fELF"
        return entry

    def launcher(self, function, launch: dict, arguments: list):
        def go():
            self.clock += 1.0
            if launch.get("file"):
                grid = launch["grid"][0]
                self.dry.launch((ROOT / launch["file"]).read_text(), self.memory,
                                [v for _, v in arguments], grid, launch["block"][0],
                                min(launch["dynamic_shared_bytes"], 1 << 20), {0, grid - 1})
        return go

    def synchronize(self) -> None:
        pass

    def event(self):
        return [0.0]

    def record(self, event) -> None:
        event[0] = self.clock

    def elapsed_us(self, start, end) -> float:
        return end[0] - start[0]


def largest(values: np.ndarray) -> float | None:
    finite = values[np.isfinite(values)]
    return float(f"{finite.max():.4g}") if len(finite) else None


def quartiles(samples: list[float]) -> dict:
    q = [round(float(v), 3) for v in np.percentile(samples, [25, 50, 75])]
    return {"median_us": q[1], "quartile_1_us": q[0], "quartile_3_us": q[2], "count": len(samples)}


def interval(reference: list[float], candidate: list[float], seed: int) -> dict:
    """Candidate over reference, as the median of paired blocks, with a bootstrap interval."""
    ratios = np.array(candidate) / np.array(reference)
    rng = np.random.default_rng(seed)
    draws = np.median(rng.choice(ratios, (2000, len(ratios))), axis=1)
    low, high = np.percentile(draws, [2.5, 97.5])
    return {"ratio": round(float(np.median(ratios)), 5), "low": round(float(low), 5),
            "high": round(float(high), 5)}


def oracle(kernel: str, inputs: dict) -> np.ndarray:
    wide = {name: array.astype(np.float64) for name, array in inputs.items()}
    if kernel == "softmax":
        powers = np.exp(wide["x"] - wide["x"].max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)
    if kernel == "silu":
        return wide["x"] / (1 + np.exp(-wide["x"]))
    if kernel == "sum":
        return wide["x"].sum(axis=1)
    return wide["a"] @ wide["b"]


class Bench:
    SETS = 3  # Of buffers, taken in turn, so that a launch finds neither its bytes nor its address.

    def __init__(self, driver, folder: Path, out: Path, blocks: int):
        self.driver, self.folder, self.out, self.blocks = driver, folder, out, blocks
        self.manifest = json.loads((folder / "manifest.json").read_text())
        self.log = (out / "measure.log").open("w")
        self.kernels: dict[str, dict] = {}
        self.events: list = []
        about = driver.describe()
        self.dry = isinstance(driver, Dry)
        self.sets = 1 if self.dry else self.SETS
        self.flush_bytes = max(2 * about["l2_bytes"], 1 << 10) if self.dry else max(
            2 * about["l2_bytes"], 256 << 20)
        self.flush_at = driver.allocate(self.flush_bytes if not self.dry else 1 << 20)
        self.result = {"schema": "lathe/measurement/1", **about, **nvidia_smi(),
                       "assembler": self.manifest["assembler"], "target": self.manifest["target"],
                       "numpy": np.__version__, "python": sys.version.split()[0],
                       "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
                       "method": "CUDA events round one launch, reference and candidate interleaved "
                                 f"(ABBA), {self.flush_bytes >> 20} MiB overwritten before each "
                                 f"launch, {self.sets} sets of buffers in turn",
                       "references": {}, "pairs": {}, "errors": []}

    def say(self, text: str) -> None:
        line = f"[{time.monotonic():9.1f}] {text}"
        print(line, flush=True)
        self.log.write(line + "\n")
        self.log.flush()

    def save(self) -> None:
        path = self.out / "pairs.json"
        path.with_suffix(".new").write_text(json.dumps(self.result, indent=1) + "\n")
        path.with_suffix(".new").rename(path)

    def guarded(self, name: str, step) -> None:
        try:
            step()
        except Exception as error:  # One pair's failure must not cost the others.
            self.result["errors"].append({"step": name, "error": f"{type(error).__name__}: {error}"})
            self.say(f"{name}: FAILED {error}")
            self.log.write(traceback.format_exc())
        self.save()

    def kernel(self, name: str) -> dict:
        """Buffers, inputs and expected outputs of one contract, made once."""
        if name in self.kernels:
            return self.kernels[name]
        contract = self.manifest["contracts"][name]
        rng = np.random.default_rng(20)
        sets = []
        for _ in range(self.sets):
            inputs, addresses = {}, {}
            for tensor in contract["tensors"]:
                count = math.prod(tensor["shape"])
                addresses[tensor["name"]] = self.driver.allocate(2 * count)
                if tensor["role"] == "input":
                    array = rng.standard_normal(count, np.float32).astype(np.float16)
                    inputs[tensor["name"]] = array.reshape(tensor["shape"])
                    self.driver.upload(addresses[tensor["name"]], array)
            sets.append({"inputs": inputs, "addresses": addresses})
        sets[0]["expected"] = oracle(name, sets[0]["inputs"])
        self.kernels[name] = {"contract": contract, "sets": sets}
        return self.kernels[name]

    def launchers(self, name: str, side: dict) -> list:
        made = self.kernel(name)
        function = self.driver.function(self.folder / side["cubin"], made["contract"]["entry"],
                                        side["dynamic_shared_bytes"])
        return [self.driver.launcher(function, side, [
            [kind, entry["addresses"][value] if kind == "tensor" else value]
            for kind, value in made["contract"]["arguments"]]) for entry in made["sets"]]

    def check(self, name: str, go) -> dict:
        """Runs once on poisoned outputs and compares with double precision on the host."""
        made = self.kernel(name)
        first, contract = made["sets"][0], made["contract"]
        output = next(t for t in contract["tensors"] if t["role"] == "output")
        got = np.zeros(math.prod(output["shape"]), np.float16)
        self.driver.poison(first["addresses"][output["name"]], got.nbytes)
        go()
        self.driver.synchronize()
        self.driver.download(first["addresses"][output["name"]], got)
        expected = first["expected"].reshape(-1)
        if self.dry:  # The elements of the first and the last block alone.
            run = ~np.isnan(got)
            assert run.any()
            got, expected = got[run], expected[run]
        error = np.abs(got.astype(np.float64) - expected)
        allowed = (contract["tolerance"]["absolute"]
                   + contract["tolerance"]["relative"] * np.abs(expected))
        touched = 0
        for tensor, array in first["inputs"].items():
            back = np.empty_like(array)
            self.driver.download(first["addresses"][tensor], back)
            touched += int((back.view(np.uint16) != array.view(np.uint16)).sum())
        return {"elements": int(len(expected)), "failing": int((~(error <= allowed)).sum()),
                "error_max": largest(error), "error_over_allowed_max": largest(error / allowed),
                "input_elements_changed": touched}

    def timed(self, order: list) -> list[float]:
        """Launches in this order, one between each pair of events; the time of each."""
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

    def interleaved(self, a: list, b: list) -> tuple[list[float], list[float]]:
        """Medians are taken later; A and B of a block are its two launches' mean each."""
        samples: tuple[list[float], list[float]] = ([], [])
        for block in range(-4, self.blocks):
            turn = block % self.sets
            other = (block + 1) % self.sets
            order = [a[turn], b[turn], b[other], a[other]]
            if block % 2:
                order = [b[turn], a[turn], a[other], b[other]]
            times = self.timed(order)
            if block >= 0:
                first = 1 if block % 2 else 0
                samples[first].extend((times[0], times[3]))
                samples[1 - first].extend((times[1], times[2]))
        return samples

    def pair(self, pair: dict) -> None:
        name = pair["kernel"]
        sides = [self.launchers(name, pair[label]) for label in ("reference", "candidate")]
        checks = [self.check(name, side[0]) for side in sides]
        a, b = self.interleaved(*sides)
        row: dict = {"kernel": name, "origin": self.manifest["contracts"][name]["folder"]}
        for label, samples, check in zip(("reference", "candidate"), (a, b), checks):
            row[label] = {**pair[label], **quartiles(samples), "check": check,
                          "samples_us": [round(s, 3) for s in samples]}
        blocks = [[(s[i] + s[i + 1]) / 2 for i in range(0, len(s), 2)] for s in (a, b)]
        row["candidate_over_reference"] = interval(*blocks, seed=1)
        self.result["pairs"][pair["name"]] = row
        wrong = [c["failing"] or c["input_elements_changed"] for c in checks]
        self.say(f"{pair['name']:30s} {row['reference']['median_us']:9.2f} "
                 f"{row['candidate']['median_us']:9.2f} us  x{row['candidate_over_reference']} "
                 f"{'WRONG ' + str(checks) if any(wrong) else 'outputs ok'}")

    def reference(self, name: str) -> None:
        contract = {**self.manifest["contracts"][name]}
        contract["file"] = contract["folder"] + "/reference.ptx"
        go = self.launchers(name, contract)
        check = self.check(name, go[0])
        samples = [t for i in range(-2, self.blocks)
                   for t in self.timed([go[i % self.sets], go[(i + 1) % self.sets]]) if i >= 0]
        bytes_ = sum(2 * math.prod(t["shape"]) for t in contract["tensors"])
        row = {**quartiles(samples), "check": check, "bytes": bytes_,
               "terabytes_per_second": round(bytes_ / np.median(samples) * 1e-6, 4),
               "cubin_sha256": contract["cubin_sha256"], "ptx_sha256": contract["ptx_sha256"],
               "registers": contract["registers"],
               "samples_us": [round(s, 3) for s in samples]}
        if name == "gemm":
            m, k = contract["tensors"][0]["shape"]
            n = contract["tensors"][1]["shape"][1]
            row["teraflops"] = round(2 * m * n * k / np.median(samples) * 1e-6, 2)
        self.result["references"][name] = row
        self.say(f"reference {name}: {row['median_us']} us, {row['terabytes_per_second']} TB/s, "
                 f"{check}")

    def floor(self) -> None:
        empty = self.manifest["empty"]
        function = self.driver.function(self.folder / empty["cubin"], empty["entry"], 0)
        go = self.driver.launcher(function, empty, [])
        samples = [t for _ in range(self.blocks) for t in self.timed([go] * 4)]
        nothing = [t for _ in range(self.blocks) for t in self.timed([lambda: None] * 4)]
        self.result["empty_launch"] = {"what": "132 blocks of 128 threads that return",
                                       **quartiles(samples)}
        self.result["no_launch"] = {"what": "two events with nothing between", **quartiles(nothing)}
        self.say(f"empty launch {self.result['empty_launch']}, no launch "
                 f"{self.result['no_launch']}")

    def copy_rate(self) -> None:
        size = 1 << 30
        a, b = self.driver.allocate(size), self.driver.allocate(size)
        samples = self.timed([lambda: self.driver.copy(a, b, size)] * 12)[2:]
        self.result["copy_1_gib"] = {**quartiles(samples), "terabytes_per_second": round(
            2 * size / float(np.median(samples)) * 1e-6, 4)}
        self.say(f"copy {self.result['copy_1_gib']}")

    def run(self, only: set[str], budget_s: float) -> None:
        start = time.monotonic()
        self.guarded("empty launch", self.floor)
        if not self.dry:
            self.guarded("copy", self.copy_rate)
        for name in self.manifest["contracts"]:
            if not self.dry and not only:
                self.guarded(f"reference {name}", lambda: self.reference(name))
        for pair in self.manifest["pairs"]:
            if only and pair["name"] not in only:
                continue
            if time.monotonic() - start > budget_s:
                self.result["errors"].append({"step": pair["name"], "error": "out of time"})
                continue
            self.guarded(pair["name"], lambda: self.pair(pair))
        self.result["after"] = nvidia_smi()
        self.save()
        self.say(f"{len(self.result['pairs'])} pairs, {len(self.result['errors'])} errors")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="folder", type=Path, default=ROOT / ".measure")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--blocks", type=int, default=100, help="ABBA blocks a pair")
    parser.add_argument("--budget-s", type=float, default=240)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--dry", action="store_true")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    bench = Bench(Dry() if arguments.dry else Driver(), arguments.folder, arguments.out,
                  2 if arguments.dry else arguments.blocks)
    bench.run(set(arguments.only), arguments.budget_s)
    return 1 if bench.result["errors"] else 0


if __name__ == "__main__":
    sys.exit(main())
