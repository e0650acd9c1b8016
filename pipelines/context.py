"""The xDSL context of all tools: our dialects and the plugins', each imported when its first name is met."""

from __future__ import annotations

from functools import partial

from xdsl.context import Context

from graph_engine.pipelines.registry import all_dialects, load_dialect


def make_context() -> Context:
    """A context that knows every dialect and has loaded only `builtin`."""
    context = Context()
    for name in all_dialects():
        context.register_dialect(name, partial(load_dialect, name))
    context.load_registered_dialect("builtin")
    return context
