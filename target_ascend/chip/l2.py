"""The L2 cache of the timing model: least recently used pages of 64 KiB, filled by lines.

A page is what is kept or evicted; inside a page one bit a line says what was brought in and what was written
and not yet brought back. So a tensor that is read piece by piece costs each line once, and a workspace that
fits in the L2 and is overwritten in time never costs DDR traffic.
"""

from __future__ import annotations

from collections import OrderedDict

PAGE_BITS = 16
PAGE_BYTES = 1 << PAGE_BITS


class L2Cache:
    """State of the L2 over the tasks of a run. `capacity` in bytes, `line_bytes` a power of two."""

    def __init__(self, capacity: int, line_bytes: int):
        self.capacity_pages = max(1, capacity // PAGE_BYTES)
        self.line_bytes = line_bytes
        self._pages: OrderedDict[int, list[int]] = OrderedDict()

    def footprint(self, address: int, runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """(page after that of `address`, lines as bits) of runs (offset from `address`, bytes); offsets ascend."""
        shift, masks = self.line_bytes.bit_length() - 1, dict[int, int]()
        start = address & (PAGE_BYTES - 1)
        page_shift, per_page = PAGE_BITS - shift, PAGE_BYTES >> shift
        whole = (1 << per_page) - 1
        page = mask = 0
        for offset, length in runs:
            first, last = (start + offset) >> shift, (start + offset + length - 1) >> shift
            if first >> page_shift != page:
                if mask:
                    masks[page] = mask
                page = first >> page_shift
                mask = masks.get(page, 0)
            begin, last_page, end = first & (per_page - 1), last >> page_shift, (last & (per_page - 1)) + 1
            if page != last_page:
                masks[page] = mask | (whole >> begin << begin)
                for between in range(page + 1, last_page):
                    masks[between] = whole
                page, mask, begin = last_page, masks.get(last_page, 0), 0
            mask |= ((1 << (end - begin)) - 1) << begin
        if mask:
            masks[page] = mask
        return list(masks.items())

    def touch(self, page: int, footprint: list[tuple[int, int]], write: bool) -> tuple[int, int]:
        """One access of the pages `page` + footprint. Returns (lines fetched, lines written back) from/to DDR.

        A write allocates its lines without fetching them; evicting a page writes its changed lines back.
        """
        pages = self._pages
        fetched = written = 0
        for delta, mask in footprint:
            number = page + delta
            entry = pages.get(number)
            if entry is None:
                pages[number] = [mask, mask if write else 0]
                if len(pages) > self.capacity_pages:
                    written += pages.popitem(last=False)[1][1].bit_count()
                if not write:
                    fetched += mask.bit_count()
                continue
            pages.move_to_end(number)
            if write:
                entry[0] |= mask
                entry[1] |= mask
            else:
                new = mask & ~entry[0]
                if new:
                    fetched += new.bit_count()
                    entry[0] |= new
        return fetched, written

    def forget(self, first_page: int, last_page: int) -> None:
        """Drops pages that something other than the AI Cores has written."""
        for number in range(first_page, last_page + 1):
            self._pages.pop(number, None)

    def clear(self) -> None:
        """Empties the cache."""
        self._pages.clear()
