"""`python -m lathe_triton autotune`: on a GPU, the fastest correct configuration of each kernel.

Runs the suite's tuner in the Python that has Triton and sees the GPU. What it wrote becomes the
committed baseline by `suite/measure/baseline.py DIR/tuned.json`; `export` then takes the chosen
configurations.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from .answer import Answer, add_option
from .environment import root_of_tree


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(prog="python -m lathe_triton autotune", description=__doc__)
    out.add_argument("out", type=Path, metavar="DIR", help="where tuned.json is written")
    out.add_argument("--only", action="append", default=[], metavar="NAME_PRECISION")
    out.add_argument("--resume", type=Path, help="an earlier tuned.json")
    out.add_argument("--budget-s", type=float, default=400)
    add_option(out)
    return out


def run(arguments) -> int:
    tuner = root_of_tree() / "suite/measure/tune.py"
    words = [str(tuner), "--out", str(arguments.out), "--budget-s", str(arguments.budget_s)]
    for name in arguments.only:
        words += ["--only", name]
    if arguments.resume:
        words += ["--resume", str(arguments.resume)]
    with Answer(arguments.json) as answer:
        # A process of its own: its workers are started from that script.
        status = subprocess.run([sys.executable, *words], check=False).returncode
        tuned = arguments.out / "tuned.json"
        if status == 0:
            answer.give(json.loads(tuned.read_text()))
        elif arguments.json:
            answer.refuse(status, f"the tuner ended with {status}", f"what it has is in {tuned}")
        return status
