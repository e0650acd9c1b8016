"""Files that rerun a failing pass: the module before it, with the passes that are left in a comment at the top.

    // pass 'my-pass' crashed: KeyError: 'axis' (my_pass.py:31)
    // rerun: ge-opt --run-reproducer crash.mlir
    // pipeline: my-pass{limit=3},force-fp16
    module { ... }

Weights go to a store beside the file, those too that another file holds: both can be handed on. (mlir-opt writes the
pipeline as an external resource, which xDSL does not parse.)
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from graph_engine.errors import GraphEngineError
from graph_engine.pipelines import registry
from graph_engine.pipelines.output import export_weights, store_path
from graph_engine.pipelines.printing import to_text, write_text
from graph_engine.pipelines.spec import PassSpec, parse_pipeline, pass_text

_PIPELINE = re.compile(r"^// pipeline:[ \t]*(.*)$", re.MULTILINE)


def write_reproducer(
    module: ModuleOp, passes: Sequence[ModulePass], path: str, *, reason: str, flags: Sequence[str] = ()
) -> str:
    """Write `module` and `passes` to `path`, weights beside it; returns the command line that reruns them.

    `flags` are further flags of ge-opt that the failure needs.
    """
    plugins = [f"--load-plugin={file}" for file in registry.plugin_files()]
    command = shlex.join(["ge-opt", *plugins, *flags, "--run-reproducer", path])
    header = [" ".join(reason.split()), f"rerun: {command}", f"pipeline: {','.join(map(pass_text, passes))}"]
    copy = module.clone()
    export_weights(copy, store_path(path))
    write_text("".join(f"// {line}\n" for line in header) + to_text(copy), path)
    return command


def check_name(path: str) -> str:
    """`path` if it can be a reproducer's. Raises GraphEngineError: the store beside it is named after it."""
    if not path.endswith(".mlir"):
        raise GraphEngineError(f"'{path}' cannot be the name of a reproducer: it has to end with .mlir")
    return path


def recorded_pipeline(text: str, path: str) -> list[PassSpec]:
    """The passes that the head of a reproducer's text names. Raises GraphEngineError if it has none."""
    match = _PIPELINE.search(text)
    if match is None:
        raise GraphEngineError(f"'{path}' is no reproducer: it has no line '// pipeline: ...'")
    return parse_pipeline(match[1], path) if match[1].strip() else []
