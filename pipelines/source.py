"""Reading MLIR text: chunks, where each operator was written, and errors as `file:line:col: error: ...`."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr
from xdsl.ir import Operation, ParametrizedAttribute, TypeAttribute
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, UnregisteredConstructException, VerifyException

from graph_engine.dialects.float_text import BitsLiteral, is_bits
from graph_engine.dialects.ge.locations import source_nodes
from graph_engine.errors import GraphEngineError
from graph_engine.pipelines.printing import SPACE_PREFIX
from graph_engine.pipelines.registry import load_dialect
from graph_engine.pipelines.spec import nearest
from graph_engine.pipelines.verification import InvalidOperation

SEPARATOR = re.compile(r"^// -----[^\n]*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Diagnostic:
    """One error at a place in the source."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: error: {self.message}"


class SourceError(GraphEngineError):
    """An error with its place; the message is the complete line to print."""

    def __init__(self, diagnostic: Diagnostic):
        super().__init__(str(diagnostic))
        self.diagnostic = diagnostic


@dataclass
class Chunk:
    """A piece of an input file; `text` starts with as many line ends as precede it, so that line numbers hold."""

    file: str
    text: str
    starts: dict[Operation, int] = field(default_factory=dict[Operation, int])

    def place(self, offset: int, message: str) -> Diagnostic:
        line_start = self.text.rfind("\n", 0, offset) + 1
        return Diagnostic(self.file, self.text.count("\n", 0, line_start) + 1, offset - line_start + 1, message)

    def locate(self, op: Operation, message: str) -> Diagnostic:
        """The place of `op`, or of the nearest enclosing operator that was in the source, with its node names."""
        parent: Operation | None = op
        while parent is not None and parent not in self.starts:
            parent = parent.parent_op()
        nodes = ", ".join(f'"{node.name}"' for node in source_nodes(op.location))
        subject = f"'{op.name}' ({nodes})" if nodes else f"'{op.name}'"
        message = one_line(message).removeprefix(f"{op.name}: ")  # ours name the operator themselves
        return self.place(self.starts[parent] if parent else 0, f"{subject}: {message}")


def one_line(message: str) -> str:
    """xDSL's messages spread over lines; ours are one. A line behind a colon needs no semicolon."""
    return "; ".join(line.strip() for line in message.strip().splitlines() if line.strip()).replace(":; ", ": ")


_SHAPED_TYPE = re.compile(r'(?:tensor|memref)<(?:[^<>"]|"[^"\\\n]*"|<(?:[^<>"]|<[^<>"]*>)*>)*>')


class _LocatedParser(Parser):
    """Notes where each operator starts, and parses each shaped type once: types are most of the text of a graph."""

    def __init__(self, context: Context, chunk: Chunk):
        super().__init__(context, chunk.text, chunk.file)
        self.chunk = chunk
        self.types: dict[str, TypeAttribute] = {}
        self.last_start = 0
        """Where the operator begins that was entered last: the place of errors that name none."""

    @property
    def position(self) -> int:
        """Where the parser stands."""
        return self._current_token.span.start

    def parse_operation(self) -> Operation:
        start = self.last_start = self.position
        op = super().parse_operation()
        self.chunk.starts[op] = start
        return op

    def _parse_tensor_literal_element(self) -> Any:
        element = super()._parse_tensor_literal_element()
        if is_bits(element.span.text.lstrip("(")):
            return BitsLiteral(element.is_negative, element.value, element.span)
        return element

    def parse_optional_type(self) -> TypeAttribute | None:
        match = _SHAPED_TYPE.match(self.chunk.text, self.position)
        if match is None:
            return super().parse_optional_type()
        if (known := self.types.get(match[0])) is not None:
            self._resume_from(match.end())
            return known
        parsed = super().parse_optional_type()
        if isinstance(parsed, MemRefType):
            parsed = self._in_named_space(parsed)
        # Only where the expression found the whole type (an affine map's arrow would end it early).
        if (
            parsed is not None
            and self.position >= match.end()
            and not self.chunk.text[match.end() : self.position].strip()
        ):
            self.types[match[0]] = parsed
        return parsed

    def _in_named_space(self, memref: MemRefType) -> MemRefType:
        """A memref of the generic form, whose memory space is a string there."""
        space = memref.memory_space
        if isinstance(space, StringAttr) and space.data.startswith(SPACE_PREFIX):
            kind = self.ctx.get_optional_attr(space.data)
            if kind is None or not issubclass(kind, ParametrizedAttribute):
                self.raise_error(f"'{space.data}' is not registered")
            return MemRefType(memref.element_type, memref.shape, memref.layout, kind())
        return memref


def read_text(path: str) -> tuple[str, str]:
    """(name for messages, text) of a file or, for `-`, of standard input."""
    if path == "-":
        return "<stdin>", sys.stdin.read()
    try:
        return path, Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise GraphEngineError(f"cannot read '{path}': {error.strerror}") from None
    except UnicodeDecodeError:
        raise GraphEngineError(f"'{path}' is not MLIR text (not UTF-8)") from None


def split(file: str, text: str, by_separator: bool) -> list[Chunk]:
    """The pieces between lines that start with `// -----`, or the whole."""
    if not by_separator:
        return [Chunk(file, text)]
    chunks: list[Chunk] = []
    start = 0
    for match in [*SEPARATOR.finditer(text), None]:
        end = match.start() if match else len(text)
        chunks.append(Chunk(file, "\n" * text.count("\n", 0, start) + text[start:end]))
        start = match.end() if match else end
    return chunks


def parse(context: Context, chunk: Chunk) -> ModuleOp:
    """Parse one chunk, always into a module. Raises SourceError."""
    if not re.sub(r"//[^\n]*", "", chunk.text).strip():
        return ModuleOp([])
    parser = _LocatedParser(context, chunk)
    try:
        return parser.parse_module()
    except ParseError as error:
        name, hint = _unknown_name(context, error.msg)
        start = chunk.text.rfind(name, 0, error.span.start + len(name)) if name else error.span.start
        raise SourceError(chunk.place(max(start, 0), one_line(error.msg) + hint)) from None
    except InvalidOperation as error:
        raise SourceError(chunk.locate(error.op, str(error))) from None
    except (VerifyException, UnregisteredConstructException, ValueError) as error:  # ValueError: an operator's parser
        raise SourceError(chunk.place(parser.last_start, one_line(str(error)))) from None


def _unknown_name(context: Context, message: str) -> tuple[str, str]:
    """The name that the parser did not know, if that was the error, and the nearest known one as a hint."""
    match = re.search(r"(?:Operation |')!?#?([\w.]+)'? is not registered", message)
    if match is None:
        return "", ""
    name = match[1]
    namespace = name.split(".")[0]
    known = list(context.registered_dialect_names)
    if namespace not in known:
        return name, nearest(namespace, known)
    dialect = load_dialect(namespace)
    return name, nearest(name, [*(op.name for op in dialect.operations), *(attr.name for attr in dialect.attributes)])
