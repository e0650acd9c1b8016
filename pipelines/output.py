"""Writing modules: text to standard output or a file, and the new weights of a file into a store beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

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
            if path is not None and path != "-":
                save_weights(result, store_path(path, number))
            result = to_text(result, generic=generic, locations=locations)
        texts.append(result)
    write_text(SEPARATOR.join(texts), path)


def save_weights(module: ModuleOp, path: Path) -> None:
    """Save what no store holds yet; a module without `ge` weights costs nothing."""
    import sys

    if "graph_engine.dialects.ge.weights" not in sys.modules:  # no weight was ever made or parsed
        return
    from graph_engine.dialects.ge.weights import save_store

    save_store(module, str(path))
