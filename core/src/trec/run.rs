//! Reading a run and reducing it against judgments, block by block on several threads.
//!
//! Mostly the rows of a topic stand together, and it is ranked as soon as its last one is read:
//! that is the module `contiguous`. If a topic comes again after its end, the run is read once
//! more, and now by the module `scattered`, which first brings the rows of each topic together.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread;

use super::columns::Columns;
use super::contiguous;
use super::contradictions::{ComparedRows, Comparison, Contradictions};
use super::input::Given;
use super::judgments::Judgments;
use super::lines::{Fault, Format, Kind, without_mark};
use super::problems::{Failure, Origin, Problems};
use super::rank::{Ranked, Record, index_records, keep_highest, rank};
use super::scattered;
use super::source::{Provenance, Source};
use super::stop::Stop;
use super::topic::Index;

/// A run reduced to its judged documents.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// For each topic of the judgments.
    pub topics: Vec<Ranked>,
    /// What is wrong with some of them, by their numbers, where that is no problem of the whole.
    pub wrong: Vec<(usize, String)>,
    /// The topics nobody judged.
    pub unjudged: BTreeSet<Box<[u8]>>,
    /// The last one, when it was read from a file.
    pub tag: Option<Vec<u8>>,
    pub contradictions: Contradictions,
    pub provenance: Provenance,
}

/// The last three do not change the result.
#[derive(Clone, Copy)]
pub struct Options {
    /// Whether scores are rounded to single precision first, as `trec_eval` up to 9 does.
    pub float32: bool,
    /// Whether scores may be anything, as for `trec_eval`. Documents retrieved twice are then told
    /// by topic, of those that somebody judged.
    pub lenient: bool,
    /// How many of the highest documents of a topic are looked at for that.
    pub depth: usize,
    /// Whether documents with the same score are ranked by ascending id.
    pub ascending: bool,
    pub threads: usize,
    /// How many bytes or rows a thread takes at a time.
    pub block: usize,
    /// How many bytes of rows may wait in memory where topics do not stand together.
    pub budget: usize,
}

/// What every thread needs.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub judgments: &'a Judgments,
    pub options: Options,
    pub stop: &'a Stop,
}

pub fn read_file(path: &Given, context: Context) -> Result<Run, Failure> {
    let source = Source::open_to_restart(path, context.options.block, context.stop)?;
    let (source, reduced) = reduce(Mutex::new(source), context)?;
    let source = source.into_inner().expect("no worker panicked");
    let provenance = source.provenance(reduced.tally.lines);
    reduced.into_run(provenance, Origin::File(&path.path), "no lines")
}

pub fn read_columns(columns: Columns<f64>, context: Context) -> Result<Run, Failure> {
    let ranges = Ranges {
        columns,
        size: context.options.block,
        next: AtomicUsize::new(0),
    };
    let (_, reduced) = reduce(ranges, context)?;
    let provenance = Provenance {
        lines: reduced.tally.lines,
        stored: None,
    };
    reduced.into_run(provenance, Origin::Rows, "no rows")
}

fn reduce<F: Feed>(feed: F, context: Context) -> Result<(F, Reduced), Failure> {
    if let Some(reduced) = contiguous::read(&feed, context)? {
        return Ok((feed, reduced));
    }
    let feed = feed.restart()?;
    let reduced = scattered::read(&feed, context)?;
    Ok((feed, reduced))
}

/// Where the rows of a run come from, in blocks.
pub trait Feed: Sync + Sized {
    type Block: Default;

    /// From the first block again.
    fn restart(self) -> Result<Self, Failure>;

    /// Fills `block` and returns its number, from 0.
    fn next_block(&self, block: &mut Self::Block) -> Result<Option<u64>, Failure>;

    /// Hands over the rows of a block; returns how many lines or rows it has.
    fn scan<'t, S: Sink<'t>>(
        &'t self,
        number: u64,
        block: &'t Self::Block,
        rows: &mut Rows<'t, S>,
    ) -> u64;
}

impl Feed for Mutex<Source> {
    type Block = Vec<u8>;

    fn restart(self) -> Result<Self, Failure> {
        let source = self.into_inner().expect("no worker panicked");
        source.restart().map(Mutex::new)
    }

    fn next_block(&self, block: &mut Vec<u8>) -> Result<Option<u64>, Failure> {
        locked(self).next_block(block)
    }

    fn scan<'t, S: Sink<'t>>(
        &'t self,
        number: u64,
        block: &'t Vec<u8>,
        rows: &mut Rows<'t, S>,
    ) -> u64 {
        let format = Format {
            kind: Kind::Run,
            lenient: rows.options.lenient,
        };
        format.for_each_row(without_mark(block, number), |at, fields| {
            let row = fields.and_then(|&[topic, _, doc, rank, score, tag]| {
                Ok((topic, doc, rank, format.score(score)?, tag))
            });
            match row {
                Ok((topic, doc, rank, score, tag)) => {
                    // Of scores in full, as they are in the file.
                    rows.comparison.add(topic, rank, at, score);
                    rows.add(topic, doc, at, score);
                    rows.tag = Some(tag);
                }
                Err(fault) => rows.reject(at, &fault),
            }
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

    fn restart(self) -> Result<Self, Failure> {
        Ok(Self {
            next: AtomicUsize::new(0),
            ..self
        })
    }

    fn next_block(&self, block: &mut Range<usize>) -> Result<Option<u64>, Failure> {
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

    fn scan<'t, S: Sink<'t>>(
        &'t self,
        _: u64,
        block: &'t Range<usize>,
        rows: &mut Rows<'t, S>,
    ) -> u64 {
        let Columns {
            topics,
            docs,
            values,
        } = self.columns;
        for (row, at) in block.clone().zip(0..) {
            let score = values[row];
            if score.is_nan() && !rows.options.lenient {
                rows.reject(at, &Fault::NaN);
            } else {
                rows.add(topics.get(row), docs.get(row), at, score);
            }
        }
        block.len() as u64
    }
}

/// Where the rows of a block go; positions count from the block's first.
pub trait Sink<'t> {
    fn add(&mut self, topic: &'t [u8], doc: &'t [u8], at: u64, score: f64);
}

/// The rows of a block on their way.
pub struct Rows<'t, S> {
    options: Options,
    tag: Option<&'t [u8]>,
    comparison: Comparison<'t>,
    tally: Tally,
    sink: S,
}

impl<'t, S: Sink<'t>> Rows<'t, S> {
    #[inline]
    fn add(&mut self, topic: &'t [u8], doc: &'t [u8], at: u64, score: f64) {
        let score = if self.options.float32 {
            f64::from(score as f32)
        } else {
            score
        };
        self.tally.rows += 1;
        self.sink.add(topic, doc, at, score);
    }

    fn reject(&mut self, at: u64, fault: &Fault) {
        self.tally.problems.add(at, || fault.to_string());
    }
}

pub fn scan<'t, F: Feed, S: Sink<'t>>(
    feed: &'t F,
    number: u64,
    block: &'t F::Block,
    options: Options,
    sink: S,
) -> (Tally, S) {
    let mut rows = Rows {
        options,
        tag: None,
        comparison: Comparison::default(),
        tally: Tally::default(),
        sink,
    };
    let lines = feed.scan(number, block, &mut rows);
    let tally = Tally {
        lines,
        tag: rows.tag.map(<[u8]>::to_vec),
        compared: rows.comparison.finish(),
        ..rows.tally
    };
    (tally, rows.sink)
}

/// What was read, and what is wrong with it.
#[derive(Default)]
pub struct Tally {
    pub lines: u64,
    pub rows: u64,
    pub tag: Option<Vec<u8>>,
    pub problems: Problems,
    compared: ComparedRows,
}

impl Tally {
    /// Adds what comes next.
    pub fn append(&mut self, next: Self) {
        self.problems.append(next.problems, self.lines);
        self.compared.append(next.compared, self.lines);
        self.lines += next.lines;
        self.rows += next.rows;
        self.tag = next.tag.or(self.tag.take());
    }
}

/// Ranks topics of which all rows are there.
pub struct Ranker<'a> {
    context: Context<'a>,
    index: Index,
}

impl<'a> Ranker<'a> {
    pub fn new(context: Context<'a>) -> Self {
        Self {
            context,
            index: Index::default(),
        }
    }

    pub fn rank(
        &mut self,
        name: &[u8],
        records: &mut Vec<Record>,
        problems: &mut Problems,
    ) -> (Topic, Ranked) {
        let Context {
            judgments, options, ..
        } = self.context;
        let number = judgments.find(name);
        let index = &mut self.index;
        let mut repeated = Problems::default();
        if !options.lenient {
            index_records(name, records, index, problems);
        } else if number.is_some() {
            index_records(name, records, index, &mut repeated);
            if !repeated.is_empty() {
                repeated = keep_highest(name, records, (options.depth, options.ascending), index);
                index_records(name, records, index, &mut Problems::default());
            }
        }
        let judged = number.map(|number| judgments.judged(number));
        let mut ranked = rank(records, judged, index, options.ascending);
        ranked.repeated = repeated;
        let topic = number.map_or_else(|| Topic::Unjudged(name.into()), Topic::Judged);
        (topic, ranked)
    }
}

/// A topic by its number among the judged ones, or by name.
pub enum Topic {
    Judged(usize),
    Unjudged(Box<[u8]>),
}

/// A run as far as it is reduced.
pub struct Reduced {
    topics: Vec<Option<Ranked>>,
    unjudged: BTreeSet<Box<[u8]>>,
    pub tally: Tally,
}

impl Reduced {
    pub fn new(judgments: &Judgments, tally: Tally) -> Self {
        Self {
            topics: vec![None; judgments.len()],
            unjudged: BTreeSet::new(),
            tally,
        }
    }

    /// Takes a topic, of which positions count from the line `base`; false if it came before.
    pub fn add(&mut self, topic: Topic, mut ranked: Ranked, base: u64) -> bool {
        ranked.repeated.shift(base);
        match topic {
            Topic::Judged(number) => self.topics[number].replace(ranked).is_none(),
            Topic::Unjudged(name) => self.unjudged.insert(name),
        }
    }

    fn into_run(self, provenance: Provenance, origin: Origin, empty: &str) -> Result<Run, Failure> {
        if !self.tally.problems.is_empty() {
            return Err(Failure::Input(self.tally.problems.report(origin)));
        }
        if self.tally.rows == 0 {
            return Err(Failure::Input(origin.whole(empty)));
        }
        let topics: Vec<_> = self
            .topics
            .into_iter()
            .map(Option::unwrap_or_default)
            .collect();
        let wrong = (0..topics.len())
            .filter(|&number| !topics[number].repeated.is_empty())
            .map(|number| (number, topics[number].repeated.report(origin)))
            .collect();
        Ok(Run {
            topics,
            wrong,
            unjudged: self.unjudged,
            tag: self.tally.tag,
            contradictions: self.tally.compared.found,
            provenance,
        })
    }
}

/// Puts what comes from several threads into the order of the blocks.
pub struct InOrder<T> {
    waiting: BTreeMap<u64, T>,
    next: u64,
}

impl<T> Default for InOrder<T> {
    fn default() -> Self {
        Self {
            waiting: BTreeMap::new(),
            next: 0,
        }
    }
}

impl<T> InOrder<T> {
    pub fn add(&mut self, number: u64, item: T) {
        self.waiting.insert(number, item);
    }

    /// The next one, if its turn has come.
    pub fn next(&mut self) -> Option<T> {
        let item = self.waiting.remove(&self.next)?;
        self.next += 1;
        Some(item)
    }
}

/// Does the same work on all threads; if it fails on one, the others stop.
pub fn on_threads(
    context: Context,
    work: impl Fn() -> Result<(), Failure> + Sync,
) -> Result<(), Failure> {
    let work = || work().inspect_err(|_| context.stop.set());
    thread::scope(|scope| {
        // Where the system grants fewer threads, fewer do it.
        let helpers: Vec<_> = (1..context.options.threads)
            .map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        helpers.into_iter().fold(work(), |done, helper| {
            let helped = helper.join().unwrap_or_else(|panic| resume_unwind(panic));
            match done {
                Ok(()) | Err(Failure::Stopped) => helped.and(done),
                failed @ Err(_) => failed,
            }
        })
    })
}

pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no worker panicked")
}
