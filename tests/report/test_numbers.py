from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.report import numbers

NAN = float("nan")


@pytest.mark.parametrize(
    ("triple", "text"),
    [
        ((0.412, 0.385, 0.439), "0.412 [0.385, 0.439]"),
        ((0.5, 0.35, 0.65), "0.50 [0.35, 0.65]"),
        ((0.91234, NAN, NAN), "0.9123"),
        ((1.0, NAN, NAN), "1.0000"),
        ((0.99995, 0.99991, 0.99998), "0.99995 [0.99991, 0.99998]"),
        ((56.32, 53.01, 59.87), "56.3 [53.0, 59.9]"),
        ((54.3217, NAN, NAN), "54.32"),
        ((1234567.0, NAN, NAN), "1,234,567"),
        ((1234.5, 1178.2, 1290.8), "1,234 [1,178, 1,291]"),
        ((3.21e-7, 3.0e-7, 3.5e-7), "3.21e-07 [3.00e-07, 3.50e-07]"),
        ((3.2e9, 3.1e9, 3.3e9), "3.20e+09 [3.10e+09, 3.30e+09]"),
        ((NAN, NAN, NAN), "undefined"),
        ((0.02, 0.01, math.inf), "0.0200 [0.0100, ∞]"),
        ((0, NAN, NAN), "0.0000"),
        ((7, NAN, NAN), "7"),
        # The value keeps two digits, however wide the interval.
        ((4.7, 1.9, 14737.0), "4.7 [1.9, 14,737.0]"),
        ((0.04, 0.0, 5.1), "0.040 [0.000, 5.100]"),
        ((0.004, 0.0002, 0.02), "0.0040 [0.0002, 0.0200]"),
        ((-0.04, -5.1, 0.0), "-0.040 [-5.100, 0.000]"),
        ((3e-9, 0.0, 0.0301), "3.0e-09 [0.000, 0.030]"),
        ((3e-9, 0.0, 5.123), "3.0e-09 [0.0, 5.1]"),
        ((3.0, 1.0, 2e9), "3.00e+00 [1.00e+00, 2.00e+09]"),
        # Beside an interval on both sides of zero it is small, and may be so called.
        ((0.0003, -0.21, 0.2), "0.00 [-0.21, 0.20]"),
    ],
)
def test_an_interval_decides_the_digits(triple: numbers.Triple, text: str) -> None:
    assert numbers.common_rounding(*triple).value_with_interval(*triple) == text


def test_a_limit_beside_zero_keeps_its_sign() -> None:
    digits = numbers.rounding([(0.02, 0.0004, 0.04)], keep_sign=True)
    assert digits.value_with_interval(0.02, 0.0004, 0.04) == "0.0200 [0.0004, 0.0400]"


def test_a_rounded_zero_has_no_minus() -> None:
    assert numbers.Rounding(2)(-0.001) == "0.00"
    assert numbers.Rounding(2)(-0.01) == "-0.01"


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.0003, "p < 0.001"), (0.034, "p = 0.034"), (0.41, "p = 0.41"), (1.0, "p = 1.00"),
     (0.0496, "p = 0.0496"), (0.0012, "p = 0.0012"), (0.0, "p < 0.001"), (NAN, "p undefined")],
)  # fmt: skip
def test_p_values(p: float, text: str) -> None:
    assert numbers.format_p(p) == text


def test_counts_and_levels() -> None:
    assert numbers.format_count(12345, "rows") == "12,345 rows"
    assert numbers.format_count(1, "topics") == "1 topic"
    assert numbers.format_percent(0.95) == "95%"
    assert numbers.format_percent(0.999) == "99.9%"


@given(st.floats(1e-12, 1e12), st.floats(0, 1), st.floats(0, 1e12))
def test_no_interval_costs_a_value_its_meaning(value: float, left: float, up: float) -> None:
    low, high = value * left, value + up
    shown = numbers.common_rounding(value, low, high)
    a, b, c = (float(shown(x).replace(",", "")) for x in (low, value, high))
    assert abs(b - value) <= 0.0501 * value
    assert a <= b <= c


@given(st.floats(-1e12, 1e12), st.floats(0, 1e6), st.floats(0, 1e6))
def test_every_interval_can_be_read_back(value: float, down: float, up: float) -> None:
    low, high = value - down, value + up
    digits = numbers.common_rounding(value, low, high)
    for x in (value, low, high):
        back = float(digits(x).replace(",", ""))
        assert abs(back - x) <= max((high - low) * 0.06, abs(x) * 1e-3, 1e-4)
