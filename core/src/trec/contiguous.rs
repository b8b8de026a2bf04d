//! Runs in which the rows of a topic stand together.
//!
//! A thread takes the next block and ranks the topics that lie wholly inside it at once. The first
//! and the last topic of a block may continue in its neighbours: their rows go to the merger, which
//! joins them in the order of the blocks.

use std::mem;
use std::sync::Mutex;

use super::problems::{Failure, Problems};
use super::rank::{Ranked, Record};
use super::run::{Context, Feed, InOrder, Ranker, Reduced, Sink, Tally, Topic, locked};
use super::run::{on_threads, scan};
use super::topic::{Kept, is_same};

/// None if a topic came again after its end.
pub fn read<F: Feed>(feed: &F, context: Context) -> Result<Option<Reduced>, Failure> {
    let merger = Mutex::new(Merger::new(context));
    on_threads(context, || {
        let mut block = F::Block::default();
        let mut ranker = Ranker::new(context);
        while let Some(number) = feed.next_block(&mut block)? {
            context.stop.check()?;
            let part = Part::new(&mut ranker);
            let (tally, part) = scan(feed, number, &block, context.options, part);
            let part = part.finish();
            if !locked(&merger).add(number, tally, part) {
                break;
            }
        }
        Ok(())
    })?;
    let mut merger = merger.into_inner().expect("no worker panicked");
    merger.close();
    Ok((!merger.scattered).then_some(merger.reduced))
}

/// What a block comes to.
#[derive(Default)]
struct Ranks {
    /// Rows of topics that other blocks may continue.
    open: Vec<(Box<[u8]>, Kept<f64>)>,
    closed: Vec<(Topic, Ranked)>,
    problems: Problems,
}

/// Collects the rows of one block.
struct Part<'t, 'r, 'a> {
    ranker: &'r mut Ranker<'a>,
    topic: &'t [u8],
    records: Vec<Record<'t>>,
    ranks: Ranks,
}

impl<'t> Sink<'t> for Part<'t, '_, '_> {
    #[inline]
    fn add(&mut self, topic: &'t [u8], doc: &'t [u8], at: u64, score: f64) {
        if !is_same(topic, self.topic) {
            self.end_topic(false);
            self.topic = topic;
        }
        self.records.push(Record::new(doc, at, score));
    }
}

impl<'r, 'a> Part<'_, 'r, 'a> {
    fn new(ranker: &'r mut Ranker<'a>) -> Self {
        Self {
            ranker,
            topic: &[],
            records: Vec::new(),
            ranks: Ranks::default(),
        }
    }

    fn end_topic(&mut self, is_last: bool) {
        if self.records.is_empty() {
            return;
        }
        let Ranks {
            open,
            closed,
            problems,
        } = &mut self.ranks;
        if open.is_empty() || is_last {
            let mut kept = Kept::default();
            for record in &self.records {
                kept.push(record.id(), record.at(), record.score());
            }
            open.push((self.topic.into(), kept));
        } else {
            closed.push(self.ranker.rank(self.topic, &mut self.records, problems));
        }
        self.records.clear();
    }

    fn finish(mut self) -> Ranks {
        self.end_topic(true);
        self.ranks
    }
}

/// Joins the blocks.
struct Merger<'a> {
    ranker: Ranker<'a>,
    blocks: InOrder<(Tally, Ranks)>,
    /// The topic that the next block may continue, and its rows.
    open: Option<(Box<[u8]>, Kept<f64>)>,
    reduced: Reduced,
    /// Whether a topic came again after its end.
    scattered: bool,
}

impl<'a> Merger<'a> {
    fn new(context: Context<'a>) -> Self {
        Self {
            ranker: Ranker::new(context),
            blocks: InOrder::default(),
            open: None,
            reduced: Reduced::new(context.judgments, Tally::default()),
            scattered: false,
        }
    }

    /// Takes a block, whose turn may come later; false when no more are wanted.
    fn add(&mut self, number: u64, tally: Tally, ranks: Ranks) -> bool {
        self.blocks.add(number, (tally, ranks));
        while let Some((tally, ranks)) = self.blocks.next() {
            self.join(tally, ranks);
        }
        !self.scattered
    }

    fn join(&mut self, tally: Tally, ranks: Ranks) {
        let base = self.reduced.tally.lines;
        for (name, rows) in ranks.open {
            if self.open.as_ref().is_some_and(|(open, _)| *open != name) {
                self.close();
            }
            let (_, open) = self.open.get_or_insert((name, Kept::default()));
            open.append(&rows, base);
        }
        for (topic, ranked) in ranks.closed {
            self.scattered |= !self.reduced.add(topic, ranked, base);
        }
        self.reduced.tally.problems.append(ranks.problems, base);
        self.reduced.tally.append(tally);
    }

    fn close(&mut self) {
        let Some((name, rows)) = mem::take(&mut self.open) else {
            return;
        };
        let mut records: Vec<_> = rows
            .iter()
            .map(|(id, at, score)| Record::new(id, at, score))
            .collect();
        let problems = &mut self.reduced.tally.problems;
        let (topic, ranked) = self.ranker.rank(&name, &mut records, problems);
        self.scattered |= !self.reduced.add(topic, ranked, 0);
    }
}
