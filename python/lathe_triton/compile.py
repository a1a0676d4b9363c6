"""Compiles one configuration of a kernel ahead of time, for a target that need not be present.

Only Triton is needed. Source paths in the PTX are made relative to the tree, so the same source
gives the same bytes in every checkout.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import tempfile
from pathlib import Path

# No cached result of another version or of another checkout may be taken.
os.environ.setdefault("TRITON_CACHE_DIR", tempfile.mkdtemp(prefix="lathe-triton-"))

import triton  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.backends.nvidia.compiler import CUDABackend  # noqa: E402
from triton.compiler import ASTSource, code_generator  # noqa: E402

from .contract import Compiled, Config, Contract, Tensor, TRITON_OF_DTYPE  # noqa: E402

_CAPABILITY = re.compile(r"^sm_(\d+)(a?)$")
_PARAM = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)")


def _relative(name: str, root: Path) -> str:
    path = Path(name).resolve()
    if "site-packages" in path.parts:
        return str(Path(*path.parts[path.parts.index("site-packages") + 1:]))
    return str(path.relative_to(root)) if path.is_relative_to(root) else path.name


def _name_places_relative(root: Path) -> None:
    original = code_generator.CodeGenerator.__init__
    if getattr(original, "relative", False):
        return

    def begin(self, *arguments, file_name=None, **more):
        original(self, *arguments, **more,
                 file_name=_relative(file_name, root) if file_name else file_name)

    begin.relative = True
    code_generator.CodeGenerator.__init__ = begin


def prepare(root: Path, assemble: bool = False) -> None:
    """To be called once, before the first kernel is compiled. Without `assemble`, Triton's own
    assembler is left out: what is exported is PTX, and Lathe assembles it."""
    _name_places_relative(root.resolve())
    if not assemble:
        CUDABackend.make_cubin = lambda *_: b""


@contextlib.contextmanager
def passes_into(place: Path | None):
    """What the compiler's passes print, which comes from below Python, goes into a file."""
    if place is None:
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    os.environ["MLIR_ENABLE_DUMP"] = "1"
    with place.open("wb") as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            del os.environ["MLIR_ENABLE_DUMP"]


def _source(contract: Contract, config: Config) -> ASTSource:
    signature: dict[str, str] = {}
    attributes: dict[tuple[int], list] = {}
    constants = contract.constants_of(config)
    arguments = iter(contract.arguments)
    for index, name in enumerate(contract.kernel.arg_names):
        if name in constants:
            signature[name] = "constexpr"
            continue
        argument = next(arguments)
        if isinstance(argument, Tensor):
            signature[name] = "*" + TRITON_OF_DTYPE[argument.dtype]
            divisible = argument.align % 16 == 0
        else:
            _, (type_, value) = argument
            signature[name] = type_
            divisible = isinstance(value, int) and value % 16 == 0
        if divisible and config.aligned:
            attributes[(index,)] = [["tt.divisibility", 16]]
    return ASTSource(contract.kernel, signature, constants, attributes)


def metadata_text(meta) -> str:
    """What Triton says of the kernel, less what differs from one machine to the next."""
    kept = {key: value for key, value in meta._asdict().items()
            if key not in ("hash", "extern_libs", "target", "backend_name", "debug")}
    return json.dumps(kept, indent=1, sort_keys=True, default=str) + "\n"


def compile_kernel(contract: Contract, config: Config, target: str) -> Compiled:
    match = _CAPABILITY.match(target)
    if match is None:
        raise ValueError(f"unknown target {target}: expected sm_89, sm_90a or sm_100a")
    options = {"num_warps": config.num_warps, "num_stages": config.num_stages,
               **contract.options}
    kernel = triton.compile(_source(contract, config),
                            target=GPUTarget("cuda", int(match[1]), 32), options=options)
    meta = kernel.metadata
    if meta.global_scratch_size:
        raise ValueError(f"{contract.name}: global scratch of {meta.global_scratch_size} bytes a "
                         "block needs a scratch tensor, which export cannot write yet")
    ptx = kernel.asm["ptx"]
    head = ptx[ptx.index(".visible .entry"):]
    head = head[:head.index("{")]
    block = re.search(r"\.reqntid\s+(\d+)(?:,\s*(\d+))?(?:,\s*(\d+))?", head)
    declared = re.search(r"^\.target\s+(\w+)", ptx, re.M)
    assert block is not None and declared is not None
    if declared[1] != target:
        raise ValueError(f"{contract.name}: Triton wrote .target {declared[1]}, wanted {target}")
    version = re.search(r"^\.version\s+(\d+\.\d+)", ptx, re.M)
    return Compiled(
        entry=meta.name, target=target, ptx=ptx,
        stages={**{stage: str(kernel.asm[stage]) for stage in ("ttir", "ttgir", "llir")},
                "json": metadata_text(meta)},
        block=[int(n or 1) for n in block.groups()],
        cluster=list(getattr(meta, "cluster_dims", (1, 1, 1))), shared_bytes=meta.shared,
        parameter_types=_PARAM.findall(head), isa=version[1], triton=triton.__version__,
        fp_fusion=bool(meta.enable_fp_fusion), pdl=bool(meta.launch_pdl),
        cooperative=bool(meta.launch_cooperative_grid))
