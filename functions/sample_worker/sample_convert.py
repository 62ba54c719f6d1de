"""Tool `convert`: units into units, in exact fractions until the last digit is written."""

from __future__ import annotations

from decimal import Context, Decimal, Inexact, InvalidOperation, localcontext
from fractions import Fraction
from typing import Any

from sample_errors import ToolFailed
from sample_units import UNITS, Unit, unit_named

MAX_EXPONENT = 60
"""Powers of ten of a value; beyond there is nothing to measure."""

DIGITS = 15
"""Significant digits of a result that has no end."""


def convert(arguments: dict[str, Any]) -> dict[str, str]:
    """Return `{value, from, to}` converted, as `{value, unit, text}`; values are decimal strings.

    Raises `ToolFailed` for unknown or mismatched units, and for what is no quantity.
    """
    value = quantity(arguments.get("value"))
    source = known_unit(arguments.get("from"), "from")
    target = known_unit(arguments.get("to"), "to")
    if source.measures != target.measures:
        raise ToolFailed(
            f"{source.name} measures {source.measures} and {target.name} {target.measures}: "
            "there is no way from one to the other."
        )
    base = (Fraction(value) + source.offset) * source.factor
    if source.measures == "temperature" and base < 0:
        raise ToolFailed(f"{plain(value)} {source.name} is below absolute zero.")
    result = plain(to_decimal(base / target.factor - target.offset))
    return {
        "value": result,
        "unit": target.name,
        "text": f"{plain(value)} {source.name} = {result} {target.name}",
    }


def quantity(value: object) -> Decimal:
    """Return a JSON number, or a number in text, exactly."""
    try:
        number = Decimal(value) if isinstance(value, int | str | Decimal) else None
    except InvalidOperation:
        number = None
    if number is None or isinstance(value, bool) or not number.is_finite():
        raise ToolFailed("value should be a number.")
    digits = len(number.as_tuple().digits)
    if digits > MAX_EXPONENT or (number and abs(number.adjusted()) > MAX_EXPONENT):
        raise ToolFailed("value has more digits than a measurement can.")
    return number


def known_unit(name: object, field: str) -> Unit:
    """Return the unit that the argument `field` names."""
    unit = unit_named(name) if isinstance(name, str) else None
    if unit is None:
        known = ", ".join(unit.name for unit in UNITS)
        raise ToolFailed(f"{field} should be a unit that I know, not {name!r}: {known}.")
    return unit


def to_decimal(number: Fraction) -> Decimal:
    """Return `number`, to the last digit if it has one within 60, else to 15 digits."""
    exact = Context(prec=MAX_EXPONENT)
    exact.traps[Inexact] = True
    numerator, denominator = Decimal(number.numerator), Decimal(number.denominator)
    try:
        return exact.divide(numerator, denominator)
    except Inexact:
        with localcontext(Context(prec=DIGITS)):
            return numerator / denominator


def plain(number: Decimal) -> str:
    """Return `number` without exponent and needless zeros."""
    text = format(number, "f")
    short = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if short == "-0" else short
