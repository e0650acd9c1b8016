"""Kernels with one fault each: what a wrong lowering, planner or flag pass would emit.

`mutants(kernel)` yields them by kind. Nodes of a kernel are numbered in the order of its text, instructions, loops and
block ranges alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from graph_engine.target_ascend.isa.model import Affine, Blocks, Instr, Kernel, Loop, Node, Opcode, Operand, Pipe, Space
from graph_engine.target_ascend.isa.specs import SPECS


@dataclass(frozen=True)
class Mutant:
    """A kernel with a fault of a kind, and where it is."""

    kind: str
    place: str
    kernel: Kernel


Faulty = Iterator[tuple[str, Kernel]]


def mutants(kernel: Kernel) -> Iterator[Mutant]:
    """All mutants of a kernel, kind by kind."""
    for kind in KINDS:
        for place, faulty in KINDS[kind](kernel):
            yield Mutant(kind, place, faulty)


def nodes(kernel: Kernel) -> list[Node]:
    """All nodes in the order of the text."""

    def walk(body: tuple[Node, ...]) -> Iterator[Node]:
        for node in body:
            yield node
            if not isinstance(node, Instr):
                yield from walk(node.body)

    return list(walk(kernel.body))


def with_nodes(kernel: Kernel, changes: Mapping[int, tuple[Node, ...]]) -> Kernel:
    """The kernel with other nodes, or none, in the place of those with these numbers."""
    numbers = iter(range(1 << 30))

    def rebuilt(body: tuple[Node, ...]) -> tuple[Node, ...]:
        found: list[Node] = []
        for node in body:
            number = next(numbers)
            inner = node if isinstance(node, Instr) else replace(node, body=rebuilt(node.body))
            found += changes.get(number, (inner,))
        return tuple(found)

    return replace(kernel, body=rebuilt(kernel.body))


def _instructions(kernel: Kernel, group: str = "") -> Iterator[tuple[int, Instr]]:
    for number, node in enumerate(nodes(kernel)):
        if isinstance(node, Instr) and (SPECS[node.opcode].group == group if group else node.operands):
            yield number, node


def _name(number: int, instr: Instr) -> str:
    return f"node {number} ({SPECS[instr.opcode].mnemonic})"


def _changed(kernel: Kernel, number: int, faulty: Instr, what: str) -> tuple[str, Kernel]:
    return f"{_name(number, faulty)}: {what}", with_nodes(kernel, {number: (faulty,)})


def _operands(kernel: Kernel) -> Iterator[tuple[int, Instr, int, Operand]]:
    for number, instr in _instructions(kernel):
        for i, operand in enumerate(instr.operands):
            yield number, instr, i, operand


def _operand(kernel: Kernel, number: int, instr: Instr, i: int, what: str, **fields: object) -> tuple[str, Kernel]:
    operand = replace(instr.operands[i], **fields)  # pyright: ignore[reportArgumentType]
    operands = (*instr.operands[:i], operand, *instr.operands[i + 1 :])
    name = kernel.buffers[instr.operands[i].buffer].name
    return _changed(kernel, number, replace(instr, operands=operands), f"operand {i} ({name}) {what}")


# Order.


def _events(instr: Instr) -> set[tuple[int, int, int]]:
    source, target, event = (p.const for p in instr.params)
    count = instr.event_rotate.count if instr.event_rotate is not None else 1
    return {(source, target, event + i) for i in range(count)}


def drop_flag(kernel: Kernel) -> Faulty:
    """All sets and waits of one flag."""
    flags = [(n, i) for n, i in _instructions(kernel, "sync") if i.opcode is not Opcode.BARRIER]
    done: set[int] = set()
    for number, instr in flags:
        if number not in done:
            events = _events(instr)
            for _, other in flags:  # versions of a flag: a range, and its members one by one
                events |= _events(other) if events & _events(other) else set()
            group = [n for n, other in flags if events & _events(other)]
            done.update(group)
            yield f"nodes {', '.join(map(str, group))}", with_nodes(kernel, {n: () for n in group})


def drop_set(kernel: Kernel) -> Faulty:
    """One set_flag."""
    for number, instr in _instructions(kernel, "sync"):
        if instr.opcode is Opcode.SET_FLAG:
            yield _name(number, instr), with_nodes(kernel, {number: ()})


def drop_wait(kernel: Kernel) -> Faulty:
    """One wait_flag."""
    for number, instr in _instructions(kernel, "sync"):
        if instr.opcode is Opcode.WAIT_FLAG:
            yield _name(number, instr), with_nodes(kernel, {number: ()})


def drop_barrier(kernel: Kernel) -> Faulty:
    """One barrier."""
    for number, instr in _instructions(kernel, "sync"):
        if instr.opcode is Opcode.BARRIER:
            yield _name(number, instr), with_nodes(kernel, {number: ()})


def wrong_event(kernel: Kernel) -> Faulty:
    """A flag with the next number, or one that does not rotate."""
    for number, instr in _instructions(kernel, "sync"):
        if instr.opcode is Opcode.BARRIER:
            continue
        later = (*instr.params[:2], instr.params[2] + 1)
        yield _changed(kernel, number, replace(instr, params=later), "the next event")
        if instr.event_rotate is not None:
            yield _changed(kernel, number, replace(instr, event_rotate=None), "no rotation")


def drop_cross_flag(kernel: Kernel) -> Faulty:
    """One raising of a cross-core flag or one wait for it, and all of a flag."""
    flags = list(_instructions(kernel, "cross"))
    for number, instr in flags:
        yield _name(number, instr), with_nodes(kernel, {number: ()})
    for flag in sorted({instr.params[0].const for _, instr in flags}):
        group = [number for number, instr in flags if instr.params[0].const == flag]
        yield f"nodes {', '.join(map(str, group))}", with_nodes(kernel, {number: () for number in group})


def wrong_cross_flag(kernel: Kernel) -> Faulty:
    """A cross-core flag with the next number, or raised by another pipe."""
    for number, instr in _instructions(kernel, "cross"):
        later = replace(instr, params=(instr.params[0] + 1,))
        yield _changed(kernel, number, later, "the next flag")
        if instr.opcode is Opcode.BLOCK_SET and instr.pipe is not Pipe.S:
            yield _changed(kernel, number, replace(instr, pipe=Pipe.S), "raised by S")


def _neighbours(kernel: Kernel, fits: Callable[[Instr, Instr], bool]) -> Faulty:
    everything = nodes(kernel)
    bodies = [kernel.body, *(node.body for node in everything if not isinstance(node, Instr))]
    pairs = {(id(one), id(two)) for body in bodies for one, two in pairwise(body)}
    for number, (one, two) in enumerate(pairwise(everything)):
        if isinstance(one, Instr) and isinstance(two, Instr) and (id(one), id(two)) in pairs and fits(one, two):
            place = f"{_name(number, one)} and {_name(number + 1, two)}"
            yield place, with_nodes(kernel, {number: (two,), number + 1: (one,)})


def late_wait(kernel: Kernel) -> Faulty:
    """A wait behind the instruction that it protects."""
    waits = (Opcode.WAIT_FLAG, Opcode.BLOCK_WAIT)
    return _neighbours(kernel, lambda one, two: one.opcode in waits and bool(two.operands))


def early_set(kernel: Kernel) -> Faulty:
    """A set in front of the instruction that it tells of."""
    sets = (Opcode.SET_FLAG, Opcode.BLOCK_SET)
    return _neighbours(kernel, lambda one, two: two.opcode in sets and bool(one.operands))


def swap_instructions(kernel: Kernel) -> Faulty:
    """Two neighbours in the other order."""
    return _neighbours(kernel, lambda one, two: bool(one.operands and two.operands))


# Addresses.


def shift_offset(kernel: Kernel) -> Faulty:
    """An operand one element, or a granule, further on or back."""
    for number, instr, i, operand in _operands(kernel):
        for step in (1, -1, 32 // operand.dtype.bytes, -32 // operand.dtype.bytes):
            yield _operand(kernel, number, instr, i, f"moved by {step}", offset=operand.offset + step)


def loop_step(kernel: Kernel) -> Faulty:
    """An operand that stays in place, or goes on by half, while a loop or the block index does."""
    for number, instr, i, operand in _operands(kernel):
        for slot, step in operand.offset.terms:
            rest = tuple(term for term in operand.offset.terms if term[0] != slot)
            for terms in (rest, tuple(sorted((*rest, (slot, step // 2))))) if step > 1 else (rest,):
                offset = Affine(operand.offset.const, terms)
                yield _operand(
                    kernel, number, instr, i, f"counter {slot} steps {dict(terms).get(slot, 0)}", offset=offset
                )


def stride(kernel: Kernel) -> Faulty:
    """An operand with another distance between the elements of an axis."""
    for number, instr, i, operand in _operands(kernel):
        for axis, (size, old) in enumerate(zip(operand.sizes, operand.strides, strict=True)):
            for new in (old + 1, old + 32 // operand.dtype.bytes, 0) if size > 1 else ():
                if new != old:
                    strides = (*operand.strides[:axis], new, *operand.strides[axis + 1 :])
                    yield _operand(kernel, number, instr, i, f"axis {axis} by {new}", strides=strides)


def swap_buffers(kernel: Kernel) -> Faulty:
    """An operand in another buffer of the same space."""
    for number, instr, i, operand in _operands(kernel):
        mine = kernel.buffers[operand.buffer]
        for j, other in enumerate(kernel.buffers):
            if j != operand.buffer and other.space is mine.space:
                yield _operand(kernel, number, instr, i, f"in {other.name}", buffer=j)


def wrong_version(kernel: Kernel) -> Faulty:
    """An operand in the next version of its buffer, or always in the first."""
    for number, instr, i, operand in _operands(kernel):
        if operand.rotate is not None:
            ahead = replace(operand.rotate, index=operand.rotate.index + 1)
            yield _operand(kernel, number, instr, i, "one version ahead", rotate=ahead)
            yield _operand(kernel, number, instr, i, "in the first version", rotate=None)


def overlap(kernel: Kernel) -> Faulty:
    """A buffer placed on another of its space."""
    for j, one in enumerate(kernel.buffers):
        for other in kernel.buffers:
            if other is not one and other.space is one.space is not Space.GM and other.address != one.address:
                moved = replace(one, address=other.address)
                yield (
                    f"{one.name} on {other.name}",
                    replace(kernel, buffers=(*kernel.buffers[:j], moved, *kernel.buffers[j + 1 :])),
                )


# Extents.


def extent(kernel: Kernel) -> Faulty:
    """An instruction that does one element, row or repeat too few or too many, in all its operands."""
    for number, instr in _instructions(kernel):
        rank = max(len(o.sizes) for o in instr.operands)
        for axis in range(-1, -rank - 1, -1):
            for step in (-1, 1):
                yield from _resized(kernel, number, instr, axis, step)


def _resized(kernel: Kernel, number: int, instr: Instr, axis: int, step: int) -> Faulty:
    sizes = {o.sizes[axis] for o in instr.operands if len(o.sizes) >= -axis}
    (size, *others) = sorted(sizes, reverse=True)
    if size + step < 1 or any(other != 1 for other in others):
        return
    operands: list[Operand] = []
    for operand in instr.operands:
        full = list(operand.sizes)
        if len(full) >= -axis and full[axis] == size:
            full[axis] += step
        operands.append(replace(operand, sizes=tuple(full)))
    resized = replace(instr, operands=tuple(operands))
    yield _changed(kernel, number, resized, f"axis {axis} has {size + step} of {size}")


def trip(kernel: Kernel) -> Faulty:
    """A loop or a range of blocks with one pass too few or too many."""
    for number, node in enumerate(nodes(kernel)):
        if isinstance(node, Loop):
            for count in (node.trip - 1, node.trip + 1):
                yield f"loop {number}: {count} passes", _with_loop(kernel, number, replace(node, trip=count))
        elif isinstance(node, Blocks):
            yield f"range {number}: the last block idle", _with_loop(kernel, number, replace(node, hi=node.hi - 1))


def _with_loop(kernel: Kernel, number: int, node: Node) -> Kernel:
    return with_nodes(kernel, {number: (node,)})


# Meaning.


def swap_operands(kernel: Kernel) -> Faulty:
    """Two sources of an instruction in the other order."""
    for number, instr in _instructions(kernel):
        if len(instr.operands) >= 3:
            first, second = instr.operands[-2:]
            yield _changed(kernel, number, replace(instr, operands=(*instr.operands[:-2], second, first)), "swapped")


def parameter(kernel: Kernel) -> Faulty:
    """A parameter or an immediate that is one more."""
    for number, instr in _instructions(kernel):
        for i, value in enumerate(instr.params):
            params = (*instr.params[:i], value + 1, *instr.params[i + 1 :])
            yield _changed(kernel, number, replace(instr, params=params), f"{SPECS[instr.opcode].params[i]} + 1")
        if SPECS[instr.opcode].immediate:
            yield _changed(kernel, number, replace(instr, immediate=instr.immediate + 1), "immediate + 1")


def accumulation(kernel: Kernel) -> Faulty:
    """A product that is added where it should begin, or begins where it should add."""
    for number, instr in _instructions(kernel, "cube"):
        for first_of in (None, ()):
            if instr.first_of != first_of:
                what = "always adds" if first_of is None else "always begins"
                yield _changed(kernel, number, replace(instr, first_of=first_of), what)


def drop_instruction(kernel: Kernel) -> Faulty:
    """An instruction that is not there."""
    for number, instr in _instructions(kernel):
        yield _name(number, instr), with_nodes(kernel, {number: ()})


KINDS: dict[str, Callable[[Kernel], Faulty]] = {
    function.__name__: function
    for function in (
        drop_flag,
        drop_set,
        drop_wait,
        drop_barrier,
        wrong_event,
        drop_cross_flag,
        wrong_cross_flag,
        late_wait,
        early_set,
        swap_instructions,
        shift_offset,
        loop_step,
        stride,
        swap_buffers,
        wrong_version,
        overlap,
        extent,
        trip,
        swap_operands,
        parameter,
        accumulation,
        drop_instruction,
    )
}
"""By name; a docstring says what the fault is."""
