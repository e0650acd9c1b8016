"""New models from given ones, by the tools that people run before they deploy: each changes the graph in its own way.

`DERIVATIONS` names them; each takes a ModelProto and gives another one, or None where it has nothing to change. They use
onnx and onnxruntime alone.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any, cast

from corpus_models import bindings, inputs

OPSETS = (11, 13, 17, 21)
"""Opsets that exporters of some age write, to convert to."""


def optimised_by_onnxruntime(level: str) -> Callable[[Any], Any]:
    """What onnxruntime itself runs at a level of graph optimisation: fused and internal operators."""

    def derive(model: Any) -> Any:
        import onnx
        import onnxruntime

        with tempfile.TemporaryDirectory() as folder:
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_ENABLE_{level}")
            options.optimized_model_filepath = f"{folder}/optimised.onnx"
            options.intra_op_num_threads = 1
            options.log_severity_level = 4
            onnxruntime.InferenceSession(
                model.SerializeToString(),
                options,
                providers=["CPUExecutionProvider"],
                disabled_optimizers=["NchwcTransformer"],
            )
            return onnx.load(options.optimized_model_filepath)

    return derive


def fused_for(kind: str) -> Callable[[Any], Any]:
    """Attention, normalisation and activations fused by onnxruntime's tool for transformers; None if it finds none."""

    def derive(model: Any) -> Any:
        from onnxruntime.transformers.fusion_options import FusionOptions
        from onnxruntime.transformers.optimizer import optimize_by_fusion

        optimiser = optimize_by_fusion(model, kind, optimization_options=FusionOptions(kind))
        fused = any(node.domain == "com.microsoft" for node in optimiser.model.graph.node)
        return optimiser.model if fused else None

    return derive


def half(keep_io: bool) -> Callable[[Any], Any]:
    """Weights and activations in fp16, with fp32 inputs and outputs or without."""

    def derive(model: Any) -> Any:
        from onnxruntime.transformers.float16 import convert_float_to_float16

        return convert_float_to_float16(model, keep_io_types=keep_io)

    return derive


def quantised(**options: Any) -> Callable[[Any], Any]:
    """int8 by onnxruntime.quantization, calibrated on seeded inputs where it is static."""

    def derive(model: Any) -> Any:
        import onnx
        from onnxruntime import quantization

        with tempfile.TemporaryDirectory() as folder:
            source, target = f"{folder}/float.onnx", f"{folder}/int8.onnx"
            onnx.save(model, source)
            if not options:
                quantization.quantize_dynamic(source, target)
            else:
                quantization.quantize_static(source, target, cast(Any, _Calibration(model)), **_enums(options))
            return onnx.load(target)

    return derive


class _Calibration:
    """Two seeded inputs."""

    def __init__(self, model: Any) -> None:
        shapes, values, most = bindings(model, {})
        self.feeds = iter([inputs(model, shapes, values, most)] * 2)

    def get_next(self) -> Any:
        return next(self.feeds, None)

    def set_range(self, start_index: int, end_index: int) -> None:
        del start_index, end_index


def _enums(options: dict[str, Any]) -> dict[str, Any]:
    from onnxruntime import quantization

    formats = {"qdq": quantization.QuantFormat.QDQ, "qoperator": quantization.QuantFormat.QOperator}
    types = {
        "i8": quantization.QuantType.QInt8,
        "u8": quantization.QuantType.QUInt8,
        "u16": quantization.QuantType.QUInt16,
    }
    return {
        name: formats.get(value, types.get(value, value)) if isinstance(value, str) else value
        for name, value in options.items()
    }


def four_bits(model: Any) -> Any:
    """Weights of matrix products in blocks of 4 bits: MatMulNBits."""
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    quantiser: Any = MatMulNBitsQuantizer(model, block_size=32, is_symmetric=False)
    quantiser.process()
    found = any(node.op_type == "MatMulNBits" for node in quantiser.model.graph().node)
    return quantiser.model.model if found else None


def in_opset(version: int) -> Callable[[Any], Any]:
    """The same in another opset, by onnx's converter; None if it cannot."""

    def derive(model: Any) -> Any:
        from onnx import version_converter

        if any(entry.version == version for entry in model.opset_import if not entry.domain):
            return None
        return version_converter.convert_version(model, version)

    return derive


def in_functions(model: Any) -> Any:
    """Every run of eight nodes a function of the model's own, as exporters keep modules."""
    import onnx
    from onnx import helper

    nodes = list(model.graph.node)
    if any(a.type == onnx.AttributeProto.GRAPH for node in nodes for a in node.attribute) or len(nodes) < 8:
        return None
    result = onnx.ModelProto()
    result.CopyFrom(model)
    del result.graph.node[:]
    read_at = {output.name: len(nodes) + 8 for output in model.graph.output}
    for index in reversed(range(len(nodes))):
        for name in nodes[index].input:
            read_at.setdefault(name, index)
            read_at[name] = max(read_at[name], index)
    for first in range(0, len(nodes), 8):
        group = nodes[first : first + 8]
        made = [name for node in group for name in node.output if name]
        taken = list(dict.fromkeys(n for node in group for n in node.input if n and n not in made))
        given = [name for name in made if read_at.get(name, -1) >= first + 8]
        function = helper.make_function("local", f"Part{first}", taken, given, group, list(model.opset_import))
        result.functions.append(function)
        result.graph.node.append(helper.make_node(f"Part{first}", taken, given, f"part{first}", domain="local"))
    result.opset_import.append(helper.make_opsetid("local", 1))
    return result


DERIVATIONS: dict[str, Callable[[Any], Any]] = {
    "ort-basic": optimised_by_onnxruntime("BASIC"),
    "ort-extended": optimised_by_onnxruntime("EXTENDED"),
    "ort-all": optimised_by_onnxruntime("ALL"),
    **{
        f"fused-{kind}": fused_for(kind)
        for kind in ("bert", "gpt2", "vit", "clip", "t5", "bart", "unet", "vae", "conformer", "phi", "swin", "sam2")
    },
    "fp16": half(False),
    "fp16-io32": half(True),
    "int8-dynamic": quantised(),
    "qdq": quantised(quant_format="qdq", activation_type="u8", weight_type="i8", per_channel=True),
    "qdq-u16": quantised(
        quant_format="qdq", activation_type="u16", weight_type="i8", extra_options={"UseQDQContribOps": True}
    ),
    "qoperator": quantised(quant_format="qoperator", activation_type="u8", weight_type="u8"),
    "int4": four_bits,
    **{f"opset{version}": in_opset(version) for version in OPSETS},
    "functions": in_functions,
}
