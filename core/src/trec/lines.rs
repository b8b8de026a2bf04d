//! The lines of a TREC file and their fields.

use std::fmt;
use std::num::IntErrorKind;

use memchr::memchr;

use super::numbers::{leading_float, leading_integer, short_decimal};
use super::problems::shown;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The runs of NTCIR begin with a line that describes the system.
const DESCRIPTION: &[u8] = b"<SYSDESC>";

/// How many bytes a line may have.
pub const LONGEST: usize = 1 << 20;

/// What the lines of a file hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Run,
    Qrels,
    /// Judgments by group, such as an assessor or a subtopic.
    Groups,
    /// Judgments by group and part of the group; only those of one part are compared.
    Prefs,
    /// Means and standard deviations of measures by topic.
    ZScores,
}

impl Kind {
    fn expected(self) -> &'static str {
        match self {
            Self::Run => "6: topic Q0 document rank score tag",
            Self::Qrels => "4: topic iteration document grade",
            Self::Groups => "4: topic group document level",
            Self::Prefs => "5: topic group part document level",
            Self::ZScores => "4: topic measure mean deviation",
        }
    }
}

/// How lines are read: by the rules of their format, or leniently, which is how `trec_eval` does:
/// what stands before a number's first wrong character counts, and nothing counts as 0.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    pub kind: Kind,
    pub lenient: bool,
}

/// What is wrong with a line.
#[derive(Debug, PartialEq)]
pub enum Fault<'t> {
    Binary,
    TooLong,
    Fields {
        found: usize,
        kind: Kind,
    },
    /// A score or a level.
    Number {
        what: &'static str,
        field: &'t [u8],
    },
    NaN,
    Grade(&'t [u8]),
    GradeRange(&'t [u8]),
}

impl fmt::Display for Fault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match *self {
            Self::Binary => write!(f, "not a TREC file (binary data)"),
            Self::TooLong => write!(
                f,
                "the line is longer than {} MiB, the most that a line may have",
                LONGEST >> 20
            ),
            Self::Fields { found, kind } => {
                let found = match found {
                    0 => "0 fields (a blank line)",
                    1 => "1 field",
                    _ => &format!("{found} fields"),
                };
                write!(f, "{found}, expected {}", kind.expected())
            }
            Self::Number { what, field } => match fast_float2::parse::<f64, _>(field) {
                Ok(_) if has_digits(field) => {
                    write!(f, "{what} \"{}\" is too large", shown(field))
                }
                Ok(value) if value.is_nan() => write!(f, "{what} is NaN"),
                Ok(_) => write!(f, "{what} is infinite"),
                Err(_) => write!(f, "{what} \"{}\" is not a number", shown(field)),
            },
            Self::NaN => write!(f, "score is NaN"),
            Self::Grade(field) => write!(f, "grade \"{}\" is not an integer", shown(field)),
            Self::GradeRange(field) => {
                let (least, most) = (i32::MIN, i32::MAX);
                let field = shown(field);
                write!(
                    f,
                    "grade \"{field}\" is out of range, expected {least} to {most}"
                )
            }
        }
    }
}

impl Format {
    /// The fields of the content lines of `text`, which are numbered from 1; blank lines and comments
    /// count, but are not given. Returns how many lines there are.
    #[inline]
    pub fn for_each_row<'t, const N: usize>(
        self,
        text: &'t [u8],
        mut row: impl FnMut(u64, Result<&[&'t [u8]; N], Fault<'t>>),
    ) -> u64 {
        let (mut number, mut start, mut fields) = (0, 0, [&[][..]; N]);
        while start < text.len() {
            number += 1;
            let rest = &text[start..];
            let plain = short_fields(rest, &mut fields).or_else(|| plain_fields(rest, &mut fields));
            let (found, length) = match plain {
                Some(length) => (Some(Ok(())), length),
                None => self.fields(rest, &mut fields),
            };
            if let Some(found) = found {
                row(number, found.map(|()| &fields));
            }
            start += length + 1;
        }
        number
    }

    /// Takes the fields of the first line, or tells what is wrong with it, and how long it is; nothing
    /// of a line without content.
    #[cold]
    fn fields<'t, const N: usize>(
        self,
        text: &'t [u8],
        fields: &mut [&'t [u8]; N],
    ) -> (Option<Result<(), Fault<'t>>>, usize) {
        let length = memchr(b'\n', text).unwrap_or(text.len());
        let content = &text[..length];
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        if content.contains(&0) {
            return (Some(Err(Fault::Binary)), length);
        }
        if content.len() > LONGEST {
            return (Some(Err(Fault::TooLong)), length);
        }
        if !self.is_content(content) {
            return (None, length);
        }
        let (mut found, mut start) = (0, 0);
        let blanks = LowBytes::new(content).filter(|&at| self.is_blank(content[at]));
        for end in blanks.chain([content.len()]) {
            if start < end {
                if let Some(field) = fields.get_mut(found) {
                    *field = &content[start..end];
                }
                found += 1;
            }
            start = end + 1;
        }
        let kind = self.kind;
        // Only a run's further fields do not matter.
        let found = if found == N || (kind == Kind::Run && found > N) {
            Ok(())
        } else {
            Err(Fault::Fields { found, kind })
        };
        (Some(found), length)
    }

    /// `trec_eval` takes blank lines in runs only, and blanks before a `#` too.
    fn is_content(self, line: &[u8]) -> bool {
        if self.kind == Kind::ZScores {
            return true;
        }
        if self.lenient && self.kind != Kind::Run {
            return line.first() != Some(&b'#');
        }
        if !self.lenient && self.kind == Kind::Run && line.starts_with(DESCRIPTION) {
            return false;
        }
        line.iter()
            .find(|&&byte| !self.is_blank(byte))
            .is_some_and(|&byte| byte != b'#')
    }

    /// Whether this byte stands between fields: a space or a tab, or leniently whatever C counts as
    /// white space, which is the tab and the four bytes after it.
    #[inline]
    fn is_blank(self, byte: u8) -> bool {
        let from_tab = if self.lenient { 5 } else { 1 };
        // Hardly any byte needs more than the first comparison.
        byte <= b' ' && (byte == b' ' || byte.wrapping_sub(b'\t') < from_tab)
    }

    /// A score.
    #[inline]
    pub fn score(self, field: &[u8]) -> Result<f64, Fault<'_>> {
        self.number("score", field)
    }

    /// A level of a preference.
    pub fn level(self, field: &[u8]) -> Result<f64, Fault<'_>> {
        self.number("level", field)
    }

    #[inline]
    fn number<'t>(self, what: &'static str, field: &'t [u8]) -> Result<f64, Fault<'t>> {
        if self.lenient {
            return Ok(leading_float(field));
        }
        if let Some(value) = short_decimal(field) {
            return Ok(value);
        }
        match fast_float2::parse(field) {
            Ok(value) if f64::is_finite(value) => Ok(value),
            parsed => self.infinite(what, field, parsed.is_ok_and(f64::is_infinite)),
        }
    }

    /// A score may be infinite, the lowest of all or the highest; one that is out of range is not.
    #[cold]
    fn infinite<'t>(
        self,
        what: &'static str,
        field: &'t [u8],
        is_infinite: bool,
    ) -> Result<f64, Fault<'t>> {
        if !is_infinite || self.kind != Kind::Run || has_digits(field) {
            return Err(Fault::Number { what, field });
        }
        Ok(if field[0] == b'-' {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        })
    }

    pub fn grade(self, field: &[u8]) -> Result<i32, Fault<'_>> {
        use IntErrorKind::{NegOverflow, PosOverflow};
        if self.lenient {
            return i32::try_from(leading_integer(field)).map_err(|_| Fault::GradeRange(field));
        }
        let text = std::str::from_utf8(field).map_err(|_| Fault::Grade(field))?;
        text.parse::<i32>().map_err(|error| match error.kind() {
            NegOverflow | PosOverflow => Fault::GradeRange(field),
            _ => Fault::Grade(field),
        })
    }
}

fn has_digits(field: &[u8]) -> bool {
    field.iter().any(u8::is_ascii_digit)
}

/// The text of a block, of which the first, 0, may begin with a byte order mark.
pub fn without_mark(block: &[u8], number: u64) -> &[u8] {
    match block.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) if number == 0 => rest,
        _ => block,
    }
}

/// The same as `plain_fields`, of lines that end within 64 bytes, other than the last ones of a text.
/// No byte is looked at alone.
#[cfg(target_arch = "x86_64")]
#[inline]
fn short_fields<'t, const N: usize>(text: &'t [u8], fields: &mut [&'t [u8]; N]) -> Option<usize> {
    use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8};
    use std::arch::x86_64::{_mm_or_si128, _mm_set1_epi8};

    let bytes: &[u8; 64] = text.first_chunk()?;
    let (mut low, mut blanks, mut ends) = (0, 0, 0);
    for word in bytes.chunks_exact(16).rev() {
        // SAFETY: every x86-64 processor has SSE2, and 16 bytes are read where there are 16.
        unsafe {
            let bits = |bytes| u64::from(_mm_movemask_epi8(bytes).cast_unsigned());
            let word = word.as_ptr().cast::<__m128i>().read_unaligned();
            let is = |byte| _mm_cmpeq_epi8(word, _mm_set1_epi8(byte));
            let capped = _mm_min_epu8(word, _mm_set1_epi8(0x20));
            low = low << 16 | bits(_mm_cmpeq_epi8(capped, word));
            blanks = blanks << 16 | bits(_mm_or_si128(is(0x20), is(0x09)));
            ends = ends << 16 | bits(is(0x0a));
        }
    }
    let until_end = ends ^ ends.wrapping_sub(1);
    let places = low & until_end;
    let is_plain = ends != 0
        && places == (blanks | ends) & until_end
        && places & (places << 1 | 1) == 0
        && places.count_ones() as usize == N
        && !may_be_none(text);
    if !is_plain {
        return None;
    }
    let (mut start, mut places) = (0, places);
    for field in fields {
        let end = places.trailing_zeros() as usize & 63;
        places &= places.wrapping_sub(1);
        *field = &bytes[start..end];
        start = end + 1;
    }
    Some(start - 1)
}

#[cfg(not(target_arch = "x86_64"))]
fn short_fields<const N: usize>(_: &[u8], _: &mut [&[u8]; N]) -> Option<usize> {
    None
}

/// Takes the fields of the first line and returns its length, if it is like most: as many fields as
/// expected, with single blanks between them.
#[inline]
fn plain_fields<'t, const N: usize>(text: &'t [u8], fields: &mut [&'t [u8]; N]) -> Option<usize> {
    let (mut places, mut start) = (LowBytes::new(text), 0);
    for (number, field) in (1..).zip(fields) {
        let end = places.next()?;
        let is_expected = match text[end] {
            b' ' | b'\t' => number < N,
            b'\n' => number == N,
            b'\r' => number == N && text.get(end + 1) == Some(&b'\n'),
            _ => false,
        };
        if !is_expected || start == end {
            return None;
        }
        *field = &text[start..end];
        start = end + 1;
    }
    let length = if text[start - 1] == b'\n' {
        start - 1
    } else {
        start
    };
    (!may_be_none(text) && length <= LONGEST).then_some(length)
}

/// Whether a line may have no content although it has fields: a comment, or the description of the
/// system.
#[inline]
fn may_be_none(line: &[u8]) -> bool {
    matches!(line[0], b'#' | b'<')
}

/// The places of the bytes that are a space or less, of which blanks and the ends of lines are some.
/// All of 64 bytes are known before the first is given.
struct LowBytes<'t> {
    text: &'t [u8],
    /// Where the 64 bytes start, and a bit for each that is yet to be given.
    start: usize,
    low: u64,
}

impl<'t> LowBytes<'t> {
    #[inline]
    fn new(text: &'t [u8]) -> Self {
        Self {
            text,
            start: 0,
            low: low_bytes(text),
        }
    }
}

impl Iterator for LowBytes<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.low == 0 {
            self.start += 64;
            self.low = low_bytes(self.text.get(self.start..)?);
        }
        let place = self.start + self.low.trailing_zeros() as usize;
        self.low &= self.low - 1;
        Some(place)
    }
}

/// A bit for each of the first 64 bytes that is a space or less, the lowest for the first.
#[inline]
pub fn low_bytes(text: &[u8]) -> u64 {
    if let Some(bytes) = text.first_chunk() {
        return low_of(bytes);
    }
    let mut bytes = [u8::MAX; 64];
    bytes[..text.len()].copy_from_slice(text);
    low_of(&bytes)
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn low_of(bytes: &[u8; 64]) -> u64 {
    use std::arch::x86_64::_mm_set1_epi8;
    use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8};

    bytes.chunks_exact(16).rev().fold(0, |low, word| {
        // SAFETY: every x86-64 processor has SSE2, and 16 bytes are read where there are 16.
        let of_word = unsafe {
            let word = word.as_ptr().cast::<__m128i>().read_unaligned();
            let capped = _mm_min_epu8(word, _mm_set1_epi8(0x20));
            _mm_movemask_epi8(_mm_cmpeq_epi8(capped, word))
        };
        low << 16 | u64::from(of_word.cast_unsigned())
    })
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn low_of(bytes: &[u8; 64]) -> u64 {
    bytes.chunks_exact(8).rev().fold(0, |low, word| {
        low << 8 | low_of_word(word.try_into().expect("eight bytes"))
    })
}

/// A bit for each of eight bytes that is a space or less, the lowest for the first.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
pub fn low_of_word(bytes: [u8; 8]) -> u64 {
    const HIGHEST: u64 = 0x8080_8080_8080_8080;
    // Added to the lower seven bits, it carries into the highest from `!` on.
    const CARRY: u64 = 0x5f5f_5f5f_5f5f_5f5f;
    // Moves the highest bit of each byte into the highest byte, no two to the same place.
    const GATHER: u64 = 0x0002_0408_1020_4081;
    let word = u64::from_le_bytes(bytes);
    let low = !(((word & !HIGHEST) + CARRY) | word) & HIGHEST;
    low.wrapping_mul(GATHER) >> 56
}
