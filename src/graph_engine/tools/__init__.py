"""Thin command lines: ge-opt, ge-translate, ge-run."""
