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

# The version that contracts are made with, and the newest one.
DEFAULT = "3.6.0"
VERSIONS = (DEFAULT, "3.9.0")
NUMPY = "numpy==2.4.6"


def root_of_tree() -> Path:
    return Path(__file__).resolve().parents[2]


def python_of(folder: Path) -> Path:
    return folder / "bin" / "python"


def folder_of(version: str) -> Path:
    """`.venv-triton` holds the default version; each other has a folder of its own."""
    return root_of_tree() / (".venv-triton" if version == DEFAULT else f".venv-triton-{version}")


def made(version: str) -> bool:
    """Whether the environment of this version is there and whole."""
    folder = folder_of(version)
    complete = folder / "complete"
    wanted = f"triton=={version}\n{NUMPY}\n"
    return complete.exists() and complete.read_text() == wanted and python_of(folder).exists()


def ensure(version: str) -> Path:
    """The interpreter of the environment, made first where it is missing or half made."""
    folder = folder_of(version)
    python = python_of(folder)
    if made(version):
        return python
    pinned = [f"triton=={version}", NUMPY]
    print(f"making {folder.name} with {', '.join(pinned)}", file=sys.stderr)
    venv.create(folder, with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                    *pinned], check=True, stdout=sys.stderr)
    (folder / "complete").write_text("\n".join(pinned) + "\n")
    return python


def enter(arguments: list[str], own: bool, version: str = DEFAULT) -> None:
    """Returns where Triton can be imported here; otherwise goes on in the tree's environment."""
    inside = Path(sys.prefix).resolve() == folder_of(version).resolve()
    if inside or (not own and importlib.util.find_spec("triton") is not None):
        return
    python = ensure(version)
    environment = {**os.environ, "PYTHONPATH": str(root_of_tree() / "python")}
    os.execve(python, [str(python), "-m", "lathe_triton", *arguments], environment)
