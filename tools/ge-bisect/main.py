"""ge-bisect: find the pass and the rewrite that make a model wrong, and a small graph that shows it."""

from __future__ import annotations

from collections.abc import Sequence

from graph_engine.pipelines.command_line import (
    BIND_INPUT_HELP,
    OneLineParser,
    add_pass_options,
    add_precision_options,
    add_soc_options,
    collect_pass_flags,
    default_values,
    one_line_main,
    pass_help,
    use_one_blas_thread,
)
from graph_engine.pipelines.debug_options import PLUGIN_HELP, load_plugins
from graph_engine.pipelines.registry import all_passes


def make_parser() -> OneLineParser:
    """The command line; nothing of xDSL is imported for it."""
    parser = OneLineParser(
        prog="ge-bisect",
        description="Find the pass and the rewrite that make a model wrong. Without passes: those of the graph.",
        epilog=pass_help(),
    )
    add = parser.add_argument
    add("input", metavar="MODEL", help=".onnx, or .mlir at any phase of the graph")
    add("-o", dest="reproducer", metavar="FILE", default="bisect.mlir", help="the reproducer (default bisect.mlir)")
    add_pass_options(parser)
    add_soc_options(parser)
    add_precision_options(parser)
    add("--check", metavar="numerics|reference", default="numerics", help="hold each pass to what it declares, or all")
    add("--tolerance", metavar="SHARE", default="0.01", help="of the range, for --check reference (default 0.01)")
    add("--check-script", metavar="COMMAND", default="", help="runs on an .mlir: 0 is good, 125 cannot tell, else bad")
    add("--seed", metavar="N", default="0", help="seed of the inputs (default 0)")
    add("--inputs", metavar="N", default="1", help="how many sets of inputs (default 1)")
    add("--input", dest="files", metavar="FILES", default="", help="inputs from files, as ge-run takes them")
    add("--extent", metavar="N", default="2", help="what an unknown dimension becomes (default 2)")
    add("--inner", action="store_true", help="compare tensors inside the graph as well as its outputs")
    add("--input-shape", metavar="SHAPES", default="", help="name:dims;name:dims, for the open dimensions of an .onnx")
    add("--bind-input", metavar="NAME=VALUE", action="append", default=[], help=BIND_INPUT_HELP)
    add("--load-plugin", metavar="FILE", help=PLUGIN_HELP)
    add("--debug", action="store_true", help="show the traceback of an error")
    return parser


def run(arguments: Sequence[str]) -> int:
    """Parse the command line, then hand over to the search, which imports numpy and xDSL."""
    arguments = load_plugins(arguments)
    names = list(all_passes())
    arguments = default_values(collect_pass_flags(arguments, names), {"--default-pipeline": ""})
    found = make_parser().parse(arguments, [f"--{name}" for name in names])
    use_one_blas_thread()
    from graph_engine.pipelines.bisect import BisectOptions, bisect_model

    written = {name: getattr(found, name) for name in ("check", "tolerance", "check_script", "reproducer")}
    written |= {"seed": found.seed, "inputs": found.inputs, "input": found.files, "extent": found.extent}
    written["inner"] = "true" if found.inner else "false"
    return bisect_model(found, BisectOptions.of(written))


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the `ge-bisect` command; returns the exit code."""
    return one_line_main(run, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
