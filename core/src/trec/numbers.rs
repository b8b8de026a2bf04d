//! Numbers as C's `atof` and `atol` read them: as far as the text is one, and 0 if it begins with
//! none.

/// As `atof` does, hexadecimal numbers included. Every NaN is the same one.
pub fn leading_float(text: &[u8]) -> f64 {
    if let Some(value) = short_decimal(text) {
        return value;
    }
    let (negative, digits) = sign(text);
    if let Some(magnitude) = hexadecimal(digits) {
        return if negative { -magnitude } else { magnitude };
    }
    match fast_float2::parse_partial::<f64, _>(text) {
        Ok((value, _)) if value.is_nan() => f64::NAN,
        Ok((value, _)) => value,
        Err(_) => 0.0,
    }
}

/// A number of up to 15 digits, as scores are, with a point or without: a whole number divided by a
/// power of ten. Both are exact, so that the quotient is the nearest to what is written.
#[inline]
pub fn short_decimal(text: &[u8]) -> Option<f64> {
    const POWERS: [f64; 16] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
    ];
    let (negative, digits) = sign(text);
    if digits.len() > 16 {
        return None;
    }
    let (mut whole, before) = add_digits(0, digits);
    let mut decimals = 0;
    if let [point, after @ ..] = &digits[before..] {
        (whole, decimals) = add_digits(whole, after);
        if *point != b'.' || decimals < after.len() {
            return None;
        }
    }
    let count = before + decimals;
    if count == 0 || count > 15 {
        return None;
    }
    let value = whole as f64 / POWERS[decimals];
    Some(if negative { -value } else { value })
}

/// The number with the digits that come first in the text behind it, and how many they are.
#[inline]
fn add_digits(mut number: u64, text: &[u8]) -> (u64, usize) {
    for (count, &byte) in text.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return (number, count);
        }
        number = 10 * number + u64::from(digit);
    }
    (number, text.len())
}

/// As `atol` does with 64 bits: what lies outside becomes the nearest inside.
pub fn leading_integer(text: &[u8]) -> i64 {
    let (negative, digits) = sign(text);
    digits
        .iter()
        .take_while(|digit| digit.is_ascii_digit())
        .map(|digit| i64::from(digit - b'0'))
        .fold(0, |value: i64, digit| {
            let digit = if negative { -digit } else { digit };
            value.saturating_mul(10).saturating_add(digit)
        })
}

/// Whether a minus stands first, and what follows a sign.
fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    }
}

/// A number such as `0x1.8p-3`, rounded to the nearest, if the text begins with one.
fn hexadecimal(text: &[u8]) -> Option<f64> {
    let [b'0', b'x' | b'X', text @ ..] = text else {
        return None;
    };
    // The number is `mantissa` times two to the power of `exponent`, but for what `mantissa` has
    // no room for; that only decides how to round, so one bit remembers it.
    let (mut mantissa, mut exponent, mut any, mut point) = (0_u64, 0_i64, false, false);
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        if *byte == b'.' && !point {
            point = true;
        } else if let Some(digit) = char::from(*byte).to_digit(16) {
            any = true;
            if mantissa >> 60 == 0 {
                mantissa = mantissa << 4 | u64::from(digit);
                exponent -= if point { 4 } else { 0 };
            } else {
                mantissa |= u64::from(digit != 0);
                exponent += if point { 0 } else { 4 };
            }
        } else {
            break;
        }
        rest = after;
    }
    if !any {
        return None;
    }
    if let [b'p' | b'P', power @ ..] = rest {
        exponent = exponent.saturating_add(leading_integer(power));
    }
    Some(scaled(mantissa, exponent))
}

/// `mantissa` times two to the power of `exponent`, rounded once, halves to even.
fn scaled(mantissa: u64, exponent: i64) -> f64 {
    const PRECISION: i64 = 53;
    const LEAST: i64 = -1074;
    if mantissa == 0 {
        return 0.0;
    }
    let bits = i64::from(u64::BITS - mantissa.leading_zeros());
    // Small numbers have fewer bits; the last one always stands for 2^LEAST at least.
    let dropped = (bits - PRECISION)
        .max(LEAST.saturating_sub(exponent))
        .max(0);
    if dropped > bits {
        return 0.0;
    }
    // One more bit than a mantissa has, for `dropped` may be all 64.
    let mantissa = u128::from(mantissa);
    let (kept, half) = (mantissa >> dropped, 1_u128 << dropped >> 1);
    let lost = mantissa - (kept << dropped);
    let up = lost > half || (lost == half && half > 0 && kept & 1 == 1);
    let rounded = (kept + u128::from(up)) as f64;
    // Both steps are exact, or overflow: a power that is in range for a mantissa is so in halves.
    let power = exponent.saturating_add(dropped).clamp(-2000, 2000) as i32;
    rounded * 2_f64.powi(power / 2) * 2_f64.powi(power - power / 2)
}
