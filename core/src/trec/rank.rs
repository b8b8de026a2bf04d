//! Ranking the rows of one topic and keeping the judged ones.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::problems::{Problems, shown};
use super::topic::{Doc, Index, Kept};

/// A retrieved document.
#[derive(Clone, Copy, Debug)]
pub struct Record<'t> {
    doc: Doc<'t>,
    at: u64,
    score: f64,
    /// Its grade, once it is known to be judged.
    grade: Option<i32>,
}

impl<'t> Record<'t> {
    #[inline]
    pub fn new(id: &'t [u8], at: u64, score: f64) -> Self {
        Self {
            doc: Doc::new(id),
            at,
            score,
            grade: None,
        }
    }

    pub fn id(&self) -> &'t [u8] {
        self.doc.id
    }

    pub fn at(&self) -> u64 {
        self.at
    }

    pub fn score(&self) -> f64 {
        self.score
    }
}

/// A judged document among the retrieved; ranks count from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    pub rank: usize,
    pub grade: i32,
    /// The first and the last rank with the same score.
    pub tied: (usize, usize),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranked {
    pub retrieved: usize,
    /// In the order of their ranks.
    pub hits: Vec<Hit>,
    /// The documents that stand twice, where that is no problem of the whole run.
    pub repeated: Problems,
}

/// Ranks by score, descending, and where scores are equal by document id, descending, which is the
/// order of `trec_eval`, or ascending, which is its order for preferences. NaN is above all numbers.
pub fn rank(
    records: &mut [Record],
    judged: Option<&Kept<i32>>,
    index: &Index,
    ascending: bool,
) -> Ranked {
    let mut ranked = Ranked {
        retrieved: records.len(),
        ..Ranked::default()
    };
    let mut rows = mark_judged(records, judged, index);
    if rows.is_empty() {
        return ranked;
    }
    if records.is_sorted_by(|a, b| a.score >= b.score) {
        rows.sort_unstable();
    } else {
        records.sort_unstable_by(|a, b| b.score.total_cmp(&a.score));
        rows.clear();
        rows.extend((0..records.len()).filter(|&row| records[row].grade.is_some()));
    }
    let mut end = 0;
    for row in rows {
        if row < end {
            continue; // it was among those with the score of the row before
        }
        let is_tied = |next: &usize| is_tied(&records[next - 1], &records[*next]);
        let start = (1..=row).rev().find(|next| !is_tied(next)).unwrap_or(0);
        end = (row + 1..records.len())
            .find(|next| !is_tied(next))
            .unwrap_or(records.len());
        add_hits(&mut records[start..end], start, ascending, &mut ranked.hits);
    }
    ranked
}

/// Whether two that follow each other have the same score: scores do not rise, so one that is not
/// lower is equal.
fn is_tied(before: &Record, after: &Record) -> bool {
    before.score <= after.score || after.score.is_nan()
}

/// Puts the records into the index, and the documents that stand there twice into the problems.
pub fn index_records(topic: &[u8], records: &[Record], index: &mut Index, problems: &mut Problems) {
    index.clear(records.len());
    for (row, record) in records.iter().enumerate() {
        if let Some(first) = index.insert(record.doc, row, |row| records[row].doc) {
            problems.add_duplicate(record.at, records[first].at, || {
                format!(
                    "document {} retrieved twice for topic {}",
                    shown(record.doc.id),
                    shown(topic)
                )
            });
        }
    }
}

/// Keeps the highest record of every document. The problems are about the `depth` highest records
/// only, below which `trec_eval` does not look.
pub fn keep_highest(
    topic: &[u8],
    records: &mut Vec<Record>,
    (depth, ascending): (usize, bool),
    index: &mut Index,
) -> Problems {
    records.sort_by(|a, b| {
        let by_score = b.score.partial_cmp(&a.score);
        by_score
            .unwrap_or_else(|| b.score.total_cmp(&a.score))
            .then_with(|| by_id(a, b, ascending))
    });
    let mut problems = Problems::default();
    let mut looked_at = records[..depth.min(records.len())].to_vec();
    looked_at.sort_unstable_by_key(Record::at);
    index_records(topic, &looked_at, index, &mut problems);
    let mut kept = HashSet::new();
    records.retain(|record| kept.insert(record.doc.id));
    problems
}

/// Looks the judged documents up among the retrieved, for mostly they are fewer; returns their rows.
fn mark_judged(records: &mut [Record], judged: Option<&Kept<i32>>, index: &Index) -> Vec<usize> {
    let mut rows = Vec::new();
    for (id, _, grade) in judged.into_iter().flat_map(Kept::iter) {
        if let Some(row) = index.find(Doc::new(id), |row| records[row].doc) {
            records[row].grade = Some(grade);
            rows.push(row);
        }
    }
    rows
}

/// Adds the judged ones among the records of one score, of which `before` have a higher one.
fn add_hits(records: &mut [Record], before: usize, ascending: bool, hits: &mut Vec<Hit>) {
    records.sort_unstable_by(|a, b| by_id(a, b, ascending));
    let tied = (before + 1, before + records.len());
    hits.extend(records.iter().zip(tied.0..).filter_map(|(record, rank)| {
        let grade = record.grade?;
        Some(Hit { rank, grade, tied })
    }));
}

fn by_id(a: &Record, b: &Record, ascending: bool) -> Ordering {
    let order = a.doc.id.cmp(b.doc.id);
    if ascending { order } else { order.reverse() }
}
