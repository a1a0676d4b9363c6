"""Runs blocks of every contract on the emulated device and compares them with the oracles.

`.venv-triton/bin/python suite/measure/emulate.py --jobs 2` runs build/bin/suite_bench on each
contract that suite/coverage.json does not know as its PTX is, and writes it there: which forms of
instructions the PTX has, which the table knows, which were carried out, and how far the outputs
were from the oracle. `--document` makes docs/COVERAGE.md of that and of suite/fakes.jsonl. Any
Python with NumPy and Triton will do (`python3 .. --jobs 16 --program FILE --out DIR`).
`--triton 3.9.0 --contracts DIR` takes the contracts that `lathe_triton export --all --triton 3.9.0
--out DIR` wrote, and suite/coverage-3.9.0.json.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from lathe_triton import contract as model  # noqa: E402
from lathe_triton import elements, sources  # noqa: E402

FAKES = ROOT / "suite/fakes.jsonl"
VERSIONS = ("3.6.0", "3.9.0")  # Of Triton; the first one's contracts are committed.
TEXT_MAX = 140  # Of a trap's sentence: some quote an instruction of a hundred registers.
DOCUMENT = ROOT / "docs/COVERAGE.md"


def coverage_of(version: str) -> Path:
    return ROOT / ("suite/coverage.json" if version == VERSIONS[0]
                   else f"suite/coverage-{version}.json")


def contracts() -> dict:
    return {f"{c.name}_{c.dtype}_{target}": (c, target)
            for c in [*sources.suite(), *sources.semantics()] for target in model.TARGETS}


def judged(contract, folder: Path) -> dict:
    """The outputs that were written, against the oracle."""
    stored = {t.name: np.fromfile(folder / f"{t.name}.in", elements.STORED[t.dtype])
              for t in contract.tensors() if t.role in ("input", "inout")}
    wide = elements.wide_outputs(contract, stored)
    rows = []
    for tensor in contract.tensors():
        if tensor.role not in ("output", "inout"):
            continue
        kind = np.dtype(elements.STORED[tensor.dtype])
        got = np.fromfile(folder / f"{tensor.name}.out", kind)
        written = np.fromfile(folder / f"{tensor.name}.written", np.uint8)
        written = written.reshape(-1, kind.itemsize).all(axis=1)
        rows.append(elements.compare(contract, tensor, wide[tensor.name], got, written))
    return {"elements": sum(r["elements"] for r in rows),
            "failing": sum(r["failing"] for r in rows),
            "error_over_tolerance_max": max(r["error_over_tolerance_max"] for r in rows)}


def emulate(name: str, root: Path, program: str, blocks: int, limit_s: int) -> dict:
    contract, target = contracts()[name]
    with tempfile.TemporaryDirectory(prefix="lathe-emulate-") as folder:
        start = time.monotonic()
        try:
            said = subprocess.run([program, "run", str(root / contract.folder(target)), folder,
                                   str(blocks)], capture_output=True, text=True, timeout=limit_s)
        except subprocess.TimeoutExpired:
            return {"contract": name, "trap": f"not done within {limit_s} s"}
        if said.returncode != 0:
            return {"contract": name, "trap": said.stderr.strip() or f"exit {said.returncode}"}
        row = json.loads(said.stdout)
        if "trap" not in row:
            row.update(judged(contract, Path(folder)))
    said_of = row.get("trap") or (f"{len(row['blocks'])} blocks, {row['elements']} elements, "
                                  f"{row['failing']} failing")
    print(f"{name}: {said_of}, {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)
    return row


def compact(rows: dict) -> str:
    """One contract a line; of its forms, how many, and those that were not carried out."""
    lines = []
    for name, row in sorted(rows.items()):
        kept = dict(row)
        if len(kept.get("trap", "")) > TEXT_MAX:
            kept["trap"] = kept["trap"][:TEXT_MAX] + " .."
        if isinstance(kept.get("forms"), list):
            forms = kept.pop("forms")
            kept["forms"] = len(forms)
            kept["in_table"] = sum(f["in_table"] for f in forms)
            kept["executed"] = sum(f["executed"] for f in forms)
            kept["not_executed"] = [f["form"] for f in forms if not f["executed"]]
        lines.append(f"{json.dumps(name)}: {json.dumps(kept)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


HEAD = """# What of the suite was executed

Every contract's PTX on the emulated device: how many forms of instructions it has (opcode with its
modifiers), how many of them the table knows, and how many were carried out by some lane in the
blocks that were run, first, last and edge blocks among them, with every element that they wrote
compared with the oracle in double precision. *Error* is the greatest distance from the oracle in
units of the contract's tolerance: at most 1 is within. Generated from `suite/coverage.json` by
`suite/measure/emulate.py --document`; `tests/pipeline/suite_test.cpp` checks it against the PTX.

| contract | forms | in the table | executed and compared | blocks | elements | failing | error |
|---|---|---|---|---|---|---|---|
"""


def document(rows: dict) -> str:
    out, stopped = HEAD, []
    for name, row in sorted(rows.items()):
        if "trap" in row:
            stopped.append(f"* {name}: {row['trap']}")
        figures = [row.get(k, 0) for k in ("forms", "in_table")]
        compared = row["executed"] if "elements" in row else 0
        out += (f"| {name} | {figures[0]} | {figures[1]} | {compared} | "
                f"{len(row.get('blocks', [])) if 'elements' in row else 0} | "
                f"{row.get('elements', 0)} | {row.get('failing', 0)} | "
                f"{row.get('error_over_tolerance_max', 0):.3g} |\n")
    ran = [row for row in rows.values() if "elements" in row]
    out += (f"\n{len(ran)} of {len(rows)} contracts were executed, "
            f"{sum(r['elements'] for r in ran)} elements compared, "
            f"{sum(r['failing'] for r in ran)} of them beyond their tolerance.\n")
    if stopped:
        out += "\n## Not executed\n\n" + "\n".join(stopped) + "\n"
    for version in VERSIONS[1:]:
        out += other_version(version, json.loads(coverage_of(version).read_text()))
    return out + fakes_text(rows, [json.loads(line) for line in FAKES.read_text().splitlines()])


def other_version(version: str, rows: dict) -> str:
    """What of another Triton's PTX was executed: sums, and whatever stands out."""
    ran = {name: row for name, row in rows.items() if "elements" in row}
    forms = sum(row["forms"] for row in ran.values())
    out = (f"\n## Triton {version}\n\nThe same contracts compiled by Triton {version} "
           f"(`suite/coverage-{version}.json`, a line a contract): {len(ran)} of {len(rows)} were\n"
           f"executed, {sum(len(r['blocks']) for r in ran.values())} blocks, "
           f"{sum(r['elements'] for r in ran.values())} elements compared, "
           f"{sum(r['failing'] for r in ran.values())} of them beyond their tolerance, the greatest "
           f"error\n{max(r['error_over_tolerance_max'] for r in ran.values()):.3g} of it; "
           f"{sum(r['in_table'] for r in ran.values())} of {forms} forms are in the table, "
           f"{sum(r['executed'] for r in ran.values())} were carried out.\n")
    return out + "".join(f"\n* {name}: {row['trap']}" for name, row in sorted(rows.items())
                         if "trap" in row)


def fakes_text(rows: dict, known: list[dict]) -> str:
    """Which contracts' fakes were all rejected by the test gate, and which were not seen to be."""
    rejected = {row["contract"] for row in known if row["status"] == "all rejected"}
    codes: dict[str, set[str]] = {}
    for row in known:
        for fake, answer in row.get("fakes", {}).items():
            codes.setdefault(fake, set()).add(answer)
    out = ("\n## The five fakes\n\nThe null, constant, copy, right-in-block-0-only and transposed "
           "kernels of a contract, through the\ntest gate by `scripts/fakes` "
           f"(`suite/fakes.jsonl`): of {len(rows)} contracts, all five were rejected in "
           f"{len(rejected & set(rows))}.\nBy what: "
           + "; ".join(f"{fake} by {', '.join(sorted(found))}" for fake, found in codes.items())
           + ".\n")
    others = [n for n in sorted(rows) if n not in rejected]
    if others:
        out += f"\nNot seen to be ({len(others)}): {', '.join(others)}.\n"
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=str(ROOT / "build/bin/suite_bench"))
    parser.add_argument("--only", action="append", default=[], help="a part of a contract's name")
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit-s", type=int, default=600, help="of one contract")
    parser.add_argument("--out", type=Path, help="where to write in place of suite/")
    parser.add_argument("--again", action="store_true", help="also what is known already")
    parser.add_argument("--document", action="store_true", help="make the document alone")
    parser.add_argument("--triton", choices=VERSIONS, default=VERSIONS[0], help="whose PTX")
    parser.add_argument("--contracts", type=Path, default=ROOT, help="the tree that holds them")
    arguments = parser.parse_args()
    if arguments.document:
        DOCUMENT.write_text(document(json.loads(coverage_of(VERSIONS[0]).read_text())))
        return 0
    place = coverage_of(arguments.triton)
    place = arguments.out / place.name if arguments.out else place
    rows = json.loads(place.read_text()) if place.exists() else {}
    wanted = [n for n in contracts() if not arguments.only or any(o in n for o in arguments.only)]
    root = arguments.contracts.resolve()
    names = [n for n in wanted if arguments.again or not is_known(n, root, rows.get(n, {}))]
    # The longest first, so that the last ones are short.
    names.sort(key=contracts_weight, reverse=True)
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(emulate, n, root, arguments.program, arguments.blocks,
                               arguments.limit_s)
                   for n in names]
        for future in as_completed(waiting):
            row = future.result()
            rows[row.pop("contract")] = row
            place.write_text(compact(rows))
    ran = [rows[n] for n in wanted if "elements" in rows.get(n, {})]
    wrong = [n for n in wanted if rows.get(n, {}).get("failing", 1)]
    print(f"emulate: {len(ran)} of {len(wanted)} contracts, {sum(len(r['blocks']) for r in ran)} "
          f"blocks, {sum(r['elements'] for r in ran)} elements compared, "
          f"{sum(r['failing'] for r in ran)} failing"
          + (f"; not right or not run: {' '.join(wrong)}" if wrong else ""))
    return 1 if wrong else 0


def is_known(name: str, root: Path, row: dict) -> bool:
    """Whether the row has elements compared, of the PTX as it is."""
    contract, target = contracts()[name]
    text = (root / contract.folder(target) / "reference.ptx").read_bytes()
    return "elements" in row and row.get("ptx_sha256") == hashlib.sha256(text).hexdigest()


def contracts_weight(name: str) -> int:
    contract, target = contracts()[name]
    return contract.flops // max(1, math.prod(contract.grid_of(contract.config(target))))


if __name__ == "__main__":
    sys.exit(main())
