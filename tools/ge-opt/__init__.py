"""The ge-opt command."""
