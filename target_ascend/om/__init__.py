"""The OM container."""
