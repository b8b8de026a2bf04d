//! The lines of a TREC file and their fields.

use std::fmt;
use std::num::{IntErrorKind, ParseIntError};

use memchr::{memchr, memchr_iter};

use super::problems::shown;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[derive(Debug, PartialEq)]
pub struct RunLine<'t> {
    pub topic: &'t [u8],
    pub doc: &'t [u8],
    pub score: f64,
    pub tag: &'t [u8],
}

#[derive(Debug, PartialEq)]
pub struct QrelsLine<'t> {
    pub topic: &'t [u8],
    pub doc: &'t [u8],
    pub grade: i32,
}

/// What is wrong with a line.
#[derive(Debug, PartialEq)]
pub enum Fault<'t> {
    Binary,
    RunFields(usize),
    QrelsFields(usize),
    Score(&'t [u8]),
    NotFinite(f64),
    Grade(&'t [u8]),
}

impl fmt::Display for Fault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let plural = |found| if found == 1 { "" } else { "s" };
        match *self {
            Self::Binary => write!(f, "not a TREC file (binary data)"),
            Self::RunFields(found) => {
                let s = plural(found);
                write!(
                    f,
                    "{found} field{s}, expected 6: topic Q0 document rank score tag"
                )
            }
            Self::QrelsFields(found) => {
                let s = plural(found);
                write!(
                    f,
                    "{found} field{s}, expected 4: topic iteration document grade"
                )
            }
            Self::Score(field) => match fast_float2::parse::<f64, _>(field) {
                Ok(_) if field.iter().any(u8::is_ascii_digit) => {
                    write!(f, "score \"{}\" is too large", shown(field))
                }
                Ok(score) => Self::NotFinite(score).fmt(f),
                Err(_) => write!(f, "score \"{}\" is no number", shown(field)),
            },
            Self::NotFinite(score) if score.is_nan() => write!(f, "score is NaN"),
            Self::NotFinite(_) => write!(f, "score is infinite"),
            Self::Grade(field) => {
                write!(f, "grade \"{}\" ", shown(field))?;
                if overflows(field) {
                    write!(f, "is out of range, expected {} to {}", i32::MIN, i32::MAX)
                } else {
                    write!(f, "is no integer")
                }
            }
        }
    }
}

/// The content lines of `text`, numbered from 1; blank lines and comments count, but are not given.
/// Returns how many lines there are.
pub fn for_each_line<'t>(
    text: &'t [u8],
    mut line: impl FnMut(u64, Result<&'t [u8], Fault<'t>>),
) -> u64 {
    let binary = memchr(0, text).is_some();
    let mut give = |number, content: &'t [u8]| {
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        if binary && content.contains(&0) {
            line(number, Err(Fault::Binary));
        } else if is_content(content) {
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

pub fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

pub fn run_line(line: &[u8]) -> Result<RunLine<'_>, Fault<'_>> {
    let mut fields = Fields(line);
    let mut next = || fields.next();
    let (Some(topic), Some(_), Some(doc), Some(_), Some(score), Some(tag)) =
        (next(), next(), next(), next(), next(), next())
    else {
        return Err(Fault::RunFields(Fields(line).count()));
    };
    match fast_float2::parse::<f64, _>(score) {
        Ok(value) if value.is_finite() => Ok(RunLine {
            topic,
            doc,
            score: value,
            tag,
        }),
        _ => Err(Fault::Score(score)),
    }
}

pub fn qrels_line(line: &[u8]) -> Result<QrelsLine<'_>, Fault<'_>> {
    let mut fields = Fields(line);
    let mut next = || fields.next();
    let (Some(topic), Some(_), Some(doc), Some(grade), None) =
        (next(), next(), next(), next(), next())
    else {
        return Err(Fault::QrelsFields(Fields(line).count()));
    };
    match integer(grade) {
        Some(Ok(value)) => Ok(QrelsLine {
            topic,
            doc,
            grade: value,
        }),
        _ => Err(Fault::Grade(grade)),
    }
}

/// What stands between runs of blanks and tabs.
struct Fields<'t>(&'t [u8]);

impl<'t> Iterator for Fields<'t> {
    type Item = &'t [u8];

    #[inline]
    fn next(&mut self) -> Option<&'t [u8]> {
        let start = self.0.iter().position(|&byte| !is_blank(byte))?;
        let rest = &self.0[start..];
        let end = rest
            .iter()
            .position(|&byte| is_blank(byte))
            .unwrap_or(rest.len());
        let (field, rest) = rest.split_at(end);
        self.0 = rest;
        Some(field)
    }
}

fn is_content(line: &[u8]) -> bool {
    line.iter()
        .find(|&&byte| !is_blank(byte))
        .is_some_and(|&byte| byte != b'#')
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn integer(field: &[u8]) -> Option<Result<i32, ParseIntError>> {
    std::str::from_utf8(field).ok().map(str::parse)
}

fn overflows(field: &[u8]) -> bool {
    use IntErrorKind::{NegOverflow, PosOverflow};
    let is_overflow = |error: ParseIntError| matches!(error.kind(), NegOverflow | PosOverflow);
    integer(field)
        .and_then(Result::err)
        .is_some_and(is_overflow)
}
