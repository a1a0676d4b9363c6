"""`python -m lathe_triton export`: contracts from the sources of the suite.

Each source yields its contracts; each contract becomes a folder a target with contract.toml and
reference.ptx. `--check` writes nothing and says which committed files differ. What Triton refuses
is listed at the end in Triton's own words.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Iterator

from . import contract as model
from .answer import Answer, add_option
from .environment import DEFAULT, VERSIONS, root_of_tree
from .sources import contracts_of, shipped

# The newest .version that the project's assembler (CUDA 13.0) reads.
PTX_ISA = "9.0"


def _newer(a: str, b: str) -> str:
    return max(a, b, key=lambda version: tuple(int(part) for part in version.split(".")))


def files_of(contract: model.Contract, target: str, arguments) -> Iterator[tuple[str, str]]:
    """Path in the tree and text of every file that the contract has for one target."""
    from .compile import compile_kernel, passes_into
    config = contract.config(target)
    folder = contract.folder(target)
    passes = arguments.out / folder / "kernel.passes" if arguments.passes else None
    if passes:
        passes.parent.mkdir(parents=True, exist_ok=True)
    with passes_into(passes):
        compiled = compile_kernel(contract, config, target)
    isa = _newer(arguments.ptx_isa, compiled.isa)
    yield f"{folder}/contract.toml", model.text(contract, config, compiled, isa)
    yield f"{folder}/reference.ptx", compiled.ptx
    if arguments.stages:
        for stage, text in compiled.stages.items():
            yield f"{folder}/kernel.{stage}", text
    if arguments.configs and contract.home == "suite/contracts":
        label = config.label()
        others = [c for c in contract.tuning if c.label() != label][:arguments.configs]
        for other in others:
            made = compile_kernel(contract, other, target)
            yield f"{folder}/configs/{other.label()}.ptx", made.ptx
            yield (f"{folder}/configs/{other.label()}.toml",
                   model.launch_text(made, contract.grid_of(other)))
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
                     help="default: every source of the suite")
    out.add_argument("--all", action="store_true",
                     help="every source, precision and target; what Triton refuses is listed")
    out.add_argument("--only", action="append", metavar="NAME_PRECISION",
                     help="contracts of this name alone; may be repeated")
    out.add_argument("--target", action="append", choices=model.TARGETS,
                     help="may be repeated; default: all three")
    out.add_argument("--out", type=Path, default=root_of_tree(),
                     help="the tree to write into; default: this one")
    out.add_argument("--ptx-isa", default=PTX_ISA,
                     help=f"newest .version that a candidate may declare; default {PTX_ISA}")
    out.add_argument("--configs", type=int, nargs="?", const=99, default=0, metavar="N",
                     help="also N (default: all) other configurations of each kernel")
    out.add_argument("--stages", action="store_true",
                     help="also write ttir, ttgir, llir and Triton's metadata")
    out.add_argument("--passes", action="store_true",
                     help="also write what each pass of the compiler made, kernel.passes")
    out.add_argument("--check", action="store_true",
                     help="write nothing; exit 1 where a committed file differs")
    out.add_argument("--digests", type=Path,
                     help="compare with (--check) or write SHA-256 sums in place of the files")
    out.add_argument("--triton", default=DEFAULT, choices=VERSIONS,
                     help=f"version, in a virtual environment of its own; default {DEFAULT}")
    out.add_argument("--jobs", type=int, default=1, help="compile so many at a time")
    out.add_argument("--installed", action="store_true",
                     help="take the Triton that this Python has, not the pinned one")
    add_option(out)
    return out


def _work(arguments) -> list[tuple[str, int, str]]:
    """Source, which of its contracts, and target: what a process of its own can be told."""
    sources = arguments.sources
    if not sources or arguments.all:
        sources = [str(path) for path in shipped()]
    work = []
    for source in sources:
        path, _, kernel = source.partition(":")
        for i, contract in enumerate(contracts_of(Path(path), kernel or None)):
            name = f"{contract.name}_{contract.dtype}"
            if arguments.only and name not in arguments.only:
                continue
            work += [(source, i, target) for target in arguments.target or model.TARGETS]
    return work


def _make(item: tuple[str, int, str], arguments) -> tuple[str, list[tuple[str, str]], str]:
    from .compile import prepare
    prepare(root_of_tree())
    source, i, target = item
    path, _, kernel = source.partition(":")
    contract = list(contracts_of(Path(path), kernel or None))[i]
    name = f"{contract.name} {contract.dtype} {target}"
    try:
        return name, list(files_of(contract, target, arguments)), ""
    except Exception as error:  # Triton's own, whatever it is: it is what the user wants to read.
        said = str(error).strip() or repr(error)
        return name, [], f"{type(error).__name__}: {said.splitlines()[-1]}"


def _results(arguments):
    work = _work(arguments)
    if arguments.jobs <= 1:
        yield from (_make(item, arguments) for item in work)
        return
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        for future in [pool.submit(_make, item, arguments) for item in work]:
            yield future.result()


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _settle_digests(digests: dict[str, str], arguments) -> list[str]:
    if not arguments.check:
        arguments.digests.parent.mkdir(parents=True, exist_ok=True)
        arguments.digests.write_text(json.dumps(digests, indent=0, sort_keys=True) + "\n")
        return []
    known = json.loads(arguments.digests.read_text())
    wrong = [name for name, digest in digests.items() if known.get(name) != digest]
    for name in wrong:
        print(f"{name}: differs from {arguments.digests}")
    return wrong


def run(arguments) -> int:
    with Answer(arguments.json) as answer:
        return _run(arguments, answer)


def _run(arguments, answer: Answer) -> int:
    made: list[str] = []
    wrong: list[str] = []
    refused: list[dict[str, str]] = []
    digests: dict[str, str] = {}
    for name, files, error in _results(arguments):
        if error:
            refused.append({"contract": name, "error": error})
        for path, text in files:
            made.append(path)
            place = arguments.out / path
            if arguments.digests:
                digests[path] = _sha256(text)
            elif arguments.check:
                wrong += [path] if _differs(place, text) else []
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text)
                print(path, flush=True)
    if arguments.digests:
        wrong += _settle_digests(digests, arguments)
    for row in refused:
        print(f"not supported by Triton: {row['contract']}: {row['error']}")
    if arguments.all and not refused:
        print("not supported by Triton: nothing")
    print(f"{len(made)} files, {len(wrong)} differ" if arguments.check else
          f"{len(made)} files written")
    answer.give({"schema": "lathe/export/1", "triton": version("triton"), "files": made,
                 "differing": wrong, "refused": refused})
    return 1 if wrong or (refused and not arguments.all) else 0
