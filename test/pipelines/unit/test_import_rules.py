"""Who may import what, read from the source: imports inside functions count as well."""

import ast
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import graph_engine

PACKAGE = Path(graph_engine.__file__).parent
JUDGES = ("onnxruntime", "onnx.reference", "onnx.backend")
"""They tell whether we are right; nothing that we compute may come from them."""

# Longest prefix of a file's place in the package -> modules that must not be imported there.
COMPILER = ("xdsl", "onnx", "google")
HIGHER = {
    "frontend_onnx": ("transforms", "lowering", "pipelines", "tools", "target_ascend"),
    "transforms": ("frontend_onnx", "lowering", "pipelines", "tools"),
    "lowering": ("frontend_onnx", "pipelines", "tools"),
    "dialects": ("frontend_onnx", "transforms", "lowering", "pipelines", "tools"),
    "planning": ("frontend_onnx", "transforms", "lowering", "pipelines", "tools", "dialects", "target_ascend"),
    "target_ascend": ("frontend_onnx", "transforms", "lowering", "pipelines", "tools"),
    "pipelines": ("tools",),
}
FORBIDDEN = {area: tuple(f"graph_engine.{name}" for name in names) for area, names in HIGHER.items()}
FORBIDDEN["planning"] += COMPILER
FORBIDDEN["target_ascend"] += COMPILER
REFERENCE_MAY = ("numpy", "ml_dtypes", "graph_engine.dialects.ge.reference")


def sources() -> Iterator[Path]:
    """All files of the package, relative to it; its folders are links."""
    for folder, _, names in os.walk(PACKAGE, followlinks=True):
        yield from ((Path(folder) / name).relative_to(PACKAGE) for name in names if name.endswith(".py"))


def imports(text: str) -> Iterator[str]:
    """Full names of everything that a source imports, `import_module("...")` and `__import__("...")` among them."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom():
                assert node.level == 0, "imports are absolute"
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            case ast.Call(
                func=ast.Name(id=name) | ast.Attribute(attr=name), args=[ast.Constant(value=str(module)), *_]
            ):
                if name in ("import_module", "__import__", "find_spec"):
                    yield module
            case _:
                pass


def within(name: str, modules: tuple[str, ...]) -> bool:
    """Whether `name` is one of the modules or in one."""
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def offences(path: Path, text: str) -> list[str]:
    """The imports of a source that its place in the package forbids."""
    area = path.parts[0]
    found = [name for name in imports(text) if within(name, JUDGES) or within(name, FORBIDDEN.get(area, ()))]
    if path.parts[:3] == ("dialects", "ge", "reference"):
        free = (*REFERENCE_MAY, *sys.stdlib_module_names)
        found += [name for name in imports(text) if not within(name, free)]
    return found


def test_every_file_keeps_the_rules() -> None:
    found = {str(path): bad for path in sources() if (bad := offences(path, (PACKAGE / path).read_text("utf-8")))}
    assert not found


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("transforms/a.py", "import onnxruntime"),
        ("frontend_onnx/a.py", "def f():\n    from onnx import reference"),
        ("tools/a.py", "from onnx.reference import ReferenceEvaluator"),
        ("lowering/a.py", "import importlib\ndef f(): return importlib.import_module('onnxruntime')"),
        ("dialects/ge/reference/a.py", "def f():\n    import scipy.special"),
        ("dialects/ge/reference/a.py", "from graph_engine.dialects.ge.core import GeOp"),
        ("target_ascend/a.py", "if True:\n    import xdsl.ir"),
        ("planning/a.py", "from graph_engine.dialects import layout"),
        ("transforms/a.py", "from graph_engine.pipelines import registry"),
    ],
)
def test_what_is_an_offence(place: str, text: str) -> None:
    assert len(offences(Path(place), text)) == 1


def test_all_folders_are_looked_at() -> None:
    areas = {path.parts[0] for path in sources()}
    assert areas >= {*FORBIDDEN, "tools"}
