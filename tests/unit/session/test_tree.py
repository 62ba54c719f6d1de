"""The message tree where the engine decides: edits, regeneration, switches, what holds where."""

from __future__ import annotations

from everturn.session.events.messages import MessageNew
from everturn.session.events.model_calls import ModelCallRequested
from everturn.session.events.sessions import TurnCompleted
from everturn.session.events.tree import HeadMoved
from everturn.session.facts import Route
from everturn.session.formats import format_of
from unit.session.building import Story, made, only, types
from unit.session.talking import nodes, talk, texts, user


def test_an_edit_is_a_sibling_and_the_old_branch_is_kept() -> None:
    """V-2, V-5, conformance 20."""
    story = Story()
    talk(story, "u1/a1", "u2/a2")
    first, reply, *_ = story.messages()

    events = story.submit(view=(first, reply, user("u2, edited")))
    story.answer("a2, edited")

    assert texts(story) == ["u1", "a1", "u2, edited", "a2, edited"]
    assert nodes(story) == {
        "u1": None,
        "a1": "u1",
        "u2": "a1",
        "a2": "u2",
        "u2, edited": "a1",
        "a2, edited": "u2, edited",
    }
    assert "head.moved" not in types(events)
    (written,) = only(MessageNew, events)
    assert (written.private.branch, written.private.depth) == (1, 3)
    assert [m["content"] for m in story.requests()[-1]["messages"][1:]] == [
        "u1",
        "a1",
        "u2, edited",
    ]
    assert format_of(story.session) == 2


def test_three_edits_of_one_message_are_three_siblings() -> None:
    """V-5."""
    story = Story()
    talk(story, "u1/a1")
    base = story.messages()
    story.submit("u2")
    story.answer("a2")

    for text in ("one", "two", "three"):
        story.submit(view=(*base, user(text)))
        story.answer(f"to {text}")

    siblings = [text for text, parent in nodes(story).items() if parent == "a1"]
    assert siblings == ["u2", "one", "two", "three"]
    assert story.session.branches == 3


def test_regenerating_moves_the_head_and_the_new_reply_is_a_sibling() -> None:
    """V-8, conformance 21."""
    story = Story()
    talk(story, "u1/a1")
    first, reply = story.messages()

    events = story.submit(view=(first,))
    story.answer("a1, again")

    (moved,) = only(HeadMoved, events)
    assert (moved.from_, moved.to) == (reply["id"], first["id"])
    assert nodes(story) == {"u1": None, "a1": "u1", "a1, again": "u1"}
    assert texts(story) == ["u1", "a1, again"]


def test_switching_to_a_branch_that_ends_with_a_reply_asks_no_model() -> None:
    """G-1, conformance 21."""
    story = Story()
    talk(story, "u1/a1")
    old = story.messages()
    story.submit(view=(user("other"),))
    story.answer("reply")

    events = story.submit(view=tuple(old))

    assert only(ModelCallRequested, events) == []
    assert types(events)[-2:] == ["turn.completed", "session.done"]
    assert only(TurnCompleted, events)[0].data == "a1"
    assert texts(story) == ["u1", "a1"]


def test_going_on_after_a_switch_stays_on_that_branch() -> None:
    """V-5, invariant 8: a branch is one piece of the log, so what goes on is a new piece."""
    story = Story()
    talk(story, "u1/a1")
    old = story.messages()
    story.submit(view=(user("other"),))
    story.answer("reply")

    story.submit(view=(*old, user("u2")))
    story.answer("a2")
    talk(story, "u3/a3")

    assert texts(story) == ["u1", "a1", "u2", "a2", "u3", "a3"]
    assert [one.branch for one in story.session.stretches] == [0]
    assert [m["content"] for m in story.requests()[-1]["messages"][1:]] == texts(story)[:-1]


def test_a_full_resend_without_ids_is_a_branch_from_the_root() -> None:
    """V-4."""
    story = Story()
    talk(story, "u1/a1")

    story.submit(view=(user("u1"), {"role": "assistant", "content": "a1"}, user("u2")))
    story.answer("a2")

    assert texts(story) == ["u1", "a1", "u2", "a2"]
    roots = [v for v in story.values if v["type"] == "message.new" and not v.get("parent_id")]
    assert [root["message"]["content"] for root in roots] == ["u1", "u1"]
    assert len(roots) == 2


def test_a_view_of_the_tail_alone_follows_the_path_that_it_names() -> None:
    """V-5, conformance 22: gaps are allowed."""
    story = Story()
    talk(story, "u1/a1", "u2/a2", "u3/a3")
    tail = story.messages()[3:4]

    story.submit(view=(*tail, user("u3, edited")))
    story.answer("a3, edited")

    assert texts(story) == ["u1", "a1", "u2", "a2", "u3, edited", "a3, edited"]


def test_a_known_id_changes_nothing_and_is_written_afresh_behind_the_news() -> None:
    """V-2, V-5, conformance 22."""
    story = Story()
    talk(story, "u1/a1")
    first, reply = story.messages()

    story.submit(view=({**first, "content": "forged"}, user("new"), reply, user("on")))
    story.answer("well")

    assert texts(story) == ["u1", "new", "a1", "on", "well"]
    assert nodes(story)["a1"] == "new"


def test_a_message_of_another_branch_is_written_again_and_not_jumped_to() -> None:
    """V-5: only what is below the last one counts as known."""
    story = Story()
    talk(story, "u1/a1")
    old = story.messages()
    story.submit(view=(old[0], user("side")))
    story.answer("side reply")

    story.submit(view=(story.messages()[1], old[1], user("on")))
    story.answer("yes")

    assert texts(story) == ["u1", "side", "a1", "on", "yes"]


def test_a_tool_message_that_is_answered_on_the_path_is_that_node_whatever_its_id() -> None:
    """V-6."""
    story = Story()
    story.submit("u1")
    story.answer("", made("c1"))
    story.worker("c1", "sunny")
    story.answer("It is sunny.")
    first, call, result, last = story.messages()

    events = story.submit(view=(first, call, {**result, "id": "other"}, last, user("thanks")))

    assert only(MessageNew, events)[0].private.fork is None
    assert texts(story) == ["u1", None, "sunny", "It is sunny.", "thanks"]


def test_state_and_config_read_as_of_the_fork_point() -> None:
    """Z-2, Z-4, conformance 24."""
    story = Story()
    story.submit("u1")
    story.answer("", made("c1"))
    story.worker("c1", "sunny", state={"n": 1}, has_state=True)
    story.answer("a1")
    base = story.messages()
    story.submit("u2")
    story.answer("", made("c2"))
    story.worker("c2", "rainy", state={"n": 2}, has_state=True)
    story.answer("a2")
    second = story.session.state_seq

    story.submit(view=(*base, user("u2, edited")))
    story.answer("fine")

    assert story.values[story.session.state_seq - 1]["state"] == {"n": 1}
    assert story.session.state_seq != second
    story.submit(view=(base[0], user("before all of it")))
    assert story.session.state_seq == 0


def test_the_tools_of_a_client_are_those_of_the_branch() -> None:
    """Z-5, K-5: what was layered on another branch is not there."""
    story = Story()
    talk(story, "u1/a1")
    base = story.messages()
    story.submit("u2", client={"tools": [{"name": "pick"}]})
    story.answer("a2")

    story.submit(view=(*base, user("u2, edited")))

    offered = [tool["name"] for tool in story.requests()[-1]["tools"]]
    assert "pick" not in offered


def test_a_window_on_another_branch_has_its_whole_turns() -> None:
    """Invariant 8: a fork far back begins where a full window would."""
    story = Story(route=Route("demo", "echo", context_window=300))
    talk(story, *(f"question {n} {'x' * 80}/answer {n}" for n in range(12)))
    base = story.messages()[:8]

    story.submit(view=(*base, user("edited")))

    shown = [m["content"] for m in story.requests()[-1]["messages"][1:]]
    assert shown[-1] == "edited"
    assert shown[0].startswith("question")
    assert len(shown) < len(base)
