"""House style 6: a missing or wrong variable is named; nothing else reads the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from everturn import settings as module
from everturn.settings import Settings, SettingsMissing, local_variable, needed, read, settings

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TABLE", "BUCKET", "WORKER_NETWORKS"):
        monkeypatch.delenv(f"EVERTURN_{name}", raising=False)
    settings.cache_clear()


def test_what_is_not_given_has_its_default_and_what_is_foreign_is_ignored() -> None:
    given = read({"EVERTURN_TABLE": "t", "EVERTURN_LEASE_SECONDS": "60", "PATH": "x"})

    assert given == Settings(table="t", lease_seconds=60)
    assert read({"EVERTURN_OF_A_LATER_VERSION": "x"}) == Settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("EVERTURN_LEASE_SECONDS", "0"),
        ("EVERTURN_LEASE_SECONDS", "901"),
        ("EVERTURN_LEASE_SECONDS", "soon"),
        ("EVERTURN_WORKER_NETWORKS", "some"),
        ("EVERTURN_DEMO_PROVIDER", "maybe"),
        ("EVERTURN_DELIVERY_ATTEMPTS", "0"),
        ("EVERTURN_MAX_CHILD_RUN_SECONDS", "-1"),
        ("EVERTURN_RUNNABLE_SECONDS", "-1"),
    ],
)
def test_a_value_that_does_not_fit_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsMissing, match=name):
        read({name: value})


def test_the_process_reads_its_environment_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERTURN_TABLE", "first")
    first = needed("table")
    monkeypatch.setenv("EVERTURN_TABLE", "second")

    assert (first, needed("table")) == ("first", "first")


def test_a_variable_that_is_not_set_is_named_when_it_is_needed() -> None:
    with pytest.raises(SettingsMissing, match="EVERTURN_BUCKET is not set"):
        needed("bucket")


@pytest.mark.parametrize(("networks", "seen"), [("any", "s"), ("public", ""), (None, "")])
def test_a_secret_in_the_environment_is_found_on_one_machine_only(
    networks: str | None, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_SECRET", "s")
    if networks:
        monkeypatch.setenv("EVERTURN_WORKER_NETWORKS", networks)

    assert local_variable("HOOK_SECRET") == seen


def test_nothing_else_in_the_engine_reads_the_environment() -> None:
    folder = ROOT / "layers" / "engine" / "python" / "everturn"
    readers = {
        str(path.relative_to(folder))
        for path in folder.rglob("*.py")
        if "os.environ" in path.read_text() or "getenv" in path.read_text()
    }

    assert readers == {Path(module.__file__).name}
