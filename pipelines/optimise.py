"""What ge-opt does behind its command line: read, run passes, write, and report errors where they stand."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import sys
import traceback
import typing
from collections.abc import Mapping, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from graph_engine.errors import GraphEngineError
from graph_engine.pipelines import debug_options, registry
from graph_engine.pipelines.command_line import chosen_soc, precision_options
from graph_engine.pipelines.compile import check_default_options, default_steps, mark_phase, open_stores_of
from graph_engine.pipelines.context import make_context
from graph_engine.pipelines.default import Phase
from graph_engine.pipelines.expected import expectations, mismatches
from graph_engine.pipelines.fusion_switch import write_fusion_result
from graph_engine.pipelines.output import write_modules
from graph_engine.pipelines.remark_report import RemarkReport
from graph_engine.pipelines.reproducer import recorded_pipeline
from graph_engine.pipelines.runner import PassFailed, RunReport, Step, print_warnings, run_steps
from graph_engine.pipelines.source import Chunk, Diagnostic, SourceError, one_line, parse, read_text, split
from graph_engine.pipelines.spec import PassSpec, parse_options
from graph_engine.pipelines.verification import InvalidOperation, verify
from graph_engine.transforms.remarks import Remark

DEFAULT_PIPELINE = "default-pipeline"
"""Stands in a list of passes for the whole default pipeline."""


def optimise(options: argparse.Namespace) -> int:
    """Run the passes of a parsed ge-opt command line; returns the exit code."""
    if options.bisect is not None:
        if options.fusion_switch_file is not None:
            raise GraphEngineError("--bisect tries every pass as it is: --fusion-switch-file does not go with it")
        from graph_engine.pipelines.bisect import BisectOptions, bisect_model

        return bisect_model(options, BisectOptions.of(parse_options(options.bisect, "--bisect")))
    specs = chosen_passes(options)
    until = Phase.named(options.compile_to) if options.compile_to else Phase.TASKS
    report = RemarkReport(options.remarks, options.remarks_filter)
    run_options = debug_options.run_options(
        options,
        verify_each=options.verify_each or options.run_reproducer,
        print_after_all=options.print_ir_after_all,
        print_after_change=options.print_ir_after_change,
        timing=options.timing,
        remarks=report.kinds(),
    )

    file, text = read_text(options.input)
    chunks = split(file, text, options.split_input_file)
    expecting = options.verify_diagnostics and any(expectations(chunk) for chunk in chunks)
    context = make_context()
    results: list[ModuleOp | str] = []
    remarks: list[Remark] = []
    reports: list[RunReport] = []
    failed = False
    for chunk in chunks:
        reported: list[Diagnostic] = []
        try:
            module = read(context, chunk, options.input)
            steps, marks = expand(specs, module, until)
            done = run_steps(context, module, steps, run_options)
            print_warnings(done)
            remarks += done.remarks
            reports.append(done)
            if marks:
                mark_phase(module, until)
            results.append(module)
        except SourceError as error:
            reported = [error.diagnostic]
        except PassFailed as error:
            if options.debug:
                traceback.print_exception(error)
            where = chunk.locate(error.invalid.op, str(error)) if error.invalid else chunk.place(0, str(error))
            reported = [dataclasses.replace(where, message=one_line(where.message))]
        if expecting:
            reported = mismatches(chunk, reported)
        elif options.verify_diagnostics:  # nothing is stated in the input: the errors are the output
            results += [f"{diagnostic}\n" for diagnostic in reported]
            reported = []
        failed |= bool(reported)
        for diagnostic in reported:
            print(diagnostic, file=sys.stderr)
    report.write(remarks)
    write_fusion_result(options.fusion_result, reports)
    if failed:
        return 1
    write_modules(results, options.output, generic=options.print_op_generic, locations=not options.no_locations)
    return 0


def chosen_passes(options: argparse.Namespace) -> list[PassSpec]:
    """The passes of a command line. Raises GraphEngineError for a wrong pass or option, before anything is read."""
    specs: list[PassSpec] = options.passes or []
    if getattr(options, "run_reproducer", False):
        if specs or options.compile_to:
            raise GraphEngineError("--run-reproducer runs the passes that the file names: it goes with no others")
        specs = recorded_pipeline(read_text(options.input)[1], options.input)
    if options.compile_to and not any(spec.name == DEFAULT_PIPELINE for spec in specs):
        specs = [*specs, PassSpec(DEFAULT_PIPELINE, {}, "--compile-to")]
    soc = chosen_soc(options)
    specs = with_options(specs, precision_options(options) | ({"soc": soc} if soc else {}))
    for spec in specs:
        if spec.name == DEFAULT_PIPELINE:
            check_default_options(spec.options)
        else:
            registry.instantiate(spec)
    return specs


def with_options(specs: Sequence[PassSpec], options: Mapping[str, str]) -> list[PassSpec]:
    """Hand options that were given as flags to the default pipeline. Raises GraphEngineError if none is among `specs`."""
    if options and not any(spec.name == DEFAULT_PIPELINE for spec in specs):
        flag = next(iter(options)).replace("_", "-").replace("soc", "soc-version")
        raise GraphEngineError(f"--{flag} is for the default pipeline: add --default-pipeline or --compile-to")
    return [
        dataclasses.replace(spec, options={**options, **spec.options}) if spec.name == DEFAULT_PIPELINE else spec
        for spec in specs
    ]


def read(context: Context, chunk: Chunk, path: str) -> ModuleOp:
    """Parse and verify a chunk and open its weight stores. Raises SourceError."""
    module = parse(context, chunk)
    try:
        verify(module)
    except InvalidOperation as error:
        raise SourceError(chunk.locate(error.op, str(error))) from None
    open_stores_of(module, path)
    return module


def expand(specs: Sequence[PassSpec], module: ModuleOp, until: Phase) -> tuple[list[Step], bool]:
    """The passes to run on `module`, and whether the default pipeline is among them."""
    steps: list[Step] = []
    for spec in specs:
        if spec.name == DEFAULT_PIPELINE:
            steps += default_steps(spec.options, module, until)
        else:
            steps.append(Step(registry.instantiate(spec)))
    return steps, any(spec.name == DEFAULT_PIPELINE for spec in specs)


def describe_pass(name: str) -> str:
    """A pass's description and its options with type, default and meaning, for --help-pass."""
    pass_class = registry.load_pass(name)
    module = inspect.getmodule(pass_class)
    own = (
        inspect.getdoc(pass_class)
        if pass_class.__doc__ and not pass_class.__doc__.startswith(pass_class.__name__)
        else ""
    )
    summary = registry.help_line(name)
    lines = [f"--{name}: {summary}"]
    for text in ((inspect.getdoc(module) or "").partition("\n")[2], (own or "").removeprefix(summary)):
        lines += ["", text.strip("\n")] if text.strip() else []
    fields = [f for f in dataclasses.fields(pass_class) if f.init and f.name != "name"]
    lines += ["", "options:" if fields else "options: none"]
    kinds = typing.get_type_hints(pass_class)
    for option in fields:
        kind = kinds[option.name]
        shown = kind.__name__ if isinstance(kind, type) else str(kind).replace("typing.", "")
        default = "" if option.default is dataclasses.MISSING else f" = {option.default}"
        lines.append(f"  {option.name}: {shown}{default}")
        if option.metadata.get("help"):
            lines.append(f"      {option.metadata['help']}")
    patterns = getattr(module, "PATTERNS", ())
    lines += ["", "patterns:"] if patterns else []
    lines += [line for p in patterns for line in (f"  {p.name}", f"      {(inspect.getdoc(p) or '').splitlines()[0]}")]
    return "\n".join(lines)
