"""The contract of a launch that was seen: its text, and the directory that holds it."""

from __future__ import annotations

import base64
import json
import os
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping

from . import contract as model
from . import ttir
from .launch import Entry, Launch, Pointer, Scalar, Unsupported, arguments_of, constants_of, \
    entry_of, scalar_bits

# The newest .version that a candidate may declare, unless Triton's own is newer.
PTX_ISA = "9.0"
# What a file of a contract may have at most.
KEPT_BYTES_MAX = 64 << 20

_FLOATS = {"f64", "f32", "f16", "bf16", "e4m3", "e5m2"}
# Absolute and relative, by an output's type: a few units in its last place, for the sums that a
# kernel may have made on the way.
_TOLERANCE = {"f64": (1e-12, 1e-12), "f32": (1e-5, 1e-4), "f16": (1e-3, 2e-3),
              "bf16": (1e-2, 1.6e-2), "e4m3": (3e-2, 0.125), "e5m2": (6e-2, 0.25)}


@dataclass
class Instance:
    """One kernel with one launch: what a contract is about."""

    entry: Entry
    ptx: str
    stages: Mapping[str, str]
    launch: Launch
    arguments: list[Pointer | Scalar]
    roles: dict[str, str]
    kept: dict[str, bytes]  # Whole contents, of tensors whose data decides addresses.
    same: dict[str, str]  # A parameter that is another one's tensor, to that one.
    booleans: set[str] = field(default_factory=set)
    samples: dict[str, dict[str, Any]] = field(default_factory=dict)
    scratch_bytes: int = 0
    scratch_align: int = 16

    def tensors(self) -> list[Pointer]:
        return [a for a in self.arguments if isinstance(a, Pointer) and a.name not in self.same]


def _overlap(a: Pointer, b: Pointer) -> bool:
    return a.address < b.address + b.span_bytes and b.address < a.address + a.span_bytes


def shared_tensors(arguments: list[Pointer | Scalar], written: set[str]) -> dict[str, str]:
    """Which parameters are one tensor. Tensors that are only read may lie as they like: the
    contract then admits more. Errors where a written one is partly another."""
    pointers = [a for a in arguments if isinstance(a, Pointer)]
    same: dict[str, str] = {}
    for i, one in enumerate(pointers):
        for other in pointers[:i]:
            if other.name in same or not _overlap(one, other):
                continue
            if one.name not in written and other.name not in written:
                continue
            if (one.address, one.dtype, one.layout()) != (other.address, other.dtype,
                                                          other.layout()):
                raise Unsupported(f"{other.name} and {one.name} share memory in part, and one of "
                                  "them is written")
            same[one.name] = other.name
            break
    return same


def _roles(use: ttir.Use, pointers: list[Pointer], same: dict[str, str]) -> dict[str, str]:
    reads: dict[str, bool] = {}
    writes: dict[str, bool] = {}
    for pointer in pointers:
        place = use.parameters.index(pointer.name)
        target = same.get(pointer.name, pointer.name)
        reads[target] = reads.get(target, False) or place in use.reads
        writes[target] = writes.get(target, False) or place in use.writes
    return {name: ("inout" if reads[name] else "output") if writes[name] else "input"
            for name in reads}


def instance_of(launch: Launch) -> tuple[Instance, set[str]]:
    """The instance, and the tensors whose contents it needs. Raises Unsupported, Untraceable."""
    asm, metadata = launch.kernel.asm, launch.kernel.metadata
    if "ptx" not in asm or "ttir" not in asm:
        raise Unsupported("Triton's cache holds no PTX and no TTIR of it "
                          "(TRITON_STORE_BINARY_ONLY)")
    entry = entry_of(asm["ptx"])
    if entry.target not in model.TARGETS:
        raise Unsupported(f"target {entry.target}; contracts are for {', '.join(model.TARGETS)}")
    arguments = arguments_of(launch.signature, launch.values)
    use = ttir.use_of(asm["ttir"])
    pointers = [a for a in arguments if isinstance(a, Pointer)]
    for name in (a.name for a in pointers):
        if name not in use.parameters:
            raise Unsupported(f"the TTIR has no parameter {name}")
    written = {a.name for a in pointers if use.parameters.index(a.name) in use.writes}
    same = shared_tensors(arguments, written)
    if getattr(metadata, "profile_scratch_size", 0):
        raise Unsupported("it is compiled for profiling (profile scratch)")
    instance = Instance(
        entry, asm["ptx"], {s: str(asm[s]) for s in ("ttir", "ttgir", "llir") if s in asm}, launch,
        arguments, _roles(use, pointers, same), {}, same,
        booleans={a.name for a in pointers if launch.signature[a.name].endswith(("*i1", "*u1"))},
        scratch_bytes=int(getattr(metadata, "global_scratch_size", 0) or 0),
        scratch_align=int(getattr(metadata, "global_scratch_align", 16) or 16))
    needed = set()
    for pointer in instance.tensors():
        names = [pointer.name, *(n for n, other in same.items() if other == pointer.name)]
        places = {use.parameters.index(n) for n in names}
        if instance.roles[pointer.name] == "output":
            continue
        if places & use.addresses or (places & use.decides and pointer.dtype not in _FLOATS):
            needed.add(pointer.name)
            if pointer.span_bytes > KEPT_BYTES_MAX:
                raise Unsupported(f"{pointer.name} decides addresses and has {pointer.span_bytes} "
                                  f"bytes; a contract keeps at most {KEPT_BYTES_MAX}")
    return instance, needed


def _values(instance: Instance, pointer: Pointer) -> Any:
    if pointer.name in instance.kept:
        return {"file": f"{pointer.name}.bin"}
    if pointer.name in instance.booleans:
        ones = instance.samples.get(pointer.name, {}).get("mean", 0.5)
        return {"mask": round(min(max(ones, 0.05), 0.95), 2)}
    return "normal" if pointer.dtype in _FLOATS else "bits"


def _tensor_rows(instance: Instance) -> list[dict[str, Any]]:
    rows = []
    for pointer in instance.tensors():
        role = instance.roles[pointer.name]
        row: dict[str, Any] = {
            "name": pointer.name, "dtype": pointer.dtype, "shape": list(pointer.shape),
            "strides": list(pointer.strides), "role": role, "align": pointer.align}
        if role in ("input", "inout"):
            row["values"] = _values(instance, pointer)
        rows.append(row)
    if instance.scratch_bytes:
        blocks = instance.launch.grid[0] * instance.launch.grid[1] * instance.launch.grid[2]
        rows.append({"name": "global_scratch", "dtype": "b8",
                     "shape": [instance.scratch_bytes * blocks], "strides": [1],
                     "role": "scratch", "align": instance.scratch_align})
    return rows


def _scalar_value(scalar: Scalar, ptx_type: str) -> Any:
    bits = scalar_bits(scalar.triton_type, scalar.value)
    if ptx_type in ("f32", "f64"):
        form = {"f32": ("<I", "<f"), "f64": ("<Q", "<d")}[ptx_type]
        value = struct.unpack(form[1], struct.pack(form[0], bits))[0]
        return value if value == value and abs(value) != float("inf") else hex(bits)
    if ptx_type.startswith("u"):
        return bits
    if ptx_type.startswith("s"):
        return int(scalar.value)
    return hex(bits)


def parameter_rows(instance: Instance) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    types = instance.entry.parameter_types
    for argument, type_ in zip(instance.arguments, types):
        if isinstance(argument, Pointer):
            rows.append({"name": argument.name,
                         "tensor": instance.same.get(argument.name, argument.name)})
        else:
            rows.append({"name": argument.name, "type": type_,
                         "value": _scalar_value(argument, type_)})
    if instance.scratch_bytes:
        rows.append({"name": "global_scratch", "tensor": "global_scratch"})
    else:
        rows.append({"name": "global_scratch", "type": "u64", "value": 0})
    rows.append({"name": "profile_scratch", "type": "u64", "value": 0})
    if len(rows) != len(types):
        raise Unsupported(f"the PTX has {len(types)} parameters, the launch {len(rows)}")
    return rows


def _tolerance(instance: Instance) -> dict[str, float]:
    kinds = [p.dtype for p in instance.tensors()
             if instance.roles[p.name] != "input" and p.dtype in _FLOATS]
    if not kinds:
        return {}
    absolute = max(_TOLERANCE[kind][0] for kind in kinds)
    relative = max(_TOLERANCE[kind][1] for kind in kinds)
    return {"absolute": absolute, "relative": relative, "error_factor": 2.0}


def _constants(instance: Instance, triton: str) -> dict[str, Any]:
    metadata = instance.launch.kernel.metadata
    out: dict[str, Any] = {}
    constants = constants_of(instance.launch.signature, instance.launch.values)
    for name, value in constants.items():
        value = getattr(value, "value", value)
        out[name] = value if isinstance(value, (bool, int, float, str)) else str(value)
    out |= {"num_warps": metadata.num_warps, "num_stages": metadata.num_stages, "triton": triton,
            "enable_fp_fusion": bool(metadata.enable_fp_fusion)}
    if (folder := override_folder(instance.launch.kernel)) is not None:
        out["triton_override"] = f"{folder}/{str(metadata.name)[:150]}.ptx"
    return out


def override_folder(kernel: Any) -> str | None:
    """Where Triton looks for an override: the hash of source, signature, constants and
    divisibility in base 32."""
    try:
        digest = kernel.src.hash()
    except Exception:  # A source that came from a file of IR has other rules.
        return None
    return base64.b32encode(bytes.fromhex(digest)).decode().rstrip("=")


def text(instance: Instance, triton: str) -> str:
    launch, metadata = instance.launch, instance.launch.kernel.metadata
    isa = max(PTX_ISA, instance.entry.isa, key=lambda v: tuple(int(n) for n in v.split(".")))
    table: dict[str, Any] = {
        "grid": list(launch.grid), "block": list(instance.entry.block),
        "cluster": list(launch.cluster), "dynamic_shared_bytes": int(metadata.shared), "allow": []}
    if getattr(metadata, "launch_pdl", False):
        table["pdl"] = True
    if getattr(metadata, "launch_cooperative_grid", False):
        table["cooperative"] = True
    out = model._lines({"format": 1, "name": instance.entry.name, "entry": instance.entry.name,
                        "target": instance.entry.target, "ptx_isa": isa})
    out += ["", "[launch]", *model._lines(table)]
    for row in parameter_rows(instance):
        out += ["", "[[parameter]]", *model._lines(row)]
    for row in _tensor_rows(instance):
        out += ["", "[[tensor]]", *model._lines(row)]
    if tolerance := _tolerance(instance):
        out += ["", "[tolerance]", *model._lines(tolerance)]
    out += ["", "[constants]", *model._lines(_constants(instance, triton))]
    return "\n".join(out) + "\n"


def write(instance: Instance, folder: Path, triton: str) -> None:
    """The directory is complete or absent."""
    aside = folder.with_name(folder.name + ".part")
    aside.mkdir(parents=True)
    (aside / "contract.toml").write_text(text(instance, triton))
    (aside / "reference.ptx").write_text(instance.ptx)
    for stage, content in instance.stages.items():
        (aside / f"kernel.{stage}").write_text(content)
    for name, content in instance.kept.items():
        (aside / f"{name}.bin").write_bytes(content)
    metadata = instance.launch.kernel.metadata
    fields = metadata._asdict() if hasattr(metadata, "_asdict") else vars(metadata)
    known = {key: value for key, value in sorted(fields.items())
             if isinstance(value, (bool, int, float, str, list, tuple, type(None)))
             and key != "extern_libs"}  # Paths of this machine.
    (aside / "kernel.json").write_text(json.dumps(known, indent=1) + "\n")
    os.replace(aside, folder)
