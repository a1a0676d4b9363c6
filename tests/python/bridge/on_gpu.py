"""Capture and deployment on a real GPU: everything in one run of a borrowed machine.

`python3 on_gpu.py PREPARED OUT`: PREPARED is what prepare.py made. Writes OUT/bridge.json (what
was done, in order, with the device and the versions) and OUT/captured.tar. Each step is by itself:
one that fails is written down and the others go on.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PREPARED, OUT = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
WORK = Path("/tmp/bridge")
RESULT: dict = {"schema": "lathe/bridge-on-gpu/1", "steps": {}}

HARNESS = """
import ctypes, json, sys
sys.path.insert(0, {python!r})
from pathlib import Path
from lathe_triton import run
from lathe_triton.launch import Watch, run_program
from lathe_triton.memory import Memory
from lathe_triton.winners import read_all
memory = run._LazyMemory()
session = run.Session(read_all(Path(sys.argv[1]), True), memory, run.load_cubin)
with Watch(session.see):
    run_program(sys.argv[2], [])
memory.wait(0)
marks = {{}}
for winner in session.guards.winners:
    if winner.candidate in session.modules:
        address, size = memory.variable(session.modules[winner.candidate], "lathe_mark")
        marks[winner.entry] = int.from_bytes(memory.read(address, size), "little")
Path(sys.argv[3]).write_text(json.dumps({{"marks": marks, "report": session.report()}}))
"""


def environment(cache="cache", **more):
    return {**os.environ, "PYTHONPATH": str(ROOT / "python"), "TRITON_DISABLE_LINE_INFO": "1",
            "TRITON_CACHE_DIR": str(WORK / cache), **more}


def call(*words, **options):
    begin = time.monotonic()
    end = subprocess.run([str(w) for w in words], capture_output=True, text=True,
                         env=options.pop("env", environment()), **options)
    return {"status": end.returncode, "out": end.stdout, "err": end.stderr[-4000:],
            "seconds": round(time.monotonic() - begin, 2)}


def listing(folder):
    """Of Triton's cache: every file with the digest of its bytes."""
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in sorted(folder.rglob("*")) if p.is_file()}


def step(name):
    def register(body):
        try:
            RESULT["steps"][name] = body()
        except Exception:
            RESULT["steps"][name] = {"failed": traceback.format_exc()}
        (OUT / "bridge.json").write_text(json.dumps(RESULT, indent=1) + "\n")
        return body
    return register


def program(name="program.py", *words):
    return [sys.executable, HERE / name, *words]


WORK.mkdir(parents=True, exist_ok=True)


@step("origin")
def _():
    import torch
    import triton
    query = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version",
                            "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
    return {"device_and_driver": query, "triton": triton.__version__, "torch": torch.__version__,
            "python": sys.version.split()[0], "cuda": torch.version.cuda}


@step("warm")
def _():
    return call(*program("program.py", "warm"))


@step("capture")
def _():
    end = call(sys.executable, "-m", "lathe_triton", "capture", "--out", WORK / "captured",
               HERE / "program.py")
    with tarfile.open(OUT / "captured.tar", "w") as tar:
        tar.add(WORK / "captured", "captured")
    return end | {"report": json.loads((WORK / "captured/capture.json").read_text())}


@step("plain")
def _():
    return call(*program())


@step("winners")
def _():
    before = listing(WORK / "cache")
    shutil.copytree(PREPARED / "winners", WORK / "winners")
    end = call(sys.executable, "-m", "lathe_triton", "run", "--winners", WORK / "winners",
               "--report", WORK / "report.json", HERE / "program.py")
    return end | {"report": json.loads((WORK / "report.json").read_text()),
                  "cache_unchanged": listing(WORK / "cache") == before}


@step("marked")
def _():
    before = listing(WORK / "cache")
    (WORK / "harness.py").write_text(HARNESS.format(python=str(ROOT / "python")))
    end = call(sys.executable, WORK / "harness.py", PREPARED / "marked", HERE / "program.py",
               WORK / "marks.json")
    return end | json.loads((WORK / "marks.json").read_text()) | {
        "cache_unchanged": listing(WORK / "cache") == before}


@step("removed")
def _():
    before = listing(WORK / "cache")
    shutil.rmtree(WORK / "winners")
    end = call(*program())
    return end | {"cache_unchanged": listing(WORK / "cache") == before,
                  "cache_files": len(before)}


@step("override")
def _():
    plain = call(*program("constant.py"))
    before = listing(WORK / "cache")
    shutil.copytree(PREPARED / "override", WORK / "override")
    end = call(WORK / "override/run", *program("constant.py"))
    own = listing(WORK / "override/cache")
    winner = next((WORK / "override/override").rglob("*.ptx")).read_bytes()
    taken = hashlib.sha256(winner).hexdigest() in own.values()
    shutil.rmtree(WORK / "override")
    after = call(*program("constant.py"))
    return {"plain": plain, "overridden": end, "after": after, "winner_in_own_cache": taken,
            "cache_unchanged": listing(WORK / "cache") == before}


@step("cubin")
def _():
    folder = next((PREPARED / "cubin").iterdir())
    include = next(p for p in ("/usr/local/cuda/include", "/usr/include")
                   if (Path(p) / "cuda.h").exists())
    libraries = [p for p in ("/usr/local/nvidia/lib64", "/usr/lib/x86_64-linux-gnu",
                             "/usr/local/cuda/lib64/stubs") if Path(p).exists()]
    built = call("gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-I", include, "-I", folder,
                 HERE / "add_main.c", folder / "add_kernel.c", "-o", WORK / "add",
                 *(word for p in libraries for word in ("-L", p)), "-l:libcuda.so.1")
    return {"built": built,
            "ran": call(WORK / "add", folder / "add_kernel.cubin")}


@step("flashinfer")
def _():
    """The exported definition's reference and the solution, as others would call them."""
    code = ("import json, sys, torch\n"
            "definition, solution = (json.load(open(p)) for p in sys.argv[1:3])\n"
            "spaces = [{}, {}]\n"
            "exec(definition['reference'], spaces[0])\n"
            "exec(solution['sources'][0]['content'], spaces[1])\n"
            "torch.manual_seed(1)\n"
            "x, y = (torch.randn(5000, device='cuda') for _ in range(2))\n"
            "outs = [s['run'](x, y, 5000) for s in spaces]\n"
            "print(all(torch.equal(o, x + y) for o in outs))\n"
            "try:\n    spaces[1]['run'](x, y, 4999)\n"
            "except ValueError as wrong:\n    print('refused:', wrong)\n")
    dataset = PREPARED / "dataset"
    return call(sys.executable, "-c", code, next((dataset / "definitions").rglob("*.json")),
                next((dataset / "solutions").rglob("*.json")))


@step("imported")
def _():
    """Capture of the program that `lathe import` made of a foreign definition with workloads."""
    program = next((PREPARED / "imported/programs").rglob("program_of_workloads.py"))
    end = call(sys.executable, "-m", "lathe_triton", "capture", "--out", WORK / "imported", program)
    return end | {"report": json.loads((WORK / "imported/capture.json").read_text())}


print(json.dumps({k: (v.get("status"), "failed" in v) for k, v in RESULT["steps"].items()}))
