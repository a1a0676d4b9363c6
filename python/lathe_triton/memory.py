"""The few calls of the CUDA driver that looking on needs: copies to the host, events, and whether
a stream is being captured into a graph. Through ctypes, so no framework is needed; a test gives
another object of the same methods.
"""

from __future__ import annotations

import ctypes
from typing import Any


class DriverError(RuntimeError):
    pass


class Memory:
    """Of the current context, which the program that is watched has made."""

    def __init__(self, library: str = "libcuda.so.1"):
        self._lib = ctypes.CDLL(library)
        address, pointer, size = ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t
        signatures = {
            "cuMemcpyDtoH_v2": [pointer, address, size], "cuStreamSynchronize": [pointer],
            "cuStreamIsCapturing": [pointer, pointer], "cuEventCreate": [pointer, ctypes.c_uint],
            "cuEventRecord": [pointer, pointer], "cuEventSynchronize": [pointer],
            "cuEventElapsedTime": [pointer, pointer, pointer], "cuEventDestroy_v2": [pointer],
            "cuGetErrorName": [ctypes.c_int, pointer],
            "cuModuleGetGlobal_v2": [pointer, pointer, pointer, ctypes.c_char_p],
        }
        for name, arguments in signatures.items():
            function = getattr(self._lib, name)
            function.argtypes, function.restype = arguments, ctypes.c_int

    def _call(self, name: str, *arguments) -> None:
        code = getattr(self._lib, name)(*arguments)
        if code != 0:
            text = ctypes.c_char_p()
            self._lib.cuGetErrorName(code, ctypes.byref(text))
            raise DriverError(f"{name}: {(text.value or str(code).encode()).decode()}")

    def is_capturing(self, stream: int) -> bool:
        status = ctypes.c_int()
        self._call("cuStreamIsCapturing", stream, ctypes.byref(status))
        return status.value != 0

    def wait(self, stream: int) -> None:
        self._call("cuStreamSynchronize", stream)

    def read(self, address: int, size_bytes: int) -> bytes:
        out = ctypes.create_string_buffer(size_bytes)
        self._call("cuMemcpyDtoH_v2", out, address, size_bytes)
        return out.raw

    def events(self) -> tuple[Any, Any]:
        """Made before the first of them is recorded, so that little lies between."""
        pair = ctypes.c_void_p(), ctypes.c_void_p()
        for event in pair:
            self._call("cuEventCreate", ctypes.byref(event), 0)
        return pair

    def mark(self, event: Any, stream: int) -> None:
        """Records it after all that the stream has been given so far."""
        self._call("cuEventRecord", event, stream)

    def between_ns(self, start, end) -> float:
        """Waits for both, and gives them back to the driver."""
        time_ms = ctypes.c_float()
        self._call("cuEventSynchronize", end)
        self._call("cuEventElapsedTime", ctypes.byref(time_ms), start, end)
        for event in (start, end):
            self._call("cuEventDestroy_v2", event)
        return time_ms.value * 1e6

    def variable(self, module: int, name: str) -> tuple[int, int]:
        """Address and size of a module's global variable."""
        address, size = ctypes.c_uint64(), ctypes.c_size_t()
        self._call("cuModuleGetGlobal_v2", ctypes.byref(address), ctypes.byref(size), module,
                   name.encode())
        return address.value, size.value
