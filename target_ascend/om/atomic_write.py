"""All-or-nothing output files: a reader never sees half of one, and a failure leaves the old one."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from graph_engine.errors import GraphEngineError


def write_atomically(path: str | os.PathLike[str], write: Callable[[BinaryIO], object]) -> None:
    """Calls `write` with a seekable binary file whose content becomes `path` if it returns, and only then.

    A device or pipe (/dev/null) is written to and not replaced. Raises GraphEngineError if that is impossible.
    """
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            _write_special(target, write)
            return
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
        try:
            with open(temporary, "xb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as problem:
        raise GraphEngineError(f"cannot write {path}: {problem.strerror or problem}") from problem


def _write_special(target: Path, write: Callable[[BinaryIO], object]) -> None:
    """Writes to a device or pipe, which cannot seek and must not be replaced by a file (/dev/null)."""
    with open(target, "wb") as device, tempfile.TemporaryFile() as file:
        write(file)
        file.seek(0)
        shutil.copyfileobj(file, device)
