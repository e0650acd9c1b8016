"""Writing modules: text to standard output or a file, and the new weights of a file into a store beside it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from graph_engine.errors import GraphEngineError
from graph_engine.pipelines.printing import to_text, write_text

SEPARATOR = "// -----\n"


def store_path(path: str, number: int = 0) -> Path:
    """`f.mlir` -> `f.weights.safetensors`; further modules of the same file are numbered."""
    base = path.removesuffix(".mlir")
    return Path(f"{base}.weights.safetensors" if number == 0 else f"{base}.weights{number}.safetensors")


def write_modules(
    results: Sequence[ModuleOp | str], path: str | None, *, generic: bool = False, locations: bool = True
) -> None:
    """Write modules (or ready text, such as expected errors) separated by `// -----`; to `path`, weights as well."""
    texts: list[str] = []
    for number, result in enumerate(results):
        if isinstance(result, ModuleOp):
            keep_weights(result, None if path in (None, "-") else store_path(str(path), number))
            result = to_text(result, generic=generic, locations=locations)
        texts.append(result)
    write_text(SEPARATOR.join(texts), path)


def keep_weights(module: ModuleOp, store: Path | None) -> None:
    """Save the weights that no file holds to `store`; without one (text to a pipe) name the files that exist.

    Text to a pipe that refers to weights in memory is useless to the next tool: a warning says so.
    """
    if "graph_engine.dialects.ge.weights" not in sys.modules:  # no weight was ever made or parsed
        return
    from graph_engine.dialects.ge.weights import refer_stores, save_store

    try:
        if store is not None:
            save_store(module, store)
        elif lost := refer_stores(module, Path.cwd()):
            names = ", ".join(weight.name for weight in lost[:3]) + (", ..." if len(lost) > 3 else "")
            print(f"warning: {len(lost)} weights are in no file ({names}); write with -o to keep them", file=sys.stderr)
    except GraphEngineError:
        pass  # handles to a store that is not here (hand-written text): they stay as they were written


def export_weights(module: ModuleOp, store: Path) -> None:
    """Copy all weights of `module` into `store` and let it name no other; weights that no file here has stay handles."""
    if "graph_engine.dialects.ge.weights" not in sys.modules:
        return
    from graph_engine.dialects.ge.weights import export_store

    with suppress(GraphEngineError):
        export_store(module, store)
