"""Constants that are too large for text: handles, recipes, and the content-addressed stores behind them.

A `#ge.weight<"name", sha256 = "...">` names a tensor by its content; bytes come from the importer's ONNX file or
from `.safetensors` stores whose keys are digests. A `#ge.fold<"ge.mul", [operands], {attributes}, type>` is a recipe:
the tensor that the reference of that operator gives (or `"layout.transdata"`: the packed one). Recipes are evaluated
when someone needs the numbers, and results are held only as long as someone uses them, so that a large model streams.
The digest covers element type, shape and row-major little-endian bytes; it is computed when first printed or saved.
"""

from __future__ import annotations

import hashlib
import json
import os
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from typing_extensions import override
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, Data, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from graph_engine.dialects.ge.interning import (
    NUMPY_NAMES,
    bool_attr,
    element_of_numpy,
    float_attr,
    int_attr,
    ints_attr,
    numpy_dtype,
    string_attr,
    tensor_type,
)
from graph_engine.errors import GraphEngineError

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

Tensor = TensorType[Attribute]

INLINE_ELEMENTS = 64
"""Tensors up to this many elements are written out in the text."""
STORES = "ge.stores"
"""Module attribute: the store files, relative to the module's own file."""


def digest(array: Array) -> str:
    """The content address of a tensor: sha256 over `<dtype>:<extents>:` and the row-major little-endian bytes."""
    import numpy as np

    array = np.ascontiguousarray(array) if array.ndim else array
    hasher = hashlib.sha256(f"{array.dtype}:{','.join(map(str, array.shape))}:".encode())
    hasher.update(array.reshape(-1).view(np.uint8))
    return hasher.hexdigest()


class WeightRef:
    """A tensor by name and content: `dtype` is numpy's name; `loader` gives the array (a view where possible).

    A reference that was parsed knows only `name` and `sha256`; the registered stores know the rest. `origin` is the
    store file that holds the tensor, None if it exists in memory only.
    """

    def __init__(
        self,
        name: str,
        dtype: str = "",
        shape: Sequence[int] = (),
        loader: Callable[[], Array] | None = None,
        *,
        sha256: str = "",
        origin: Path | None = None,
    ):
        self.name = name
        self._dtype = dtype
        self._shape = tuple(shape)
        self._loader = loader
        self._sha256 = sha256
        self._origin = origin

    @staticmethod
    def of(name: str, array: Array) -> WeightRef:
        """A reference to an array in memory, which must not be written to from now on."""
        return WeightRef(name, str(array.dtype), array.shape, lambda: array)

    @property
    def known(self) -> bool:
        """Whether shape and type are known without opening a store."""
        return bool(self._dtype)

    @property
    def sha256(self) -> str:
        """The content address, computed at the first use."""
        if not self._sha256:
            self._sha256 = digest(self.load())
            _in_memory.setdefault(self._sha256, self)
        return self._sha256

    @property
    def dtype(self) -> str:
        """numpy's name of the element type."""
        return self._resolved()._dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The logical shape."""
        return self._resolved()._shape

    @property
    def origin(self) -> Path | None:
        """The store file that holds the tensor, None if there is none yet."""
        return self._resolved()._origin

    def stored_in(self, path: Path) -> None:
        """Notes that the tensor is now kept in the store at `path`."""
        self._resolved()._origin = self._origin = path

    def load(self) -> Array:
        """The tensor, read-only by agreement. Raises GraphEngineError if no open store has it."""
        loader = self._resolved()._loader
        assert loader is not None
        return loader()

    def _resolved(self) -> WeightRef:
        if self._loader is None:
            found = _in_memory.get(self._sha256) or _find_in_stores(self.name, self._sha256)
            self._dtype, self._shape, self._loader, self._origin = (
                found._dtype,
                found._shape,
                found._loader,
                found._origin,
            )
        return self

    @override
    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, WeightRef) and self.name == other.name and self.sha256 == other.sha256

    @override
    def __hash__(self) -> int:
        return hash(self.name)  # not the digest: hashing must not read the tensor

    @override
    def __repr__(self) -> str:
        return f"WeightRef({self.name!r})"


_in_memory: weakref.WeakValueDictionary[str, WeightRef] = weakref.WeakValueDictionary()


@irdl_attr_definition
class WeightAttr(Data[WeightRef]):
    """`#ge.weight<"name", sha256 = "...">`: a handle to a stored tensor."""

    name = "ge.weight"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> WeightRef:
        with parser.in_angle_brackets():
            name = parser.parse_str_literal()
            parser.parse_punctuation(",")
            parser.parse_keyword("sha256")
            parser.parse_punctuation("=")
            sha256 = parser.parse_str_literal()
        return WeightRef(name, sha256=sha256)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.data.name)
            printer.print_string(f', sha256 = "{self.data.sha256}"')


@irdl_attr_definition
class FoldAttr(ParametrizedAttribute):
    """`#ge.fold<"ge.mul", [operands], {attributes}, type>`: a recipe for a derived tensor.

    Operands are `dense`, `#ge.weight` or `#ge.fold`; attributes are the keywords of the reference function.
    """

    name = "ge.fold"

    op: StringAttr
    operands: ArrayAttr[Attribute]
    attributes: DictionaryAttr
    type: Attribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            op = StringAttr(parser.parse_str_literal())
            parser.parse_punctuation(",")
            operands = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_attribute)
            parser.parse_punctuation(",")
            attributes = DictionaryAttr(parser.parse_optional_dictionary_attr_dict())
            parser.parse_punctuation(",")
            result_type = parser.parse_type()
        return (op, ArrayAttr(operands), attributes, result_type)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.op.data)
            printer.print_string(", ")
            printer.print_attribute(self.operands)
            printer.print_string(", ")
            printer.print_attr_dict(self.attributes.data)
            printer.print_string(", ")
            printer.print_attribute(self.type)


def attribute_type(attribute: Attribute) -> Tensor:
    """The tensor type of a constant's value; an unresolved weight is looked up in the stores."""
    match attribute:
        case DenseIntOrFPElementsAttr():
            return cast(Tensor, attribute.type)
        case FoldAttr():
            return cast(Tensor, attribute.type)
        case WeightAttr():
            return tensor_type(attribute.data.shape, element_of_numpy(attribute.data.dtype))
        case _:
            raise TypeError(f"{attribute} is no tensor constant")


def materialize(attribute: Attribute, type: Tensor) -> Array:
    """The numbers of a constant as stored: row-major for a plain type, the physical array for an encoded one."""
    import numpy as np

    if isinstance(attribute, DenseIntOrFPElementsAttr):
        held = attribute_type(attribute)
        return np.frombuffer(attribute.data.data, numpy_dtype(held.element_type)).reshape(held.get_shape())
    if isinstance(attribute, WeightAttr):
        return attribute.data.load()
    raise NotImplementedError
