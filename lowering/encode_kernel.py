"""From a placed and synchronised `ascend.kernel` to the instruction set's data model, and back.

One buffer-table row a launch argument and a slot; every operand becomes (buffer, affine offset, sizes, strides).
"""

from __future__ import annotations

from xdsl.dialects.builtin import FloatAttr, MemRefType
from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.cube import Multiplication, WayOut
from graph_engine.dialects.ascend.instruction import InstructionOp
from graph_engine.dialects.ascend.kernel import BlocksOp, KernelOp, LoopOp
from graph_engine.dialects.ascend.memory import AllocOp, ViewOp, base_of
from graph_engine.dialects.ascend.mte import Load2dOp, Load3dOp
from graph_engine.dialects.ascend.scalar import LoadOp
from graph_engine.dialects.ascend.spaces import dtype_of, space_of, strides_of
from graph_engine.dialects.ascend.sync import BarrierOp, BlockSetOp, BlockWaitOp, FlagOp
from graph_engine.dialects.ascend.vec import CmpOp
from graph_engine.errors import GraphEngineError
from graph_engine.lowering.kernels.loops import version_index
from graph_engine.target_ascend.isa.model import (
    ACTIVATIONS,
    FIRST_REGISTER,
    PREDICATES,
    SLOTS,
    Affine,
    Blocks,
    Buffer,
    Instr,
    Kernel,
    Loop,
    Node,
    Opcode,
    Operand,
    Pipe,
    Rotate,
    Space,
)


def encode_kernel(kernel: KernelOp) -> Kernel:
    """The kernel as data. Raises GraphEngineError if a buffer has no address yet."""
    return _Encoder(kernel).run()


class _Encoder:
    def __init__(self, kernel: KernelOp):
        self.kernel = kernel
        self.buffers: list[Buffer] = []
        self.number: dict[SSAValue | str, int] = {}
        self.slots: dict[SSAValue, int] = {}
        self.registers = FIRST_REGISTER
        self.operands: dict[SSAValue, Operand] = {}

    def run(self) -> Kernel:
        """Encodes the buffer table, then the body."""
        for i, arg in enumerate(self.kernel.body.block.args):
            ty = arg.type
            assert isinstance(ty, MemRefType)
            count = 1
            for size in ty.get_shape():
                count *= size
            self.number[arg] = len(self.buffers)
            self.buffers.append(Buffer(arg.name_hint or f"arg{i}", Space.GM, i, count * dtype_of(ty).bytes))
        for op in self.kernel.walk():
            if isinstance(op, AllocOp) and op.slot.data not in self.number:
                if op.address is None or op.bytes is None:
                    raise GraphEngineError(
                        f"kernel {self.kernel.sym_name.data}: buffer {op.slot.data} has no address; run plan-onchip-buffers"
                    )
                self.number[op.slot.data] = len(self.buffers)
                self.buffers.append(
                    Buffer(
                        op.slot.data,
                        space_of(op.memory),
                        op.address.value.data,
                        op.bytes.value.data,
                        op.version_count,
                    )
                )
        body = self.body(self.kernel.body.block, 0)
        return Kernel(
            self.kernel.sym_name.data,
            self.kernel.block_dim.value.data,
            tuple(self.buffers),
            body,
            tuple(a.data for a in self.kernel.arg_access),
            self.kernel.core,
        )

    def body(self, block: Block, depth: int) -> tuple[Node, ...]:
        """The nodes of a body whose own counter has slot `depth` - 1."""
        nodes: list[Node] = []
        taken = self.registers
        for op in block.ops:
            if isinstance(op, BlocksOp):
                self.slots[op.body.block.args[0]] = 0
                nodes.append(Blocks(op.lo.value.data, op.hi.value.data, self.body(op.body.block, 1), op.part))
            elif isinstance(op, LoopOp):
                self.slots[op.body.block.args[0]] = depth
                nodes.append(Loop(op.trip.value.data, self.body(op.body.block, depth + 1)))
            elif not isinstance(op, AllocOp | ViewOp):
                nodes.append(self.instruction(op))
        self.registers = taken
        return tuple(nodes)

    def register(self, op: LoadOp) -> int:
        """A register that no other load of this body or those around it has taken."""
        if self.registers == SLOTS:
            raise GraphEngineError(
                f"kernel {self.kernel.sym_name.data}: needs more than {SLOTS - FIRST_REGISTER} registers"
            )
        self.slots[op.register] = self.registers
        self.registers += 1
        return self.slots[op.register]

    def affine(self, expr: Expr) -> Affine:
        """An expression over SSA counters as one over slots."""
        sums: dict[int, int] = {}
        for counter, coef in expr.terms.items():
            slot = self.slots[counter]
            sums[slot] = sums.get(slot, 0) + coef
        return Affine(expr.const, tuple(sorted((s, c) for s, c in sums.items() if c)))

    def operand(self, value: SSAValue) -> Operand:
        """An operand, once per value."""
        if value in self.operands:
            return self.operands[value]
        base = base_of(value)
        owner = base.owner
        ty = value.type
        assert isinstance(ty, MemRefType)
        expr = value.owner.expr if isinstance(value.owner, ViewOp) else Expr()
        rotate = None
        if isinstance(owner, AllocOp):
            number = self.number[owner.slot.data]
            if owner.version_count > 1:
                rotate = Rotate(owner.version_count, self.affine(version_index(owner)))
        else:
            number = self.number[base]
        operand = Operand(number, dtype_of(ty), self.affine(expr), ty.get_shape(), strides_of(ty), rotate)
        self.operands[value] = operand
        return operand

    def instruction(self, op: Operation) -> Instr:
        """One instruction or flag."""
        if isinstance(op, FlagOp):
            src, dst = Pipe[op.src_pipe.data], Pipe[op.dst_pipe.data]
            rotate = Rotate(op.rotate.value.data, self.affine(op.index)) if op.rotate is not None else None
            pipe = src if op.OPCODE is Opcode.SET_FLAG else dst
            params = (Affine(src), Affine(dst), Affine(op.event.value.data))
            return Instr(op.OPCODE, pipe, params=params, event_rotate=rotate)
        if isinstance(op, BarrierOp):
            pipe = Pipe[op.pipe.data]
            return Instr(Opcode.BARRIER, pipe, params=(Affine(pipe),))
        if isinstance(op, BlockSetOp):
            return Instr(Opcode.BLOCK_SET, Pipe[op.pipe.data], params=(Affine(op.flag.value.data),))
        if isinstance(op, BlockWaitOp):
            return Instr(Opcode.BLOCK_WAIT, Pipe.S, params=(Affine(op.flag.value.data),))
        if not isinstance(op, InstructionOp):
            raise GraphEngineError(f"kernel {self.kernel.sym_name.data}: {op.name} is not an instruction")
        operands = tuple(self.operand(v) for v in (op.dst, *op.sources))
        params: tuple[Affine, ...] = ()
        first_of: tuple[int, ...] | None = ()
        if isinstance(op, Load3dOp):
            params = (
                *(Affine(int(v)) for v in op.geometry.get_values()),
                self.affine(op.m_expr),
                self.affine(op.k_expr),
            )
        elif isinstance(op, LoadOp):
            params = (Affine(self.register(op)), Affine(op.extent.value.data))
        elif isinstance(op, CmpOp):
            params = (Affine(PREDICATES.index(op.predicate.data)),)
        elif isinstance(op, Load2dOp):
            params = (Affine(int(op.transpose is not None)),)
        elif isinstance(op, WayOut):
            params = (Affine(ACTIVATIONS.index(op.activation.data) if op.activation is not None else 0),)
        elif isinstance(op, Multiplication):
            params = tuple(Affine(v.value.data) for v in (op.m, op.k, op.n))
            first_of = None if op.accumulate is not None else tuple(self.slots[c] for c in op.first_of)
        immediate = op.properties.get("immediate")
        value = immediate.value.data if isinstance(immediate, FloatAttr) else 0.0
        return Instr(op.OPCODE, op.pipe, operands, params, float(value), first_of)
