"""Keys are for ever: these are the very names that the table holds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from everturn.ports.sessions import SessionKey
from everturn.store import keys

KEY = SessionKey("acme", "s.1:a@b-c")
IDS = st.from_regex(r"[A-Za-z0-9._:@-]{1,200}", fullmatch=True)


def test_items_of_a_session_have_these_keys() -> None:
    names = (
        keys.session_pk(KEY),
        keys.section_sk("calls", 1),
        keys.log_sk(14),
        keys.turn_sk("t"),
        keys.node_sk("m"),
        keys.call_sk("c"),
        keys.version_sk("agent", 0, 12),
        keys.delta_sk(13, 7),
    )

    assert names == (
        "SESSION#acme#s.1:a@b-c",
        "HEAD#calls#1",
        "LOG#000000000014",
        "TURN#t",
        "ID#node#m",
        "ID#call#c",
        "VER#agent#0#00000012",
        "DELTA#000000000013#000007",
    )


def test_what_stands_beside_sessions_has_these_keys() -> None:
    names = (
        keys.tenant_pk("acme"),
        keys.api_key_pk("f0"),
        keys.agents_pk("acme"),
        keys.agent_sk("helper"),
        keys.connection_pk("c=1"),
        keys.listing_pk("acme"),
        keys.listing_sk(1_767_268_800_001, "s"),
        keys.body_object(KEY, "uuid", "f0"),
        keys.agent_object("acme", "helper", "f0"),
    )

    assert names == (
        "TENANT#acme",
        "KEY#f0",
        "AGENTS#acme",
        "AGENT#helper",
        "CONNECTION#c=1",
        "LIST#acme",
        "2026-01-01T12:00:00.001Z#s",
        "acme/s.1:a@b-c/uuid/f0",
        "acme/agents//helper/f0",
    )


@given(tenant=IDS, session=IDS)
def test_a_partition_names_one_session(tenant: str, session: str) -> None:
    key = SessionKey(tenant, session)

    assert keys.session_of(keys.session_pk(key)) == key


@given(seq=st.integers(1, keys.LAST_SEQ), n=st.integers(0, 999_999), other=IDS)
def test_numbers_and_ids_come_back_from_their_keys(seq: int, n: int, other: str) -> None:
    found = (
        keys.last_seq_of(keys.log_sk(seq)),
        keys.delta_place(keys.delta_sk(seq, n)),
        keys.id_of(keys.node_sk(other)),
        keys.id_of(keys.call_sk(other)),
    )

    assert found == (seq, (seq, n), other, other)


@given(one=st.integers(1, keys.LAST_SEQ), other=st.integers(1, keys.LAST_SEQ))
def test_log_keys_sort_as_their_numbers(one: int, other: int) -> None:
    assert (keys.log_sk(one) < keys.log_sk(other)) == (one < other)


def test_sessions_spread_over_all_shards() -> None:
    shards = {keys.due_shard(SessionKey("acme", f"s{n}")) for n in range(400)}

    assert shards == set(keys.DUE_SHARDS)
    assert keys.due_shard(KEY) == keys.due_shard(KEY)


def test_a_group_id_tells_tenant_and_session_apart() -> None:
    groups = {keys.group_id(SessionKey(*pair)) for pair in (("a", "bc"), ("ab", "c"), ("a", "b"))}

    assert len(groups) == 3
    assert keys.group_id(SessionKey("a", "bc")) == (
        "ic5vi7mtno6tcmmo4n5mq6m6p3f3elw2ezi7mxrscs77xdhjpo2a"
    )
