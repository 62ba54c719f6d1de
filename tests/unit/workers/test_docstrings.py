"""What a model reads of a docstring."""

from __future__ import annotations

import inspect

from everturn.workers.docstrings import described


def test_the_text_before_the_first_section_is_the_description() -> None:
    docstring = inspect.cleandoc(
        """Looks at the sky.

        Twice, if need be.

        Args:
            city: Where to look;
                any spelling.
            units (str, optional): C or F: as you like.
            *rest: Ignored.

        Returns:
            The weather.

        Raises:
            ValueError: city: never.
        """
    )

    assert described(docstring) == (
        "Looks at the sky.\n\nTwice, if need be.",
        {
            "city": "Where to look; any spelling.",
            "units": "C or F: as you like.",
            "rest": "Ignored.",
        },
    )


def test_text_at_the_margin_ends_the_parameters() -> None:
    assert described("Adds.\n\nArgs:\n    a: One.\n\nOther: text.\n    b: no") == (
        "Adds.",
        {"a": "One."},
    )


def test_a_word_with_a_colon_is_no_section() -> None:
    assert described("Note: this is text.\nReturns: a thing") == (
        "Note: this is text.\nReturns: a thing",
        {},
    )


def test_nothing_says_nothing() -> None:
    assert described("") == ("", {})
