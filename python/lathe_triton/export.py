"""`python -m lathe_triton export`: contracts from the sources of the suite.

Each source yields its contracts; each contract becomes a folder a target with contract.toml and
reference.ptx. `--check` writes nothing and says which committed files differ.
"""

from __future__ import annotations

import argparse
import difflib
import importlib.util
import sys
from pathlib import Path
from typing import Iterator

from . import contract as model
from .environment import root_of_tree

# The newest .version that the project's assembler (CUDA 13.0) reads.
PTX_ISA = "9.0"


def _newer(a: str, b: str) -> str:
    return max(a, b, key=lambda version: tuple(int(part) for part in version.split(".")))


def load(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def contracts_of(path: Path, kernel: str | None) -> Iterator[model.Contract]:
    module = load(path)
    if not hasattr(module, "contracts"):
        raise SystemExit(f"{path}: no function contracts(); write one that yields "
                         "lathe_triton.Contract(..)")
    found = [c for c in module.contracts() if kernel in (None, c.kernel.__name__)]
    if not found:
        raise SystemExit(f"{path}: no contract of a kernel named {kernel}")
    return iter(found)


def files_of(contract: model.Contract, target: str, arguments) -> Iterator[tuple[str, str]]:
    """Path in the tree and text of every file that the contract has for one target."""
    from .compile import compile_kernel
    config = contract.configs[target]
    compiled = compile_kernel(contract, config, target)
    folder = contract.folder(target)
    isa = _newer(arguments.ptx_isa, compiled.isa)
    yield f"{folder}/contract.toml", model.text(contract, config, compiled, isa)
    yield f"{folder}/reference.ptx", compiled.ptx
    if arguments.stages:
        for stage, text in compiled.stages.items():
            yield f"{folder}/kernel.{stage}", text
    for label, other in contract.alternatives.items():
        made = compile_kernel(contract, other, target)
        place = f"tests/kernels/alternatives/{contract.name}_{contract.dtype}_{target}/{label}"
        yield f"{place}.ptx", made.ptx
        yield f"{place}.toml", model.launch_text(made, contract.grid_of(other))


def _differs(path: Path, text: str) -> bool:
    committed = path.read_text() if path.exists() else None
    if committed == text:
        return False
    if committed is None:
        print(f"{path}: missing")
        return True
    print(f"{path}: differs")
    lines = difflib.unified_diff(committed.splitlines(), text.splitlines(), "committed",
                                 "exported", lineterm="", n=1)
    for line in list(lines)[:20]:
        print("  " + line)
    return True


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(prog="python -m lathe_triton export", description=__doc__)
    out.add_argument("sources", nargs="*", metavar="FILE.py[:KERNEL]",
                     help="default: every source in suite/kernels")
    out.add_argument("--target", action="append", choices=model.TARGETS,
                     help="may be repeated; default: every target that a contract is for")
    out.add_argument("--out", type=Path, default=root_of_tree(),
                     help="the tree to write into; default: this one")
    out.add_argument("--ptx-isa", default=PTX_ISA,
                     help=f"newest .version that a candidate may declare; default {PTX_ISA}")
    out.add_argument("--stages", action="store_true", help="also write ttir, ttgir and llir")
    out.add_argument("--check", action="store_true",
                     help="write nothing; exit 1 where a committed file differs")
    out.add_argument("--installed", action="store_true",
                     help="take the Triton that this Python has, not the pinned one")
    return out


def run(arguments) -> int:
    from .compile import prepare
    prepare(root_of_tree())
    sources = arguments.sources or [
        str(path) for path in sorted((root_of_tree() / "suite/kernels").glob("*.py"))]
    count = wrong = 0
    for source in sources:
        path, _, kernel = source.partition(":")
        for contract in contracts_of(Path(path), kernel or None):
            for target in arguments.target or contract.configs:
                if target not in contract.configs:
                    continue
                for name, text in files_of(contract, target, arguments):
                    count += 1
                    place = arguments.out / name
                    if arguments.check:
                        wrong += _differs(place, text)
                        continue
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_text(text)
                    print(name, flush=True)
    print(f"{count} files, {wrong} differ" if arguments.check else f"{count} files written")
    return 1 if wrong else 0
