"""Which kernel an operator gets: one file a kernel family, each reading the operator's own description."""
