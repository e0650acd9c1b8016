"""Pipeline text: the grammar, typed options, and errors that say where and what is nearest."""

from dataclasses import dataclass, field
from typing import Literal

import pytest
from xdsl.passes import ModulePass

from graph_engine.errors import GraphEngineError
from graph_engine.pipelines.spec import PassSpec, build_pass, parse_options, parse_pipeline
from graph_engine.transforms.pass_base import GePass


@dataclass(frozen=True)
class Example(GePass):
    """A pass with one option of each kind."""

    name = "example"
    count: int = 1
    ratio: float = 0.5
    deep: bool = False
    soc: str = field(default="Ascend310P3", metadata={"help": "the chip"})
    axes: tuple[int, ...] = ()
    mode: Literal["all", "none"] = "all"
    cap: int | None = None

    def apply(self, ctx: object, op: object) -> None:
        pass


@dataclass(frozen=True)
class Needy(GePass):
    name = "needy"
    must: int

    def apply(self, ctx: object, op: object) -> None:
        pass


def pairs(text: str) -> list[tuple[str, dict[str, str]]]:
    return [(spec.name, spec.options) for spec in parse_pipeline(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", [("a", {})]),
        ("a{x=1 y=2,3},b", [("a", {"x": "1", "y": "2,3"}), ("b", {})]),
        (" a { x=1 } ".replace(" {", "{"), [("a", {"x": "1"})]),
        ("a{flag}", [("a", {"flag": "true"})]),
        ("a{in-shape=x:1,3,224 path=./my-soc.yaml}", [("a", {"in_shape": "x:1,3,224", "path": "./my-soc.yaml"})]),
        ("a{s=\"two words\" t='}'}", [("a", {"s": "two words", "t": "}"})]),
        ("builtin.module(a,func.func(b{x=1}),c)", [("a", {}), ("b", {"x": "1"}), ("c", {})]),
    ],
)
def test_grammar(text: str, expected: list[tuple[str, dict[str, str]]]):
    assert pairs(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a{x=1", "<pass-pipeline>:1:6: error: expected '}'"),
        ("a,,b", "<pass-pipeline>:1:3: error: expected a pass name"),
        ("a b", "<pass-pipeline>:1:3: error: expected ',' and another pass"),
        ("a{x=1 x=2}", "option 'x' is given twice"),
        ('a{x="1}', 'missing closing "'),
        ("builtin.module(a", "expected ',' or ')'"),
        ("", "expected a pass name"),
    ],
)
def test_syntax_errors(text: str, message: str):
    with pytest.raises(GraphEngineError) as caught:
        parse_pipeline(text)
    assert message in str(caught.value)


def test_options_take_the_types_of_the_fields():
    text = "count=3 ratio=0.25 deep soc=x.yaml axes=1,-2 mode=none cap=7"
    built = build_pass(PassSpec("example", parse_options(text, "--example")), Example)
    assert built == Example(3, 0.25, True, "x.yaml", (1, -2), "none", 7)
    assert build_pass(PassSpec("example", {"cap": "none"}), Example) == Example()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("cuont=1", "--example: error: pass 'example' has no option 'cuont', did you mean 'count'?"),
        ("zzz=1", "its options: count, ratio, deep, soc, axes, mode, cap"),
        ("count=1.5", "option 'count' of pass 'example' is '1.5', expected an integer"),
        ("ratio=a", "expected a number"),
        ("deep=yes", "expected true or false"),
        ("mode=nine", "expected one of all, none, did you mean 'none'?"),
        ("axes=1,b", "expected an integer"),
    ],
)
def test_option_errors(options: str, message: str):
    with pytest.raises(GraphEngineError) as caught:
        build_pass(PassSpec("example", parse_options(options, "--example"), "--example"), Example)
    assert message in str(caught.value)


def test_required_option():
    with pytest.raises(GraphEngineError, match="needs option 'must'"):
        build_pass(PassSpec("needy"), Needy)
    assert isinstance(build_pass(PassSpec("needy", {"must": "1"}), Needy), ModulePass)
