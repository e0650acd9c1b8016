"""Compute an operator in another element type, between casts: what force-fp16, narrow-int64 and widen-bf16 have in common."""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from graph_engine.dialects.ge.core import GeOp, Tensor, element_of
from graph_engine.dialects.ge.elementwise import CastOp
from graph_engine.dialects.ge.interning import shape_of_type, tensor_type
from graph_engine.transforms.driver import CountedRewriter
from graph_engine.transforms.recipes import cast_to, known
from graph_engine.transforms.retyping import retype


class Narrowed:
    """Values of one block in the element type `narrow` instead of `wide` (or, of bf16, the other way round), each made once,
    right behind the value."""

    def __init__(self, block: Block, wide: Attribute, narrow: Attribute):
        self.block, self.wide, self.narrow = block, wide, narrow
        self.made: dict[SSAValue, SSAValue] = {}

    def has(self, value: SSAValue) -> bool:
        """Whether a narrow version exists already."""
        return value in self.made or self._widened(value) is not None

    def of(self, value: SSAValue, user: Operation, rewriter: CountedRewriter) -> SSAValue:
        """The narrow version of `value`, which `user` needs."""
        if (source := self._widened(value)) is not None:
            return source
        if value not in self.made:
            constant = known(value)
            if constant is not None:
                new: GeOp = cast_to(constant, self.narrow).op()
            else:
                new = CastOp(value, result_type=self.type_of(value.type))
            owner = value.owner
            if isinstance(value, BlockArgument):
                point = InsertPoint.at_start(self.block)
                new.location = user.location
            else:
                assert isinstance(owner, Operation)
                point = InsertPoint.after(owner)
                new.location = owner.location
            rewriter.insert(new, point)
            self.made[value] = new.result
        return self.made[value]

    def type_of(self, type_: Attribute) -> Tensor:
        """The type with the narrow element in place of the wide one; others as they are."""
        tensor = cast(Tensor, type_)
        if tensor.element_type != self.wide:
            return tensor
        return tensor_type(shape_of_type(tensor), self.narrow, tensor.encoding)

    def compute(self, op: Operation, operands: Collection[int], rewriter: CountedRewriter) -> None:
        """Puts `op`, which reads its `operands` narrow then, and whose wide results are narrow, between casts.

        Casts that meet vanish as a walk in program order goes on.
        """
        values = [self.of(v, op, rewriter) if index in operands else v for index, v in enumerate(op.operands)]
        before = [cast(Tensor, result.type) for result in op.results]
        retype(op, values, lambda inner, _: [self.type_of(result.type) for result in inner.results])
        casts = [
            CastOp(result, result_type=old) if result.type != old else None
            for result, old in zip(op.results, before, strict=True)
        ]
        for back in casts:
            if back is not None:
                back.location = op.location
        rewriter.retyped(op, casts)

    def _widened(self, value: SSAValue) -> SSAValue | None:
        """What `value` is a cast of, if that is narrow."""
        owner = value.owner
        return owner.x if isinstance(owner, CastOp) and element_of(owner.x) == self.narrow else None
