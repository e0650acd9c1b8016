"""ge-opt: run passes on MLIR text, with mlir-opt's habits."""

from __future__ import annotations

from collections.abc import Sequence

from graph_engine.pipelines.command_line import (
    OneLineParser,
    add_fusion_options,
    add_pass_options,
    add_precision_options,
    add_remark_options,
    add_soc_options,
    collect_pass_flags,
    default_values,
    one_line_main,
    pass_help,
)
from graph_engine.pipelines.debug_options import PLUGIN_HELP, add_debug_options, load_plugins
from graph_engine.pipelines.registry import all_passes
from graph_engine.pipelines.remark_report import TO_STDERR

# argparse, not click: it is in the standard library, imports in a quarter of the time, and its actions run in
# command-line order, which one flag per pass needs; click would be one more dependency for the same grammar.

DEFAULTS = {"--default-pipeline": "", "--remarks": TO_STDERR, "--validate-each": "", "--bisect": ""}
"""What flags mean whose value may follow behind = only."""


def make_parser() -> OneLineParser:
    """The command line. Help lists all passes; nothing of xDSL is imported for it."""
    parser = OneLineParser(prog="ge-opt", description="Run passes on MLIR text.", epilog=pass_help())
    add = parser.add_argument
    add("input", nargs="?", default="-", help="MLIR file, or - for standard input")
    add("-o", dest="output", metavar="FILE", help="write here (weights beside it), not to standard output")
    add_pass_options(parser)
    add("--help-pass", metavar="NAME", help="describe a pass and its options")
    add("--split-input-file", action="store_true", help="treat pieces between '// -----' lines as files of their own")
    add("--verify-diagnostics", action="store_true", help="expect the errors in expected-error comments, or print them")
    add("--verify-each", action="store_true", help="verify after each pass, not only at phase ends")
    add("--print-ir-after-all", action="store_true", help="dump to standard error after each pass")
    add("--print-ir-after-change", action="store_true", help="dump to standard error after each pass that changed it")
    add("--print-op-generic", action="store_true", help="print in MLIR's generic form")
    add("--no-locations", action="store_true", help="print without source locations")
    add("--timing", action="store_true", help="time and rewrites of each pass to standard error")
    add_soc_options(parser)
    add_remark_options(parser)
    add_fusion_options(parser)
    add_precision_options(parser)
    add_debug_options(parser)
    add("--run-reproducer", action="store_true", help="run the passes that the first lines of the file name")
    add("--bisect", metavar="OPTIONS", help="find the pass and the rewrite that spoil the numbers; see ge-bisect")
    add("--load-plugin", metavar="FILE", help=PLUGIN_HELP)
    return parser


def run(arguments: Sequence[str]) -> int:
    """Parse the command line, then hand over to the optimiser, which imports xDSL."""
    arguments = load_plugins(arguments)
    names = list(all_passes())
    arguments = default_values(collect_pass_flags(arguments, names), DEFAULTS)
    options = make_parser().parse(arguments, [f"--{name}" for name in names])
    from graph_engine.pipelines import optimise

    if options.help_pass:
        print(optimise.describe_pass(options.help_pass))
        return 0
    return optimise.optimise(options)


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the `ge-opt` command; returns the exit code."""
    return one_line_main(run, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
