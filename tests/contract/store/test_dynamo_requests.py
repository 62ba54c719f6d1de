"""How many requests each method of the table's store makes, and what its items weigh."""

from __future__ import annotations

import pytest

from contract.store.conftest import Aws
from everturn.ports.sessions import Head, Owner, SessionKey
from everturn.ports.streams import Delta, Watcher
from everturn.session.events.messages import AgentPrivate, AgentUpdated
from everturn.session.events.shape import Anchor
from everturn.session.events.stored import Event
from everturn.session.evolve import fold
from everturn.session.refs import same_as
from everturn.store.attributes import size_bytes
from everturn.store.compression import inflate
from sample_events import NOON_MS, commit, created, id_of, message, plain_turn, tool_call


def test_each_method_makes_the_fewest_requests(aws: Aws, key: SessionKey) -> None:
    store = aws.store()
    asked, answered = plain_turn(key.session)
    taken = {}

    def note(name: str) -> None:
        taken[name] = aws.dynamodb.taken()

    head = store.append(commit(key, None, asked))
    note("append")
    head = store.append(commit(key, head, answered))
    note("append again")
    store.head(key)
    note("head")
    store.head_and_turn(key, "t")
    note("head_and_turn")
    store.head_and_watch(key)
    note("head_and_watch")
    store.nodes(key, [f"n{n}" for n in range(201)])
    note("nodes")
    logged = store.log(key, 1, head.session.seq)
    note("log")
    store.log(key, 15, 15)
    note("log of one")
    store.log(key, 1, 13)
    note("log to the middle of a commit")
    store.page(key, 0, 10)
    note("page")
    store.materialise(key, logged)
    note("materialise at hand")
    store.claim(key, head, Owner(1, "r"))
    note("claim")
    store.add_watcher(key, Watcher("c", "s"))
    note("add_watcher")
    store.remove_watcher(key, "c", "s")
    note("remove_watcher")
    store.reader_until(key, 5)
    note("reader_until")
    store.put_delta(key, Delta(13, 1, "call", 1, "turn", {}), 1)
    note("put_delta")
    store.deltas(key, 13, 0, 10)
    note("deltas")
    store.due(0, 10)
    note("due")

    assert taken == {
        "append": ["transact_write_items"],
        "append again": ["transact_write_items"],
        "head": ["get_item"],
        "head_and_turn": ["transact_get_items"],
        "head_and_watch": ["batch_get_item"],
        "nodes": ["batch_get_item"] * 3,
        "log": ["query"],
        "log of one": ["query"],
        "log to the middle of a commit": ["query", "query"],
        "page": ["query"],
        "materialise at hand": [],
        "claim": ["update_item"],
        "add_watcher": ["update_item"],
        "remove_watcher": ["update_item"],
        "reader_until": ["update_item"],
        "put_delta": ["put_item"],
        "deltas": ["query"],
        "due": ["query"] * 16,
    }
    assert aws.s3.taken() == []


def test_a_plain_turn_costs_two_units_an_item(aws: Aws, key: SessionKey) -> None:
    store = aws.store()
    asked, answered = plain_turn(key.session)

    owner = Owner(1, id_of("request"))
    head = store.append(commit(key, None, asked, wake="llm", due_epoch_s=NOON_MS // 1000 + 1200))
    open_head = size_bytes(aws.item("HEAD"))
    store.append(commit(key, head, answered, owner=owner, by="driver:1"))

    sizes = {item["sk"]["S"]: size_bytes(item) for item in aws.items()}
    sizes["HEAD in the turn"] = open_head
    print(sizes)
    assert max(sizes.values()) <= 1_024
    assert len(sizes) == 7


def test_the_head_of_a_long_session_stays_small(aws: Aws, key: SessionKey) -> None:
    store = aws.store()
    asked, answered = plain_turn(key.session)
    head = store.append(commit(key, None, [asked[0]], due_epoch_s=5))
    for n in range(40):
        turn = [
            event.model_copy(update={"id": id_of(f"{n} {event.id}")})
            if event.type == "message.new"
            else event
            for event in (*asked[1:], *answered)
        ]
        # the references of the sample are those of the first turn: only what they add up to counts
        head = store.append(commit(key, head, turn, owner=Owner(n, id_of("r")), due_epoch_s=5))

    assert size_bytes(aws.item("HEAD")) <= 1_024
    assert store.head(key) == head


def test_256_open_calls_leave_a_small_head(aws: Aws, key: SessionKey) -> None:
    store = aws.store()
    calls = [tool_call(f"c{n}") for n in range(256)]

    head = store.append(commit(key, None, [created(key.session), *calls]))

    sizes = {
        item["sk"]["S"]: size_bytes(item)
        for item in aws.items()
        if item["sk"]["S"].startswith(("HEAD", "LOG"))
    }
    print(sizes)
    assert sizes["HEAD"] <= 4_096
    assert sizes["HEAD#calls#0"] <= 64 * 1_024
    aws.dynamodb.taken()
    assert store.head(key) == head
    assert aws.dynamodb.taken() == ["get_item", "query"]


def test_a_large_body_is_one_object_however_often_it_is_told(aws: Aws, key: SessionKey) -> None:
    text = "x" * 100_000
    events: list[Event] = [created(key.session)]
    events += [message("a", content=text), message("b", content=text)]
    same = message("c").model_copy(update={"message": {"content": text}})
    again = message("d").model_copy(update={"message": {"content": text}})
    store = aws.store()

    store.append(commit(key, None, [*events, same, again]))

    assert aws.s3.taken() == ["put_object"] * 3
    assert store.materialise(key, store.log(key, 1))[0].events == (*events, same, again)
    assert aws.s3.taken() == []
    elsewhere = aws.store()
    assert elsewhere.materialise(key, elsewhere.log(key, 1))[0].events == (*events, same, again)
    assert aws.s3.taken() == ["get_object"] * 3


def test_references_are_fetched_in_clusters(aws: Aws, key: SessionKey) -> None:
    store = aws.store()
    head = store.append(commit(key, None, [created(key.session), message("a"), message("b")]))
    for n in range(80):
        head = store.append(commit(key, head, [message(f"x{n}")]))
    far = [message(f"f{seq}", refs={"message": same_as(seq, "message")}) for seq in (2, 3, 80, 70)]
    store.append(commit(key, head, far))
    logged = store.log(key, 84)
    aws.dynamodb.taken()

    whole = store.materialise(key, logged)

    assert aws.dynamodb.taken() == ["query", "query"]
    assert [event.model_dump()["message"]["id"] for event in whole[0].events] == [
        id_of("a"),
        id_of("b"),
        id_of("x76"),
        id_of("x66"),
    ]


def test_a_commit_is_spilled_as_a_whole_only_above_its_limit(aws: Aws, key: SessionKey) -> None:
    noise = "".join(id_of(str(n)) for n in range(220))
    many = [tool_call(f"c{n}", noise[n:] + noise[:n][::-1]) for n in range(40)]
    store = aws.store()

    head = store.append(commit(key, None, [created(key.session), *many]))
    inline = aws.item(f"LOG#{41:012d}")
    shuffled = ["".join(id_of(f"{c} {n}") for n in range(220)) for c in range(90)]
    large = [tool_call(f"d{c}", text) for c, text in enumerate(shuffled)]
    store.append(commit(key, head, large))

    assert "blob" not in inline
    assert "events" not in aws.item(f"LOG#{131:012d}")
    assert [one.events for one in store.log(key, 42)] == [tuple(large)]


def test_a_log_item_is_what_the_contract_says(aws: Aws, key: SessionKey) -> None:
    asked, answered = plain_turn(key.session)
    head = aws.store().append(commit(key, None, asked, wake="llm"))
    aws.store().append(commit(key, head, answered))

    first, second = aws.item(f"LOG#{14:012d}"), aws.item(f"LOG#{21:012d}")

    assert first | {"events": {}} == {
        "pk": {"S": f"SESSION#{key.tenant}#{key.session}"},
        "sk": {"S": "LOG#000000000014"},
        "format": {"N": "1"},
        "commit_id": {"S": id_of(f"{key} 0 ")},
        "at": {"N": str(NOON_MS)},
        "by": {"S": "http_api"},
        "wake": {"S": "llm"},
        "version": {"N": "1"},
        "created": {"S": head.created},
        "first_seq": {"N": "1"},
        "events": {},
    }
    assert inflate(first["events"]["B"]).startswith(b'[{"type":"session.created",')
    assert "wake" not in second


def test_the_listing_changes_with_turns_and_nothing_else(aws: Aws, key: SessionKey) -> None:
    store = aws.store()
    asked, answered = plain_turn(key.session)
    listed = []

    def note(head: Head) -> Head:
        item = aws.item("HEAD")
        listed.append((item["listing_pk"]["S"], item["listing_sk"]["S"]))
        return head

    head = note(store.append(commit(key, None, asked)))
    head = note(store.append(commit(key, head, answered)))
    note(store.append(commit(key, head, asked[1:3])))

    opened, again = "2026-01-01T12:00:00.000Z", "2026-01-01T12:00:21.000Z"
    assert listed == [
        ("LIST#acme", f"{opened}#{key.session}"),
        ("LIST#acme", f"{opened}#{key.session}"),
        ("LIST#acme", f"{again}#{key.session}"),
    ]


def test_the_due_index_holds_only_who_is_due(aws: Aws, key: SessionKey) -> None:
    store = aws.store()
    head = store.append(commit(key, None, [created(key.session)], due_epoch_s=5_000))
    due = aws.item("HEAD")
    store.append(commit(key, head, [message("m")]))

    gone = aws.item("HEAD")

    assert due["due_epoch_s"] == {"N": "5000"}
    assert due["due_shard"]["S"].startswith("due#")
    assert not {"due_epoch_s", "due_shard", "owner", "sections"} & gone.keys()


def test_versions_and_turns_are_indexed(aws: Aws, key: SessionKey) -> None:
    asked, answered = plain_turn(key.session)
    aws.store().append(commit(key, None, [*asked, *answered]))

    names = {item["sk"]["S"] for item in aws.items()}

    assert names == {
        "HEAD",
        "LOG#000000000021",
        f"ID#node#{id_of('q')}",
        f"ID#node#{id_of('a')}",
        f"TURN#{id_of('turn')}",
    }


def test_the_first_version_of_an_agent_needs_no_item_and_a_later_one_does(
    aws: Aws, key: SessionKey
) -> None:
    later = AgentUpdated(
        agent={"model": "n"}, anchor=Anchor(branch=0, depth=2), private=AgentPrivate(sha256="f1")
    )
    asked, answered = plain_turn(key.session)
    before = aws.store().append(commit(key, None, [*asked, *answered]))
    aws.store().append(commit(key, before, [later]))

    versions = [sk for sk in (item["sk"]["S"] for item in aws.items()) if sk.startswith("VER#")]

    assert versions == ["VER#agent#0#00000002"]


@pytest.mark.parametrize("count", [97, 98, 99, 100, 197, 198])
def test_ids_at_the_edge_of_a_transaction(aws: Aws, key: SessionKey, count: int) -> None:
    messages = [message(f"m{n}", n + 1) for n in range(count)]

    head = aws.store().append(commit(key, None, [created(key.session), *messages]))

    assert len(aws.store().nodes(key, [one.id for one in messages])) == count
    assert head.session == fold([created(key.session), *messages])
