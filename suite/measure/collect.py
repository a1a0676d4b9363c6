"""Turns what run.py measured into the files that are committed.

`python3 suite/measure/collect.py $OUT/pairs.json` writes suite/pairs/NAME/measured.json for each
pair and suite/pairs/device.json (the empty launch, the copy rate and the suite's references). A
pair with a wrong output, or whose PTX is no longer what was measured, is refused and named.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GAP = 0.01  # Differences below this share are called the same.


def verdict(ratio: dict) -> str:
    """What the interval of candidate over reference says of the candidate."""
    if ratio["high"] < 1 - GAP:
        return "faster"
    if ratio["low"] > 1 + GAP:
        return "slower"
    if ratio["low"] > 1 - 2 * GAP and ratio["high"] < 1 + 2 * GAP:
        return "same"
    return "ambiguous"


def fault(pair: dict, row: dict) -> str | None:
    for label in ("reference", "candidate"):
        check = row[label]["check"]
        if check["failing"] or check["input_elements_changed"]:
            return f"the {label}'s output is wrong: {check}"
        file = ROOT / pair[label]["file"]
        if hashlib.sha256(file.read_bytes()).hexdigest() != row[label]["ptx_sha256"]:
            return f"{file.relative_to(ROOT)} is not the text that was measured"
        launch = {k: row[label][k] for k in pair[label]["launch"]}
        if launch != pair[label]["launch"]:
            return f"the {label}'s launch is not the one that was measured"
    return None


def side(row: dict) -> dict:
    keys = ("median_us", "quartile_1_us", "quartile_3_us", "count", "registers",
            "spill_store_bytes", "ptx_sha256", "cubin_sha256", "check", "samples_us")
    return {k: row[k] for k in keys}


def compact(document: dict) -> str:
    """JSON with one member a line, lists of samples on one line."""
    lists: list[str] = []

    def fold(value):
        if isinstance(value, list):
            lists.append(json.dumps(value))
            return f"@list{len(lists) - 1}@"
        return {k: fold(v) for k, v in value.items()} if isinstance(value, dict) else value

    text = json.dumps(fold(document), indent=1)
    for i, row in enumerate(lists):
        text = text.replace(f'"@list{i}@"', row)
    return text + "\n"


def main() -> int:
    measured = json.loads(Path(sys.argv[1]).read_text())
    origin = {k: v for k, v in measured.items()
              if k not in ("references", "pairs", "errors", "empty_launch", "no_launch",
                           "copy_1_gib", "schema")}
    refused = [f"{e['step']}: {e['error']}" for e in measured["errors"]]
    for folder in sorted((ROOT / "suite/pairs").iterdir()):
        if not (folder / "pair.toml").exists():
            continue
        row = measured["pairs"].get(folder.name)
        if row is None:
            refused.append(f"{folder.name}: not measured")
            continue
        wrong = fault(tomllib.loads((folder / "pair.toml").read_text()), row)
        if wrong:
            refused.append(f"{folder.name}: {wrong}")
            continue
        ratio = row["candidate_over_reference"]
        (folder / "measured.json").write_text(compact({
            "schema": "lathe/pair/1", "name": folder.name, "verdict": verdict(ratio),
            "candidate_over_reference": ratio, "origin": origin,
            "reference": side(row["reference"]), "candidate": side(row["candidate"])}))
        print(f"{folder.name:30s} {row['reference']['median_us']:9.2f} "
              f"{row['candidate']['median_us']:9.2f} us  {ratio['ratio']:.4f} {verdict(ratio)}")
    (ROOT / "suite/pairs/device.json").write_text(compact({
        "schema": "lathe/device-baseline/1", "origin": origin,
        **{k: measured[k] for k in ("empty_launch", "no_launch", "copy_1_gib", "references")
           if k in measured}}))
    for line in refused:
        print(f"refused: {line}", file=sys.stderr)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
