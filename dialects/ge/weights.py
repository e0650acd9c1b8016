"""Constants that are too large for text: handles to stored tensors, and recipes for derived ones.

    #ge.weight<"conv1.weight", sha256 = "...">                                        a tensor by its content
    #ge.fold<"ge.mul", [#ge.weight<...>, dense<2.0> : tensor<1xf32>], {}, tensor<...>>     how to compute one

A recipe gives the tensor that the reference of its operator computes; `"layout.transdata"` gives the packed tensor
of an encoded type. Recipes are evaluated when someone needs the numbers, and the results are kept only while
someone uses them, so that a large model streams.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
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

from graph_engine.dialects.float_text import print_constant
from graph_engine.dialects.ge.interning import (
    NO_ENCODING,
    array_attr,
    bool_attr,
    element_of_numpy,
    float_attr,
    int_attr,
    ints_attr,
    numpy_dtype,
    shape_of_type,
    string_attr,
    tensor_type,
    valid,
)
from graph_engine.dialects.ge.properties import python_value
from graph_engine.dialects.ge.stores import (
    SafetensorsStore,
    WeightRef,
    digest,
    forget_stores,
    register_store,
    write_store,
)
from graph_engine.errors import GraphEngineError

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = [
    "INLINE_ELEMENTS",
    "STORES",
    "FoldAttr",
    "WeightAttr",
    "WeightRef",
    "attribute_type",
    "clear_materialized",
    "constant_attr",
    "digest",
    "export_store",
    "fold_attr",
    "forget_stores",
    "logical_value",
    "materialize",
    "open_stores",
    "refer_stores",
    "register_store",
    "save_store",
    "weight_names",
    "weights_in",
]

Tensor: TypeAlias = TensorType[Attribute]

INLINE_ELEMENTS = 64
"""Tensors up to this many elements are written out in the text."""
LONG_RECIPE, RECIPE_ELEMENTS = 100, 25
"""A recipe of more operators than this becomes numbers if it has no more than so many for each, as its text is longer."""
STORES = "ge.stores"
"""Module attribute: the store files, relative to the module's own file."""


@irdl_attr_definition
class WeightAttr(Data[WeightRef]):
    """`#ge.weight<"name", sha256 = "...">`: a handle to a stored tensor; the constant's type gives shape and type."""

    name = "ge.weight"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> WeightRef:
        with parser.in_angle_brackets():
            raw = parser.parse_optional_bytes_literal()  # xDSL lexes a string with escaped UTF-8 as bytes
            name = parser.parse_str_literal() if raw is None else raw.decode()
            parser.parse_punctuation(",")
            parser.parse_keyword("sha256")
            parser.parse_punctuation("=")
            sha256 = parser.parse_str_literal()
            if len(sha256) != 64 or not set(sha256) <= set("0123456789abcdef"):
                parser.raise_error("sha256 must be 64 lower-case hexadecimal digits")
        return WeightRef(name, sha256=sha256)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.data.name)
            printer.print_string(f', sha256 = "{self.data.sha256}"')


@irdl_attr_definition
class FoldAttr(ParametrizedAttribute):
    """`#ge.fold<"ge.mul", [operands], {attributes}, type>`: a recipe for a derived tensor.

    Operands are `dense`, `#ge.weight` or `#ge.fold`; attributes are the keywords of the reference function, and
    `result`, the number of the result that counts, where that is not the first.
    """

    name = "ge.fold"

    op: StringAttr
    operands: ArrayAttr[Attribute]
    attributes: DictionaryAttr
    type: Attribute

    def __hash__(self) -> int:
        """Computed once: operands that recipes share would be hashed once for every path to them."""
        known: int | None = self.__dict__.get("hash")
        if known is None:
            known = hash((self.op, self.operands, self.attributes, self.type))
            object.__setattr__(self, "hash", known)
        return known

    def __eq__(self, other: object) -> bool:
        """Equal recipes hold the same operands from then on, so that these are not compared again."""
        if self is other or not isinstance(other, FoldAttr) or hash(self) != hash(other):
            return self is other
        mine = (self.op, self.operands, self.attributes, self.type)
        equal = mine == (other.op, other.operands, other.attributes, other.type)
        if equal:
            object.__setattr__(other, "operands", self.operands)
        return equal

    @property
    def length(self) -> int:
        """How many recipes its text has, those of a shared operand once for each time that it is printed."""
        known: int | None = self.__dict__.get("steps")
        if known is None:
            known = 1 + sum(operand.length for operand in self.operands if isinstance(operand, FoldAttr))
            object.__setattr__(self, "steps", known)
        return known

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
            with printer.in_square_brackets():
                printer.print_list(self.operands, lambda operand: print_constant(operand, printer))
            printer.print_string(", ")
            printer.print_attr_dict(self.attributes.data)
            printer.print_string(", ")
            printer.print_attribute(self.type)


def attribute_type(attribute: Attribute) -> Tensor:
    """The tensor type of a constant's value; a parsed weight is looked up in the stores.

    Raises GraphEngineError if no open store has the weight.
    """
    match attribute:
        case DenseIntOrFPElementsAttr() | FoldAttr():
            return cast(Tensor, attribute.type)
        case WeightAttr():
            return tensor_type(attribute.data.shape, element_of_numpy(attribute.data.dtype))
        case _:
            raise TypeError(f"{attribute} is no tensor constant")


def constant_attr(array: Array, name: str) -> Attribute:
    """The attribute for a tensor: `dense` up to INLINE_ELEMENTS elements, else a handle called `name`.

    The array must not be written to afterwards.
    """
    if array.size > INLINE_ELEMENTS:
        return WeightAttr(WeightRef.of(name, array))
    type_ = tensor_type(array.shape, element_of_numpy(array.dtype))
    return DenseIntOrFPElementsAttr(cast(Any, type_), BytesAttr(array.tobytes()))


def _plain_attr(value: Any) -> Attribute:
    match value:
        case bool():
            return bool_attr(value)
        case int():
            return int_attr(value)
        case float():
            return float_attr(value)
        case str():
            return string_attr(value)
        case list() | tuple() if all(type(item) is int for item in cast(Sequence[Any], value)):
            return ints_attr(cast(Sequence[int], value))
        case list() | tuple():
            return ArrayAttr([_plain_attr(item) for item in cast(Sequence[Any], value)])
        case dict():
            items = cast(dict[str, Any], value).items()
            return DictionaryAttr({key: _plain_attr(item) for key, item in items})
        case _:
            raise TypeError(f"{value!r} cannot be the attribute of a recipe")


_KEYWORDS: dict[str, DictionaryAttr] = {}
"""Attributes of recipes by their text: the layers of a network fold alike."""


def _keywords(attributes: Mapping[str, Any]) -> DictionaryAttr:
    text = repr(attributes)
    found = _KEYWORDS.get(text)
    if found is None:
        found = DictionaryAttr({key: _plain_attr(value) for key, value in attributes.items()})
        if "nan" not in text:  # which does not tell the bits of a NaN
            _KEYWORDS[text] = found
    return found


def fold_attr(
    op: str, operands: Sequence[Attribute], attributes: Mapping[str, Any], result_type: Tensor, result: int = 0
) -> Attribute:
    """The constant that operator `op` gives on constant operands: a recipe, or at once the numbers if these are shorter.

    `attributes` are plain values, the keywords of the reference function; `result` is the number of the result.
    """
    if result:
        attributes = {**attributes, "result": result}
    recipe = valid(
        FoldAttr,
        op=string_attr(op),
        operands=array_attr(operands),
        attributes=_keywords(attributes),
        type=result_type,
    )
    longest = recipe.length * RECIPE_ELEMENTS if recipe.length > LONG_RECIPE else INLINE_ELEMENTS
    if result_type.encoding != NO_ENCODING or prod(shape_of_type(result_type)) > longest:
        return recipe
    return constant_attr(materialize(recipe, result_type), op)


_materialized: weakref.WeakValueDictionary[FoldAttr, Array] = weakref.WeakValueDictionary()


def clear_materialized() -> None:
    """Forgets the results of recipes that someone still uses."""
    _materialized.clear()


def materialize(attribute: Attribute, type: Tensor | None = None) -> Array:
    """The numbers of a constant as stored: row-major for a plain type, the physical array for an encoded one.

    Read-only by agreement. Raises GraphEngineError if a store lacks a weight or the numbers do not fit `type`.
    """
    import numpy as np

    held = attribute_type(attribute)
    match attribute:
        case FoldAttr():
            array = _materialized.get(attribute)
            if array is None:
                array = _materialized[attribute] = _evaluate(attribute).view()
                array.flags.writeable = False
        case WeightAttr():
            array = attribute.data.load()
        case DenseIntOrFPElementsAttr():
            array = np.frombuffer(attribute.data.data, numpy_dtype(held.element_type)).reshape(held.get_shape())
        case _:
            raise TypeError(f"{attribute} is no tensor constant")
    if type is None or type == held:
        return array
    if held.encoding == NO_ENCODING and (held.shape, held.element_type) == (type.shape, type.element_type):
        from graph_engine.dialects import layout

        return layout.pack(array, type)
    raise GraphEngineError(f"{_title(attribute)} is {held}, not {type}")


def logical_value(attribute: Attribute, type: Tensor | None = None) -> Array:
    """The numbers of a constant (of `type`, if given) in its logical shape, unpacked if its type is encoded."""
    held = type or attribute_type(attribute)
    array = materialize(attribute, held)
    if held.encoding == NO_ENCODING:
        return array
    from graph_engine.dialects import layout

    return layout.unpack(array, held)


def _evaluate(recipe: FoldAttr) -> Array:
    from graph_engine.dialects.ge.reference import FUNCTIONS, evaluate

    op, type_ = recipe.op.data, cast(Tensor, recipe.type)
    inputs = [logical_value(operand) for operand in recipe.operands]
    dtype = numpy_dtype(type_.element_type)
    if op == "layout.transdata":
        from graph_engine.dialects import layout
        from graph_engine.dialects.ge.reference.rounding import narrow

        return layout.pack(narrow(inputs[0], dtype), type_)
    if op not in FUNCTIONS:
        raise GraphEngineError(f"{_title(recipe)}: '{op}' has no numpy reference")
    attributes = python_value(recipe.attributes)
    number = attributes.pop("result", 0)
    result: Array = evaluate(op, inputs, attributes)[number]
    if result.shape != type_.get_shape() or result.dtype != dtype:
        raise GraphEngineError(f"{_title(recipe)} gives {result.dtype} {list(result.shape)}, declared is {type_}")
    return result


def weights_in(attribute: Attribute) -> Iterator[WeightRef]:
    """The stored tensors that a constant's value is made of, those of a shared operand once."""
    seen: set[int] = set()
    waiting = [attribute]
    while waiting:
        part = waiting.pop()
        if isinstance(part, WeightAttr):
            yield part.data
        elif isinstance(part, FoldAttr) and id(part) not in seen:
            seen.add(id(part))
            waiting += reversed(part.operands.data)


def weight_names(attribute: Attribute) -> list[str]:
    """The names of the stored tensors that a constant's value is made of, in order, each once."""
    return list(dict.fromkeys(reference.name for reference in weights_in(attribute)))


def _title(attribute: Attribute) -> str:
    names = ", ".join(f"'{name}'" for name in weight_names(attribute)) or "the constant"
    return f"recipe {attribute.op.data} of {names}" if isinstance(attribute, FoldAttr) else f"weight {names}"


def _module_weights(module: ModuleOp) -> dict[str, WeightRef]:
    found: dict[str, WeightRef] = {}
    seen: set[int] = set()
    for op in module.walk():
        value = op.properties.get("value")
        for reference in weights_in(value) if value is not None else ():
            if id(reference) not in seen:
                seen.add(id(reference))
                found.setdefault(reference.sha256, reference)
    return found


def open_stores(module: ModuleOp, base_dir: str | Path) -> None:
    """Registers the stores that the module names, relative to `base_dir`, the folder of its file.

    Raises GraphEngineError if one is missing.
    """
    names = module.attributes.get(STORES)
    if isinstance(names, ArrayAttr):
        for name in cast(ArrayAttr[Attribute], names):
            if isinstance(name, StringAttr):
                register_store(Path(base_dir) / name.data)


def refer_stores(module: ModuleOp, base_dir: str | Path) -> list[WeightRef]:
    """Sets the module's store names, relative to `base_dir`, to the files that hold its weights.

    Returns the weights that no file holds: text alone would lose them.
    """
    weights = _module_weights(module).values()
    origins = dict.fromkeys(reference.origin for reference in weights)
    names = [os.path.relpath(origin, Path(base_dir).resolve()) for origin in origins if origin is not None]
    if names:
        module.attributes[STORES] = ArrayAttr([StringAttr(Path(name).as_posix()) for name in names])
    else:
        module.attributes.pop(STORES, None)
    return [reference for reference in weights if reference.origin is None]


def save_store(module: ModuleOp, path: str | Path) -> int:
    """Writes the weights that no store holds yet to the `.safetensors` file `path` and renews the module's store names.

    Names are relative to the folder of `path`, where the module's text is expected. If the module already uses the
    store at `path`, its tensors stay in it. Returns how many tensors are new; nothing is written for none.
    """
    path = Path(path).resolve()
    weights = _module_weights(module)
    new = {key: reference for key, reference in weights.items() if reference.origin is None}
    if new:
        kept: dict[str, WeightRef] = {}
        if any(reference.origin == path for reference in weights.values()):
            kept = {reference.sha256: reference for reference in SafetensorsStore(path).references()}
        write_store(path, kept | new)
        register_store(path)
        for reference in new.values():
            reference.moved_to(path)
    refer_stores(module, path.parent)
    return len(new)


def export_store(module: ModuleOp, path: str | Path) -> None:
    """Writes all weights of the module to the `.safetensors` file `path`, those too that other files hold.

    The module names that store alone afterwards; its handles stay bound to the files they came from. Without a weight
    nothing is written.
    """
    path = Path(path).resolve()
    module.attributes.pop(STORES, None)
    if weights := _module_weights(module):
        write_store(path, weights)
        module.attributes[STORES] = ArrayAttr([StringAttr(path.name)])
