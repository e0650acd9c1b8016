"""What the documentation takes from the code is up to date, and its links lead somewhere."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_generated_pages_are_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None and spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    stale = [str(path.relative_to(ROOT)) for path in generate.outdated()]
    assert not stale, f"run `make docs`: out of date are {', '.join(stale)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)]
    local = [target for target in targets if target and "://" not in target]
    missing = [target for target in local if not (page.parent / target).exists()]
    assert not missing, f"{page.name} links to {', '.join(missing)}"


def test_every_page_can_be_reached_from_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in PAGES if (ROOT / "docs") in path.parents]
    missing = [page for page in pages if page != "index.md" and f"({page})" not in index]
    assert not missing, f"docs/index.md does not link to {', '.join(missing)}"


def test_every_flag_of_the_tools_is_described() -> None:
    from graph_engine.tools.ge_bisect.main import make_parser as ge_bisect
    from graph_engine.tools.ge_opt.main import make_parser as ge_opt
    from graph_engine.tools.ge_run.main import make_parser as ge_run
    from graph_engine.tools.ge_translate.main import make_parser as ge_translate

    page = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
    sections = {name: text for name, text in re.findall(r"^## (ge-\w+)\n(.*?)(?=^## |\Z)", page, flags=re.S | re.M)}
    tools = {"ge-opt": ge_opt, "ge-translate": ge_translate, "ge-run": ge_run, "ge-bisect": ge_bisect}
    for name, make_parser in tools.items():
        flags = {flag for action in make_parser()._actions for flag in action.option_strings} - {"--pass-flag"}
        missing = [flag for flag in sorted(flags) if f"`{flag}" not in sections[name]]
        assert not missing, f"docs/tools.md, {name}: {', '.join(missing)}"
