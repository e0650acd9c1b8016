"""The instruction set: data model and binary encoding."""
