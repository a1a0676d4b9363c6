"""Winners that `lathe deploy RUN --winners DIR` wrote, and the guards under which a launch may take
one: everything that the proof was about must be so at this launch.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

from .launch import BYTES_OF_DTYPE, Launch, Pointer, Scalar, Unsupported, arguments_of, \
    entry_of, joined_layout, kernel_digest, scalar_bits


class Unusable(ValueError):
    """A winner's folder that is damaged, or not allowed here."""


@dataclass(frozen=True)
class Shape:
    """A contract, or one case of it: what one launch must agree with."""

    launch: Mapping[str, Any]
    parameters: Sequence[Mapping[str, Any]]
    tensors: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Winner:
    folder: Path
    entry: str
    target: str
    contract: str
    candidate: str
    proved: bool
    kernel: str  # Digest of the reference: which of Triton's kernels it stands in for.
    cubin: bytes
    shapes: tuple[Shape, ...]
    files: Mapping[str, bytes]  # Contents that the contract fixes, by the tensor's name.

    def name(self) -> str:
        return f"{self.candidate[:16]} (contract {self.contract[:16]}, " \
            f"{'proved' if self.proved else 'NOT proved'})"


def _digest_is(content: bytes, wanted: str, what: Path) -> bytes:
    if hashlib.sha256(content).hexdigest() != wanted:
        raise Unusable(f"{what}: damaged; deploy again")
    return content


def read(folder: Path, unproved: bool) -> Winner:
    try:
        json_ = json.loads((folder / "winner.json").read_text())
        if json_["schema"] != "lathe/winner/1":
            raise Unusable(f"{folder}: schema {json_['schema']}, wanted lathe/winner/1")
        if not json_["proved"] and not unproved:
            raise Unusable(f"{folder}: not proved; --unproved takes it all the same")
        shapes = tuple(Shape(s["launch"], s["parameters"], s["tensors"]) for s in json_["shapes"])
        cubin = _digest_is((folder / "winner.cubin").read_bytes(), json_["cubin_sha256"],
                           folder / "winner.cubin")
        reference = _digest_is((folder / "reference.ptx").read_bytes(), json_["reference_sha256"],
                               folder / "reference.ptx").decode()
        files = {}
        for tensor in shapes[0].tensors:
            values = tensor.get("values")
            if isinstance(values, dict) and "file" in values:
                files[tensor["name"]] = _digest_is((folder / values["file"]).read_bytes(),
                                                   values["sha256"], folder / values["file"])
        return Winner(folder, json_["entry"], json_["target"], json_["contract"],
                      json_["candidate"], bool(json_["proved"]), kernel_digest(reference), cubin,
                      shapes, files)
    except (OSError, KeyError, IndexError, TypeError, json.JSONDecodeError) as wrong:
        raise Unusable(f"{folder}: no winner that can be read: {wrong}") from None


def read_all(folder: Path, unproved: bool) -> list[Winner]:
    """One a folder, sorted. Raises Unusable where there is none or one is wrong."""
    places = sorted(path.parent for path in folder.glob("*/winner.json"))
    if not places:
        raise Unusable(f"{folder}: no winners (lathe deploy RUN --winners DIR writes them)")
    winners = [read(place, unproved) for place in places]
    seen: dict[tuple, Path] = {}
    for winner in winners:
        other = seen.setdefault((winner.contract,), winner.folder)
        if other != winner.folder:
            raise Unusable(f"{winner.folder} and {other} are winners of one contract")
    return winners


def _rule(name: str, value: Any, wanted: Any) -> str | None:
    return None if value == wanted else name


def _launch_differs(launch: Launch, shape: Shape) -> str | None:
    metadata, wanted = launch.kernel.metadata, shape.launch
    return (_rule("warps", list(entry_of(launch.kernel.asm["ptx"]).block), wanted["block"])
            or _rule("shared bytes", int(metadata.shared), wanted["dynamic_shared_bytes"])
            or _rule("cluster", list(launch.cluster), wanted["cluster"])
            or _rule("launch attributes", [bool(getattr(metadata, "launch_pdl", False)),
                                           bool(getattr(metadata, "launch_cooperative_grid",
                                                        False))],
                     [wanted["pdl"], wanted["cooperative"]])
            or _rule("grid", list(launch.grid), wanted["grid"]))


def _tensor_differs(pointer: Pointer, tensor: Mapping[str, Any]) -> str | None:
    name = pointer.name
    if BYTES_OF_DTYPE.get(tensor["dtype"]) != pointer.element_bytes:
        return f"type of {name}"
    if pointer.layout() != joined_layout(tensor["shape"], tensor["strides"]):
        return f"shape or strides of {name}"
    if pointer.address % tensor["align_bytes"] != 0:
        return f"alignment of {name}"
    values = tensor.get("values", "normal")
    if values not in ("normal", "bits") and not (isinstance(values, dict) and "file" in values) \
            and tensor["role"] in ("input", "inout"):
        return f"values of {name} (cannot be checked at a launch)"
    return None


def _arguments_differ(arguments: Sequence[Pointer | Scalar], shape: Shape) -> str | None:
    tensors = {tensor["name"]: tensor for tensor in shape.tensors}
    given = shape.parameters[:len(arguments)]
    if len(given) != len(arguments):
        return "number of parameters"
    bound: dict[str, Pointer] = {}
    for argument, parameter in zip(arguments, given):
        if isinstance(argument, Scalar):
            bits = scalar_bits(argument.triton_type, argument.value)
            if "tensor" in parameter or bits != int(parameter.get("bits", -1)):
                return f"scalar {argument.name}"
            continue
        if "tensor" not in parameter:
            return f"scalar {argument.name}"
        tensor = tensors[parameter["tensor"]]
        if reason := _tensor_differs(argument, tensor):
            return reason
        first = bound.setdefault(tensor["name"], argument)
        if first.address != argument.address:
            return f"overlap of {first.name} and {argument.name}"
    for parameter in shape.parameters[len(arguments):]:
        if "tensor" not in parameter and int(parameter.get("bits", -1)) != 0:
            return f"scalar {parameter['name']}"
    return _overlaps(bound, tensors)


def _overlaps(bound: Mapping[str, Pointer], tensors: Mapping[str, Any]) -> str | None:
    rows = sorted(bound.items(), key=lambda pair: pair[1].address)
    for i, (name, one) in enumerate(rows):
        for other_name, other in rows[i + 1:]:
            if other.address >= one.address + one.span_bytes:
                break
            if tensors[name]["role"] != "input" or tensors[other_name]["role"] != "input":
                return f"overlap of {one.name} and {other.name}"
    return None


_PLAIN = (int, float, bool, str, type(None))


def _form_key(launch: Launch) -> tuple | None:
    """All that the decision depends on but contents, quickly made; none where an argument is of
    no known kind."""
    parts: list[Any] = [launch.kernel.hash, launch.grid]
    for value in launch.values:
        if type(value) in _PLAIN:
            parts.append((type(value), value))
        elif hasattr(value, "data_ptr") and hasattr(value, "stride"):
            parts.append((tuple(value.shape), tuple(value.stride()), value.data_ptr()))
        else:
            return None
    return tuple(parts)


class Guards:
    """The decision for each launch. Those that depend on the launch's form alone are kept."""

    def __init__(self, winners: Sequence[Winner]):
        self.winners = list(winners)
        self._entries = {winner.entry for winner in winners}
        self._digests: dict[str, str] = {}
        self._kept: dict[tuple, tuple[Winner | None, str]] = {}

    def decide(self, launch: Launch, read: Callable[[int, int, int], bytes],
               capturing: Callable[[int], bool]) -> tuple[Winner | None, str]:
        """The winner, or none and which guard spoke against the nearest one. `read(address, size,
        stream)` waits for the stream first."""
        if launch.kernel.metadata.name not in self._entries:
            return None, "no winner"
        key = _form_key(launch)
        if key is None or key not in self._kept:
            try:
                decision = self._decide(launch, arguments_of(launch.signature, launch.values))
            except Unsupported as reason:
                decision = None, str(reason)
            if key is None:
                return self._checked(decision, launch, read, capturing)
            if len(self._kept) > 65536:  # Addresses change without end in some programs.
                self._kept.clear()
            self._kept[key] = decision
        return self._checked(self._kept[key], launch, read, capturing)

    def _checked(self, decision, launch: Launch, read, capturing) -> tuple[Winner | None, str]:
        winner, reason = decision
        if winner is None or not winner.files:
            return decision
        arguments = arguments_of(launch.signature, launch.values)
        reason = self._contents(winner, launch, arguments, read, capturing)
        return (winner, "") if not reason else (None, reason)

    def _digest(self, kernel: Any) -> str:
        if kernel.hash not in self._digests:
            self._digests[kernel.hash] = kernel_digest(kernel.asm.get("ptx", ""))
        return self._digests[kernel.hash]

    def _decide(self, launch: Launch, arguments) -> tuple[Winner | None, str]:
        named = [w for w in self.winners if w.entry == launch.kernel.metadata.name]
        here = [w for w in named if w.target == self._target(launch)]
        if not here:
            return None, "target"
        same = [w for w in here if w.kernel == self._digest(launch.kernel)]
        if not same:
            return None, "another kernel of that name (or another Triton, or other constants)"
        reason = ""
        for winner in same:
            for shape in winner.shapes:
                differs = _launch_differs(launch, shape) or _arguments_differ(arguments, shape)
                if differs is None:
                    return winner, ""
                reason = reason or differs
        return None, reason

    @staticmethod
    def _target(launch: Launch) -> str:
        """Of the kernel that Triton compiled for this very device."""
        ptx = launch.kernel.asm.get("ptx", "")
        return entry_of(ptx).target if ptx else ""

    @staticmethod
    def _contents(winner: Winner, launch: Launch, arguments, read, capturing) -> str:
        if capturing(launch.stream):
            return "values cannot be read while a graph is captured"
        tensors = {p.get("tensor"): a for p, a in zip(winner.shapes[0].parameters, arguments)}
        for name, wanted in winner.files.items():
            pointer = tensors[name]
            if read(pointer.address, pointer.span_bytes, launch.stream) != wanted:
                return f"values of {pointer.name}"
        return ""
