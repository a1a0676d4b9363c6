"""A GPU in the driver's place: memory that holds bytes, a loader that counts, launches that are
written down and do nothing. Real Triton compiles for it."""

import hashlib


class Memory:
    """The methods of lathe_triton.memory.Memory, and a log of what was copied."""

    def __init__(self):
        self.next = 0x7F0000000000
        self.regions = {}
        self.copied = []
        self.capturing = False
        self.clock_ns = 0

    def allocate(self, size, fill):
        address, self.next = self.next, self.next + (size + 511) // 256 * 256
        self.regions[address] = bytearray([fill]) * size
        return address

    def _region(self, address):
        for start, content in self.regions.items():
            if start <= address < start + len(content):
                return content, address - start
        raise KeyError(hex(address))

    def store(self, address, content):
        region, at = self._region(address)
        region[at:at + len(content)] = content

    def read(self, address, size_bytes):
        self.copied.append(size_bytes)
        region, at = self._region(address)
        assert at + size_bytes <= len(region), "reads past the tensor"
        return bytes(region[at:at + size_bytes])

    def is_capturing(self, stream):
        return self.capturing

    def wait(self, stream):
        pass

    def events(self):
        return [0], [0]

    def mark(self, event, stream):
        self.clock_ns += 1000
        event[0] = self.clock_ns

    def between_ns(self, start, end):
        return float(end[0] - start[0])


memory = Memory()


class Type:
    def __init__(self, name, size):
        self.name, self.size = name, size

    def __str__(self):
        return "torch." + self.name

    def __repr__(self):
        return str(self)


class Tensor:
    def __init__(self, shape, strides, dtype, address):
        self.shape, self._strides, self.dtype, self._address = shape, strides, dtype, address

    def data_ptr(self):
        return self._address

    def stride(self):
        return self._strides

    def element_size(self):
        return self.dtype.size

    def cpu(self):
        return self

    def numpy(self):
        return self

    def tobytes(self):
        region, at = memory._region(self._address)
        return bytes(region[at:])


def contiguous(shape):
    strides, step = [], 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= extent
    return tuple(strides)


def tensor(shape, dtype, fill=0, strides=None, offset=0):
    strides = contiguous(shape) if strides is None else strides
    count = 1 + sum((n - 1) * s for n, s in zip(shape, strides) if n)
    address = memory.allocate(offset + count * dtype.size, fill)
    return Tensor(tuple(shape), tuple(strides), dtype, address + offset)


class Utilities:
    def __init__(self):
        self.loaded = []

    def load_binary(self, name, binary, shared, device):
        self.loaded.append((name, hashlib.sha256(binary).hexdigest(), shared))
        function = 0x1000 + len(self.loaded)
        return 0x100 + len(self.loaded), function, 32, 0, 1024

    def unload_module(self, module):
        pass

    def get_device_properties(self, device):
        return {"max_shared_mem": 232448, "multiprocessor_count": 132, "warpSize": 32,
                "max_num_regs": 65536, "sm_clock_rate": 1, "mem_clock_rate": 1, "mem_bus_width": 1}


class Driver:
    """To be given to triton.runtime.driver.set_active."""

    def __init__(self, capability=90):
        from triton.backends.compiler import GPUTarget
        self.target = GPUTarget("cuda", capability, 32)
        self.utils = Utilities()
        self.launches = []
        self.benched = 0
        driver = self

        class Launcher:
            def __init__(self, src, metadata):
                self.name = metadata.name

            def __call__(self, x, y, z, stream, function, *rest):
                driver.launches.append((self.name, (x, y, z), function))

        self.launcher_cls = Launcher

    def get_current_device(self):
        return 0

    def get_current_stream(self, device):
        return 0

    def get_current_target(self):
        return self.target

    def get_device_capability(self, device):
        return divmod(self.target.arch, 10)

    def get_benchmarker(self):
        def bench(call, quantiles):
            self.benched += 1
            call()
            return [float(self.benched)] * 3
        return bench
