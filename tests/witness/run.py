"""Runs the witness kernels on a GPU, through the CUDA driver alone.

`python3 tests/witness/run.py --from FOLDER --out $OUT` reads what `witness_bench make FOLDER` made and
appends each kernel's number, length and output bytes to results.bin. A kernel that ends its process
or hangs is noted as failed and the next process goes on behind it; a second call goes on where one
stopped. Clusters are in the cubin; tensor maps are made here, by the driver.
"""

from __future__ import annotations

import argparse
import ctypes
import struct
import subprocess
import sys
import time
from pathlib import Path


class Driver:
    """The calls of libcuda that launching needs, each checked."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        u64, u32, ptr, size = ctypes.c_uint64, ctypes.c_uint, ctypes.c_void_p, ctypes.c_size_t
        for name, arguments in {
                "cuInit": [u32], "cuDeviceGet": [ptr, ctypes.c_int],
                "cuDevicePrimaryCtxRetain": [ptr, ctypes.c_int], "cuCtxSetCurrent": [ptr],
                "cuDeviceGetName": [ptr, ctypes.c_int, ctypes.c_int],
                "cuDriverGetVersion": [ptr], "cuMemAlloc_v2": [ptr, size],
                "cuMemcpyHtoD_v2": [u64, ptr, size], "cuMemcpyDtoH_v2": [ptr, u64, size],
                "cuMemsetD8_v2": [u64, ctypes.c_ubyte, size], "cuModuleLoadData": [ptr, ptr],
                "cuModuleGetFunction": [ptr, ptr, ctypes.c_char_p], "cuModuleUnload": [ptr],
                "cuLaunchKernel": [ptr] + [u32] * 7 + [ptr, ptr, ptr], "cuCtxSynchronize": [],
                "cuTensorMapEncodeTiled": [ptr, u32, u32, u64] + [ptr] * 4 + [u32] * 4,
                "cuTensorMapEncodeIm2col": [ptr, u32, u32, u64] + [ptr] * 4 + [u32, u32, ptr] +
                                           [u32] * 4}.items():
            function = getattr(self.lib, name)
            function.argtypes, function.restype = arguments, ctypes.c_int
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.device = device

    def call(self, name, *arguments):
        code = getattr(self.lib, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"{name}: {code}")

    def describe(self) -> str:
        name, version = ctypes.create_string_buffer(256), ctypes.c_int()
        self.call("cuDeviceGetName", name, 256, self.device)
        self.call("cuDriverGetVersion", ctypes.byref(version))
        return f"{name.value.decode()}, CUDA {version.value // 1000}.{version.value % 1000 // 10}"

    def allocate(self, size: int) -> int:
        out = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(out), size)
        return out.value


class Kernel:
    def __init__(self, line: str):
        number, self.module, self.entry, *rest = line.split()
        self.number = int(number)
        self.blocks, self.threads, self.input, self.output_bytes = map(int, rest[:4])
        # The cubin has the cluster's blocks; behind them stand tensor maps (launch.h).
        self.maps = [[int(n) for n in text.split(",")] for text in rest[4].split("/")[1:]]


# tensormap.replace and our maps number the types so; the driver has its own order.
DRIVER_TYPES = [0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12, 13, 14, 15]


def encode_map(driver: Driver, numbers: list[int], buffers: list[int]) -> ctypes.Array:
    """The driver's 128 bytes for the numbers of a map, which launch.cpp writes."""
    take = iter(numbers)
    of_output, offset, kind, rank = (next(take) for _ in range(4))

    def array(element, count, used):
        return (element * max(used, 1))(*[next(take) for _ in range(count)][:max(used, 0)])

    dims = array(ctypes.c_uint64, 5, rank)
    strides = array(ctypes.c_uint64, 4, rank - 1)
    box, steps = array(ctypes.c_uint32, 5, rank), array(ctypes.c_uint32, 5, rank)
    interleave, swizzle, nan_fill, mode = (next(take) for _ in range(4))
    lower, upper = array(ctypes.c_int32, 3, rank - 2), array(ctypes.c_int32, 3, rank - 2)
    channels, pixels = next(take), next(take)
    room = ctypes.create_string_buffer(128 + 64)
    place = (ctypes.addressof(room) + 63) // 64 * 64
    address = buffers[0 if of_output else 1] + offset
    tail = [interleave, swizzle, 0, nan_fill]
    if mode == 0:
        driver.call("cuTensorMapEncodeTiled", place, DRIVER_TYPES[kind], rank, address, dims, strides,
                    box, steps, *tail)
    else:
        driver.call("cuTensorMapEncodeIm2col", place, DRIVER_TYPES[kind], rank, address, dims, strides,
                    lower, upper, channels, pixels, steps, *tail)
    return (ctypes.c_char * 128).from_buffer_copy(ctypes.string_at(place, 128))


def done_numbers(path: Path) -> set[int]:
    done, raw, at = set(), path.read_bytes() if path.exists() else b"", 0
    while at + 8 <= len(raw):
        number, length = struct.unpack_from("<II", raw, at)
        at += 8 + (0 if length == 0xFFFFFFFF else length)
        done.add(number)
    return done


def work(folder: Path, out: Path) -> None:
    """Runs what is not done yet; `current` names the kernel under way."""
    kernels = [Kernel(line) for line in (folder / "list.txt").read_text().splitlines()]
    places = [tuple(map(int, line.split())) for line in (folder / "inputs.txt").read_text().splitlines()]
    inputs = (folder / "inputs.bin").read_bytes()
    done = done_numbers(out / "results.bin")
    driver = Driver()
    (out / "device.txt").write_text(driver.describe())
    source = driver.allocate(max(size for _, size in places) + 4096)
    sink = driver.allocate(max(k.output_bytes for k in kernels) + 4096)
    module, loaded = ctypes.c_void_p(), ""
    with open(out / "results.bin", "ab") as results:
        for kernel in kernels:
            if kernel.number in done:
                continue
            (out / "current").write_text(str(kernel.number))
            if kernel.module != loaded:
                if loaded:
                    driver.call("cuModuleUnload", module)
                driver.call("cuModuleLoadData", ctypes.byref(module),
                            ctypes.c_char_p((folder / kernel.module).read_bytes()))
                loaded = kernel.module
            function = ctypes.c_void_p()
            driver.call("cuModuleGetFunction", ctypes.byref(function), module,
                        kernel.entry.encode())
            offset, size = places[kernel.input]
            driver.call("cuMemcpyHtoD_v2", source, inputs[offset:offset + size], size)
            driver.call("cuMemsetD8_v2", sink, 0, kernel.output_bytes)
            try:
                maps = [encode_map(driver, numbers, [sink, source]) for numbers in kernel.maps]
            except RuntimeError as refusal:
                print(f"kernel {kernel.number}: {refusal}", flush=True)
                results.write(struct.pack("<II", kernel.number, 0xFFFFFFFF))
                continue
            cells = [ctypes.c_uint64(sink), ctypes.c_uint64(source)] + maps
            pointers = (ctypes.c_void_p * len(cells))(
                *(ctypes.cast(ctypes.pointer(c), ctypes.c_void_p) for c in cells))
            driver.call("cuLaunchKernel", function, kernel.blocks, 1, 1, kernel.threads, 1, 1, 0,
                        None, pointers, None)
            driver.call("cuCtxSynchronize")
            output = ctypes.create_string_buffer(kernel.output_bytes)
            driver.call("cuMemcpyDtoH_v2", output, sink, kernel.output_bytes)
            results.write(struct.pack("<II", kernel.number, kernel.output_bytes) + output.raw)
            results.flush()


def watched(command: list[str], current: Path, end: float) -> int | None:
    """The exit status; -1 where one kernel has taken too long, None where the time is over."""
    begin = time.time()
    with subprocess.Popen(command) as process:
        while process.poll() is None:
            time.sleep(0.05)
            moved = max(begin, current.stat().st_mtime if current.exists() else 0)
            if time.time() > end or time.time() > moved + (30 if moved == begin else 8):
                process.kill()
                process.wait()
                return None if time.time() > end else -1
        return process.returncode


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--from", dest="folder", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--work", action="store_true")
    options = parser.parse_args()
    if options.work:
        try:
            work(options.folder, options.out)
        except RuntimeError as failure:
            sys.exit(f"witness: {failure}")
        return
    end, failures = time.time() + options.seconds, 0
    while time.time() < end:
        command = [sys.executable, __file__, "--from", str(options.folder), "--out", str(options.out),
                   "--work"]
        before = len(done_numbers(options.out / "results.bin"))
        status = watched(command, options.out / "current", end)
        if status is None:
            print("no time is left", flush=True)
            break
        if status == 0:
            break
        current = options.out / "current"
        if not current.exists():
            sys.exit("witness: the driver does not start")
        number, failures = int(current.read_text()), failures + 1
        print(f"kernel {number} failed", flush=True)
        if number not in done_numbers(options.out / "results.bin"):
            with open(options.out / "results.bin", "ab") as results:
                results.write(struct.pack("<II", number, 0xFFFFFFFF))
        elif len(done_numbers(options.out / "results.bin")) == before:
            sys.exit("witness: no progress")
    print(f"{len(done_numbers(options.out / 'results.bin'))} kernels run, {failures} failed; "
          f"{(options.out / 'device.txt').read_text()}")


if __name__ == "__main__":
    main()
