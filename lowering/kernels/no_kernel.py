"""The reason why an operator gets no kernel and runs on the AI CPU instead."""


class NoKernel(Exception):
    """Raised by a kernel builder that cannot serve an operator; the message says what is missing."""
