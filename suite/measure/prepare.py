"""Makes the files of the measured pairs, and what the device needs to measure them.

`PYTHONPATH=python .venv-triton/bin/python suite/measure/prepare.py` writes suite/pairs/*/ (to be
committed) and .measure/ (cubins and manifest.json, to be carried to the device machine).
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "suite/measure"))

from lathe_triton.compile import compile_kernel, prepare  # noqa: E402
from lathe_triton.contract import launch_table  # noqa: E402
from lathe_triton.sources import load  # noqa: E402

import pairs  # noqa: E402

TARGET = "sm_90a"
PTXAS = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
EMPTY = """.version 8.7
.target sm_90a
.address_size 64
.visible .entry empty_kernel()
.reqntid 128
{
\tret;
}
"""


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def assemble(ptx: str, name: str) -> dict:
    """A cubin in .measure, and what ptxas says of it."""
    source, cubin = ROOT / f".measure/{name}.ptx", ROOT / f".measure/{name}.cubin"
    source.write_text(ptx)
    said = subprocess.run([PTXAS, "-v", f"-arch={TARGET}", str(source), "-o", str(cubin)],
                          capture_output=True, text=True, check=True).stderr
    source.unlink()
    spilled = re.search(r"(\d+) bytes spill stores", said)
    return {"cubin": cubin.name, "cubin_sha256": sha256(cubin.read_bytes()),
            "ptx_sha256": sha256(ptx.encode()),
            "registers": int(re.search(r"Used (\d+) registers", said)[1]),
            "spill_store_bytes": int(spilled[1]) if spilled else 0}


def assembler() -> str:
    said = subprocess.run([PTXAS, "--version"], capture_output=True, text=True, check=True).stdout
    return "ptxas " + re.search(r"V([\d.]+)", said)[1]


def side_of(contract, side: pairs.Side, place: str) -> tuple[dict, str]:
    """One side as rows of pair.toml, and its PTX."""
    config = side.config or contract.configs[TARGET]
    used = pairs.contract_with(contract, side)
    made = compile_kernel(used, config, TARGET)
    ptx = side.edit(made.ptx) if side.edit else made.ptx
    ptx = ptx.replace(made.entry, contract.kernel.__name__)
    launch = launch_table(made, contract.grid_of(config), allow=False)
    if side.shared_bytes is not None:
        launch["dynamic_shared_bytes"] = side.shared_bytes
    if side.is_reference():
        place = f"{contract.folder(TARGET)}/reference.ptx"
    elif side.edit is None and side.config is None and side.kernel is None:
        place = f"{contract.folder(TARGET)}/reference.ptx"  # The same text, launched otherwise.
    return {"file": place, **launch}, ptx


def arguments_of(contract_toml: dict) -> list:
    return [["tensor", p["tensor"]] if "tensor" in p else [p["type"], p["value"]]
            for p in contract_toml["parameter"]]


def value(v) -> str:
    return json.dumps(v)


def pair_text(pair: pairs.Pair, folder: str, sides: dict) -> str:
    out = [f'name = {value(pair.name)}', f'contract = {value(folder)}', f'what = {value(pair.what)}',
           f'about = {value(pair.why)}']
    for label, rows in sides.items():
        out += ["", f"[{label}]", f'file = {value(rows["file"])}', "", f"[{label}.launch]"]
        out += [f"{k} = {value(v)}" for k, v in rows.items() if k != "file"]
    return "\n".join(out) + "\n"


def contract_of(kernel: str):
    """As it was when the pairs were measured: its own copy, whatever tuning chose since."""
    module = load(ROOT / f"suite/kernels/{kernel}.py")
    if kernel == "gemm":
        own = module.contract("gemm", "fp16", module.gemm_kernel, 2048, 2048, 2048,
                              tuning=module.TILES)
    else:
        own = next(c for c in module.contracts() if c.name == kernel)
    return replace(own, home="suite/pairs/contracts", configs={TARGET: own.tuning[0]})


def main() -> None:
    prepare(ROOT)
    (ROOT / ".measure").mkdir(exist_ok=True)
    contracts = {kernel: contract_of(kernel) for kernel in ("softmax", "silu", "sum", "gemm")}
    manifest = {"target": TARGET, "assembler": assembler(), "contracts": {}, "pairs": [],
                "empty": {**assemble(EMPTY, "empty"), "entry": "empty_kernel", "grid": [132, 1, 1],
                          "block": [128, 1, 1], "dynamic_shared_bytes": 0}}
    for kernel, contract in contracts.items():
        folder = contract.folder(TARGET)
        parsed = tomllib.loads((ROOT / folder / "contract.toml").read_text())
        ptx = (ROOT / folder / "reference.ptx").read_text()
        manifest["contracts"][kernel] = {
            "folder": folder, "entry": parsed["entry"], "arguments": arguments_of(parsed),
            "tensors": parsed["tensor"], "tolerance": parsed["tolerance"], **parsed["launch"],
            "contract_sha256": sha256((ROOT / folder / "contract.toml").read_bytes()),
            **assemble(ptx, f"{kernel}_reference")}
    for pair in pairs.PAIRS:
        contract = contracts[pair.kernel]
        here = f"suite/pairs/{pair.name}"
        (ROOT / here).mkdir(parents=True, exist_ok=True)
        sides, measured = {}, {"name": pair.name, "kernel": pair.kernel}
        for label, side in (("reference", pair.reference), ("candidate", pair.candidate)):
            rows, ptx = side_of(contract, side, f"{here}/{label}.ptx")
            if rows["file"].startswith(here):
                (ROOT / rows["file"]).write_text(ptx)
            assert (ROOT / rows["file"]).read_text() == ptx, rows["file"]
            sides[label] = rows
            measured[label] = {**{k: v for k, v in rows.items() if k != "file"},
                               "file": rows["file"], **assemble(ptx, f"{pair.name}_{label}")}
        (ROOT / here / "pair.toml").write_text(
            pair_text(pair, contract.folder(TARGET), sides))
        manifest["pairs"].append(measured)
        print(pair.name, measured["reference"]["registers"], measured["candidate"]["registers"],
              flush=True)
    (ROOT / ".measure/manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


if __name__ == "__main__":
    main()
