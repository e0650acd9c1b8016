"""Which conversions of format a choice of families costs, and how many bytes they move: counted, nothing rewritten.

A conversion reads and writes the stored tensor, padding included. A value is converted once for all its readers; between
two families it goes through ND, since no task converts one into the other. Constants are packed while compiling and cost
nothing, nor does a conversion that leaves every byte in its place. Heads of attention are cut and joined in FRACTAL_NZ
without moving anything; in ND that is a transposition, which counts as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.core import DYNAMIC, Tensor
from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.ge.heads import MergeHeadsOp, SplitHeadsOp
from graph_engine.dialects.ge.interning import once_a_type, shape_of_type
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.shape import ReshapeOp, SliceOp
from graph_engine.dialects.layout import element_bits, encoding_of, with_encoding
from graph_engine.transforms.border_formats import ND_BORDERS, Borders
from graph_engine.transforms.formats import FormatRules
from graph_engine.transforms.fusion import single_user
from graph_engine.transforms.stored_values import Family, Format, is_view, keeps_matrices, tensor

Choice = Mapping[Operation, Family]
"""The family of every operator that does not stay ND."""


@dataclass(frozen=True)
class Conversion:
    """One task that stores `value`, which lies there as `source`, as `target` as well; both are ND for heads."""

    value: SSAValue
    source: Format
    target: Format
    bytes: int


def conversions(
    block: Block, choice: Choice, rules: FormatRules, borders: Borders = ND_BORDERS
) -> Iterator[Conversion]:
    """All conversions that the operators of `block` need among each other, with `choice`."""
    stored: dict[SSAValue, Format] = dict(borders.made)
    made: set[tuple[SSAValue, Format]] = set()
    for op in block.ops:
        given = [stored.get(value) for value in op.operands]
        formats = rules.of(op, choice[op], given) if op in choice else None
        if formats is None:
            if moved := heads_bytes(op, rules):
                yield Conversion(op.results[0], None, None, moved)
            wanted = list(_reads_outside(op, stored, borders))
        else:
            wanted = list(zip(op.operands, formats.operands, strict=True))
            stored[op.results[0]] = formats.result
        for value, target in wanted:
            for step in _steps(value, stored.get(value), target):
                if (value, step.target) not in made:
                    made.add((value, step.target))
                    yield step


def _reads_outside(
    op: Operation, stored: Mapping[SSAValue, Format], borders: Borders
) -> Iterator[tuple[SSAValue, Format]]:
    """What an operator outside all families reads, its regions included, and how: in ND, but for what borders want."""
    for index, value in enumerate(op.operands):
        yield value, borders.reads(op, index, stored.get(value))
    for inner in op.walk():
        if inner is not op:
            yield from ((value, None) for value in inner.operands)


def _steps(value: SSAValue, source: Format, target: Format) -> Iterator[Conversion]:
    """One conversion, two through ND, or none."""
    if source == target or isinstance(value.owner, ConstantOp):
        return
    if source is not None and target is not None and type(source) is not type(target):
        yield from _steps(value, source, None)
        source = None
    moved = conversion_bytes(value, source, target)
    if moved:
        yield Conversion(value, source, target, moved)


def heads_bytes(op: Operation, rules: FormatRules) -> int:
    """Bytes that it takes in ND to cut or join heads, which FRACTAL_NZ has where they belong; 0 for all else.

    Where products work in ND they read and write heads where they lie as well.
    """
    if not isinstance(op, SplitHeadsOp | MergeHeadsOp) or not rules.has_form(op, Family.FRACTAL_NZ):
        return 0
    if MatmulOp.name not in rules.heavy and _beside_products(op):
        return 0
    return 2 * stored_bytes(tensor(op.results[0]))


def _beside_products(op: Operation, deepest: int = 8) -> bool:
    """Whether heads are cut for products alone, or joined right behind one; `deepest`: cuts and names between at most."""
    if not deepest:
        return False
    if isinstance(op, MergeHeadsOp):
        value, reader = op.x, op
        while keeps_matrices(value.owner) and single_user(value) is reader:
            reader = value.owner
            assert isinstance(reader, ReshapeOp)
            value = reader.x
        return _is_product(value.owner) and single_user(value) is reader
    users = [use.operation for use in op.results[0].uses]
    cuts = [user for user in users if isinstance(user, SliceOp) or keeps_matrices(user)]
    return all(_beside_products(cut, deepest - 1) for cut in cuts) and all(
        _is_product(user) for user in users if user not in cuts
    )


def _is_product(op: object) -> bool:
    return isinstance(op.anchor_op if isinstance(op, FusedOp) else op, MatmulOp)


def conversion_bytes(value: SSAValue, source: Format, target: Format) -> int:
    """Bytes read and written by a conversion; 0 where it leaves every byte in its place."""
    before, after = (with_encoding(tensor(value), format) for format in (source, target))
    return 0 if is_view(before, after) else stored_bytes(before) + stored_bytes(after)


@once_a_type
def stored_bytes(stored: Tensor) -> int:
    """Bytes of a stored tensor, padding included; an unknown dimension counts as 1."""
    extents = tuple(1 if extent == DYNAMIC else extent for extent in shape_of_type(stored))
    return -(-prod(encoding_of(stored).map.physical_shape(extents)) * element_bits(stored.element_type) // 8)
