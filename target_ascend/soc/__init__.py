"""Chip descriptions, one YAML file a SoC."""
