"""`everturn` against an API and against a table, as a person or a script uses it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from e2e.client import new_id
from e2e.command import EVERTURN, everturn, everturn_dev
from e2e.stage import ROOT

AGENTS = """
agents:
  helper:
    model: demo
    system: You answer briefly.
  adder:
    model: demo
    decides: engine
    worker: http://127.0.0.1:9/
    tools:
      - {name: add, effect: read}
"""


@pytest.fixture(scope="module")
def about() -> Iterator[dict[str, Any]]:
    """A local runtime of its own."""
    with everturn_dev("--cloud") as (_, said):
        yield said


@pytest.fixture(autouse=True)
def _environment(about: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """What a person has exported, and an operator's credentials."""
    exported = {
        "EVERTURN_URL": about["http_url"],
        "EVERTURN_API_KEY": about["api_key"],
        "EVERTURN_TABLE": about["table"],
        "AWS_ENDPOINT_URL": about["aws_endpoint_url"],
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
    }
    for name, value in exported.items():
        monkeypatch.setenv(name, value)


def done(*arguments: str) -> list[str]:
    """Run a command that succeeds; return its lines, blanks between words made one."""
    run = everturn(*arguments)
    assert (run.returncode, "Traceback" in run.stderr) == (0, False), run.stderr
    return [" ".join(line.split()) for line in run.stdout.splitlines()]


def told(*arguments: str) -> Any:
    """Run a command that succeeds and answers with one JSON line."""
    [line] = done(*arguments, "--json")
    return json.loads(line)


def failed(*arguments: str) -> tuple[int, list[str]]:
    """Run a command that fails; return its exit code and what it said."""
    run = everturn(*arguments)
    assert "Traceback" not in run.stderr, run.stderr
    return run.returncode, run.stderr.splitlines()


# ---- agents


def test_agents_are_applied_until_they_are_what_the_file_says(tmp_path: Path) -> None:
    file = tmp_path / "agents.yaml"
    file.write_text(AGENTS)
    apply = ("agents", "apply", str(file))

    planned = done(*apply, "--dry-run")
    first, second = done(*apply), done(*apply)
    file.write_text(AGENTS.replace("briefly", "at length").replace("effect: read", "overlap: true"))
    plan = done(*apply, "--dry-run")
    third = [json.loads(line) for line in done(*apply, "--json")]

    assert planned == first == ["created helper", "created adder"]
    assert second == ["unchanged helper", "unchanged adder"]
    assert plan == ["updated helper ~system", "updated adder ~tools.add"]
    assert [(one["agent_id"], one["result"], one["changes"]) for one in third] == [
        ("helper", "updated", ["~system"]),
        ("adder", "updated", ["~tools.add"]),
    ]


def test_a_wrong_file_changes_nothing_and_one_refused_agent_stops_no_other(tmp_path: Path) -> None:
    file = tmp_path / "agents.yaml"
    name = new_id("agent")
    file.write_text(f"agents:\n  {name}: {{model: demo}}\n  broken: {{model: demo, tools: 7}}\n")
    wrong = failed("agents", "apply", str(file))
    absent = failed("agents", "show", name)
    file.write_text(f"agents:\n  none: {{model: nowhere:x}}\n  {name}: {{model: demo}}\n")
    run = everturn("agents", "apply", str(file))

    assert wrong[0] == absent[0] == 1
    assert wrong[1] == [f"error: invalid_file: {file}: broken/tools: should be a list"]
    assert absent[1][0].startswith("error: unknown_agent: ")
    assert run.returncode == 1
    lines = [" ".join(line.split()) for line in run.stdout.splitlines()]
    assert lines[0].startswith("failed none ")
    assert lines[1] == f"created {name}"


def test_agents_are_listed_shown_and_deleted(tmp_path: Path) -> None:
    name = new_id("agent")
    file = tmp_path / "agents.yaml"
    file.write_text(f"agent_id: {name}\nmodel: demo\nsystem: Hi.\n")
    done("agents", "apply", str(file))

    shown = everturn("agents", "show", name).stdout
    file.write_text(shown)
    again = done("agents", "apply", str(file))
    listed = [one["agent_id"] for one in told("agents", "list", "--limit", "200")["agents"]]
    table = done("agents", "list")
    page = everturn("agents", "list", "--limit", "1")
    deleted = done("agents", "delete", name)

    assert again == [f"unchanged {name}"]
    assert name in listed
    assert table[0] == "agent model updated"
    assert any(line.startswith(f"{name} demo ") for line in table)
    assert page.stderr.startswith("more: --cursor ")
    assert deleted == [f"deleted {name}"]
    assert failed("agents", "delete", name)[0] == 1


# ---- sessions


def test_a_message_is_sent_and_its_turn_followed_to_the_end() -> None:
    session = new_id("session")

    shown = done("send", "demo", "[[say:Hello ]][[sleep:2500]][[say:there]]", "--session", session)
    frames = [
        json.loads(line) for line in done("send", "demo", "again", "--session", session, "--json")
    ]

    assert shown[0].startswith(f"session {session} turn ")
    assert "says Hello" in shown
    assert "answer Hello there" in shown
    assert frames[0]["session_id"] == session
    kinds = [one["event"]["payload"]["type"] for one in frames[1:] if one["type"] == "event"]
    assert kinds[0] == "turn.started"
    assert "turn.completed" in kinds


def test_a_turn_that_fails_is_a_failure() -> None:
    run = everturn("send", "demo", "[[error:refusal No.]]")

    assert run.returncode == 1
    assert "failed" in run.stdout


def test_sessions_are_listed_shown_tailed_and_deleted() -> None:
    session = new_id("session")
    sent = told("send", "demo", "hello", "--session", session, "--no-wait")
    done("sessions", "tail", session)

    listed = told("sessions", "list", "--agent", "demo", "--status", "done")
    table = done("sessions", "list", "--limit", "1")
    shown = done("sessions", "show", session)
    whole = told("sessions", "show", session)
    of_turn = done("sessions", "tail", session, "--turn", sent["turn_id"])
    rest = done("sessions", "tail", session, "--after", str(whole["seq"]))
    deleted = done("sessions", "delete", session)
    gone = failed("sessions", "tail", session)

    assert listed["sessions"][0]["session_id"] == session
    assert table[0] == "session agent owner status turns last turn"
    assert table[1].startswith(f"{session} demo default done 1 ")
    assert f"session_id {session}" in shown
    assert "assistant echo: hello" in shown
    assert of_turn[-1] == "turn done"
    assert rest == []
    assert deleted == [f"deleted {session}"]
    assert gone == (1, ["error: unknown_session: There is no such session."])


def test_a_turn_is_stopped_and_a_session_ended_for_good() -> None:
    session = new_id("session")
    sent = told("send", "demo", "[[sleep:60000]][[say:x]]", "--session", session, "--no-wait")

    stopped = done("sessions", "cancel", session)
    idle = failed("sessions", "cancel", session)
    again = done("sessions", "cancel", session, "--turn", sent["turn_id"])
    ended = done("sessions", "cancel", session, "--for-good")
    over = told("sessions", "cancel", session, "--for-good")
    shown = done("sessions", "show", session)

    assert stopped == [f"cancelled {sent['turn_id']} of {session}"]
    assert idle == (1, ["error: no_active_turn: The session has no open turn."])
    assert again == [f"{sent['turn_id']} of {session} was over already"]
    assert ended == [f"cancelled {session}"]
    assert over == {"ok": True, "session_id": session, "cancelled": False}
    assert "status cancelled" in shown


def test_a_tail_follows_until_it_is_told_to_stop() -> None:
    session = new_id("session")
    done("send", "demo", "hello", "--session", session)
    command = ["sessions", "tail", session, "--follow", "--json"]
    run = subprocess.Popen(  # noqa: S603  our own command
        [*EVERTURN, *command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert run.stdout is not None
    seen = []
    try:
        while "session.done" not in seen:
            seen.append(json.loads(run.stdout.readline())["event"]["payload"]["type"])
        still = run.poll()
    finally:
        run.kill()
        run.wait()
        run.stdout.close()

    assert still is None
    assert seen[0] == "session.created"


def test_a_token_sees_its_owners_sessions_alone() -> None:
    done("send", "demo", "hello", "--no-wait")
    token = told("token", "ada", "--ttl", "300", "--scope", "sessions:read")
    [plain] = done("token", "ada")

    listed = told("sessions", "list", "--api-key", token["token"])
    refused = failed("agents", "list", "--api-key", plain)

    assert listed == {"sessions": []}
    assert refused[0] == 1
    assert refused[1][0].startswith("error: insufficient_privilege: ")
    assert failed("token", "ada", "--ttl", "90000")[1][0].startswith("error: schema_violation: ")


# ---- who cannot


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--api-key", "ek_wrong"), 1, "error: unauthenticated: "),
        (("--url", "http://127.0.0.1:9"), 3, "error: unreachable: "),
        (("--url", "nonsense"), 3, "error: unreachable: "),
        (("--cursor", "x"), 1, "error: invalid_id: "),
        (("--status", "running"), 1, "error: schema_violation: "),
    ],
)
def test_what_goes_wrong_is_one_line_and_an_exit_code(
    options: tuple[str, ...], code: int, said: str
) -> None:
    status, lines = failed("sessions", "list", *options)

    assert (status, len(lines)) == (code, 1)
    assert lines[0].startswith(said)


def test_without_a_url_a_command_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVERTURN_URL")

    run = everturn("sessions", "list")

    assert run.returncode == 2
    assert "EVERTURN_URL" in run.stderr


# ---- the operator


def test_tenants_and_keys_are_made_used_listed_and_revoked(about: dict[str, Any]) -> None:
    tenant = new_id("tenant")

    made = done("tenants", "create", tenant, "--name", "Acme")
    again = done("tenants", "create", tenant)
    shown = told("tenants", "show", tenant)
    key = told("keys", "create", "--tenant", tenant, "--name", "laptop", "--expires-in", "30d")
    plain = everturn("keys", "create", "--tenant", tenant, "--name", "other")
    listed = told("keys", "list", "--tenant", tenant)["keys"]
    known = ask(about, key["key"])
    revoked = everturn("keys", "revoke", key["id"])

    assert made + again == [f"created {tenant}", f"unchanged {tenant}"]
    assert shown == {"tenant": tenant, "name": "Acme", "created_at": shown["created_at"]}
    assert key["key"].startswith("ek_")
    assert key["id"].startswith(f"{tenant}/")
    assert known == 200
    assert plain.stdout.strip().startswith("ek_")
    assert "one time" in plain.stderr
    assert [one["name"] for one in listed] == ["laptop", "other"]
    assert listed[0] == {name: key[name] for name in listed[0]}
    assert key["key"] not in json.dumps(listed)
    assert ask(about, plain.stdout.strip()) == 200
    assert (revoked.returncode, revoked.stdout) == (0, f"revoked {key['id']}\n")
    assert "end of the minute" in revoked.stderr
    assert [one["name"] for one in told("keys", "list", "--tenant", tenant)["keys"]] == ["other"]
    assert failed("keys", "revoke", key["id"])[0] == 1


def ask(about: dict[str, Any], key: str) -> int:
    headers = {"authorization": f"Bearer {key}"}
    return httpx.get(f"{about['http_url']}/v1/agents", headers=headers).status_code


def test_the_runtimes_own_tenant_and_key_are_listed(about: dict[str, Any]) -> None:
    tenants = done("tenants", "list")
    keys = done("keys", "list", "--tenant", about["workspace"])

    assert any(line.startswith("local local ") for line in tenants[1:])
    assert keys[0] == "id name ends in created expires"
    assert f"…{about['api_key'][-4:]}" in keys[1]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("tenants", "create", "a#b"), 1),
        (("tenants", "create", "x", "--demo-provider", "maybe"), 2),
        (("tenants", "show", "nobody"), 1),
        (("keys", "create", "--tenant", "nobody", "--name", "n"), 1),
        (("keys", "create", "--tenant", "local", "--name", "n", "--expires-in", "soon"), 2),
        (("keys", "create", "--tenant", "local", "--name", "n", "--expires-in", "0d"), 1),
        (("keys", "list", "--tenant", "nobody"), 1),
        (("tenants", "list", "--table", "none"), 1),
    ],
)
def test_what_an_operator_gets_wrong(arguments: tuple[str, ...], code: int) -> None:
    status, lines = failed(*arguments)

    assert (status, bool(lines)) == (code, True)


def test_dev_prints_what_to_export() -> None:
    run = subprocess.Popen(  # noqa: S603  our own command
        [*EVERTURN, "dev", "--api-key", "ek_mine"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert run.stdout is not None
    lines: list[str] = []
    try:
        while not lines or not lines[-1].startswith("export EVERTURN_API_KEY="):
            lines.append(run.stdout.readline().strip())
            assert lines[-1], lines
    finally:
        run.kill()
        run.wait()
        run.stdout.close()

    url = next(line for line in lines if line.startswith("HTTP")).split()[1]
    assert lines[-2:] == [f"export EVERTURN_URL={url}", "export EVERTURN_API_KEY=ek_mine"]
