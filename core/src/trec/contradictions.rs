//! Where the ranks in a run contradict its scores, by which it is ranked.
//!
//! Every row is compared with the last one before it that has a rank, if both are of one topic. That
//! takes no memory, and a run in the order of its ranks or of its scores has no contradiction that
//! it would miss.

use super::topic::is_same;

/// A row with a rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankedRow<T> {
    pub topic: T,
    pub rank: u64,
    pub score: f64,
    pub at: u64,
}

impl RankedRow<&[u8]> {
    fn keep(self) -> RankedRow<Box<[u8]>> {
        let Self {
            topic,
            rank,
            score,
            at,
        } = self;
        RankedRow {
            topic: topic.into(),
            rank,
            score,
            at,
        }
    }
}

impl RankedRow<Box<[u8]>> {
    fn view(&self) -> RankedRow<&[u8]> {
        let Self {
            ref topic,
            rank,
            score,
            at,
        } = *self;
        RankedRow {
            topic,
            rank,
            score,
            at,
        }
    }
}

/// The first and the last of some rows.
type Ends<T> = (RankedRow<T>, RankedRow<T>);

/// The first row whose rank contradicts that of a row before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contradiction {
    pub at: u64,
    /// Of the two ranks that which has the higher score, though it is the larger number.
    pub rank: u64,
    pub other: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Contradictions {
    pub first: Option<Contradiction>,
    pub total: u64,
}

impl Contradictions {
    fn append(&mut self, mut next: Self, base: u64) {
        if let Some(first) = &mut next.first {
            first.at += base;
        }
        self.first = self.first.or(next.first);
        self.total += next.total;
    }

    #[inline]
    fn compare(&mut self, before: RankedRow<&[u8]>, row: RankedRow<&[u8]>) {
        let contradicts = if row.score > before.score {
            row.rank > before.rank
        } else {
            row.score < before.score && row.rank < before.rank
        };
        if contradicts && is_same(before.topic, row.topic) {
            self.total += 1;
            self.first.get_or_insert(Contradiction {
                at: row.at,
                rank: row.rank.max(before.rank),
                other: row.rank.min(before.rank),
            });
        }
    }
}

/// The rows of a block on their way.
#[derive(Default)]
pub struct Comparison<'t> {
    ends: Option<Ends<&'t [u8]>>,
    found: Contradictions,
}

impl<'t> Comparison<'t> {
    /// Takes the next row. A rank that is no whole number is none.
    #[inline]
    pub fn add(&mut self, topic: &'t [u8], rank: &[u8], at: u64, score: f64) {
        let Some(rank) = whole_number(rank) else {
            return;
        };
        let row = RankedRow {
            topic,
            rank,
            score,
            at,
        };
        match &mut self.ends {
            Some((_, last)) => {
                self.found.compare(*last, row);
                *last = row;
            }
            None => self.ends = Some((row, row)),
        }
    }

    pub fn finish(self) -> ComparedRows {
        ComparedRows {
            ends: self.ends.map(|(first, last)| (first.keep(), last.keep())),
            found: self.found,
        }
    }
}

/// What the rows of some blocks come to.
#[derive(Default)]
pub struct ComparedRows {
    /// The first and the last row that have a rank.
    ends: Option<Ends<Box<[u8]>>>,
    pub found: Contradictions,
}

impl ComparedRows {
    /// Adds what comes next, `base` lines further on.
    pub fn append(&mut self, next: Self, base: u64) {
        let Some((mut first, mut last)) = next.ends else {
            return;
        };
        first.at += base;
        last.at += base;
        self.ends = Some(match self.ends.take() {
            Some((start, end)) => {
                self.found.compare(end.view(), first.view());
                (start, last)
            }
            None => (first, last),
        });
        self.found.append(next.found, base);
    }
}

/// The number that these digits are; ranks have no sign.
#[inline]
fn whole_number(digits: &[u8]) -> Option<u64> {
    if digits.len() > 18 {
        return None;
    }
    digits.iter().try_fold(0, |number, &digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10).then(|| 10 * number + u64::from(digit))
    })
}
