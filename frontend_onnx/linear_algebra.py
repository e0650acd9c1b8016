"""Einsum as matrix products where it is one, determinants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from graph_engine.dialects.ge.core import DYNAMIC
from graph_engine.dialects.ge.elementwise import MulOp
from graph_engine.dialects.ge.linear_algebra import DetOp, EinsumOp
from graph_engine.dialects.ge.matmul import MatmulOp
from graph_engine.dialects.ge.reduction import ReduceSumOp
from graph_engine.dialects.ge.shape import ReshapeOp, TransposeOp
from graph_engine.frontend_onnx.node import Converter, Node, Unsupported, shape_of


@dataclass
class _Term:
    """A tensor whose axes have letters."""

    value: SSAValue
    letters: str

    def extent(self, letter: str) -> int:
        return shape_of(self.value)[self.letters.index(letter)]


def einsum(node: Node) -> SSAValue:
    """Matrix products of two operands, sums and transposes of one; `ge.einsum` for diagonals and three operands."""
    equation = node.string("equation").replace(" ", "")
    values = node.operands()
    terms, result = _parse(equation, [len(shape_of(value)) for value in values])
    extents = {
        letter: n for term, v in zip(terms, values, strict=True) for letter, n in zip(term, shape_of(v), strict=True)
    }
    plain = all(len(set(term)) == len(term) for term in terms) and all(
        extents[letter] == n != DYNAMIC
        for term, value in zip(terms, values, strict=True)
        for letter, n in zip(term, shape_of(value), strict=True)
    )
    if not plain or len(terms) > 2:
        return node.emit(EinsumOp(values, equation=f"{','.join(terms)}->{result}"))
    needed = [set(result).union(*(terms[:i] + terms[i + 1 :])) for i in range(len(terms))]
    summed = [_sum(node, _Term(v, t), n) for v, t, n in zip(values, terms, needed, strict=True)]
    product = summed[0] if len(summed) == 1 else _product(node, summed[0], summed[1], result)
    return _transposed(node, product, result).value


def _parse(equation: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The letters of the operands and of the result, an ellipsis spelt out in capital letters that are free."""
    left, arrow, result = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise Unsupported(f"equation '{equation}' for {len(ranks)} operands")
    free = [letter for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if letter not in equation]
    hidden = [rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks, strict=True)]
    wide = max((n for n, term in zip(hidden, terms, strict=True) if "..." in term), default=0)
    dots = "".join(free[:wide])
    if any(n < 0 or (n and "..." not in term) for n, term in zip(hidden, terms, strict=True)):
        raise Unsupported(f"equation '{equation}' for operands of ranks {list(ranks)}")
    terms = [term.replace("...", dots[wide - n :]) for n, term in zip(hidden, terms, strict=True)]
    if not arrow:
        letters = "".join(terms)
        result = dots + "".join(sorted(x for x in set(letters) if letters.count(x) == 1 and x not in dots))
    return terms, result.replace("...", dots)


def _sum(node: Node, term: _Term, needed: set[str]) -> _Term:
    """The term summed over the letters that nobody else has."""
    axes = [i for i, letter in enumerate(term.letters) if letter not in needed]
    if not axes:
        return term
    letters = "".join(letter for letter in term.letters if letter in needed)
    return _Term(node.emit(ReduceSumOp(term.value, axes=axes, keepdims=False)), letters)


def _transposed(node: Node, term: _Term, letters: str) -> _Term:
    if letters == term.letters:
        return term
    return _Term(node.emit(TransposeOp(term.value, perm=[term.letters.index(x) for x in letters])), letters)


def _reshaped(node: Node, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    return value if tuple(shape) == shape_of(value) else node.emit(ReshapeOp(value, shape=shape))


def _product(node: Node, a: _Term, b: _Term, result: str) -> _Term:
    """One matrix product: letters in both and the result count matrices, letters in both alone are summed."""
    both = [x for x in a.letters if x in b.letters]
    batch, summed = [x for x in both if x in result], [x for x in both if x not in result]
    rows, columns = [x for x in a.letters if x not in both], [x for x in b.letters if x not in both]

    def extents(letters: Sequence[str], term: _Term) -> list[int]:
        return [term.extent(x) for x in letters]

    shape = [*extents(batch, a), *extents(rows, a), *extents(columns, b)]
    letters = "".join((*batch, *rows, *columns))
    if not summed:  # nothing to sum: products element by element
        left = _transposed(node, a, "".join((*batch, *rows))).value
        right = _transposed(node, b, "".join((*batch, *columns))).value
        left = _reshaped(node, left, [*extents(batch, a), *extents(rows, a), *([1] * len(columns))])
        right = _reshaped(node, right, [*extents(batch, a), *([1] * len(rows)), *extents(columns, b)])
        return _Term(node.emit(MulOp(left, right)), letters)
    m, k, n = prod(extents(rows, a)), prod(extents(summed, a)), prod(extents(columns, b))
    left = _transposed(node, a, "".join((*batch, *rows, *summed))).value
    transpose_b = b.letters.endswith("".join(summed)) and b.letters[: len(batch)] == "".join(batch)
    order = (*batch, *columns, *summed) if transpose_b else (*batch, *summed, *columns)
    right = _transposed(node, b, "".join(order)).value
    left = _reshaped(node, left, [*extents(batch, a), m, k])
    right = _reshaped(node, right, [*extents(batch, a), *((n, k) if transpose_b else (k, n))])
    return _Term(_reshaped(node, node.emit(MatmulOp(left, right, transpose_b=transpose_b)), shape), letters)


def det(node: Node) -> SSAValue:
    """`ge.det`."""
    return node.emit(DetOp(node.operand(0)))


CONVERTERS: dict[str, Converter] = {"Einsum": einsum, "Det": det}
