"""Give back their name to resizes that exporters or the import wrote as reshapes around a repetition.

    %1 = ge.reshape %x {shape = [1, 8, 4, 1, 4, 1]} : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x1x4x1xf32>
    %2 = ge.tile %1 {repeats = [1, 1, 1, 2, 1, 2]} : ... -> tensor<1x8x4x2x4x2xf32>
    %3 = ge.reshape %2 {shape = [1, 8, 8, 8]} : ...
    // becomes
    %3 = ge.resize %x {axes = [2, 3], sizes = [8, 8], coordinates = "asymmetric", nearest = "floor"} : ...

One operator on feature maps, which has a form in NC1HWC0; three on six axes have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from graph_engine.dialects.ge.core import DYNAMIC, shape_of
from graph_engine.dialects.ge.repetition import ExpandOp, TileOp
from graph_engine.dialects.ge.sampling import ResizeOp
from graph_engine.dialects.ge.shape import ReshapeOp
from graph_engine.transforms.driver import CountedRewriter, Pattern, apply_patterns
from graph_engine.transforms.fusion import single_user
from graph_engine.transforms.pass_base import EXACT, GePass


class ResizeOfRepetition(Pattern):
    """reshape(tile(reshape(x))) or with an expand -> resize(x), where every element of some axes is repeated in place."""

    name = "resize-of-repetition"
    root: ClassVar[tuple[type[Operation], ...]] = (ReshapeOp,)

    def rewrite(self, op: ReshapeOp, rewriter: CountedRewriter) -> bool:
        repeated = op.x.owner
        if not isinstance(repeated, TileOp | ExpandOp) or single_user(repeated.result) is not op:
            return False
        first = repeated.x.owner
        if not isinstance(first, ReshapeOp) or len(shape_of(first.x)) != 4 or DYNAMIC in shape_of(first.x):
            return False
        times = repeats_in_place(shape_of(first.x), shape_of(first.result), shape_of(repeated.result))
        if times is None or shape_of(op.result) != tuple(n * t for n, t in zip(shape_of(first.x), times, strict=True)):
            return False
        axes = [axis for axis, n in enumerate(times) if n > 1]
        sizes = [shape_of(op.result)[axis] for axis in axes]
        rewriter.replace(op, ResizeOp(first.x, axes=axes, sizes=sizes, coordinates="asymmetric", nearest="floor"))
        return True


def repeats_in_place(shape: Sequence[int], split: Sequence[int], repeated: Sequence[int]) -> list[int] | None:
    """How often each element of each axis of `shape` comes in a row; None if the axes of `split` are not those of `shape`,
    some followed by one of extent 1 that is repeated."""
    times: list[int] = []
    place = 0
    for extent in shape:
        if place >= len(split) or split[place] != extent or repeated[place] != extent:
            return None
        place += 1
        if place < len(split) and split[place] == 1 and repeated[place] > 1:
            times.append(repeated[place])
            place += 1
        else:
            times.append(1)
    return times if place == len(split) and max(times, default=1) > 1 else None


@dataclass(frozen=True)
class RecogniseUpsampling(GePass):
    """Applies the pattern wherever it matches."""

    name = "recognise-upsampling"

    numerics = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(op, [ResizeOfRepetition()])
