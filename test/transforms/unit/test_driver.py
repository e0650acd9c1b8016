"""The rewrite driver: counts, limits, bounds, locations, clean-up of what a rewrite leaves unused, linear time."""

import time

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import FusedLoc, IntegerAttr, ModuleOp, NameLoc, NoneAttr, StringAttr, UnknownLoc, i32
from xdsl.ir import Operation, SSAValue

from graph_engine.errors import GraphEngineError
from graph_engine.transforms.driver import (
    CountedRewriter,
    Pattern,
    RewriteContext,
    RewriteEvent,
    RewriteLimitReached,
    apply_patterns,
    rewrite_limit,
)


def named(name: str) -> NameLoc:
    return NameLoc(StringAttr(name), NoneAttr())


def pure(*operands: SSAValue, tag: int, loc: str | None = None) -> Operation:
    return test.TestPureOp.create(
        operands=operands,
        result_types=[i32],
        attributes={"tag": IntegerAttr(tag, i32)},
        location=named(loc) if loc else None,
    )


def tag(op: Operation) -> int:
    value = op.attributes["tag"]
    assert isinstance(value, IntegerAttr)
    return value.value.data


def chain(length: int) -> ModuleOp:
    """`length` operators in a row, tagged and named by position, and a user of the last."""
    ops = [pure(tag=0, loc="n0")]
    for i in range(1, length):
        ops.append(pure(ops[-1].results[0], tag=i, loc=f"n{i}"))
    return ModuleOp([*ops, test.TestOp.create(operands=[ops[-1].results[0]])])


def tags(module: ModuleOp) -> list[int]:
    return [tag(op) for op in module.ops if isinstance(op, test.TestPureOp)]


def names(op: Operation) -> list[str]:
    parts = op.location.locations.data if isinstance(op.location, FusedLoc) else (op.location,)
    return [part.desc.data for part in parts if isinstance(part, NameLoc)]


class DropOdd(Pattern):
    name = "drop-odd"
    root = (test.TestPureOp,)

    def rewrite(self, op: test.TestPureOp, rewriter: CountedRewriter) -> bool:
        if not op.operands or tag(op) % 2 == 0:
            return False
        rewriter.replace(op, (), [op.operands[0]])
        return True


class FusePair(Pattern):
    """Two operators in a row become one; only the second is erased by hand, the first dies with it."""

    name = "fuse-pair"
    root = (test.TestPureOp,)

    def rewrite(self, op: test.TestPureOp, rewriter: CountedRewriter) -> bool:
        if not op.operands or tag(op) >= 100 or not isinstance(first := op.operands[0].owner, test.TestPureOp):
            return False
        rewriter.replace(op, pure(*first.operands, tag=100 + tag(first)))
        return True


class Forever(Pattern):
    name = "forever"
    root = (test.TestPureOp,)

    def rewrite(self, op: test.TestPureOp, rewriter: CountedRewriter) -> bool:
        op.attributes["tag"] = IntegerAttr(tag(op) + 1, i32)
        rewriter.notify_op_modified(op)
        return True


def test_counts_per_pattern_and_in_the_context():
    module = chain(6)
    with rewrite_limit(None) as context:
        context.pass_name = "p"
        stats = apply_patterns(module, [DropOdd()])
    assert tags(module) == [0, 2, 4]
    assert stats.counts == {"drop-odd": 3} and stats.total == 3
    assert context.counts == {("p", "drop-odd"): 3}
    module.verify()


@pytest.mark.parametrize("limit", range(5))
def test_limit_stops_after_exactly_n_rewrites_in_program_order(limit: int):
    module = chain(8)
    with rewrite_limit(limit) as context:
        apply_patterns(module, [DropOdd()])
        apply_patterns(module, [DropOdd()])
    gone = [1, 3, 5, 7][:limit]
    assert tags(module) == [i for i in range(8) if i not in gone]
    assert context.total == limit
    module.verify()


def test_created_operator_carries_the_locations_of_all_it_replaces_in_dataflow_order():
    module = chain(2)
    apply_patterns(module, [FusePair()])
    (fused,) = (op for op in module.ops if isinstance(op, test.TestPureOp))
    assert names(fused) == ["n0", "n1"]


def test_a_source_that_stays_keeps_its_location_and_lends_it():
    module = chain(2)
    first = next(iter(module.ops))
    module.body.block.insert_op_after(test.TestOp.create(operands=[first.results[0]]), first)
    apply_patterns(module, [FusePair()])
    assert tags(module) == [0, 100]
    assert names(first) == ["n0"]


def test_operator_changed_in_place_takes_over_the_location_of_the_one_it_absorbs():
    class Absorb(Pattern):
        name = "absorb"
        root = (test.TestPureOp,)

        def rewrite(self, op: test.TestPureOp, rewriter: CountedRewriter) -> bool:
            if not op.operands or not isinstance(first := op.operands[0].owner, test.TestPureOp):
                return False
            rewriter.notify_op_modified(first)
            rewriter.replace(op, (), first.results)
            return True

    module = chain(3)
    apply_patterns(module, [Absorb()])
    (left,) = (op for op in module.ops if isinstance(op, test.TestPureOp))
    assert names(left) == ["n0", "n1", "n2"]


def test_explicit_location_of_a_created_operator_is_kept():
    module = chain(1)
    op = next(iter(module.ops))
    with RewriteContext().rewrite("swap", [op]) as rewriter:
        rewriter.replace(op, pure(tag=7, loc="mine"))
    assert names(next(iter(module.ops))) == ["mine"]


def test_restructuring_pass_is_counted_limited_and_located():
    module = chain(3)
    ops = [op for op in module.ops if isinstance(op, test.TestPureOp)]
    with rewrite_limit(1) as context:
        with RewriteContext.current().rewrite("merge", ops[1:]) as rewriter:
            rewriter.replace(ops[2], pure(ops[0].results[0], tag=9))
        assert context.exhausted
        with pytest.raises(RewriteLimitReached), context.rewrite("merge", ops[:1]):
            pass
    assert tags(module) == [0, 9]
    assert names(next(op for op in module.ops if tag(op) == 9)) == ["n1", "n2"]


def test_listeners_see_each_rewrite():
    seen: list[RewriteEvent] = []
    with rewrite_limit(None) as context:
        context.listeners.append(seen.append)
        apply_patterns(chain(4), [DropOdd()])
    assert [(event.index, event.name, event.location) for event in seen] == [
        (1, "drop-odd", named("n1")),
        (2, "drop-odd", named("n3")),
    ]


def test_rewriting_without_end_is_stopped_and_names_the_pattern():
    with pytest.raises(GraphEngineError, match="'forever'"):
        apply_patterns(chain(3), [Forever()], max_iterations=4)


def test_a_pattern_that_lies_is_caught():
    class Liar(Forever):
        name = "liar"

        def rewrite(self, op: test.TestPureOp, rewriter: CountedRewriter) -> bool:
            super().rewrite(op, rewriter)
            return False

    with pytest.raises(AssertionError, match="liar"):
        apply_patterns(chain(1), [Liar()])


def test_operator_without_known_location_stays_unknown():
    module = ModuleOp([op := pure(tag=1), test.TestOp.create(operands=[op.results[0]])])
    with RewriteContext().rewrite("swap", [op]) as rewriter:
        rewriter.replace(op, pure(tag=2))
    assert isinstance(next(iter(module.ops)).location, UnknownLoc)


def test_time_grows_linearly():
    def seconds(length: int) -> float:
        best = float("inf")
        for _ in range(3):
            module = chain(length)
            start = time.process_time()
            apply_patterns(module, [DropOdd(), FusePair()])
            best = min(best, time.process_time() - start)
        return best

    assert seconds(4000) < 4 * 2.5 * seconds(1000)
