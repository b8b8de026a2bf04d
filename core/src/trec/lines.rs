//! The lines of a TREC file and their fields.

use std::fmt;
use std::mem;
use std::num::IntErrorKind;

use memchr::memchr;

use super::numbers::{leading_float, leading_integer, short_decimal};
use super::problems::shown;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

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
        mut row: impl FnMut(u64, Result<[&'t [u8]; N], Fault<'t>>),
    ) -> u64 {
        let mut lines = Lines {
            format: self,
            text,
            is_binary: memchr(0, text).is_some(),
            number: 0,
            line: 0,
            field: 0,
            fields: [&[]; N],
            found: 0,
        };
        let mut end_line = |lines: &mut Lines<'t, N>, end| {
            if let Some(fields) = lines.end_line(end) {
                row(lines.number, fields);
            }
        };
        each_low(text, |at| {
            let byte = text[at];
            if byte == b'\n' {
                end_line(&mut lines, at);
            } else if self.is_blank(byte) {
                lines.end_field(at);
            }
        });
        if lines.line < text.len() {
            end_line(&mut lines, text.len());
        }
        lines.number
    }

    /// `trec_eval` takes blank lines in runs only, and blanks before a `#` too.
    fn is_content(self, line: &[u8]) -> bool {
        if self.kind == Kind::ZScores {
            return true;
        }
        if self.lenient && self.kind != Kind::Run {
            return line.first() != Some(&b'#');
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

/// The lines of a text as they are taken apart.
struct Lines<'t, const N: usize> {
    format: Format,
    text: &'t [u8],
    is_binary: bool,
    /// How many lines have ended.
    number: u64,
    /// Where the next one starts, and its next field.
    line: usize,
    field: usize,
    fields: [&'t [u8]; N],
    found: usize,
}

impl<'t, const N: usize> Lines<'t, N> {
    #[inline]
    fn end_field(&mut self, end: usize) {
        if self.field < end {
            if let Some(field) = self.fields.get_mut(self.found) {
                *field = &self.text[self.field..end];
            }
            self.found += 1;
        }
        self.field = end + 1;
    }

    /// The fields of the line that ends here, or what is wrong with it; None of a line without
    /// content.
    #[inline]
    fn end_line(&mut self, end: usize) -> Option<Result<[&'t [u8]; N], Fault<'t>>> {
        let content = &self.text[self.line..end];
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        self.end_field(self.line + content.len());
        let (found, kind) = (mem::take(&mut self.found), self.format.kind);
        (self.line, self.field) = (end + 1, end + 1);
        self.number += 1;
        if self.is_binary && content.contains(&0) {
            Some(Err(Fault::Binary))
        } else if content.len() > LONGEST {
            Some(Err(Fault::TooLong))
        } else if !self.format.is_content(content) {
            None
        } else if found == N || (kind == Kind::Run && found > N) {
            // Only a run's further fields do not matter.
            Some(Ok(self.fields))
        } else {
            Some(Err(Fault::Fields { found, kind }))
        }
    }
}

/// Calls `take` with the place of each byte that is a space or less, of which blanks are some. All of
/// 64 bytes are known before the first is taken, so that where they stand decides no branch.
#[inline]
fn each_low(text: &[u8], mut take: impl FnMut(usize)) {
    for (start, text) in (0..).step_by(64).zip(text.chunks(64)) {
        let mut low = match text.last_chunk() {
            None => text
                .iter()
                .rev()
                .fold(0, |low, &byte| low << 1 | u64::from(byte <= b' ')),
            // The last eight, of which the others are looked at again.
            Some(&last) => low_bytes(last) << (text.len() - 8),
        };
        for (at, word) in (0..).step_by(8).zip(text.chunks_exact(8)) {
            low |= low_bytes(word.try_into().expect("eight bytes")) << at;
        }
        while low != 0 {
            take(start + low.trailing_zeros() as usize);
            low &= low - 1;
        }
    }
}

/// A bit for each of eight bytes that is a space or less, the lowest for the first.
#[inline]
fn low_bytes(bytes: [u8; 8]) -> u64 {
    const HIGHEST: u64 = 0x8080_8080_8080_8080;
    // Added to the lower seven bits, it carries into the highest from `!` on.
    const CARRY: u64 = 0x5f5f_5f5f_5f5f_5f5f;
    // Moves the highest bit of each byte into the highest byte, no two to the same place.
    const GATHER: u64 = 0x0002_0408_1020_4081;
    let word = u64::from_le_bytes(bytes);
    let low = !(((word & !HIGHEST) + CARRY) | word) & HIGHEST;
    low.wrapping_mul(GATHER) >> 56
}
