"""The CUDA driver through ctypes: the few calls that measuring needs, each checked."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np

POISON = 0x7E5B  # A NaN in half precision.


class CudaError(RuntimeError):
    pass


class Driver:
    """The few calls of libcuda that measuring needs, each checked."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        u64, u32, ptr, size = ctypes.c_uint64, ctypes.c_uint, ctypes.c_void_p, ctypes.c_size_t
        self.signatures = {
            "cuInit": [u32], "cuDeviceGet": [ptr, ctypes.c_int],
            "cuDevicePrimaryCtxRetain": [ptr, ctypes.c_int], "cuCtxSetCurrent": [ptr],
            "cuDeviceGetName": [ptr, ctypes.c_int, ctypes.c_int],
            "cuDeviceGetAttribute": [ptr, ctypes.c_int, ctypes.c_int],
            "cuDriverGetVersion": [ptr], "cuMemAlloc_v2": [ptr, size], "cuMemFree_v2": [u64],
            "cuMemcpyHtoD_v2": [u64, ptr, size], "cuMemcpyDtoH_v2": [ptr, u64, size],
            "cuMemcpyDtoDAsync_v2": [u64, u64, size, ptr],
            "cuMemsetD16Async": [u64, ctypes.c_ushort, size, ptr],
            "cuMemsetD32Async": [u64, u32, size, ptr], "cuModuleLoadData": [ptr, ptr],
            "cuModuleGetFunction": [ptr, ptr, ctypes.c_char_p],
            "cuFuncSetAttribute": [ptr, ctypes.c_int, ctypes.c_int],
            "cuLaunchKernel": [ptr] + [u32] * 7 + [ptr, ptr, ptr],
            "cuStreamCreate": [ptr, u32], "cuStreamSynchronize": [ptr],
            "cuEventCreate": [ptr, u32], "cuEventRecord": [ptr, ptr],
            "cuEventSynchronize": [ptr], "cuEventElapsedTime": [ptr, ptr, ptr],
            "cuGetErrorString": [ctypes.c_int, ptr],
        }
        for name, arguments in self.signatures.items():
            function = getattr(self.lib, name)
            function.argtypes, function.restype = arguments, ctypes.c_int
        self.call("cuInit", 0)
        self.device = self._int("cuDeviceGet", 0)
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self.call("cuCtxSetCurrent", context)
        self.stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(self.stream), 1)
        self.modules: dict[str, ctypes.c_void_p] = {}

    def call(self, name: str, *arguments) -> None:
        code = getattr(self.lib, name)(*arguments)
        if code != 0:
            text = ctypes.c_char_p()
            self.lib.cuGetErrorString(code, ctypes.byref(text))
            raise CudaError(f"{name}: {code} {(text.value or b'').decode()}")

    def _int(self, name: str, *arguments) -> int:
        out = ctypes.c_int()
        self.call(name, ctypes.byref(out), *arguments)
        return out.value

    def describe(self) -> dict:
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, 256, self.device)
        version = self._int("cuDriverGetVersion")
        return {"device": name.value.decode(),
                "multiprocessors": self._int("cuDeviceGetAttribute", 16, self.device),
                "l2_bytes": self._int("cuDeviceGetAttribute", 38, self.device),
                "cuda": f"{version // 1000}.{version % 1000 // 10}"}

    def allocate(self, size: int) -> int:
        out = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(out), size)
        return out.value

    def upload(self, address: int, array: np.ndarray) -> None:
        array = np.ascontiguousarray(array)
        self.call("cuMemcpyHtoD_v2", address, array.ctypes.data, array.nbytes)

    def download(self, address: int, array: np.ndarray) -> None:
        self.call("cuMemcpyDtoH_v2", array.ctypes.data, address, array.nbytes)

    def poison(self, address: int, size: int) -> None:
        self.call("cuMemsetD16Async", address, POISON, size // 2, self.stream)

    def overwrite(self, address: int, size: int, value: int) -> None:
        self.call("cuMemsetD32Async", address, value, size // 4, self.stream)

    def copy(self, to: int, of: int, size: int) -> None:
        self.call("cuMemcpyDtoDAsync_v2", to, of, size, self.stream)

    def function(self, cubin: Path, entry: str, shared_bytes: int):
        image = cubin.read_bytes()
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(image))
        self.call("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
        self.call("cuFuncSetAttribute", function, 8, shared_bytes)
        return function

    def launcher(self, function, launch: dict, arguments: list):
        """A call that launches; the packed arguments live as long as it does."""
        kinds = {"u64": ctypes.c_uint64, "u32": ctypes.c_uint32,
                 "f32": ctypes.c_float, "tensor": ctypes.c_uint64}
        cells = [kinds[kind](value) for kind, value in arguments]
        pointers = (ctypes.c_void_p * max(len(cells), 1))(
            *(ctypes.cast(ctypes.pointer(c), ctypes.c_void_p) for c in cells))
        grid, block = launch["grid"], launch["block"]
        keep = (cells, pointers)

        def go():
            assert keep
            self.call("cuLaunchKernel", function, *grid, *block, launch["dynamic_shared_bytes"],
                      self.stream, pointers, None)
        return go

    def synchronize(self) -> None:
        self.call("cuStreamSynchronize", self.stream)

    def event(self):
        out = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(out), 0)
        return out

    def record(self, event) -> None:
        self.call("cuEventRecord", event, self.stream)

    def elapsed_us(self, start, end) -> float:
        out = ctypes.c_float()
        self.call("cuEventElapsedTime", ctypes.byref(out), start, end)
        return out.value * 1e3


class Absent:
    """The same calls where nothing is run: for trying the order of the work."""

    def __init__(self):
        self.end = 4096

    def describe(self) -> dict:
        return {"device": "none", "multiprocessors": 1, "l2_bytes": 1 << 20, "cuda": "0.0"}

    def allocate(self, size: int) -> int:
        self.end += size
        return self.end

    def call(self, *_) -> None:
        pass

    upload = download = poison = overwrite = copy = record = call

    def synchronize(self) -> None:
        pass

    def function(self, cubin: Path, entry: str, shared_bytes: int):
        assert cubin.read_bytes()[:4] == b"\x7fELF" and entry and shared_bytes >= 0
        return entry

    def launcher(self, function, launch: dict, arguments: list):
        assert all(kind in ("u64", "u32", "f32", "tensor") for kind, _ in arguments)
        return lambda: None

    def event(self):
        return None

    def elapsed_us(self, start, end) -> float:
        return 1.0


def nvidia_smi() -> dict:
    fields = ["name", "driver_version", "clocks.sm", "clocks.mem", "clocks.max.sm", "power.draw",
              "temperature.gpu", "clocks_throttle_reasons.active"]
    try:
        said = subprocess.run(["nvidia-smi", f"--query-gpu={','.join(fields)}",
                               "--format=csv,noheader"], capture_output=True, text=True, timeout=20)
        return dict(zip((f.replace(".", "_") for f in fields),
                        (v.strip() for v in said.stdout.splitlines()[0].split(","))))
    except Exception as error:
        return {"nvidia_smi": f"not read: {type(error).__name__}"}
