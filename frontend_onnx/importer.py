"""ONNX models as `ge` graphs.

    module = import_onnx("resnet50.onnx", {"data": (4, 3, 224, 224)})

The graph becomes `func.func @main`; its arguments and results carry their ONNX names as `ge.name`, unknown extents their
symbols as `ge.dims`. Types come from the `ge` operators' own inference. Weights stay where they are (in the ModelProto, or
memory-mapped in an external file) until a pass or tool needs their values. Every operator has the location of its node.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from graph_engine.dialects.ge.core import DYNAMIC
from graph_engine.dialects.ge.interning import string_attr, tensor_type
from graph_engine.dialects.ge.locations import node_location
from graph_engine.dialects.ge.onnx_file import read_model
from graph_engine.dialects.ge.onnx_tensors import ConstantTensor, TensorReader
from graph_engine.errors import GraphEngineError
from graph_engine.frontend_onnx import (
    activation,
    attention,
    constant,
    contrib_attention,
    contrib_fused,
    contrib_quantized,
    control_flow,
    convolution,
    elementwise,
    indexing,
    linear_algebra,
    logic,
    loss,
    matmul,
    normalization,
    padding,
    pooling,
    quantization,
    recurrence,
    reduction,
    repetition,
    runtime_shape,
    sampling,
    selection,
    sequences,
    shape,
    signal,
    unary_math,
)
from graph_engine.frontend_onnx.bindings import bound_inputs
from graph_engine.frontend_onnx.declarations import check_declarations, contradictions, declared_dims
from graph_engine.frontend_onnx.dtypes import element_of_onnx
from graph_engine.frontend_onnx.extents import has_unknown
from graph_engine.frontend_onnx.folding import FOLDS
from graph_engine.frontend_onnx.input_shapes import check_input_shapes
from graph_engine.frontend_onnx.node import Converter, Node, Reported, Unsupported
from graph_engine.frontend_onnx.problems import MALFORMED, SHOWN, Problems, fault, listed, qualified
from graph_engine.frontend_onnx.topology import captures, node_names, order_nodes, reads
from graph_engine.frontend_onnx.unrolling import unroll
from graph_engine.frontend_onnx.values import Values

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

CONVERTERS: dict[str, Converter] = {
    **convolution.CONVERTERS,
    **matmul.CONVERTERS,
    **linear_algebra.CONVERTERS,
    **attention.CONVERTERS,
    **recurrence.CONVERTERS,
    **quantization.CONVERTERS,
    **contrib_quantized.CONVERTERS,
    **contrib_fused.CONVERTERS,
    **contrib_attention.CONVERTERS,
    **normalization.CONVERTERS,
    **elementwise.CONVERTERS,
    **unary_math.CONVERTERS,
    **activation.CONVERTERS,
    **logic.CONVERTERS,
    **repetition.CONVERTERS,
    **pooling.CONVERTERS,
    **reduction.CONVERTERS,
    **loss.CONVERTERS,
    **shape.CONVERTERS,
    **padding.CONVERTERS,
    **indexing.CONVERTERS,
    **selection.CONVERTERS,
    **sampling.CONVERTERS,
    **runtime_shape.CONVERTERS,
    **signal.CONVERTERS,
    **control_flow.CONVERTERS,
    **sequences.CONVERTERS,
}
"""One converter per ONNX operator; the operators of `constant` and `folding` come before these."""

OLDEST_OPSET = 6


def import_onnx(
    model: str | os.PathLike[str] | ModelProto,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    *,
    base: str | os.PathLike[str] | None = None,
    bindings: Mapping[str, Any] | None = None,
    warn: Callable[[str], None] | None = None,
) -> ModuleOp:
    """The model as a module with one function `@main`.

    `input_shapes` replaces declared shapes (-1 = unknown extent). `base` is the folder of external data files, by default
    the model file's. `bindings` fixes model inputs to values: they become constants. `warn` is told of every declared shape
    that the graph overrules, with the node's name. Raises GraphEngineError with everything that stands in the way: all
    unsupported operators grouped by type, all missing tensors, a cycle, unusable external data, shapes and values that
    do not fit.
    """
    folder = Path(base) if base is not None else None
    if isinstance(model, (str, os.PathLike)):
        path = Path(model)
        reader = TensorReader(folder or path.parent, path)
        model = read_model(path)
    else:
        reader = TensorReader(folder)
    check_declarations(model.graph)
    if model.functions:
        model = _without_functions(model)
    return _Import(model.graph, _opset(model), reader, dict(input_shapes or {}), dict(bindings or {})).run(warn)


def _without_functions(model: ModelProto) -> ModelProto:
    """The model with the bodies of its own functions in place of the nodes that call them."""
    from onnx.inliner import inline_local_functions

    try:
        return inline_local_functions(model)
    except (RuntimeError, ValueError, UnicodeDecodeError) as error:
        names = ", ".join(f"'{function.name}'" for function in model.functions[:SHOWN])
        raise GraphEngineError(f"the model's functions {names} cannot be inlined: {error}") from None


def _opset(model: ModelProto) -> int:
    from onnx.defs import onnx_opset_version

    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    version = max(versions, default=onnx_opset_version())  # of a model of custom operators alone, which are reported
    if not OLDEST_OPSET <= version <= onnx_opset_version():
        raise GraphEngineError(f"opset {version} is not supported; opsets {OLDEST_OPSET} to {onnx_opset_version()} are")
    return version


class _Import:
    """One run: checks the graph as a whole, then converts node by node in order."""

    def __init__(
        self,
        graph: GraphProto,
        opset: int,
        reader: TensorReader,
        input_shapes: dict[str, Sequence[int]],
        bindings: dict[str, Any],
    ) -> None:
        self.graph = graph
        self.opset = opset
        self.reader = reader
        self.input_shapes = input_shapes
        self.bindings = bindings
        self.problems = Problems()
        self.poisoned: set[str] = set()
        """Outputs of nodes that could not be converted: their users are not looked at."""

    def run(self, warn: Callable[[str], None] | None) -> ModuleOp:
        graph = self.graph
        if graph.sparse_initializer:
            names = ", ".join(f"'{s.values.name}'" for s in graph.sparse_initializer)
            raise GraphEngineError(f"sparse initialisers are not supported: {names}")
        constants = self.constants(graph) | bound_inputs(self.bindings, graph.input)
        candidates = [value for value in graph.input if value.name not in constants]
        inputs = self._usable(candidates)
        outputs = [value.name for value in graph.output]
        block, arguments = self._arguments(inputs, candidates)

        nodes = self._ordered(graph, [*constants, *self.poisoned, *(value.name for value in inputs)])
        used = set(outputs).union(*(reads(node) for node, _ in nodes))

        values = Values(block, constants, used)
        for argument, value, entry in zip(block.args, inputs, arguments, strict=True):
            values.bind(value.name, argument)
            if isinstance(symbols := entry.data.get("ge.dims"), ArrayAttr):
                names = [symbol.data if isinstance(symbol, StringAttr) else "" for symbol in symbols]
                values.extents.state(argument, [values.extents.symbol(name) for name in names])
        for proto, name in nodes:
            self._convert(proto, name, values)
        results = self._results(outputs, values)
        self.problems.check()
        self._compare(nodes, values, warn)
        return _module(block, arguments, outputs, results)

    def _compare(
        self, nodes: Sequence[tuple[NodeProto, str]], values: Values, warn: Callable[[str], None] | None
    ) -> None:
        """Refuses contradicting types; tells of stale shapes, unless the user's input shapes make them stale."""
        types, shapes = contradictions(self.graph, nodes, values.made())
        if types:
            raise GraphEngineError(listed("declared types contradict the graph:", types))
        fixed = {value.name: declared_dims(value) for value in self.graph.input if value.name in self.input_shapes}
        reshaped = any(
            d not in (DYNAMIC, given)
            for name, dims in fixed.items()
            for (d, _), given in zip(dims or [], self.input_shapes[name], strict=False)
        )
        if warn is not None and not reshaped:
            for line in shapes[:SHOWN]:
                warn(line)
            if len(shapes) > SHOWN:
                warn(f"{len(shapes) - SHOWN} more declared shapes are stale")

    @staticmethod
    def _ordered(graph: GraphProto, available: Sequence[str]) -> list[tuple[NodeProto, str]]:
        """The live nodes and their names, each behind what it reads."""
        names = node_names(graph.node)
        outputs = [value.name for value in graph.output]
        return [(graph.node[i], names[i]) for i in order_nodes(graph.node, names, available, outputs)]

    def tensor(self, proto: TensorProto, name: str) -> ConstantTensor:
        """A tensor of an attribute, called `name`."""
        return self.reader.read(proto, name)

    def constants(self, graph: GraphProto) -> dict[str, ConstantTensor]:
        """The initialisers of the graph or of a body. Raises GraphEngineError with every unusable one."""
        found: dict[str, ConstantTensor] = {}
        problems: dict[str, list[str]] = {}
        for proto in graph.initializer:
            title = f"tensor '{proto.name}'"
            try:
                found[proto.name] = self.reader.read(proto)
            except GraphEngineError as error:
                problems.setdefault(str(error).removeprefix(title), []).append(title)
        if problems:  # of tensors with one reason, such as a missing file, the first is named
            lines = [f"{of[0]}{f' and {len(of) - 1} more' if of[1:] else ''}{why}" for why, of in problems.items()]
            raise GraphEngineError(listed("initialisers cannot be used:", lines))
        return found

    def convert(self, graph: GraphProto, values: Values) -> None:
        """Converts the nodes of a body. Raises Reported if some of them cannot be."""
        before = self.problems.count
        own = [*(tensor.name for tensor in graph.initializer), *(value.name for value in graph.input)]
        for proto, name in self._ordered(graph, own + captures(graph)):
            self._convert(proto, name, values)
        if self.problems.count > before:
            raise Reported

    def _usable(self, inputs: Sequence[ValueInfoProto]) -> list[ValueInfoProto]:
        """The inputs that are tensors of numbers; the others are reported with everything else."""
        usable: list[ValueInfoProto] = []
        for value in inputs:
            kind = value.type.WhichOneof("value")
            if kind == "tensor_type" and element_of_onnx(value.type.tensor_type.elem_type) is not None:
                usable.append(value)
                continue
            what = {"sequence_type": "is a sequence", "optional_type": "is optional", "map_type": "is a map"}
            default = "holds strings" if kind == "tensor_type" else f"is a {kind or 'value without type'}"
            self.problems.inputs.append(f"input '{value.name}' {what.get(kind or '', default)}")
            self.poisoned.add(value.name)
        return usable

    def _arguments(
        self, inputs: Sequence[ValueInfoProto], candidates: Sequence[ValueInfoProto]
    ) -> tuple[Block, list[DictionaryAttr]]:
        """The entry block and the attributes of its arguments; `candidates` are all inputs that can have a shape."""
        declared = {value.name: declared_dims(value) for value in candidates}
        check_input_shapes(
            self.input_shapes, {name: None if dims is None else [d for d, _ in dims] for name, dims in declared.items()}
        )
        types: list[Attribute] = []
        attributes: list[DictionaryAttr] = []
        problems: list[str] = []
        for value in inputs:
            dims = declared[value.name]
            if value.name in self.input_shapes:
                symbols = [symbol for _, symbol in dims] if dims is not None else []
                given = self.input_shapes[value.name]
                dims = [(d, symbols[i] if symbols else "") for i, d in enumerate(given)]
            element = element_of_onnx(value.type.tensor_type.elem_type)
            assert element is not None
            if dims is None:
                problems.append(f"input '{value.name}' is declared without a shape; give one")
            else:
                types.append(tensor_type([d for d, _ in dims], element))
                entry: dict[str, Attribute] = {"ge.name": StringAttr(value.name)}
                if any(d == DYNAMIC for d, _ in dims):
                    entry["ge.dims"] = ArrayAttr([string_attr(s if d == DYNAMIC else "") for d, s in dims])
                attributes.append(DictionaryAttr(entry))
        if problems:
            raise GraphEngineError("\n".join(problems))
        return Block(arg_types=types), attributes

    def _convert(self, proto: NodeProto, name: str, values: Values) -> None:
        if self.poisoned and not self.poisoned.isdisjoint(reads(proto)):
            self.poisoned.update(proto.output)
            if not self._has_form(proto):
                self.problems.add(qualified(proto), "", name)
            elif CONVERTERS.get(qualified(proto)) is repetition.random:  # refused whatever it reads
                self.problems.add(qualified(proto), repetition.RANDOM, name)
            return
        location = node_location(name, proto.op_type, [o for o in proto.output if o])
        node = Node(proto, name, self.opset, location, values, self)
        try:
            if self._known_now(node, values):
                return
            converter = CONVERTERS.get(qualified(proto))
            if converter is None:
                raise Unsupported("its inputs are not constant" if self._has_form(proto) else "")
            made = converter(node)
            results = [made] if isinstance(made, SSAValue) else made
            for output, result in zip(
                proto.output, results, strict=False
            ):  # optional outputs may be missing on both sides
                if output and result is not None:
                    values.bind(output, result)
        except Reported:
            self.poisoned.update(proto.output)
        except Unsupported as reason:
            self.problems.add(qualified(proto), str(reason), name)
            self.poisoned.update(proto.output)
        except VerifyException as error:
            self.problems.invalid.append(f"node '{name}' ({proto.op_type}): {error}")
            self.poisoned.update(proto.output)
        except GraphEngineError as error:
            self.problems.invalid.append(f"node '{name}' ({proto.op_type}): {error}")
            self.poisoned.update(proto.output)
        except MALFORMED as error:
            self.problems.invalid.append(f"node '{name}' ({proto.op_type}): {fault(proto, self.opset, error)}")
            self.poisoned.update(proto.output)

    def _known_now(self, node: Node, values: Values) -> bool:
        """Binds the result of a node that states a constant or belongs to an integer chain."""
        if node.proto.domain not in ("", "ai.onnx"):
            return False
        if node.op_type in ("Shape", "Size"):
            values.bind_folded(node.outputs[0], constant.shape_value(node, values), lambda: _first(node))
        elif node.op_type == "Constant":
            values.bind_constant(constant.constant(node), node.location)
        elif node.op_type == "ConstantOfShape":
            shape_of_it = node.known(0)
            if shape_of_it is None or has_unknown(shape_of_it):
                return False
            values.bind_constant(constant.constant_of_shape(node, shape_of_it), node.location)
        elif node.op_type in sequences.CONVERTERS and node.op_type != "ConcatFromSequence":
            sequences.CONVERTERS[node.op_type](node)
        elif node.op_type in FOLDS and values.foldable([name for name in node.inputs if name]):
            arrays = [node.known(index) for index in range(len(node.inputs))]
            try:
                values.bind_folded(node.outputs[0], FOLDS[node.op_type](node, arrays), lambda: _first(node))
            except Unsupported:
                if not any(array is not None and has_unknown(array) for array in arrays):
                    raise
                return False  # computed at run time
            except (ValueError, IndexError, ZeroDivisionError) as error:
                raise Unsupported(f"its constant inputs do not fit ({error})") from None
        elif node.op_type == "If" and (condition := node.known(0)) is not None:
            control_flow.inline_branch(node, bool(condition.item()))
        else:
            return self._folds(node, values) or unroll(node)
        return True

    @staticmethod
    def _folds(node: Node, values: Values) -> bool:
        """Binds the results of any other node on small known integers, computed by the reference of what it becomes."""
        converter = CONVERTERS.get(node.op_type)
        inputs = reads(node.proto)
        if converter is None or not inputs or not values.foldable(inputs):
            return False
        if any(has_unknown(array) for name in inputs if (array := values.known(name)) is not None):
            return False
        arrays = values.fold(lambda: converter(node))
        if arrays is None:
            return False
        for output, array in zip(node.outputs, arrays, strict=False):
            if output and array is not None:
                values.bind_folded(output, array)
        return True

    @staticmethod
    def _has_form(proto: NodeProto) -> bool:
        name = qualified(proto)
        return name in CONVERTERS or name in FOLDS or name in _STATED

    def _results(self, outputs: Sequence[str], values: Values) -> list[SSAValue]:
        results: list[SSAValue] = []
        for name in outputs:
            if name in self.poisoned:
                continue
            try:
                results.append(values.operand(name))
            except Unsupported as reason:
                self.problems.add("graph output", str(reason), name)
        return results


def _first(node: Node) -> SSAValue:
    """What the node becomes in the graph."""
    made = CONVERTERS[node.op_type](node)
    result = made if isinstance(made, SSAValue) else made[0]
    assert result is not None
    return result


_STATED = frozenset({"Constant", "ConstantOfShape", "Shape", "Size"})


def _module(
    block: Block, arguments: Sequence[DictionaryAttr], outputs: Iterable[str], results: Sequence[SSAValue]
) -> ModuleOp:
    block.add_op(ReturnOp(*results))
    function_type = ([arg.type for arg in block.args], [value.type for value in results])
    function = FuncOp(
        "main",
        function_type,
        Region(block),
        arg_attrs=ArrayAttr(arguments),
        res_attrs=ArrayAttr([DictionaryAttr({"ge.name": StringAttr(name)}) for name in outputs]),
    )
    return ModuleOp([function])
