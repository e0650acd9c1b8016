"""Cutting graphs: what is left still fails, nothing of it can go, and guards about readers see the same readers."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from models.light import random_inputs
from models.small import SMALL
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block

from graph_engine.dialects.ge.locations import source_nodes
from graph_engine.frontend_onnx.importer import import_onnx
from graph_engine.pipelines.numerics import deviation
from graph_engine.pipelines.reduction import cut, neighbourhood, operators, reduce_graph
from graph_engine.pipelines.reference import ReferenceGraph, graph_functions
from graph_engine.pipelines.verification import verify

MODULE = import_onnx(SMALL["residual"](seed=1))
BLOCK: Block = graph_functions(MODULE)[0].body.block
NAMES = [source_nodes(op.location)[0].name for op in operators(BLOCK)]


def names(module: ModuleOp) -> list[str]:
    (function,) = graph_functions(module)
    return [source_nodes(op.location)[0].name for op in operators(function.body.block)]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.sets(st.sampled_from(NAMES), min_size=1, max_size=4), st.sampled_from(NAMES))
def test_what_is_needed_is_found_wherever_the_search_starts(needed: set[str], start: str) -> None:
    first = [op for op, name in zip(operators(BLOCK), NAMES, strict=True) if name == start]
    found = reduce_graph(BLOCK, first, lambda module: needed <= set(names(module)))
    assert found is not None
    verify(found)
    assert set(names(found)) == needed


def test_nothing_is_found_where_nothing_fails() -> None:
    assert reduce_graph(BLOCK, [], lambda module: False) is None


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.sets(st.sampled_from(range(len(NAMES))), min_size=1))
def test_cut_is_a_graph_with_the_readers_of_before(kept: set[int]) -> None:
    ops = [op for number, op in enumerate(operators(BLOCK)) if number in kept]
    small = cut(BLOCK, set(ops))
    verify(small)
    copies = operators(graph_functions(small)[0].body.block)
    assert [op.name for op in copies] == [op.name for op in ops]
    for old, new in zip(ops, copies, strict=True):
        assert old.location == new.location
        inside = [use.operation for use in old.results[0].uses if use.operation in ops]
        outside = any(use.operation not in ops for use in old.results[0].uses)
        readers = [use.operation for use in new.results[0].uses]
        assert len(readers) == len(inside) + outside  # all readers outside are one: the return


def test_whole_cut_computes_the_same() -> None:
    model = SMALL["residual"](seed=1)
    small = cut(BLOCK, set(operators(BLOCK)))
    feeds = list(random_inputs(model, 2).values())
    (old,), (new,) = (ReferenceGraph(module, "m").run(feeds) for module in (MODULE, small))
    assert deviation(old, new) == 0


def test_neighbourhood_grows_by_one_step_of_data_flow() -> None:
    ops = operators(BLOCK)
    assert neighbourhood(BLOCK, ops[:1], 0) == {ops[0]}
    one = neighbourhood(BLOCK, ops[:1], 1)
    readers = {use.operation for use in ops[0].results[0].uses}
    producers = {value.owner for value in ops[0].operands if value.owner in ops}
    assert one == {ops[0], *readers, *producers}
    assert neighbourhood(BLOCK, ops[:1], len(ops)) == set(ops)
