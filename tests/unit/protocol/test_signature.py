"""O-2 and A-8: what a worker can check about a delivery."""

from __future__ import annotations

import pytest

from everturn.protocol.signature import sign, sign_body, signed_headers, verify

SECRET = b"whsec"
BODY = b'{"session_id":"s1"}'
NOW = 1_800_000_000


def test_the_signature_covers_the_timestamp_a_dot_and_the_body() -> None:
    headers = signed_headers(SECRET, BODY, NOW)

    assert headers == {
        "X-Everturn-Signature": sign_body(SECRET, f"{NOW}.".encode() + BODY),
        "X-Everturn-Timestamp": str(NOW),
    }


def test_the_signature_is_hex_of_hmac_sha256() -> None:
    signature = sign_body(b"key", b"The quick brown fox jumps over the lazy dog")

    assert signature == ("sha256=f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8")


@pytest.mark.parametrize("now", [NOW - 300, NOW, NOW + 300.0])
def test_a_fresh_signature_is_accepted_up_to_the_tolerance(now: float) -> None:
    signature = sign(SECRET, BODY, NOW)

    accepted = verify(SECRET, BODY, signature=signature, timestamp=str(NOW), now_epoch_s=now)

    assert accepted


@pytest.mark.parametrize(
    ("body", "signature", "timestamp", "now"),
    [
        pytest.param(BODY + b" ", sign(SECRET, BODY, NOW), str(NOW), NOW, id="other body"),
        pytest.param(BODY, sign(b"other", BODY, NOW), str(NOW), NOW, id="other secret"),
        pytest.param(BODY, sign(SECRET, BODY, NOW), str(NOW + 1), NOW, id="moved timestamp"),
        pytest.param(BODY, sign(SECRET, BODY, NOW), str(NOW), NOW + 301, id="replayed"),
        pytest.param(BODY, sign(SECRET, BODY, NOW), str(NOW), NOW - 301, id="from the future"),
        pytest.param(BODY, sign(SECRET, BODY, NOW)[7:], str(NOW), NOW, id="no prefix"),
        pytest.param(BODY, "sha256=é", str(NOW), NOW, id="not ascii"),
        pytest.param(BODY, "", str(NOW), NOW, id="empty"),
        pytest.param(BODY, sign(SECRET, BODY, NOW), "", NOW, id="no timestamp"),
        pytest.param(BODY, sign(SECRET, BODY, NOW), "-1", NOW, id="negative"),
        pytest.param(BODY, sign(SECRET, BODY, NOW), "9" * 5000, NOW, id="endless digits"),
        pytest.param(BODY, sign(SECRET, BODY, NOW), "१", NOW, id="foreign digits"),
    ],
)
def test_anything_else_is_a_plain_no(body: bytes, signature: str, timestamp: str, now: int) -> None:
    accepted = verify(SECRET, body, signature=signature, timestamp=timestamp, now_epoch_s=now)

    assert not accepted
