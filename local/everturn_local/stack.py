"""A `Template` created in moto, and the names its resources got. It plays no events."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from everturn_local.intrinsics import MARK, mark

if TYPE_CHECKING:
    from everturn_local.clients import Clients
    from everturn_local.template import Template

CREATED_TYPES = frozenset(
    {
        "AWS::DynamoDB::Table",
        "AWS::Lambda::Function",
        "AWS::S3::Bucket",
        "AWS::SNS::Topic",
        "AWS::SQS::Queue",
        "AWS::SSM::Parameter",
        "AWS::StepFunctions::StateMachine",
    }
)
"""What moto is asked to create. Everything else is played by the runtime or has no local effect."""

_ROLE = "EverturnLocalRole"
"""Logical id of the one role that stands for all roles of the template."""
_ROLE_RESOURCE = {
    "Type": "AWS::IAM::Role",
    "Properties": {"AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": []}},
}


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where the runtime itself answers, without a slash at the end."""

    http_url: str
    websocket_stage: str
    aws_url: str = ""
    """Where moto answers by HTTP; empty where it answers in this process alone."""

    @property
    def websocket_http_url(self) -> str:
        """Base of the @connections API."""
        return f"{self.http_url}/{self.websocket_stage}"

    def function_url(self, name: str) -> str:
        """Where a function with a Function URL answers."""
        return f"{self.http_url}/_functions/{name}"


@dataclass(frozen=True, slots=True)
class Stack:
    """The created stack."""

    physical: Mapping[str, str]
    """Physical id by logical id: a table's name, a queue's URL, a machine's ARN."""
    environments: Mapping[str, Mapping[str, str]]
    """Environment variables by function logical id."""


def create_stack(template: Template, clients: Clients, endpoints: Endpoints) -> Stack:
    """Create the template's resources in moto and return what they are called."""
    body = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Resources": {_ROLE: _ROLE_RESOURCE}
        | {
            name: _for_moto(name, resource, template, endpoints)
            for name, resource in template.resources.items()
            if resource["Type"] in CREATED_TYPES
        },
    }
    clients.cloudformation.create_stack(StackName=template.stack, TemplateBody=json.dumps(body))
    described = clients.cloudformation.describe_stack_resources(StackName=template.stack)
    physical = {
        each["LogicalResourceId"]: each["PhysicalResourceId"]
        for each in described["StackResources"]
        if each["LogicalResourceId"] != _ROLE
    }
    _set_ttl(template, clients, physical)
    _create_secrets(template, clients)
    return Stack(physical, _environments(template, clients, physical))


def _for_moto(
    name: str, resource: Mapping[str, Any], template: Template, endpoints: Endpoints
) -> dict[str, Any]:
    properties = copy.deepcopy(dict(resource.get("Properties") or {}))
    match resource["Type"]:
        case "AWS::SQS::Queue" if properties.get("FifoQueue") and "QueueName" not in properties:
            properties["QueueName"] = f"{template.stack}-{name}.fifo"
        case "AWS::StepFunctions::StateMachine":
            properties = _machine(name, properties, template.stack)
        case "AWS::Lambda::Function":
            properties |= {"Role": mark(f"{_ROLE}.Arn"), "Code": {"ZipFile": "pass"}}
            for unused in ("Layers", "ReservedConcurrentExecutions", "VpcConfig", "KmsKeyArn"):
                properties.pop(unused, None)
        case _:
            pass
    return {"Type": resource["Type"], "Properties": _unmarked(properties, template, endpoints)}


def _machine(name: str, properties: dict[str, Any], stack: str) -> dict[str, Any]:
    """A state machine with its substitutions written into its definition."""
    definition = properties.pop("Definition", None) or properties.pop("DefinitionString")
    text = definition if isinstance(definition, str) else json.dumps(definition)
    for key, value in properties.pop("DefinitionSubstitutions", {}).items():
        text = text.replace(f"${{{key}}}", str(value))
    return {
        "StateMachineName": properties.get("StateMachineName", f"{stack}-{name}"),
        "RoleArn": mark(f"{_ROLE}.Arn"),
        "DefinitionString": text,
    }


def _unmarked(value: Any, template: Template, endpoints: Endpoints) -> Any:
    """`value` with its marks turned into what moto resolves, or into local names."""
    match value:
        case dict():
            return {name: _unmarked(each, template, endpoints) for name, each in value.items()}
        case list():
            return [_unmarked(each, template, endpoints) for each in value]
        case str():
            return _unmarked_text(value, template, endpoints)
        case _:
            return value


def _unmarked_text(text: str, template: Template, endpoints: Endpoints) -> Any:
    def local(found: re.Match[str]) -> str:
        name = found[1].split(".")[0]
        kind = template.resources.get(name, {}).get("Type")
        created = kind in CREATED_TYPES or name == _ROLE
        return found[0] if created else local_name(found[1], template, endpoints)

    text = _with_local_hosts(MARK.sub(local, text), template, endpoints)
    if not MARK.search(text):
        return text
    whole = MARK.fullmatch(text)
    if whole:
        name, _, attribute = whole[1].partition(".")
        return {"Fn::GetAtt": [name, attribute]} if attribute else {"Ref": name}
    return {"Fn::Join": ["", [_part(each, template, endpoints) for each in _parts(text)]]}


def _parts(text: str) -> list[str]:
    return [part for part in re.split(r"(«[^»]+»)", text) if part]


def _part(part: str, template: Template, endpoints: Endpoints) -> Any:
    return _unmarked_text(part, template, endpoints) if MARK.fullmatch(part) else part


def local_name(reference: str, template: Template, endpoints: Endpoints) -> str:
    """What stands for a reference to a resource that moto does not create."""
    name, _, attribute = reference.partition(".")
    kind = template.resources.get(name, {}).get("Type")
    match kind, attribute:
        case "AWS::Lambda::Url", "FunctionUrl":
            target = MARK.search(str(template.resources[name]["Properties"]["TargetFunctionArn"]))
            code = template.code.get(target[1].split(".")[0]) if target else None
            return f"{endpoints.function_url(code.directory.name if code else name)}/"
        case "AWS::ApiGatewayV2::Api", "ApiEndpoint":
            protocol = template.resources[name]["Properties"].get("ProtocolType", "HTTP")
            scheme = "wss" if protocol == "WEBSOCKET" else "https"
            return f"{scheme}://{api_host(name, template.region)}"
        case "AWS::ApiGatewayV2::Api", _:
            return name.lower()
        case "AWS::ApiGatewayV2::Stage", "":
            return str(template.resources[name]["Properties"]["StageName"])
        case "AWS::SecretsManager::Secret", "":
            return _secret_name(name, template)
        case _:
            return reference


def api_host(logical_id: str, region: str) -> str:
    """Host name under which the template's own expressions know a local API."""
    return f"{logical_id.lower()}.execute-api.{region}.amazonaws.com"


def _with_local_hosts(text: str, template: Template, endpoints: Endpoints) -> str:
    for name in template.of_type("AWS::ApiGatewayV2::Api"):
        host = api_host(name, template.region)
        text = text.replace(f"https://{host}", endpoints.http_url)
        text = text.replace(f"wss://{host}", endpoints.http_url.replace("http://", "ws://"))
    s3 = f"https://s3.{template.region}.amazonaws.com"
    return text.replace(s3, endpoints.aws_url or s3)


def _create_secrets(template: Template, clients: Clients) -> None:
    """Create the secrets, given or to be generated, which moto's CloudFormation ignores."""
    for name, properties in template.of_type("AWS::SecretsManager::Secret").items():
        wanted = properties.get("GenerateSecretString") or {}
        made = clients.secretsmanager.get_random_password(
            PasswordLength=int(wanted.get("PasswordLength", 32)),
            ExcludePunctuation=str(wanted.get("ExcludePunctuation", False)).lower() == "true",
        )
        clients.secretsmanager.create_secret(
            Name=_secret_name(name, template),
            SecretString=properties.get("SecretString", made["RandomPassword"]),
        )


def _secret_name(name: str, template: Template) -> str:
    """Return what a secret without a name of its own is called; its ARN would do as well."""
    return f"{template.stack}-{name}"


def _set_ttl(template: Template, clients: Clients, physical: Mapping[str, str]) -> None:
    """Switch on TTL, which moto's CloudFormation ignores."""
    for name, properties in template.of_type("AWS::DynamoDB::Table").items():
        ttl = properties.get("TimeToLiveSpecification")
        if ttl:
            clients.dynamodb.update_time_to_live(
                TableName=physical[name],
                TimeToLiveSpecification={
                    "AttributeName": ttl["AttributeName"],
                    "Enabled": str(ttl.get("Enabled", True)).lower() == "true",
                },
            )


def _environments(
    template: Template, clients: Clients, physical: Mapping[str, str]
) -> dict[str, Mapping[str, str]]:
    environments: dict[str, Mapping[str, str]] = {}
    for name in template.of_type("AWS::Lambda::Function"):
        described = clients.lambda_.get_function_configuration(FunctionName=physical[name])
        variables = (described.get("Environment") or {}).get("Variables") or {}
        environments[name] = {key: str(value) for key, value in variables.items()}
    return environments
