//! All rows of a file as columns.

// Numbers of lines, of which each takes memory.
#![allow(clippy::cast_possible_wrap)]

use std::array;

use super::columns::StringBuffers;
use super::input::Given;
use super::lines::{Fault, Format, Kind, without_mark};
use super::problems::{Failure, Origin};
use super::source::{Provenance, Source};
use super::stop::Stop;

/// The rows of a file in their order; columns have names.
pub struct Rows {
    pub texts: Vec<(&'static str, StringBuffers)>,
    pub numbers: Numbers,
    /// The line of every row, from 1.
    pub lines: Vec<i64>,
    pub provenance: Provenance,
}

pub enum Numbers {
    Whole(&'static str, Vec<i64>),
    Real(&'static str, Vec<f64>),
    None,
}

/// Of no kind are groups or preferences, which the first line tells. That a document stands there
/// twice is no problem here.
pub fn read_rows(
    path: &Given,
    kind: Option<Kind>,
    lenient: bool,
    block: usize,
    stop: &Stop,
) -> Result<Rows, Failure> {
    let source = Source::open(path, block, stop)?;
    let kind = kind.unwrap_or_else(|| groups_or_prefs(source.head(), lenient));
    let format = Format { kind, lenient };
    let reader = Reader {
        source,
        origin: Origin::File(&path.path),
        format,
    };
    let levels = |levels| Numbers::Real("level", levels);
    match kind {
        Kind::Run => {
            let names = ["topic", "iteration", "doc", "rank", "tag"];
            reader.read(
                names,
                |scores| Numbers::Real("score", scores),
                |[topic, iteration, doc, rank, score, tag]| {
                    Ok(([topic, iteration, doc, rank, tag], format.score(score)?))
                },
            )
        }
        Kind::Qrels => {
            let names = ["topic", "iteration", "doc"];
            reader.read(
                names,
                |grades| Numbers::Whole("grade", grades),
                |[topic, iteration, doc, grade]| {
                    Ok(([topic, iteration, doc], i64::from(format.grade(grade)?)))
                },
            )
        }
        Kind::Groups => {
            let names = ["topic", "group", "doc"];
            reader.read(names, levels, |[topic, group, doc, level]| {
                Ok(([topic, group, doc], format.level(level)?))
            })
        }
        Kind::Prefs => {
            let names = ["topic", "group", "part", "doc"];
            reader.read(names, levels, |[topic, group, part, doc, level]| {
                Ok(([topic, group, part, doc], format.level(level)?))
            })
        }
        Kind::ZScores => {
            let names = ["topic", "measure", "mean", "deviation"];
            reader.read(names, |_| Numbers::None, |fields: [_; 4]| Ok((fields, ())))
        }
    }
}

/// Preferences have five fields.
fn groups_or_prefs(head: &[u8], lenient: bool) -> Kind {
    let kind = Kind::Groups;
    let format = Format { kind, lenient };
    let mut first = None;
    format.for_each_row::<4>(without_mark(head, 0), |_, row| {
        if !matches!(row, Err(Fault::Binary | Fault::TooLong)) {
            first.get_or_insert(row.map(|_| ()));
        }
    });
    match first {
        Some(Err(Fault::Fields { found: 5, .. })) => Kind::Prefs,
        _ => kind,
    }
}

struct Reader<'a> {
    source: Source,
    origin: Origin<'a>,
    format: Format,
}

impl Reader<'_> {
    fn read<const M: usize, const N: usize, V>(
        self,
        names: [&'static str; N],
        numbers: impl FnOnce(Vec<V>) -> Numbers,
        parse: impl for<'t> Fn([&'t [u8]; M]) -> Result<([&'t [u8]; N], V), Fault<'t>>,
    ) -> Result<Rows, Failure> {
        let mut texts: [StringBuffers; N] = array::from_fn(|_| StringBuffers::default());
        let (mut values, mut lines) = (Vec::new(), Vec::new());
        let (problems, provenance) = self.source.read_rows(self.format, |at, fields| {
            let (fields, value) = parse(fields)?;
            for (text, field) in texts.iter_mut().zip(fields) {
                text.push(field);
            }
            values.push(value);
            lines.push(at as i64);
            Ok(())
        })?;
        if !problems.is_empty() {
            return Err(Failure::Input(problems.report(self.origin)));
        }
        if lines.is_empty() {
            return Err(Failure::Input(self.origin.whole("no lines")));
        }
        Ok(Rows {
            texts: names.into_iter().zip(texts).collect(),
            numbers: numbers(values),
            lines,
            provenance,
        })
    }
}
