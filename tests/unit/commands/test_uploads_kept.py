"""A file is deleted some days after it was put, unless an input refers to it: then it stays."""

from __future__ import annotations

import pytest

from everturn.commands.submit_input import SubmitInput, Submitted
from everturn.commands.uploads import Uploads
from everturn.errors import StoreUnavailable
from everturn.protocol.client_input import read_input
from everturn.protocol.upload import reference_to
from everturn.rejections import TurnAlreadyActive
from everturn.store.memory_uploads import InMemoryUploads
from unit.drive.world import KEY, MACHINE, TENANT, World, body

ASKED = {"filename": "a.png", "content_type": "image/png", "size_bytes": 3}


class Counting(InMemoryUploads):
    """Notes what is kept; may be unable to."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[str] = []
        self.is_busy = False

    def keep(self, tenant: str, upload_id: str) -> bool:
        if self.is_busy:
            raise StoreUnavailable("S3: SlowDown", retry_after_s=1.0)
        self.kept.append(upload_id)
        return super().keep(tenant, upload_id)


class Case:
    """A world with a bucket."""

    def __init__(self) -> None:
        self.world = World()
        self.places = Counting()
        self.uploads = Uploads(self.places, self.world.clock)

    def upload(self) -> str:
        minted = self.uploads.create(MACHINE, ASKED)
        self.places.receive(minted["url"])
        return str(minted["upload_id"])

    def submitter(self) -> SubmitInput:
        world = self.world
        return SubmitInput(
            world.store,
            world.reader,
            world.wake,
            world.clock,
            by="http_api",
            runnable_s=1200,
            check_route=lambda _tenant, _facts: None,
            attempts=world.attempts,
            keep_uploads=self.uploads.keep,
        )

    def submit(self, *uploads: str, turn: str = "t1", text: str = "[[say:Hi]]") -> Submitted:
        data = body(text, turn)
        parts = [{"type": "image_url", "image_url": {"url": reference_to(one)}} for one in uploads]
        data["input"]["message"]["content"] = [{"type": "text", "text": text}, *parts]
        return self.submitter()(MACHINE, read_input(data))


def test_what_an_input_refers_to_outlives_what_nobody_does() -> None:
    case = Case()
    meant, forgotten = case.upload(), case.upload()

    case.submit(meant)
    case.places.expire()

    assert case.places.find(TENANT, meant) is not None
    assert case.places.find(TENANT, forgotten) is None


def test_a_file_that_cannot_be_kept_now_keeps_its_input_out() -> None:
    case = Case()
    upload = case.upload()
    case.places.is_busy = True

    with pytest.raises(StoreUnavailable):
        case.submit(upload)
    before = case.world.store.log(KEY, 1)
    case.places.is_busy = False
    case.submit(upload)

    assert before == ()
    assert len(case.world.log()) == 1


def test_a_reference_that_leads_nowhere_is_recorded_as_it_was_sent() -> None:
    case = Case()
    nowhere = "0198f000-0000-7000-8000-000000000001"

    case.submit(nowhere)

    [(_, content)] = case.world.texts()
    assert content[1]["image_url"]["url"] == reference_to(nowhere)


def test_an_input_that_is_known_or_refused_keeps_nothing_again() -> None:
    case = Case()
    upload = case.upload()
    case.submit(upload)

    known = case.submit(upload)
    with pytest.raises(TurnAlreadyActive):
        case.submit(upload, turn="t2")

    assert known.duplicate
    assert case.places.kept == [upload]


def test_of_a_view_only_the_new_messages_count() -> None:
    case = Case()
    old, new = case.upload(), case.upload()
    case.submit(old)
    case.world.advance()
    known = [
        event.message
        for commit in case.world.log()
        for event in commit.events
        if event.type == "message.new"
    ]
    part = {"type": "image_url", "image_url": {"url": reference_to(new)}}
    data = body("", "t2")
    data["input"] = {
        "type": "client.messages",
        "agent_id": "helper",
        "turn_id": "t2",
        "messages": [*known, {"role": "user", "content": [part]}],
    }
    case.places.kept.clear()

    case.submitter()(MACHINE, read_input(data))

    assert case.places.kept == [new]
