"""Element types as NumPy holds them: encoding, decoding, inputs of the stress classes, and the
comparison of a kernel's outputs with its oracle. Needs NumPy alone.
"""

from __future__ import annotations

import math
from typing import Any, Mapping

import numpy as np

from .contract import Contract, Tensor

# How an element is stored; bf16 and e4m3 have no type of NumPy's and are kept as bits.
STORED = {"f16": np.float16, "bf16": np.uint16, "e4m3": np.uint8, "f32": np.float32,
          "s8": np.int8, "s32": np.int32}
CLASSES = ("declared", "overflow", "underflow", "cancellation", "precision_loss", "zeros", "ones",
           "denormals")
# The greatest finite value, the least normal one, and where rounding goes to infinity.
_LIMITS = {"f16": (65504.0, 2.0 ** -14, 65520.0),
           "bf16": (3.3895313892515355e38, 2.0 ** -126, 3.3961775292304601e38),
           "e4m3": (448.0, 2.0 ** -6, math.inf),
           "f32": (3.4028234663852886e38, 2.0 ** -126, 3.4028235677973366e38)}


def _e4m3_table() -> np.ndarray:
    bits = np.arange(256)
    exponent, mantissa = (bits >> 3) & 15, bits & 7
    value = np.where(exponent == 0, mantissa * 2.0 ** -9,
                     (8 + mantissa) * 2.0 ** (exponent - 10.0))
    value[(bits & 127) == 127] = np.nan
    return np.where(bits & 128, -value, value)


E4M3 = _e4m3_table()


def encode(dtype: str, values: np.ndarray) -> np.ndarray:
    """Nearest even; e4m3 saturates, as Triton's conversion does."""
    if dtype == "bf16":
        bits = values.astype(np.float32).view(np.uint32)
        rounded = (bits + (0x7FFF + ((bits >> 16) & 1))) >> 16
        return np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)
    if dtype == "e4m3":
        size = np.nan_to_num(np.minimum(np.abs(values), 448.0))
        exponent = np.maximum(np.frexp(np.maximum(size, 2.0 ** -9))[1] - 1, -6)
        # In units of the last place a normal number is 8 to 16, a denormal one below 8; what rounds
        # up to 16 carries into the exponent by itself.
        units = np.rint(np.ldexp(size, 3 - exponent)).astype(np.int64)
        bits = np.minimum(((exponent + 6) << 3) + units, 0x7E)
        bits = np.where(np.isnan(values), 0x7F, bits)
        return (bits | np.where(np.signbit(values), 0x80, 0)).astype(np.uint8)
    with np.errstate(over="ignore"):
        return values.astype(STORED[dtype])


def decode(dtype: str, stored: np.ndarray) -> np.ndarray:
    """Doubles; but wide integers stay integers, since kernels take their bits apart."""
    if dtype == "bf16":
        return (stored.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype == "e4m3":
        return E4M3[stored]
    if dtype == "s32":
        return stored.astype(np.int64)
    return stored.astype(np.float64)


def _stressed(rng, kind: str, dtype: str, count: int) -> np.ndarray:
    greatest, least, _ = _LIMITS[dtype]
    sign = rng.choice((-1.0, 1.0), count)
    unit = rng.random(count)
    if kind == "overflow":  # Half of the elements near the greatest value.
        return np.where(rng.random(count) < 0.5, rng.standard_normal(count),
                        sign * greatest * (0.25 + 0.75 * unit))
    if kind == "underflow":
        return sign * least * (1 + 15 * unit)
    if kind == "cancellation":  # Neighbours are each other's negative but for their last bits.
        value = 64 * (0.5 + unit) * sign
        value[1::2] = -value[0:count - count % 2:2] * (
            1 + rng.integers(0, 5, count // 2) * 2.0 ** -9 - 2.0 ** -8)
        return value
    if kind == "precision_loss":
        scales = 2.0 ** np.array([-12, -8, -4, 0, 4, 8, 11, -2])
        return sign * (1 + unit) * scales[rng.integers(0, 8, count)]
    if kind == "zeros":
        return 0.0 * sign
    if kind == "ones":
        return np.ones(count)
    return sign * least * unit  # denormals


def make_input(tensor: Tensor, kind: str, seed: int, index: int) -> np.ndarray:
    """One tensor of one class. The classes apply to floats and stay within what is declared."""
    count = math.prod(tensor.shape)
    rng = np.random.default_rng([seed, index, CLASSES.index(kind)])
    values = tensor.values
    if isinstance(values, Mapping) and "integers" in values:
        low, high = values["integers"]
        return rng.integers(low, high, count, STORED[tensor.dtype], endpoint=True)
    low, high = values["uniform"] if isinstance(values, Mapping) else (-math.inf, math.inf)
    if kind != "declared":
        made = np.clip(_stressed(rng, kind, tensor.dtype, count), low, high)
    elif isinstance(values, Mapping):
        made = rng.uniform(low, high, count)
    else:
        made = rng.standard_normal(count, np.float32)
    return encode(tensor.dtype, made)


def wide_outputs(contract: Contract, stored: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What the oracle makes of inputs as they are stored."""
    inputs = {t.name: decode(t.dtype, stored[t.name].reshape(t.shape)) for t in contract.tensors()
              if t.role in ("input", "inout")}
    with np.errstate(all="ignore"):
        return {name: value.reshape(-1) for name, value in contract.oracle(**inputs).items()}


def _in_range(dtype: str, wide: np.ndarray) -> np.ndarray:
    """The oracle's values as the output's type can hold them, not yet rounded."""
    if dtype not in _LIMITS:
        return wide
    greatest, _, infinite = _LIMITS[dtype]
    if dtype == "e4m3":
        return np.clip(wide, -greatest, greatest)
    return np.where(np.abs(wide) >= infinite, np.copysign(np.inf, wide), wide)


def compare(contract: Contract, tensor: Tensor, wide: np.ndarray, stored: np.ndarray,
            written: np.ndarray | None = None) -> dict[str, Any]:
    """How far an output is from its oracle, in units of the contract's tolerance."""
    if written is not None:
        wide, stored = wide[written], stored[written]
    got = decode(tensor.dtype, stored)
    want = _in_range(tensor.dtype, wide)
    with np.errstate(all="ignore"):
        error = np.abs(got - want)
        allowed = contract.tolerance["absolute"] + contract.tolerance["relative"] * np.abs(want)
        finite = np.isfinite(want) & np.isfinite(got)
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        units = np.where(same, 0.0, error / allowed)
    held = same | (finite & (error <= allowed))
    return {"elements": int(len(want)), "failing": int((~held).sum()),
            # Beyond the range of the type on one side alone: it overflowed on the way.
            "beyond_range": int((~held & ~finite).sum()),
            "error_max": float(f"{error[finite].max(initial=0.0):.4g}"),
            "error_over_tolerance_max": float(f"{units[finite].max(initial=0.0):.4g}")}
