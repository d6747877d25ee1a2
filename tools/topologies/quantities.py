"""Values with units, read strictly and computed exactly."""

import argparse
import re
from fractions import Fraction

TIME_UNITS = {"s": 0, "ms": -3, "us": -6, "ns": -9, "ps": -12}
BANDWIDTH_UNITS = {
    prefix + unit: (Fraction(10) ** (3 * i) if len(prefix) < 2 else Fraction(1024) ** i) * scale
    for unit, scale in (("Bps", 1), ("bps", Fraction(1, 8)))
    for prefixes in (("", "k", "M", "G", "T"), ("", "Ki", "Mi", "Gi", "Ti"))
    for i, prefix in enumerate(prefixes)
}


class Quantity:
    """A value with its unit as text; arithmetic is exact."""

    def __init__(self, value, unit):
        self.value, self.unit = value, unit

    def __str__(self):
        return format_decimal(self.value) + self.unit

    def __mul__(self, factor):
        return Quantity(self.value * factor, self.unit)

    def __truediv__(self, divisor):
        return Quantity(self.value / divisor, self.unit)

    def __eq__(self, other):
        return isinstance(other, Quantity) and (self.value, self.unit) == (other.value, other.unit)


class Time(Fraction):
    """Seconds; written in microseconds."""

    def __str__(self):
        return format_decimal(self * 10**6) + "us"


class Ratio(Fraction):
    """A number without a unit, written so that it can be read again: 4, 1.5, 4/3."""


def number(n, thing, things=None):
    return f"{n} {thing}" if n == 1 else f"{n} {things or thing + 's'}"


def format_decimal(value):
    """All digits of a fraction where they end; 17 significant ones where they do not (533.33333333333337)."""
    for places in range(16):
        scaled = value * 10**places
        if scaled.denominator == 1:
            sign = "-" if scaled < 0 else ""
            digits = str(abs(scaled.numerator)).rjust(places + 1, "0")
            whole, part = (digits[:-places], digits[-places:]) if places else (digits, "")
            return sign + whole + ("." + part if part else "")
    return format(float(value), ".17g")


def split_quantity(text, units, kind, example):
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?)([A-Za-z]+)", text)
    if not match or match.group(2) not in units:
        raise argparse.ArgumentTypeError(f"{text!r} is not a {kind}: write a number and its unit, as in {example}")
    return Fraction(match.group(1)), match.group(2)


def bandwidth(text):
    value, unit = split_quantity(text, BANDWIDTH_UNITS, "bandwidth", "50GBps or 400Gbps")
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{text!r}: a bandwidth must be positive")
    return Quantity(value, unit)


def seconds(text):
    value, unit = split_quantity(text, TIME_UNITS, "time", "2.8us")
    return Time(value * Fraction(10) ** TIME_UNITS[unit])


def count(text):
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def ratio(text):
    try:
        value = Ratio(text)
    except (ValueError, ZeroDivisionError):
        value = Ratio(0)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return value


def identifier(text):
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", text) or "--" in text:
        raise argparse.ArgumentTypeError(f"{text!r}: use letters, digits, '_', '.' and single '-'")
    return text
