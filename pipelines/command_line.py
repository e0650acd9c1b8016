"""What our command lines share: one-line errors with the nearest name, and one flag per pass in the order given."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from graph_engine.errors import GraphEngineError
from graph_engine.pipelines.collection import relaxed_gc
from graph_engine.pipelines.default import Phase
from graph_engine.pipelines.fusion_switch import RESULT_HELP, SWITCH_HELP
from graph_engine.pipelines.registry import all_passes, help_line
from graph_engine.pipelines.remark_report import FILTER_HELP, OPTION_HELP
from graph_engine.pipelines.spec import PassSpec, nearest, parse_options, parse_pipeline

BIND_INPUT_HELP = "fix a model input to a value: a number, a list or an .npy file; may be repeated"


def use_one_blas_thread() -> None:
    """Keep the chip model's matrix products on one thread, unless the user's environment says otherwise.

    A tile is small: more threads wait for each other longer than they compute. Has to happen before numpy is
    imported.
    """
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")


class OneLineParser(argparse.ArgumentParser):
    """argparse whose errors are one `error:` line with exit code 1, and which knows no abbreviations."""

    def __init__(self, **settings: object):
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **settings)  # pyright: ignore[reportArgumentType]

    def error(self, message: str) -> NoReturn:
        print(f"error: {message}", file=sys.stderr)
        raise SystemExit(1)

    def parse(self, arguments: Sequence[str], further_flags: Sequence[str] = ()) -> argparse.Namespace:
        """Parse; an unknown flag is an error that names the nearest of ours or of `further_flags`."""
        found, unknown = self.parse_known_args(arguments)
        flags = [text for text in unknown if text.startswith("-") and text != "-"]
        if flags:
            name = flags[0].split("=")[0]
            known = [option for action in self._actions for option in action.option_strings]
            self.error(f"unknown option '{name}'{nearest(name, [*known, *further_flags])}")
        if unknown:
            self.error(f"one input at a time: unexpected '{unknown[0]}'")
        return found


class PipelineAction(argparse.Action):
    """Appends the passes of `-p TEXT` to the list that the pass flags append to, in command-line order."""

    def __call__(self, parser: object, namespace: argparse.Namespace, values: object, option_string: object = None):
        namespace.passes = [*(namespace.passes or []), *parse_pipeline(str(values), "<pass-pipeline>")]


class DefaultPipelineAction(argparse.Action):
    """Puts the default pipeline, with its options, into the list of passes at this place."""

    def __call__(self, parser: object, namespace: argparse.Namespace, values: object, option_string: object = None):
        spec = PassSpec("default-pipeline", parse_options(str(values), "--default-pipeline"), "--default-pipeline")
        namespace.passes = [*(namespace.passes or []), spec]


class PassFlagAction(argparse.Action):
    """Appends the pass of `--pass-name` or `--pass-name='a=1 b=2'`, which arrives as one `name=options` text."""

    def __call__(self, parser: object, namespace: argparse.Namespace, values: object, option_string: object = None):
        name, _, text = str(values).partition("=")
        spec = PassSpec(name, parse_options(text, f"--{name}"), f"--{name}")
        namespace.passes = [*(namespace.passes or []), spec]


def add_pass_options(parser: argparse.ArgumentParser) -> None:
    """The flags that choose passes, for the tools that run any list of them."""
    add = parser.add_argument
    add("-p", "--pass-pipeline", metavar="TEXT", dest="passes", action=PipelineAction, help="passes as 'a{x=1},b'")
    add("--pass-flag", dest="passes", action=PassFlagAction, help=argparse.SUPPRESS)
    add(
        "--default-pipeline",
        metavar="OPTIONS",
        dest="passes",
        action=DefaultPipelineAction,
        help="all passes, e.g. 'soc=Ascend310P3'",
    )
    add("--compile-to", metavar="PHASE", help="end the default pipeline with this phase")


def pass_help() -> str:
    """All passes and phases with one line each, for the end of `--help`; nothing of xDSL is imported for it."""
    passes = "\n".join(f"  --{name:<22}{help_line(name)}" for name in all_passes())
    phases = "\n".join(f"  {phase.title:<24}{phase.value}" for phase in Phase)
    return (
        f"passes (a flag each, run in the order given, options as --PASS='a=1 b=2'):\n{passes}\n\n"
        f"phases of the default pipeline:\n{phases}"
    )


def add_remark_options(parser: argparse.ArgumentParser) -> None:
    """`--remarks[=FILE]` and `--remarks-filter`, for every tool that runs passes."""
    parser.add_argument("--remarks", metavar="FILE", help=OPTION_HELP)
    parser.add_argument("--remarks-filter", metavar="REGEX", default="", help=FILTER_HELP)


def add_fusion_options(parser: argparse.ArgumentParser) -> None:
    """`--fusion-switch-file` and `--fusion-result`, for every tool that runs passes."""
    parser.add_argument("--fusion-switch-file", metavar="FILE", help=SWITCH_HELP)
    parser.add_argument("--fusion-result", metavar="FILE", help=RESULT_HELP)


class ListSocsAction(argparse.Action):
    """Prints the chips that come with the package, and ends."""

    def __call__(self, parser: object, namespace: argparse.Namespace, values: object, option_string: object = None):
        from graph_engine.target_ascend.soc.soc import describe_socs

        print(describe_socs())
        raise SystemExit(0)


def add_soc_options(parser: argparse.ArgumentParser) -> None:
    """`--soc-version`, `--soc-file` and `--list-socs`, for every tool that compiles."""
    add = parser.add_argument
    add("--soc-version", metavar="NAME", help="chip to compile for (default Ascend310P3)")
    add("--soc-file", metavar="FILE", help="compile for the chip of this .yaml file, in place of --soc-version")
    add("--list-socs", action=ListSocsAction, nargs=0, help="list the chips and end")


def chosen_soc(found: argparse.Namespace) -> str | None:
    """The chip that the flags of `add_soc_options` name, None for the default. Raises GraphEngineError."""
    if found.soc_file is None:
        return found.soc_version
    if found.soc_version is not None:
        raise GraphEngineError("--soc-file describes the chip: --soc-version does not go with it")
    if not found.soc_file.endswith((".yaml", ".yml")):
        raise GraphEngineError(f"--soc-file {found.soc_file}: a chip file ends in .yaml; --soc-version takes names")
    return found.soc_file


_PRECISION = {
    "precision_mode": ("MODE", "force_fp16 (default), must_keep_origin_dtype, allow_mix_precision, allow_fp32_to_fp16"),
    "modify_mixlist": ("FILE", "JSON with changes to the lists of allow_mix_precision"),
    "keep_dtype": ("FILE", "names of nodes that stay in fp32, one a line, or OpType::TYPE"),
    "keep_dtype_nodes": ("NAMES", "names of nodes that stay in fp32, with commas between them"),
}


_BORDERS = {
    "input_format": (
        "FORMATS",
        "take inputs in the hardware's format: NC1HWC0, FRACTAL_NZ, or name:FORMAT;name:FORMAT",
    ),
    "output_format": ("FORMATS", "give outputs in the hardware's format, written alike"),
}


def add_precision_options(parser: argparse.ArgumentParser) -> None:
    """The flags of ATC that choose fp16 or fp32, and formats at the borders, for every tool that compiles."""
    for name, (metavar, help_text) in (_PRECISION | _BORDERS).items():
        parser.add_argument(f"--{name.replace('_', '-')}", metavar=metavar, help=help_text)


def precision_options(found: argparse.Namespace) -> dict[str, str]:
    """What the flags of `add_precision_options` say, as options of the default pipeline."""
    return {name: value for name in _PRECISION | _BORDERS if (value := getattr(found, name)) is not None}


def default_values(arguments: Sequence[str], defaults: Mapping[str, str]) -> list[str]:
    """`--flag` alone becomes `--flag=default`: a flag whose value may follow only behind `=`, not as the next word."""
    return [f"{a}={defaults[a]}" if a in defaults else a for a in arguments]


def collect_pass_flags(arguments: Sequence[str], passes: Sequence[str]) -> list[str]:
    """Rewrite every `--some-pass[=options]` into `--pass-flag=some-pass[=options]` for `PassFlagAction`.

    argparse has no option whose value may follow only behind `=`; with `nargs="?"` it would swallow the input file.
    """
    rewritten: list[str] = []
    for argument in arguments:
        flag = argument[2:].split("=")[0] if argument.startswith("--") else ""
        rewritten.append(f"--pass-flag={argument[2:]}" if flag in passes else argument)
    return rewritten


def one_line_main(main: Callable[[Sequence[str]], int], arguments: Sequence[str] | None) -> int:
    """Run `main(arguments)`; a GraphEngineError becomes one line on standard error and exit code 1.

    `--debug` among the arguments shows its traceback as well.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        with relaxed_gc():
            return main(given)
    except GraphEngineError as error:
        if "--debug" in given:
            traceback.print_exception(error)
        text = str(error)
        print(text if ": error: " in text else f"error: {text}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of a pipe left early, as `head` does
        sys.stderr.close()
        return 1
