"""The rules of formats, each answer given once for all operators alike: the layers of a network ask the same again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from graph_engine.dialects.ge.fused import FusedOp
from graph_engine.dialects.operator_class import operands_of
from graph_engine.dialects.operator_form import Form
from graph_engine.transforms.formats import FormatRules, Formats
from graph_engine.transforms.padding import LOOKS
from graph_engine.transforms.stored_values import Family, Format


class RememberedRules(FormatRules):
    """`FormatRules` for a pass: what they find by the form of an operator is remembered, what they look up is not.

    Forms are remembered too: an operator that changes, or whose operand changes its type, is to be forgotten.
    """

    def __init__(
        self,
        c0: Mapping[str, int],
        heavy: Collection[str],
        saturating: bool = False,
        small: Mapping[str, int] | None = None,
        wide: bool = False,
    ):
        super().__init__(c0, heavy, saturating, small, wide)
        self._answers: dict[tuple[object, ...], Formats | None] = {}
        self._inside: dict[tuple[object, ...], tuple[Format, ...]] = {}
        self._forms: dict[tuple[object, ...], int] = {}
        self._form_of: dict[Operation, int | None] = {}
        self._held: list[object] = []
        """What the keys name by identity."""

    def of(self, op: Operation, family: Family, given: Sequence[Format]) -> Formats | None:
        form = self._form(op)
        key = (form, family, *map(id, given))
        if form is not None and key in self._answers:
            return self._answers[key]
        looks = LOOKS.count
        answer = super().of(op, family, given)
        if form is not None and LOOKS.count == looks:
            self._answers[key] = answer
            self._held.append(given)
        return answer

    def inside(self, op: FusedOp, family: Family, operands: Sequence[Format]) -> tuple[Format, ...]:
        """How a kernel on `operands` stores the results of its operators, in order; the yield at the end gives none."""
        form = self._form(op)
        key = (form, family, *map(id, operands))
        if form is not None and key in self._inside:
            return self._inside[key]
        looks = LOOKS.count
        stored: dict[SSAValue, Format] = dict(zip(op.block.args, operands, strict=True))
        results: list[Format] = []
        for inner in op.block.ops:
            formats = self.of(inner, family, [stored[value] for value in inner.operands])
            if formats is not None:
                results.append(formats.result)
                stored[inner.results[0]] = formats.result
        if form is not None and LOOKS.count == looks:
            self._inside[key] = tuple(results)
            self._held.append(operands)
        return tuple(results)

    def forget(self, op: Operation) -> None:
        """Forget the form of an operator whose types have changed."""
        self._form_of.pop(op, None)

    def _form(self, op: Operation) -> int | None:
        """The number of the operator's form; None where it does not decide: inside a kernel, or for x + x."""
        if op not in self._form_of:
            operands, form = operands_of(op), Form()
            alone = len(set(operands)) == len(operands) and not isinstance(op.parent_op(), FusedOp)
            if alone and form.add(op):
                number = self._forms.setdefault(tuple(form.key), len(self._forms))
                if number == len(self._forms) - 1:
                    self._held.append(form.parts)
                self._form_of[op] = number
            else:
                self._form_of[op] = None
        return self._form_of[op]
