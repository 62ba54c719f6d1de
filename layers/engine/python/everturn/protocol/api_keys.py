"""What an API key looks like, and what of it is stored.

It must not take randomness from anywhere but its arguments.
"""

import hashlib
from base64 import urlsafe_b64encode
from typing import Final

KEY_PREFIX: Final = "ek_"
"""How keys begin that are made here; one that begins otherwise is as good."""

KEY_BYTES: Final = 32
"""Random bytes of a key: nobody guesses 256 bits, and their digest needs no salt."""

MAX_KEY_CHARS: Final = 200
"""A longer text is no key, and not looked up."""

LAST_CHARS: Final = 4
"""What of a key its list shows."""


def key_of(random: bytes) -> str:
    """Return the key made of `KEY_BYTES` random bytes. Raises `ValueError` for fewer."""
    if len(random) < KEY_BYTES:
        raise ValueError(f"a key takes {KEY_BYTES} random bytes, not {len(random)}")
    return KEY_PREFIX + urlsafe_b64encode(random).decode().rstrip("=")


def hash_of(key: str) -> str:
    """Return what of an API key is stored. Source: decision-protocol A-4."""
    return hashlib.sha256(key.encode()).hexdigest()


def mark_of(sha256: str) -> str:
    """Return what a token may say of a key: it names no item of the table, and nobody undoes it."""
    return hashlib.sha256(f"mark of {sha256}".encode()).hexdigest()
