"""Turns what tune.py measured into what is committed, and that into docs/BASELINES.md.

`PYTHONPATH=python python3 suite/measure/baseline.py [$OUT/tuned.json]` writes
suite/baselines/sm_90a.json where it is given a measurement, and always the document. `--check`
writes nothing and fails where the document is not what the committed measurement makes. Runs where
Triton is (`.venv-triton/bin/python`), since the kernels' sources import it.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import textwrap
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from lathe_triton import sources  # noqa: E402

DATA = ROOT / "suite/baselines/sm_90a.json"
SURVEY = ROOT / "suite/baselines/survey.json"
DOCUMENT = ROOT / "docs/BASELINES.md"
BYTES = {"f16": 2, "bf16": 2, "e4m3": 1, "f32": 4, "s8": 1, "s32": 4}
# Dense tensor peaks of an H200, TFLOP/s, by what the operands are.
PEAKS = {"f16": 989.4, "bf16": 989.4, "e4m3": 1978.9, "s8": 1978.9}
GAP = 0.05  # A row of the survey that differs by more has to be explained.


def line_a_kernel(document: dict) -> str:
    """JSON with one configuration a line: samples are long."""
    head = {k: v for k, v in document.items() if k != "kernels"}
    out = json.dumps(head, indent=1)[:-2] + ',\n "kernels": {\n'
    kernels = []
    for name, row in sorted(document["kernels"].items()):
        lines = [f'   {json.dumps(label)}: {json.dumps(config)}'
                 for label, config in row["configs"].items()]
        classes = [f'   {json.dumps(kind)}: {json.dumps(found)}'
                   for kind, found in sorted(row["classes"].items())]
        kernels.append(f'  {json.dumps(name)}: {{"chosen": {json.dumps(row.get("chosen"))},\n'
                       '  "configs": {\n' + ",\n".join(lines) + '},\n  "classes": {\n'
                       + ",\n".join(classes) + "}}")
    return out + ",\n".join(kernels) + "\n }\n}\n"


def collect(place: Path) -> dict:
    measured = json.loads(place.read_text())
    for row in measured["kernels"].values():
        row["chosen"] = row.pop("fastest", None)
        for config in row["configs"].values():
            config.pop("constants", None)
    return measured


def rate(contract, median_us: float, copy_tbs: float) -> tuple[str, float]:
    """What the kernel achieves of the resource that it is nearer to the limit of."""
    moved = sum(math.prod(t.shape) * BYTES[t.dtype] * (2 if t.role == "inout" else 1)
                for t in contract.tensors())
    tbs = moved / median_us * 1e-6
    share = tbs / copy_tbs
    text = f"{tbs:.2f} TB/s, {100 * share:.0f} % of a copy's {copy_tbs:.2f}"
    if not contract.flops:
        return text, share
    types = {t.dtype for t in contract.tensors() if t.role == "input" and t.dtype != "f32"}
    # SageAttention's two products are in eight and in sixteen bits, and take half the work each.
    peak = 2 / (1 / PEAKS["s8"] + 1 / PEAKS["f16"]) if contract.name == "sage" else PEAKS[
        (types & set(PEAKS)).pop() if len(types & set(PEAKS)) == 1
        else contract.precision["operand"]]
    tflops = contract.flops / median_us * 1e-6
    if tflops / peak < share:
        return text, share
    return f"{tflops:.0f} TFLOP/s, {100 * tflops / peak:.0f} % of the peak of {peak:.0f}", \
        tflops / peak


def own_error(row: dict) -> tuple[float, float]:
    """The reference's greatest error in units of the tolerance: declared, and on any class."""
    declared = row["classes"]["declared"]["error_over_tolerance_max"]
    return declared, max(c["error_over_tolerance_max"] for c in row["classes"].values() if c)


HEAD = """# Baselines

Every kernel of the suite as Triton {triton} compiles it, tuned on one {device} (driver
{driver_version}, CUDA {cuda}, {assembler}, {date}): the fastest configuration whose output agreed
with the oracle in double precision. Made by `suite/measure/baseline.py` from
`suite/baselines/sm_90a.json`, which has every sample; `suite/measure/tune.py` measured it. This
file is generated: do not edit it.

Method: {method}. The interval is the middle 80 % of the last samples. An empty launch takes
{empty_launch_us} us in the same way, two events with nothing between them {no_launch_us} us, a copy
of 1 GiB {copy_us} us ({copy_tbs} TB/s, read and written). Bytes are those of the tensors, each
once.

*Own error* is the greatest distance of Triton's output from the oracle in units of the contract's
tolerance, on the declared inputs and on the worst of the stress classes: below 1 on the declared
inputs, and at least 1/4 on some class, so no tolerance is more than four times what Triton itself
misses by. (Above 1 on a stress class is no fault: the contract lets a candidate err there as far as
the reference does times `error_factor`.) Exact kernels have the tolerance 0 and the error 0.

| kernel | us | interval | achieved | configuration | own error, declared | worst class |
|---|---|---|---|---|---|---|
"""


def table(document: dict, contracts: dict) -> str:
    copy = document["copy_1_gib"]
    out = HEAD.format(**{**document, "method": textwrap.fill(document["method"], 92), "copy_us": copy["median_us"],
                         "copy_tbs": copy["terabytes_per_second"]})
    for name, contract in contracts.items():
        row = document["kernels"].get(name, {})
        if not row.get("chosen"):
            continue
        samples = row["configs"][row["chosen"]]["final_samples_us"]
        low, median, high = np.percentile(samples, [10, 50, 90])
        declared, worst = own_error(row)
        out += (f"| {name} | {median:.2f} | {low:.2f}..{high:.2f} | "
                f"{rate(contract, median, copy['terabytes_per_second'])[0]} | {row['chosen']} | "
                f"{declared:.2f} | {worst:.3g} |\n")
    return out


def untuned(document: dict, contracts: dict) -> str:
    names = [n for n in contracts if not document["kernels"].get(n, {}).get("chosen")]
    return ("\n## What is not tuned\n\n" + (", ".join(names) if names else
            "On sm_90a nothing is left out: all " f"{len(contracts)} kernels and precisions.")
            + " The contracts for sm_89 and sm_100a take\nthe first configuration of each source, "
            "or the one that the source names for the target: no such\ndevice was at hand.\n")


def survey(document: dict) -> str:
    known = json.loads(SURVEY.read_text())
    out = (f"\n## Beside the survey\n\nThe other measurement that there is ({known['what']}) timed "
           "kernels of its own. Its empty launch takes "
           f"{known['empty_launch_us']} us\nwhere ours takes {document['empty_launch_us']}. A "
           "difference of more than 5 % is explained.\n\n| kernel | us | survey | difference | why "
           "|\n|---|---|---|---|---|\n")
    for name, row in known["kernels"].items():
        ours = document["kernels"][name]
        median = float(np.median(ours["configs"][ours["chosen"]]["final_samples_us"]))
        gap = median / row["median_us"] - 1
        if abs(gap) > GAP and "why" not in row:
            raise SystemExit(f"{name} differs from the survey by {100 * gap:.1f} % and is not "
                             f"explained in {SURVEY}")
        why = row["why"] if abs(gap) > GAP else ""
        out += f"| {name} | {median:.2f} | {row['median_us']} | {100 * gap:+.1f} % | {why} |\n"
    return out


def semantics(document: dict) -> str:
    out = ("\n## The kernels that test meaning\n\nRun on the same device against their oracles, "
           "every element.\n\n| kernel | elements | greatest error | tolerance |\n"
           "|---|---|---|---|\n")
    for contract in sources.semantics():
        row = document["kernels"][f"{contract.name}_{contract.dtype}"]
        found = row["classes"].get("declared") or next(iter(row["configs"].values()))["declared"]
        tolerance = contract.tolerance
        out += (f"| {contract.name} | {found['elements']} | {found['error_max']:g} | "
                f"{tolerance['absolute']:g} + {tolerance['relative']:g} of the value |\n")
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tuned", type=Path, nargs="?")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    document = collect(arguments.tuned) if arguments.tuned else json.loads(DATA.read_text())
    if arguments.tuned:
        DATA.write_text(line_a_kernel(document))
    contracts = {f"{c.name}_{c.dtype}": c for c in sources.suite()}
    text = table(document, contracts) + survey(document) + untuned(document, contracts) \
        + semantics(document)
    if not arguments.check:
        DOCUMENT.write_text(text)
        return 0
    if DOCUMENT.read_text() == text:
        return 0
    print("docs/BASELINES.md is not what suite/baselines/sm_90a.json makes", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
