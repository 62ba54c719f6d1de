"""template.yaml -> plain CloudFormation, offline. It creates nothing and reads no cloud."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse

from everturn_local.intrinsics import Resolver, TemplateError

logging.getLogger("samtranslator.metrics").setLevel(logging.ERROR)  # it has none to publish

ACCOUNT = "123456789012"
"""moto's account."""


@dataclass(frozen=True, slots=True)
class CodeLocation:
    """Where a function's code lies, which the transformed template no longer says."""

    directory: Path
    handler: str


@dataclass(frozen=True, slots=True)
class Template:
    """The stack without SAM, parameters, conditions and functions; references are marks."""

    resources: Mapping[str, Mapping[str, Any]]
    code: Mapping[str, CodeLocation]
    """By the function's logical id."""
    outputs: Mapping[str, Any]
    stack: str
    region: str

    def of_type(self, kind: str) -> dict[str, Mapping[str, Any]]:
        """Properties of all resources of one type, by logical id."""
        return {
            name: resource.get("Properties") or {}
            for name, resource in self.resources.items()
            if resource["Type"] == kind
        }


class _NoManagedPolicies:
    """samtranslator's policy loader, which otherwise asks IAM."""

    def load(self) -> dict[str, str]:
        """Nothing: policy names stay names."""
        return {}


@dataclass(frozen=True, slots=True)
class Deployment:
    """How a template is deployed."""

    stack: str
    region: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    preferred: Mapping[str, str] = field(default_factory=dict)
    """Replaces defaults of parameters that the template may or may not have."""
    imports: Mapping[str, str] = field(default_factory=dict)
    """Exports of other stacks."""


def load_template(path: Path, deployment: Deployment) -> Template:
    """Read `path` as if it were deployed that way.

    Raises `TemplateError` for a parameter that the template does not have or does not default.
    """
    source = yaml_parse(path.read_text(encoding="utf-8"))
    declared = source.get("Parameters") or {}
    stack, region = deployment.stack, deployment.region
    local = {name: each for name, each in deployment.preferred.items() if name in declared}
    values = _parameter_values(declared, local | dict(deployment.parameters))
    values |= {
        "AWS::Region": region,
        "AWS::AccountId": ACCOUNT,
        "AWS::Partition": "aws",
        "AWS::StackName": stack,
        "AWS::URLSuffix": "amazonaws.com",
        "AWS::StackId": f"arn:aws:cloudformation:{region}:{ACCOUNT}:stack/{stack}/local",
    }
    code = _inline_code(source, path.parent)
    os.environ.setdefault("AWS_DEFAULT_REGION", region)
    flat = transform(source, values, _NoManagedPolicies())
    resolver = Resolver(
        values, flat.get("Conditions") or {}, flat.get("Mappings") or {}, deployment.imports
    )
    return Template(
        resources=_resolved(flat["Resources"], resolver),
        code=code,
        outputs=_resolved(flat.get("Outputs") or {}, resolver),
        stack=stack,
        region=region,
    )


def _parameter_values(
    declared: Mapping[str, Mapping[str, Any]], given: Mapping[str, str]
) -> dict[str, Any]:
    unknown = sorted(given.keys() - declared.keys())
    if unknown:
        raise TemplateError(f"the template has no parameter {', '.join(unknown)}")
    values: dict[str, Any] = {
        name: given.get(name, parameter.get("Default")) for name, parameter in declared.items()
    }
    missing = sorted(name for name, value in values.items() if value is None)
    if missing:
        raise TemplateError(f"no value for parameter {', '.join(missing)}")
    for name, parameter in declared.items():
        if parameter.get("Type") in {"CommaDelimitedList", "List<String>"}:
            values[name] = [each.strip() for each in str(values[name]).split(",")]
    return values


def _inline_code(source: Mapping[str, Any], base: Path) -> dict[str, CodeLocation]:
    """Replace local paths by what samtranslator accepts; return where the functions are."""
    defaults = (source.get("Globals") or {}).get("Function") or {}
    code: dict[str, CodeLocation] = {}
    for name, resource in source["Resources"].items():
        properties = resource.setdefault("Properties", {})
        match resource["Type"]:
            case "AWS::Serverless::Function":
                uri = properties.get("CodeUri", defaults.get("CodeUri", "."))
                handler = properties.get("Handler", defaults.get("Handler", "app.lambda_handler"))
                code[name] = CodeLocation((base / str(uri)).resolve(), str(handler))
                properties["CodeUri"] = "s3://local/code.zip"
            case "AWS::Serverless::LayerVersion":
                properties["ContentUri"] = "s3://local/layer.zip"
            case "AWS::Serverless::StateMachine" if isinstance(
                properties.get("DefinitionUri"), str
            ):
                definition = (base / properties.pop("DefinitionUri")).read_text(encoding="utf-8")
                properties["Definition"] = json.loads(definition)
            case _:
                pass
    return code


def _resolved(things: Mapping[str, Any], resolver: Resolver) -> dict[str, Any]:
    return {
        name: resolver.resolve({key: each for key, each in thing.items() if key != "Condition"})
        for name, thing in things.items()
        if "Condition" not in thing or resolver.holds(thing["Condition"])
    }
