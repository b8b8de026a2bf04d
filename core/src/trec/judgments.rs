//! The judgments: which document has which grade for which topic.

use std::collections::HashMap;

use super::columns::Columns;
use super::input::Given;
use super::lines::{Format, Kind};
use super::problems::{Failure, Origin, Problems, shown};
use super::source::{Provenance, Source};
use super::stop::Stop;
use super::topic::{Doc, Index, Kept};

/// Judgments by topic, as they come.
#[derive(Default)]
struct Topics {
    judged: Vec<(Box<[u8]>, Kept<i32>)>,
    places: HashMap<Box<[u8]>, usize>,
    /// The place of the last one, which is mostly that of the next as well.
    last: usize,
}

impl Topics {
    fn add(&mut self, topic: &[u8], doc: &[u8], at: u64, grade: i32) {
        if self
            .judged
            .get(self.last)
            .is_none_or(|(name, _)| **name != *topic)
        {
            self.last = self.places.get(topic).copied().unwrap_or_else(|| {
                self.places.insert(topic.into(), self.judged.len());
                self.judged.push((topic.into(), Kept::default()));
                self.judged.len() - 1
            });
        }
        self.judged[self.last].1.push(doc, at, grade);
    }
}

/// So many rows are taken between two looks for a stop.
const BETWEEN_LOOKS: usize = 1 << 12;

#[derive(Debug)]
pub struct Judgments {
    /// In ascending order of their names.
    topics: Vec<(Box<[u8]>, Kept<i32>)>,
    /// What is wrong with some of them, by their numbers, where that is no problem of the whole.
    pub wrong: Vec<(usize, String)>,
    pub provenance: Provenance,
}

impl Judgments {
    pub fn from_file(
        path: &Given,
        lenient: bool,
        block: usize,
        stop: &Stop,
    ) -> Result<Self, Failure> {
        let format = Format {
            kind: Kind::Qrels,
            lenient,
        };
        let mut topics = Topics::default();
        let source = Source::open(path, block, stop)?;
        let (problems, provenance) = source.read_rows(format, |at, [topic, _, doc, grade]| {
            topics.add(topic, doc, at, format.grade(grade)?);
            Ok(())
        })?;
        Self::new(
            topics,
            problems,
            provenance,
            Origin::File(&path.path),
            lenient,
            stop,
        )
    }

    pub fn from_columns(columns: Columns<i64>, stop: &Stop) -> Result<Self, Failure> {
        let (mut topics, mut problems) = (Topics::default(), Problems::default());
        for (row, &value) in columns.values.iter().enumerate() {
            if row.is_multiple_of(BETWEEN_LOOKS) {
                stop.check()?;
            }
            match i32::try_from(value) {
                Ok(grade) => {
                    topics.add(
                        columns.topics.get(row),
                        columns.docs.get(row),
                        row as u64,
                        grade,
                    );
                }
                Err(_) => problems.add(row as u64, || out_of_range(value)),
            }
        }
        let provenance = Provenance {
            lines: columns.values.len() as u64,
            stored: None,
        };
        Self::new(topics, problems, provenance, Origin::Rows, false, stop)
    }

    fn new(
        topics: Topics,
        mut problems: Problems,
        provenance: Provenance,
        origin: Origin,
        lenient: bool,
        stop: &Stop,
    ) -> Result<Self, Failure> {
        let mut topics = topics.judged;
        topics.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let (mut index, mut wrong) = (Index::default(), Vec::new());
        for (number, (name, judged)) in topics.iter().enumerate() {
            stop.check()?;
            let mut repeated = Problems::default();
            check_duplicates(name, judged, &mut index, &mut repeated);
            if !lenient {
                problems.append(repeated, 0);
            } else if !repeated.is_empty() {
                wrong.push((number, repeated.report(origin)));
            }
        }
        if !problems.is_empty() {
            return Err(Failure::Input(problems.report(origin)));
        }
        if topics.is_empty() {
            return Err(Failure::Input(origin.whole("no judgments")));
        }
        Ok(Self {
            topics,
            wrong,
            provenance,
        })
    }

    pub fn len(&self) -> usize {
        self.topics.len()
    }

    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.topics.iter().map(|(name, _)| &**name)
    }

    /// The number of a topic in their order.
    pub fn find(&self, name: &[u8]) -> Option<usize> {
        self.topics
            .binary_search_by(|(topic, _)| (**topic).cmp(name))
            .ok()
    }

    /// The judgments of the topic of this number.
    pub fn judged(&self, topic: usize) -> &Kept<i32> {
        &self.topics[topic].1
    }

    /// For each topic its distinct grades, descending, with the number of documents of each.
    pub fn grades(&self) -> impl Iterator<Item = Vec<(i32, usize)>> {
        self.topics.iter().map(|(_, judged)| {
            let mut grades: Vec<_> = judged.iter().map(|(_, _, grade)| grade).collect();
            grades.sort_unstable_by(|a, b| b.cmp(a));
            grades
                .chunk_by(|a, b| a == b)
                .map(|equal| (equal[0], equal.len()))
                .collect()
        })
    }
}

pub fn out_of_range(grade: impl std::fmt::Display) -> String {
    format!(
        "grade {grade} is out of range, expected {} to {}",
        i32::MIN,
        i32::MAX
    )
}

fn check_duplicates(topic: &[u8], judged: &Kept<i32>, index: &mut Index, problems: &mut Problems) {
    let rows: Vec<_> = judged
        .iter()
        .map(|(id, at, _)| (Doc::new(id), at))
        .collect();
    index.clear(rows.len());
    for (row, &(doc, at)) in rows.iter().enumerate() {
        if let Some(first) = index.insert(doc, row, |row| rows[row].0) {
            problems.add_duplicate(at, rows[first].1, || {
                format!(
                    "document {} judged twice for topic {}",
                    shown(doc.id),
                    shown(topic)
                )
            });
        }
    }
}
