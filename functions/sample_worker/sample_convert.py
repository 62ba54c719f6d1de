"""Units into units, in exact fractions until the last digit is written."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal, Inexact, localcontext
from fractions import Fraction

from sample_units import UNITS, Unit, unit_named

from everturn.workers import ToolError

MAX_EXPONENT = 60
"""Powers of ten of a value; beyond there is nothing to measure."""

DIGITS = 15
"""Significant digits of a result that has no end."""


@dataclass(frozen=True, slots=True)
class Converted:
    """A measurement; its value is a decimal string."""

    value: str
    unit: str
    text: str


def converted(amount: float, source_name: str, target_name: str) -> Converted:
    """Return an amount of one unit in another.

    Raises `ToolError` for unknown or mismatched units, and for what is no quantity.
    """
    value = quantity(amount)
    source = known_unit(source_name, "from")
    target = known_unit(target_name, "to")
    if source.measures != target.measures:
        raise ToolError(
            f"{source.name} measures {source.measures} and {target.name} {target.measures}: "
            "there is no way from one to the other."
        )
    base = (Fraction(value) + source.offset) * source.factor
    if source.measures == "temperature" and base < 0:
        raise ToolError(f"{plain(value)} {source.name} is below absolute zero.")
    result = plain(to_decimal(base / target.factor - target.offset))
    return Converted(
        value=result,
        unit=target.name,
        text=f"{plain(value)} {source.name} = {result} {target.name}",
    )


def quantity(value: float) -> Decimal:
    """Return the number that was written: of a float, the shortest that reads as it."""
    number = Decimal(repr(value))
    if not number.is_finite():
        raise ToolError("value should be a number.")
    if number and abs(number.adjusted()) > MAX_EXPONENT:
        raise ToolError("value has more digits than a measurement can.")
    return number


def known_unit(name: str, field: str) -> Unit:
    """Return the unit that the argument `field` names."""
    unit = unit_named(name)
    if unit is None:
        known = ", ".join(unit.name for unit in UNITS)
        raise ToolError(f"{field} should be a unit that I know, not {name!r}: {known}.")
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
