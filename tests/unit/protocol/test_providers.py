"""Settings of providers and models: what fits, what is refused and how that is said."""

from __future__ import annotations

from typing import Any

import pytest

from everturn.protocol.limits import (
    MAX_ALIASES,
    MAX_LISTED_MODELS,
    MAX_MODEL_ID_CHARS,
    MAX_PROVIDER_HEADER_CHARS,
    MAX_PROVIDER_HEADERS,
    MAX_PROVIDER_NAME_CHARS,
    MAX_PROVIDERS,
)
from everturn.protocol.models import MODEL_ENTRY, TENANT_MODELS, TenantModels
from everturn.protocol.providers import PROVIDER_SETTINGS, ProviderSettings
from everturn.protocol.secret_place import SecretPlace
from everturn.protocol.wire import parse, to_json
from everturn.rejections import SchemaViolation

GATEWAY = {"kind": "openai-compatible", "base_url": "https://gateway.example/v1"}


def refusal(adapter: Any, data: Any) -> str:
    with pytest.raises(SchemaViolation) as caught:
        parse(adapter, data)
    return caught.value.message


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "openai"},
        {"kind": "openai-chat", "api_key": {"ssm": "/everturn/openai"}},
        {"kind": "anthropic", "api_key": {"env": "ANTHROPIC_API_KEY"}, "name": "Ours"},
        {"kind": "gemini", "base_url": "http://127.0.0.1:9/v1beta/"},
        {"kind": "bedrock", "region": "eu-central-1"},
        {"kind": "bedrock", "region": "us-gov-west-1"},
        {**GATEWAY, "headers": {"X-Title": "Everturn", "anthropic-beta": "a,b"}},
        {"kind": "demo"},
    ],
)
def test_settings_survive_json(settings: dict[str, Any]) -> None:
    read = parse(PROVIDER_SETTINGS, settings)

    assert to_json(read) == settings


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"kind": "cohere"}, "/kind: should be 'openai', "),
        ({"kind": "openai-compatible"}, "/: openai-compatible needs base_url"),
        ({"kind": "openai", "region": "eu-central-1"}, "/: region is for bedrock"),
        ({"kind": "bedrock", "region": "nowhere"}, "/region: "),
        ({"kind": "bedrock", "base_url": "https://a.example"}, "/: bedrock takes no base_url"),
        ({"kind": "bedrock", "api_key": {"ssm": "/a"}}, "/: bedrock takes no api_key"),
        ({"kind": "bedrock", "headers": {"a": "b"}}, "/: bedrock takes no headers"),
        ({**GATEWAY, "base_url": "ftp://a.example"}, "/base_url: "),
        ({**GATEWAY, "base_url": "https://a.example?key=1"}, "/base_url: "),
        ({**GATEWAY, "base_url": "https://me:pw@a.example/"}, "/base_url: "),
        ({**GATEWAY, "api_key": {}}, "/api_key: needs exactly one of secret_arn, ssm, env"),
        ({**GATEWAY, "api_key": {"ssm": "a", "env": "b"}}, "/api_key: needs exactly one of "),
        ({**GATEWAY, "api_key": {"ssm": "sk-live-1"}}, "/api_key: looks like a key itself; "),
        ({**GATEWAY, "api_key": {"env": "AIzaSy"}}, "/api_key: looks like a key itself; "),
        ({**GATEWAY, "api_key": "sk-live-1"}, "/api_key: should be an object"),
        ({**GATEWAY, "headers": {"Authorization": "x"}}, "/: headers: authorization looks like a"),
        ({**GATEWAY, "headers": {"X-Api-Key": "x"}}, "/: headers: x-api-key looks like a secret"),
        ({**GATEWAY, "headers": {"x-title": "sk-1"}}, "/: headers: x-title looks like a secret"),
        ({**GATEWAY, "headers": {"Host": "a"}}, "/: headers: host is set by the engine"),
        ({**GATEWAY, "headers": {"content-type": "a"}}, "/: headers: content-type is set by"),
        ({**GATEWAY, "headers": {"a b": "c"}}, "/: headers: a name is 1 to 64 letters, digits"),
        ({**GATEWAY, "headers": {"a" * 65: "c"}}, "/: headers: a name is 1 to 64 letters"),
        ({**GATEWAY, "headers": {"A": "b", "a": "c"}}, "/: a header stands there twice"),
        ({**GATEWAY, "headers": {"a": "b\r\nc: d"}}, "/headers/a: "),
        ({**GATEWAY, "name": "two\nlines"}, "/name: "),
        ({**GATEWAY, "secret": "x"}, "/secret: unknown field"),
    ],
)
def test_settings_that_do_not_fit_are_refused_in_a_sentence(
    settings: dict[str, Any], said: str
) -> None:
    message = refusal(PROVIDER_SETTINGS, settings)

    assert message.startswith(said)
    assert "sk-" not in message
    assert "AIza" not in message


def test_headers_and_names_end_at_their_limits() -> None:
    most = {f"h-{n}": "x" * MAX_PROVIDER_HEADER_CHARS for n in range(MAX_PROVIDER_HEADERS)}
    name = "n" * MAX_PROVIDER_NAME_CHARS

    parse(PROVIDER_SETTINGS, {**GATEWAY, "headers": most, "name": name})

    one_more = {**most, "h": "x"}
    assert refusal(PROVIDER_SETTINGS, {**GATEWAY, "headers": one_more}).startswith("/headers: ")
    longer = {"h": "x" * (MAX_PROVIDER_HEADER_CHARS + 1)}
    assert refusal(PROVIDER_SETTINGS, {**GATEWAY, "headers": longer}).startswith("/headers/h: ")
    assert refusal(PROVIDER_SETTINGS, {**GATEWAY, "name": name + "n"}).startswith("/name: ")


def test_a_provider_is_configured_once_a_key_is_named_or_none_is_needed() -> None:
    key = SecretPlace(ssm="/everturn/key")

    configured = {
        "no key": ProviderSettings(kind="openai").is_configured,
        "key": ProviderSettings(kind="openai", api_key=key).is_configured,
        "bedrock": ProviderSettings(kind="bedrock").is_configured,
        "open gateway": parse(PROVIDER_SETTINGS, GATEWAY).is_configured,
    }

    assert configured == {"no key": False, "key": True, "bedrock": True, "open gateway": True}


def test_what_a_tenant_says_of_models_survives_json() -> None:
    said = {
        "providers": {"openrouter": GATEWAY, "openai": {"kind": "openai"}},
        "models": [
            {
                "provider": "openrouter",
                "id": "meta-llama/llama-4:free",
                "name": "Llama 4",
                "context_window_tokens": 128_000,
                "default_max_tokens": 4096,
                "max_output_tokens": 8192,
                "inputs": ["text", "image"],
                "reasoning": {"efforts": [{"id": "low"}], "default_effort": "low"},
                "pricing": {"input_usd": "0.1", "output_usd": "0.25", "cache_read_usd": "0"},
            }
        ],
        "aliases": {"fast": "openai:gpt-5-mini", "big": "gpt-5"},
        "default_provider": "openai",
    }

    assert to_json(parse(TENANT_MODELS, said)) == said
    assert parse(TENANT_MODELS, {}) == TenantModels()


MODEL = {"provider": "openai", "id": "m"}


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        ({"providers": {"Open AI": GATEWAY}}, "/providers/Open AI/"),
        ({"providers": {"-a": GATEWAY}}, "/providers/-a/"),
        ({"providers": {"a" * 33: GATEWAY}}, "/providers/"),
        ({"providers": {"demo": GATEWAY}}, "/: the demo provider cannot be redefined"),
        ({"providers": {"other": {"kind": "demo"}}}, "/: the demo provider cannot be redefined"),
        ({"providers": {"openai": GATEWAY}}, "/: the provider openai is of kind openai; take"),
        ({"models": [{"provider": "demo", "id": "demo"}]}, "/: the demo provider cannot be"),
        ({"models": [MODEL, MODEL]}, "/: a model stands there twice"),
        ({"models": [{**MODEL, "inputs": ["smell"]}]}, "/models/0/inputs/0: "),
        ({"models": [{**MODEL, "context_window_tokens": 0}]}, "/models/0/context_window_tokens: "),
        ({"models": [{**MODEL, "id": "two words"}]}, "/models/0/id: "),
        ({"models": [{**MODEL, "reasoning": {"efforts": []}}]}, "/models/0/reasoning/efforts: "),
        (
            {"models": [{**MODEL, "reasoning": {"efforts": [{"id": "low"}, {"id": "low"}]}}]},
            "/models/0/reasoning: an effort stands there twice",
        ),
        (
            {
                "models": [
                    {**MODEL, "reasoning": {"efforts": [{"id": "low"}], "default_effort": "high"}}
                ]
            },
            "/models/0/reasoning: default_effort is none of the efforts",
        ),
        (
            {"models": [{**MODEL, "pricing": {"input_usd": "1e-3", "output_usd": "1"}}]},
            "/models/0/pricing/input_usd: ",
        ),
        ({"aliases": {"a:b": "gpt-5"}}, "/aliases/a:b/"),
        ({"aliases": {"a": ""}}, "/aliases/a: "),
        ({"aliases": {"a": "b", "b": "openai:x"}}, "/: an alias names a model, and no other alias"),
        ({"default_provider": ""}, "/default_provider: "),
    ],
)
def test_what_a_tenant_may_not_say_is_refused(said: dict[str, Any], refused: str) -> None:
    assert refusal(TENANT_MODELS, said).startswith(refused)


def test_a_record_ends_at_its_limits() -> None:
    def most(more: int) -> dict[str, Any]:
        return {
            "providers": {f"p{n}": GATEWAY for n in range(MAX_PROVIDERS + more)},
            "models": [{**MODEL, "id": f"m{n}"} for n in range(MAX_LISTED_MODELS + more)],
            "aliases": {f"a{n}": "x" for n in range(MAX_ALIASES + more)},
        }

    read = parse(TENANT_MODELS, most(0))

    assert len(read.models) == MAX_LISTED_MODELS
    for name, value in most(1).items():
        assert refusal(TENANT_MODELS, {name: value}).startswith(f"/{name}: ")


def test_a_model_id_ends_at_its_limit() -> None:
    longest = {**MODEL, "id": "m" * MAX_MODEL_ID_CHARS}

    parse(MODEL_ENTRY, longest)

    assert refusal(MODEL_ENTRY, {**longest, "id": longest["id"] + "m"}).startswith("/id: ")
