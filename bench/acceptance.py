"""The acceptance of the light networks on many inputs, with a seed other than the tests' own.

    python bench/acceptance.py [--seed 1000] [--inputs 8] [--batches 1,4] [--networks resnet50,squeezenet] [--check]

For each network, batch and input: logits and at least ten inner tensors on the chip beside onnxruntime in fp32 (see
test/harness/agreement.py for the bound). Prints the worst tensor of each input and exits 1 if any is out of bound.
`--check` runs the first input of each in checking mode as well. `--mutants` shows instead that each faulty compiler of
test/harness/mutants.py is caught on the network.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))

import pytest
from harness.agreement import OF_RANGE, TIMES_ROUNDING, Agreement, Network, kernel_results, misses
from harness.mutants import MUTANTS
from models.light import light_model, random_inputs

from graph_engine.dialects.ge.weights import clear_materialized

INNER = 12

WITHOUT = {"dropped_residual": ("squeezenet", "vgg19"), "dropped_shift": ("squeezenet", "vgg19")}
"""Networks in which a mutant finds nothing to spoil."""


def worst(found: list[Agreement]) -> str:
    """The largest share of the bound, of the range, and the smallest cosine."""
    by_rounding = max(found, key=lambda a: a.error / a.rounding_error)
    by_range = max(found, key=lambda a: a.error)
    return (
        f"{found[0].error:>10.5f}{by_range.error:>10.5f} of {OF_RANGE} ({by_range.name})"
        f"{by_rounding.error / by_rounding.rounding_error:>7.2f}x of {TIMES_ROUNDING:.0f}x ({by_rounding.name})"
        f"  cosine {min(a.cosine for a in found):.6f}"
    )


def accept(name: str, batch: int, seed: int, inputs: int, check: bool) -> bool:
    """One network at one batch on all inputs; whether all are within the bound and checking mode is silent."""
    model = light_model(name, seed=seed, batch=batch)
    network = Network.of(model, kernel_results(model, INNER))
    good = True
    for number in range(inputs):
        feeds = random_inputs(model, seed + number, batch=batch)
        found, result = network.compare(feeds, mode="functional", check=check and number == 0)
        out = misses(found)
        good &= not out and not result.findings
        word = "ok" if not out else f"OUT OF BOUND: {', '.join(a.name for a in out)}"
        if check and number == 0:
            word += f", {len(result.findings)} findings"
        print(f"{name:<12}{batch:>6}{number:>6}{worst(found)}  {word}", flush=True)
    return good


def catch(name: str, seed: int) -> bool:
    """Whether every mutant fails on the network at batch 1."""
    model = light_model(name, seed=seed)
    inner = kernel_results(model, INNER)
    good = True
    for mutant, patch in MUTANTS.items():
        with pytest.MonkeyPatch.context() as context:
            clear_materialized()
            patch(context)
            out = misses(Network.of(model, inner).compare(random_inputs(model, seed), mode="functional")[0])
        clear_materialized()
        verdict = f"caught by {len(out)} of {1 + len(inner)} tensors" if out else "NOT CAUGHT"
        if name in WITHOUT.get(mutant, ()):
            verdict = "the network has nothing of the kind"
        else:
            good &= bool(out)
        print(f"{name:<12}{mutant:<20}{verdict}", flush=True)
    return good


def main() -> None:
    """Prints the table; exit code 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--inputs", type=int, default=8)
    parser.add_argument("--batches", default="1,4")
    parser.add_argument("--networks", default="resnet50,squeezenet")
    parser.add_argument("--check", action="store_true", help="checking mode for the first input of each")
    parser.add_argument("--mutants", action="store_true", help="faulty compilers instead of the right one")
    options = parser.parse_args()
    networks = options.networks.split(",")
    start = time.process_time()
    if options.mutants:
        good = all([catch(name, options.seed) for name in networks])
    else:
        print(
            f"{'network':<12}{'batch':>6}{'input':>6}{'logits':>10}{'worst error of range':>32}{'beside rounding':>27}"
        )
        batches = [int(batch) for batch in options.batches.split(",")]
        good = all(
            [accept(name, batch, options.seed, options.inputs, options.check) for name in networks for batch in batches]
        )
    print(f"{'all good' if good else 'NOT ACCEPTED'}; {time.process_time() - start:.0f} s CPU")
    raise SystemExit(not good)


if __name__ == "__main__":
    main()
