//! Random numbers that are a pure function of (seed, replicate, index), so that a replicate is the
//! same whatever the number of threads, the order of the work or the machine.

use std::ops::Range;

/// 2^64 over the golden ratio: the step by which `SplitMix64` walks through its states.
pub const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The words of one replicate, each of them reachable without the ones before it.
#[derive(Clone, Copy)]
pub struct Stream(u64);

impl Stream {
    pub fn new(seed: u64, replicate: usize) -> Self {
        Self(Self(seed).word(replicate as u64))
    }

    pub const fn from_state(state: u64) -> Self {
        Self(state)
    }

    /// The `index`-th output of `SplitMix64` (Steele, Lea & Flood 2014) from this stream's state.
    #[inline]
    pub fn word(self, index: u64) -> u64 {
        let state = self
            .0
            .wrapping_add(index.wrapping_add(1).wrapping_mul(STEP));
        let state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        state ^ (state >> 31)
    }

    /// A number below `bound`; the multiplication favours none by more than `bound` / 2^64.
    #[inline]
    pub fn below(self, index: u64, bound: usize) -> usize {
        ((u128::from(self.word(index)) * bound as u128) >> 64) as usize
    }

    /// How often the bootstrap draws `unit`. One word serves two neighbouring units.
    #[inline]
    pub fn poisson(self, unit: u64) -> u8 {
        poisson((self.word(unit >> 1) >> (32 * (unit & 1))) as u32)
    }

    /// `poisson` of `first`, `first + 1`, …, each word computed once.
    #[inline]
    pub fn poisson_run(self, first: usize, counts: &mut [u8]) {
        let odd = (first % 2).min(counts.len());
        let (odd, counts) = counts.split_at_mut(odd);
        for count in odd {
            *count = self.poisson(first as u64);
        }
        let mut pairs = counts.chunks_exact_mut(2);
        let mut index = first.div_ceil(2) as u64;
        for pair in &mut pairs {
            let word = self.word(index);
            pair[0] = poisson(word as u32);
            pair[1] = poisson((word >> 32) as u32);
            index += 1;
        }
        if let [odd] = pairs.into_remainder() {
            *odd = poisson(self.word(index) as u32);
        }
    }
}

/// Poisson counts of any whole mean, as sums of those of powers of two.
pub struct PoissonSums(Vec<Counts>);

/// Means above 2^12 are sums of several of these.
const LARGEST_POWER: u32 = 12;

impl Default for PoissonSums {
    fn default() -> Self {
        let powers = 0..=LARGEST_POWER;
        Self(
            powers
                .map(|power| Counts::new(f64::from(1_u32 << power), GUIDE_BITS))
                .collect(),
        )
    }
}

impl PoissonSums {
    /// A count of this mean, by 32 bits for each power of two that the mean is the sum of.
    pub fn draw(&self, mean: usize, mut bits: impl FnMut() -> u32) -> u64 {
        let largest = &self.0[LARGEST_POWER as usize];
        let whole = (0..mean >> LARGEST_POWER).map(|_| largest.of(bits())).sum();
        let mut rest = mean & ((1 << LARGEST_POWER) - 1);
        let mut sum: u64 = whole;
        while rest > 0 {
            sum += self.0[rest.trailing_zeros() as usize].of(bits());
            rest &= rest - 1;
        }
        sum
    }
}

/// Below this mean a count has a table of its own, which takes one number instead of several.
const LARGEST_OWN_MEAN: usize = 256;
const OWN_GUIDE_BITS: u32 = 7;

/// Poisson counts of several means.
pub struct PoissonCounts {
    sums: PoissonSums,
    /// The multiple of `LARGEST_OWN_MEAN` in each mean, and the counts of the rest.
    means: Vec<(usize, Counts)>,
}

impl PoissonCounts {
    pub fn new(means: impl Iterator<Item = f64>) -> Self {
        let split = |mean: f64| {
            let whole = mean as usize / LARGEST_OWN_MEAN * LARGEST_OWN_MEAN;
            (whole, Counts::new(mean - whole as f64, OWN_GUIDE_BITS))
        };
        Self {
            sums: PoissonSums::default(),
            means: means.map(split).collect(),
        }
    }

    /// How many means there are.
    pub fn means(&self) -> usize {
        self.means.len()
    }

    /// A count of each mean in some replicates, one after the other, in streams apart from those of
    /// rows and of their totals. Mean by mean, so that its table stays in the first-level cache.
    pub fn draw(&self, seed: u64, replicates: Range<usize>, out: &mut [f64]) {
        let streams: Vec<_> = replicates
            .map(|replicate| Self::stream(seed, replicate))
            .collect();
        let columns = self.means.len();
        for (at, (whole, rest)) in self.means.iter().enumerate() {
            let index = at as u64;
            for (stream, row) in streams.iter().zip(out.chunks_exact_mut(columns)) {
                let bits = (stream.word(index >> 1) >> (32 * (index & 1))) as u32;
                let mut count = rest.of(bits);
                if *whole > 0 {
                    let more = Stream::from_state(stream.word(u64::MAX - index));
                    let mut index = 0;
                    count += self.sums.draw(*whole, || {
                        index += 1;
                        more.word(index) as u32
                    });
                }
                row[at] = count as f64;
            }
        }
    }

    fn stream(seed: u64, replicate: usize) -> Stream {
        Stream::new(Stream::new(seed, replicate).word(u64::MAX - 1), 0)
    }
}

/// Of the counts of one mean the shares of the 32-bit numbers, as `THRESHOLDS` and `GUIDE` have them
/// of mean one.
struct Counts {
    first: u64,
    thresholds: Vec<u64>,
    guide: Vec<u16>,
    guide_shift: u32,
}

impl Counts {
    fn new(mean: f64, guide_bits: u32) -> Self {
        // From the mode on both sides, relative to its probability, until nothing is added.
        let mode = mean.floor();
        let mut below = Vec::new();
        let (mut count, mut probability) = (mode, 1.0);
        while count > 0.0 && probability > 1e-18 {
            probability *= count / mean;
            count -= 1.0;
            below.push(probability);
        }
        let first = count as u64;
        let mut probabilities: Vec<f64> = below.into_iter().rev().collect();
        let (mut count, mut probability) = (mode, 1.0);
        while probability > 1e-18 {
            probabilities.push(probability);
            count += 1.0;
            probability *= mean / count;
        }
        let total: f64 = probabilities.iter().sum();
        let mut sum = 0.0;
        let mut thresholds: Vec<u64> = probabilities
            .iter()
            .map(|probability| {
                sum += probability;
                (sum / total * 4_294_967_296.0 + 0.5) as u64
            })
            .collect();
        // Rounding leaves no number beyond the last threshold.
        *thresholds.last_mut().expect("the mode at least") = 1 << 32;
        let guide_shift = 32 - guide_bits;
        let mut count = 0;
        let guide = (0..1_u64 << guide_bits)
            .map(|cell| {
                while thresholds[count] <= cell << guide_shift {
                    count += 1;
                }
                count as u16
            })
            .collect();
        Self {
            first,
            thresholds,
            guide,
            guide_shift,
        }
    }

    #[inline]
    fn of(&self, bits: u32) -> u64 {
        let mut count = usize::from(self.guide[(bits >> self.guide_shift) as usize]);
        while u64::from(bits) >= self.thresholds[count] {
            count += 1;
        }
        self.first + count as u64
    }
}

/// `THRESHOLDS[k]` is P(X ≤ k)·2^32 for X ~ Poisson(1), rounded; no 32 bits reach a count of 13.
const THRESHOLDS: [u64; 13] = thresholds();
const GUIDE_BITS: u32 = 12;
/// The count at the lower end of each of 2^12 equal cells of the 32-bit numbers.
const GUIDE: [u8; 1 << GUIDE_BITS] = guide();

/// The Poisson(1) count whose share of the 32-bit numbers `bits` falls in (Chen & Asau 1974).
/// All but a few cells of the guide hold no threshold, so the loop hardly ever turns.
#[inline]
fn poisson(bits: u32) -> u8 {
    let mut count = GUIDE[(bits >> (32 - GUIDE_BITS)) as usize];
    while u64::from(bits) >= THRESHOLDS[usize::from(count)] {
        count += 1;
    }
    count
}

const fn thresholds() -> [u64; 13] {
    let mut thresholds = [0; 13];
    let mut probability = 0.367_879_441_171_442_33; // e^-1
    let mut cumulative = 0.0;
    let mut count = 0;
    while count < thresholds.len() {
        cumulative += probability;
        thresholds[count] = (cumulative * 4_294_967_296.0 + 0.5) as u64;
        count += 1;
        probability /= count as f64;
    }
    thresholds
}

const fn guide() -> [u8; 1 << GUIDE_BITS] {
    let mut guide = [0; 1 << GUIDE_BITS];
    let mut cell = 0;
    let mut count = 0;
    while cell < guide.len() {
        while (cell as u64) << (32 - GUIDE_BITS) >= THRESHOLDS[count] {
            count += 1;
        }
        guide[cell] = count as u8;
        cell += 1;
    }
    guide
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_splitmix64() {
        // The first outputs of the reference implementation from state 0.
        let stream = Stream(0);
        assert_eq!(stream.word(0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(stream.word(1), 0x6E78_9E6A_A1B9_65F4);
    }

    #[test]
    fn thresholds_end_at_two_to_the_32() {
        assert_eq!(THRESHOLDS[0], 1_580_030_169);
        assert_eq!(THRESHOLDS[11], (1 << 32) - 4);
        assert_eq!(THRESHOLDS[12], 1 << 32);
    }

    #[test]
    fn counts_change_exactly_at_the_thresholds() {
        for (count, &threshold) in (0u8..).zip(&THRESHOLDS[..12]) {
            assert_eq!(poisson(threshold as u32 - 1), count);
            assert_eq!(poisson(threshold as u32), count + 1);
        }
        assert_eq!(poisson(0), 0);
        assert_eq!(poisson(u32::MAX), 12);
    }

    #[test]
    fn a_run_is_the_single_draws() {
        let stream = Stream::new(7, 3);
        let mut counts = [0; 101];
        for first in [10, 11] {
            stream.poisson_run(first, &mut counts);
            for (unit, &count) in (first as u64..).zip(&counts) {
                assert_eq!(count, stream.poisson(unit));
            }
        }
    }

    #[test]
    fn sums_of_mean_one_are_single_counts() {
        let counts = Counts::new(1.0, GUIDE_BITS);
        assert_eq!(counts.first, 0);
        assert_eq!(counts.thresholds[..12], THRESHOLDS[..12]);
    }

    #[test]
    fn sums_have_the_mean_and_the_variance_of_their_size() {
        let sums = PoissonSums::default();
        let stream = Stream::new(5, 1);
        let mut index = 0;
        let mut bits = || {
            index += 1;
            stream.word(index) as u32
        };
        for mean in [0, 1, 7, 256, 1000, 10_000] {
            let draws: Vec<f64> = (0..20_000)
                .map(|_| sums.draw(mean, &mut bits) as f64)
                .collect();
            let size = mean as f64;
            let average = draws.iter().sum::<f64>() / 2e4;
            let variance = draws.iter().map(|x| (x - size).powi(2)).sum::<f64>() / 2e4;
            assert!((average - size).abs() <= 5.0 * (size / 2e4).sqrt());
            assert!((variance - size).abs() <= 0.06 * size);
        }
    }

    #[test]
    fn counts_of_any_mean_have_its_moments() {
        let means = [0.0, 1e-3, 0.4, 1.0, 17.3, 255.9, 256.0, 700.5, 9000.25];
        let counts = PoissonCounts::new(means.into_iter());
        let mut draws = vec![0.0; 9 * 20_000];
        for (piece, draws) in draws.chunks_mut(9 * 100).enumerate() {
            counts.draw(5, 100 * piece..100 * (piece + 1), draws);
        }
        let draws: Vec<_> = draws.chunks(9).collect();
        for (at, mean) in means.into_iter().enumerate() {
            let average = draws.iter().map(|draw| draw[at]).sum::<f64>() / 2e4;
            let squares = draws.iter().map(|draw| (draw[at] - mean).powi(2));
            let variance = squares.sum::<f64>() / 2e4;
            assert!((average - mean).abs() <= 5.0 * (mean / 2e4).sqrt());
            assert!((variance - mean).abs() <= 0.06 * mean + 1e-3);
        }
    }

    #[test]
    fn below_stays_below() {
        let stream = Stream::new(1, 2);
        let mut seen = [0; 7];
        (0..7000).for_each(|index| seen[stream.below(index, 7)] += 1);
        assert!(seen.iter().all(|&count| (850..1150).contains(&count)));
    }
}
