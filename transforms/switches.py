"""Which passes and which rewrites of them are switched off; the rewrite driver asks here before each rewrite.

A switch is named `pass`, `rewrite`, or `pass/rewrite` for a rewrite that several passes share. The finest name decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Switches:
    """What is switched on (True) or off, by name; `groups` holds what a whole group set, which every name beats.

    `source` is the file that says so.
    """

    names: Mapping[str, bool] = field(default_factory=dict[str, bool])
    groups: Mapping[str, bool] = field(default_factory=dict[str, bool])
    source: str | None = None

    def allow(self, pass_name: str, rewrite: str) -> bool:
        """Whether the pass may apply the rewrite."""
        for level in (self.names, self.groups):
            for key in (f"{pass_name}/{rewrite}", rewrite, pass_name):
                if key in level:
                    return level[key]
        return True

    def run(self, pass_name: str) -> bool:
        """Whether the pass has to run: it is on, or something that may be a rewrite of it is."""
        if self.names.get(pass_name, self.groups.get(pass_name, True)):
            return True
        finer = [key for level in (self.names, self.groups) for key, on in level.items() if on]
        return any(key.startswith(f"{pass_name}/") or "/" not in key for key in finer)


ALL_ON = Switches()
