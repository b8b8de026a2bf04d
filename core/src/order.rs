//! Scores in descending order: integer keys, a scatter by their leading bits into parts that fit the
//! cache, and a stable sort of each part by itself.
//!
//! Each thread scatters a stretch of the rows within that stretch, so that no two threads write side
//! by side, and equal keys stay in the order of the rows however many threads there are.

use numpy::Element;

use crate::parallel::{Chunks, Crew};

// ----------------------------------------------------------------------------------------- keys

/// A score of single or double precision.
pub trait Score: Copy + Into<f64> + Send + Sync + Element {
    /// What holds a key and one bit more, of a part that spans no more than half of all keys.
    type Held: Held;
    /// The keys of the highest and of the lowest number: beyond are infinities and NaN.
    const ENDS: [u64; 2];

    /// An integer that ascends while the score descends; adding 0.0 turns -0.0 into 0.0.
    fn key(self) -> u64;
    fn of_key(key: u64) -> f64;
}

macro_rules! score {
    ($float:ty, $bits:ty) => {
        impl Score for $float {
            type Held = $bits;
            const ENDS: [u64; 2] = [
                (!(<$float>::MAX.to_bits() | 1 << (<$bits>::BITS - 1))) as u64,
                <$float>::MIN.to_bits() as u64,
            ];

            #[inline]
            #[allow(clippy::cast_lossless)]
            fn key(self) -> u64 {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                let bits = (self + 0.0).to_bits();
                (if bits & SIGN == 0 {
                    !(bits | SIGN)
                } else {
                    bits
                }) as u64
            }

            #[inline]
            #[allow(clippy::cast_lossless)]
            fn of_key(key: u64) -> f64 {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                let key = key as $bits;
                <$float>::from_bits(if key & SIGN == 0 { !(key | SIGN) } else { key }) as f64
            }
        }
    };
}

score!(f32, u32);
score!(f64, u64);

/// An unsigned integer in memory.
pub trait Held: Copy + Default + Send + Sync + Element {
    fn of(value: u64) -> Self;
    fn get(self) -> u64;
}

impl Held for u32 {
    #[inline]
    fn of(value: u64) -> Self {
        value as Self
    }

    #[inline]
    fn get(self) -> u64 {
        self.into()
    }
}

impl Held for u64 {
    #[inline]
    fn of(value: u64) -> Self {
        value
    }

    #[inline]
    fn get(self) -> u64 {
        self
    }
}

// ----------------------------------------------------------------------------------------- parts

/// Rows looked at between two looks for a stop.
const ROWS: usize = 1 << 14;

/// The stretches that long columns are scattered in.
const STRETCHES: usize = 4;

/// Fewer rows than this are one stretch.
const WORTH_SHARING: usize = 1 << 15;

/// The lowest and the highest key.
pub fn ends<S: Score>(crew: Crew, scores: &[S]) -> [u64; 2] {
    let pieces = crew.map(Chunks(scores, ROWS), |_, scores| {
        scores.iter().fold([u64::MAX, 0], |[low, high], score| {
            let key = score.key();
            [low.min(key), high.max(key)]
        })
    });
    let both = |[a, b]: [u64; 2], [c, d]: [u64; 2]| [a.min(c), b.max(d)];
    pieces.into_iter().fold([u64::MAX, 0], both)
}

/// How keys are shared out. Cells are the values of the leading bits of what a key is above the lowest
/// one; parts are cells side by side, so many that their rows fit the cache together.
struct Plan {
    low: u64,
    shift: u32,
    part_of: Vec<u16>,
    /// The lowest key of each part.
    bases: Vec<u64>,
    /// For each stretch how many of its rows each part has.
    counts: Vec<Vec<usize>>,
}

/// A stretch of at most so many rows.
pub fn stretch(rows: usize) -> usize {
    if rows < WORTH_SHARING {
        rows.max(1)
    } else {
        rows.div_ceil(STRETCHES)
    }
}

impl Plan {
    fn of<S: Score>(crew: Crew, scores: &[S], [low, high]: [u64; 2]) -> Self {
        let rows = scores.len();
        let span = u64::BITS - (high - low).leading_zeros();
        let bits = (rows.max(2).ilog2().saturating_sub(4)).clamp(1, 16);
        let shift = span.saturating_sub(bits);
        let cells = 1 << bits;
        let seen = crew.map(Chunks(scores, stretch(rows)), |_, scores| {
            let mut seen = vec![0_u32; cells];
            for scores in scores.chunks(ROWS) {
                crew.check();
                for score in scores {
                    seen[((score.key() - low) >> shift) as usize] += 1;
                }
            }
            seen
        });
        // A part spans less than half of the cells, so that a key within it leaves a bit free.
        let (full, wide) = ((rows / 512).max(1 << 11), (cells / 2).max(1));
        let (mut part_of, mut bases) = (Vec::with_capacity(cells), Vec::new());
        let mut counts = vec![Vec::new(); seen.len()];
        let (mut inside, mut first) = (usize::MAX, 0);
        for cell in 0..cells {
            let here: usize = seen.iter().map(|seen| seen[cell] as usize).sum();
            if inside.saturating_add(here) > full || cell - first >= wide {
                (inside, first) = (0, cell);
                bases.push(low + ((cell as u64) << shift));
                for counts in &mut counts {
                    counts.push(0);
                }
            }
            inside += here;
            let part = bases.len() - 1;
            part_of.push(part as u16);
            for (counts, seen) in counts.iter_mut().zip(&seen) {
                counts[part] += seen[cell] as usize;
            }
        }
        Self {
            low,
            shift,
            part_of,
            bases,
            counts,
        }
    }

    /// The rows of each part, stretch by stretch, of a column that was scattered.
    fn cut<'a, T>(&self, column: &'a mut [T]) -> Vec<Vec<&'a mut [T]>> {
        let mut parts: Vec<_> = self.bases.iter().map(|_| Vec::new()).collect();
        let mut rest = column;
        for counts in &self.counts {
            for (part, &count) in parts.iter_mut().zip(counts) {
                let (here, others) = rest.split_at_mut(count);
                part.push(here);
                rest = others;
            }
        }
        parts
    }
}

/// The rows of scores between two others: what their keys are above the lowest one, and a bit below
/// that; and what goes with each row, if anything does. They stand in a slice for each stretch, each
/// of which goes on where the one before ends.
pub struct Part<'a, S: Score, L> {
    base: u64,
    keys: Vec<&'a mut [S::Held]>,
    pub loads: Vec<&'a mut [L]>,
    /// How many scores they have.
    pub distinct: usize,
}

impl<S: Score, L: Copy> Part<'_, S, L> {
    /// The rows in order: the key of each and its bit.
    pub fn rows(&self) -> impl Iterator<Item = (u64, bool)> {
        let keys = self.keys.iter().flat_map(|keys| keys.iter());
        keys.map(|key| (self.base + (key.get() >> 1), key.get() & 1 == 1))
    }

    /// What goes with them.
    pub fn loads(&self) -> impl Iterator<Item = L> {
        self.loads.iter().flat_map(|loads| loads.iter().copied())
    }

    /// The key, the bit and what goes with it of each row in order, which takes less time than to read
    /// the two side by side.
    pub fn each(&self, mut work: impl FnMut(u64, bool, L)) {
        for (keys, loads) in self.keys.iter().zip(&self.loads) {
            for (key, &load) in keys.iter().zip(loads.iter()) {
                work(self.base + (key.get() >> 1), key.get() & 1 == 1, load);
            }
        }
    }

    fn sort(&mut self, scratch: &mut Scratch<S::Held, L>) {
        let distinct = if self.loads.is_empty() {
            let Scratch { alone, spare, .. } = scratch;
            alone.clear();
            self.keys
                .iter()
                .for_each(|keys| alone.extend_from_slice(keys));
            sort(alone, spare, |held| held.get() >> 1);
            let mut from = &alone[..];
            for keys in &mut self.keys {
                let (here, others) = from.split_at(keys.len());
                keys.copy_from_slice(here);
                from = others;
            }
            differing(alone.iter().map(|held| held.get() >> 1))
        } else {
            let Scratch { laden, spared, .. } = scratch;
            laden.clear();
            for (keys, loads) in self.keys.iter().zip(&self.loads) {
                laden.extend(keys.iter().copied().zip(loads.iter().copied()));
            }
            sort(laden, spared, |(held, _)| held.get() >> 1);
            let mut from = laden.iter();
            for (keys, loads) in self.keys.iter_mut().zip(&mut self.loads) {
                for ((key, load), row) in keys.iter_mut().zip(loads.iter_mut()).zip(&mut from) {
                    (*key, *load) = *row;
                }
            }
            differing(laden.iter().map(|(held, _)| held.get() >> 1))
        };
        self.distinct = distinct;
    }
}

/// How many values an ordered column has.
fn differing(mut values: impl Iterator<Item = u64>) -> usize {
    let Some(mut before) = values.next() else {
        return 0;
    };
    values.fold(1, |distinct, value| {
        let differs = value != before;
        before = value;
        distinct + usize::from(differs)
    })
}

/// What parts are sorted in.
struct Scratch<H, L> {
    alone: Vec<H>,
    spare: Vec<H>,
    laden: Vec<(H, L)>,
    spared: Vec<(H, L)>,
}

/// The rows by descending score, those of equal score in their order, in parts that are to be read one
/// after the other. `bit` is what else a key says of its row, and `load` what goes with it; `keys` and
/// `loads` are written, the latter only where there is room.
pub fn descending<'a, S: Score, L: Copy + Send + Sync>(
    crew: Crew,
    scores: &[S],
    ends: [u64; 2],
    bit: impl Fn(usize) -> bool + Sync,
    load: impl Fn(usize) -> L + Sync,
    keys: &'a mut [S::Held],
    loads: &'a mut [L],
) -> Vec<Part<'a, S, L>> {
    if scores.is_empty() {
        return Vec::new();
    }
    let plan = Plan::of(crew, scores, ends);
    let step = stretch(scores.len());
    let laden = !loads.is_empty();
    // Where nothing goes with the rows, no stretch has room for it.
    let stretches = plan.counts.len();
    let mut rooms: Vec<&mut [L]> = if laden {
        loads.chunks_mut(step).collect()
    } else {
        (0..stretches).map(|_| &mut [][..]).collect()
    };
    crew.map(
        (
            (Chunks(&mut *keys, step), Chunks(&mut rooms[..], 1)),
            Chunks(scores, step),
        ),
        |place, ((keys, room), scores)| {
            let loads = &mut *room[0];
            let mut to: Vec<_> = plan.counts[place]
                .iter()
                .scan(0, |start, count| {
                    let here = *start;
                    *start += count;
                    Some(here)
                })
                .zip(&plan.bases)
                .collect();
            for (piece, scores) in scores.chunks(ROWS).enumerate() {
                crew.check();
                let first = place * step + piece * ROWS;
                for (row, score) in scores.iter().enumerate() {
                    let row = first + row;
                    let key = score.key();
                    let part = plan.part_of[((key - plan.low) >> plan.shift) as usize];
                    let (at, base) = &mut to[usize::from(part)];
                    keys[*at] = Held::of((key - **base) << 1 | u64::from(bit(row)));
                    if laden {
                        loads[*at] = load(row);
                    }
                    *at += 1;
                }
            }
        },
    );
    drop(rooms);
    let of_keys = plan.cut(keys);
    let mut of_loads = if laden { plan.cut(loads) } else { Vec::new() }.into_iter();
    let bases = plan.bases.iter();
    let mut parts: Vec<_> = bases
        .zip(of_keys)
        .map(|(&base, keys)| Part {
            base,
            keys,
            loads: of_loads.next().unwrap_or_default(),
            distinct: 0,
        })
        .collect();
    let scratch = || Scratch {
        alone: Vec::new(),
        spare: Vec::new(),
        laden: Vec::new(),
        spared: Vec::new(),
    };
    crew.map_with(Chunks(&mut parts[..], 1), scratch, |scratch, _, parts| {
        for part in parts {
            part.sort(scratch);
        }
    });
    parts
}

// ---------------------------------------------------------------------------------------- sorting

/// Up to so many rows are sorted by insertion.
const FEW: usize = 48;

/// Sorts rows by their keys, equal ones in their order: by the leading bits of what differs, enough of
/// them to tell almost all rows apart, and by insertion for the rest.
fn sort<E: Copy>(rows: &mut [E], spare: &mut Vec<E>, key: impl Fn(&E) -> u64) {
    if rows.len() <= FEW {
        insert(rows, &key, usize::MAX);
        return;
    }
    let ends = |[low, high]: [u64; 2], row| [key(row).min(low), key(row).max(high)];
    let [low, high] = rows.iter().fold([u64::MAX, 0], ends);
    let span = u64::BITS - (high - low).leading_zeros();
    let leading = (rows.len().ilog2() + 4).min(span);
    if span == 0 {
        return;
    }
    let shift = span - leading;
    let half = leading.div_ceil(2);
    spare.clear();
    spare.extend_from_slice(rows);
    let digit = |row: &E, shift: u32, bits: u32| ((key(row) - low) >> shift) & ((1 << bits) - 1);
    let first = |row: &E| digit(row, shift, half) as usize;
    let second = |row: &E| digit(row, shift + half, leading - half) as usize;
    scatter(rows, spare, half, first);
    scatter(spare, rows, leading - half, second);
    let moves = 8 * rows.len();
    if shift > 0 && !insert(rows, &key, moves) {
        rows.sort_by_key(key);
    }
}

/// Rows by a digit of so many bits, equal ones in their order.
fn scatter<E: Copy>(from: &[E], to: &mut [E], bits: u32, digit: impl Fn(&E) -> usize) {
    let mut starts = vec![0_u32; 1 << bits];
    for row in from {
        starts[digit(row)] += 1;
    }
    let mut start = 0;
    for here in &mut starts {
        start += std::mem::replace(here, start);
    }
    for row in from {
        let at = &mut starts[digit(row)];
        to[*at as usize] = *row;
        *at += 1;
    }
}

/// Sorts by insertion, unless that takes more moves than these; says whether it did.
fn insert<E: Copy>(rows: &mut [E], key: &impl Fn(&E) -> u64, moves: usize) -> bool {
    let mut left = moves;
    for end in 1..rows.len() {
        let row = rows[end];
        let mut at = end;
        while at > 0 && key(&rows[at - 1]) > key(&row) {
            rows[at] = rows[at - 1];
            at -= 1;
        }
        rows[at] = row;
        if end - at > left {
            return false;
        }
        left -= end - at;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::tested;
    use crate::random::Stream;

    fn keys_of<S: Score>(scores: &[S]) -> Vec<u64> {
        scores.iter().map(|score| score.key()).collect()
    }

    #[test]
    fn keys_descend_and_return() {
        let scores = [
            f64::MAX,
            1.5,
            1.0,
            f64::MIN_POSITIVE,
            0.0,
            -1e-300,
            -2.0,
            f64::MIN,
        ];
        let keys = keys_of(&scores);
        assert!(keys.is_sorted());
        let back: Vec<_> = keys.iter().map(|&key| f64::of_key(key)).collect();
        assert_eq!(back, scores);
        assert_eq!((-0.0_f64).key(), 0.0_f64.key());
        assert_eq!([keys[0], keys[7]], f64::ENDS);
        for odd in [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(odd.key() < f64::ENDS[0] || odd.key() > f64::ENDS[1]);
        }
        let scores = [
            f32::MAX,
            1.5,
            1.0,
            f32::MIN_POSITIVE,
            0.0,
            -1e-30,
            -2.0,
            f32::MIN,
        ];
        let keys = keys_of(&scores);
        assert!(keys.is_sorted());
        assert_eq!([keys[0], keys[7]], f32::ENDS);
        let back: Vec<_> = keys.iter().map(|&key| f32::of_key(key)).collect();
        assert_eq!(back, scores.map(f64::from));
        for odd in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(odd.key() < f32::ENDS[0] || odd.key() > f32::ENDS[1]);
        }
    }

    /// The rows as they are put in order, by reading the parts.
    fn ordered<S: Score>(scores: &[S]) -> (Vec<u64>, Vec<bool>, Vec<u32>, usize) {
        let mut keys = vec![S::Held::default(); scores.len()];
        let mut loads = vec![0_u32; scores.len()];
        tested(|crew| {
            let ends = ends(crew, scores);
            let odd = |row: usize| row % 2 == 1;
            let row = |row: usize| row as u32;
            let parts = descending(crew, scores, ends, odd, row, &mut keys, &mut loads);
            let rows = || parts.iter().flat_map(Part::rows);
            (
                rows().map(|(key, _)| key).collect(),
                rows().map(|(_, bit)| bit).collect(),
                parts.iter().flat_map(Part::loads).collect(),
                parts.iter().map(|part| part.distinct).sum(),
            )
        })
    }

    fn check<S: Score>(scores: &[S]) {
        let mut expected: Vec<u32> = (0..scores.len() as u32).collect();
        expected.sort_by_key(|&row| scores[row as usize].key());
        let (keys, bits, rows, distinct) = ordered(scores);
        assert!(rows == expected);
        assert!(
            bits.iter()
                .zip(&rows)
                .all(|(&bit, row)| bit == (row % 2 == 1))
        );
        assert!(
            keys.iter()
                .zip(&rows)
                .all(|(&key, &row)| key == scores[row as usize].key())
        );
        let mut all = keys.clone();
        all.dedup();
        assert_eq!(distinct, all.len());
        // The same without a load.
        let mut held = vec![S::Held::default(); scores.len()];
        tested(|crew| {
            let ends = ends(crew, scores);
            let load = |_| ();
            let parts = descending(crew, scores, ends, |_| true, load, &mut held, &mut []);
            assert!(
                parts
                    .iter()
                    .flat_map(Part::rows)
                    .map(|(key, _)| key)
                    .eq(keys)
            );
        });
    }

    #[test]
    fn rows_come_in_order_whatever_their_scores() {
        let stream = Stream::new(7, 0);
        for rows in [1, 2, 3, 40, 1000, 70_000] {
            let uniform = |at: usize| stream.below(at as u64, 1 << 30) as f64 / f64::from(1 << 30);
            let wide = |at: usize| f64::from_bits(stream.word(at as u64)).clamp(-1e308, 1e308);
            let kinds: [&dyn Fn(usize) -> f64; 9] = [
                &uniform,
                &|at| (uniform(at) * 9.0).round(),
                &|_| 0.5,
                &|at| at as f64,
                &|at| -(at as f64),
                // Almost all between two that are far apart, so that one part has them all.
                &|at| {
                    if at < 2 {
                        [f64::MAX, f64::MIN][at]
                    } else {
                        1.0 + uniform(at) * 1e-9
                    }
                },
                // Heaps within heaps.
                &|at| 1.0 + (uniform(at) * 60.0 - 61.0).exp2(),
                &|at| if wide(at).is_nan() { -0.0 } else { wide(at) },
                &|at| [0.0, -0.0][at % 2],
            ];
            for kind in kinds {
                let scores: Vec<_> = (0..rows).map(kind).collect();
                check(&scores);
                let narrow: Vec<_> = scores
                    .iter()
                    .map(|&score| (score as f32).clamp(f32::MIN, f32::MAX))
                    .collect();
                check(&narrow);
            }
        }
        check::<f64>(&[]);
    }
}
