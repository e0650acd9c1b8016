"""Choose formats by one minimum cut: the fewest bytes that conversions can move, and the proof of it.

Every operator that may change gets a node per family that it has a form in: on the source's side it works in the family,
on the sink's in ND. What it is bound to (a convolution to NC1HWC0, a softmax to ND, the model's borders to ND or to what is asked for) is source
or sink itself. A value whose producer and readers fall on different sides costs its conversion, once for all readers:
auxiliary nodes stand for "some reader wants it in the family" and "some reader wants it in ND". An operator that moves its
elements in ND alone, as the heads of attention do, costs that on the sink's side.

Two families meet through ND alone, so their costs add up, and an operator with forms in both is forbidden both at once by
an arc that must not be cut: NZ's network stands on its head (its source is the sink), which makes that an implication.
Three formats with ND in the middle thus stay one minimum cut, and exact.

Of equally good choices the one with the least traffic of the operators themselves is taken: padding that they read and
write, casts that a conversion next to them does on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from graph_engine.dialects.ge.constant import ConstantOp
from graph_engine.dialects.ge.elementwise import CastOp
from graph_engine.dialects.layout import NC1HWC0, NC1HWC0C04, Encoding, Pad, with_encoding
from graph_engine.planning.minimum_cut import INFINITE, minimum_cut
from graph_engine.transforms.border_formats import ND_BORDERS, Borders
from graph_engine.transforms.conversions import Choice, conversion_bytes, conversions, heads_bytes, stored_bytes
from graph_engine.transforms.formats import FormatRules, Formats
from graph_engine.transforms.fusion import single_user
from graph_engine.transforms.heavy_spread import heavy_spread
from graph_engine.transforms.stored_values import Family, Format, family_of, tensor

SOURCE, SINK = 0, 1


@dataclass(frozen=True)
class Assignment:
    """A choice, the bytes that its conversions move, and a bound that no choice can beat."""

    choice: Choice
    cost: int
    lower_bound: int

    @property
    def proved_optimal(self) -> bool:
        """Whether no choice moves fewer bytes."""
        return self.cost == self.lower_bound


def assign_layouts(block: Block, rules: FormatRules, borders: Borders = ND_BORDERS) -> Assignment:
    """The choice with the fewest bytes converted. Nearly linear in operators plus uses."""
    problem = _Problem(block, rules, borders)
    choice, bound = problem.network(restoring=False).solved()
    best = Assignment(choice, cost_of(block, choice, rules, borders), bound)
    if not best.proved_optimal:  # zeros have to be restored somewhere, which the bound may not know
        others: tuple[Choice, ...] = (problem.network(restoring=True).solved()[0], heavy_spread(block, rules))
        for choice in others:
            cost = cost_of(block, choice, rules, borders)
            if cost < best.cost:
                best = Assignment(choice, cost, best.lower_bound)
    return best


def cost_of(block: Block, choice: Choice, rules: FormatRules, borders: Borders = ND_BORDERS) -> int:
    """Bytes that the conversions of a choice move."""
    return sum(step.bytes for step in conversions(block, choice, rules, borders))


@dataclass
class _Network:
    """Arcs of a cut problem with two costs, of which the first counts before the second."""

    nodes: int = 2
    arcs: list[tuple[int, int, int, int]] = field(default_factory=list[tuple[int, int, int, int]])
    node_of: dict[tuple[Operation, Family], int] = field(default_factory=dict[tuple[Operation, Family], int])

    def node(self) -> int:
        """A new node."""
        self.nodes += 1
        return self.nodes - 1

    def arc(self, tail: int, head: int, cost: int, second: int = 0) -> None:
        """`cost` if the tail is on the source's side and the head is not."""
        if tail != head and (cost or second):
            self.arcs.append((tail, head, cost, second))

    def pay(self, family: Family, inside: int, outside: int, cost: int, second: int = 0) -> None:
        """`cost` if node `inside` is in `family` and node `outside` is not."""
        ends = (inside, outside) if family is Family.NC1HWC0 else (outside, inside)
        self.arc(*ends, cost, second)

    def any_of(self, family: Family, nodes: Sequence[int]) -> int:
        """A node that is in `family` if one of `nodes` is."""
        if len(nodes) == 1:
            return nodes[0]
        some = self.node()
        for node in nodes:
            self.pay(family, node, some, INFINITE)
        return some

    def all_of(self, family: Family, nodes: Sequence[int]) -> int:
        """A node that is in `family` only if all of `nodes` are."""
        if len(nodes) == 1:
            return nodes[0]
        every = self.node()
        for node in nodes:
            self.pay(family, every, node, INFINITE)
        return every

    def solved(self) -> tuple[dict[Operation, Family], int]:
        """The cheapest choice and its first cost."""
        scale = 1 + sum(abs(second) for *_, second in self.arcs)
        weighted = [
            (tail, head, INFINITE if cost >= INFINITE else cost * scale + second)
            for tail, head, cost, second in self.arcs
        ]
        side = minimum_cut(self.nodes, weighted, SOURCE, SINK).source_side
        value = sum(cost for tail, head, cost, _ in self.arcs if side[tail] and not side[head])
        inside = {Family.NC1HWC0: True, Family.FRACTAL_NZ: False}
        return {op: family for (op, family), node in self.node_of.items() if side[node] is inside[family]}, value


class _Problem:
    """What the networks are built from: the operators' forms, values and their readers."""

    def __init__(self, block: Block, rules: FormatRules, borders: Borders):
        self.block, self.rules, self.borders = block, rules, borders
        self.forms: dict[Operation, dict[Family, Formats]] = {}
        self.bound: dict[Operation, Family | None] = {}
        self.padding: dict[tuple[Operation, Family], Pad] = {}
        for op in block.ops:
            forms: dict[Family, Formats] = {}
            for family in Family if rules.can_move(op) else ():
                formats = rules.of(op, family, (None,) * len(op.operands))
                if formats is not None:
                    forms[family] = formats
            wish = rules.own_family(op)
            if wish in forms:
                self.forms[op] = {wish: forms[wish]}
                self.bound[op] = wish
            elif forms and wish is None:
                self.forms[op] = forms
            for family in self.forms.get(op, {}):
                # What an operator bound to the family spoils arrives spoilt; of others that is not sure.
                given = [self._arriving(value.owner, family) for value in op.operands]
                self.padding[op, family] = self._padding_after(op, family, given)

    def _arriving(self, producer: Operation | Block, family: Family) -> Pad:
        """What the padding of an operand holds at best."""
        if isinstance(producer, Operation) and self.bound.get(producer) is family:
            return self.padding[producer, family]
        return Pad.zero

    def network(self, *, restoring: bool) -> _Network:
        """The cut problem. With `restoring` it guesses more of the zeros that have to be restored, maybe too many."""
        network = _Network()
        for op, forms in self.forms.items():
            for family in forms:
                network.node_of[op, family] = _end(family, 1) if op in self.bound else network.node()
            if len(forms) == 2:
                first, second = (network.node_of[op, family] for family in (Family.NC1HWC0, Family.FRACTAL_NZ))
                network.arc(first, second, INFINITE)
            for family, formats in forms.items():
                if op not in self.bound:
                    node = network.node_of[op, family]
                    network.pay(family, node, _end(family, 0), 0, _padding(op, formats))
                    in_nd = heads_bytes(op, self.rules) if family is Family.FRACTAL_NZ else 0
                    network.pay(family, _end(family, 1), node, in_nd, 1)
        values = [*self.block.args, *(result for op in self.block.ops for result in op.results)]
        taken = {family for forms in self.forms.values() for family in forms}
        at_borders = (family_of((format,)) for format in (*self.borders.made.values(), *self.borders.wanted.values()))
        taken.update(family for family in at_borders if family is not None)
        for value in values:
            if not isinstance(value.owner, ConstantOp):
                for family in (family for family in Family if family in taken):
                    self._value(network, value, family, restoring)
        return network

    def _value(self, network: _Network, value: SSAValue, family: Family, restoring: bool) -> None:
        """What it costs where the producer of `value` and its readers do not agree."""
        producer = value.owner if isinstance(value.owner, Operation) else None
        own = self.forms.get(producer, {}).get(family) if producer is not None else None
        inside = _end(family, 0) if producer is None or own is None else network.node_of[producer, family]
        main = None if own is None or own.result is None else own.result.with_pad("zero")
        if family_of((given := self.borders.made.get(value),)) is family:  # it comes into the model like that
            inside, main = _end(family, 1), given
        readers: dict[Encoding, dict[int, None]] = {}
        stays = False  # somebody reads it in ND whatever the choice
        pad = Pad.zero if own is None else self._padding_of(producer, family, worst=restoring)
        strict: list[bool] = []
        for use in value.uses:
            reader = use.operation
            formats = self.forms.get(reader, {}).get(family)
            wanted = None if formats is None else formats.operands[use.index]
            leaving = self.borders.wanted.get((reader, use.index))
            if leaving is not None and family_of((leaving,)) is family:
                readers.setdefault(leaving, {})[_end(family, 1)] = None
                strict += [False] if leaving == main else []
                stays |= main is not None and leaving != main
                continue
            if wanted is not None:
                readers.setdefault(wanted, {})[network.node_of[reader, family]] = None
            if wanted is not None and wanted == main:
                strict.append(self._is_strict(reader, family, use.index, wanted.with_pad(pad)))
            elif not (isinstance(wanted, NC1HWC0C04) and isinstance(main, NC1HWC0)):
                stays |= wanted is None or main is not None  # what is stored otherwise comes by way of ND
        plain = stored_bytes(tensor(value))
        for wanted, nodes in readers.items():
            some = network.any_of(family, tuple(nodes))
            cost = conversion_bytes(value, None, wanted)
            saved = 2 * plain if cost and not stays and isinstance(producer, CastOp) else 0
            if wanted == main and pad is not Pad.zero and (any if restoring else all)(strict):
                restored = min(cost, conversion_bytes(value, wanted.with_pad(pad), wanted))
                network.pay(family, some, _end(family, 0), restored)
                cost -= restored
            # Pixels of few channels are converted from ND; a convolution takes blocks where they are there (`FormatRules`).
            there = wanted == main or (isinstance(wanted, NC1HWC0C04) and isinstance(main, NC1HWC0))
            network.pay(family, some, inside if there else _end(family, 0), cost, -saved if cost else 0)
        if main is not None:
            cost = conversion_bytes(value, main, None)
            saved = 2 * plain if cost and isinstance(single_user(value), CastOp) else 0
            others = _end(family, 0) if stays else network.all_of(family, tuple(readers.get(main, {})))
            network.pay(family, inside, others, cost, -saved)

    def _is_strict(self, reader: Operation, family: Family, index: int, arriving: Encoding) -> bool:
        """Whether a reader sums over the padding of its operand, and so needs zeros where others arrive."""
        given: list[Format] = [None] * len(reader.operands)
        given[index] = arriving
        formats = self.rules.of(reader, family, given)
        operand = None if formats is None else formats.operands[index]
        return operand is not None and operand.pads_zero and not arriving.pads_zero

    def _padding_of(self, op: Operation | None, family: Family, *, worst: bool) -> Pad:
        """What the padding of the result of `op` holds: at best, or at worst."""
        if op is None:
            return Pad.zero
        return self._padding_after(op, family, [Pad.undef] * len(op.operands)) if worst else self.padding[op, family]

    def _padding_after(self, op: Operation, family: Family, given: Sequence[Pad]) -> Pad:
        """What the padding of the result of `op` holds if that of its operands holds `given`."""
        operands = [
            None if format is None else format.with_pad(pad)
            for format, pad in zip(self.forms[op][family].operands, given, strict=True)
        ]
        formats = self.rules.of(op, family, operands)
        return Pad.zero if formats is None or formats.result is None else formats.result.pad_lanes


def _end(family: Family, label: int) -> int:
    """The end of the network where a label is fixed: 1 for in the family, 0 for ND."""
    return SOURCE if (label == 1) is (family is Family.NC1HWC0) else SINK


def _padding(op: Operation, formats: Formats) -> int:
    """Bytes of padding that an operator reads and writes."""
    values = [tensor(value) for value in (*op.operands, *op.results)]
    stored = [
        with_encoding(value, format) for value, format in zip(values, (*formats.operands, formats.result), strict=True)
    ]
    return sum(map(stored_bytes, stored)) - sum(map(stored_bytes, values))
