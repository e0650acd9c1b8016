"""Every ONNX operator of inference models in its forms, imported, simplified, fused and run beside onnxruntime.

    python bench/operator_sweep.py [--operator Resize] [--opset 18] [--seed 0] [--mode runtime] [--forms 20]
                                   [--soc Ascend910B3]

Seeded models of one node: every version of the operator from opset 6 on, and the newest opset; attributes, ranks,
broadcasts, element types and optional operands as `bench/operator_forms` gives them; four times each:

    runtime    all operands are inputs of the graph
    constant   shapes, axes, bounds, weights are initialisers
    folded     all operands are initialisers
    symbolic   as `constant`, and the inputs are declared with unknown extents but for channels or features

onnxruntime, without graph optimisations, judges; a form that it refuses or lacks does not count. With `--soc` what agrees also
runs on the modelled chip, in checking mode. Columns: models judged, those that agree, of them only with inputs bound to
their values, refused, different, crashed; of a chip also those that run by kernels alone. Below, what does not agree as
it is, by reason; with `--details` every model. Exits 1 if a model differs or crashes.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
from onnx import defs, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))

from harness.judge import onnxruntime_outputs
from onnx_backend.cases import Case
from onnx_backend.through import through_chip, through_reference
from operator_forms import layers, movement, pointwise, reductions, windows
from operator_forms.form import Array, Draw, Form, Forms

from graph_engine.errors import GraphEngineError
from graph_engine.frontend_onnx.importer import import_onnx

FORMS: dict[str, Forms] = {
    **pointwise.FORMS, **reductions.FORMS, **movement.FORMS, **windows.FORMS, **layers.FORMS
}  # fmt: skip
MODES = ("runtime", "constant", "folded", "symbolic")
TOLERANCES = {"float16": (4e-3, 4e-3), "float64": (1e-5, 1e-6), "bfloat16": (2e-2, 2e-2)}
"""Relative, and absolute as a part of the output's largest number; fp32 is held to 2e-5 and 5e-6."""


@dataclass
class Verdict:
    """How a model went: agrees, bound (agrees with inputs bound), refused, differs or crashes, and why; on a chip, whether
    no task of it is the AI CPU's."""

    what: str
    operator: str
    opset: int
    mode: str
    form: Form
    why: str = ""
    kernels_alone: bool = False


def opsets(operator: str) -> list[int]:
    """The opsets at which the operator changes, from 6 on, and the newest."""
    schemas = [s for s in defs.get_all_schemas_with_history() if s.name == operator and not s.domain]
    live = [s for s in schemas if not s.deprecated]
    gone = min((s.since_version for s in schemas if s.deprecated), default=defs.onnx_opset_version() + 1)
    versions = {max(6, s.since_version) for s in live} | {gone - 1}
    return sorted(versions)


def model_of(operator: str, form: Form, opset: int, mode: str) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """The model and what is fed to it. An operand `captured:x` is read by bodies alone, as `x`."""
    given = {name: value for name, value in form.inputs.items() if value is not None}
    fixed = set(given) if mode == "folded" else set() if mode == "runtime" else set(form.steering)
    names = [name if value is not None else "" for name, value in form.inputs.items() if ":" not in name]
    attributes = {name: value for name, value in form.attributes.items() if value is not None}
    outputs = [f"y{i}" for i in range(form.outputs)]
    node = helper.make_node(operator, names, outputs, name="node", **attributes)

    def info(name: str, value: Array) -> onnx.ValueInfoProto:
        known = 1 if value.ndim > 3 else value.ndim - 1  # channels or features
        symbols = [extent if i == known else f"d{i}_{extent}" for i, extent in enumerate(value.shape)]
        shape = symbols if mode == "symbolic" and value.ndim > 1 else value.shape
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), shape)

    plain = {name.rpartition(":")[2]: (value, name in fixed) for name, value in given.items()}
    graph = helper.make_graph(
        [node],
        "one",
        [info(name, value) for name, (value, held) in plain.items() if not held],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(value, name) for name, (value, held) in plain.items() if held],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    return model, {name: value for name, (value, held) in plain.items() if not held}


def judge(operator: str, form: Form, opset: int, mode: str, soc: str) -> Verdict | None:
    """The verdict on one model, None if onnxruntime has none; through the chip as well if a `soc` is named."""
    try:
        model, feeds = model_of(operator, form, opset, mode)
        with np.errstate(all="ignore"):
            expected = onnxruntime_outputs(model, feeds)
    except Exception:  # what onnxruntime or the helper raises for forms that do not exist
        return None

    def verdict(what: str, why: str = "", kernels_alone: bool = False) -> Verdict:
        return Verdict(what, operator, opset, mode, form, " ".join(why.split()), kernels_alone)

    floats = [y for y in expected if y.dtype.kind not in "biu"]
    relative, part = TOLERANCES.get(str(floats[0].dtype) if floats else "", (2e-5, 5e-6))
    if "float16" in {str(value.dtype) for value in feeds.values()}:
        relative, part = TOLERANCES["float16"]
    largest = max((np.abs(y[np.isfinite(y)]).max(initial=0) for y in floats), default=0)
    inputs = [feeds[value.name] for value in model.graph.input]
    source = SimpleNamespace(model=model, data_sets=[(inputs, expected)])
    case = Case(operator, "node", relative, max(part * float(largest), 1e-6), source)
    try:
        if soc:
            outcome, runs = through_reference(case, soc)
            through_chip(outcome, runs, soc, check=True)
        else:
            outcome, _ = through_reference(case)
    except GraphEngineError as error:
        return verdict("refused", str(error))
    except AssertionError as error:
        return verdict("differs", str(error))
    except Exception as error:
        return verdict("crashes", f"{type(error).__name__}: {error}")
    kernels_alone = bool(soc) and not (outcome.aicpu or outcome.refused)
    if not outcome.bound:
        return verdict("agrees", kernels_alone=kernels_alone)
    try:
        import_onnx(model)
    except GraphEngineError as error:
        return verdict("bound", str(error), kernels_alone)
    raise AssertionError("what is bound needs it")


def sweep(
    operator: str, seed: int, modes: tuple[str, ...], only: int | None, most: int | None, soc: str
) -> Iterator[Verdict]:
    """The verdicts on one operator, of at most so many forms an opset."""
    for opset in opsets(operator) if only is None else [only]:
        draw = Draw(zlib.crc32(f"{operator} {opset} {seed}".encode()))
        forms = list(FORMS[operator](draw, opset))
        kept = forms if most is None else [form for (form,) in draw.some(most, forms)]
        for form in kept:
            for mode in modes:
                if mode == "constant" and not form.steering:
                    continue
                found = judge(operator, form, opset, mode, soc)
                if found is not None:
                    yield found


REASON = re.compile(r"\d+ nodes? of the model cannot be imported: ")

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "models": ("agrees", "bound", "refused", "differs", "crashes"),
    "agree": ("agrees", "bound"),
    "bound": ("bound",),
    "refused": ("refused",),
    "differ": ("differs",),
    "crash": ("crashes",),
}


def row(name: str, verdicts: list[Verdict], soc: str) -> str:
    """One line of the table."""
    counts = Counter(verdict.what for verdict in verdicts)
    cells = [sum(counts[what] for what in column) for column in COLUMNS.values()]
    return f"{name:<28}" + "".join(
        f"{n:>8}" for n in [*cells, *([sum(v.kernels_alone for v in verdicts)] if soc else [])]
    )


def described(verdict: Verdict) -> str:
    """A model in words."""
    shapes = ", ".join(
        f"{n}: -" if v is None else f"{n}: {v.dtype}{list(v.shape)}" for n, v in verdict.form.inputs.items()
    )
    stated = {n: v for n, v in verdict.form.attributes.items() if v is not None and not isinstance(v, onnx.GraphProto)}
    return f"opset {verdict.opset} {verdict.mode} ({shapes}) {stated}: {verdict.why[:300]}"


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operator", nargs="*", choices=sorted(FORMS), help="only these operators", metavar="OPERATOR")
    parser.add_argument("--opset", type=int, help="only this opset")
    parser.add_argument("--mode", choices=MODES, help="only this mode")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--forms", type=int, help="at most so many forms an operator and opset, chosen by the seed")
    parser.add_argument("--soc", default="", help="also run on this chip, in checking mode")
    parser.add_argument("--details", action="store_true", help="every model that does not agree")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    known = MODES[:2]  # on a chip sizes must be known, and something must be left to run
    modes = (options.mode,) if options.mode else known if options.soc else MODES
    columns = [*COLUMNS, *(["kernels"] if options.soc else [])]
    print(f"{'operator':<28}" + "".join(f"{name:>8}" for name in columns))
    wrong: dict[tuple[str, str, str], list[Verdict]] = defaultdict(list)
    everything: list[Verdict] = []
    for operator in options.operator or sorted(FORMS):
        verdicts = list(sweep(operator, options.seed, modes, options.opset, options.forms, options.soc))
        print(row(operator, verdicts, options.soc), flush=True)
        everything += verdicts
        for verdict in verdicts:
            if verdict.what != "agrees":
                wrong[verdict.operator, verdict.what, REASON.sub("", verdict.why)[:90]].append(verdict)
    print(row("all", everything, options.soc), end="\n\n")
    for (operator, what, why), verdicts in wrong.items():
        modes_ = "/".join(dict.fromkeys(v.mode for v in verdicts))
        print(f"{operator} {what} {len(verdicts)} ({modes_}): {why}")
        for verdict in verdicts if options.details else verdicts[:1]:
            print(f"    {described(verdict)}")
    return int(any(what in ("differs", "crashes") for _, what, _ in wrong))


if __name__ == "__main__":
    sys.exit(main())
