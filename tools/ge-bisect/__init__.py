"""The ge-bisect command."""
