"""Passes from `ge` to `ge`, one a file."""
