"""From the instruction set's data model back to an `ascend.kernel`: the inverse of `encode_kernel`.

What the encoding does not keep is chosen anew: a buffer is typed by its first use, an alloc stands as far out as its
rotation through versions allows, and views are written where they are used. Encoding the result gives the same kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, MemRefType, StridedLayoutAttr, StringAttr, UnitAttr
from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ascend.affine import Expr
from graph_engine.dialects.ascend.cube import MmadBiasOp, MmadOp, WayOut
from graph_engine.dialects.ascend.dialect import ASCEND
from graph_engine.dialects.ascend.instruction import InstructionOp
from graph_engine.dialects.ascend.kernel import BlocksOp, KernelOp, LoopOp
from graph_engine.dialects.ascend.memory import AllocOp, ViewOp
from graph_engine.dialects.ascend.mte import Load2dOp, Load3dOp
from graph_engine.dialects.ascend.scalar import LoadOp
from graph_engine.dialects.ascend.spaces import SPACE_ATTRS
from graph_engine.dialects.ascend.sync import BarrierOp, BlockSetOp, BlockWaitOp, SetFlagOp, WaitFlagOp
from graph_engine.dialects.ascend.vec import CmpOp
from graph_engine.dialects.ge.interning import element_type, ints_attr
from graph_engine.errors import GraphEngineError
from graph_engine.target_ascend.isa.model import (
    ACTIVATIONS,
    PREDICATES,
    Affine,
    Blocks,
    Buffer,
    DType,
    Instr,
    Kernel,
    Loop,
    Node,
    Opcode,
    Operand,
    Pipe,
    Rotate,
)

_OPERATIONS: dict[Opcode, type[InstructionOp]] = {
    op.OPCODE: op for op in ASCEND.operations if issubclass(op, InstructionOp)
}


def decode_kernel(kernel: Kernel) -> KernelOp:
    """The kernel as an operator. Raises GraphEngineError for what `ascend.kernel` cannot say."""
    return _Decoder(kernel).run()


def _memref(buffer: Buffer, dtype: DType) -> MemRefType:
    return MemRefType(element_type(dtype.mlir), [buffer.bytes // dtype.bytes], memory_space=SPACE_ATTRS[buffer.space])


def _operands(nodes: tuple[Node, ...]) -> Iterator[Operand]:
    for node in nodes:
        if isinstance(node, Instr):
            yield from node.operands
        else:
            yield from _operands(node.body)


@dataclass(frozen=True)
class Place:
    """The depth of the body that an alloc stands in, its phase, and its turns where they are not those of its body alone."""

    depth: int
    phase: int = 0
    turns: tuple[int, ...] = ()


class _Decoder:
    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.dtypes: dict[int, DType] = {}
        for operand in _operands(kernel.body):
            dtype = self.dtypes.setdefault(operand.buffer, operand.dtype)
            if kernel.buffers[operand.buffer].bytes % dtype.bytes:
                self.dtypes[operand.buffer] = DType.U8
        self.counters: list[SSAValue] = []
        self.registers: dict[int, SSAValue] = {}
        self.blocks: list[Block] = []
        self.trips: list[int] = []
        self.allocs: dict[tuple[int, Place], SSAValue] = {}
        self.views: dict[tuple[int, Operand], SSAValue] = {}

    def run(self) -> KernelOp:
        """Decodes the arguments, then the body."""
        arguments = self.kernel.buffers[: len(self.kernel.arg_access)]
        types = [_memref(b, self.dtypes.get(i, DType.U8)) for i, b in enumerate(arguments)]
        op = KernelOp(self.kernel.name, types, self.kernel.arg_access, self.kernel.block_dim)
        op.set_core(self.kernel.core_kind)
        self.arguments = op.body.block.args
        for value, buffer in zip(self.arguments, arguments, strict=True):
            value.name_hint = buffer.name
        for node in self.kernel.body:
            if not isinstance(node, Blocks):
                raise GraphEngineError(f"kernel {self.kernel.name}: instructions outside of blocks")
            blocks = BlocksOp(node.lo, node.hi, node.part)
            blocks.body.block.args[0].name_hint = "blk"
            op.body.block.add_op(blocks)
            self.allocs.clear()
            self.enter(blocks.body.block, 1, node.body)
        return op

    def enter(self, block: Block, trip: int, nodes: tuple[Node, ...]) -> None:
        """Decodes a body; its counter takes the next slot."""
        self.counters.append(block.args[0])
        self.blocks.append(block)
        self.trips.append(trip)
        for node in nodes:
            if isinstance(node, Loop):
                loop = LoopOp(node.trip)
                loop.body.block.args[0].name_hint = "i"
                block.add_op(loop)
                self.enter(loop.body.block, node.trip, node.body)
            elif isinstance(node, Instr):
                block.add_op(self.instruction(node))
            else:
                raise GraphEngineError(f"kernel {self.kernel.name}: blocks inside of a body")
        depth = len(self.blocks)
        self.allocs = {key: value for key, value in self.allocs.items() if key[1].depth < depth}
        self.views = {key: value for key, value in self.views.items() if key[0] < depth}
        self.counters.pop()
        self.blocks.pop()
        self.trips.pop()

    def expr(self, affine: Affine) -> Expr:
        """An expression over slots as one over SSA counters."""
        values = {**dict(enumerate(self.counters)), **self.registers}
        return Expr(affine.const, {values[slot]: coef for slot, coef in affine.terms})

    def place(self, rotate: Rotate | None) -> Place:
        """Where an alloc rotates that way."""
        if rotate is None:
            return Place(1)
        terms, index = dict(rotate.index.terms), Affine()
        for depth in range(1, len(self.blocks) + 1):
            if depth > 1:
                index = index * self.trips[depth - 1] + Affine(0, ((depth - 1, 1),))
            if index.terms == rotate.index.terms:
                return Place(depth, rotate.index.const)
        if 0 not in terms and max(terms) < len(self.blocks) and max(terms.values()) < rotate.count:
            turns = tuple(terms.get(depth, 0) for depth in range(1, max(terms) + 1))
            return Place(len(turns) + 1, rotate.index.const, turns)
        raise GraphEngineError(f"kernel {self.kernel.name}: a buffer does not rotate with the loops around it")

    def buffer(self, operand: Operand) -> SSAValue:
        """The argument or alloc that an operand lies in."""
        buffer = self.kernel.buffers[operand.buffer]
        if operand.buffer < len(self.arguments):
            return self.arguments[buffer.address]
        place = self.place(operand.rotate)
        key = (operand.buffer, place)
        if key not in self.allocs:
            alloc = AllocOp(buffer.name, _memref(buffer, self.dtypes[operand.buffer]))
            values = {"address": buffer.address, "bytes": buffer.bytes}
            if buffer.versions > 1:
                values["versions"] = buffer.versions
            if place.phase:
                values["phase"] = place.phase
            alloc.properties.update({name: IntegerAttr(value, 64) for name, value in values.items()})
            if place.turns:
                alloc.properties["turns"] = ints_attr(place.turns)
            block = self.blocks[place.depth - 1]
            if block.first_op is None:
                block.add_op(alloc)
            else:
                block.insert_op_before(alloc, block.first_op)
            self.allocs[key] = alloc.memory
        return self.allocs[key]

    def operand(self, operand: Operand) -> SSAValue:
        """A view of the buffer, shared by the instructions of one body."""
        key = (len(self.blocks), operand)
        if key not in self.views:
            source = self.buffer(operand)
            ty = MemRefType(
                element_type(operand.dtype.mlir),
                operand.sizes,
                StridedLayoutAttr(operand.strides, None),
                SPACE_ATTRS[self.kernel.buffers[operand.buffer].space],
            )
            view = ViewOp(source, self.expr(operand.offset), ty)
            self.blocks[-1].add_op(view)
            self.views[key] = view.result
        return self.views[key]

    def instruction(self, instr: Instr) -> Operation:
        """One instruction or flag."""
        if instr.opcode in (Opcode.SET_FLAG, Opcode.WAIT_FLAG):
            flag = SetFlagOp if instr.opcode is Opcode.SET_FLAG else WaitFlagOp
            source, target, event = (value.const for value in instr.params)
            rotate = instr.event_rotate
            index = self.expr(rotate.index) if rotate else None
            return flag(Pipe(source), Pipe(target), event, rotate.count if rotate else 1, index)
        if instr.opcode is Opcode.BLOCK_SET:
            return BlockSetOp(instr.pipe, instr.params[0].const)
        if instr.opcode is Opcode.BLOCK_WAIT:
            return BlockWaitOp(instr.params[0].const)
        if instr.opcode is Opcode.BARRIER:
            return BarrierOp(Pipe(instr.params[0].const))
        dst, *sources = (self.operand(operand) for operand in instr.operands)
        if instr.opcode is Opcode.LOAD3D:
            *geometry, m_start, k_start = instr.params
            starts = self.expr(m_start), self.expr(k_start)
            return Load3dOp(sources[0], dst, [v.const for v in geometry], *starts, instr.immediate)
        if instr.opcode in (Opcode.MMAD, Opcode.MMAD_BIAS):
            counters = [self.counters[slot] for slot in instr.first_of or ()]
            mkn = [value.const for value in instr.params]
            multiplication = MmadOp if instr.opcode is Opcode.MMAD else MmadBiasOp
            return multiplication(sources, dst, mkn, first_of=counters, accumulate=instr.first_of is None)
        if instr.opcode is Opcode.LOAD_SCALAR:
            register, extent = (value.const for value in instr.params)
            load = LoadOp(dst, extent)
            self.registers[register] = load.register
            return load
        if instr.opcode is Opcode.VCMP:
            return CmpOp(sources, dst, PREDICATES[instr.params[0].const])
        kind = _OPERATIONS[instr.opcode]
        has_immediate = "immediate" in kind.get_irdl_definition().properties
        op = kind(sources, dst, immediate=instr.immediate if has_immediate else None)
        if isinstance(op, Load2dOp) and instr.params[0].const:
            op.transpose = UnitAttr()
        if isinstance(op, WayOut) and instr.params[0].const:
            op.activation = StringAttr(ACTIVATIONS[instr.params[0].const])
        return op
