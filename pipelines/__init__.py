"""The default pipeline, its phases and the pass registry."""
