"""The units that `convert` knows, each by its exact definition."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

SHORTEST_WORD = 3
"""Letters of the shortest name that is a word and not a symbol; it has a plural."""


@dataclass(frozen=True, slots=True)
class Unit:
    """`(value + offset) * factor` is the quantity in the base unit of what it measures."""

    name: str
    measures: str
    factor: Fraction
    aliases: tuple[str, ...] = ()
    offset: Fraction = Fraction(0)


def unit(name: str, measures: str, factor: str, *aliases: str, offset: str = "0") -> Unit:
    """Return a unit whose figures are decimal or fraction text."""
    return Unit(name, measures, Fraction(factor), aliases, Fraction(offset))


UNITS = (
    unit("mm", "length", "0.001", "millimeter", "millimetre"),
    unit("cm", "length", "0.01", "centimeter", "centimetre"),
    unit("m", "length", "1", "meter", "metre"),
    unit("km", "length", "1000", "kilometer", "kilometre"),
    unit("in", "length", "0.0254", "inch", "inches"),
    unit("ft", "length", "0.3048", "foot", "feet"),
    unit("yd", "length", "0.9144", "yard"),
    unit("mi", "length", "1609.344", "mile"),
    unit("nmi", "length", "1852", "nautical mile"),
    unit("mg", "mass", "0.001", "milligram"),
    unit("g", "mass", "1", "gram"),
    unit("kg", "mass", "1000", "kilogram", "kilo"),
    unit("t", "mass", "1000000", "tonne"),
    unit("oz", "mass", "28.349523125", "ounce"),
    unit("lb", "mass", "453.59237", "lbs", "pound"),
    unit("st", "mass", "6350.29318", "stone"),
    unit("K", "temperature", "1", "kelvin"),
    unit("C", "temperature", "1", "°C", "celsius", "degC", offset="273.15"),
    unit("F", "temperature", "5/9", "°F", "fahrenheit", "degF", offset="459.67"),
    unit("ml", "volume", "0.001", "milliliter", "millilitre"),
    unit("l", "volume", "1", "liter", "litre"),
    unit("m3", "volume", "1000", "m³", "cubic meter", "cubic metre"),
    unit("tsp", "volume", "0.00492892159375", "teaspoon"),
    unit("tbsp", "volume", "0.01478676478125", "tablespoon"),
    unit("fl_oz", "volume", "0.0295735295625", "fl oz", "fluid ounce"),
    unit("cup", "volume", "0.2365882365"),
    unit("pt", "volume", "0.473176473", "pint"),
    unit("qt", "volume", "0.946352946", "quart"),
    unit("gal", "volume", "3.785411784", "gallon"),
    unit("m2", "area", "1", "m²", "square meter", "square metre"),
    unit("km2", "area", "1000000", "km²", "square kilometer", "square kilometre"),
    unit("ha", "area", "10000", "hectare"),
    unit("ft2", "area", "0.09290304", "ft²", "square foot", "square feet"),
    unit("acre", "area", "4046.8564224"),
    unit("m/s", "speed", "1", "mps"),
    unit("km/h", "speed", "5/18", "kmh", "kph"),
    unit("mph", "speed", "0.44704"),
    unit("kn", "speed", "1852/3600", "knot", "kt"),
    unit("ms", "time", "0.001", "millisecond"),
    unit("s", "time", "1", "sec", "second"),
    unit("min", "time", "60", "minute"),
    unit("h", "time", "3600", "hr", "hour"),
    unit("d", "time", "86400", "day"),
    unit("week", "time", "604800"),
    unit("bit", "data", "1", "b"),
    unit("B", "data", "8", "byte"),
    unit("kbit", "data", "1000", "kb"),
    unit("Mbit", "data", "1000000", "Mb"),
    unit("Gbit", "data", "1000000000", "Gb"),
    unit("kB", "data", "8000", "KB", "kilobyte"),
    unit("MB", "data", "8000000", "megabyte"),
    unit("GB", "data", "8000000000", "gigabyte"),
    unit("TB", "data", "8000000000000", "terabyte"),
    unit("KiB", "data", "8192", "kibibyte"),
    unit("MiB", "data", "8388608", "mebibyte"),
    unit("GiB", "data", "8589934592", "gibibyte"),
    unit("TiB", "data", "8796093022208", "tebibyte"),
)
"""Volumes are those of the United States. Source: NIST Special Publication 811, appendix B."""


def spellings(one: Unit) -> tuple[str, ...]:
    """Return every way to write a unit, plurals of its longer names included."""
    names = (one.name, *one.aliases)
    return (*names, *(f"{name}s" for name in names if len(name) >= SHORTEST_WORD))


_EXACT = {spelling: one for one in UNITS for spelling in spellings(one)}


def _any_case() -> dict[str, Unit]:
    """Return the units by lower-case spelling, without those that only case tells apart."""
    found: dict[str, set[Unit]] = {}
    for spelling, one in _EXACT.items():
        found.setdefault(spelling.lower(), set()).add(one)
    return {spelling: units.pop() for spelling, units in found.items() if len(units) == 1}


_ANY_CASE = _any_case()


def unit_named(name: str) -> Unit | None:
    """Return the unit written `name`; case counts only where it must (`Mb` and `MB`)."""
    return _EXACT.get(name.strip()) or _ANY_CASE.get(name.strip().lower())
