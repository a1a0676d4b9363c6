"""A `triton` package of the few names that the bridge touches, and kernels made of recorded files:
so the whole of capture and deployment runs where Triton is not installed."""

import json
import sys
import types
from pathlib import Path

import fake_gpu

RECORDED = Path(__file__).resolve().parents[1] / "h200/captured"
float32, float16, int32, int8 = (fake_gpu.Type(n, s) for n, s in (
    ("float32", 4), ("float16", 2), ("int32", 4), ("int8", 1)))


class CompiledKernel:
    def __init__(self, name, signature, hash="h", **metadata):
        folder = RECORDED / name
        fields = json.loads((folder / "kernel.json").read_text()) | metadata
        self.metadata = types.SimpleNamespace(**fields)
        self.asm = {"ptx": (folder / "reference.ptx").read_text(),
                    "ttir": (folder / "kernel.ttir").read_text()}
        self.src = types.SimpleNamespace(signature=signature, hash=lambda: "ab" * 32)
        self.hash = hash
        self.function, self.packed_metadata = 7, ()

    @property
    def run(self):
        def launcher(x, y, z, stream, function, packed, metadata, enter, exit, *values):
            launched.append((self.metadata.name, (x, y, z), function))
        return launcher

    def launch(self, grid, *values, stream=0):
        """What a JIT function does in the end."""
        grid = (*grid, 1, 1)[:3]
        self.run(*grid, stream, self.function, self.packed_metadata, None, None, None, *values)


class Autotuner:
    def _bench(self, *values, config=None, **meta):
        config(*values)
        return [1.0]


launched = []


def add_kernel(**changes):
    return CompiledKernel("add_kernel_1", {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32",
                                           "BLOCK": "constexpr"}, **changes)


def gather_kernel(**changes):
    return CompiledKernel("gather_kernel_1", {"table": "*fp32", "index": "*i32", "out": "*fp32",
                                              "COLUMNS": "constexpr"}, **changes)


def scale_kernel(**changes):
    return CompiledKernel("scale_kernel_1", {"x": "*fp32", "factor": "fp32", "BLOCK": "constexpr"},
                          **changes)


def softmax_kernel(**changes):
    return CompiledKernel("softmax_kernel_1", {"x": "*fp16", "out": "*fp16", "row_stride": "i32",
                                               "COLUMNS": "constexpr"}, **changes)


def tensors(count, elements, dtype=float32, fill=60):
    return [fake_gpu.tensor((elements,), dtype, fill) for _ in range(count)]


class _Knobs(types.ModuleType):
    """Assigned to attribute by attribute, as Triton's own."""


def install():
    """Takes the place of Triton until the process ends."""
    knobs = _Knobs("triton.knobs")
    knobs.compilation = types.SimpleNamespace(listener=None)
    triton = types.ModuleType("triton")
    triton.__version__, triton.knobs = "3.6.0", knobs
    compiler = types.ModuleType("triton.compiler")
    inner = types.ModuleType("triton.compiler.compiler")
    inner.CompiledKernel = CompiledKernel
    runtime = types.ModuleType("triton.runtime")
    tuner = types.ModuleType("triton.runtime.autotuner")
    tuner.Autotuner = Autotuner
    utilities = fake_gpu.Utilities()
    runtime.driver = types.SimpleNamespace(active=types.SimpleNamespace(
        utils=utilities, get_current_device=lambda: 0))
    for module in (triton, knobs, compiler, inner, runtime, tuner):
        sys.modules[module.__name__] = module
    return utilities
