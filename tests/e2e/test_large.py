"""Large messages, results and states go all the way, and the session lives on."""

from __future__ import annotations

from e2e.client import Client, message_body
from e2e.scripted_worker import ScriptedWorker, result, tool
from e2e.socket_client import Follower
from everturn_local.runtime import LocalRuntime

MB = 1024 * 1024
ROOM = 2_000
"""For the rest of the body."""


def objects(runtime: LocalRuntime) -> list[int]:
    """Return the sizes of all objects in the bucket."""
    found = runtime.clients.s3.list_objects_v2(Bucket=runtime.physical["Bucket"])
    return [one["Size"] for one in found.get("Contents", [])]


def test_a_message_of_four_megabytes_is_answered_and_read_back(
    client: Client, runtime: LocalRuntime
) -> None:
    text = "abcdefgh" * ((4 * MB - ROOM) // 8)
    before = len(objects(runtime))

    ended = client.run(text, within_s=60)

    assert ended.completed["outcome"] == "done"
    assert ended.answer == f"echo: {text}"
    assert len(objects(runtime)) > before
    again = client.run("[[say:still here]]", ended.session_id)
    assert again.answer == "still here"


def test_a_session_with_more_than_an_answer_can_hold_is_read_in_portions(client: Client) -> None:
    ended = client.run("x" * (4 * MB - ROOM), within_s=60)

    newest = client.http.get(f"/v1/sessions/{ended.session_id}")

    assert newest.status_code == 200
    before = newest.json()["before_seq"]
    older = client.http.get(f"/v1/sessions/{ended.session_id}", params={"before": before})
    shown = [*older.json()["messages"], *newest.json()["messages"]]
    assert [message["role"] for message in shown] == ["user", "assistant"]


def test_a_message_that_doubles_when_it_is_escaped_can_be_read(client: Client) -> None:
    text = '"' * (5 * MB // 4)  # four bytes each in what Lambda is sent

    ended = client.run(f"[[say:short]]{text}")

    contents = [message["content"] for message in client.messages(ended.session_id)]
    assert contents == [f"[[say:short]]{text}", "short"]


def test_a_message_of_four_megabytes_can_be_read_as_part_of_its_session(client: Client) -> None:
    text = "x" * (4 * MB - ROOM)

    ended = client.run(f"[[say:short]]{text}")

    contents = [message["content"] for message in client.messages(ended.session_id)]
    assert contents == [f"[[say:short]]{text}", "short"]


def test_a_result_of_two_megabytes_is_read_by_the_model(
    client: Client, worker: ScriptedWorker
) -> None:
    client.put_agent("reader", worker=worker.url, tools=[tool("fetch")])
    worker.plays("fetch", result("y" * 2 * MB))

    ended = client.run("[[call:fetch]][[say:got {{result}}]]", agent_id="reader")

    assert ended.answer == "got " + "y" * 2 * MB
    again = client.run("[[say:{{messages}}]]", ended.session_id, agent_id="reader")
    assert again.completed["outcome"] == "done"


def test_a_state_of_300_kilobytes_is_kept_from_turn_to_turn(
    client: Client, worker: ScriptedWorker
) -> None:
    state = {"pages": ["z" * 1000] * 300}
    client.put_agent("keeper", worker=worker.url, tools=[tool("keep", "non_idempotent_write")])
    worker.plays("keep", result("kept", state=state), result("read"))

    first = client.run("[[call:keep]]", agent_id="keeper")
    client.run("[[call:keep]]", first.session_id, agent_id="keeper")

    assert [one.request["state"] for one in worker.deliveries] == [None, state]


def test_several_large_things_in_one_session_leave_it_usable(
    client: Client, worker: ScriptedWorker
) -> None:
    client.put_agent("reader", worker=worker.url, tools=[tool("fetch")])
    worker.plays("fetch", result("r" * 450_000))
    image = "data:image/png;base64," + "A" * 300_000
    parts = [{"type": "image_url", "image_url": {"url": image}}] * 3
    first = client.run("[[call:fetch]][[say:ok]]", agent_id="reader")
    body = message_body("", first.session_id, agent_id="reader")
    body["input"]["message"]["content"] = [{"type": "text", "text": "[[say:seen]]"}, *parts]

    posted = client.post(body)
    client.idle(first.session_id)
    last = client.run("plain", first.session_id, agent_id="reader")

    assert posted.status_code == 202
    assert last.answer == "echo: plain"
    assert client.messages(first.session_id)[4]["content"] == body["input"]["message"]["content"]


def test_an_answer_of_many_words_is_streamed_whole(client: Client) -> None:
    session_id = client.run("hello").session_id
    at = client.session(session_id)["seq"]
    text = " ".join(f"w{n}" for n in range(20_000))
    follower = Follower(seq=at)
    with client.connect() as socket:
        socket.subscribe(session_id, after=str(at))

        client.start(f"[[say:{text}]]", session_id)
        follower.until_end(socket)

    assert follower.text() == text
