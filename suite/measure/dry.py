"""A plain interpreter of the instructions that the suite's sm_89 and sm_90a kernels use (wgmma
left out), one block at a time, all threads in step. It tries run.py and the edited kernels where
there is no GPU; it knows nothing of races and is no part of the verifier."""

from __future__ import annotations

import re
import struct

import numpy as np

F32, F16 = np.float32, np.float16


def squeezed(line: str) -> str:
    return re.sub(r"\s+", " ", line.split("//")[0]).strip()


class Program:
    def __init__(self, ptx: str):
        entry = re.search(r"\.visible \.entry (\w+)\((.*?)\)", ptx, re.S)
        self.entry = entry[1]
        self.parameters = re.findall(r"\.param \.(\w+).*?(\w+),?$", entry[2], re.M)
        body = ptx[entry.end():]
        body = body[body.index("{") + 1:body.index("End function")]
        self.code: list[tuple] = []
        self.labels: dict[str, int] = {}
        for raw in body.split("\n"):
            line = squeezed(raw)
            label = re.match(r"(\$?\w+):$", line)
            if label:
                self.labels[label[1]] = len(self.code)
            elif line and not line.startswith((".", "}", "//")):
                self.code.append(self._split(line.rstrip(";")))

    @staticmethod
    def _split(line: str):
        guard = re.match(r"@(!?)(%\w+) ", line)
        if guard:
            line = line[guard.end():]
        op, _, rest = line.partition(" ")
        operands = [o.strip() for o in re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s]+", rest)]
        return guard and (guard[1] == "!", guard[2]), op.split("."), [o for o in operands if o]


class Block:
    """Registers are arrays of one unsigned 64-bit value a thread."""

    def __init__(self, program: Program, memory: np.ndarray, arguments: list[int], block, threads,
                 shared_bytes: int):
        self.program, self.memory, self.threads = program, memory, threads
        self.registers: dict[str, np.ndarray] = {}
        self.shared = np.zeros(max(shared_bytes, 16) + 64, np.uint8)
        self.arguments = dict(zip((n for _, n in program.parameters), arguments))
        self.special = {"%ctaid.x": block, "%tid.x": np.arange(threads, dtype=np.uint64),
                        "%laneid": np.arange(threads, dtype=np.uint64) % 32}

    def value(self, operand: str) -> np.ndarray:
        n = self.threads
        if operand in self.special:
            return np.broadcast_to(np.uint64(self.special[operand]), n).astype(np.uint64)
        if operand.startswith("%"):
            return self.registers.setdefault(operand, np.zeros(n, np.uint64))
        if operand.startswith("0f"):
            return np.full(n, int(operand[2:], 16), np.uint64)
        if operand.startswith("0d"):
            return np.full(n, int(operand[2:], 16), np.uint64)
        if operand == "global_smem":
            return np.zeros(n, np.uint64)
        return np.full(n, int(operand.rstrip("U"), 0) & (2**64 - 1), np.uint64)

    def put(self, name: str, value, bits: int, active) -> None:
        value = np.asarray(value)
        if value.dtype == F32:
            value = value.view(np.uint32)
        elif value.dtype == F16:
            value = value.view(np.uint16)
        if name == "_":
            return
        value = np.broadcast_to(value, self.threads).astype(np.uint64)
        if bits < 64:
            value = value & np.uint64((1 << bits) - 1)
        old = self.value(name)
        self.registers[name] = np.where(active, value, old)

    def f32(self, operand: str) -> np.ndarray:
        return self.value(operand).astype(np.uint32).view(F32)

    def f16(self, operand: str) -> np.ndarray:
        return self.value(operand).astype(np.uint16).view(F16)

    def signed(self, operand: str, bits: int) -> np.ndarray:
        v = self.value(operand).astype(np.uint64)
        return (v << np.uint64(64 - bits)).view(np.int64) >> np.int64(64 - bits)

    def address(self, operand: str) -> np.ndarray:
        total = np.zeros(self.threads, np.uint64)
        for part in operand.strip("[] ").split("+"):
            total = total + self.value(part.strip())
        return total

    @staticmethod
    def names(operand: str) -> list[str]:
        return [o.strip() for o in operand.strip("{} ").split(",")]

    def run(self) -> None:
        at, steps = 0, 0
        while at < len(self.program.code):
            steps += 1
            guard, op, operands = self.program.code[at]
            active = np.ones(self.threads, bool)
            if guard:
                active = (self.value(guard[1]) != 0) != guard[0]
            at += 1
            if op[0] == "ret":
                return
            if op[0] == "bra":
                if active.any():
                    assert active.all(), "divergent branch"
                    at = self.program.labels[operands[0]]
                continue
            self.step(op, operands, active)

    # One instruction; `op` is split at the dots.
    def step(self, op, o, active) -> None:
        name = "op_" + op[0]
        if not hasattr(self, name):
            raise NotImplementedError(".".join(op) + " " + ", ".join(o))
        with np.errstate(all="ignore"):
            getattr(self, name)(op, o, active)

    def op_mov(self, op, o, active):
        bits = int(re.sub(r"\D", "", op[1]) or 1)
        if o[0].startswith("{"):
            parts = self.names(o[0])
            each = bits // len(parts)
            for i, part in enumerate(parts):
                self.put(part, self.value(o[1]) >> np.uint64(i * each), each, active)
        elif o[1].startswith("{"):
            parts = self.names(o[1])
            each = bits // len(parts)
            total = np.zeros(self.threads, np.uint64)
            for i, part in enumerate(parts):
                total |= (self.value(part) & np.uint64((1 << each) - 1)) << np.uint64(i * each)
            self.put(o[0], total, bits, active)
        else:
            self.put(o[0], self.value(o[1]), bits, active)

    def op_ld(self, op, o, active):
        bits = int(re.sub(r"\D", "", op[-1]))
        if op[1] == "param":
            name = o[1].strip("[]")
            self.put(o[0], np.uint64(self.arguments[name] & (2**64 - 1)), bits, active)
            return
        space = self.shared if op[1] == "shared" else self.memory
        base = self.address(o[1])
        for i, register in enumerate(self.names(o[0])):
            self.put(register, self.load(space, base + np.uint64(i * bits // 8), bits, active),
                     bits, active)

    def load(self, space, address, bits, active):
        width = bits // 8
        at = np.where(active, address, 0).astype(np.int64)
        assert (at % width == 0).all() and (at >= 0).all() and (at + width <= len(space)).all(), \
            "address"
        total = np.zeros(self.threads, np.uint64)
        for k in range(width):
            total |= space[at + k].astype(np.uint64) << np.uint64(8 * k)
        return total

    def op_st(self, op, o, active):
        bits = int(re.sub(r"\D", "", op[-1]))
        space = self.shared if op[1] == "shared" else self.memory
        base = self.address(o[0])
        for i, register in enumerate(self.names(o[1])):
            value = self.value(register)
            at = (base + np.uint64(i * bits // 8))[active].astype(np.int64)
            assert (at >= 0).all() and (at + bits // 8 <= len(space)).all(), "address"
            for k in range(bits // 8):
                space[at + k] = (value[active] >> np.uint64(8 * k)).astype(np.uint8)

    def op_cvt(self, op, o, active):
        to, of = op[-2], op[-1]
        if to == "f16x2":
            high, low = (self.f32(x).astype(F16).view(np.uint16).astype(np.uint64) for x in o[1:])
            self.put(o[0], (high << np.uint64(16)) | low, 32, active)
        elif (to, of) == ("f32", "f16"):
            self.put(o[0], self.f16(o[1]).astype(F32), 32, active)
        elif (to, of) == ("f16", "f32"):
            self.put(o[0], self.f32(o[1]).astype(F16), 16, active)
        elif of == "s32":
            self.put(o[0], self.signed(o[1], 32), int(to[1:]), active)
        elif of[0] in "ub":
            value = self.value(o[1]) & np.uint64((1 << int(of[1:])) - 1)
            self.put(o[0], value, int(to[1:]), active)
        else:
            raise NotImplementedError(".".join(op))

    def binary(self, op, o, active, of_floats, of_integers):
        if op[-1] == "f32":
            self.put(o[0], of_floats(self.f32(o[1]), self.f32(o[2])), 32, active)
        elif op[-1] == "f16":
            self.put(o[0], of_floats(self.f16(o[1]), self.f16(o[2])), 16, active)
        elif op[-1] == "f16x2":
            halves = [of_floats(x, y).view(np.uint16).astype(np.uint64)
                      for x, y in zip(*(self.pair(v) for v in o[1:]))]
            self.put(o[0], halves[0] | halves[1] << np.uint64(16), 32, active)
        else:
            bits = int(op[-1][1:])
            x, y = (self.signed(v, bits) if op[-1][0] == "s" else
                    (self.value(v) & np.uint64(2**bits - 1)) for v in o[1:])
            self.put(o[0], of_integers(x, y).astype(np.int64).view(np.uint64), bits, active)

    def op_add(self, op, o, active):
        self.binary(op, o, active, lambda x, y: x + y, lambda x, y: x + y)

    def op_sub(self, op, o, active):
        self.binary(op, o, active, lambda x, y: x - y, lambda x, y: x - y)

    def op_max(self, op, o, active):
        self.binary(op, o, active, np.fmax, np.maximum)

    def op_min(self, op, o, active):
        self.binary(op, o, active, np.fmin, np.minimum)

    def op_div(self, op, o, active):
        self.binary(op, o, active, lambda x, y: x / y,
                    lambda x, y: (np.abs(x) // np.maximum(np.abs(y), 1)) * np.sign(x) * np.sign(y))

    def op_rem(self, op, o, active):
        self.binary(op, o, active, np.fmod, np.fmod)

    def op_rcp(self, op, o, active):
        self.put(o[0], F32(1) / self.f32(o[1]), 32, active)

    def op_mul(self, op, o, active):
        if op[1] == "wide":
            x, y = (self.signed(v, 32) if op[2][0] == "s" else
                    (self.value(v) & np.uint64(2**32 - 1)).astype(np.int64) for v in o[1:])
            self.put(o[0], (x * y).view(np.uint64), 64, active)
        else:
            self.binary(op, o, active, lambda x, y: x * y, lambda x, y: x * y)

    def op_fma(self, op, o, active):
        exact = self.f32(o[1]).astype(np.float64) * self.f32(o[2]) + self.f32(o[3])
        self.put(o[0], exact.astype(F32), 32, active)

    def op_mad(self, op, o, active):
        wide = op[1] == "wide"
        bits = 32 if wide else int(op[-1][1:])
        x, y = (self.signed(v, bits) if op[-1][0] == "s" else
                (self.value(v) & np.uint64(2**bits - 1)).astype(np.int64) for v in o[1:3])
        total = (x * y).view(np.uint64) + self.value(o[3])
        self.put(o[0], total, 64 if wide else bits, active)

    def op_ex2(self, op, o, active):
        self.put(o[0], np.exp2(self.f32(o[1])), 32, active)

    def op_neg(self, op, o, active):
        self.put(o[0], -self.f32(o[1]), 32, active)

    def bitwise(self, op, o, active, law):
        bits = 1 if op[1] == "pred" else int(op[1][1:])
        self.put(o[0], law(*(self.value(v) for v in o[1:])), bits, active)

    def op_and(self, op, o, active):
        self.bitwise(op, o, active, lambda x, y: x & y)

    def op_or(self, op, o, active):
        self.bitwise(op, o, active, lambda x, y: x | y)

    def op_xor(self, op, o, active):
        self.bitwise(op, o, active, lambda x, y: x ^ y)

    def op_not(self, op, o, active):
        self.bitwise(op, o, active, lambda x: ~x)

    def op_shl(self, op, o, active):
        self.bitwise(op, o, active, lambda x, y: x << y)

    def op_shr(self, op, o, active):
        bits = int(op[1][1:])
        if op[1][0] == "s":
            self.put(o[0], (self.signed(o[1], bits) >> self.value(o[2]).astype(np.int64)), bits,
                     active)
        else:
            self.put(o[0], (self.value(o[1]) & np.uint64(2**bits - 1)) >> self.value(o[2]), bits,
                     active)

    def op_bfe(self, op, o, active):
        start, length = int(o[2]), int(o[3])
        if op[1][0] == "u":
            self.put(o[0], (self.value(o[1]) >> np.uint64(start)) & np.uint64(2**length - 1), 32,
                     active)
        else:
            field = self.value(o[1]) >> np.uint64(start)
            self.registers["%_"] = field
            self.put(o[0], self.signed("%_", length), 32, active)

    def op_setp(self, op, o, active):
        bits = int(op[2][1:])
        if op[2][0] == "f":
            x, y = self.f32(o[1]), self.f32(o[2])
        elif op[2][0] == "s":
            x, y = self.signed(o[1], bits), self.signed(o[2], bits)
        else:
            x, y = (self.value(v) & np.uint64(2**bits - 1) for v in o[1:])
        law = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
               "gt": np.greater, "ge": np.greater_equal}[op[1]]
        self.put(o[0], law(x, y), 1, active)

    def op_selp(self, op, o, active):
        self.put(o[0], np.where(self.value(o[3]) != 0, self.value(o[1]), self.value(o[2])),
                 int(op[1][1:]), active)

    def op_shfl(self, op, o, active):
        lanes = np.arange(self.threads)
        assert op[2] in ("bfly", "idx")
        other = (lanes ^ int(o[2])) if op[2] == "bfly" else (
            lanes // 32 * 32 + (self.value(o[2]) % 32).astype(np.int64))
        self.put(o[0], self.value(o[1])[other], 32, active)

    def op_bar(self, op, o, active):
        pass

    op_barrier = op_bar

    def op_cp(self, op, o, active):
        if op[2] in ("commit_group", "wait_group", "wait_all"):
            return
        to, of, size = self.address(o[0]), self.address(o[1]), int(o[2], 0)
        filled = self.value(o[3]) if len(o) > 3 else np.full(self.threads, size, np.uint64)
        for k in range(size):
            take = np.uint64(k) < filled
            at = np.where(take, of + np.uint64(k), 0).astype(np.int64)
            assert (at < len(self.memory)).all(), "address"
            self.shared[(to + np.uint64(k)).astype(np.int64)] = np.where(take, self.memory[at], 0)

    def op_ldmatrix(self, op, o, active):
        address = self.address(o[1]).astype(np.int64)
        registers = self.names(o[0])
        lane = np.arange(self.threads) % 32
        warp = np.arange(self.threads) // 32 * 32
        for i, register in enumerate(registers):
            if "trans" in op:
                rows = [address[warp + 8 * i + 2 * (lane % 4) + h] + 2 * (lane // 4)
                        for h in (0, 1)]
            else:
                rows = [address[warp + 8 * i + lane // 4] + 4 * (lane % 4) + 2 * h for h in (0, 1)]
            halves = [self.shared[r].astype(np.uint64)
                      | self.shared[r + 1].astype(np.uint64) << np.uint64(8) for r in rows]
            self.put(register, halves[0] | halves[1] << np.uint64(16), 32, active)

    def pair(self, register):
        v = self.value(register)
        return ((v & np.uint64(0xffff)).astype(np.uint16).view(F16),
                (v >> np.uint64(16)).astype(np.uint16).view(F16))

    def op_mma(self, op, o, active):
        assert op[3] == "m16n8k16"
        narrow = op[6] == "f16"
        d, a, b, c = (self.names(x) for x in o)
        fa, fb = [self.pair(x) for x in a], [self.pair(x) for x in b]
        acc = ([h for x in c for h in self.pair(x)] if narrow else [self.f32(x) for x in c])
        out = [np.zeros(self.threads, F32) for _ in range(4)]
        lane = np.arange(32)
        group, pos = lane // 4, lane % 4
        for warp in range(self.threads // 32):
            at = slice(32 * warp, 32 * warp + 32)
            A, B, C = np.zeros((16, 16)), np.zeros((16, 8)), np.zeros((16, 8))
            for i in range(4):
                for h in (0, 1):
                    A[group + 8 * (i % 2), 2 * pos + h + 8 * (i // 2)] = fa[i][h][at]
                C[group + 8 * (i // 2), 2 * pos + i % 2] = acc[i][at]
            for i in range(2):
                for h in (0, 1):
                    B[2 * pos + h + 8 * i, group] = fb[i][h][at]
            D = A @ B + C
            for i in range(4):
                out[i][at] = D[group + 8 * (i // 2), 2 * pos + i % 2]
        if narrow:
            for i, register in enumerate(d):
                low, high = (out[2 * i + h].astype(F16).view(np.uint16).astype(np.uint64)
                             for h in (0, 1))
                self.put(register, low | high << np.uint64(16), 32, active)
        else:
            for i, register in enumerate(d):
                self.put(register, out[i], 32, active)


def launch(ptx: str, memory: np.ndarray, arguments: list[int], grid: int, threads: int,
           shared_bytes: int, blocks=None) -> None:
    """Runs the blocks of a one-dimensional grid on `memory`, whose address is its index."""
    program = Program(ptx)
    for block in blocks if blocks is not None else range(grid):
        Block(program, memory, arguments, block, threads, shared_bytes).run()


def pack(*values) -> bytes:
    return struct.pack("<" + "Q" * len(values), *values)
