"""Chip files as YAML nodes: a file joined with the one that it extends and with what its family borrows.

    extends: dav-2002                      every value of the family, unless this file gives its own
    borrows: {dav-2201: [vector.ops]}      those values of another family, each marked `assumed_from` it

Names are looked up beside the file first, then among the chips and families that come with the package. Nodes keep
the file and the line that they stand in.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from graph_engine.errors import GraphEngineError

PACKAGE = Path(__file__).parent
FAMILIES = PACKAGE / "families"
LEAF_KEYS = ("value", "source", "assumed", "assumed_from", "note")
_LINKS = ("extends", "borrows")


def place(node: Any) -> str:
    """`file:line` of a node."""
    return f"{node.start_mark.name}:{node.start_mark.line + 1}"


def mapping(node: Any, key: str) -> dict[str, Any]:
    """Keys to value nodes. Raises GraphEngineError for another kind of node and for a key given twice."""
    where = f"{place(node)}: {f'{key}: ' if key else ''}"
    if not isinstance(node, yaml.MappingNode):
        raise GraphEngineError(f"{where}expected a mapping")
    entries: dict[str, Any] = {}
    for name, value in node.value:
        if name.value in entries:
            raise GraphEngineError(f"{place(name)}: {f'{key}.{name.value}'.lstrip('.')}: is given twice")
        entries[name.value] = value
    return entries


def compose_chip(path: Path, seen: tuple[Path, ...] = ()) -> Any:
    """The root node of a chip file, complete. Raises GraphEngineError `file:line: ...`."""
    root = _compose(path)
    if path in seen:
        raise GraphEngineError(f"{place(root)}: extends: {path.stem} extends itself")
    entries = mapping(root, "")
    complete: Any = yaml.MappingNode(root.tag, [], root.start_mark, root.end_mark)
    for family, keys in _links(entries.get("borrows"), "borrows").items():
        donor = compose_chip(_find(family, path, entries["borrows"], "borrows"), (*seen, path))
        for key in _names(keys, "borrows"):
            complete = merged(complete, _borrowed(donor, key.value.split("."), family, key))
    if "extends" in entries:
        name = entries["extends"]
        if not isinstance(name, yaml.ScalarNode):
            raise GraphEngineError(f"{place(name)}: extends: expected the name of a chip or a family")
        complete = merged(complete, compose_chip(_find(name.value, path, name, "extends"), (*seen, path)))
    return merged(complete, _without_links(root))


def _compose(path: Path) -> Any:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        with path.open(encoding="utf-8") as stream:
            root = yaml.compose(stream, Loader=loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise GraphEngineError(f"{path}:{line}: {error.problem}") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise GraphEngineError(f"{path}: {error}") from None
    if root is None:
        raise GraphEngineError(f"{path}:1: the file is empty")
    return root


def _find(name: str, path: Path, node: Any, key: str) -> Path:
    for folder in (path.parent, FAMILIES, PACKAGE):
        found = folder / f"{name}.yaml"
        if found.is_file() and found != path:
            return found
    import difflib

    known = [file.stem for folder in (FAMILIES, PACKAGE) for file in sorted(folder.glob("*.yaml"))]
    near = difflib.get_close_matches(name, known, 1)
    hint = f"; did you mean {near[0]}?" if near else f" (known: {', '.join(known)})"
    raise GraphEngineError(f"{place(node)}: {key}: no chip or family is called {name!r}{hint}")


def _links(node: Any, key: str) -> dict[str, Any]:
    return {} if node is None else mapping(node, key)


def _names(node: Any, key: str) -> list[Any]:
    if not isinstance(node, yaml.SequenceNode) or not all(isinstance(item, yaml.ScalarNode) for item in node.value):
        raise GraphEngineError(f"{place(node)}: {key}: expected a list of keys")
    return list(node.value)


def _without_links(root: Any) -> Any:
    kept = [(name, value) for name, value in root.value if name.value not in _LINKS]
    return yaml.MappingNode(root.tag, kept, root.start_mark, root.end_mark)


def is_leaf(node: Any) -> bool:
    """Whether a node is `{value: ..., ...}` rather than a section."""
    return not isinstance(node, yaml.MappingNode) or any(name.value == "value" for name, _ in node.value)


def merged(base: Any, over: Any) -> Any:
    """`base` with the values of `over` in the place of its own; sections are joined. Marks are those of `over`."""
    if is_leaf(over) or is_leaf(base):
        return over
    mapping(over, "")
    below = {name.value: (name, value) for name, value in base.value}
    entries = dict(below)
    for name, value in over.value:
        entries[name.value] = (name, merged(below[name.value][1], value) if name.value in below else value)
    return yaml.MappingNode(over.tag, list(entries.values()), over.start_mark, over.end_mark)


def _borrowed(donor: Any, parts: list[str], family: str, asked: Any) -> Any:
    """The tree of `donor` with the section at `parts` alone and the sources, all values marked as assumed."""
    node, kept = donor, []
    for part in parts:
        for name, value in node.value if not is_leaf(node) else ():
            if name.value == part:
                kept.append((node, name))
                node = value
                break
        else:
            raise GraphEngineError(f"{place(asked)}: borrows: {family} has no {asked.value}")
    tree = _marked(node, family)
    for section, name in reversed(kept):
        tree = yaml.MappingNode(section.tag, [(name, tree)], section.start_mark, section.end_mark)
    sources = [(name, value) for name, value in donor.value if name.value == "sources"]
    tree.value.extend(sources)
    return tree


def _marked(node: Any, family: str) -> Any:
    if not is_leaf(node):
        entries = [(name, _marked(value, family)) for name, value in node.value]
    elif isinstance(node, yaml.MappingNode) and not any(n.value in ("assumed", "assumed_from") for n, _ in node.value):
        key = yaml.ScalarNode("tag:yaml.org,2002:str", "assumed_from", node.start_mark, node.end_mark)
        value = yaml.ScalarNode("tag:yaml.org,2002:str", family, node.start_mark, node.end_mark)
        entries = [*node.value, (key, value)]
    else:
        return node
    return yaml.MappingNode(node.tag, entries, node.start_mark, node.end_mark)
