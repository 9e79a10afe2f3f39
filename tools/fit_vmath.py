"""Writes the polynomial coefficients of the CPU backend's vector mathematics.

    python tools/fit_vmath.py > backends/cpu/ge_backend_cpu/vmath/coefficients.py

Needs mpmath. Each polynomial is the Chebyshev interpolant of a function on an interval, which is within a fraction
of a bit of the best polynomial of its degree; the printed error is the largest on the interval.
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath as mp

mp.mp.dps = 60
TINY = mp.mpf("1e-12")
Number = mp.mpf


def expm1_tail(r: Number) -> Number:
    """(exp(r) - 1 - r) / r^2"""
    return mp.nsum(lambda k: r**k / mp.factorial(k + 2), [0, 8]) if abs(r) < TINY else (mp.expm1(r) - r) / r**2


def exp2_tail(r: Number) -> Number:
    """(2^r - 1) / r"""
    ln2 = mp.log(2)
    return ln2 + ln2**2 * r / 2 + ln2**3 * r * r / 6 if abs(r) < TINY else mp.expm1(r * ln2) / r


def log_tail(m: Number) -> Number:
    """(log(1 + m) - m + m^2 / 2) / m^3"""
    return mp.mpf(1) / 3 - m / 4 + m * m / 5 if abs(m) < TINY else (mp.log1p(m) - m + m * m / 2) / m**3


def atanh_tail(z: Number) -> Number:
    """(2 atanh(s) - 2 s) / s^3 with s^2 = z: log(1 + f) for s = f / (2 + f)"""
    s = mp.sqrt(z)
    return mp.mpf(2) / 3 + 2 * z / 5 if z < TINY else (2 * mp.atanh(s) - 2 * s) / (s * z)


def sin_tail(z: Number) -> Number:
    """(sin(r) - r) / r^3 with r^2 = z"""
    r = mp.sqrt(z)
    return -mp.mpf(1) / 6 + z / 120 if z < TINY else (mp.sin(r) - r) / (r * z)


def cos_tail(z: Number) -> Number:
    """(cos(r) - 1 + r^2 / 2) / r^4 with r^2 = z"""
    return mp.mpf(1) / 24 - z / 720 + z * z / 40320 if z < TINY else (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2


def atan_tail(z: Number) -> Number:
    """(atan(t) - t) / t^3 with t^2 = z"""
    t = mp.sqrt(z)
    return -mp.mpf(1) / 3 + z / 5 if z < TINY else (mp.atan(t) - t) / (t * z)


def asin_tail(z: Number) -> Number:
    """(asin(t) - t) / t^3 with t^2 = z"""
    t = mp.sqrt(z)
    return mp.mpf(1) / 6 + 3 * z / 40 if z < TINY else (mp.asin(t) - t) / (t * z)


def erf_factor(z: Number) -> Number:
    """erf(x) / x - 1 with x^2 = z: the leading 1 is kept apart because it is exact"""
    x = mp.sqrt(z)
    return (2 / mp.sqrt(mp.pi) * (1 - z / 3 + z * z / 10) if z < TINY else mp.erf(x) / x) - 1


ERFC_CENTRE = mp.mpf(3)


def erfc_scaled(t: Number) -> Number:
    """(1 + 2x) exp(x^2) erfc(x) with t = (x - 3) / (x + 3)"""
    limit = 2 / mp.sqrt(mp.pi)
    if t == 1:
        return limit
    x = ERFC_CENTRE * (1 + t) / (1 - t)
    return limit * (1 + 1 / (2 * x)) if x > 10**6 else (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def erfc_root(t: Number) -> Number:
    """exp(x^2) erfc(x) / t with t = 2 / (2 + x)"""
    x = 2 / t - 2
    return mp.exp(x * x) * mp.erfc(x) / t


def atanh_root(z: Number) -> Number:
    """(atanh(x) - x) / x^3 with x^2 = z"""
    x = mp.sqrt(z)
    return mp.mpf(1) / 3 + z / 5 if z < TINY else (mp.atanh(x) - x) / (x * z)


def asinh_tail(z: Number) -> Number:
    """(asinh(x) - x) / x^3 with x^2 = z"""
    x = mp.sqrt(z)
    return -mp.mpf(1) / 6 + 3 * z / 40 if z < TINY else (mp.asinh(x) - x) / (x * z)


def erfinv_of_log(w: Number) -> Number:
    """erfinv(x) / x with log(1 - x^2) = -w"""
    if w < TINY:
        return mp.sqrt(mp.pi) / 2
    x = mp.sqrt(-mp.expm1(-w))
    return mp.erfinv(x) / x


ERFINV_MIDDLE, ERFINV_MIDDLE_ROOT, ERFINV_SPLIT = mp.mpf("2.5"), mp.mpf("3.125"), 5


def erfinv_near(w: Number) -> Number:
    """erfinv(x) / x with log(1 - x^2) = -(w + 2.5)"""
    return erfinv_of_log(w + ERFINV_MIDDLE)


def erfinv_far(s: Number) -> Number:
    """erfinv(x) / x with log(1 - x^2) = -(s + 3.125)^2"""
    return erfinv_of_log((s + ERFINV_MIDDLE_ROOT) ** 2)


HALF_LN2 = mp.log(2) / 2
SMALL = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)
QUARTER = mp.pi / 4
EIGHTH = mp.tan(mp.pi / 8)
ERF_MIDDLE = mp.mpf("2.475")

# name -> function, interval, number of coefficients, decimal digits
TABLE: list[tuple[str, Callable[[Number], Number], tuple[object, object], int, int]] = [
    ("EXPM1", expm1_tail, (-HALF_LN2, HALF_LN2), 5, 10),
    ("EXPM1_64", expm1_tail, (-HALF_LN2, HALF_LN2), 11, 18),
    ("EXP2", exp2_tail, (-0.5, 0.5), 6, 10),
    ("EXP2_64", exp2_tail, (-0.5, 0.5), 12, 18),
    ("LOG", log_tail, (mp.sqrt(0.5) - 1, mp.sqrt(2) - 1), 9, 10),
    ("LOG_64", atanh_tail, (0, SMALL**2), 7, 18),
    ("SIN", sin_tail, (0, QUARTER**2), 3, 10),
    ("COS", cos_tail, (0, QUARTER**2), 3, 10),
    ("SIN_64", sin_tail, (0, QUARTER**2), 6, 18),
    ("COS_64", cos_tail, (0, QUARTER**2), 6, 18),
    ("ATAN", atan_tail, (0, 1), 9, 10),
    ("ATAN_64", atan_tail, (0, EIGHTH**2), 11, 18),
    ("ASIN", asin_tail, (0, 0.25), 6, 10),
    ("ASIN_64", asin_tail, (0, 0.25), 12, 18),
    ("ERF", erf_factor, (0, 1), 7, 10),
    ("ERF_64", erf_factor, (0, 1), 12, 18),
    ("ERF_TAIL", lambda u: mp.erf(u + ERF_MIDDLE), (1 - ERF_MIDDLE, ERF_MIDDLE - 1), 13, 10),
    ("ERFC", erfc_root, (2 / mp.mpf("12.2"), 2 / mp.mpf("2.8")), 9, 10),
    ("ATANH", atanh_root, (0, 0.25), 6, 10),
    ("ASINH", asinh_tail, (0, 1), 8, 10),
    ("ERFINV_NEAR", erfinv_near, (-ERFINV_MIDDLE, ERFINV_SPLIT - ERFINV_MIDDLE), 10, 10),
    (
        "ERFINV_FAR",
        erfinv_far,
        (mp.sqrt(ERFINV_SPLIT) - ERFINV_MIDDLE_ROOT, mp.mpf("4.1") - ERFINV_MIDDLE_ROOT),
        11,
        10,
    ),
    ("ERFC_64", erfc_scaled, ((0.5 - ERFC_CENTRE) / (0.5 + ERFC_CENTRE), 1), 22, 18),
]


# name -> function f, width of an interval, intervals, coefficients, bits of a number. f(x) / x by polynomials in
# x - i width around i width; f goes to 1 and is a last place larger in the last interval, so that nothing rounds to
# less than 1 at its end
PIECES: list[tuple[str, Callable[[Number], Number], float, int, int, int]] = [
    ("ERF_PIECES", mp.erf, 33 / 128, 16, 6, 24),
    ("ERF_PIECES_64", mp.erf, 49 / 128, 16, 14, 53),
    ("TANH_PIECES", mp.tanh, 37 / 128, 32, 6, 24),
]


def pieces(function: Callable[[Number], Number], width: float, count: int, terms: int, bits: int) -> list[list[Number]]:
    """Coefficients by power, then by interval."""
    scales = [mp.mpf(1)] * (count - 1) + [1 + mp.mpf(2) ** -bits]
    rows = [piece(function, mp.mpf(width), i, scale, terms) for i, scale in enumerate(scales)]
    return [[row[k] for row in rows] for k in range(terms)]


def piece(function: Callable[[Number], Number], width: Number, i: int, scale: Number, terms: int) -> list[Number]:
    """The polynomial of one interval."""

    def ratio(u: Number) -> Number:
        x = i * width + u
        return mp.diff(function, 0) if abs(x) < mp.mpf("1e-15") else scale * function(x) / x

    return list(mp.chebyfit(ratio, [-width / 2, width / 2], terms)[::-1])


def two_over_pi() -> list[int]:
    """2/pi in words of 64 bits, after one word of zeros."""
    with mp.workdps(500):
        whole = int(mp.floor(2 / mp.pi * mp.mpf(2) ** (64 * 21)))
    return [0] + [(whole >> (64 * (20 - k))) & (2**64 - 1) for k in range(21)]


def main() -> None:
    print('"""Polynomials and tables of vector mathematics, lowest power first. Written by tools/fit_vmath.py."""\n')
    print("# fmt: off")
    for name, function, (low, high), count, digits in TABLE:
        coefficients, error = mp.chebyfit(function, [mp.mpf(low), mp.mpf(high)], count, error=True)
        first = " ".join((function.__doc__ or "erf(x) with x = u + 2.475").split())
        print(f"# {first}; error {mp.nstr(error, 2)}")
        print(f"{name} = (")
        for c in reversed(coefficients):
            print(f"    {mp.nstr(c, digits)},")
        print(")")
    for name, function, width, count, terms, bits in PIECES:
        print(f"# f(x) / x by polynomials in x - {width} i for i < {count}: coefficients by power, then by i")
        print(f"{name} = (")
        digits, few = (10, 6) if bits == 24 else (18, 4)
        for row in pieces(function, width, count, terms, bits):
            words = [mp.nstr(c, digits) if abs(c) > mp.mpf("1e-30") else "0.0" for c in row]
            lines = [", ".join(words[k : k + few]) for k in range(0, count, few)]
            print("    (\n        " + ",\n        ".join(lines) + ",\n    ),")
        print(")")
    print("# the bits of 2/pi, after 64 zeros")
    print("TWO_OVER_PI = (")
    for word in two_over_pi():
        print(f"    0x{word:016X},")
    print(")")


if __name__ == "__main__":
    main()
