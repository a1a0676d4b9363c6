"""Runs blocks of every contract on the emulated device and compares them with the oracles.

`PYTHONPATH=python .venv-triton/bin/python suite/measure/emulate.py --jobs 2` runs
build/bin/suite_bench on each contract and writes suite/coverage.json: which forms of instructions the PTX has, which the
table knows, which were carried out, and how far the outputs were from the oracle. The document
docs/COVERAGE.md is made from that. `--fakes` runs the five fakes of each contract instead, into
suite/fakes.json.
"""

from __future__ import annotations

import argparse
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

COVERAGE, FAKES = ROOT / "suite/coverage.json", ROOT / "suite/fakes.json"
TEXT_MAX = 140  # Of a trap's sentence: some quote an instruction of a hundred registers.
DOCUMENT = ROOT / "docs/COVERAGE.md"


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


def emulate(name: str, program: str, blocks: int, limit_s: int) -> dict:
    contract, target = contracts()[name]
    with tempfile.TemporaryDirectory(prefix="lathe-emulate-") as folder:
        start = time.monotonic()
        try:
            said = subprocess.run([program, "run", str(ROOT / contract.folder(target)), folder,
                                   str(blocks)], capture_output=True, text=True, timeout=limit_s)
        except subprocess.TimeoutExpired:
            return {"contract": name, "trap": f"not done within {limit_s} s"}
        if said.returncode != 0:
            return {"contract": name, "trap": said.stderr.strip() or f"exit {said.returncode}"}
        row = json.loads(said.stdout)
        if "trap" not in row:
            row.update(judged(contract, Path(folder)))
    print(f"{name}: {row.get('trap') or {k: row[k] for k in ('elements', 'failing')}} "
          f"{time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)
    return row


def fakes(name: str, program: str, blocks: int, limit_s: int) -> dict:
    del blocks
    contract, target = contracts()[name]
    try:
        said = subprocess.run([program, "fakes", str(ROOT / contract.folder(target))],
                              capture_output=True, text=True, timeout=limit_s)
    except subprocess.TimeoutExpired:
        return {"contract": name, "status": "exhausted", "what": f"not done within {limit_s} s"}
    if said.returncode != 0:
        return {"contract": name, "status": "unsupported", "what": said.stderr.strip()}
    row = json.loads(said.stdout)
    answers = row["fakes"].values()
    row["status"] = ("wrong" if "passed" in answers else
                     "undecided" if any(":" in a for a in answers) else "all rejected")
    print(f"{name}: {row['status']}", file=sys.stderr, flush=True)
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
    return out + fakes_text(rows, json.loads(FAKES.read_text()))


def fakes_text(rows: dict, known: dict) -> str:
    """Which contracts' fakes were all rejected by the test gate, and which were not seen to be."""
    of = {status: [n for n in sorted(known) if known[n]["status"] == status]
          for status in ("all rejected", "wrong", "exhausted", "undecided", "unsupported")}
    never = [n for n in sorted(rows) if n not in known]
    out = ("\n## The five fakes\n\nThe null, constant, copy, right-in-block-0-only and transposed "
           "kernels of a contract, through the\ntest gate (`suite/fakes.json`): of "
           f"{len(rows)} contracts, all five were rejected in {len(of['all rejected'])}, and "
           f"one passed in {len(of['wrong'])}.\n")
    for what, names in (("Stopped by the clock before an answer", of["exhausted"]),
                        ("Without an answer, since the reference itself could not be run",
                         of["undecided"] + of["unsupported"]),
                        ("Not tried for lack of time", never)):
        if names:
            out += f"\n{what} ({len(names)}): {', '.join(names)}.\n"
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=str(ROOT / "build/bin/suite_bench"))
    parser.add_argument("--only", action="append", default=[], help="a part of a contract's name")
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit-s", type=int, default=600, help="of one contract")
    parser.add_argument("--out", type=Path, help="where to write in place of suite/")
    parser.add_argument("--fakes", action="store_true")
    parser.add_argument("--missing", action="store_true", help="only what is not known yet")
    parser.add_argument("--document", action="store_true", help="make the document alone")
    arguments = parser.parse_args()
    place = FAKES if arguments.fakes else COVERAGE
    if arguments.document:
        DOCUMENT.write_text(document(json.loads(COVERAGE.read_text())))
        return 0
    if arguments.out:
        place = arguments.out / place.name
    names = [n for n in contracts() if not arguments.only or any(o in n for o in arguments.only)]
    # The longest first, so that the last ones are short; but fakes are stopped by the clock.
    names.sort(key=lambda n: contracts_weight(n) * (1 if arguments.fakes else -1))
    rows = json.loads(place.read_text()) if place.exists() else {}
    if arguments.missing:
        names = [n for n in names if "elements" not in rows.get(n, {})
                 and rows.get(n, {}).get("status") != "all rejected"]
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        step = fakes if arguments.fakes else emulate
        waiting = [pool.submit(step, n, arguments.program, arguments.blocks, arguments.limit_s)
                   for n in names]
        for future in as_completed(waiting):
            row = future.result()
            rows[row.pop("contract")] = row
            place.write_text(compact(rows))
    wrong = [n for n, r in rows.items() if r.get("failing") or r.get("status") == "wrong"]
    print(f"{len(rows)} contracts, {len(wrong)} wrong: {' '.join(wrong)}")
    return 1 if wrong else 0


def contracts_weight(name: str) -> int:
    contract, target = contracts()[name]
    return contract.flops // max(1, math.prod(contract.grid_of(contract.config(target))))


if __name__ == "__main__":
    sys.exit(main())
