"""Loads an OM file and runs its task streams."""
