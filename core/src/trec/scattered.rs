//! Runs in which the rows of a topic stand anywhere.
//!
//! The rows first go into partitions, all those of a topic into the same one; then partition after
//! partition is taken out, and its topics are ranked.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::partitions::{PARTITIONS, Partitions, Row, Scattered, rows};
use super::problems::{Failure, Problems};
use super::rank::Record;
use super::run::{Context, Feed, InOrder, Ranker, Reduced, Sink, Tally, locked};
use super::run::{on_threads, scan};

pub fn read<F: Feed>(feed: &F, context: Context) -> Result<Reduced, Failure> {
    let (partitions, tally) = partition(feed, context)?;
    let partitions = Mutex::new(partitions);
    let reduced = Mutex::new(Reduced::new(context.judgments, tally));
    let next = AtomicUsize::new(0);
    on_threads(context, || {
        let mut ranker = Ranker::new(context);
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= PARTITIONS {
                return Ok(());
            }
            context.stop.check()?;
            let partition = locked(&partitions).take(number)?;
            let mut topics: HashMap<_, Vec<_>> = HashMap::new();
            for row in rows(&partition) {
                let record = Record::new(row.doc, row.at, row.score);
                topics.entry(row.topic).or_default().push(record);
            }
            let mut problems = Problems::default();
            let done: Vec<_> = topics
                .into_iter()
                .map(|(name, mut records)| ranker.rank(name, &mut records, &mut problems))
                .collect();
            let mut reduced = locked(&reduced);
            for (topic, ranked) in done {
                reduced.add(topic, ranked, 0);
            }
            reduced.tally.problems.append(problems, 0);
        }
    })?;
    Ok(reduced.into_inner().expect("no worker panicked"))
}

fn partition<F: Feed>(feed: &F, context: Context) -> Result<(Partitions, Tally), Failure> {
    let merger = Mutex::new(Merger {
        blocks: InOrder::default(),
        partitions: Partitions::new(context.options.budget),
        tally: Tally::default(),
    });
    on_threads(context, || {
        let mut block = F::Block::default();
        while let Some(number) = feed.next_block(&mut block)? {
            context.stop.check()?;
            let (tally, rows) = scan(feed, number, &block, context.options, Scattered::default());
            locked(&merger).add(number, tally, rows)?;
        }
        Ok(())
    })?;
    let merger = merger.into_inner().expect("no worker panicked");
    Ok((merger.partitions, merger.tally))
}

impl<'t> Sink<'t> for Scattered {
    #[inline]
    fn add(&mut self, topic: &'t [u8], doc: &'t [u8], at: u64, score: f64) {
        self.push(Row {
            topic,
            doc,
            at,
            score,
        });
    }
}

/// Joins the blocks.
struct Merger {
    blocks: InOrder<(Tally, Scattered)>,
    partitions: Partitions,
    tally: Tally,
}

impl Merger {
    /// Takes a block, whose turn may come later.
    fn add(&mut self, number: u64, tally: Tally, rows: Scattered) -> Result<(), Failure> {
        self.blocks.add(number, (tally, rows));
        while let Some((tally, rows)) = self.blocks.next() {
            self.partitions.append(&rows, self.tally.lines)?;
            self.tally.append(tally);
        }
        Ok(())
    }
}
