"""What no single value of a chip file can say: numbers and names that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator

from graph_engine.target_ascend.soc.soc import BEHAVIOURS, Soc

_ON_CHIP = ("l0a", "l0b", "l0c", "l1", "ub", "bt", "fb")
_COUPLED_PATHS = ("ub->l1", "l0c->ub")


def contradictions(soc: Soc) -> Iterator[tuple[str, str]]:
    """(key, what is wrong) of every contradiction; the parts of a key are joined by slashes."""
    yield from _buffers(soc)
    yield from _paths(soc)
    yield from _behaviours(soc)
    yield from _types(soc)
    yield from _img2col(soc)


def _buffers(soc: Soc) -> Iterator[tuple[str, str]]:
    for name in ("l0a", "l0b", "l0c", "l1", "ub", "l2"):
        if name not in soc.buffers:
            yield "buffers", f"{name} is missing"
        elif soc.buffers[name] == 0:
            yield f"buffers/{name}", "must be positive"
    for name in ("gm", "tensor", *(space for space in _ON_CHIP if space in soc.buffers)):
        if name not in soc.alignment:
            yield "alignment", f"{name} is missing"
    level2 = soc.buffers.get("l2", 0)
    for name in _ON_CHIP:
        size, unit = soc.buffers.get(name, 0), soc.alignment.get(name, 1)
        if size > level2 > 0:
            yield f"buffers/{name}", f"{size} bytes are more than the L2's {level2}"
        if unit and size % unit:
            yield f"buffers/{name}", f"{size} bytes are no multiple of its alignment, {unit}"
    if level2 > soc.ddr.size_bytes:
        yield "buffers/l2", f"{level2} bytes are more than the device memory's {soc.ddr.size_bytes}"


def _paths(soc: Soc) -> Iterator[tuple[str, str]]:
    for name, path in soc.paths.items():
        if path.pipe not in soc.pipes:
            yield f"paths/{name}/pipe", f"{path.pipe} is not one of the pipes {', '.join(soc.pipes)}"
        ends, _, level = name.partition("@")
        if "gm" in ends.split("->") and level not in ("l2", "ddr"):
            yield f"paths/{name}", "a path to device memory ends in @l2 or @ddr"
        if level == "ddr" and (near := soc.paths.get(f"{ends}@l2")) and near.bytes_per_cycle < path.bytes_per_cycle:
            yield (
                f"paths/{name}/bytes_per_cycle",
                f"{path.bytes_per_cycle} bytes from device memory are more than the {near.bytes_per_cycle} from L2",
            )
    for ends in ("gm->l1", "gm->ub", "ub->gm"):
        for level in ("l2", "ddr"):
            if f"{ends}@{level}" not in soc.paths:
                yield "paths", f"{ends}@{level} is missing"


def _behaviours(soc: Soc) -> Iterator[tuple[str, str]]:
    if len({"coupled", "split"} & set(soc.behaviours)) != 1:
        yield "behaviours", "a chip is either coupled or split"
    if soc.has("split") and not soc.sync.cross_flags:
        yield "sync/cross_flags", "split cores meet at flags between cores; there must be some"
    if soc.has("split") and soc.cores.aiv == 0:
        yield "cores/aiv", "a split chip has Vector cores"
    if soc.has("split") and not soc.has("fixpipe"):
        yield "behaviours", f"a split chip has no way out of L0C without fixpipe; behaviours: {', '.join(BEHAVIOURS)}"
    if soc.has("fixpipe") != ("FIX" in soc.pipes):
        yield "pipes", "there is a pipe FIX where, and only where, the behaviours name fixpipe"
    if soc.has("fixpipe") and not {"l0c->gm@l2", "l0c->gm@ddr", "l1->bt"} <= set(soc.paths):
        yield "paths", "fixpipe needs l0c->gm@l2, l0c->gm@ddr and l1->bt"
    if soc.has("fixpipe") and "bt" not in soc.buffers:
        yield "buffers", "bt is missing, which fixpipe needs"
    if "fb" in soc.buffers and "l1->fb" not in soc.paths:
        yield "paths", "l1->fb is missing, which fills the buffer fb"
    if soc.has("direct") and not (soc.has("split") and "l0c->ub" in soc.paths):
        yield "behaviours", "direct belongs to a split chip with a path l0c->ub"
    if soc.has("coupled"):
        for path in _COUPLED_PATHS:
            if path not in soc.paths:
                yield "paths", f"{path} is missing, which a coupled chip has"


def _types(soc: Soc) -> Iterator[tuple[str, str]]:
    for product in soc.instructions.get("mmad", ()):
        left = product.partition(" x ")[0]
        if left not in soc.cube.tile:
            yield "cube/tile", f"{left} is missing, which instructions.mmad multiplies"
    if "f16" in soc.c0 and "f16" in soc.cube.tile and soc.c0["f16"] != soc.cube.tile["f16"][1]:
        yield "c0/f16", f"{soc.c0['f16']} is not the Cube's K of f16, {soc.cube.tile['f16'][1]}"


def _img2col(soc: Soc) -> Iterator[tuple[str, str]]:
    slowed = soc.load3d.slowed
    if slowed and set(slowed) != {"several_taps", "least"}:
        yield "load3d/slowed", f"has several_taps and least, or nothing; found {', '.join(slowed)}"
