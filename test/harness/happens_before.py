"""Which instructions of a core are ordered, worked out on the explicit graph of everything that one block runs.

Judges flags without the chip's own checker: nodes are executed instructions, edges are the order of a pipe, a flag
from its set to its wait, and barriers; two accesses are ordered if a path leads from one to the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from graph_engine.target_ascend.isa.model import Instr, Kernel, Opcode, Pipe, Space, Walker


@dataclass
class Order:
    """What is wrong with one block's order."""

    races: list[tuple[Instr, Instr]] = field(default_factory=list[tuple[Instr, Instr]])
    unmatched: int = 0
    """Waits without a set before them, and sets without a wait."""
    twice: int = 0
    """Flags set again while the one before may still be up."""


def order(kernel: Kernel, block: int = 0) -> Order:
    """Walks one block."""
    result = Order()
    before: list[int] = []
    """By node: the set of nodes that end before it starts, as bits."""
    last: dict[Pipe, int] = {}
    barrier: int | None = None
    flags: dict[tuple[int, int, int], list[int]] = {}
    taken: dict[tuple[int, int, int], int] = {}
    accesses: dict[tuple[int, int], list[tuple[int, Instr, bool]]] = {}

    def add(pipe: Pipe, *earlier: int) -> int:
        bits = 0
        for node in (*earlier, *([last[pipe]] if pipe in last else []), *([barrier] if barrier is not None else [])):
            bits |= before[node] | 1 << node
        before.append(bits)
        last[pipe] = len(before) - 1
        return last[pipe]

    for instr, counters in Walker(kernel, block):
        if instr.opcode is Opcode.BARRIER:
            assert instr.params[0].const == Pipe.ALL
            barrier = add(Pipe.S, *last.values())
        elif instr.opcode in (Opcode.SET_FLAG, Opcode.WAIT_FLAG):
            source, target, event = (p.at(counters) for p in instr.params)
            if instr.event_rotate is not None:
                event += instr.event_rotate.index.at(counters) % instr.event_rotate.count
            key = source, target, event
            up = flags.setdefault(key, [])
            if instr.opcode is Opcode.SET_FLAG:
                node = add(Pipe(source))
                result.twice += bool(up) or (key in taken and not before[node] >> taken[key] & 1)
                up.append(node)
            elif up:
                taken[key] = add(Pipe(target), up.pop(0))
            else:
                result.unmatched += 1
        else:
            node = add(instr.pipe)
            reads = instr.opcode is Opcode.MMAD and instr.first_of != ()
            for i, operand in enumerate(instr.operands):
                if kernel.buffers[operand.buffer].space is Space.GM:
                    continue
                version = operand.rotate.index.at(counters) % operand.rotate.count if operand.rotate else 0
                for write in {i == 0, i == 0 and not reads}:
                    earlier = accesses.setdefault((operand.buffer, version), [])
                    for other, what, wrote in earlier:
                        if what.pipe is not instr.pipe and (write or wrote) and not before[node] >> other & 1:
                            result.races.append((what, instr))
                    earlier.append((node, instr, write))
    result.unmatched += sum(map(len, flags.values()))
    return result
