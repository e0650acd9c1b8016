"""One run of ge-run behind its checked flags: load or compile, feed, run, report."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph_engine.errors import GraphEngineError
from graph_engine.pipelines.command_line import chosen_soc, precision_options
from graph_engine.pipelines.debug_options import given_flags, run_options
from graph_engine.target_ascend.om.atomic_write import write_atomically
from graph_engine.target_ascend.om.container import is_om, load
from graph_engine.target_ascend.runtime.device import RunResult, find_entry, run
from graph_engine.target_ascend.runtime.tensor_files import Array, Port, fill_inputs, read_inputs, write_outputs

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from graph_engine.target_ascend.om.program import Program

DEFAULT_SOC = "Ascend310P3"


def run_session(options: Namespace) -> int:
    """Runs the model as the flags say; the exit code is 1 if checking found something."""
    if options.engine == "reference":
        result, names = _run_reference(options)
    else:
        pipeline = precision_options(options)
        program = load_program(
            options.model,
            chosen_soc(options),
            options.input_shape,
            options.bind_input,
            pipeline,
            options,
            weights=options.mode != "timing",
        )
        if options.what_if is not None or options.sensitivity:
            return _answer(options, program, pipeline)
        point = find_entry(program)
        inputs = (
            []
            if options.mode == "timing" and not options.input
            else _inputs(options, [Port.of(t) for t in point.inputs])
        )
        result = run(
            program,
            inputs,
            mode=options.mode,
            check=options.check,
            real_bytes=options.real_bytes,
            timeline=options.trace is not None,
            accounts=options.profile or options.profile_json is not None,
        )
        names = [tensor.name for tensor in point.outputs]
    _report_outputs(options, result.outputs, names)
    _report_profile(options, result)
    for finding in result.findings:
        print(f"check: {finding}", file=sys.stderr)
    if options.check:
        print(f"check: {len(result.findings) or 'no'} findings", file=sys.stderr)
    return 1 if result.findings else 0


def _answer(options: Namespace, program: Program, pipeline: Mapping[str, str]) -> int:
    from graph_engine.pipelines.what_if import Questions, sensitivity_text, what_if_text

    def compile_for(chip: str) -> Program:
        return load_program(options.model, chip, options.input_shape, options.bind_input, pipeline, options, warn=False)

    questions = Questions(program, None if options.model.endswith(".om") else compile_for)
    if options.what_if is not None:
        print(what_if_text(questions, options.what_if), end="")
    if options.sensitivity:
        print(sensitivity_text(questions), end="")
    return 0


def load_program(
    path: str,
    soc: str | None,
    input_shape: str | None,
    bind_input: Sequence[str] = (),
    pipeline: Mapping[str, str] | None = None,
    debug: Namespace | None = None,
    *,
    warn: bool = True,
    weights: bool = True,
) -> Program:
    """The program in an OM file, or the one that an .onnx or .mlir compiles to with the default pipeline.

    `pipeline` are further options of the pipeline: precision modes. `debug` holds the flags that say how to run passes.
    `warn`: tell the warnings of passes and write remarks. `weights`: check the weights of an OM, which times do not need.
    """
    if is_om(_head(path)) or path.endswith(".om"):
        if input_shape:
            raise GraphEngineError("--input-shape is for .onnx models; the shapes of an OM are compiled in")
        if bind_input:
            raise GraphEngineError("--bind-input is for .onnx models; the inputs of an OM are compiled in")
        if pipeline:
            flag = next(iter(pipeline)).replace("_", "-")
            raise GraphEngineError(f"--{flag} is for .onnx and .mlir models; the precision of an OM is compiled in")
        for flag in given_flags(debug) if debug is not None else ():
            raise GraphEngineError(f"{flag} is for .onnx and .mlir models: no pass runs on an OM")
        program = load(path, verify=weights)
        if soc not in (None, program.soc):
            raise GraphEngineError(f"{path} is compiled for {program.soc}, not for --soc-version {soc}")
        return program
    module = _import(path, input_shape, bind_input)
    from graph_engine.lowering.emit_program import emit_program
    from graph_engine.pipelines.compile import compile_module
    from graph_engine.pipelines.fusion_switch import write_fusion_result
    from graph_engine.pipelines.remark_report import RemarkReport
    from graph_engine.pipelines.runner import DEFAULT_OPTIONS, print_warnings

    remarks = RemarkReport(debug.remarks, debug.remarks_filter) if debug is not None else RemarkReport()
    how = run_options(debug, remarks=remarks.kinds()) if debug is not None else DEFAULT_OPTIONS
    report = compile_module(module, soc or DEFAULT_SOC, options=how, pipeline=pipeline)
    if warn:
        print_warnings(report)
        remarks.write(report.remarks)
    if debug is not None:
        write_fusion_result(debug.fusion_result, [report])
    program = emit_program(module, Path(path).stem)
    if soc not in (None, program.soc):
        raise GraphEngineError(f"{path} is lowered for {program.soc}, not for --soc-version {soc}")
    return program


def _head(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(8)
    except OSError as problem:
        raise GraphEngineError(f"cannot read {path}: {problem.strerror}") from problem


def _import(path: str, input_shape: str | None, bind_input: Sequence[str]) -> ModuleOp:
    if Path(path).suffix not in (".onnx", ".mlir"):
        raise GraphEngineError(f"{path}: a model is an .om, .onnx or .mlir file")
    from graph_engine.pipelines.compile import import_model, parse_bindings, parse_input_shapes

    return import_model(path, parse_input_shapes(input_shape or ""), parse_bindings(bind_input))


def _run_reference(options: Namespace) -> tuple[RunResult, list[str]]:
    if is_om(_head(options.model)) or options.model.endswith(".om"):
        raise GraphEngineError(f"{options.model} holds kernels and no graph: --engine reference takes .onnx or .mlir")
    from graph_engine.pipelines.reference import ReferenceGraph

    graph = ReferenceGraph(_import(options.model, options.input_shape, options.bind_input), options.model)
    outputs = graph.run(_inputs(options, graph.inputs))
    return RunResult(outputs), [port.name for port in graph.outputs]


def _inputs(options: Namespace, ports: Sequence[Port]) -> list[Array]:
    if options.input:
        return read_inputs(ports, options.input)
    return fill_inputs(ports, options.fill, options.seed)


def _report_outputs(options: Namespace, outputs: Sequence[Array], names: Sequence[str]) -> None:
    if options.mode == "timing":
        if options.output:
            print("note: --mode timing computes no values, so no outputs are written", file=sys.stderr)
        return
    paths: list[Any] = [""] * len(outputs)
    if options.output:
        paths = write_outputs(options.output, Path(options.model).stem, outputs, options.outfmt)
    for index, (name, output, path) in enumerate(zip(names, outputs, paths, strict=True)):
        shape = ", ".join(str(dim) for dim in output.shape)
        print(f"output {index} '{name}' {output.dtype}[{shape}]{f' -> {path}' if path else ''}")


def _report_profile(options: Namespace, result: RunResult) -> None:
    profile = result.profile
    if profile is None:
        return
    if options.profile_json:
        _write_text(options.profile_json, profile.to_json())
    if options.profile_csv:
        from graph_engine.target_ascend.profile.op_summary import op_summary

        _write_text(options.profile_csv, op_summary(profile))
    if options.trace:
        from graph_engine.target_ascend.profile.trace import trace_json

        _write_text(options.trace, trace_json(profile))
    if options.profile:
        from graph_engine.target_ascend.profile.summary import summary

        print(summary(profile), end="")
    else:
        print(f"latency {profile.latency_us:.2f} us on {profile.soc} ({profile.validity})")


def _write_text(path: str, text: str) -> None:
    write_atomically(path, lambda file: file.write(text.encode()))
