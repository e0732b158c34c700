"""Code that runs on one platform only, told by the packages that it needs."""

from __future__ import annotations

import ast
import re

from kvcodemod.facts.program.program import Program
from kvcodemod.facts.syntax.bodies import walk_all
from kvcodemod.facts.syntax.modules import Module, Modules, import_base
from kvcodemod.facts.syntax.parsing import dotted

_DEEPEST = 4
_FROM = re.compile(rb"^from[ \t]+(\.*)([\w.]*)[ \t]+import\b", re.M)


class Platforms:
    """Which platform the code of a file or a class needs.

    A file needs one if importing it imports a package that exists on that platform
    only. A class needs one if its own code, or that of a class beside it that it is
    made
    of, uses such a package where its file imports it under a test for the platform.
    """

    def __init__(self, program: Program, modules: Modules) -> None:
        """Nothing is read yet."""
        self.program = program
        self.modules = modules
        pairs = (pair.partition("=") for pair in program.names.platform_packages)
        self.packages = {package: platform for package, _, platform in pairs}
        self._files: dict[str, str | None] = {}
        self._classes: dict[str, str | None] = {}
        names = "|".join(map(re.escape, self.packages)) or "(?!)"
        self._imports = re.compile(rf"^(?:import|from) ({names})\b".encode(), re.M)
        self._any = re.compile(rf"\bimport ({names})\b".encode())

    def of_file(self, path: str, depth: int = 0) -> str | None:
        """The platform without which a file cannot be imported."""
        if path not in self._files:
            self._files[path] = None  # a cycle ends here
            self._files[path] = self._of_file(path, depth)
        return self._files[path]

    def _of_file(self, path: str, depth: int) -> str | None:
        data = self.modules.tree.data(path)
        found = self._imports.search(data)
        if found:
            return self.packages[found[1].decode()]
        if depth >= _DEEPEST or not self._beside(path):
            return None
        if not self._may_need(path):
            return None
        module = self.modules.try_get(path)
        for statement in module.tree.body if module else ():
            if isinstance(statement, ast.ImportFrom):
                assert module is not None
                other = self.modules.path_of(f"{import_base(module, statement)}.x")
                if other is not None and other != path and self._beside(other):
                    platform = self.of_file(other, depth + 1)
                    if platform is not None:
                        return platform
        return None

    def _may_need(self, path: str) -> bool:
        """Whether its text has an import of a file that may need a platform."""
        home = path.rpartition("/")[0].split("/")
        for match in _FROM.finditer(self.modules.tree.data(path)):
            name, dots = match[2].decode(), len(match[1])
            above = home[: len(home) - dots + 1] if dots else []
            other = self.modules.path_of(".".join([*above, name, "x"]))
            if dots and not name:
                return True
            if other is not None and other != path and self._beside(other):
                return True
        return False

    def _beside(self, path: str) -> bool:
        """Whether something in the same folder, or below it, imports such a package."""
        folder = path.rpartition("/")[0] + "/"
        if folder not in self._files:
            self._files[folder] = next(
                (
                    p
                    for p in self.modules.tree.paths
                    if p.startswith(folder)
                    and self._any.search(self.modules.tree.data(p))
                ),
                None,
            )
        return self._files[folder] is not None

    def of_class(self, qualname: str) -> str | None:
        """The platform without which objects of a class cannot be used."""
        if qualname not in self._classes:
            self._classes[qualname] = None  # a cycle ends here
            self._classes[qualname] = self._of_class(qualname)
        return self._classes[qualname]

    def _of_class(self, qualname: str) -> str | None:
        found = self.program.class_of(qualname)
        if found is None:
            return None
        module, node = found
        platform = self.of_file(module.path)
        if platform is not None:
            return platform
        guarded = self._guarded(module)
        if not guarded:
            return None
        words = {n.id for n in walk_all(node) if isinstance(n, ast.Name)}
        for name, platform in guarded.items():
            if name in words and f"is_{platform}" not in words:
                return platform
        for name in sorted(words):
            if isinstance(module.names.get(name), ast.ClassDef):
                platform = self.of_class(f"{module.name}.{name}")
                if platform is not None:
                    return platform
        return None

    def _guarded(self, module: Module) -> dict[str, str]:
        """Names that a module imports under a test for their platform."""
        found: dict[str, str] = {}
        if not self._any.search(self.modules.tree.data(module.path)):
            return found
        for statement in module.tree.body:
            if not isinstance(statement, ast.If):
                continue
            test = statement.test
            asked = dotted(test.func if isinstance(test, ast.Call) else test) or ""
            for inner in statement.body:
                if isinstance(inner, ast.Import):
                    for alias in inner.names:
                        platform = self.packages.get(alias.name.partition(".")[0])
                        if platform and asked.endswith(f"is_{platform}"):
                            found[alias.asname or alias.name] = platform
        return found
