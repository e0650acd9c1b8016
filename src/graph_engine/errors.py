"""The one exception whose message is meant for the user; tools print it on one line and exit with 1."""


class GraphEngineError(Exception):
    """A problem in the user's input: what, where, and what to do, in one message."""
