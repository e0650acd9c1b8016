"""All steps of an LSTM or GRU in one kernel: the product with the state on the Cube, the gates on the Vector unit.

    the recurrent weights                                 GM -> L1, as fractals, once; to L0B as well where they fit
    for each step:                                        from the last one if it goes backwards
      h, in fp16                                          UB -> L1 -> L0A
      for each tile of gates:   mmad into L0C, L0C -> UB in fp32
      what the sequence contributes to the gates          GM -> UB, ahead of its step
      gates, new states in fp32, which stay in UB
      h                                                   UB -> GM

Directions and rows of the batch go to cores of their own, so that no step waits for another core. A core has at most 16 rows
at a time, one block of the Cube; the Vector unit works on those that are there.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.lowering.kernels.builder import Arg, Buf, KernelBuilder
from graph_engine.lowering.kernels.cube_tiling import FRACTAL
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.step import Scratch, Step, Value
from graph_engine.lowering.kernels.vector_steps import emit_steps
from graph_engine.lowering.kernels.vector_tiling import CoreSplit, ceil_div, dry_run, largest
from graph_engine.target_ascend.isa.model import DType, Space
from graph_engine.target_ascend.soc.soc import Soc

BLOCK = 16
FRACTAL_ELEMENTS = BLOCK * BLOCK


@dataclass(frozen=True)
class Cell:
    """What a step does, as steps over (product with h of each gate (fp32), given of each gate, states..., [inner bias]); the last
    one is the new h, `kept` the number of the step that is the new second state."""

    gates: int
    states: int
    steps: tuple[Step, ...]
    kept: tuple[int, ...] = ()
    inner: bool = False

    @property
    def values(self) -> tuple[tuple[DType, bool], ...]:
        """Types of the inputs, and whether their buffers are free behind their last use."""
        own = ((DType.F32, True),) * self.gates + ((DType.F16, False),) * self.gates
        return own + ((DType.F32, False),) * (self.states + self.inner)


class _Names:
    """Numbers of values by name, in the order in which they come to be."""

    def __init__(self, *inputs: str):
        self.inputs = len(inputs)
        self.number = {name: i for i, name in enumerate(inputs)}
        self.steps: list[Step] = []

    def put(self, name: str, op: str, *operands: str) -> None:
        """Names the result of a step in fp32."""
        self.number[name] = self.inputs + len(self.steps)
        self.steps.append(Step(f"ge.{op}", tuple(self.number[operand] for operand in operands), (), DType.F32))

    def gate(self, name: str, function: str, number: int) -> None:
        """A function of the product and what is given."""
        self.put("given", "cast", f"g{number}")
        self.put("sum", "add", f"p{number}", "given")
        self.put(name, function, "sum")


def _lstm() -> Cell:
    names = _Names("p0", "p1", "p2", "p3", "g0", "g1", "g2", "g3", "h", "c")
    names.gate("i", "sigmoid", 0)
    names.gate("new", "tanh", 3)
    names.put("in", "mul", "i", "new")
    names.gate("f", "sigmoid", 2)
    names.put("left", "mul", "f", "c")
    names.put("cell", "add", "left", "in")
    kept = len(names.steps) - 1
    names.gate("o", "sigmoid", 1)
    names.put("shown", "tanh", "cell")
    names.put("out", "mul", "o", "shown")
    return Cell(4, 2, tuple(names.steps), (kept,))


def _gru() -> Cell:
    names = _Names("p0", "p1", "p2", "g0", "g1", "g2", "h", "inner")
    names.gate("reset", "sigmoid", 1)
    names.put("biased", "add", "p2", "inner")
    names.put("met", "mul", "reset", "biased")
    names.put("given", "cast", "g2")
    names.put("sum", "add", "met", "given")
    names.put("new", "tanh", "sum")
    names.gate("z", "sigmoid", 0)
    names.put("apart", "sub", "h", "new")
    names.put("kept", "mul", "z", "apart")
    names.put("out", "add", "new", "kept")
    return Cell(3, 1, tuple(names.steps), inner=True)


CELLS = {"lstm": _lstm(), "gru": _gru()}


@dataclass(frozen=True)
class RecurrentShape:
    """Steps, rows of the batch, blocks of 16 units, and for each direction whether it goes backwards."""

    cell: str
    steps: int
    batch: int
    u1: int
    backwards: tuple[bool, ...]


def build_recurrent_steps(name: str, shape: RecurrentShape, soc: Soc) -> KernelOp:
    """The kernel; its arguments are given, the weights, states, [inner bias], result, the last states. Raises NoKernel if the
    weights do not fit L1, or one row does not fit UB."""
    cell, u1, directions = CELLS[shape.cell], shape.u1, len(shape.backwards)
    if soc.has("split"):
        raise NoKernel("no core has both a Cube and a Vector unit")
    weights = cell.gates * u1 * u1 * FRACTAL
    if weights + 2 * u1 * FRACTAL > soc.buffers["l1"] or u1 * FRACTAL > soc.buffers["l0a"] // 2:
        raise NoKernel("the recurrent weights of a direction do not fit L1")
    rows = largest(min(shape.batch, BLOCK), lambda rows: _row_bytes(cell, u1) * rows <= soc.buffers["ub"])
    if not rows:
        raise NoKernel("one row of the gates does not fit the unified buffer")
    units = u1 * BLOCK
    plane = (directions, shape.batch, units)
    args = [
        Arg("given", (shape.steps, shape.batch, directions * cell.gates * units), DType.F16, "r"),
        Arg("r", (directions, u1, cell.gates * u1, BLOCK, BLOCK), DType.F16, "r"),
        Arg("states", (cell.states, *plane), DType.F16, "r"),
    ]
    args += [Arg("inner", (directions, units), DType.F16, "r")] * cell.inner
    args += [Arg("y", (shape.steps, *plane), DType.F16, "w"), Arg("last", (cell.states, *plane), DType.F16, "w")]
    split = CoreSplit(shape.batch, ceil_div(shape.batch, max(1, soc.cores.aic // directions)))
    kb = KernelBuilder(name, args, directions * split.block_dim)
    for direction in range(directions):
        for first, count in split.bodies(kb, direction * split.block_dim):
            _Writer(kb, shape, cell, soc, direction).core(first, count, rows)
    return kb.kernel


def _row_bytes(cell: Cell, u1: int) -> int:
    """UB that one row of the batch takes."""
    temporaries = dry_run(cell.steps, cell.values, DType.F32, cell.kept).temporaries
    each = 4 * cell.gates + 2 * 2 * cell.gates + 4 * cell.states + 4 * cell.inner + sum(t.bytes for t in temporaries)
    return u1 * BLOCK * (each + 3 * 2 * 2)  # h on its way to L1 and out, and the first and the last states


@dataclass
class _Writer:
    """Writes what one core does: some rows of the batch in one direction."""

    kb: KernelBuilder
    shape: RecurrentShape
    cell: Cell
    soc: Soc
    direction: int

    @property
    def columns(self) -> int:
        """Blocks of gates."""
        return self.cell.gates * self.shape.u1

    def core(self, first: Expr, count: int, rows: int) -> None:
        """`count` rows from `first` on, at most `rows` at a time."""
        kb, u1 = self.kb, self.shape.u1
        panel = kb.alloc("r_l1", Space.L1, (u1, self.columns, BLOCK, BLOCK), DType.F16)
        kb.copy(kb.view(panel), kb.view(kb.args[1], self.direction * u1 * self.columns * FRACTAL_ELEMENTS, panel.shape))
        held = None
        if u1 * self.columns * FRACTAL <= self.soc.buffers["l0b"]:
            held = self.weights(panel, Expr(), self.columns)
        for at, here in kb.tiles(count, rows, "rows"):
            self.rows(panel, held, first + at, here)

    def weights(self, panel: Buf, at: Expr, count: int) -> Buf:
        """Some columns of the weights in L0B."""
        kb, u1 = self.kb, self.shape.u1
        l0b = kb.alloc("r_l0b", Space.L0B, (u1, count, BLOCK, BLOCK), DType.F16)
        strides = (self.columns * FRACTAL_ELEMENTS, FRACTAL_ELEMENTS, BLOCK, 1)
        kb.load2d(kb.view(l0b), kb.view(panel, at * FRACTAL_ELEMENTS, l0b.shape, strides))
        return l0b

    def rows(self, panel: Buf, held: Buf | None, first: Expr, count: int) -> None:
        """All steps of some rows."""
        kb, cell, u1, units = self.kb, self.cell, self.shape.u1, self.shape.u1 * BLOCK
        box, there = (u1, count, BLOCK), (BLOCK, units, 1)

        def plane(index: Expr | int) -> Expr:
            """Where the rows begin in one plane of [n, directions, batch, units]."""
            return ((Expr.of(index) * len(self.shape.backwards) + self.direction) * self.shape.batch + first) * units

        states: list[Buf] = []
        for number in range(cell.states):
            begun = kb.alloc(f"begun{number}", Space.UB, box, DType.F16)
            kb.copy(kb.view(begun), kb.view(kb.args[2], plane(number), box, there))
            states.append(kb.alloc(f"state{number}", Space.UB, box, DType.F32))
            kb.vec("conv", kb.view(states[-1]), kb.view(begun))
        inner: list[Value] = []
        if cell.inner:
            short = kb.alloc("inner", Space.UB, (units,), DType.F16)
            kb.copy(kb.view(short), kb.view(kb.args[3], self.direction * units, (units,)))
            wide = kb.alloc("inner_wide", Space.UB, (units,), DType.F32)
            kb.vec("conv", kb.view(wide), kb.view(short))
            inner.append(Value(kb.view(wide, 0, box, (BLOCK, 0, 1)), DType.F32))
        with kb.loop(self.shape.steps, "t") as t:
            place = t * -1 + (self.shape.steps - 1) if self.shape.backwards[self.direction] else t
            given = kb.alloc("given_ub", Space.UB, (self.columns, count, BLOCK), DType.F16)
            pitch = len(self.shape.backwards) * self.columns * BLOCK
            at = (place * self.shape.batch + first) * pitch + self.direction * self.columns * BLOCK
            kb.copy(kb.view(given), kb.view(kb.args[0], at, given.shape, (BLOCK, pitch, 1)))
            products = self.products(panel, held, states[0], count)
            size = u1 * count * BLOCK
            values = [Value(kb.view(products, g * size, box), DType.F32, reusable=True) for g in range(cell.gates)]
            values += [Value(kb.view(given, g * size, box), DType.F16) for g in range(cell.gates)]
            values += [Value(kb.view(state), DType.F32) for state in states] + inner

            def temporary(dtype: DType, number: int) -> SSAValue:
                return kb.view(kb.alloc(f"tmp{number}_{dtype.mlir}", Space.UB, box, dtype))

            kept = {step: kb.view(states[1]) for step in cell.kept}
            emit_steps(kb, cell.steps, values, kb.view(states[0]), DType.F32, Scratch(temporary), kept)
            self.store("y_ub", states[0], kb.view(kb.args[-2], plane(place), box, there))
        for number, state in enumerate(states):
            self.store(f"last{number}", state, kb.view(kb.args[-1], plane(number), box, there))

    def store(self, slot: str, state: Buf, target: SSAValue) -> None:
        """A state in fp16, to global memory or L1."""
        short = self.kb.alloc(slot, Space.UB, state.shape, DType.F16)
        self.kb.vec("conv", self.kb.view(short), self.kb.view(state))
        self.kb.copy(target, self.kb.view(short))

    def products(self, panel: Buf, held: Buf | None, h: Buf, count: int) -> Buf:
        """h times the weights of all gates, (columns, rows, 16) in UB."""
        kb, u1 = self.kb, self.shape.u1
        l1 = kb.alloc("h_l1", Space.L1, (u1, 1, BLOCK, BLOCK), DType.F16)
        self.store("h_ub", h, kb.view(l1, 0, h.shape, (FRACTAL_ELEMENTS, BLOCK, 1)))
        l0a = kb.alloc("h_l0a", Space.L0A, (1, u1, BLOCK, BLOCK), DType.F16)
        kb.load2d(kb.view(l0a), kb.view(l1, 0, l0a.shape, (FRACTAL_ELEMENTS, FRACTAL_ELEMENTS, BLOCK, 1)))
        products = kb.alloc("products", Space.UB, (self.columns, count, BLOCK), DType.F32)
        most = min(self.soc.buffers["l0c"] // (4 * FRACTAL), self.columns)
        if held is None:
            most = max(1, min(most, self.soc.buffers["l0b"] // (2 * FRACTAL * u1)))
        for at, n in kb.tiles(self.columns, ceil_div(self.columns, ceil_div(self.columns, most)), "n"):
            l0b = held or self.weights(panel, at, n)
            right = kb.view(l0b)
            if held is not None:
                strides = (self.columns * FRACTAL_ELEMENTS, FRACTAL_ELEMENTS, BLOCK, 1)
                right = kb.view(held, at * FRACTAL_ELEMENTS, (u1, n, BLOCK, BLOCK), strides)
            l0c = kb.alloc("sums", Space.L0C, (n, 1, BLOCK, BLOCK), DType.F32)
            kb.mmad(kb.view(l0c), kb.view(l0a), right, (BLOCK, u1 * BLOCK, n * BLOCK), [])
            taken = kb.view(l0c, 0, (n, count, BLOCK), (FRACTAL_ELEMENTS, BLOCK, 1))
            target = kb.view(products, at * (count * BLOCK), (n, count, BLOCK))
            if self.soc.has("fixpipe"):
                kb.fixpipe(target, taken)
            else:
                kb.vec("conv", target, taken)
        return products
