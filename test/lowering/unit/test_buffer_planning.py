"""Workspace plans of random programs: what lives at one time never overlaps, results overwrite only what they may."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, i64
from xdsl.ir import Attribute, SSAValue

from graph_engine.dialects.ascend.program import BufferOp, ProgramOp, StreamOp
from graph_engine.dialects.ascend.task import AicpuOp, CopyTaskOp, LaunchOp
from graph_engine.dialects.ge.interning import element_type, tensor_type
from graph_engine.lowering.plan_buffers import plan_buffers

ALIGNMENT = 512


@dataclass
class Storage:
    """A workspace buffer as the test sees it: bytes, task that writes it, last task that reads it or a view of it."""

    op: BufferOp
    size: int
    first: int
    last: int

    @property
    def start(self) -> int:
        """Offset in bytes."""
        assert self.op.offset is not None
        return self.op.offset.value.data


@dataclass
class Drawn:
    """A program, the storages of its workspace, and (task, storage written, storage read) of each allowed overwrite."""

    program: ProgramOp
    storages: list[Storage] = field(default_factory=list[Storage])
    allowed: set[tuple[int, int, int]] = field(default_factory=set[tuple[int, int, int]])
    text: list[str] = field(default_factory=list[str])

    def __repr__(self) -> str:
        return "\n".join(self.text)


def tensor(size: int) -> Any:
    return tensor_type((size,), element_type("i8"))


@st.composite
def programs(draw: Any) -> Drawn:
    """Up to 14 tasks: each reads a few of the values so far, some through views, and writes one or two new ones."""
    drawn = Drawn(ProgramOp("p", "Ascend310P3"))
    stream, body = StreamOp("s0"), drawn.program.body.block
    inputs = BufferOp("input", tensor(600))
    body.add_op(inputs)
    values: list[tuple[SSAValue, int | None]] = [(inputs.tensor, None)]
    count = draw(st.integers(1, 14))
    for time in range(count):
        read = [values[-1 - draw(st.integers(0, 4)) % len(values)] for _ in range(draw(st.integers(1, 3)))]
        operands: list[SSAValue] = []
        for value, number in read:
            if number is not None:
                drawn.storages[number].last = time
            if draw(st.integers(0, 3)) == 0:
                owner: Any = value.owner
                view = BufferOp(owner.segment.data, value.type, alias=value)
                body.add_op(view)
                value = view.tensor
            operands.append(value)
        results: list[tuple[SSAValue, int | None]] = []
        places = draw(st.sets(st.integers(0, len(read) - 1)))
        launch = draw(st.integers(0, 4)) > 0
        for _ in range(draw(st.sampled_from([1, 1, 1, 2]))):
            size = draw(st.sampled_from([1, 500, 512, 512, 512, 513, 1024, 5000]))
            buffer = BufferOp("workspace", tensor(size))
            body.add_op(buffer)
            drawn.storages.append(Storage(buffer, size, time, time))
            results.append((buffer.tensor, len(drawn.storages) - 1))
            for place in places if launch else ():
                number = read[place][1]
                if number is not None and sum(n == number for _, n in read) == 1:
                    drawn.allowed.add((time, len(drawn.storages) - 1, number))
        info: dict[str, Attribute] = {"in_place": DenseArrayBase.from_list(i64, sorted(places))}
        outputs = [value for value, _ in results]
        if launch:
            stream.body.block.add_op(LaunchOp(f"t{time}", "k", operands, outputs, 1, DictionaryAttr(info)))
        else:
            stream.body.block.add_op(AicpuOp(f"t{time}", "ge.lrn", "{}", operands, outputs, DictionaryAttr(info)))
        drawn.text.append(
            f"{'launch' if launch else 'aicpu'} {[n for _, n in read]} -> {[n for _, n in results]} {places}"
        )
        values += results
    for number in draw(st.sets(st.integers(0, len(drawn.storages) - 1), max_size=2)):
        target = BufferOp("output", tensor(drawn.storages[number].size), index=number)
        body.add_op(target)
        stream.body.block.add_op(CopyTaskOp(drawn.storages[number].op.tensor, target.tensor))
        drawn.storages[number].last = count
    body.add_op(stream)
    return drawn


def rounded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


@pytest.mark.parametrize("in_place", [False, True])
@settings(max_examples=200, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(drawn=programs())
def test_plans(in_place: bool, drawn: Drawn) -> None:
    plan_buffers(drawn.program, ALIGNMENT, in_place)
    drawn.program.verify()
    storages = drawn.storages
    overwrites = 0
    for i, later in enumerate(storages):
        assert later.start % ALIGNMENT == 0
        for j, earlier in enumerate(storages[:i]):
            apart = later.start + later.size <= earlier.start or earlier.start + earlier.size <= later.start
            if apart or earlier.last < later.first:
                continue
            # Only as the result that takes the place of an operand in that operand's last task.
            assert in_place
            assert (later.first, i, j) in drawn.allowed
            assert (earlier.last, earlier.start, earlier.size) == (later.first, later.start, later.size)
            overwrites += 1
    peak, bound = drawn.program.workspace_bytes, drawn.program.lower_bound_bytes
    assert peak is not None and bound is not None
    assert peak.value.data == max(s.start + rounded(s.size) for s in storages)
    assert peak.value.data >= bound.value.data
    live = [sum(rounded(s.size) for s in storages if s.first <= t <= s.last) for t in range(storages[-1].first + 2)]
    # Each overwrite saves at most the one storage that it shares.
    assert bound.value.data == max(live) if not overwrites else bound.value.data <= max(live)


@pytest.mark.parametrize("read", [0, 1])
def test_two_results_do_not_share_the_operand(read: int) -> None:
    program, stream = ProgramOp("p", "Ascend310P3"), StreamOp("s0")
    buffers = [BufferOp("input", tensor(512)), *(BufferOp("workspace", tensor(512)) for _ in range(4))]
    x, a, b, c, d = (buffer.tensor for buffer in buffers)
    info = DictionaryAttr({"in_place": DenseArrayBase.from_list(i64, [0])})
    tasks = [(x, [a]), (a, [b, c]), ([b, c][read], [d])]
    stream.body.block.add_ops([LaunchOp(str(i), "k", [v], out, 1, info) for i, (v, out) in enumerate(tasks)])
    program.body.block.add_ops([*buffers, stream])
    plan_buffers(program, ALIGNMENT)
    assert buffers[2].offset != buffers[3].offset
