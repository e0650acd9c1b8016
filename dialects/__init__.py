"""The IR: `ge`, `layout` and `ascend` dialects."""
