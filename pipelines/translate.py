"""What ge-translate does behind its command line; text travels by path or pipe, binary files by path."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from graph_engine.errors import GraphEngineError
from graph_engine.pipelines.compile import import_model, parse_bindings, parse_input_shapes, phase_of, read_module
from graph_engine.pipelines.default import Phase
from graph_engine.pipelines.output import write_modules


def onnx_to_mlir(options: argparse.Namespace) -> None:
    """ONNX file -> imported graph as text. Raises GraphEngineError, for unsupported operators with all of them."""
    path = _binary_input(options.input, "an ONNX model")
    if path.endswith((".mlir", ".om")):
        raise GraphEngineError(f"'{path}' is not an ONNX model")
    module = import_model(path, parse_input_shapes(options.input_shape), parse_bindings(options.bind_input))
    if options.output in (None, "-"):
        _leave_weights_in(module, Path(path))
    write_modules([module], options.output, generic=options.print_op_generic, locations=not options.no_locations)


def _leave_weights_in(module: ModuleOp, path: Path) -> None:
    """Text to a pipe has no store of its own: its handles refer to the ONNX file wherever that holds the tensor."""
    from graph_engine.dialects.ge.stores import OnnxStore
    from graph_engine.dialects.ge.weights import refer_stores

    store = OnnxStore(path.resolve())
    for weight in refer_stores(module, Path.cwd()):
        if store.find(weight.name, weight.sha256):
            weight.moved_to(store.path)


def mlir_to_om(options: argparse.Namespace) -> None:
    """Text at phase `tasks` -> OM file; derived weights are computed here at the latest."""
    if options.output in (None, "-"):
        raise GraphEngineError("an OM file is binary: name it with -o")
    _refuse_input_shape(options)
    module = read_module(options.input)
    if (phase := phase_of(module)).index < Phase.TASKS.index:
        raise GraphEngineError(
            f"'{options.input}' is at phase '{phase.title}', an OM file needs 'tasks': "
            "run ge-opt --default-pipeline first"
        )
    from graph_engine.lowering.emit_program import emit_program
    from graph_engine.target_ascend.om.container import save

    save(emit_program(module), options.output)


def om_to_mlir(options: argparse.Namespace) -> None:
    """OM file -> its tasks, kernels and sections as text."""
    path = _binary_input(options.input, "an OM file")
    _refuse_input_shape(options)
    from graph_engine.lowering.import_program import import_program
    from graph_engine.target_ascend.om.container import load

    module = import_program(load(path))
    write_modules([module], options.output, generic=options.print_op_generic, locations=not options.no_locations)


def _binary_input(path: str, what: str) -> str:
    if path == "-":
        raise GraphEngineError(f"{what} is binary: give its path")
    if not os.path.isfile(path):
        raise GraphEngineError(f"cannot read '{path}': no such file")
    return path


def _refuse_input_shape(options: argparse.Namespace) -> None:
    for flag, given in (("--input-shape", options.input_shape), ("--bind-input", options.bind_input)):
        if given:
            raise GraphEngineError(f"{flag} goes with --onnx-to-mlir: later stages have their shapes")
