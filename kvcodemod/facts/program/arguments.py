"""What a call passes for a parameter: by position, by name, or inside a `**dict`."""

from __future__ import annotations

import ast

from kvcodemod.facts.program.program import Code, Program
from kvcodemod.facts.syntax.bodies import walk_own
from kvcodemod.facts.syntax.expressions import defaults, passed
from kvcodemod.facts.syntax.parsing import Function, dotted


def argument(init: Function, call: ast.Call, parameter: str) -> ast.expr | None:
    """What a call passes for a parameter (of a method: `self` is left out), or None."""
    order = [a.arg for a in [*init.args.posonlyargs, *init.args.args]][1:]
    return next((v for name, v in passed(call, order) if name == parameter), None)


def keyword_of(
    code: Code, call: ast.Call, name: str, program: Program
) -> ast.expr | None:
    """What a call passes under a keyword, also inside a `**dict` filled nearby."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    for keyword in call.keywords:
        if keyword.arg is None:
            value = in_dict(code, keyword.value, name, program)
            if value is not None:
                return value
    return None


def in_dict(code: Code, node: ast.expr, name: str, program: Program) -> ast.expr | None:
    """The value under a key of a dictionary that a function fills, or None."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                found = in_dict(code, value, name, program)
                if found is not None:
                    return found
            elif isinstance(key, ast.Constant) and key.value == name:
                return value
        return None
    if isinstance(node, ast.Call):
        if dotted(node.func) != "dict":
            return None
        return keyword_of(code, node, name, program)
    if isinstance(node, ast.IfExp):
        return in_dict(code, node.body, name, program) or in_dict(
            code, node.orelse, name, program
        )
    local = dotted(node)
    if local is None:
        return None
    for value in program.scope(code).bound.get(local, ()):
        if dotted(value) != local:
            found = in_dict(code, value, name, program)
            if found is not None:
                return found
    for part in walk_own(code.node):
        if isinstance(part, ast.Assign):
            for target in part.targets:
                if (
                    isinstance(target, ast.Subscript)
                    and dotted(target.value) == local
                    and isinstance(target.slice, ast.Constant)
                    and target.slice.value == name
                ):
                    return part.value
        elif (
            isinstance(part, ast.Call)
            and isinstance(part.func, ast.Attribute)
            and part.func.attr == "update"
            and dotted(part.func.value) == local
        ):
            for argument_ in part.args:
                found = in_dict(code, argument_, name, program)
                if found is not None:
                    return found
            for keyword in part.keywords:
                if keyword.arg == name:
                    return keyword.value
    return None


def default_of(init: Function, parameter: str) -> ast.expr | None:
    """The default of a parameter, or None."""
    return dict(defaults(init)).get(parameter)
