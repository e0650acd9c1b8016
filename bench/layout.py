"""What conversions of format cost a model under each way to choose formats, in one table.

    python bench/layout.py [FOLDER] [--only PATTERN] [--why]

Without FOLDER the light networks of the onnx wheel are taken; FOLDER holds `*.onnx` or `*.onnx.xz` as for
`bench/model_sweep.py`. Columns: operators before formats are chosen; then for the minimum cut, for GE's heavy-format
spread, and for converting around every heavy operator: TransData tasks and the KB that they move; the lower bound and
whether the minimum cut is proved optimal. The last column is spread / minimum cut in bytes. `--why` lists the reasons of
the minimum cut's TransData. Exits 1 if the minimum cut moves more than the spread.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1] / "test"), str(Path(__file__).parent)]

HEAD = (
    f"{'model':<44}{'ops':>6}{'cut':>6}{'KB':>10}{'spread':>8}{'KB':>10}{'around':>8}{'KB':>10}"
    f"{'bound KB':>10}  {'proof':<8}{'ratio':>6}"
)


def models(folder: Path | None, pattern: str) -> Iterator[tuple[str, Path | None]]:
    """Names of the models, and the files of those that are not light networks."""
    if folder is None:
        from models.light import LIGHT_NAMES

        yield from ((name, None) for name in LIGHT_NAMES if fnmatch.fnmatch(name, pattern))
        return
    for path in sorted(p for p in folder.iterdir() if p.name.endswith((".onnx", ".onnx.xz"))):
        name = path.name.removesuffix(".xz").removesuffix(".onnx")
        if fnmatch.fnmatch(name, pattern):
            yield name, path


def module_of(name: str, path: Path | None) -> Any:
    """The model, imported."""
    from graph_engine.frontend_onnx.importer import import_onnx

    if path is None:
        from models.light import light_model

        return import_onnx(light_model(name))
    from model_sweep import bindings, hints, load

    model = load(path, path.parent)
    shapes, values, _ = bindings(model, hints(path, path.parent))
    free = {name: shape for name, shape in shapes.items() if name not in values}
    return import_onnx(model, free, bindings=values)


def examine(name: str, path: Path | None) -> dict[str, Any]:
    """The row of one model."""
    from graph_engine.pipelines.compile import compile_module
    from graph_engine.pipelines.default import Phase
    from graph_engine.transforms.conversions import conversions
    from graph_engine.transforms.formats import FormatRules
    from graph_engine.transforms.fusion import graphs
    from graph_engine.transforms.layout_assignment import assign_layouts

    module = module_of(name, path)
    compile_module(module, until=Phase.PRECISION)
    rules = FormatRules.for_soc("Ascend310P3")
    row: dict[str, Any] = {"model": name, "ops": sum(len(list(tasks(block))) for block in graphs(module))}
    around = [0, 0]
    bound, cost = 0, 0
    for block in graphs(module):
        forced = {
            op: family
            for op in block.ops
            if rules.can_move(op) and (family := rules.own_family(op)) is not None and rules.has_form(op, family)
        }
        steps = list(conversions(block, forced, rules))
        around[0] += len(steps)
        around[1] += sum(step.bytes for step in steps)
        assignment = assign_layouts(block, rules)
        bound += assignment.lower_bound
        cost += assignment.cost
    row |= {"around": around, "bound": bound, "cost": cost}
    for strategy in ("min-cut", "heavy-spread"):
        row[strategy], row[f"why {strategy}"] = laid_out(module.clone(), strategy)
    return row


def tasks(block: Any) -> Iterator[Any]:
    """Operators that become tasks."""
    return (op for op in block.ops if op.name not in ("ge.constant", "ge.reshape", "func.return"))


def laid_out(module: Any, strategy: str) -> tuple[list[int], list[str]]:
    """Number and bytes of the TransData left, and why each is there."""
    from graph_engine.dialects.layout import TransDataOp
    from graph_engine.pipelines.context import make_context
    from graph_engine.pipelines.default import Phase, default_pipeline
    from graph_engine.pipelines.registry import instantiate
    from graph_engine.pipelines.runner import Step, run_steps
    from graph_engine.transforms.conversions import stored_bytes
    from graph_engine.transforms.formats import tensor
    from graph_engine.transforms.fusion import graphs
    from graph_engine.transforms.remarks import Remark, listening

    specs = [spec for _, spec in default_pipeline({}, after=Phase.PRECISION, until=Phase.LAID_OUT)]
    for spec in specs:
        if spec.name == "propagate-layout":
            spec.options["strategy"] = strategy
    remarks: list[Remark] = []
    with listening(remarks.append):
        run_steps(make_context(), module, [Step(instantiate(spec)) for spec in specs])
    left = [op for block in graphs(module) for op in block.ops if isinstance(op, TransDataOp)]
    moved = sum(stored_bytes(tensor(value)) for op in left for value in (op.x, op.y))
    return [len(left), moved], [str(r.args["reason"]) for r in remarks if r.name == "TransData"]


def line(row: dict[str, Any]) -> str:
    """A row as text."""
    if "error" in row:
        return f"{row['model']:<44}{row['error']}"
    cells = "".join(
        f"{row[key][0]:>{width}}{row[key][1] / 1024:>10.0f}"
        for key, width in (("min-cut", 6), ("heavy-spread", 8), ("around", 8))
    )
    ratio = row["heavy-spread"][1] / row["min-cut"][1] if row["min-cut"][1] else 1.0
    proof = "optimal" if row["cost"] == row["bound"] else f"<={row['cost'] / max(row['bound'], 1):.3f}x"
    return f"{row['model']:<44}{row['ops']:>6}{cells}{row['bound'] / 1024:>10.0f}  {proof:<8}{ratio:>6.2f}"


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--only", default="*", help="pattern of model names")
    parser.add_argument("--why", action="store_true", help="list the reasons of what is left")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    options = parser.parse_args()
    print(HEAD)
    rows: list[dict[str, Any]] = []
    for name, path in models(options.folder, options.only):
        try:
            rows.append(examine(name, path))
        except Exception as error:  # one model that does not import must not end the table
            rows.append({"model": name, "error": f"{type(error).__name__}: {str(error)[:120]}"})
        print(line(rows[-1]), flush=True)
        if options.why and "error" not in rows[-1]:
            for reason, count in Counter(rows[-1]["why min-cut"]).most_common():
                print(f"    {count:>4}  {reason}")
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1))
    good = [row for row in rows if "error" not in row]
    worse = [row["model"] for row in good if row["min-cut"][1] > row["heavy-spread"][1]]
    total = {key: sum(row[key][1] for row in good) for key in ("min-cut", "heavy-spread", "around")}
    if total["min-cut"]:
        print(
            f"\n{len(good)} models: heavy-spread moves {total['heavy-spread'] / total['min-cut']:.3f} x, converting around "
            f"every heavy operator {total['around'] / total['min-cut']:.2f} x the minimum cut's bytes; "
            f"{sum(row['cost'] == row['bound'] for row in good)} proved optimal; worse than heavy-spread: {len(worse)}"
        )
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
