"""Which models of a folder are warned of before fp16, without a sample: import, passes and the check alone, in one process.

    python bench/fp16_warnings.py FOLDER [--only PATTERN]

A line for each warning, and at the end how many models have each kind. A tenth of the time of `model_sweep.py --fp16`,
which counts them too and says of which models fp16 leaves the bound.
"""

from __future__ import annotations

import argparse
import fnmatch
from collections import Counter
from pathlib import Path

from corpus_models import bindings, commit, hints, load
from fp16_error import computed


def main() -> None:
    """Prints the warnings."""
    from graph_engine.frontend_onnx.importer import import_onnx

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="*", help="pattern of model names")
    options = parser.parse_args()
    models = warned = warnings = 0
    kinds: Counter[str] = Counter()
    for path in sorted(p for p in options.folder.iterdir() if p.name.endswith((".onnx", ".onnx.xz"))):
        name = path.name.removesuffix(".xz").removesuffix(".onnx")
        if not fnmatch.fnmatch(name, options.only):
            continue
        model = load(path, options.folder)
        shapes, values, _ = bindings(model, hints(path, options.folder))
        free = {key: shape for key, shape in shapes.items() if key not in values}
        remarks, _ = computed(import_onnx(model, free, bindings=values), {}, run=False)
        models, warned, warnings = models + 1, warned + bool(remarks), warnings + len(remarks)
        kinds.update({remark.name for remark in remarks})
        for remark in remarks:
            print(f"{name}: {remark.name}: {remark}", flush=True)
    print(f"\n{warned} of {models} models have {warnings} warnings without a sample, at commit {commit()}")
    for kind, count in kinds.most_common():
        print(f"{count:>4}  {kind}")


if __name__ == "__main__":
    main()
