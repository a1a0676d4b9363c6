"""As much of PyTorch as the bridge's test program asks for, over the fake GPU's memory."""

import fake_gpu
from fake_gpu import Type

Tensor = fake_gpu.Tensor
float32, float16, int32 = Type("float32", 4), Type("float16", 2), Type("int32", 4)


def manual_seed(_seed):
    pass


def _shape(sizes):
    return tuple(sizes[0]) if isinstance(sizes[0], tuple) else tuple(sizes)


def empty(*sizes, device, dtype):
    return fake_gpu.tensor(_shape(sizes), dtype, fill=0)


def randn(*sizes, device, dtype):
    return fake_gpu.tensor(_shape(sizes), dtype, fill=60)


def arange(count, *, device, dtype):
    return fake_gpu.tensor((count,), dtype, fill=60)


def randint(low, high, size, *, device, dtype):
    tensor = fake_gpu.tensor(size, dtype, fill=0)
    for i in range(size[0]):
        value = low + i * 7 % (high - low)
        fake_gpu.memory.store(tensor.data_ptr() + 4 * i, value.to_bytes(4, "little"))
    return tensor
