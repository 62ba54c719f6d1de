"""`everturn providers` and `everturn models` as an operator uses them, on a table of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from e2e.client import Client, new_id
from e2e.command import everturn, everturn_dev
from e2e.test_cli_remote import done, failed, told
from providers.frames import DONE, frame
from providers.scripted import Answer, ScriptedProvider


@pytest.fixture(scope="module")
def about() -> Iterator[dict[str, Any]]:
    """A local runtime of its own, whose default provider is another one."""
    with everturn_dev("--cloud", "--default-provider", "openai") as (_, said):
        yield said


@pytest.fixture(autouse=True)
def _environment(about: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator's credentials."""
    exported = {
        "EVERTURN_TABLE": about["table"],
        "AWS_ENDPOINT_URL": about["aws_endpoint_url"],
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
    }
    for name, value in exported.items():
        monkeypatch.setenv(name, value)


def test_a_gateway_is_added_for_a_tenant_used_and_removed(about: dict[str, Any]) -> None:
    tenant = new_id("tenant")
    done("tenants", "create", tenant)
    mine = ("--tenant", tenant)
    key = told("keys", "create", *mine, "--name", "k")["key"]
    gateway = ("--kind", "openai-compatible", "--base-url", "http://127.0.0.1:9/v1")

    made = done("providers", "set", "ours", *gateway, "--env", "OURS_KEY", "--name", "Ours", *mine)
    again = told(
        "providers", "set", "openai", "--ssm", "/everturn/key", "--header", "x-a=b=c", *mine
    )
    done(
        *("models", "set", "ours:vendor/m:1", "--context-window", "1000", "--max-output", "100"),
        *("--default-max-tokens", "50", "--input-usd", "0.10", "--output-usd", "1", *mine),
        *("--effort", "low", "--effort", "high", "--input", "text", "--name", "M"),
    )
    done("models", "alias", "fast", "ours:vendor/m:1", *mine)
    done("providers", "default", "ours", *mine)
    listed = told("providers", "list", *mine)["providers"]
    models = told("models", "list", "--provider", "ours", *mine)
    table = done("models", "list", "--provider", "ours", *mine)
    seen = httpx.get(
        f"{about['http_url']}/v1/models", headers={"authorization": f"Bearer {key}"}, timeout=30
    ).json()

    assert made == ["written ours"]
    assert again == {
        "name": "openai",
        "tenant": tenant,
        "result": "written",
        "effective_within_s": 120,
    }
    assert listed[-1] == {
        "id": "ours",
        "configured": True,
        "kind": "openai-compatible",
        "name": "Ours",
        "base_url": "http://127.0.0.1:9/v1",
        "api_key": {"env": "OURS_KEY"},
    }
    assert listed[0]["headers"] == {"x-a": "b=c"}
    model = {
        "id": "ours:vendor/m:1",
        "provider": "ours",
        "model": "vendor/m:1",
        "name": "M",
        "context_window_tokens": 1000,
        "default_max_tokens": 50,
        "max_output_tokens": 100,
        "inputs": ["text"],
        "reasoning": {"efforts": [{"id": "low", "name": "Low"}, {"id": "high", "name": "High"}]},
        "pricing": {"input_usd": "0.1", "output_usd": "1"},
    }
    assert models == {"models": [model], "aliases": {"fast": "ours:vendor/m:1"}}
    assert table == [
        "model context output $ in $ out efforts",
        "ours:vendor/m:1 1,000 100 0.1 1 low high",
        "",
        "alias stands for",
        "fast ours:vendor/m:1",
    ]
    assert seen["models"][-1] == model
    assert (seen["default_provider"], seen["aliases"]) == ("ours", models["aliases"])

    done("models", "unalias", "fast", *mine)
    done("models", "remove", "ours:vendor/m:1", *mine)
    done("providers", "default", *mine)
    done("providers", "remove", "ours", *mine)
    left = told("providers", "list", *mine)["providers"]
    assert [one["id"] for one in left][-1] == "bedrock"
    assert told("models", "list", "--provider", "ours", *mine) == {"models": [], "aliases": {}}


def test_what_holds_for_all_is_what_every_tenant_gets(about: dict[str, Any]) -> None:
    first = done("providers", "set", "gemini", "--secret-arn", "/everturn/gemini")
    second = everturn("providers", "set", "gemini", "--secret-arn", "/everturn/gemini")

    rows = done("providers", "list", "--tenant", about["workspace"])
    header = {"authorization": f"Bearer {about['api_key']}"}
    seen = httpx.get(f"{about['http_url']}/v1/models", headers=header, timeout=30).json()

    assert first == ["written gemini"]
    assert (second.stdout.split(), second.stderr) == (["unchanged", "gemini"], "")
    assert rows[0] == "id kind configured key at where"
    assert "gemini gemini yes secret_arn:/everturn/gemini" in rows
    assert "openai openai no" in rows
    assert seen["default_provider"] == "openai"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("providers", "set", "ours"), 1, "error: schema_violation: /kind: "),
        (("providers", "set", "OpenAI", "--kind", "openai"), 1, "error: schema_violation: /prov"),
        (("providers", "set", "openai", "--ssm", "sk-1"), 1, "error: schema_violation: /api_key: "),
        (("providers", "set", "openai", "--header", "novalue"), 2, ""),
        (("providers", "set", "demo"), 1, "error: schema_violation: /: the demo provider cannot"),
        (("providers", "set", "openai", "--tenant", "nobody"), 1, "error: unknown_tenant: "),
        (("providers", "list", "--tenant", "nobody"), 1, "error: unknown_tenant: "),
        (("providers", "remove", "anthropic"), 1, "error: unknown_setting: "),
        (("providers", "default", "nobody"), 1, "error: schema_violation: /provider: there is no"),
        (("models", "set", "gpt-5"), 2, ""),
        (("models", "set", "nobody:m"), 1, "error: schema_violation: /provider: there is no"),
        (("models", "set", "openai:m", "--effort", "most"), 1, "error: schema_violation: /reason"),
        (("models", "set", "openai:m", "--input-usd", "1"), 1, "error: schema_violation: /pricing"),
        (("models", "remove", "openai:gpt-5"), 1, "error: unknown_setting: "),
        (("models", "alias", "a:b", "c"), 1, "error: schema_violation: /aliases/a:b"),
        (("models", "unalias", "a"), 1, "error: unknown_setting: "),
        (("models", "list", "--table", "none"), 1, "error: internal: "),
    ],
)
def test_what_an_operator_gets_wrong(arguments: tuple[str, ...], code: int, said: str) -> None:
    status, lines = failed(*arguments)

    assert status == code
    assert any(line.startswith(said) for line in lines)


def test_a_server_on_this_machine_is_named_when_the_stack_is_started(
    scripted: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_LLM_API_KEY", "sk-mine")
    said = frame({"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]})
    scripted.plays(Answer((said, DONE)))
    with everturn_dev("--provider", f"my-llm={scripted.url}/v1") as (_, about):
        client = Client(about["http_url"], about["ws_url"], about["api_key"], about["workspace"])
        client.put_agent(model="my-llm:small")
        ended = client.run("Hello")
        client.close()

    assert ended.answer == "Hi"
    assert scripted.next_asked().headers["authorization"] == "Bearer sk-mine"


def test_a_provider_that_cannot_be_is_said_plainly() -> None:
    told = everturn("dev", "--provider", "no url")

    assert told.returncode == 2
    assert "Traceback" not in told.stderr
    assert "--provider" in told.stderr
