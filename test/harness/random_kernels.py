"""Draws small kernels: random nests of loops, buffers in every space, instructions of every pipe.

A kernel is drawn as a tree, then checked against what `insert-sync` asks of a kernel (a buffer that one pipe writes
and another one uses stands inside the loop in which they do), then written. `Repeat` nodes write their body twice, as
a loop and its peeled tail or as straight code, so that slots have several contents.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias

from hypothesis import strategies as st

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.lowering.kernels.builder import Arg, Buf, KernelBuilder
from graph_engine.target_ascend.isa.model import DType, Pipe, Space

FRACTAL = (1, 1, 16, 16)
GM_ELEMENTS = 64 * 256
DTYPE = {space: DType.F16 for space in Space} | {Space.L0C: DType.F32}
KINDS: dict[str, tuple[Pipe, tuple[Space, ...], Space]] = {
    # name: (pipe, sources, destination)
    "load": (Pipe.MTE2, (Space.GM,), Space.UB),
    "load_l1": (Pipe.MTE2, (Space.GM,), Space.L1),
    "l1_to_ub": (Pipe.MTE1, (Space.L1,), Space.UB),
    "left": (Pipe.MTE1, (Space.L1,), Space.L0A),
    "right": (Pipe.MTE1, (Space.L1,), Space.L0B),
    "mmad": (Pipe.M, (Space.L0A, Space.L0B), Space.L0C),
    "accumulate": (Pipe.M, (Space.L0A, Space.L0B), Space.L0C),
    "drain": (Pipe.V, (Space.L0C,), Space.UB),
    "relu": (Pipe.V, (Space.UB,), Space.UB),
    "add": (Pipe.V, (Space.UB, Space.UB), Space.UB),
    "ub_to_l1": (Pipe.MTE3, (Space.UB,), Space.L1),
    "store": (Pipe.MTE3, (Space.UB,), Space.GM),
}
ON_CHIP = (Space.UB, Space.UB, Space.L1, Space.L0A, Space.L0B, Space.L0C)


@dataclass(eq=False)
class Buffer:
    """An alloc of a body."""

    slot: str
    space: Space
    depth: int
    written: bool = False
    uses: dict[int, dict[Pipe, bool]] = field(default_factory=dict[int, dict[Pipe, bool]])
    """By the statement of its body: the pipes there and whether they write."""


@dataclass(eq=False)
class Operator:
    """An instruction; `picks` choose its kind, then its operands, among what is possible where it stands."""

    picks: tuple[int, ...]
    kind: str = ""
    operands: list[Buffer | None] = field(default_factory=list["Buffer | None"])
    """Destination, then sources; None is global memory."""


@dataclass(eq=False)
class Repeat:
    """`trip` runs of a body in a loop, then `tail` runs of it in straight code."""

    trip: int
    tail: int
    body: Body


@dataclass(eq=False)
class Body:
    """Buffers, then statements."""

    spaces: list[Space]
    statements: list[Statement]
    buffers: list[Buffer] = field(default_factory=list[Buffer])


Statement: TypeAlias = "Operator | Repeat"


TRIPS = ((2, 0), (3, 0), (2, 1), (3, 1), (0, 2), (1, 1))


def random_body(random: Random, depth: int = 0) -> Body:
    """A body, at most three loops deep."""
    spaces = [random.choice(ON_CHIP) for _ in range(random.randint(1, 4))]
    statements: list[Statement] = []
    for _ in range(random.randint(1, 3 - depth // 2)):
        for _ in range(random.randint(1, 4)):
            statements.append(Operator((random.randint(0, 11), *(random.randint(0, 3) for _ in range(3)))))
        if depth < 3 and random.randint(0, 1):
            statements.append(Repeat(*random.choice(TRIPS), random_body(random, depth + 1)))
    return Body(spaces, statements)


class _Resolver:
    """Gives every instruction buffers, or leaves it out, so that the kernel keeps the rules."""

    def __init__(self) -> None:
        self.scope: list[Buffer] = []
        self.path: list[Repeat] = []
        self.count = 0

    def body(self, body: Body) -> None:
        """Resolves in program order."""
        for space in body.spaces:
            body.buffers.append(Buffer(f"b{self.count}", space, len(self.path)))
            self.count += 1
        self.scope += body.buffers
        for statement in body.statements:
            if isinstance(statement, Operator):
                self.operator(statement)
            else:
                self.path.append(statement)
                self.body(statement.body)
                self.path.pop()
        del self.scope[len(self.scope) - len(body.buffers) :]

    def operator(self, op: Operator) -> None:
        """Chooses among the kinds that have operands here; none if there is none."""
        possible = [(kind, operands) for kind in KINDS if (operands := self.operands(kind, op))]
        if not possible:
            return
        op.kind, op.operands = possible[op.picks[0] % len(possible)]
        pipe = KINDS[op.kind][0]
        for i, buffer in enumerate(op.operands):
            if buffer is not None:
                uses = buffer.uses.setdefault(self.statement(buffer, op), {})
                uses[pipe] = uses.get(pipe, False) or i == 0
                buffer.written |= i == 0

    def operands(self, kind: str, op: Operator) -> list[Buffer | None]:
        """Buffers in sight, of the operand's space, filled if it is read, and free to be used here."""
        pipe, sources, target = KINDS[kind]
        chosen: list[Buffer | None] = []
        for i, space in enumerate((target, *sources)):
            if space is Space.GM:
                chosen.append(None)
                continue
            reads = i > 0 or kind == "accumulate"
            found = [
                b
                for b in self.scope
                if b.space is space and (b.written or not reads) and self.free(b, op, pipe, i == 0) and b not in chosen
            ]
            if not found:
                return []
            # The youngest first: inner bodies use their own buffers most.
            chosen.append(found[-1 - op.picks[i + 1] % len(found)])
        return chosen

    def statement(self, buffer: Buffer, op: Operator) -> int:
        """The statement of the buffer's body that `op` stands in: the outermost loop between them, else `op`."""
        inner = self.path[buffer.depth :]
        return id(next((r for r in inner if r.trip > 1), op))

    def free(self, buffer: Buffer, op: Operator, pipe: Pipe, writes: bool) -> bool:
        """Whether no other pipe conflicts in the same statement of the buffer's body."""
        uses = buffer.uses.get(self.statement(buffer, op), {})
        return all(other is pipe or not (writes or written) for other, written in uses.items())


class _Writer:
    def __init__(self, kb: KernelBuilder, blk: Expr):
        self.kb, self.base = kb, blk * 32 * 256
        self.values: dict[Buffer, Buf] = {}
        self.counters: list[Expr] = []

    @contextmanager
    def entered(self, trip: int) -> Generator[None]:
        """Inside a loop."""
        with self.kb.loop(trip) as i:
            self.counters.append(i)
            yield
            self.counters.pop()

    def body(self, body: Body) -> None:
        """Writes the buffers, then the statements."""
        for buffer in body.buffers:
            self.values[buffer] = self.kb.alloc(buffer.slot, buffer.space, FRACTAL, DTYPE[buffer.space])
        for statement in body.statements:
            if isinstance(statement, Operator):
                self.operator(statement)
                continue
            if statement.trip:
                with self.entered(statement.trip):
                    self.body(statement.body)
            for _ in range(statement.tail):
                self.body(statement.body)

    def gm(self, argument: Buf) -> Any:
        """A fractal of the block's share."""
        at = self.base
        for counter in self.counters:
            at = at + counter * 256
        return self.kb.view(argument, at, FRACTAL, (256, 256, 16, 1))

    def operator(self, op: Operator) -> None:
        """One instruction."""
        if not op.operands:
            return
        kb, kind = self.kb, op.kind
        dst, *sources = (
            self.gm(kb.args[int(i == 0)]) if b is None else kb.view(self.values[b]) for i, b in enumerate(op.operands)
        )
        if kind in ("left", "right"):
            kb.load2d(dst, sources[0])
        elif kind in ("mmad", "accumulate"):
            kb.mmad(dst, *sources, (16, 16, 16), [] if kind == "mmad" else None)
        elif kind in ("drain", "relu", "add"):
            kb.vec({"drain": "conv"}.get(kind, kind), dst, *sources)
        else:
            kb.copy(dst, sources[0])


@dataclass
class RandomKernel:
    """A drawn kernel: x is read, y is written, `blocks` blocks run the same body on shares of their own."""

    body: Body
    blocks: int

    def __post_init__(self) -> None:
        _Resolver().body(self.body)

    def write(self) -> KernelOp:
        """The kernel without flags, its buffers not placed yet."""
        args = [Arg("x", (GM_ELEMENTS,), DType.F16, "r"), Arg("y", (GM_ELEMENTS,), DType.F16, "w")]
        kb = KernelBuilder("random", args, self.blocks)
        with kb.blocks(0, self.blocks) as blk:
            _Writer(kb, blk).body(self.body)
        return kb.kernel


def random_kernel(random: Random) -> RandomKernel:
    """A kernel of one or two blocks."""
    return RandomKernel(random_body(random), random.randint(1, 2))


def kernels() -> st.SearchStrategy[RandomKernel]:
    """Kernels that hypothesis chooses, and makes small."""
    return st.builds(random_kernel, st.randoms(use_true_random=False))
