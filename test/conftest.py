"""One thread of linear algebra a test process: `make test` runs one process a core, and they must not fight."""

import os

# Before numpy is imported; worker processes and the tools that tests start inherit it.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
