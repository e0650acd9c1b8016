"""Vector instructions that a chip lacks, as sequences of those it has; what has no sequence is refused.

Every kernel is built by `build_complete`, so that no builder asks what a chip can do. The
first families have `vexp` and `vln` in fp16 alone, no `vdiv`, `vsqrt`, `vmaxs`, `vlrelu`, and maxima of rows in fp16. The
first one compares and chooses fp16 alone, and converts nothing between fp32 and int32: `word_sequences`.
Error bounds are those of the sequence in exact fp32 steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import SSAValue

from graph_engine.dialects.ascend.cube import Multiplication
from graph_engine.dialects.ascend.instruction import InstructionOp
from graph_engine.dialects.ascend.kernel import KernelOp
from graph_engine.dialects.ascend.spaces import dtype_of, space_of
from graph_engine.dialects.ascend.vec import VectorOp
from graph_engine.lowering.kernels.builder import KernelBuilder
from graph_engine.lowering.kernels.loops import allocs_by_slot, slot_bytes
from graph_engine.lowering.kernels.no_kernel import NoKernel
from graph_engine.lowering.kernels.sequence_writer import SequenceWriter, WrittenSequence
from graph_engine.lowering.kernels.word_sequences import chosen, compared, converted
from graph_engine.target_ascend.isa.model import CoreKind, DType, Pipe, Space
from graph_engine.target_ascend.isa.specs import SPECS
from graph_engine.target_ascend.soc.soc import Soc

_BLOCK = 32
_ROOM = (1.0, 0.7, 0.45, 0.25)
"""Shares of UB tried for a kernel's own buffers where instructions become sequences with buffers of theirs."""
_HALVINGS = 10
"""exp is taken of x / 2^10 and squared as often: the polynomial then is good to 4e-8, ten squarings of what fp32 rounds make 1e-4 of it."""
_ROOTS = 8
"""ln is taken of the 2^8-th root: the series then is good to 2e-8, times 256."""


def build_complete(build: Callable[[str, Soc], KernelOp], name: str, soc: Soc) -> KernelOp:
    """The kernel in instructions that the chip has. Where the sequences for others need room, its tiles are smaller.

    Raises NoKernel where no tile fits, or where nothing does what an instruction does.
    """
    room = soc.buffers["ub"]
    for share in _ROOM:
        smaller = replace(soc, buffers=soc.buffers | {"ub": int(room * share)}) if share < 1 else soc
        kernel = build(name, smaller)
        if not complete(kernel, soc) or _ub_bytes(kernel) <= room:
            kernel.set_core(core_of(kernel, soc))
            return kernel
    raise NoKernel(f"sequences for instructions that {soc.name} lacks do not fit the unified buffer")


def core_of(kernel: KernelOp, soc: Soc) -> CoreKind:
    """The kind of core that has all pipes of the kernel, or a team of them. Raises NoKernel where a split chip has none."""
    if not soc.has("split"):
        return CoreKind.AI_CORE
    if kernel.core is CoreKind.MIXED:
        return kernel.core
    pipes = {op.pipe for op in kernel.walk() if isinstance(op, InstructionOp)}
    on_cube, on_vector = pipes & {Pipe.M, Pipe.MTE1, Pipe.FIX}, pipes & {Pipe.V, Pipe.MTE3}
    if on_cube and on_vector:
        raise NoKernel(f"no core of {soc.name} has both Cube and Vector")
    return CoreKind.CUBE_CORE if on_cube else CoreKind.VECTOR_CORE


def complete(kernel: KernelOp, soc: Soc) -> bool:
    """Replaces what the chip lacks; whether there was any. Raises NoKernel, naming the instruction, where nothing does it."""
    changed = False
    for op in list(kernel.walk()):
        if isinstance(op, Multiplication):
            left, right, into = (dtype_of(v.type).mlir for v in (*op.sources[:2], op.dst))
            if not soc.supports_mmad(left, right, into):
                raise NoKernel(f"{soc.name} does not multiply {left} x {right} -> {into}")
        elif isinstance(op, VectorOp) and not _exists(op, soc):
            mnemonic, element = needed(op)
            sequence = _SEQUENCES.get(mnemonic)
            if sequence is None or element not in sequence[0]:
                raise NoKernel(f"{soc.name} has no v{mnemonic} of {element}")
            immediate = op.properties.get("immediate")
            number = immediate.value.data if isinstance(immediate, FloatAttr) else 0.0
            sequence[1](SequenceWriter(KernelBuilder.before(op), op), op.dst, list(op.sources), number)
            op.detach()
            op.erase()
            changed = True
    return changed


def needed(op: VectorOp) -> tuple[str, str]:
    """The instruction, by its name in chip files without the `v`, and the element types that it works on.

    Booleans are converted as bytes; a copy or a choice of bits takes any type of a width that it knows.
    """
    mnemonic = SPECS[op.OPCODE].mnemonic
    written, read = dtype_of(op.dst.type), [dtype_of(source.type) for source in op.sources]
    if mnemonic.startswith("conv"):
        if read[0] is written:
            return "copy", "i16" if written.bytes == 1 else written.mlir
        ends = ("ui8" if dtype is DType.BOOL else dtype.mlir for dtype in (read[0], written))
        return "conv", " -> ".join(ends)
    if mnemonic == "sel":
        return mnemonic, {2: "f16", 4: "f32"}.get(written.bytes, written.mlir)
    return mnemonic, (read[-1] if written is DType.BOOL else written).mlir


def _exists(op: VectorOp, soc: Soc) -> bool:
    mnemonic, element = needed(op)
    if any(space_of(source) is Space.L0C for source in op.sources):
        if "l0c->ub" not in soc.paths or soc.path("l0c", "ub").pipe != op.pipe.name:
            raise NoKernel(f"on {soc.name} the Vector does not read L0C")
        return mnemonic == "copy" or soc.supports(mnemonic, element)
    return soc.supports(mnemonic, element)


def _div(w: SequenceWriter, dst: SSAValue, src: Sequence[SSAValue], imm: float) -> None:
    """a (1 / b): one rounding more."""
    t = w.like(dst)
    w.kb.vec("rec", t, src[1])
    w.kb.vec("mul", dst, src[0], t)


def _sqrt(w: SequenceWriter, dst: SSAValue, src: Sequence[SSAValue], imm: float) -> None:
    """x (1 / sqrt max(x, tiny)): 0 of 0."""
    t = w.like(dst)
    w.kb.vec("max", t, src[0], w.number(6e-8 if dtype_of(dst.type) is DType.F16 else 1e-30, dst))
    w.kb.vec("rsqrt", t, t)
    w.kb.vec("mul", dst, src[0], t)


def _with_number(mnemonic: str) -> WrittenSequence:
    def write(w: SequenceWriter, dst: SSAValue, src: Sequence[SSAValue], imm: float) -> None:
        w.kb.vec(mnemonic, dst, src[0], w.number(imm, dst))

    return write


def _lrelu(w: SequenceWriter, dst: SSAValue, src: Sequence[SSAValue], imm: float) -> None:
    """max(x, 0) + slope min(x, 0): one of the two is 0."""
    t, zero = w.like(dst), w.number(0.0, dst)
    w.kb.vec("min", t, src[0], zero)
    w.kb.vec("muls", t, t, imm=imm)
    w.kb.vec("max", dst, src[0], zero)
    w.kb.vec("add", dst, dst, t)


def _horner(w: SequenceWriter, dst: SSAValue, t: SSAValue, coefficients: Sequence[float]) -> None:
    """dst = coefficients[0] t^n + ... + coefficients[-1]."""
    first, *rest = coefficients
    w.kb.vec("muls", dst, t, imm=first)
    for number, coefficient in enumerate(rest):
        if number:
            w.kb.vec("mul", dst, dst, t)
        w.kb.vec("adds", dst, dst, imm=coefficient)


def _exp(w: SequenceWriter, dst: SSAValue, src: Sequence[SSAValue], imm: float) -> None:
    """(1 + t + t^2/2 + t^3/6 + t^4/24)^1024 with t = x / 1024; infinite above 88.7, 0 below -104. Within 1.2e-4."""
    t = w.like(dst)
    w.kb.vec("max", t, src[0], w.number(-104.0, dst))
    w.kb.vec("min", t, t, w.number(89.0, dst))
    w.kb.vec("muls", t, t, imm=2.0**-_HALVINGS)
    _horner(w, dst, t, (1 / 24, 1 / 6, 1 / 2, 1.0, 1.0))
    for _ in range(_HALVINGS):
        w.kb.vec("mul", dst, dst, dst)


def _ln(w: SequenceWriter, dst: SSAValue, src: Sequence[SSAValue], imm: float) -> None:
    """512 (s + s^3/3 + s^5/5 + s^7/7) with s = (r - 1) / (r + 1), r the 256th root of x > 0. Within 4e-5."""
    s, u = w.like(dst), w.like(dst)
    w.kb.vec("rsqrt", s, src[0])
    for _ in range(_ROOTS - 1):
        w.kb.vec("rsqrt", s, s)
    w.kb.vec("adds", u, s, imm=1.0)
    w.kb.vec("rec", u, u)
    w.kb.vec("adds", s, s, imm=-1.0)
    w.kb.vec("mul", s, s, u)
    w.kb.vec("mul", u, s, s)
    _horner(w, dst, u, (1 / 7, 1 / 5, 1 / 3, 1.0))
    w.kb.vec("mul", dst, dst, s)
    w.kb.vec("muls", dst, dst, imm=2.0 * 2.0**_ROOTS)


def _in_half(mnemonic: str) -> WrittenSequence:
    """The largest or smallest of a row, rounded to fp16: exact for what was widened from it."""

    def write(w: SequenceWriter, dst: SSAValue, src: Sequence[SSAValue], imm: float) -> None:
        narrow, found = w.like(src[0], DType.F16), w.like(dst, DType.F16)
        w.kb.vec("conv", narrow, src[0])
        w.kb.vec(mnemonic, found, narrow)
        w.kb.vec("conv", dst, found)

    return write


_FLOATS = ("f16", "f32")
_SEQUENCES: dict[str, tuple[tuple[str, ...], WrittenSequence]] = {
    "div": (_FLOATS, _div),
    "sqrt": (_FLOATS, _sqrt),
    "maxs": ((*_FLOATS, "i32"), _with_number("max")),
    "mins": ((*_FLOATS, "i32"), _with_number("min")),
    "adds": (("i32",), _with_number("add")),
    "muls": (("i32",), _with_number("mul")),
    "relu": (_FLOATS, _with_number("max")),
    "lrelu": (_FLOATS, _lrelu),
    "exp": (("f32",), _exp),
    "ln": (("f32",), _ln),
    "cmax": (("f32",), _in_half("cmax")),
    "cmin": (("f32",), _in_half("cmin")),
    "cmp": (("f32",), compared),
    "sel": (("f32",), chosen),
    "conv": (("f32 -> i32", "i32 -> f32"), converted),
}
"""Element types and the sequence, by mnemonic."""


def _ub_bytes(kernel: KernelOp) -> int:
    """Bytes of UB that all buffers of a kernel take in one version."""
    slots = allocs_by_slot(kernel).values()
    return sum(slot_bytes(allocs, _BLOCK) for allocs in slots if space_of(allocs[0].memory) is Space.UB)
