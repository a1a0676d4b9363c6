"""The contract as Python sees it, and its text.

`contracts()` of a kernel's source yields `Contract`s; `text()` writes contract.toml, format 1, in
the order of docs/CONTRACT.md and with one key a line, so that a diff shows one change a line.
"""

from __future__ import annotations

import functools
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

TARGETS = ("sm_89", "sm_90a", "sm_100a")

# Precisions as folders name them, and the element type of the operands.
_ELEMENTS = {"fp16": "f16", "bf16": "bf16", "fp8": "e4m3", "int8": "s8", "fp32": "f32",
             "int32": "s32"}

# Half a unit in the last place, relative and, among the denormals, absolute.
_HALF_ULP = {"f16": (2.0 ** -11, 2.0 ** -25), "bf16": (2.0 ** -8, 2.0 ** -134),
             "e4m3": (2.0 ** -4, 2.0 ** -10)}

# Triton's names of element types, and the contract's.
DTYPE_OF_TRITON = {
    "fp16": "f16", "bf16": "bf16", "fp32": "f32", "fp64": "f64", "fp8e4nv": "e4m3",
    "fp8e5": "e5m2", "i8": "s8", "i16": "s16", "i32": "s32", "i64": "s64", "u8": "u8",
    "u16": "u16", "u32": "u32", "u64": "u64",
}
TRITON_OF_DTYPE = {ours: theirs for theirs, ours in DTYPE_OF_TRITON.items()}


@dataclass(frozen=True)
class Config:
    """One way to compile a kernel. `aligned=False` hides that the pointers and scalars are
    multiples of 16, so Triton takes narrow accesses and gives each thread other elements."""

    num_warps: int = 4
    num_stages: int = 3
    constants: Mapping[str, Any] = field(default_factory=dict)
    aligned: bool = True
    grid: Sequence[int] | None = None  # Where it differs from the contract's.

    def label(self) -> str:
        parts = [f"{name}{value}" for name, value in self.constants.items()]
        narrow = [] if self.aligned else ["narrow"]
        return "_".join([*parts, f"w{self.num_warps}", f"s{self.num_stages}", *narrow])


@dataclass(frozen=True)
class Tensor:
    name: str
    dtype: str
    shape: Sequence[int]
    role: str
    values: Any = "normal"
    strides: Sequence[int] | None = None
    align: int = 16

    def contiguous_strides(self) -> list[int]:
        if self.strides is not None:
            return list(self.strides)
        return [math.prod(self.shape[i + 1:]) for i in range(len(self.shape))]


@dataclass(frozen=True)
class Contract:
    """One kernel, its interface, and the configuration for each target.

    `arguments` are in the order of the kernel's signature, constexpr ones left out: a `Tensor`, or
    a pair of name and (Triton type, value) for a scalar."""

    name: str
    dtype: str
    kernel: Any
    arguments: Sequence[Any]
    grid: Callable[[Mapping[str, Any]], Sequence[int]] | Sequence[int]
    # What tuning tries; the first is taken where a target has neither a measurement nor its own.
    tuning: Sequence[Config]
    configs: Mapping[str, Config] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    tolerance: Mapping[str, float] = field(default_factory=dict)
    precision: Mapping[str, Any] = field(default_factory=dict)
    home: str = "suite/contracts"
    # Other configurations of the same kernel, by label: none of them is part of the contract.
    alternatives: Mapping[str, Config] = field(default_factory=dict)
    # Outputs by name from inputs by name, in double precision and without Triton.
    oracle: Callable[..., Mapping[str, Any]] | None = None
    flops: int = 0  # Of tensor operations; 0 where the kernel moves bytes and little else.
    options: Mapping[str, Any] = field(default_factory=dict)  # Of Triton's compiler.

    def folder(self, target: str) -> str:
        return f"{self.home}/{self.name}_{self.dtype}_{target}"

    def config(self, target: str) -> Config:
        """The configuration of the contract: as measured, else as given, else the first."""
        measured = chosen(target).get(f"{self.name}_{self.dtype}")
        for config in self.tuning:
            if measured is not None and config.label() == measured:
                return config
        if measured is not None:
            raise ValueError(f"{self.name}_{self.dtype}: the measured configuration {measured} "
                             "is none of those that its source lists")
        return self.configs.get(target, self.tuning[0])

    def tensors(self) -> list[Tensor]:
        return [a for a in self.arguments if isinstance(a, Tensor)]

    def constants_of(self, config: Config) -> dict[str, Any]:
        return {**self.constants, **config.constants}

    def grid_of(self, config: Config) -> list[int]:
        grid = config.grid if config.grid is not None else self.grid
        if callable(grid):
            grid = grid(self.constants_of(config))
        return [*grid, 1, 1][:3]


@dataclass(frozen=True)
class Compiled:
    """What Triton made of one configuration for one target."""

    entry: str
    target: str
    ptx: str
    stages: Mapping[str, str]
    block: Sequence[int]
    cluster: Sequence[int]
    shared_bytes: int
    parameter_types: Sequence[str]  # The `.param` types of the entry, in order.
    isa: str
    triton: str
    fp_fusion: bool
    pdl: bool = False
    cooperative: bool = False


def element(precision: str) -> str:
    """The element type of a precision: f16 of fp16."""
    return _ELEMENTS[precision]


def rounding(dtype: str, absolute: float | None = None, of: str | None = None) -> dict[str, float]:
    """A tolerance of three roundings of the output, which is less than four times the error that
    one rounding may make. `of` names a coarser type that values pass through on their way."""
    if dtype == "s32":
        return {"absolute": 0.0, "relative": 0.0, "error_factor": 1.0}
    relative, least = _HALF_ULP[dtype]
    if of is not None:
        relative = max(relative, _HALF_ULP[of][0])
    return {"absolute": max(absolute or 0.0, float(f"{3 * least:.2g}")),
            "relative": float(f"{3 * relative:.2g}"), "error_factor": 2.0}


def elementwise(name: str, precision: str, kernel: Any, oracle: Callable, inputs: Sequence[str],
                exact: bool = False, size: tuple[int, int] = (4096, 4096),
                **more: Any) -> Contract:
    """A kernel of one block of elements a program."""
    dtype, (rows, columns) = element(precision), size
    return Contract(
        name=name, dtype=precision, kernel=kernel, oracle=oracle,
        arguments=[*(Tensor(i, dtype, (rows, columns), "input") for i in inputs),
                   Tensor("y", dtype, (rows, columns), "output")],
        grid=lambda c: (rows * columns // c["BLOCK"],),
        tuning=[Config(num_warps=w, constants={"BLOCK": b})
                for b, w in ((2048, 4), (1024, 2), (1024, 4), (2048, 2), (2048, 8), (4096, 2),
                             (4096, 4), (4096, 8), (8192, 8))],
        tolerance={"absolute": 0.0, "relative": 0.0, "error_factor": 1.0} if exact
        else rounding(dtype),
        precision={"operand": dtype, "accumulate": "f16" if exact else "f32"}, **more)


def elementwise_inout(name: str, kernel: Any, oracle: Callable, inputs: Sequence[str],
                      inout: str) -> Contract:
    """A small kernel of the semantics tests that changes a tensor in place, in half precision."""
    size = (64, 4096)
    return Contract(
        name=name, dtype="fp16", kernel=kernel, oracle=oracle, home="suite/semantics/contracts",
        arguments=[*(Tensor(i, "f16", size, "input") for i in inputs),
                   Tensor(inout, "f16", size, "inout")],
        grid=lambda c: (size[0] * size[1] // c["BLOCK"],),
        tuning=[Config(num_warps=w, constants={"BLOCK": b}) for b, w in
                ((1024, 4), (2048, 4), (512, 2))],
        tolerance=rounding("f16"), precision={"operand": "f16", "accumulate": "f32"})


@functools.cache
def chosen(target: str) -> dict[str, str]:
    """Labels of the configurations that tuning chose on a device of this target, by kernel."""
    place = Path(__file__).resolve().parents[2] / f"suite/baselines/{target}.json"
    if not place.exists():
        return {}
    kernels = json.loads(place.read_text())["kernels"]
    return {name: row["chosen"] for name, row in kernels.items() if row.get("chosen")}


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k} = {_value(v)}" for k, v in value.items()) + "}"
    return "[" + ", ".join(_value(v) for v in value) + "]"


def _lines(table: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {_value(value)}" for key, value in table.items()]


def launch_table(compiled: Compiled, grid: Sequence[int], allow: bool) -> dict[str, Any]:
    table: dict[str, Any] = {
        "grid": list(grid), "block": list(compiled.block), "cluster": list(compiled.cluster),
        "dynamic_shared_bytes": compiled.shared_bytes,
    }
    if allow:
        table["allow"] = []
    if compiled.pdl:
        table["pdl"] = True
    if compiled.cooperative:
        table["cooperative"] = True
    return table


def launch_text(compiled: Compiled, grid: Sequence[int]) -> str:
    """B.toml: the launch of a file that is compared with a contract's reference."""
    return "\n".join(["[launch]", *_lines(launch_table(compiled, grid, allow=False))]) + "\n"


def _parameters(contract: Contract, compiled: Compiled) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for argument, type_ in zip(contract.arguments, compiled.parameter_types):
        if isinstance(argument, Tensor):
            rows.append({"name": argument.name, "tensor": argument.name})
        else:
            name, (_, value) = argument
            rows.append({"name": name, "type": type_, "value": value})
    for name in ("global_scratch", "profile_scratch"):
        rows.append({"name": name, "type": "u64", "value": 0})
    if len(rows) != len(compiled.parameter_types):
        raise ValueError(f"{compiled.entry} has {len(compiled.parameter_types)} parameters, "
                         f"its contract names {len(rows)}")
    return rows


def _tensor(tensor: Tensor) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": tensor.name, "dtype": tensor.dtype, "shape": list(tensor.shape),
        "strides": tensor.contiguous_strides(), "role": tensor.role, "align": tensor.align,
    }
    if tensor.role in ("input", "inout"):
        row["values"] = tensor.values
    return row


def text(contract: Contract, config: Config, compiled: Compiled, ptx_isa: str) -> str:
    """contract.toml for one target."""
    out = _lines({"format": 1, "name": contract.name, "entry": compiled.entry,
                  "target": compiled.target, "ptx_isa": ptx_isa})
    out += ["", "[launch]"]
    out += _lines(launch_table(compiled, contract.grid_of(config), allow=True))
    for row in _parameters(contract, compiled):
        out += ["", "[[parameter]]", *_lines(row)]
    for tensor in contract.tensors():
        out += ["", "[[tensor]]", *_lines(_tensor(tensor))]
    out += ["", "[tolerance]", *_lines(contract.tolerance)]
    out += ["", "[precision]", *_lines(
        {**contract.precision, "tensor_cores": contract.precision.get("tensor_cores", True)})]
    out += ["", "[constants]", *_lines({
        **contract.constants_of(config), "num_warps": config.num_warps,
        "num_stages": config.num_stages, "triton": compiled.triton,
        "enable_fp_fusion": compiled.fp_fusion})]
    return "\n".join(out) + "\n"
