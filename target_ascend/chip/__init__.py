"""Memories, functional engine, timing engine, checker."""
