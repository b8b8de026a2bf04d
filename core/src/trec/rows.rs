//! All rows of a file as columns.

// Numbers of lines, of which each takes memory.
#![allow(clippy::cast_possible_wrap)]

use std::array;
use std::path::Path;

use super::columns::StringBuffers;
use super::lines::{Fault, Format, Kind};
use super::problems::{Failure, Origin};
use super::source::{Provenance, Source};
use super::stop::Stop;

/// The rows of a file in their order; columns have names.
pub struct Rows {
    pub texts: Vec<(&'static str, StringBuffers)>,
    pub numbers: (&'static str, Numbers),
    /// The line of every row, from 1.
    pub lines: Vec<i64>,
    pub provenance: Provenance,
}

pub enum Numbers {
    Whole(Vec<i64>),
    Real(Vec<f64>),
}

/// That a document stands there twice is no problem here.
pub fn read_rows(path: &Path, format: Format, block: usize, stop: &Stop) -> Result<Rows, Failure> {
    let reader = Reader {
        source: Source::open(path, block, stop)?,
        origin: Origin::File(path),
        format,
    };
    match format.kind {
        Kind::Run => {
            let names = ["topic", "iteration", "doc", "rank", "tag"];
            reader.read(names, ("score", Numbers::Real), |line| {
                let ([topic, iteration, doc, rank, _, tag], score) = format.run(line)?;
                Ok(([topic, iteration, doc, rank, tag], score))
            })
        }
        Kind::Qrels => {
            let names = ["topic", "iteration", "doc"];
            reader.read(names, ("grade", Numbers::Whole), |line| {
                let ([topic, iteration, doc, _], grade) = format.qrels(line)?;
                Ok(([topic, iteration, doc], i64::from(grade)))
            })
        }
        Kind::Groups => {
            let names = ["topic", "group", "doc"];
            reader.read(names, ("level", Numbers::Real), |line| {
                let ([topic, group, doc, _], level) = format.groups(line)?;
                Ok(([topic, group, doc], level))
            })
        }
        Kind::Prefs => {
            let names = ["topic", "group", "part", "doc"];
            reader.read(names, ("level", Numbers::Real), |line| {
                let ([topic, group, part, doc, _], level) = format.prefs(line)?;
                Ok(([topic, group, part, doc], level))
            })
        }
    }
}

struct Reader<'a> {
    source: Source,
    origin: Origin<'a>,
    format: Format,
}

impl Reader<'_> {
    fn read<const N: usize, V>(
        self,
        names: [&'static str; N],
        (number, numbers): (&'static str, fn(Vec<V>) -> Numbers),
        parse: impl Fn(&[u8]) -> Result<([&[u8]; N], V), Fault<'_>>,
    ) -> Result<Rows, Failure> {
        let mut texts: [StringBuffers; N] = array::from_fn(|_| StringBuffers::default());
        let (mut values, mut lines) = (Vec::new(), Vec::new());
        let (problems, provenance) = self.source.read_lines(self.format, |at, line| {
            let (fields, value) = parse(line)?;
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
            numbers: (number, numbers(values)),
            lines,
            provenance,
        })
    }
}
