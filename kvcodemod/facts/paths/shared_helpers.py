"""Calls that ordinary decoding makes in just the same way: no matter of this analysis.

A refusal that every request would run into, with or without speculative decoding, does
not wait for it: a server with such a pool could not serve at all.
"""

from __future__ import annotations

from kvcodemod.facts.conditions.call_sites import Site
from kvcodemod.facts.paths.call_graph import Chains
from kvcodemod.facts.program.program import Code, outer_functions
from kvcodemod.facts.syntax.text import any_within, span


class SharedHelpers:
    """Knows the helpers that other code calls too."""

    def __init__(self, chains: Chains) -> None:
        """Nothing is read yet."""
        self.chains = chains
        self._shared: dict[tuple[str, int], bool] = {}
        names = chains.program.names
        folders = {
            *names.helper_folders,
            *(f"{path.rpartition('/')[0]}/" for path in names.carrier_files),
        }
        self._files = [
            path
            for path in chains.program.tree.paths
            if path.partition("/")[2].startswith(tuple(sorted(folders)))
        ]

    def makes(self, code: Code, site: Site) -> bool:
        """Whether a call stands in a helper that serves ordinary decoding as well.

        A call under a condition on one of the helper's parameters is not ordinary:
        speculative decoding can be the only one that passes it.
        """
        if code.key in self.chains.entries or code.owner in self.chains.program.members:
            return False
        spec = code.node.args
        params = {a.arg for a in [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]}
        if any(option.name in params for option in site.options):
            return False
        if code.key not in self._shared:
            self._shared[code.key] = self._called_elsewhere(code)
        return self._shared[code.key]

    def _called_elsewhere(self, code: Code) -> bool:
        """Whether a function that is on no path calls the helper."""
        name = code.node.name
        program = self.chains.program
        lines = program.text(code.module).lines_of(f"{name}(")
        for other in outer_functions(program, code.module):
            first, last = span(other.node)
            if other.key not in self.chains.calls and any_within(
                lines, first + 1, last
            ):
                return True
        call, define = f"{name}(".encode(), f"def {name}(".encode()
        for path in self._files:
            if path != code.path:
                data = program.tree.data(path)
                if data.count(call) > data.count(define):
                    return True
        return False
