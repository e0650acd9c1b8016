"""Pipelines as text, `a{x=1 y=2,3},b`, parsed without xDSL so that a typing error answers at once."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, cast

from graph_engine.errors import GraphEngineError

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

T = typing.TypeVar("T")


@dataclass(frozen=True)
class PassSpec:
    """A pass by name with its options as written; `origin` (file:line:col or the flag) leads its error messages."""

    name: str
    options: dict[str, str] = field(default_factory=dict[str, str])
    origin: str = ""


def nearest(name: str, candidates: Iterable[str]) -> str:
    """`, did you mean 'x'?` for the closest candidate, or for the few that begin so; nothing when none is close."""
    candidates = list(candidates)
    longer = sorted(candidate for candidate in candidates if candidate.startswith(name))
    if 1 < len(longer) < 4:
        return f", did you mean {' or '.join(map(repr, longer))}?"
    close = get_close_matches(name, candidates, n=1, cutoff=0.6)
    return f", did you mean '{close[0]}'?" if close else ""


class _Scanner:
    """A position in one pipeline text; errors tell its column."""

    def __init__(self, text: str, source: str):
        self.text, self.source, self.at = text, source, 0

    def origin(self) -> str:
        return f"{self.source}:1:{self.at + 1}"

    def fail(self, message: str) -> typing.NoReturn:
        raise GraphEngineError(f"{self.origin()}: error: {message}")

    def skip_blanks(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def take(self, mark: str) -> bool:
        if self.text.startswith(mark, self.at):
            self.at += len(mark)
            return True
        return False

    def word(self, what: str, stop: str) -> str:
        start = self.at
        while self.at < len(self.text) and not (self.text[self.at].isspace() or self.text[self.at] in stop):
            self.at += 1
        if self.at == start:
            self.fail(f"expected {what}")
        return self.text[start : self.at]

    def value(self) -> str:
        for quote in "\"'":
            if self.take(quote):
                end = self.text.find(quote, self.at)
                if end < 0:
                    self.fail(f"missing closing {quote}")
                start, self.at = self.at, end + 1
                return self.text[start:end]
        return self.word("an option value", "}")

    def options(self) -> dict[str, str]:
        """`x=1 y="a b" flag`, up to a closing brace or the end; a bare name means true."""
        found: dict[str, str] = {}
        while True:
            self.skip_blanks()
            if self.at == len(self.text) or self.text[self.at] == "}":
                return found
            key = self.word("an option name", "=}").replace("-", "_")
            if key in found:
                self.fail(f"option '{key}' is given twice")
            found[key] = self.value() if self.take("=") else "true"

    def passes(self, closing: str) -> list[PassSpec]:
        specs: list[PassSpec] = []
        while True:
            self.skip_blanks()
            origin = self.origin()
            name = self.word("a pass name", "{},()")
            if self.take("("):  # MLIR's nesting: builtin.module(...), func.func(...)
                specs += self.passes(")")
            elif self.take("{"):
                options = self.options()
                if not self.take("}"):
                    self.fail("expected '}'")
                specs.append(PassSpec(name, options, origin))
            else:
                specs.append(PassSpec(name, {}, origin))
            self.skip_blanks()
            if self.take(","):
                continue
            if closing and not self.take(closing):
                self.fail(f"expected ',' or '{closing}'")
            return specs


def parse_pipeline(text: str, source: str = "<pass-pipeline>") -> list[PassSpec]:
    """Parse `a{x=1 y=2,3},b`, also inside MLIR's `builtin.module(...)`. Raises GraphEngineError with the column."""
    scanner = _Scanner(text, source)
    specs = scanner.passes("")
    if scanner.at != len(text):
        scanner.fail("expected ',' and another pass")
    return specs


def parse_options(text: str, source: str) -> dict[str, str]:
    """Parse `x=1 y=2,3`, the text behind `--some-pass=`."""
    scanner = _Scanner(text, source)
    options = scanner.options()
    if scanner.at != len(text):
        scanner.fail("unexpected '}'")
    return options


def _convert(text: str, kind: Any) -> Any:
    """`text` as a value of the annotated type `kind`; ValueError says what was expected."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        if text == "none" and types.NoneType in arguments:
            return None
        return _convert(text, next(a for a in arguments if a is not types.NoneType))
    if origin is Literal:
        by_text = {str(a): a for a in arguments}
        if text not in by_text:
            raise ValueError(f"one of {', '.join(by_text)}{nearest(text, by_text)}")
        return by_text[text]
    if origin is tuple:
        return tuple(_convert(part, arguments[0]) for part in text.split(",") if part)
    if kind is bool:
        if text not in ("true", "false"):
            raise ValueError("true or false")
        return text == "true"
    try:
        return kind(text)
    except ValueError:
        raise ValueError({int: "an integer", float: "a number"}.get(kind, str(kind))) from None


def build_pass(spec: PassSpec, pass_class: type[ModulePass]) -> ModulePass:
    """The pass with its options converted to the types of its dataclass fields. Raises GraphEngineError."""
    return build_options(pass_class, spec.options, f"pass '{spec.name}'", spec.origin)


def build_options(kind: type[T], options: Mapping[str, str], owner: str, origin: str) -> T:
    """A dataclass from options as written, converted to the types of its fields.

    Raises GraphEngineError that leads with `origin` and says that `owner` lacks, needs or misunderstands an option.
    """
    kinds = typing.get_type_hints(kind)
    fields = {f.name: f for f in dataclasses.fields(cast(Any, kind)) if f.init and f.name != "name"}
    values: dict[str, Any] = {}
    for key, text in options.items():
        if key not in fields:
            known = f"; its options: {', '.join(fields)}" if fields else "; it has none"
            raise GraphEngineError(f"{origin}: error: {owner} has no option '{key}'{nearest(key, fields) or known}")
        try:
            values[key] = _convert(text, kinds[key])
        except ValueError as error:
            raise GraphEngineError(
                f"{origin}: error: option '{key}' of {owner} is '{text}', expected {error}"
            ) from None
    required = (dataclasses.MISSING, dataclasses.MISSING)
    missing = [n for n, f in fields.items() if (f.default, f.default_factory) == required and n not in values]
    if missing:
        raise GraphEngineError(f"{origin}: error: {owner} needs option '{missing[0]}'")
    return kind(**values)


def pass_text(body: ModulePass) -> str:
    """The pass as `parse_pipeline` reads it, with the options that differ from their defaults."""
    changed = options_text(body)
    return f"{body.name}{{{changed}}}" if changed else body.name


def options_text(body: Any) -> str:
    """The fields of a dataclass of options that differ from their defaults, as `parse_options` reads them."""
    return " ".join(
        f"{f.name}={_option_text(getattr(body, f.name))}"
        for f in dataclasses.fields(body)
        if f.init and f.name != "name" and getattr(body, f.name) != f.default
    )


def _option_text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    text = ",".join(map(str, cast(tuple[Any, ...], value))) if isinstance(value, tuple) else str(value)
    if text and not any(mark.isspace() or mark in "{}\"'" for mark in text):
        return text
    quote = "'" if '"' in text else '"'
    return f"{quote}{text}{quote}"
