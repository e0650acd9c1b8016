"""The ge-translate command."""
