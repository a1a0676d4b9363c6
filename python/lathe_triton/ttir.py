"""What Triton's IR says about a kernel's pointers: which are read, which are written, and whose
data decides addresses or control.

It follows values through the text of the TTIR, function calls and regions included, until nothing
changes. Where it cannot tell, it answers with more, never with less: a pointer that only an inline
assembly sees counts as read and written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field


class Untraceable(ValueError):
    """The IR hides which tensors a pointer may reach."""


@dataclass
class Use:
    """By the parameter's place in the kernel's signature of the IR."""

    reads: set[int] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)
    # Data that ends up in an address, and data that decides a mask, a branch or a loop's bound.
    addresses: set[int] = field(default_factory=set)
    decides: set[int] = field(default_factory=set)
    parameters: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Fact:
    pointers: frozenset = frozenset()  # Parameters that the value may point into.
    data: frozenset = frozenset()  # Parameters whose contents flowed into it.

    def __or__(self, other: "Fact") -> "Fact":
        return Fact(self.pointers | other.pointers, self.data | other.data)


@dataclass
class _Operation:
    name: str
    results: list[str]
    operands: list[str]
    inner: list[str] = field(default_factory=list)  # Values that a region of it defines.
    owner: "_Operation | None" = None
    callee: str = ""


_LOADS = {"tt.load", "tt.descriptor_load", "tt.descriptor_gather",
          "tt.experimental_descriptor_load", "tt.experimental_descriptor_gather"}
_STORES = {"tt.store", "tt.descriptor_store", "tt.descriptor_scatter",
           "tt.experimental_descriptor_store", "tt.experimental_descriptor_scatter"}
_ATOMICS = {"tt.atomic_rmw", "tt.atomic_cas", "tt.descriptor_reduce"}
_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
_LOCATION = re.compile(r"\s*loc\((?:[^()]|\([^()]*\))*\)")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_HEAD = re.compile(r"^((?:%[\w$.-]+(?::\d+)?(?:,\s*)?)+)\s*=\s*(.*)$")
_FUNCTION = re.compile(r"tt\.func\s+(?:public\s+|private\s+)?@([\w$.]+)\s*\(")


def _clean(line: str) -> str:
    line = re.sub(r'(^|=\s*)"([\w.]+)"\(', r"\1\2(", _LOCATION.sub("", line).strip())
    return _STRING.sub("", line)


def _names(head: str) -> list[str]:
    out = []
    for part in head.split(","):
        name, _, count = part.strip().partition(":")
        out += [f"{name}#{i}" for i in range(int(count))] if count else [name]
    return out


class _Reader:
    """The operations of every function, with their regions' places."""

    def __init__(self, text: str):
        self.functions: dict[str, list[str]] = {}
        self.operations: list[_Operation] = []
        self.blocks: dict[str, list[str]] = {}
        self.first = ""
        self.pointers: set[str] = set()
        self._function = ""
        self._open: list[_Operation | None] = []
        for line in self._joined(text):
            self._line(line)

    @staticmethod
    def _joined(text: str):
        """A signature may go over several lines; everything else is a line an operation."""
        held = ""
        for raw in text.splitlines():
            if raw.lstrip().startswith("#"):
                continue
            held = f"{held} {_clean(raw)}".strip()
            if _FUNCTION.search(held) and not held.endswith("{"):
                continue
            if held:
                yield held
            held = ""

    def _own(self, name: str) -> str:
        return f"{self._function}:{name}"

    def _line(self, line: str) -> None:
        if match := _FUNCTION.search(line):
            self._function = match[1]
            self.first = self.first or match[1]
            signature = line[match.end():]
            typed = re.findall(r"(%[\w$.-]+)\s*:\s*([!\w.]+)", signature)
            self.functions[match[1]] = [self._own(n) for n, _ in typed]
            self.pointers |= {self._own(n) for n, type_ in typed if type_.startswith("!")}
            self._open.append(None)
            return
        closing = len(line) - len(line.lstrip("})"))
        if line.startswith("}"):
            again = line.rstrip().endswith("{")  # `} else {`, `} do {`: the same operation goes on.
            if not again and self._open:
                self._open.pop()
            line = line[closing:] if not again else ""
        if line.startswith("^"):
            label, _, rest = line.partition("(")
            names = [self._own(n) for n in re.findall(r"(%[\w$.-]+)\s*:", rest)]
            self.blocks.setdefault(self._function + label.rstrip(":"), []).extend(names)
            if self._open and self._open[-1] is not None:
                self._open[-1].inner += names
            return
        if line and not line.startswith(("module", ":", ",")):
            self._operation(line)
        elif line.startswith("module"):
            self._open.append(None)

    def _operation(self, line: str) -> None:
        results: list[str] = []
        if match := _HEAD.match(line):
            results, line = [self._own(n) for n in _names(match[1])], match[2]
        name = re.match(r"[\w.]+", line)
        if name is None:
            return
        operands = [self._own(n) for n in _VALUE.findall(line[name.end():])]
        operation = _Operation(name[0], results, operands,
                               owner=self._open[-1] if self._open else None)
        if match := re.match(r"(?:tt\.call|func\.call)\s+@([\w$.]+)", line):
            operation.callee = match[1]
        if name[0] == "scf.for":
            self._loop(operation, line)
        self.operations.append(operation)
        if line.rstrip().endswith("{"):
            self._open.append(operation)

    def _loop(self, operation: _Operation, line: str) -> None:
        """Operands become bounds and first values; the names between them are the body's."""
        variable = re.search(r"scf\.for\s+(?:unsigned\s+)?(%[\w$.-]+)\s*=\s*(%[\w$.#-]+)"
                             r"\s+to\s+(%[\w$.#-]+)\s+step\s+(%[\w$.#-]+)", line)
        if variable is None:
            raise Untraceable(f"a loop that this reader does not know: {line[:80]}")
        pairs = []
        if "iter_args(" in line:
            pairs = re.findall(r"(%[\w$.-]+)\s*=\s*(%[\w$.#-]+)", line[line.index("iter_args("):])
        operation.inner = [self._own(inside) for inside, _ in pairs]
        operation.operands = ([self._own(variable[i]) for i in (2, 3, 4)]
                              + [self._own(first) for _, first in pairs])


class _Flow:
    def __init__(self, text: str):
        self.reader = _Reader(text)
        self.facts: dict[str, Fact] = {}
        self.use = Use()
        self.changed = False
        if not self.reader.first:
            raise Untraceable("the TTIR has no function")
        entry = self.reader.functions[self.reader.first]
        self.use.parameters = [name.partition(":%")[2] for name in entry]
        for place, name in enumerate(entry):
            if name in self.reader.pointers:
                self.facts[name] = Fact(frozenset([place]))

    def run(self) -> Use:
        self.changed = True
        while self.changed:
            self.changed = False
            for operation in self.reader.operations:
                self._step(operation)
        return self.use

    def _fact(self, name: str) -> Fact:
        found = self.facts.get(name)
        if found is None and "#" not in name:  # `%r` alone may stand for `%r#0`.
            found = self.facts.get(name + "#0")
        return found or Fact()

    def _join(self, name: str, fact: Fact) -> None:
        old = self.facts.get(name, Fact())
        if (new := old | fact) != old:
            self.facts[name] = new
            self.changed = True

    def _add(self, to: set[int], what) -> None:
        if not what <= to:
            to |= what
            self.changed = True

    def _all(self, names) -> Fact:
        out = Fact()
        for name in names:
            out |= self._fact(name)
        return out

    def _step(self, op: _Operation) -> None:
        if op.name in _LOADS or op.name in _STORES or op.name in _ATOMICS:
            self._memory(op)
        elif op.name in ("scf.yield", "tt.return", "scf.condition", "cf.br", "cf.cond_br"):
            self._leave(op)
        elif op.callee:
            self._call(op)
        elif op.name == "scf.for":
            for inside, result, first in zip(op.inner, op.results, op.operands[3:]):
                self._join(inside, self._fact(first))
                self._join(result, self._fact(first))
            self._add(self.use.decides, self._all(op.operands[:3]).data)
        elif op.name == "scf.while":
            everything = self._all(op.operands)
            for name in (*op.results, *op.operands, *op.inner):
                self._join(name, everything)
        elif op.name == "scf.if":
            self._add(self.use.decides, self._all(op.operands).data)
        else:
            self._plain(op)

    def _plain(self, op: _Operation) -> None:
        fact = self._all(op.operands)
        if op.name == "tt.int_to_ptr" and not fact.pointers:
            raise Untraceable("a pointer is made of a number (int_to_ptr)")
        if "inline_asm" in op.name and fact.pointers:
            self._add(self.use.reads, fact.pointers)
            self._add(self.use.writes, fact.pointers)
            fact |= Fact(data=fact.pointers)
        for result in op.results:
            self._join(result, fact)

    def _memory(self, op: _Operation) -> None:
        target = self._fact(op.operands[0])
        if not target.pointers:
            return  # Its pointer has not been reached yet; at the fixpoint this is dead code.
        stored = op.operands[-1:] if "descriptor" in op.name else op.operands[1:2]
        masks = [n for n in op.operands[1:] if op.name in _LOADS or n not in stored]
        self._add(self.use.addresses, target.data)
        self._add(self.use.decides, self._all(masks).data)
        if op.name not in _STORES:
            self._add(self.use.reads, target.pointers)
        if op.name not in _LOADS:
            self._add(self.use.writes, target.pointers)
        for result in op.results:
            self._join(result, Fact(data=target.pointers | target.data))

    def _leave(self, op: _Operation) -> None:
        if op.name == "tt.return":
            function = op.operands[0].partition(":")[0] if op.operands else ""
            for place, name in enumerate(op.operands):
                self._join(f"{function}:return{place}", self._fact(name))
            return
        if op.name.startswith("cf."):
            first = 1 if op.name == "cf.cond_br" else 0
            self._add(self.use.decides, self._all(op.operands[:first]).data)
            everything = self._all(op.operands[first:])
            for names in self.reader.blocks.values():
                for name in names:
                    self._join(name, everything)
            return
        owner = op.owner
        if owner is None:
            return
        if owner.name == "scf.while":
            everything = self._all(op.operands)
            if op.name == "scf.condition":
                self._add(self.use.decides, self._fact(op.operands[0]).data)
            for name in (*owner.results, *owner.operands, *owner.inner):
                self._join(name, everything)
            return
        for place, name in enumerate(op.operands):
            for targets in (owner.results, owner.inner if owner.name == "scf.for" else []):
                if place < len(targets):
                    self._join(targets[place], self._fact(name))

    def _call(self, op: _Operation) -> None:
        parameters = self.reader.functions.get(op.callee)
        if parameters is None:
            raise Untraceable(f"the called function {op.callee} is not in the TTIR")
        for parameter, name in zip(parameters, op.operands):
            self._join(parameter, self._fact(name))
        for place, result in enumerate(op.results):
            self._join(result, self._fact(f"{op.callee}:return{place}"))


def use_of(text: str) -> Use:
    """Of the module's first function, which is the kernel. Raises Untraceable."""
    use = _Flow(text).run()
    if re.search(r"!tt\.ptr<!tt\.ptr|tensor<[^>]*ptr<[^>]*ptr", text):
        raise Untraceable("pointers lie in memory")
    return use
