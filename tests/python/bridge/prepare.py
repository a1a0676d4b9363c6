"""What on_gpu.py needs, made on a machine without a GPU: `python3 prepare.py LATHE OUT`.

The winners are the captured kernels changed trivially and proved by LATHE; the marked ones count
their blocks in a variable of the module, which shows that the device ran them, and are not proved.
Triton's own kernels are compiled for a GPU that is not there, with the same Triton.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / "python")]
LATHE, OUT = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
RECORDED = HERE.parent / "h200/captured"
MARK = ".global .align 4 .u32 lathe_mark;\n"


def lathe(*words):
    end = subprocess.run([str(LATHE), *(str(w) for w in words)], capture_output=True, text=True)
    print(end.stdout + end.stderr, end="")
    if end.returncode != 0:
        raise SystemExit(f"lathe {words[0]} ended with {end.returncode}")


def changed(ptx: str) -> str:
    """One more move of a value that is there: other text, same function."""
    name = re.search(r"\.reg \.b32\s+%r<(\d+)>;", ptx)
    count = int(name[1])
    ptx = ptx.replace(name[0], f".reg .b32 \t%r<{count + 1}>;", 1)
    at = ptx.index("\n", ptx.index("mov.u32", ptx.index("{"))) + 1
    return ptx[:at] + f"\tmov.u32 \t%r{count}, %ctaid.x;\n" + ptx[at:]


def marked(ptx: str) -> str:
    """Thread 0 of each block adds one to a variable."""
    count = int(re.search(r"\.reg \.b32\s+%r<(\d+)>;", ptx)[1])
    ptx = ptx.replace(f"%r<{count}>", f"%r<{count + 1}>", 1)
    ptx = ptx.replace(".visible .entry", MARK + ".visible .entry", 1)
    at = _body(ptx)
    return ptx[:at] + ("\t{\n\t.reg .pred %lathe_p;\n\t.reg .b64 %lathe_a;\n"
                       f"\tmov.u32 %r{count}, %tid.x;\n"
                       f"\tsetp.eq.u32 %lathe_p, %r{count}, 0;\n"
                       "\tmov.u64 %lathe_a, lathe_mark;\n"
                       "\t@%lathe_p red.global.add.u32 [%lathe_a], 1;\n\t}\n") + ptx[at:]


def _body(ptx: str) -> int:
    """After the last register declaration of the kernel."""
    last = [m.end() for m in re.finditer(r"\n\s*\.reg [^\n]*;", ptx)][-1]
    return ptx.index("\n", last) + 1


def mark_winner(winner: Path, into: Path) -> None:
    shutil.copytree(winner, into)
    ptx = marked((winner / "reference.ptx").read_text())
    (into / "winner.ptx").write_text(ptx)
    subprocess.run(["ptxas", "-arch=sm_90a", "-o", into / "winner.cubin", into / "winner.ptx"],
                   check=True)
    json_ = json.loads((into / "winner.json").read_text())
    cubin = (into / "winner.cubin").read_bytes()
    json_ |= {"proved": False, "cubin_sha256": hashlib.sha256(cubin).hexdigest(),
              "candidate": hashlib.sha256(ptx.encode()).hexdigest()}
    json_.pop("proof", None)
    (into / "winner.json").write_text(json.dumps(json_, indent=1) + "\n")


def deploy(contract: Path, *form) -> None:
    file = OUT / "changed" / f"{contract.name}.ptx"
    file.parent.mkdir(exist_ok=True)
    file.write_text(changed((contract / "reference.ptx").read_text()))
    lathe("deploy", "--file", file, "--contract", contract, "--seed", "1", *form)


def main() -> None:
    OUT.mkdir()
    (OUT / "winners").mkdir()
    (OUT / "marked").mkdir()
    for name in ("add_kernel_1", "softmax_kernel_1", "gather_kernel_1", "scale_kernel_1"):
        deploy(RECORDED / name, "--winners", OUT / "one")
        winner = next((OUT / "one").iterdir())
        shutil.move(winner, OUT / "winners" / name)
        (OUT / "one").rmdir()
        mark_winner(OUT / "winners" / name, OUT / "marked" / name)
    deploy(RECORDED / "add_kernel_1", "--cubin", OUT / "cubin")
    deploy(HERE.parent / "h200/constant/silu_kernel_1", "--triton-override", OUT / "override")
    lathe("export", "--file", OUT / "changed/add_kernel_1.ptx", "--contract",
          RECORDED / "add_kernel_1", "--flashinfer-trace", OUT / "dataset")
    foreign = HERE.parents[1] / "cli/flashinfer"
    lathe("import", "--flashinfer-trace", foreign / "definition.json",
          foreign / "workloads.jsonl", foreign / "solution.json", "--out", OUT / "imported")


main()
