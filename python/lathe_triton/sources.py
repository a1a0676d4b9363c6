"""Kernels' sources: found, loaded, and asked for their contracts."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Iterator

from . import contract as model
from .environment import root_of_tree

FOLDERS = ("suite/kernels", "suite/semantics")


def load(path: Path):
    """The module of a source, loaded once."""
    path = path.resolve()
    known = sys.modules.get(path.stem)
    if known is not None and Path(getattr(known, "__file__", None) or "").resolve() == path:
        return known
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def sibling(file: str, stem: str):
    """Another source of the same folder, for what both share."""
    return load(Path(file).with_name(stem + ".py"))


def contracts_of(path: Path, kernel: str | None = None) -> Iterator[model.Contract]:
    module = load(path)
    if not hasattr(module, "contracts"):
        raise SystemExit(f"{path}: no function contracts(); write one that yields "
                         "lathe_triton.Contract(..)")
    found = [c for c in module.contracts() if kernel in (None, c.kernel.__name__)]
    if not found:
        raise SystemExit(f"{path}: no contract of a kernel named {kernel}")
    return iter(found)


def missing(sources: list[str]) -> str | None:
    """The first of FILE.py[:KERNEL] whose file is not there."""
    files = [source.partition(":")[0] for source in sources]
    return next((file for file in files if not Path(file).is_file()), None)


def shipped() -> list[Path]:
    """Every source of the suite, and those of the kernels that test semantics."""
    return [path for folder in FOLDERS for path in sorted((root_of_tree() / folder).glob("*.py"))]


def _of_home(folder: str, home: str) -> list[model.Contract]:
    return [c for path in sorted((root_of_tree() / folder).glob("*.py"))
            for c in contracts_of(path) if c.home == home]


def suite() -> list[model.Contract]:
    """The contracts of the suite proper, without the small ones that only tests use."""
    return _of_home(FOLDERS[0], "suite/contracts")


def semantics() -> list[model.Contract]:
    """Those of the kernels that test what a kernel means."""
    return _of_home(FOLDERS[1], "suite/semantics/contracts")
