"""Writes what the documentation takes from the code: the pass list, the dialect list, and every `console` block.

    python docs/generate.py           # rewrite what is out of date
    python docs/generate.py --check   # exit 1 and name what is out of date

`passes.md` and `dialects.md` are written whole. In the other pages and in README.md each block fenced as `console`
starts with a command line of our tools; its output is replaced by what the command prints now, and tables marked
`<!-- table: NAME -->` are filled. The commands run in a folder that holds the network of `example.py` in all its forms. A comment `<!-- only: TEXT -->` above a block keeps the
operation whose first line holds TEXT, `<!-- only: TEXT | bare -->` without the types of instructions as well, `| folded`
with views written where they are used; `A > B` keeps B inside A. Long
constants and digests are shortened to `...`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import importlib.util
import inspect
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
WIDTH = 100
SETUP = (
    "ge-translate --onnx-to-mlir tiny.onnx -o tiny.mlir",
    "ge-opt --default-pipeline='soc=Ascend310P3' tiny.mlir -o tiny.tasks.mlir",
    "ge-translate --mlir-to-om tiny.tasks.mlir -o tiny.om",
)
GENERATED = "<!-- Written by docs/generate.py from the code; do not edit. -->"
CONSOLE = re.compile(
    r"(?:<!-- only: (?P<only>.*?)(?P<form> \| (?:bare|folded))? -->\n)?```console\n\$ (?P<command>[^\n]+)\n(?P<output>.*?)```",
    re.S,
)


# Docstrings to Markdown.


def markdown(text: str) -> str:
    """A docstring as Markdown: indented or operator-like paragraphs become MLIR blocks."""
    parts: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        lines = paragraph.split("\n")
        code = all(line.startswith("    ") for line in lines) or lines[0].startswith("%")
        parts.append(f"```mlir\n{textwrap.dedent(paragraph)}\n```" if code else textwrap.dedent(paragraph))
    return "\n\n".join(parts)


def own_doc(cls: type[Any]) -> str:
    """The docstring that a class states itself; dataclasses invent one."""
    text = inspect.cleandoc(cls.__dict__.get("__doc__") or "")
    return "" if text.startswith(f"{cls.__name__}(") else text


def cell(text: str) -> str:
    """Text as the content of a table cell."""
    return " ".join(text.split()).replace("|", "\\|")


# passes.md


def passes_page() -> str:
    """One section a pass, in the order of the default pipeline."""
    from graph_engine.pipelines.default import DEFAULT, Phase
    from graph_engine.pipelines.registry import PASSES, help_line

    phase_of = {text.partition("{")[0]: phase.title for phase, text in DEFAULT}
    lines = [GENERATED, "", "# Passes", ""]
    lines += ["`ge-opt --NAME` runs one of these, `ge-opt --help-pass=NAME` shows the same text. The default pipeline"]
    lines += ["(`ge-opt --default-pipeline`, list in `pipelines/default.py`) runs them in this order.", ""]
    lines += ["| phase | what holds at its end | passes |", "|---|---|---|"]
    for phase in Phase:
        names = [f"[`{name}`](#{name})" for name, title in phase_of.items() if title == phase.title]
        lines.append(f"| {phase.title} | {cell(phase.value)} | {', '.join(names) or '-'} |")
    for name, target in PASSES.items():
        module_name, class_name = target.split(":")
        module = importlib.import_module(module_name)
        file = module_name.removeprefix("graph_engine.").replace(".", "/") + ".py"
        where = f"phase `{phase_of[name]}`" if name in phase_of else "not in the default pipeline"
        doc = inspect.getdoc(module) or ""
        lines += ["", f"## {name}", "", help_line(name), "", f"[`{file}`](../{file}), {where}."]
        rest = doc.partition("\n")[2]
        lines += ["", markdown(rest)] if rest.strip() else []
        lines += patterns_table(module)
        lines += options_table(getattr(module, class_name))
    return "\n".join(lines) + "\n"


def patterns_table(module: Any) -> list[str]:
    """The rewrite patterns that a pass file defines, by the names that `--timing` counts."""
    from graph_engine.transforms.driver import Pattern

    own = [
        item
        for item in vars(module).values()
        if inspect.isclass(item)
        and issubclass(item, Pattern)
        and item.__module__ == module.__name__
        and not inspect.isabstract(item)
    ]
    found = list(dict.fromkeys([*getattr(module, "PATTERNS", ()), *own]))
    if not found:
        return []
    return ["", "| pattern | rewrites |", "|---|---|", *(f"| {p.name} | {cell(own_doc(p))} |" for p in found)]


def options_table(pass_class: Any) -> list[str]:
    """The options of a pass."""
    options = [field for field in dataclasses.fields(pass_class) if field.init and field.name != "name"]
    if not options:
        return []
    rows = ["", "| option | default | |", "|---|---|---|"]
    for option in options:
        default = str(option.default).lower() if isinstance(option.default, bool) else option.default
        rows.append(f"| `{option.name}` | `{default}` | {cell(str(option.metadata.get('help', '')))} |")
    return rows


# dialects.md


def dialects_page() -> str:
    """All operators and attributes, by dialect and file."""
    from graph_engine.dialects.ascend.dialect import ASCEND
    from graph_engine.dialects.ge.dialect import GE
    from graph_engine.dialects.layout import LAYOUT

    lines = [GENERATED, "", "# Dialects", ""]
    lines += [
        "Every operator and attribute, with the text that stands in the code. Optional operands are in [brackets],"
    ]
    lines += ["variadic ones end in `...`; properties show their defaults. Examples: [ge](ir_ge.md),"]
    lines += ["[layout](ir_fused_precision_layout.md), [kernels](ir_kernels.md), [tasks](ir_tasks.md)."]
    for dialect in (GE, LAYOUT, ASCEND):
        lines += ["", f"## {dialect.name}"]
        attributes = [attribute for attribute in dialect.attributes if own_doc(attribute)]
        lines += ["", "| attribute | |", "|---|---|"]
        lines += [f"| `#{attribute.name}` | {cell(own_doc(attribute))} |" for attribute in attributes]
        files: dict[str, list[Any]] = {}
        for operation in dialect.operations:
            files.setdefault(operation.__module__, []).append(operation)
        for module_name, operations in files.items():
            file = module_name.removeprefix("graph_engine.").replace(".", "/") + ".py"
            doc = inspect.getdoc(importlib.import_module(module_name)) or ""
            title = doc.partition("\n")[0]
            lines += ["", f"### {title if title.endswith('.') else title + ' ...'}", "", f"[`{file}`](../{file})"]
            for operation in operations:
                lines += ["", signature(operation), "", own_doc(operation)]
                lines += facts(operation)
    return "\n".join(lines) + "\n"


def signature(operation: Any) -> str:
    """**name** operands {properties} -> results."""
    from xdsl.irdl import OptOperandDef, VarOperandDef

    definition = operation.get_irdl_definition()
    operands: list[str] = []
    for name, operand in definition.operands:
        optional = f"[{name}]" if isinstance(operand, OptOperandDef) else f"{name}..."
        operands.append(optional if isinstance(operand, VarOperandDef | OptOperandDef) else name)
    properties = []
    for name, property_ in definition.properties.items():
        if name.endswith("SegmentSizes"):
            continue
        default = property_.default_value
        properties.append(f"{name} = {default_text(default)}" if default is not None else name)
    text = " ".join(filter(None, (operation.name, ", ".join(operands))))
    return f"**`{text}`**" + (f" `{{{', '.join(properties)}}}`" if properties else "")


def default_text(attribute: Any) -> str:
    """A default value in the bare form of the `ge` assembly."""
    from graph_engine.dialects.ge.properties import python_value

    try:
        value = python_value(attribute)
    except TypeError:
        return str(attribute)
    if isinstance(value, float):
        return f"{value:.7g}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def facts(operation: Any) -> list[str]:
    """Traits and reference of a `ge` operator, opcode of an instruction."""
    from graph_engine.dialects.ascend.instruction import InstructionOp
    from graph_engine.dialects.ge.core import GeOp
    from graph_engine.target_ascend.isa.specs import SPECS

    if issubclass(operation, GeOp) and operation.TRAITS:
        return ["", f"Traits: {', '.join(sorted(trait.name.lower() for trait in operation.TRAITS))}."]
    if issubclass(operation, InstructionOp):
        return ["", f"Instruction: {SPECS[operation.OPCODE].mnemonic}."]
    return []


# Tables inside pages.


def assumed_values() -> str:
    """Every value of the chip file that is not published for the chip itself."""
    from graph_engine.target_ascend.soc.soc import load_soc

    soc = load_soc("Ascend310P3")
    lines = [
        f"{soc.validity.note()}.",
        "",
        "| key | value | taken from | why, or what else is known |",
        "|---|---|---|---|",
    ]
    for assumption in soc.validity.assumptions:
        origin = f"{assumption.assumed_from} ({assumption.source})" if assumption.assumed_from else "-"
        value = ", ".join(map(str, assumption.value)) if isinstance(assumption.value, tuple) else assumption.value
        lines.append(f"| `{assumption.key}` | {value} | {origin} | {cell(assumption.reason)} |")
    return "\n".join(lines)


def chips() -> str:
    """The chips of the package, as `--list-socs` shows them."""
    from graph_engine.target_ascend.soc.soc import chip_table

    head, *rows = chip_table()
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def ge_families() -> str:
    """The operators of `ge` by the file that they stand in."""
    from graph_engine.dialects.ge.dialect import GE

    lines = ["| file in `dialects/ge` | operators of `ge` |", "|---|---|"]
    files: dict[str, list[str]] = {}
    for operation in GE.operations:
        files.setdefault(operation.__module__.rpartition(".")[2], []).append(operation.name.removeprefix("ge."))
    lines += [f"| `{file}` | {' '.join(f'`{name}`' for name in sorted(names))} |" for file, names in files.items()]
    return "\n".join(lines)


def onnx_domains() -> str:
    """The ONNX operators with a converter, or computed by the importer itself, in each domain."""
    from graph_engine.frontend_onnx.folding import FOLDS
    from graph_engine.frontend_onnx.importer import CONVERTERS

    domains: dict[str, set[str]] = {}
    for name in {*CONVERTERS, *FOLDS, "Constant"}:
        domain, _, operator = name.rpartition(":")
        domains.setdefault(domain or "ai.onnx", set()).add(operator)
    lines = ["| domain | operators |", "|---|---|"]
    for domain, names in sorted(domains.items()):
        shown = f"{len(names)}: [all of them](onnx_operators.md#operators)"
        lines.append(f"| `{domain}` | {shown if domain == 'ai.onnx' else ', '.join(sorted(names))} |")
    return "\n".join(lines)


TABLES = {"assumed-values": assumed_values, "chips": chips, "ge-families": ge_families, "onnx-domains": onnx_domains}
TABLE = re.compile(r"<!-- table: (?P<name>\S+) -->\n.*?<!-- end -->", re.S)


def with_tables(page: str) -> str:
    """The page with the content of every `<!-- table: NAME --> ... <!-- end -->` as it is now."""
    return TABLE.sub(lambda m: f"<!-- table: {m['name']} -->\n{TABLES[m['name']]()}\n<!-- end -->", page)


# Console blocks.


@contextlib.contextmanager
def example_folder() -> Iterator[None]:
    """Inside the block, the working folder holds the example network in all its forms."""
    spec = importlib.util.spec_from_file_location("docs_example", DOCS / "example.py")
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    import onnx

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        onnx.save(example.tiny(), "tiny.onnx")
        onnx.save(example.chain(), "chain.onnx")
        for file in (*(DOCS.parent / "test" / "plugins").glob("*.py"), *DOCS.glob("*.json"), *DOCS.glob("*.mlir")):
            shutil.copy(file, file.name)
        for command in SETUP:
            run(command)
        Path("broken.mlir").write_text(without_a_flag(Path("tiny.tasks.mlir").read_text()))
        yield


def without_a_flag(tasks: str) -> str:
    """The program of the example, but the Cube of the classifier does not wait for its operands."""
    head, kernel, rest = tasks.partition("ascend.kernel @matmul_0(")
    return head + kernel + re.sub(r"\n[^\n]*flag \[MTE1 -> M\][^\n]*", "", rest, count=2)


def run(command: str) -> str:
    """What one command line of our tools prints, on both streams; `| head -N` is understood."""
    from graph_engine.pipelines.registry import forget_plugins

    command, _, head = command.partition(" | head -")
    name, *arguments = shlex.split(command)
    main = importlib.import_module(f"graph_engine.tools.{name.replace('-', '_')}.main").main
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(WIDTH)
    stream = io.StringIO()
    try:
        with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
            main(arguments)
    except SystemExit:
        pass
    finally:
        forget_plugins()
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    return "\n".join(lines[: int(head)] if head else lines)


def shortened(text: str) -> str:
    """Digests and long constants as `...`."""
    text = re.sub(r'sha256 = "([0-9a-f]{4})[0-9a-f]{60}"', r'sha256 = "\1..."', text)
    return re.sub(r"dense<\[[^>]{40,}?\]>", "dense<[...]>", text)


def only(output: str, wanted: str) -> str:
    """The operation whose first line holds `wanted`, up to the closing brace of the same depth, dedented."""
    lines = output.split("\n")
    start = next((i for i, line in enumerate(lines) if wanted in line), None)
    if start is None:
        raise SystemExit(f"error: nothing in the output holds {wanted!r}")
    depth = len(lines[start]) - len(lines[start].lstrip())
    end = start + 1
    if lines[start].rstrip().endswith("{"):
        while not lines[end].startswith(" " * depth + "}"):
            end += 1
        end += 1
    return textwrap.dedent("\n".join(lines[start:end]))


def bare(output: str) -> str:
    """A kernel without strides, source types of views and types of instructions."""
    output = re.sub(r", strided<\[[^\]]*\], offset: \?>", "", output)
    output = re.sub(r"(ascend\.view .*?) : memref<[^>]*> to ", r"\1 : ", output)
    return re.sub(r"(ascend\.(?:mte|cube|vec)\..*?) : .*memref<[^>]*>", r"\1", output)


def folded(output: str) -> str:
    """A bare kernel with views written where they are used, `%x_l1[%k * 768]`, and buffers under their own names."""
    names: dict[str, str] = {}
    arguments: set[str] = set()
    lines: list[str] = []
    for line in output.split("\n"):
        if line.lstrip().startswith("ascend.kernel "):
            names.clear()
            arguments = set(re.findall(r"%(\w+): memref", line))
        line = re.sub(r"%\w+", lambda m: names.get(m[0], m[0]), line)
        if made := re.match(r"\s*(%\w+) = ascend\.alloc \"(\w+)\".*#ascend\.(\w+)>", line):
            names[made[1]] = f"%{made[2]}_{made[3]}" if made[2] in arguments else f"%{made[2]}"
            lines.append(line.replace(made[1], names[made[1]], 1))
        elif view := re.match(r"\s*(%\w+) = ascend\.view (\S+?)\[(.*)\] : ", line):
            names[view[1]] = view[2] if view[3] == "0" else f"{view[2]}[{view[3]}]"
        else:
            lines.append(line)
    return "\n".join(lines)


def with_outputs(page: str) -> str:
    """The page with the output of every console block as it is now."""

    def renewed(match: re.Match[str]) -> str:
        output = shortened(run(match["command"]))
        comment = ""
        if match["only"]:
            output = bare(output) if match["form"] else output
            output = folded(output) if match["form"] == " | folded" else output
            for wanted in match["only"].split(" > "):
                output = only(output, wanted)
            comment = f"<!-- only: {match['only']}{match['form'] or ''} -->\n"
        output += "\n" if output else ""
        return f"{comment}```console\n$ {match['command']}\n{output}```"

    return CONSOLE.sub(renewed, page)


def pages() -> dict[Path, str]:
    """Every page that holds something generated, as it should be."""
    wanted = {DOCS / "passes.md": passes_page(), DOCS / "dialects.md": dialects_page()}
    with example_folder():
        for path in (DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))):
            text = path.read_text(encoding="utf-8") if path not in wanted else ""
            if CONSOLE.search(text) or TABLE.search(text):
                wanted[path] = with_tables(with_outputs(text))
    return wanted


def outdated() -> list[Path]:
    """The pages that differ from what the code says now."""
    return [path for path, text in pages().items() if not path.exists() or path.read_text(encoding="utf-8") != text]


def main() -> int:
    """Rewrites, or with --check only names, the pages that are out of date."""
    check = "--check" in sys.argv[1:]
    stale = False
    for path, text in pages().items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale = True
        print(f"{path.relative_to(DOCS.parent)} {'is out of date: run make docs' if check else 'rewritten'}")
        if not check:
            path.write_text(text, encoding="utf-8")
    return int(check and stale)


if __name__ == "__main__":
    raise SystemExit(main())
