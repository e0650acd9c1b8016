"""What a compiled program asks of a chip, instruction by instruction, beside what its file says that it has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from graph_engine.target_ascend.isa.model import (
    ACTIVATIONS,
    TEAM,
    Blocks,
    CoreKind,
    DType,
    Instr,
    Kernel,
    Loop,
    Node,
    Part,
    Pipe,
    Space,
)
from graph_engine.target_ascend.isa.specs import SPECS
from graph_engine.target_ascend.om.program import Program
from graph_engine.target_ascend.soc.soc import Soc

SYNCHRONISATION = ("sync", "cross", "scalar_load")
WITHOUT = {
    CoreKind.AI_CORE: set(Pipe),
    CoreKind.CUBE_CORE: {Pipe.V, Pipe.MTE3},
    CoreKind.VECTOR_CORE: {Pipe.M, Pipe.MTE1, Pipe.FIX},
}
"""Pipes that a kind of core of a split chip does not have; there is none that has all."""
KINDS = {part: CoreKind.CUBE_CORE if part is Part.CUBE else CoreKind.VECTOR_CORE for part in TEAM}
"""The cores of a team."""


def lacking(program: Program, soc: Soc) -> list[str]:
    """Instructions of the program that the chip does not have: element types, pipes and ways between memories."""
    found: dict[str, None] = {}
    for kernel in program.kernels.values():
        for part in kernel.parts:
            own = tuple(node for node in kernel.body if isinstance(node, Blocks) and node.part is part)
            one_core = replace(kernel, body=own, core_kind=KINDS.get(part, kernel.core_kind))
            for instr in instructions(one_core):
                for reason in _lacking(one_core, instr, soc):
                    found[f"{kernel.name}: {SPECS[instr.opcode].mnemonic}: {reason}"] = None
    return list(found)


def instructions(kernel: Kernel) -> Iterator[Instr]:
    """All instructions of a kernel, each once."""

    def walk(nodes: tuple[Node, ...]) -> Iterator[Instr]:
        for node in nodes:
            if isinstance(node, Instr):
                yield node
            else:
                assert isinstance(node, Loop) or node.body
                yield from walk(node.body)

    return walk(kernel.body)


def _lacking(kernel: Kernel, instr: Instr, soc: Soc) -> Iterator[str]:
    spec = SPECS[instr.opcode]
    spaces = [kernel.buffers[operand.buffer].space for operand in instr.operands]
    types = [operand.dtype for operand in instr.operands]
    if spec.group in SYNCHRONISATION:
        return
    if soc.has("split") and instr.pipe in WITHOUT[kernel.core_kind]:
        yield f"no pipe {instr.pipe.name} on a {kernel.core_kind.name}"
    if instr.pipe.name not in soc.pipes:
        yield f"no pipe {instr.pipe.name}"
    for space in spaces:
        if space is not Space.GM and space.name.lower() not in soc.buffers:
            yield f"no buffer {space.name}"
    if spec.group == "cube":
        if not soc.supports_mmad(types[1].mlir, types[2].mlir, types[0].mlir):
            yield " x ".join(dtype.mlir for dtype in types)
    elif spec.group in ("move", "img2col", "fixpipe") or Space.L0C in spaces[1:]:
        ends = f"{spaces[1].name}->{spaces[0].name}".lower()
        if not any(p.partition("@")[0] == ends and way.pipe == instr.pipe.name for p, way in soc.paths.items()):
            yield f"no way {ends} on {instr.pipe.name}"
        if spec.group == "fixpipe" and (number := instr.params[0].const) and ACTIVATIONS[number] not in soc.activations:
            yield ACTIVATIONS[number]
        if spec.group == "fixpipe" and f"{types[1].mlir} -> {types[0].mlir}" not in soc.instructions["fixpipe"]:
            yield f"{types[1].mlir} -> {types[0].mlir}"
    elif spec.mnemonic.startswith("conv"):
        read, written = types[1].mlir, types[0].mlir
        key = ("copy", written) if read == written else ("conv", f"{read} -> {written}")
        if not soc.supports(*key):
            yield f"{read} -> {written}"
    else:
        element = types[-1] if types[0] is DType.BOOL else types[0]
        if not soc.supports(spec.mnemonic, element.mlir):
            yield element.mlir
