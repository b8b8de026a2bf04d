//! Tests by randomization. What a replicate draws depends on the seed, its own number and the place
//! of the unit, and counts are whole numbers, so any number of threads finds the same.

#![allow(clippy::inline_always)] // only so do loops become vectors of the width that is found

use std::array::from_fn;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{Matrix, filled};
use crate::parallel::{Chunks, Crew, detached};
use crate::random::Stream;
use crate::resample::{Values, rows_of};
use crate::scores::{contiguous, same_length};

/// What rounding may take from a sum, as a share of the sum of the absolute values.
const ROUNDING: f64 = 1e-12;

/// When a sum under other signs is as extreme as the sum itself.
#[derive(Clone, Copy)]
pub enum Tail {
    /// As far from 0.
    Both,
    /// As large.
    Upper,
}

impl Tail {
    fn of(self, sum: f64) -> f64 {
        match self {
            Self::Both => sum.abs(),
            Self::Upper => sum,
        }
    }
}

/// Per column the sum less what rounding may take: from here on a sum is as extreme.
fn extremes(table: Values, tail: Tail) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); table.columns];
    for row in table.rows() {
        for (value, (sum, absolute)) in row.iter().zip(&mut sums) {
            *sum += value;
            *absolute += value.abs();
        }
    }
    sums.into_iter()
        .map(|(sum, absolute): (f64, f64)| tail.of(sum) - ROUNDING * absolute)
        .collect()
}

// ---------------------------------------------------------------------------------- random signs

/// Columns that are summed side by side.
const LANES: usize = 8;
/// Units whose signed sums stand in one table.
const BITS: usize = 8;
/// Units that one word of randomness serves.
const WORD: usize = u64::BITS as usize;
/// Replicates that share the tables: many, as these must be made; few, as their sums stay in cache.
const CHUNK: usize = 2048;

type Lanes = [f64; LANES];

/// Per column the replicates whose sum, with random signs, is at least as extreme as the sum.
pub fn count_extreme(
    crew: Crew,
    table: Values,
    tail: Tail,
    seed: u64,
    replicates: usize,
) -> Vec<i64> {
    let extremes = extremes(table, tail);
    let chunks = replicates.div_ceil(CHUNK);
    let count = |first: usize, chunk: usize| {
        let drawn = chunk * CHUNK..replicates.min((chunk + 1) * CHUNK);
        let streams: Vec<_> = drawn.map(|at| Stream::new(seed, at)).collect();
        let mut counts = [0; LANES];
        for sum in random_sums(crew, table, first, &streams) {
            for ((count, sum), extreme) in counts.iter_mut().zip(sum).zip(&extremes[first..]) {
                *count += i64::from(tail.of(sum) >= *extreme);
            }
        }
        counts
    };
    let sum = |left: [i64; LANES], right: [i64; LANES]| from_fn(|lane| left[lane] + right[lane]);
    let blocks = crew.map(0..table.columns.div_ceil(LANES), |_, block| {
        crew.reduce(
            0..chunks,
            [0; LANES],
            |chunk| count(block * LANES, chunk),
            sum,
        )
    });
    let mut counts = blocks.concat();
    counts.truncate(table.columns);
    counts
}

/// Per replicate the sums of some columns under its signs: one bit a unit, the same for all columns.
fn random_sums(crew: Crew, table: Values, first: usize, streams: &[Stream]) -> Vec<Lanes> {
    let mut sums = vec![[0.0; LANES]; streams.len()];
    let mut words = vec![0; streams.len()];
    let mut signed = vec![[0.0; LANES]; 1 << BITS];
    for (index, units) in (0..).zip(table.values.chunks(WORD * table.columns)) {
        crew.check();
        for (word, stream) in words.iter_mut().zip(streams) {
            *word = stream.word(index);
        }
        for units in units.chunks(BITS * table.columns) {
            fill_signed_sums(units.chunks_exact(table.columns), first, &mut signed);
            for (sum, word) in sums.iter_mut().zip(&mut words) {
                let signed = &signed[*word as usize % (1 << BITS)];
                *word >>= BITS;
                for (sum, part) in sum.iter_mut().zip(signed) {
                    *sum += part;
                }
            }
        }
    }
    sums
}

/// The sums of a few units under each pattern of signs, a set bit for minus. Of fewer than `BITS`
/// units the patterns repeat.
fn fill_signed_sums<'a>(
    units: impl Iterator<Item = &'a [f64]>,
    first: usize,
    signed: &mut [Lanes],
) {
    signed[0] = [0.0; LANES];
    let mut made = 1;
    for unit in units {
        let mut values = [0.0; LANES];
        values
            .iter_mut()
            .zip(&unit[first..])
            .for_each(|(to, &from)| *to = from);
        let (plus, minus) = signed[..2 * made].split_at_mut(made);
        for (plus, minus) in plus.iter_mut().zip(minus) {
            for ((plus, minus), value) in plus.iter_mut().zip(minus).zip(values) {
                *minus = *plus - value;
                *plus += value;
            }
        }
        made *= 2;
    }
    while made < signed.len() {
        signed.copy_within(..made, made);
        made *= 2;
    }
}

// ------------------------------------------------------------------------------------- all signs

pub const EXACT_UNITS: usize = 30;

/// Per column the sign patterns, of all 2^n, whose sum is at least as extreme as the sum.
pub fn count_extreme_exactly(crew: Crew, table: Values, tail: Tail) -> Vec<i64> {
    let column = |column| -> Vec<_> { table.rows().map(|row| row[column]).collect() };
    let extremes = extremes(table, tail);
    crew.map(0..table.columns, |_, at| {
        patterns_beyond(crew, &column(at), extremes[at], tail)
    })
}

/// Sums of the two halves of the units, 2^15 at most each, are enough to count all their sums.
fn patterns_beyond(crew: Crew, differences: &[f64], extreme: f64, tail: Tail) -> i64 {
    let (left, right) = differences.split_at(differences.len() / 2);
    let (left, right) = (signed_sums(left), signed_sums(right));
    let short = |sum: &f64| right.partition_point(|other| sum + other < extreme);
    let beyond = |sum: &f64| i64::from((right.len() - short(sum)) as u32);
    let counted = || crew.watched(left.iter()).map(beyond).sum::<i64>();
    match tail {
        Tail::Upper => counted(),
        Tail::Both if extreme <= 0.0 => 1 << differences.len(),
        // A pattern and its opposite are equally extreme.
        Tail::Both => 2 * counted(),
    }
}

/// The sums under all patterns of signs, ascending.
fn signed_sums(differences: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0];
    for difference in differences {
        sums = sums
            .iter()
            .flat_map(|sum| [sum + difference, sum - difference])
            .collect();
    }
    sums.sort_unstable_by(f64::total_cmp);
    sums
}

// -------------------------------------------------------------------------------- many systems

/// Per replicate and measure the largest less the smallest sum over the systems, where each unit's
/// values have been dealt out to the systems anew. A row of the table has all measures of the first
/// system, then all of the second, …. Without a seed the replicates are the first of all deals, which
/// are (systems!)^units.
pub fn dealt_ranges(
    crew: Crew,
    table: Values,
    systems: usize,
    seed: Option<u64>,
    ranges: &mut [f64],
) {
    let measures = table.columns / systems.max(1);
    crew.map_with(
        Chunks(ranges, measures),
        || (vec![0.0; table.columns], vec![0; systems]),
        |(sums, dealt), replicate, ranges| {
            sums.fill(0.0);
            deal(crew, table, seed, replicate, dealt, |dealt, row| {
                for (&system, values) in dealt.iter().zip(row.chunks_exact(measures)) {
                    let sums = &mut sums[system * measures..][..measures];
                    sums.iter_mut()
                        .zip(values)
                        .for_each(|(sum, value)| *sum += value);
                }
            });
            for (measure, range) in ranges.iter_mut().enumerate() {
                let of_measure = || sums[measure..].iter().step_by(measures).copied();
                let highest = of_measure().fold(f64::NEG_INFINITY, f64::max);
                *range = highest - of_measure().fold(f64::INFINITY, f64::min);
            }
        },
    );
}

/// So many units are held before squared differences are added up, and added at once.
const HELD: usize = 8;
const AT_ONCE: usize = 8;
/// So many largest numbers are kept side by side.
const SIDES: usize = 4;

/// The largest studentised differences of systems.
pub struct Studentised<'a> {
    pub systems: usize,
    /// Pairs with this system alone, if any; else all pairs, the later less the earlier.
    pub baseline: Option<usize>,
    /// How many units count, of each measure.
    pub units: &'a [f64],
    /// What the values of each unit (rows) and measure have been multiplied by, 1 on average over
    /// the units that count; empty where that is 1.
    pub scales: &'a [f64],
    /// The mean square of these, of each measure: how many units there are to one of Kish's.
    pub heavy: &'a [f64],
    /// This share of the mean variance of a measure's differences is added to each variance.
    pub floor: f64,
}

impl Studentised<'_> {
    /// The systems that one is subtracted from.
    fn others(&self, system: usize) -> std::ops::Range<usize> {
        match self.baseline {
            Some(baseline) if baseline == system => 0..self.systems,
            Some(_) => 0..0,
            None => system + 1..self.systems,
        }
    }

    /// Adds the squared differences of the pairs on some units to them, one unit after another: of
    /// each measure the pairs of the first system, then of the second, …. A row of `held` is a unit.
    fn add_squares(&self, squares: &mut [f64], held: &[f64]) {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx2")]
            fn wide(of: &Studentised, squares: &mut [f64], held: &[f64]) {
                of.add(squares, held);
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the machine has what the function asks for.
                return unsafe { wide(self, squares, held) };
            }
        }
        self.add(squares, held);
    }

    #[inline(always)] // so that it is compiled for wide vectors too
    #[allow(clippy::inline_always)]
    fn add(&self, squares: &mut [f64], held: &[f64]) {
        let columns = self.systems * self.units.len();
        let of_systems = squares.chunks_exact_mut(self.systems);
        for (place, squares) in of_systems.enumerate() {
            let (others, first) = (self.others(place % self.systems), place / self.systems);
            let squares = &mut squares[others.clone()];
            let of_others = first * self.systems + others.start;
            // Several units at once, so that a sum is fetched and put back once for all of them.
            let mut blocks = held.chunks_exact(AT_ONCE * columns);
            for block in &mut blocks {
                let row = |k: usize| &block[k * columns..][..columns];
                let mine: [f64; AT_ONCE] = std::array::from_fn(|k| row(k)[place]);
                let rows: [&[f64]; AT_ONCE] =
                    std::array::from_fn(|k| &row(k)[of_others..][..squares.len()]);
                for (at, square) in squares.iter_mut().enumerate() {
                    *square = (0..AT_ONCE).fold(*square, |sum, k| {
                        let apart = rows[k][at] - mine[k];
                        sum + apart * apart
                    });
                }
            }
            for row in blocks.remainder().chunks_exact(columns) {
                for (square, other) in squares.iter_mut().zip(&row[of_others..]) {
                    *square += (other - row[place]) * (other - row[place]);
                }
            }
        }
    }

    /// Of one measure the largest |t|, t and −t, from the sums of the systems, the same of values
    /// scaled once more, and of the squared differences of each pair. Σk²(d − D)² of differences d
    /// whose Σkd/Σk is D opens into these. `variances` is room for all pairs.
    #[inline(always)] // so that it is compiled for wide vectors too
    #[allow(clippy::inline_always)]
    fn largest(
        &self,
        measure: usize,
        sums: &[f64],
        again: &[f64],
        squares: &[f64],
        variances: &mut [f64],
    ) -> [f64; 3] {
        let (units, heavy) = (self.units[measure], self.heavy[measure]);
        let (all, side) = (measure * self.systems, self.systems);
        let (sums, again) = (&sums[all..][..side], &again[all..][..side]);
        let squares = &squares[all * side..][..side * side];
        let (mut total, mut number) = (0.0, 0.0);
        for system in 0..side {
            let others = self.others(system);
            let variances = &mut variances[system * side..][others.clone()];
            let of_others = sums[others.clone()].iter().zip(&again[others.clone()]);
            let of_others = of_others.zip(&squares[system * side..][others.clone()]);
            for (variance, ((sum, more), square)) in variances.iter_mut().zip(of_others) {
                let square = square / units;
                let cross = (more - again[system]) / units;
                let apart = (sum - sums[system]) / units;
                // What rounding leaves of a variance that is none is the same in every deal.
                let left = (square - apart * (2.0 * cross - heavy * apart)).max(ROUNDING * square);
                *variance = left / (units - heavy);
            }
            for (other, variance) in others.zip(variances) {
                if other != system {
                    (total, number) = (total + *variance, number + 1.0);
                }
            }
        }
        let added = self.floor * (total / number);
        // Of four places at once, as each of them waits for the last.
        let (mut high, mut low) = ([f64::NEG_INFINITY; SIDES], [f64::INFINITY; SIDES]);
        for system in 0..side {
            let others = self.others(system);
            let own = system.wrapping_sub(others.start);
            let variances = &mut variances[system * side..][others.clone()];
            for (variance, sum) in variances.iter_mut().zip(&sums[others]) {
                let (apart, own) = ((sum - sums[system]) / units, *variance + added);
                *variance = if own > 0.0 { apart / own.sqrt() } else { 0.0 };
            }
            if let Some(none) = variances.get_mut(own) {
                *none = f64::NAN; // a system less itself is no pair: nothing is above or below this
            }
            for of in variances.chunks(SIDES) {
                for ((high, low), &t) in high.iter_mut().zip(&mut low).zip(of) {
                    *high = if t > *high { t } else { *high };
                    *low = if t < *low { t } else { *low };
                }
            }
        }
        let (high, low) = (
            high.into_iter().fold(f64::NEG_INFINITY, f64::max),
            low.into_iter().fold(f64::INFINITY, f64::min),
        );
        [high.max(-low).max(0.0), high, -low]
    }

    /// Of each measure the largest, in the widest vectors that the machine has.
    fn all_largest(
        &self,
        [sums, again, squares]: [&[f64]; 3],
        variances: &mut [f64],
        maxima: &mut [f64],
    ) {
        #[inline(always)]
        #[allow(clippy::inline_always)]
        fn each(
            of: &Studentised,
            [sums, again, squares]: [&[f64]; 3],
            variances: &mut [f64],
            maxima: &mut [f64],
        ) {
            for (measure, maxima) in maxima.chunks_exact_mut(3).enumerate() {
                maxima.copy_from_slice(&of.largest(measure, sums, again, squares, variances));
            }
        }
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx2")]
            fn wide(
                of: &Studentised,
                from: [&[f64]; 3],
                variances: &mut [f64],
                maxima: &mut [f64],
            ) {
                each(of, from, variances, maxima);
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the machine has what the function asks for.
                return unsafe { wide(self, [sums, again, squares], variances, maxima) };
            }
        }
        each(self, [sums, again, squares], variances, maxima);
    }
}

/// Per replicate the largest studentised differences of all measures, where each unit's values have
/// been dealt out to the systems anew; the table is that of `dealt_ranges`.
pub fn dealt_maxima(
    crew: Crew,
    table: Values,
    of: &Studentised,
    seed: Option<u64>,
    maxima: &mut [f64],
) {
    let (systems, measures) = (of.systems, of.units.len());
    // Values are put down measure by measure, so that those of a measure are side by side.
    let put = |unit: &mut [f64], dealt: &[usize], row: &[f64]| {
        for (&system, values) in dealt.iter().zip(row.chunks_exact(measures)) {
            for (measure, value) in values.iter().enumerate() {
                unit[measure * systems + system] = *value;
            }
        }
    };
    let none = || vec![0.0; table.columns];
    // Two systems are as far apart on a unit however its values are dealt.
    let always = (systems == 2).then(|| {
        let (mut squares, mut unit) = (vec![0.0; table.columns * systems], none());
        for row in table.rows() {
            put(&mut unit, &[0, 1], row);
            of.add_squares(&mut squares, &unit);
        }
        squares
    });
    let room = || {
        let squares = vec![0.0; table.columns * systems];
        let squares = always.clone().unwrap_or(squares);
        let held = vec![0.0; table.columns * HELD];
        let variances = vec![0.0; systems * systems];
        (none(), none(), squares, held, variances, vec![0; systems])
    };
    crew.map_with(
        Chunks(maxima, 3 * measures),
        room,
        |(sums, again, squares, held, variances, dealt), replicate, maxima| {
            sums.fill(0.0);
            again.fill(0.0);
            if always.is_none() {
                squares.fill(0.0);
            }
            let mut scales = of.scales.chunks_exact(measures);
            let mut number = 0;
            deal(crew, table, seed, replicate, dealt, |dealt, row| {
                let unit = &mut held[number * table.columns..][..table.columns];
                put(unit, dealt, row);
                for (sum, value) in sums.iter_mut().zip(&*unit) {
                    *sum += value;
                }
                if let Some(scales) = scales.next() {
                    let of_measures = again.chunks_exact_mut(systems);
                    let of_measures = of_measures.zip(unit.chunks_exact(systems)).zip(scales);
                    for ((again, unit), scale) in of_measures {
                        for (sum, value) in again.iter_mut().zip(unit) {
                            *sum += scale * value;
                        }
                    }
                }
                number += 1;
                if number == HELD {
                    number = 0;
                    if always.is_none() {
                        of.add_squares(squares, held);
                    }
                }
            });
            if always.is_none() {
                of.add_squares(squares, &held[..number * table.columns]);
            }
            let again = if of.scales.is_empty() {
                &*sums
            } else {
                &*again
            };
            of.all_largest([sums, again, squares], variances, maxima);
        },
    );
}

/// Goes over the units of the table with the system that each place of them is dealt to: at random,
/// or as the number of the replicate says.
fn deal(
    crew: Crew,
    table: Values,
    seed: Option<u64>,
    replicate: usize,
    dealt: &mut [usize],
    mut each: impl FnMut(&[usize], &[f64]),
) {
    let (stream, mut index, mut rest) = (
        seed.map(|seed| Stream::new(seed, replicate)),
        0..,
        replicate,
    );
    let mut below = |bound| {
        if let Some(stream) = &stream {
            return stream.below(index.next().unwrap_or(0), bound);
        }
        let digit = rest % bound;
        rest /= bound;
        digit
    };
    for row in table.rows() {
        crew.check();
        // Fisher and Yates's shuffle, from the inside out.
        for system in 0..dealt.len() {
            let place = below(system + 1);
            dealt[system] = dealt[place];
            dealt[place] = system;
        }
        each(dealt, row);
    }
}

// ------------------------------------------------------------------------------ normal differences

/// Draws that are worked on together: their rows, of many systems and measures, stay in cache.
const TOGETHER: usize = 128;

/// A test: the row of draws that it is of, or less which other row, and its factor.
#[derive(Clone, Copy)]
struct Scaled {
    first: usize,
    second: Option<usize>,
    scale: f64,
}

/// Per draw the largest value of all tests, then the largest of their negatives; a row of draws is a
/// number that the tests are made of.
fn largest_of_tests(crew: Crew, draws: &[f64], tests: &[Scaled], maxima: &mut [f64]) {
    #[inline(always)]
    fn each(draws: &[f64], number: usize, at: usize, tests: &[Scaled], held: [&mut [f64]; 2]) {
        let [above, below] = held;
        let many = above.len();
        let row = |row: usize| &draws[row * number + at..][..many];
        for test in tests {
            let (first, scale) = (row(test.first), test.scale);
            if let Some(second) = test.second {
                let pairs = first.iter().zip(row(second));
                for ((above, below), (a, b)) in above.iter_mut().zip(&mut *below).zip(pairs) {
                    let z = scale * (a - b);
                    *above = if z > *above { z } else { *above };
                    *below = if -z > *below { -z } else { *below };
                }
            } else {
                for ((above, below), a) in above.iter_mut().zip(&mut *below).zip(first) {
                    let z = scale * a;
                    *above = if z > *above { z } else { *above };
                    *below = if -z > *below { -z } else { *below };
                }
            }
        }
    }
    let number = maxima.len() / 2;
    maxima.fill(f64::NEG_INFINITY);
    let (above, below) = maxima.split_at_mut(number);
    let held = above.chunks_mut(TOGETHER).zip(below.chunks_mut(TOGETHER));
    for (block, (above, below)) in held.enumerate() {
        crew.check();
        let at = block * TOGETHER;
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx2")]
            fn wide(
                draws: &[f64],
                number: usize,
                at: usize,
                tests: &[Scaled],
                held: [&mut [f64]; 2],
            ) {
                each(draws, number, at, tests, held);
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the machine has what the function asks for.
                unsafe { wide(draws, number, at, tests, [above, below]) };
                continue;
            }
        }
        each(draws, number, at, tests, [above, below]);
    }
}

// ---------------------------------------------------------------------------------------- Python

fn tail(two_sided: bool) -> Tail {
    if two_sided { Tail::Both } else { Tail::Upper }
}

/// `randomization(differences, seed, replicates, two_sided=True)`: of paired differences of units
/// (rows) in measures (columns), how many replicates with random signs are at least as extreme.
#[pyfunction]
#[pyo3(signature = (differences, seed, replicates, two_sided=true))]
#[allow(clippy::needless_pass_by_value)]
pub fn randomization<'py>(
    py: Python<'py>,
    differences: PyReadonlyArray2<'py, f64>,
    seed: u64,
    replicates: usize,
    two_sided: bool,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let columns = differences.shape()[1];
    let values = rows_of(&differences);
    let table = Values {
        values: &values,
        columns,
    };
    let work = |crew: Crew| count_extreme(crew, table, tail(two_sided), seed, replicates);
    Ok(detached(py, [replicates, values.len()], work)?.into_pyarray(py))
}

/// `randomization_exact(differences, two_sided=True)`: the same count over all 2^n patterns of
/// signs.
#[pyfunction]
#[pyo3(signature = (differences, two_sided=true))]
#[allow(clippy::needless_pass_by_value)]
pub fn randomization_exact<'py>(
    py: Python<'py>,
    differences: PyReadonlyArray2<'py, f64>,
    two_sided: bool,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let [units, columns] = [differences.shape()[0], differences.shape()[1]];
    if units > EXACT_UNITS {
        return Err(PyValueError::new_err(format!(
            "{units} units have too many sign patterns, at most {EXACT_UNITS}"
        )));
    }
    let values = rows_of(&differences);
    let table = Values {
        values: &values,
        columns,
    };
    let work = |crew: Crew| count_extreme_exactly(crew, table, tail(two_sided));
    Ok(detached(py, [columns, 1 << units.div_ceil(2), units], work)?.into_pyarray(py))
}

/// `randomized_ranges(values, systems, seed, replicates)`: of values of units (rows), all measures
/// of the first system, then of the next (columns), per replicate and measure the largest less the
/// smallest sum of a system, with the values of each unit dealt out to the systems at random; with
/// None for a seed, in the first of all the ways there are.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn randomized_ranges<'py>(
    py: Python<'py>,
    values: PyReadonlyArray2<'py, f64>,
    systems: usize,
    seed: Option<u64>,
    replicates: usize,
) -> PyResult<Matrix<'py>> {
    let columns = values.shape()[1];
    if systems == 0 || !columns.is_multiple_of(systems) {
        return Err(PyValueError::new_err(format!(
            "{columns} columns do not belong to {systems} systems alike"
        )));
    }
    let values = rows_of(&values);
    let table = Values {
        values: &values,
        columns,
    };
    let steps = [replicates, values.len()];
    filled(
        py,
        [replicates, columns / systems],
        steps,
        |crew, ranges| {
            dealt_ranges(crew, table, systems, seed, ranges);
        },
    )
}

/// `randomized_maxima(values, units, systems, baseline, floor, seed, replicates, scales=None)`: of
/// values as `randomized_ranges` takes them, dealt out in the same way, per replicate and measure
/// the largest |t|, t and -t of the pairs of systems, the later less the earlier, or each less the
/// baseline. `units` says of each measure how many units count, `scales` (units, measures) what
/// their values have been multiplied by, so that their means are weighted.
#[pyfunction]
#[pyo3(signature = (values, units, systems, baseline, floor, seed, replicates, scales=None))]
#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]
pub fn randomized_maxima<'py>(
    py: Python<'py>,
    values: PyReadonlyArray2<'py, f64>,
    units: Vec<f64>,
    systems: usize,
    baseline: Option<usize>,
    floor: f64,
    seed: Option<u64>,
    replicates: usize,
    scales: Option<PyReadonlyArray2<'py, f64>>,
) -> PyResult<Matrix<'py>> {
    let (rows, columns) = (values.shape()[0], values.shape()[1]);
    if systems < 2 || columns != systems * units.len() || baseline >= Some(systems) {
        return Err(PyValueError::new_err(format!(
            "{columns} columns are not {} measures of {systems} systems",
            units.len()
        )));
    }
    let values = rows_of(&values);
    let table = Values {
        values: &values,
        columns,
    };
    if scales
        .as_ref()
        .is_some_and(|of| of.shape() != [rows, units.len()])
    {
        return Err(PyValueError::new_err(
            "scales have another shape than units and measures",
        ));
    }
    let scales = scales.map_or_else(Vec::new, |of| rows_of(&of).to_vec());
    let heavy = |(measure, count): (usize, &f64)| match scales.get(measure..) {
        None | Some([]) => 1.0,
        Some(own) => own.iter().step_by(units.len()).map(|k| k * k).sum::<f64>() / count,
    };
    let heavy: Vec<_> = units.iter().enumerate().map(heavy).collect();
    let of = Studentised {
        systems,
        baseline,
        units: &units,
        scales: &scales,
        heavy: &heavy,
        floor,
    };
    let steps = [replicates, values.len(), systems];
    filled(py, [replicates, 3 * units.len()], steps, |crew, maxima| {
        dealt_maxima(crew, table, &of, seed, maxima);
    })
}

/// `difference_maxima(draws, first, second, scale)`: of draws (columns) of some numbers (rows), per
/// draw the largest of all tests, and the largest of their negatives. A test is its scale times its
/// first number, less its second one if that is not −1.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn difference_maxima<'py>(
    py: Python<'py>,
    draws: PyReadonlyArray2<'py, f64>,
    first: PyReadonlyArray1<'py, i64>,
    second: PyReadonlyArray1<'py, i64>,
    scale: PyReadonlyArray1<'py, f64>,
) -> PyResult<Matrix<'py>> {
    let [rows, number] = [draws.shape()[0], draws.shape()[1]];
    let (first, second, scale) = (contiguous(&first), contiguous(&second), contiguous(&scale));
    same_length("second", second.len(), first.len())?;
    same_length("scale", scale.len(), first.len())?;
    let inside = |row: i64| usize::try_from(row).is_ok_and(|row| row < rows);
    if !first.iter().all(|&row| inside(row)) || !second.iter().all(|&row| row == -1 || inside(row))
    {
        return Err(PyValueError::new_err(format!(
            "a test is of a row outside the {rows} rows of draws"
        )));
    }
    let tests: Vec<_> = (first.iter().zip(second.iter()).zip(scale.iter()))
        .map(|((&first, &second), &scale)| Scaled {
            first: first as usize,
            second: usize::try_from(second).ok(),
            scale,
        })
        .collect();
    let values = rows_of(&draws);
    filled(py, [2, number], [number, tests.len()], |crew, maxima| {
        largest_of_tests(crew, &values, &tests, maxima);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::tested;

    const DIFFERENCES: [f64; 12] = [
        0.3, -0.1, 0.2, 0.4, 0.0, 0.1, -0.2, 0.5, 0.3, 0.1, 0.2, -0.4,
    ];

    fn table(columns: usize) -> Values<'static> {
        Values {
            values: &DIFFERENCES,
            columns,
        }
    }

    fn counted_by_force(differences: &[f64], tail: Tail) -> i64 {
        let observed = tail.of(differences.iter().sum::<f64>());
        let signed = |pattern: u32| -> f64 {
            let sign = |unit| if pattern >> unit & 1 == 1 { -1.0 } else { 1.0 };
            let units = 0..differences.len();
            units.map(|unit| sign(unit) * differences[unit]).sum()
        };
        let patterns = 0..1 << differences.len();
        patterns
            .map(|pattern| i64::from(tail.of(signed(pattern)) >= observed - 1e-9))
            .sum()
    }

    #[test]
    fn halves_count_all_patterns() {
        let second: Vec<_> = DIFFERENCES.iter().skip(1).step_by(2).copied().collect();
        for tail in [Tail::Both, Tail::Upper] {
            assert_eq!(
                tested(|crew| count_extreme_exactly(crew, table(1), tail)),
                [counted_by_force(&DIFFERENCES, tail)]
            );
            assert_eq!(
                tested(|crew| count_extreme_exactly(crew, table(2), tail))[1],
                counted_by_force(&second, tail)
            );
        }
    }

    #[test]
    fn randomization_nears_the_exact_share() {
        for tail in [Tail::Both, Tail::Upper] {
            let exact =
                tested(|crew| count_extreme_exactly(crew, table(1), tail))[0] as f64 / 4096.0;
            let share =
                tested(|crew| count_extreme(crew, table(1), tail, 5, 100_000))[0] as f64 / 1e5;
            assert!((share - exact).abs() < 0.01);
        }
    }

    #[test]
    fn tables_sum_what_the_bits_say() {
        let values: Vec<f64> = (0..1001).map(|at| f64::from(at * at % 37) - 15.0).collect();
        let table = Values {
            values: &values,
            columns: 11,
        };
        let streams: Vec<_> = (0..5).map(|replicate| Stream::new(9, replicate)).collect();
        for (stream, sums) in streams
            .iter()
            .zip(tested(|crew| random_sums(crew, table, 8, &streams)))
        {
            for (lane, sum) in sums.iter().enumerate().take(3) {
                let expected: f64 = table
                    .rows()
                    .enumerate()
                    .map(|(unit, row)| {
                        let minus = stream.word(unit as u64 / 64) >> (unit % 64) & 1 == 1;
                        if minus { -row[8 + lane] } else { row[8 + lane] }
                    })
                    .sum();
                assert!((sum - expected).abs() < 1e-9);
            }
            assert!(sums[3..].iter().all(|&sum| sum == 0.0));
        }
    }

    #[test]
    fn every_hand_is_dealt_alike() {
        let mut seen = std::collections::BTreeMap::new();
        let unit = Values {
            values: &[1.0, 10.0, 100.0],
            columns: 3,
        };
        for replicate in 0..6000 {
            let (mut sums, mut dealt) = ([0; 3], [0; 3]);
            tested(|crew| {
                deal(crew, unit, Some(1), replicate, &mut dealt, |dealt, row| {
                    for (&system, &value) in dealt.iter().zip(row) {
                        sums[system] = value as i64;
                    }
                });
            });
            *seen.entry(sums).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|count| (850..1150).contains(count)));
    }
}
