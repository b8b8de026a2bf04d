//! The lines of a TREC file and their fields.

use std::fmt;
use std::num::IntErrorKind;

use memchr::{memchr, memchr_iter};

use super::numbers::{leading_float, leading_integer};
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

type Parsed<'t, V, const N: usize> = Result<([&'t [u8]; N], V), Fault<'t>>;

impl Format {
    /// The content lines of `text`, numbered from 1; blank lines and comments count, but are not
    /// given. Returns how many lines there are.
    pub fn for_each_line<'t>(
        self,
        text: &'t [u8],
        mut line: impl FnMut(u64, Result<&'t [u8], Fault<'t>>),
    ) -> u64 {
        let binary = memchr(0, text).is_some();
        let mut give = |number, content: &'t [u8]| {
            let content = content.strip_suffix(b"\r").unwrap_or(content);
            if binary && content.contains(&0) {
                line(number, Err(Fault::Binary));
            } else if content.len() > LONGEST {
                line(number, Err(Fault::TooLong));
            } else if self.is_content(content) {
                line(number, Ok(content));
            }
        };
        let mut number = 0;
        let mut start = 0;
        for end in memchr_iter(b'\n', text) {
            number += 1;
            give(number, &text[start..end]);
            start = end + 1;
        }
        if start < text.len() {
            number += 1;
            give(number, &text[start..]);
        }
        number
    }

    /// Topic, Q0, document, rank, score and tag, and the score as a number.
    #[inline]
    pub fn run(self, line: &[u8]) -> Parsed<'_, f64, 6> {
        let fields: [_; 6] = self.fields(line)?;
        Ok((fields, self.number("score", fields[4])?))
    }

    /// Topic, iteration, document and grade, and the grade as a number.
    pub fn qrels(self, line: &[u8]) -> Parsed<'_, i32, 4> {
        let fields: [_; 4] = self.fields(line)?;
        Ok((fields, self.grade(fields[3])?))
    }

    /// Topic, group, document and level, and the level as a number.
    pub fn groups(self, line: &[u8]) -> Parsed<'_, f64, 4> {
        let fields: [_; 4] = self.fields(line)?;
        Ok((fields, self.number("level", fields[3])?))
    }

    /// Topic, group, part, document and level, and the level as a number.
    pub fn prefs(self, line: &[u8]) -> Parsed<'_, f64, 5> {
        let fields: [_; 5] = self.fields(line)?;
        Ok((fields, self.number("level", fields[4])?))
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

    /// How many fields a line has.
    pub fn count(self, line: &[u8]) -> usize {
        Fields { line, format: self }.count()
    }

    #[inline]
    pub fn fields<const N: usize>(self, line: &[u8]) -> Result<[&[u8]; N], Fault<'_>> {
        let wrong = || Fault::Fields {
            found: self.count(line),
            kind: self.kind,
        };
        let mut rest = Fields { line, format: self };
        let mut fields = [&[][..]; N];
        for field in &mut fields {
            *field = rest.next().ok_or_else(wrong)?;
        }
        // Only a run's further fields do not matter.
        if self.kind != Kind::Run && rest.next().is_some() {
            return Err(wrong());
        }
        Ok(fields)
    }

    /// Whether this byte stands between fields: a space or a tab, or leniently whatever C counts as
    /// white space, which is the tab and the four bytes after it.
    #[inline]
    fn is_blank(self, byte: u8) -> bool {
        let from_tab = if self.lenient { 5 } else { 1 };
        // Hardly any byte needs more than the first comparison.
        byte <= b' ' && (byte == b' ' || byte.wrapping_sub(b'\t') < from_tab)
    }

    #[inline]
    fn number<'t>(self, what: &'static str, field: &'t [u8]) -> Result<f64, Fault<'t>> {
        if self.lenient {
            return Ok(leading_float(field));
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

    fn grade(self, field: &[u8]) -> Result<i32, Fault<'_>> {
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

/// What stands between blanks.
struct Fields<'t> {
    line: &'t [u8],
    format: Format,
}

impl<'t> Iterator for Fields<'t> {
    type Item = &'t [u8];

    #[inline]
    fn next(&mut self) -> Option<&'t [u8]> {
        let is_blank = |&byte: &u8| self.format.is_blank(byte);
        let start = self.line.iter().position(|byte| !is_blank(byte))?;
        let rest = &self.line[start..];
        let end = rest.iter().position(is_blank).unwrap_or(rest.len());
        let (field, rest) = rest.split_at(end);
        self.line = rest;
        Some(field)
    }
}
