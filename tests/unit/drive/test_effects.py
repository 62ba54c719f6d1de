"""Effects run beside the loop; what comes of them meets in one mailbox, until they are revoked."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

from everturn.drive.effects import Effects, Ended
from everturn.session.propose import CallModel, DeliverToWorker, Effect

MODEL = CallModel("call", 1)
DELIVERY = DeliverToWorker("decision", 1, "call")


def test_an_effect_that_ends_brings_its_command() -> None:
    effects = Effects(lambda _effect, _revoked: None)

    effects.start(MODEL)
    mail = effects.next(5)

    assert mail == Ended(MODEL)
    assert effects.done(MODEL)
    assert not effects.done(MODEL)


def test_an_effect_that_breaks_brings_its_error() -> None:
    broken = KeyError("x")

    def body(_effect: Effect, _revoked: Callable[[], bool]) -> None:
        raise broken

    effects = Effects(body)
    effects.start(MODEL)

    assert effects.next(5) == Ended(MODEL, error=broken)


def test_what_is_not_wanted_any_more_is_told_so_and_forgotten() -> None:
    told: dict[Effect, Callable[[], bool]] = {}
    started, let_go = Event(), Event()

    def body(effect: Effect, revoked: Callable[[], bool]) -> None:
        told[effect] = revoked
        if len(told) == 2:
            started.set()
        let_go.wait(5)

    effects = Effects(body)
    effects.start(MODEL)
    effects.start(DELIVERY)
    started.wait(5)
    effects.keep_only((DELIVERY,))

    assert (told[MODEL](), told[DELIVERY]()) == (True, False)
    assert (MODEL in effects, DELIVERY in effects, len(effects)) == (False, True, 1)
    effects.revoke_all()
    assert told[DELIVERY]()
    let_go.set()


def test_no_mail_in_time_is_none() -> None:
    assert Effects(lambda _effect, _revoked: None).next(-1) is None
