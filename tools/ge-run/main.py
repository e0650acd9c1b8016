"""ge-run: run a model on the modelled chip, or by its numpy reference, and show outputs and profile.

An OM file is run without importing the compiler: everything of it is imported where it is needed.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from graph_engine.errors import GraphEngineError
from graph_engine.pipelines.command_line import (
    BIND_INPUT_HELP,
    OneLineParser,
    add_fusion_options,
    add_precision_options,
    add_remark_options,
    add_soc_options,
    default_values,
    one_line_main,
    precision_options,
    use_one_blas_thread,
)
from graph_engine.pipelines.debug_options import add_debug_options, given_flags
from graph_engine.pipelines.remark_report import TO_STDERR

MODES = ("functional", "timing", "both")
ENGINES = ("chip", "reference")


def make_parser() -> OneLineParser:
    """The command line."""
    parser = OneLineParser(prog="ge-run", description="Run a model on the modelled chip.")
    add = parser.add_argument
    add("--model", metavar="FILE", required=True, help=".om, or .onnx or .mlir at any phase, compiled in memory")
    add("--input", metavar="FILES", help="x.npy,y.bin in order of the inputs, or an .npz by name, or a directory")
    add("--fill", metavar="zero|random", help="what to feed when no --input is given (default zero)")
    add("--seed", metavar="N", type=int, default=0, help="seed of --fill random (default 0)")
    add("--output", metavar="DIR", help="write outputs here as <model>_output_<i>")
    add("--outfmt", metavar="NPY|BIN|TXT", default="NPY", help="form of the outputs (default NPY)")
    add("--mode", metavar="|".join(MODES), help="values, time, or both (default both; functional for the reference)")
    add("--engine", metavar="|".join(ENGINES), default="chip", help="the modelled chip, or numpy on the graph as given")
    add("--check", action="store_true", help="look for invalid lanes, accesses out of range and races; exit 1 on any")
    add("--real-bytes", action="store_true", help="hold fp16 as real bytes everywhere: slower, equal bit for bit")
    add("--profile", action="store_true", help="print a summary of where the time goes")
    add("--profile-json", metavar="FILE", help="write the profile as JSON")
    add("--profile-csv", metavar="FILE", help="write an op_summary with msprof's columns")
    add("--trace", metavar="FILE", help="write a trace that Perfetto opens")
    add("--what-if", metavar="CHANGES", help="the time on another chip: hbm_bandwidth=2x,ub_size=512K (see ge-run.md)")
    add("--sensitivity", action="store_true", help="rank the chip's numbers by the time that twice as good ones save")
    add("--input-shape", metavar="SHAPES", help="name:dims;name:dims, for the open dimensions of an .onnx")
    add("--bind-input", metavar="NAME=VALUE", action="append", default=[], help=BIND_INPUT_HELP)
    add_soc_options(parser)
    add_precision_options(parser)
    add_fusion_options(parser)
    add_remark_options(parser)
    add_debug_options(parser)
    return parser


def run(arguments: Sequence[str]) -> int:
    """Check the flags against each other, then hand over to the session, which imports numpy."""
    options = make_parser().parse(default_values(arguments, {"--validate-each": "", "--remarks": TO_STDERR}))
    use_one_blas_thread()
    options.outfmt = _choice("--outfmt", options.outfmt.upper(), ("NPY", "BIN", "TXT"))
    options.fill = (
        _choice("--fill", options.fill or "zero", ("zero", "random")) if options.fill or not options.input else None
    )
    options.engine = _choice("--engine", options.engine, ENGINES)
    reference = options.engine == "reference"
    options.mode = _choice("--mode", options.mode or ("functional" if reference else "both"), MODES)
    if options.what_if is not None or options.sensitivity:
        _check_questions(options)
    profiles = [f for f in ("profile", "profile_json", "profile_csv", "trace") if getattr(options, f)]
    if reference:
        _refuse(
            options.mode != "functional", f"--engine reference has no clock: it cannot run with --mode {options.mode}"
        )
        _refuse(options.check, "--check needs the chip's memories: it cannot go with --engine reference")
        _refuse(
            bool(precision_options(options)),
            "--engine reference runs the graph as it is: precision modes are for the compiler",
        )
        for flag in given_flags(options):
            raise GraphEngineError(f"--engine reference runs the graph as it is: {flag} is for the compiler")
        _refuse(options.real_bytes, "--real-bytes needs the chip's memories: it cannot go with --engine reference")
    if profiles and options.mode == "functional":
        raise GraphEngineError(f"--{profiles[0].replace('_', '-')} needs times: --mode timing or both on the chip")
    _refuse(options.mode == "timing" and options.check, "--check needs values: it cannot go with --mode timing")
    _refuse(bool(options.input and options.fill), "--fill is for runs without --input")
    _refuse(options.seed < 0, f"--seed {options.seed}: a seed is not negative")
    from graph_engine.tools.ge_run.session import run_session

    return run_session(options)


def _check_questions(options: Namespace) -> None:
    """`--what-if` and `--sensitivity` compare times and nothing else."""
    asked = "--what-if" if options.what_if is not None else "--sensitivity"
    _refuse(options.engine == "reference", f"--engine reference has no clock: {asked} does not go with it")
    _refuse(options.mode == "functional", f"{asked} compares times: it cannot go with --mode functional")
    alone = ("input", "output", "check", "real_bytes", "profile", "profile_json", "profile_csv", "trace")
    for flag in alone:
        _refuse(bool(getattr(options, flag)), f"{asked} compares times: --{flag.replace('_', '-')} does not go with it")


def _choice(flag: str, value: str, choices: Sequence[str]) -> str:
    if value not in choices:
        raise GraphEngineError(f"{flag} {value}: choose {', '.join(choices[:-1])} or {choices[-1]}")
    return value


def _refuse(condition: bool, message: str) -> None:
    if condition:
        raise GraphEngineError(message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the console script."""
    return one_line_main(run, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
