"""ge-translate: between ONNX, MLIR text and OM files."""

from __future__ import annotations

from collections.abc import Sequence

from graph_engine.pipelines.command_line import BIND_INPUT_HELP, OneLineParser, one_line_main


def make_parser() -> OneLineParser:
    """The command line; nothing of xDSL or onnx is imported for it."""
    parser = OneLineParser(prog="ge-translate", description="Translate between ONNX, MLIR text and OM files.")
    direction = parser.add_mutually_exclusive_group(required=True)
    for name, help_text in (
        ("onnx-to-mlir", "import an ONNX model as a `ge` graph"),
        ("mlir-to-om", "encode scheduled and planned tasks as an OM file"),
        ("om-to-mlir", "show an OM file as text"),
    ):
        direction.add_argument(
            f"--{name}", dest="direction", action="store_const", const=name.replace("-", "_"), help=help_text
        )
    add = parser.add_argument
    add("input", nargs="?", default="-", help="file, or - for standard input (text only)")
    add("-o", dest="output", metavar="FILE", help="write here (the weights of f.mlir go to f.weights.safetensors)")
    add("--input-shape", metavar="SHAPES", default="", help="fix model inputs: 'x:1,3,224,224;mask:1,128'")
    add("--bind-input", metavar="NAME=VALUE", action="append", default=[], help=BIND_INPUT_HELP)
    add("--no-locations", action="store_true", help="print without source locations")
    add("--print-op-generic", action="store_true", help="print in MLIR's generic form")
    return parser


def run(arguments: Sequence[str]) -> int:
    """Parse the command line, then hand over to the translation, which imports what it needs."""
    options = make_parser().parse(arguments)
    from graph_engine.pipelines import translate

    getattr(translate, options.direction)(options)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the `ge-translate` command; returns the exit code."""
    return one_line_main(run, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
