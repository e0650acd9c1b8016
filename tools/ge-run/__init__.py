"""The ge-run command."""
