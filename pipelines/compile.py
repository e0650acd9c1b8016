"""From a model file to a module at any phase, in memory: what all tools and the demo call."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr

from graph_engine.errors import GraphEngineError
from graph_engine.pipelines import registry
from graph_engine.pipelines.context import make_context
from graph_engine.pipelines.default import DEFAULT_SOC, OPTIONS, Phase, check_option_names, default_pipeline
from graph_engine.pipelines.runner import DEFAULT_OPTIONS, PHASE_ATTRIBUTE, RunOptions, RunReport, Step, run_steps
from graph_engine.pipelines.source import InvalidOperation, SourceError, parse, read_text, split
from graph_engine.pipelines.verification import verify


def phase_of(module: ModuleOp) -> Phase:
    """How far `module` has come: what its attribute says, or further if it holds kernels or tasks already."""
    attribute = module.attributes.get(PHASE_ATTRIBUTE)
    phase = Phase.named(attribute.data) if isinstance(attribute, StringAttr) else Phase.IMPORTED
    shown = Phase.IMPORTED
    for op in module.ops:
        if op.name == "ascend.task.program":
            buffers = [inner for inner in op.walk() if inner.name == "ascend.task.buffer"]
            shown = Phase.TASKS if all("offset" in buffer.properties for buffer in buffers) else Phase.SCHEDULED
            break
        if op.name == "ascend.kernel":
            shown = Phase.KERNELS
    return max(phase, shown, key=lambda p: p.index)


def check_default_options(options: Mapping[str, str]) -> None:
    """A wrong option, SoC or mode of the default pipeline is told before any work. Raises GraphEngineError."""
    from graph_engine.target_ascend.soc.soc import load_soc
    from graph_engine.transforms.precision_modes import check_precision_options

    check_option_names(options)
    values = OPTIONS | dict(options)
    load_soc(values["soc"])
    check_precision_options(values["precision_mode"], values["modify_mixlist"], values["keep_dtype"])


def default_steps(options: Mapping[str, str], module: ModuleOp, until: Phase = Phase.TASKS) -> list[Step]:
    """The passes of the default pipeline that `module` still needs to reach `until`."""
    specs = default_pipeline(options, after=phase_of(module), until=until)
    return [Step(registry.instantiate(spec), phase) for phase, spec in specs]


def compile_module(
    module: ModuleOp,
    soc: str = DEFAULT_SOC,
    until: Phase = Phase.TASKS,
    *,
    context: Context | None = None,
    options: RunOptions = DEFAULT_OPTIONS,
    pipeline: Mapping[str, str] | None = None,
) -> RunReport:
    """Run the default pipeline on `module` in place up to the end of phase `until`. Raises GraphEngineError.

    `options` say how passes are run, `pipeline` are further options of the default pipeline (`precision_mode`, ...).
    """
    settings = {"soc": soc, **(pipeline or {})}
    check_default_options(settings)
    steps = default_steps(settings, module, until)
    report = run_steps(context or make_context(), module, steps, options)
    if until is Phase.IMPORTED or not steps:
        verify(module)
    mark_phase(module, until)
    return report


def mark_phase(module: ModuleOp, phase: Phase) -> None:
    """Record that `module` has reached `phase`, unless it is further already."""
    module.attributes[PHASE_ATTRIBUTE] = StringAttr(max(phase_of(module), phase, key=lambda p: p.index).title)


def read_module(path: str, context: Context | None = None) -> ModuleOp:
    """Parse and verify one MLIR file (`-` is standard input) and open the weight stores it names."""
    file, text = read_text(path)
    (chunk,) = split(file, text, by_separator=False)
    module = parse(context or make_context(), chunk)
    try:
        verify(module)
    except InvalidOperation as error:
        raise SourceError(chunk.locate(error.op, str(error))) from None
    open_stores_of(module, path)
    return module


def open_stores_of(module: ModuleOp, path: str) -> None:
    """Register the weight stores that `module` names, relative to the file (or, for `-`, the folder) it came from."""
    if "ge.stores" in module.attributes:
        from graph_engine.dialects.ge.weights import open_stores

        open_stores(module, Path(path).parent if path != "-" else Path.cwd())


def import_model(
    path: str,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    bindings: Mapping[str, Any] | None = None,
) -> ModuleOp:
    """A model file as a module: `.onnx` is imported, `.mlir` (at any phase) is parsed. Raises GraphEngineError.

    Warnings of the import and extents of ONNX inputs that stay symbolic are told on standard error.
    """
    if path.endswith(".mlir") or path == "-":
        if input_shapes or bindings:
            what = "input shapes are set" if input_shapes else "inputs are bound"
            raise GraphEngineError(f"{what} when an ONNX model is imported; an .mlir file has its own")
        return read_module(path)
    from graph_engine.frontend_onnx.importer import import_onnx

    shapes = {name: tuple(dims) for name, dims in (input_shapes or {}).items()}
    warnings: list[str] = []
    module = import_onnx(path, shapes or None, bindings=bindings, warn=warnings.append)
    for line in [f"warning: {text}" for text in warnings] + symbolic_inputs(module):
        print(line, file=sys.stderr)
    return module


def symbolic_inputs(module: ModuleOp) -> list[str]:
    """One line on the inputs of `main` that have unknown extents, none if all are known."""
    from graph_engine.dialects.ge.core import DYNAMIC
    from graph_engine.dialects.ge.interning import shape_of_type

    found: list[str] = []
    for function in module.ops:
        attributes = function.properties.get("arg_attrs")
        if not isinstance(attributes, ArrayAttr):
            continue
        for argument, entry in zip(function.regions[0].block.args, attributes, strict=True):
            if not isinstance(entry, DictionaryAttr):
                continue
            name, symbols = entry.data.get("ge.name"), entry.data.get("ge.dims")
            if not isinstance(name, StringAttr) or not isinstance(symbols, ArrayAttr):
                continue
            titles = [symbol.data if isinstance(symbol, StringAttr) else "" for symbol in symbols]
            shape = shape_of_type(argument.type)
            dims = [str(d) if d != DYNAMIC else title or "?" for d, title in zip(shape, titles, strict=True)]
            found.append(f"{name.data}:{','.join(dims)}")
    return [f"note: extents stay symbolic: {'; '.join(found)}; --input-shape fixes them"] if found else []


def parse_input_shapes(text: str) -> dict[str, tuple[int, ...]]:
    """`name:dims;name:dims`, each split at its last colon because names hold colons; dims are `1,3,224,224`."""
    shapes: dict[str, tuple[int, ...]] = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, colon, dims = part.rpartition(":")
        try:
            if not colon or not name:
                raise ValueError
            shape = tuple(int(dim) for dim in dims.split(",")) if dims else ()
        except ValueError:
            raise GraphEngineError(
                f"--input-shape: '{part}' is no name and extents, as in 'data:1,3,224,224'"
            ) from None
        if name in shapes:
            raise GraphEngineError(f"--input-shape: '{name}' is given twice")
        shapes[name] = shape
    return shapes


def parse_bindings(texts: Sequence[str]) -> dict[str, Any]:
    """`name=value` each; a value is a number, a list of numbers (`[1, 3]` or `1,3`), or the path of an .npy file."""
    bindings: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise GraphEngineError(f"--bind-input: '{text}' is not name=value")
        if name in bindings:
            raise GraphEngineError(f"--bind-input: '{name}' is given twice")
        bindings[name] = _bound_value(name, value.strip())
    return bindings


def _bound_value(name: str, value: str) -> Any:
    if value.endswith(".npy"):
        import numpy as np

        try:
            return np.load(value, allow_pickle=False)
        except (OSError, ValueError):
            raise GraphEngineError(f"--bind-input: '{name}': cannot read '{value}'") from None
    import json

    try:
        return json.loads(f"[{value}]" if "," in value and not value.startswith("[") else value)
    except ValueError:
        message = f"'{value}' for '{name}' is no number, no list of numbers and no .npy file"
        raise GraphEngineError(f"--bind-input: {message}") from None
