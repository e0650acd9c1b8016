"""The pass, the plug-in and the lit test of docs/write_a_pass.md work as printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "write_a_pass.md"


def run(folder: Path, *command: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """A command of the test's own Python, with the plug-in installed."""
    program, *arguments = command
    environment = os.environ | {"PYTHONPATH": str(folder)}
    path = str(Path(sys.executable).parent / program)
    return subprocess.run(
        [path, *arguments], cwd=folder, env=environment, capture_output=True, text=True, input=text, check=False
    )


def test_page(tmp_path: Path) -> None:
    files: dict[str, list[str]] = {}
    for name, body in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE.read_text(), flags=re.S):
        files.setdefault(name, []).append(body)
    for name, bodies in files.items():
        (tmp_path / name).write_text("\n".join(bodies))
    group, entry = re.search(r"\[project\.entry-points\.\"(\S+)\"\]\n(.*?)\n", PAGE.read_text()).groups()
    metadata = tmp_path / "mine-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{group}]\n{entry.replace(chr(34), '')}\n")

    listed = run(tmp_path, "ge-opt", "--help")
    assert "Remove a ReLU whose operand is a ReLU already." in listed.stdout

    first = (tmp_path / "drop_double_relu.mlir").read_text().split("\n")[0]
    flags = re.search(r"ge-opt (.*) %s \|", first)[1].split()
    result = run(tmp_path, "ge-opt", *flags, "drop_double_relu.mlir")
    assert result.returncode == 0 and not result.stderr, result.stderr
    checked = run(tmp_path, "filecheck", "drop_double_relu.mlir", text=result.stdout)
    assert checked.returncode == 0, checked.stderr + checked.stdout
