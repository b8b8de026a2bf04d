//! What is wrong with an input: the first problems in its order, and how many there are.

use std::fmt::Write;
use std::io;
use std::path::Path;

/// How many problems are told.
const TOLD: usize = 10;

/// How many bytes of a field are quoted.
const QUOTED: usize = 40;

/// Where positions count: the lines of a file from 1, or the rows of columns from 0.
#[derive(Clone, Copy)]
pub enum Origin<'a> {
    File(&'a Path),
    Rows,
}

impl Origin<'_> {
    /// A message about the input as a whole.
    pub fn whole(self, text: &str) -> String {
        match self {
            Self::File(path) => format!("{}: {text}", named(path).display()),
            Self::Rows => text.to_owned(),
        }
    }
}

/// A path as messages call it.
pub fn named(path: &Path) -> &Path {
    if path == Path::new("-") {
        Path::new("<stdin>")
    } else {
        path
    }
}

/// Why there is no result.
#[derive(Debug)]
pub enum Failure {
    /// The system refused.
    Io(io::Error),
    /// It refused a temporary file.
    Temporary(io::Error),
    /// The input is bad, and how.
    Input(String),
    /// Somebody asked to stop.
    Stopped,
}

impl Failure {
    /// Without a code of the system it was a decoder that failed.
    pub fn reading(path: &Path, error: io::Error) -> Self {
        if error.raw_os_error().is_some() {
            return Self::Io(error);
        }
        Self::Input(Origin::File(path).whole(&format!("cannot be decompressed: {error}")))
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Problem {
    at: u64,
    text: String,
    /// For a document given twice, where it stood first.
    first: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Problems {
    /// Sorted by position; no position has more than one problem.
    told: Vec<Problem>,
    total: u64,
}

impl Problems {
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    pub fn add(&mut self, at: u64, text: impl FnOnce() -> String) {
        self.add_problem(at, None, text);
    }

    pub fn add_duplicate(&mut self, at: u64, first: u64, text: impl FnOnce() -> String) {
        self.add_problem(at, Some(first), text);
    }

    /// A file of another kind has as many problems as lines: only the told ones get a text.
    fn add_problem(&mut self, at: u64, first: Option<u64>, text: impl FnOnce() -> String) {
        self.total += 1;
        let place = self.told.partition_point(|problem| problem.at < at);
        if place < TOLD {
            self.told.insert(
                place,
                Problem {
                    at,
                    text: text(),
                    first,
                },
            );
            self.told.truncate(TOLD);
        }
    }

    /// Takes over the problems of a part that starts `base` lines later.
    pub fn append(&mut self, mut part: Self, base: u64) {
        part.shift(base);
        let untold = part.total - part.told.len() as u64;
        for Problem { at, text, first } in part.told {
            self.add_problem(at, first, || text);
        }
        self.total += untold;
    }

    /// Positions count from `base` lines earlier.
    pub fn shift(&mut self, base: u64) {
        for problem in &mut self.told {
            problem.at += base;
            problem.first = problem.first.map(|first| first + base);
        }
    }

    /// One line a problem, and how many more there are.
    pub fn report(&self, origin: Origin) -> String {
        let mut report = String::new();
        for Problem { at, text, first } in &self.told {
            let unit = match origin {
                Origin::File(path) => {
                    let _ = write!(report, "{}:{at}: {text}", named(path).display());
                    "line"
                }
                Origin::Rows => {
                    let _ = write!(report, "row {at}: {text}");
                    "row"
                }
            };
            if let Some(first) = first {
                let _ = write!(report, " (first at {unit} {first})");
            }
            report.push('\n');
        }
        match self.total - self.told.len() as u64 {
            0 => drop(report.pop()),
            more => {
                let _ = write!(report, "… and {more} more");
            }
        }
        report
    }
}

/// Bytes of the input as a message shows them.
pub fn shown(bytes: &[u8]) -> String {
    let start = &bytes[..bytes.len().min(QUOTED)];
    let text = String::from_utf8_lossy(start);
    let cut = bytes.len() > QUOTED;
    // The cut may have gone through a character.
    let text = if cut {
        text.trim_end_matches(char::REPLACEMENT_CHARACTER)
    } else {
        &text
    };
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    if cut {
        shown.push('…');
    }
    shown
}
