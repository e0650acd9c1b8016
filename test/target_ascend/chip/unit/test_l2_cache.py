"""The L2 of the timing model against a list of lines kept by hand."""

from hypothesis import given, settings
from hypothesis import strategies as st

from graph_engine.target_ascend.chip.l2 import PAGE_BYTES, L2Cache


def read(cache: L2Cache, address: int, length: int) -> tuple[int, int]:
    return cache.touch(address // PAGE_BYTES, cache.footprint(address, [(0, length)]), False)


def write(cache: L2Cache, address: int, length: int) -> tuple[int, int]:
    return cache.touch(address // PAGE_BYTES, cache.footprint(address, [(0, length)]), True)


def test_lines_are_fetched_once():
    cache = L2Cache(1 << 20, 512)
    assert read(cache, 0, 4096) == (8, 0)
    assert read(cache, 2048, 4096) == (4, 0)
    assert read(cache, 100, 512) == (0, 0)
    assert read(cache, 6144 + 511, 2) == (2, 0)


def test_writes_allocate_without_a_fetch():
    cache = L2Cache(1 << 20, 512)
    assert write(cache, 0, 65536) == (0, 0)
    assert read(cache, 0, 65536) == (0, 0)


def test_the_least_recently_used_page_goes_and_is_written_back():
    cache = L2Cache(2 * PAGE_BYTES, 512)
    write(cache, 0, 1024)
    read(cache, PAGE_BYTES, 512)
    read(cache, 0, 512)
    assert read(cache, 2 * PAGE_BYTES, 512) == (1, 0)  # page 1 goes, it is clean
    assert read(cache, 3 * PAGE_BYTES, 512) == (1, 2)  # page 0 goes with its two written lines
    assert read(cache, 0, 512) == (1, 0)


def test_forgotten_pages_are_fetched_again():
    cache = L2Cache(1 << 20, 512)
    write(cache, 0, 512)
    cache.forget(0, 0)
    assert read(cache, 0, 512) == (1, 0)
    cache.clear()
    assert read(cache, 0, 512) == (1, 0)


@settings(deadline=None)
@given(
    st.integers(0, 1 << 20), st.lists(st.tuples(st.integers(0, 4000), st.integers(1, 200_000)), min_size=1, max_size=5)
)
def test_footprint_names_every_line_once(address: int, steps: list[tuple[int, int]]):
    cache = L2Cache(1 << 24, 512)
    runs, at = list[tuple[int, int]](), 0
    for gap, length in steps:
        runs.append((at + gap, length))
        at += gap + length
    expected = {
        line
        for offset, length in runs
        for line in range((address + offset) // 512, (address + offset + length - 1) // 512 + 1)
    }
    found = {
        (address // PAGE_BYTES + page) * (PAGE_BYTES // 512) + bit
        for page, mask in cache.footprint(address, runs)
        for bit in range(mask.bit_length())
        if mask >> bit & 1
    }
    assert found == expected


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=60), st.integers(1, 8))
def test_a_larger_cache_never_fetches_more(accesses: list[tuple[int, bool]], pages: int):
    def traffic(capacity: int) -> int:
        cache = L2Cache(capacity * PAGE_BYTES, 512)
        return sum((write if w else read)(cache, page * PAGE_BYTES, 700)[0] for page, w in accesses)

    assert traffic(pages + 1) <= traffic(pages)
