"""The modelled chip: description, instruction set, container, engines, runtime, profile."""
