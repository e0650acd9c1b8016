"""Profile object, text summary, trace, CSV."""
