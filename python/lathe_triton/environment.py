"""Triton's own virtual environment, made only where a command needs it.

Users who have Triton run with theirs; the suite's sources are compiled by the pinned version in
`.venv-triton` of the tree, which comes from the Python registry the first time it is asked for.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import venv
from pathlib import Path

PINNED = ("triton==3.6.0", "numpy==2.4.6")


def root_of_tree() -> Path:
    return Path(__file__).resolve().parents[2]


def python_of(folder: Path) -> Path:
    return folder / "bin" / "python"


def ensure(folder: Path) -> Path:
    """The interpreter of the environment, made first where it is missing or half made."""
    python = python_of(folder)
    complete = folder / "complete"
    wanted = "\n".join(PINNED) + "\n"
    if complete.exists() and complete.read_text() == wanted and python.exists():
        return python
    print(f"making {folder.name} with {', '.join(PINNED)}", file=sys.stderr)
    venv.create(folder, with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                    *PINNED], check=True)
    complete.write_text(wanted)
    return python


def enter(arguments: list[str], own: bool) -> None:
    """Returns where Triton can be imported here; otherwise goes on in the tree's environment."""
    folder = root_of_tree() / ".venv-triton"
    inside = Path(sys.prefix).resolve() == folder.resolve()
    if inside or (not own and importlib.util.find_spec("triton") is not None):
        return
    python = ensure(folder)
    environment = {**os.environ, "PYTHONPATH": str(root_of_tree() / "python")}
    os.execve(python, [str(python), "-m", "lathe_triton", *arguments], environment)
