"""Flags that find what a pass does wrong, for every tool that runs passes: one place for their names and meaning."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graph_engine.pipelines.spec import parse_options

if TYPE_CHECKING:
    from graph_engine.pipelines.runner import RunOptions

VALIDATE_HELP = (
    "run the graph before and after each pass and stop at the first that changes too much; 'seed=0 inputs=1'"
)
PLUGIN_HELP = "know the passes and dialects of this Python file; may be repeated"


def add_debug_options(parser: argparse.ArgumentParser) -> None:
    """`--validate-each`, `--crash-reproducer`, `--rewrite-limit` and `--debug`."""
    add = parser.add_argument
    add("--validate-each", metavar="OPTIONS", help=VALIDATE_HELP)
    add("--crash-reproducer", metavar="FILE", help="if a pass fails, write the module before it, to be run again")
    add("--rewrite-limit", metavar="N", type=int, help="stop after N rewrites, to find the one that breaks something")
    add("--debug", action="store_true", help="show the traceback of an error")


def given_flags(found: argparse.Namespace) -> list[str]:
    """Those of the flags that change how passes are run: a tool that runs none has to refuse them."""
    names = ("validate_each", "crash_reproducer", "rewrite_limit", "fusion_switch_file", "fusion_result", "remarks")
    return [f"--{name.replace('_', '-')}" for name in names if getattr(found, name) is not None]


def run_options(found: argparse.Namespace, **others: Any) -> RunOptions:
    """What the flags of `add_debug_options` say, beside `others`. Raises GraphEngineError for wrong ones."""
    from graph_engine.pipelines.reproducer import check_name
    from graph_engine.pipelines.runner import RunOptions
    from graph_engine.transforms.switches import ALL_ON

    validation = None
    if found.validate_each is not None:
        from graph_engine.pipelines.validation import Validation  # numpy and the references, for those who ask

        validation = Validation.of(parse_options(found.validate_each, "--validate-each"))
    switches = ALL_ON
    if found.fusion_switch_file is not None:
        from graph_engine.pipelines.fusion_switch import read_switches

        switches = read_switches(found.fusion_switch_file)
    return RunOptions(
        validation=validation,
        crash_reproducer=check_name(found.crash_reproducer) if found.crash_reproducer is not None else None,
        rewrite_limit=found.rewrite_limit,
        switches=switches,
        **others,
    )


def load_plugins(arguments: Sequence[str]) -> list[str]:
    """Loads the files of all `--load-plugin` among `arguments`, before anything asks which passes there are.

    Returns the other arguments: a pass that a file defines is a flag like any other.
    """
    from graph_engine.pipelines.registry import load_plugin

    others: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        flag, equals, path = argument.partition("=")
        if flag == "--load-plugin":
            load_plugin(path if equals else next(rest, ""))
        else:
            others.append(argument)
    return others
