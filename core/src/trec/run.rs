//! Reading a run and reducing it against judgments, block by block on all cores.
//!
//! A worker takes the next block and ranks the topics that lie wholly inside it at once. The first
//! and the last topic of a block may continue in its neighbours: their rows go to the merger, which
//! joins them in the order of the blocks. If a topic turns up again after its end, the run is read
//! once more, and then the rows of every topic are kept until the end.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::mem;
use std::ops::Range;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread;

use super::columns::Columns;
use super::judgments::Judgments;
use super::lines::{Fault, for_each_line, run_line, without_mark};
use super::problems::{Failure, Origin, Problems};
use super::rank::{Ranked, Record, index_records, rank};
use super::source::{Provenance, Source};
use super::topic::{Index, Kept};

/// A run reduced to its judged documents.
#[derive(Debug, PartialEq)]
pub struct Run {
    /// For each topic of the judgments.
    pub topics: Vec<Ranked>,
    /// The topics nobody judged.
    pub unjudged: BTreeSet<Box<[u8]>>,
    /// The last one, when it was read from a file.
    pub tag: Option<Vec<u8>>,
    pub provenance: Provenance,
}

/// Neither the threads nor the size of a block, in bytes or rows, change the result.
#[derive(Clone, Copy)]
pub struct Options {
    /// Whether scores are rounded to single precision first, as `trec_eval` up to 9 does.
    pub float32: bool,
    pub threads: usize,
    pub block: usize,
}

pub fn read_file(path: &Path, judgments: &Judgments, options: Options) -> Result<Run, Failure> {
    let open = || Source::open(path, options.block).map(Mutex::new);
    let (source, merged) =
        reduce(open, judgments, options).map_err(|error| Failure::reading(path, error))?;
    let source = source.into_inner().expect("no worker panicked");
    let provenance = source.provenance(merged.lines);
    merged.into_run(provenance, Origin::File(path), "no lines")
}

pub fn read_columns(
    columns: Columns<f64>,
    judgments: &Judgments,
    options: Options,
) -> Result<Run, Failure> {
    let open = || {
        Ok(Ranges {
            columns,
            size: options.block,
            next: AtomicUsize::new(0),
        })
    };
    let (_, merged) = reduce(open, judgments, options).map_err(Failure::Io)?;
    let provenance = Provenance {
        lines: merged.lines,
        stored: None,
    };
    merged.into_run(provenance, Origin::Rows, "no rows")
}

/// Where the rows of a run come from, in blocks.
trait Feed: Sync {
    type Block: Default;

    /// Whether opening it again gives the same rows.
    fn is_repeatable(&self) -> bool;

    /// Fills `block` and returns its number, from 0.
    fn next_block(&self, block: &mut Self::Block) -> io::Result<Option<u64>>;

    /// Hands the rows of a block to the part; returns how many lines or rows it has.
    fn scan<'t>(&'t self, number: u64, block: &'t Self::Block, part: &mut Part<'t, '_>) -> u64;
}

impl Feed for Mutex<Source> {
    type Block = Vec<u8>;

    fn is_repeatable(&self) -> bool {
        locked(self).is_regular()
    }

    fn next_block(&self, block: &mut Vec<u8>) -> io::Result<Option<u64>> {
        locked(self).next_block(block)
    }

    fn scan<'t>(&'t self, number: u64, block: &'t Vec<u8>, part: &mut Part<'t, '_>) -> u64 {
        let text = if number == 0 {
            without_mark(block)
        } else {
            block
        };
        for_each_line(text, |at, line| match line.and_then(run_line) {
            Ok(line) => {
                part.add(line.topic, line.doc, at, line.score);
                part.tag = Some(line.tag);
            }
            Err(fault) => part.reject(at, &fault),
        })
    }
}

struct Ranges<'a> {
    columns: Columns<'a, f64>,
    size: usize,
    next: AtomicUsize,
}

impl Feed for Ranges<'_> {
    type Block = Range<usize>;

    fn is_repeatable(&self) -> bool {
        true
    }

    fn next_block(&self, block: &mut Range<usize>) -> io::Result<Option<u64>> {
        let rows = self.columns.values.len();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let start = rows.min(number * self.size);
        *block = start..rows.min(start + self.size);
        Ok(if block.start < block.end {
            Some(number as u64)
        } else {
            None
        })
    }

    fn scan<'t>(&'t self, _: u64, block: &'t Range<usize>, part: &mut Part<'t, '_>) -> u64 {
        let Columns {
            topics,
            docs,
            values,
        } = self.columns;
        for (row, at) in block.clone().zip(0..) {
            let score = values[row];
            if score.is_finite() {
                part.add(topics.get(row), docs.get(row), at, score);
            } else {
                part.reject(at, &Fault::NotFinite(score));
            }
        }
        block.len() as u64
    }
}

/// What a block comes to.
#[derive(Default)]
struct Reduced {
    lines: u64,
    rows: usize,
    tag: Option<Vec<u8>>,
    problems: Problems,
    /// Rows of topics that other blocks may continue.
    open: Vec<(Box<[u8]>, Kept<f64>)>,
    closed: Vec<(Topic, Ranked)>,
}

/// A topic by its number among the judged ones, or by name.
enum Topic {
    Judged(usize),
    Unjudged(Box<[u8]>),
}

/// Collects the rows of one block.
struct Part<'t, 'a> {
    judgments: &'a Judgments,
    index: &'a mut Index,
    float32: bool,
    keep: bool,
    topic: &'t [u8],
    records: Vec<Record<'t>>,
    tag: Option<&'t [u8]>,
    reduced: Reduced,
}

impl<'t> Part<'t, '_> {
    #[inline]
    fn add(&mut self, topic: &'t [u8], doc: &'t [u8], at: u64, score: f64) {
        if topic != self.topic {
            self.end_topic(false);
            self.topic = topic;
        }
        let score = if self.float32 {
            f64::from(score as f32)
        } else {
            score
        };
        self.records.push(Record::new(doc, at, score));
    }

    fn reject(&mut self, at: u64, fault: &Fault) {
        self.reduced.problems.add(at, || fault.to_string());
    }

    fn end_topic(&mut self, is_last: bool) {
        if self.records.is_empty() {
            return;
        }
        self.reduced.rows += self.records.len();
        let is_first = self.reduced.open.is_empty();
        if is_first || is_last || self.keep {
            let mut kept = Kept::default();
            for record in &self.records {
                kept.push(record.id(), record.at(), record.score());
            }
            self.reduced.open.push((self.topic.into(), kept));
        } else {
            let problems = &mut self.reduced.problems;
            let closed = close(
                self.topic,
                &mut self.records,
                self.judgments,
                self.index,
                problems,
            );
            self.reduced.closed.push(closed);
        }
        self.records.clear();
    }

    fn finish(mut self, lines: u64) -> Reduced {
        self.end_topic(true);
        self.reduced.lines = lines;
        self.reduced.tag = self.tag.map(<[u8]>::to_vec);
        self.reduced
    }
}

/// Ranks a topic of which all rows are there.
fn close(
    name: &[u8],
    records: &mut [Record],
    judgments: &Judgments,
    index: &mut Index,
    problems: &mut Problems,
) -> (Topic, Ranked) {
    index_records(name, records, index, problems);
    let number = judgments.find(name);
    let ranked = rank(
        records,
        number.map(|number| judgments.judged(number)),
        index,
    );
    (
        number.map_or_else(|| Topic::Unjudged(name.into()), Topic::Judged),
        ranked,
    )
}

/// Joins the blocks in their order.
struct Merger<'a> {
    judgments: &'a Judgments,
    index: Index,
    /// Whether the rows of every topic wait until the end.
    keep: bool,
    waiting: BTreeMap<u64, Reduced>,
    next: u64,
    lines: u64,
    rows: usize,
    tag: Option<Vec<u8>>,
    problems: Problems,
    open: HashMap<Box<[u8]>, Kept<f64>>,
    topics: Vec<Option<Ranked>>,
    unjudged: BTreeSet<Box<[u8]>>,
    /// Whether a topic came again after its end.
    interleaved: bool,
}

impl<'a> Merger<'a> {
    fn new(judgments: &'a Judgments, keep: bool) -> Self {
        Self {
            judgments,
            index: Index::default(),
            keep,
            waiting: BTreeMap::new(),
            next: 0,
            lines: 0,
            rows: 0,
            tag: None,
            problems: Problems::default(),
            open: HashMap::new(),
            topics: vec![None; judgments.len()],
            unjudged: BTreeSet::new(),
            interleaved: false,
        }
    }

    /// Takes a block's result, whose turn may come later; false when no more are wanted.
    fn add(&mut self, number: u64, reduced: Reduced) -> bool {
        self.waiting.insert(number, reduced);
        while let Some(reduced) = self.waiting.remove(&self.next) {
            self.next += 1;
            self.join(reduced);
        }
        !self.interleaved
    }

    fn join(&mut self, reduced: Reduced) {
        for (name, rows) in reduced.open {
            if !self.keep && !self.open.contains_key(&name) {
                self.close_open();
            }
            self.open.entry(name).or_default().append(&rows, self.lines);
        }
        for (topic, ranked) in reduced.closed {
            self.register(topic, ranked);
        }
        self.problems.append(reduced.problems, self.lines);
        self.lines += reduced.lines;
        self.rows += reduced.rows;
        self.tag = reduced.tag.or(self.tag.take());
    }

    fn close_open(&mut self) {
        for (name, rows) in mem::take(&mut self.open) {
            let mut records: Vec<_> = rows
                .iter()
                .map(|(id, at, score)| Record::new(id, at, score))
                .collect();
            let problems = &mut self.problems;
            let (topic, ranked) = close(
                &name,
                &mut records,
                self.judgments,
                &mut self.index,
                problems,
            );
            self.register(topic, ranked);
        }
    }

    fn register(&mut self, topic: Topic, ranked: Ranked) {
        self.interleaved |= match topic {
            Topic::Judged(number) => self.topics[number].replace(ranked).is_some(),
            Topic::Unjudged(name) => !self.unjudged.insert(name),
        };
    }

    fn into_run(self, provenance: Provenance, origin: Origin, empty: &str) -> Result<Run, Failure> {
        if !self.problems.is_empty() {
            return Err(Failure::Input(self.problems.report(origin)));
        }
        if self.rows == 0 {
            return Err(Failure::Input(origin.whole(empty)));
        }
        let topics = self
            .topics
            .into_iter()
            .map(Option::unwrap_or_default)
            .collect();
        Ok(Run {
            topics,
            unjudged: self.unjudged,
            tag: self.tag,
            provenance,
        })
    }
}

fn reduce<F: Feed>(
    open: impl Fn() -> io::Result<F>,
    judgments: &Judgments,
    options: Options,
) -> io::Result<(F, Merger<'_>)> {
    let mut keep = false;
    loop {
        let feed = open()?;
        keep |= !feed.is_repeatable();
        let merged = read(&feed, judgments, options, keep)?;
        if !merged.interleaved {
            return Ok((feed, merged));
        }
        keep = true;
    }
}

fn read<'a, F: Feed>(
    feed: &F,
    judgments: &'a Judgments,
    options: Options,
    keep: bool,
) -> io::Result<Merger<'a>> {
    let merger = Mutex::new(Merger::new(judgments, keep));
    let work = || work(feed, &merger, judgments, options.float32, keep);
    thread::scope(|scope| {
        let helpers: Vec<_> = (1..options.threads).map(|_| scope.spawn(work)).collect();
        helpers.into_iter().fold(work(), |done, helper| {
            done.and(helper.join().unwrap_or_else(|panic| resume_unwind(panic)))
        })
    })?;
    let mut merger = merger.into_inner().expect("no worker panicked");
    merger.close_open();
    Ok(merger)
}

fn work<F: Feed>(
    feed: &F,
    merger: &Mutex<Merger>,
    judgments: &Judgments,
    float32: bool,
    keep: bool,
) -> io::Result<()> {
    let mut block = F::Block::default();
    let mut index = Index::default();
    while let Some(number) = feed.next_block(&mut block)? {
        let mut part = Part {
            judgments,
            index: &mut index,
            float32,
            keep,
            topic: &[],
            records: Vec::new(),
            tag: None,
            reduced: Reduced::default(),
        };
        let lines = feed.scan(number, &block, &mut part);
        let reduced = part.finish(lines);
        if !locked(merger).add(number, reduced) {
            break;
        }
    }
    Ok(())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no worker panicked")
}
