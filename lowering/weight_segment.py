"""The weight segment of a program: its bytes, computed tensor by tensor when someone reads them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from xdsl.ir import Attribute

from graph_engine.dialects.ge.core import Tensor
from graph_engine.dialects.ge.weights import materialize
from graph_engine.dialects.layout import storage_bytes

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.uint8]]


class WeightSegment:
    """Tensors at disjoint places of a segment; a slice of it is a memoryview.

    Whoever reads it piece by piece, as writing an OM file does, has one tensor in memory at a time. Whoever reads it as
    a whole, as running does, has it kept.
    """

    def __init__(self, tensors: Mapping[int, tuple[Attribute, Tensor]]):
        """`tensors`: value and type of every tensor by its offset."""
        self._offsets = sorted(tensors)
        self._tensors = [tensors[offset] for offset in self._offsets]
        ends = [offset + storage_bytes(type_) for offset, (_, type_) in zip(self._offsets, self._tensors, strict=True)]
        self._length = max(ends, default=0)
        self._recent: tuple[int, Array] | None = None
        self._whole: memoryview | None = None

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, key: slice, /) -> memoryview:
        start, stop, _ = key.indices(self._length)
        if self._whole is not None:
            return self._whole[start:stop]
        piece = self._piece(start, max(start, stop))
        if len(piece) == self._length:
            self._whole, self._recent = piece, None
        return piece

    def _piece(self, start: int, stop: int) -> memoryview:
        import numpy as np

        piece = np.zeros(stop - start, np.uint8)
        number = max(0, bisect_right(self._offsets, start) - 1)
        while number < len(self._offsets) and self._offsets[number] < stop:
            offset, stored = self._offsets[number], self._stored(number)
            begin, end = max(start, offset), min(stop, offset + stored.size)
            if begin < end:
                piece[begin - start : end - start] = stored[begin - offset : end - offset]
            number += 1
        return piece.data

    def _stored(self, number: int) -> Array:
        import numpy as np

        if self._recent is None or self._recent[0] != number:
            self._recent = None  # before the next one is there
            array = np.ascontiguousarray(materialize(*self._tensors[number]))
            self._recent = number, array.reshape(-1).view(np.uint8)
        return self._recent[1]
