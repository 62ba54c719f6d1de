"""CloudFormation's intrinsic functions, resolved as far as a template alone allows.

References to resources stay as marks (`«Queue»`, `«Queue.Arn»`); nothing here asks a cloud.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

MARK = re.compile(r"«([^»]+)»")
"""A reference to a resource (`Name`) or to its attribute (`Name.Attribute`)."""

_PLACE = re.compile(r"\$\{(!?)([^}]+)\}")


class TemplateError(ValueError):
    """The template says something the local runtime cannot follow."""


class _NoValue:
    """AWS::NoValue: the property or element is left out."""


NO_VALUE = _NoValue()


def mark(reference: str) -> str:
    """The mark that stands for `reference` in resolved values."""
    return f"«{reference}»"


def marked_resource(value: object) -> str | None:
    """Logical id of the first resource that `value` refers to, None without one."""
    found = MARK.search(str(value))
    return found[1].split(".")[0] if found else None


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolves values of one template."""

    parameters: Mapping[str, Any]
    """Template and pseudo parameters."""
    conditions: Mapping[str, Any]
    mappings: Mapping[str, Any]
    imports: Mapping[str, str]
    """Exports of other stacks by name."""

    def holds(self, condition: str) -> bool:
        """Whether the named condition is true; raises `TemplateError` if it does not exist."""
        if condition not in self.conditions:
            raise TemplateError(f"condition {condition} does not exist")
        return bool(self.resolve(self.conditions[condition]))

    def resolve(self, value: Any) -> Any:
        """`value` without intrinsic functions; raises `TemplateError` for an unknown one."""
        if isinstance(value, list):
            elements = [self.resolve(each) for each in value]
            return [each for each in elements if each is not NO_VALUE]
        if not isinstance(value, Mapping):
            return value
        if len(value) == 1:
            ((name, argument),) = value.items()
            function = self._function(str(name))
            if function is not None:
                return function(argument)
        resolved = {name: self.resolve(each) for name, each in value.items()}
        return {name: each for name, each in resolved.items() if each is not NO_VALUE}

    def _function(self, name: str) -> Callable[[Any], Any] | None:
        functions: dict[str, Callable[[Any], Any]] = {
            "Ref": self._ref,
            "Condition": self.holds,
            "Fn::GetAtt": self._get_att,
            "Fn::Sub": self._sub,
            "Fn::If": self._if,
            "Fn::Join": lambda pair: str(pair[0]).join(map(str, self.resolve(pair[1]))),
            "Fn::Select": lambda pair: self.resolve(pair[1])[int(self.resolve(pair[0]))],
            "Fn::Split": lambda pair: str(self.resolve(pair[1])).split(pair[0]),
            "Fn::FindInMap": self._find_in_map,
            "Fn::ImportValue": self._import,
            "Fn::Equals": lambda pair: str(self.resolve(pair[0])) == str(self.resolve(pair[1])),
            "Fn::Not": lambda one: not self.resolve(one[0]),
            "Fn::And": lambda each: all(self.resolve(each)),
            "Fn::Or": lambda each: any(self.resolve(each)),
        }
        if name.startswith("Fn::") and name not in functions:
            raise TemplateError(f"{name} is not supported by the local runtime")
        return functions.get(name)

    def _ref(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return NO_VALUE
        return self.parameters[name] if name in self.parameters else mark(name)

    def _get_att(self, argument: str | list[str]) -> str:
        return mark(argument if isinstance(argument, str) else ".".join(map(str, argument)))

    def _sub(self, argument: str | list[Any]) -> str:
        text, own = (argument, {}) if isinstance(argument, str) else (argument[0], argument[1])

        def place(found: re.Match[str]) -> str:
            literal, name = found[1], found[2].strip()
            if literal:
                return f"${{{name}}}"
            return str(self.resolve(own[name]) if name in own else self._ref(name))

        return _PLACE.sub(place, text)

    def _if(self, argument: list[Any]) -> Any:
        return self.resolve(argument[1] if self.holds(argument[0]) else argument[2])

    def _find_in_map(self, argument: list[Any]) -> Any:
        table, first, second = (self.resolve(each) for each in argument[:3])
        return self.resolve(self.mappings[table][first][second])

    def _import(self, argument: Any) -> str:
        name = str(self.resolve(argument))
        if name not in self.imports:
            raise TemplateError(f"no stack exports {name}; pass it in `imports`")
        return self.imports[name]
