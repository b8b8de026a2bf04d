//! Bootstrap and randomisation. A replicate depends on the seed, its own number and the units it
//! draws, so replicates run on any number of threads and come out the same.

use std::borrow::Cow;
use std::ops::Range;

use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::random::Stream;
use crate::scores::{Areas, Curve, PIECE, Pair, check_values, contiguous, precision, same_length};

// ------------------------------------------------------------------------------ areas and curves

/// Rows by descending score.
pub struct Ranking<'a> {
    pub positive: &'a [bool],
    /// Whether a row is the last of its block of equal scores.
    pub last: &'a [bool],
    pub weight: Option<&'a [f64]>,
    /// What a row is drawn with; its own position where there is nothing else.
    pub unit: Option<&'a [u32]>,
}

/// Where a curve is to be read: false positive rates and recalls, ascending.
#[derive(Clone, Copy)]
pub struct Grids<'a> {
    pub fpr: &'a [f64],
    pub recall: &'a [f64],
}

pub struct Replicate {
    pub areas: [f64; 3],
    pub tpr: Vec<f64>,
    pub precision: Vec<f64>,
}

impl Ranking<'_> {
    pub fn bootstrap(&self, seed: u64, replicates: usize, grids: Grids) -> Vec<Replicate> {
        (0..replicates)
            .into_par_iter()
            .map(|replicate| self.replicate(Stream::new(seed, replicate), grids))
            .collect()
    }

    /// That the columns fit each other.
    fn check(&self) -> PyResult<()> {
        same_length("last", self.last.len(), self.positive.len())?;
        if self.last.last() == Some(&false) {
            return invalid("the last row must end its block of equal scores");
        }
        if let Some(weight) = self.weight {
            same_length("weight", weight.len(), self.positive.len())?;
            check_values("weight", weight, 0.0)?;
        }
        if let Some(unit) = self.unit {
            same_length("unit", unit.len(), self.positive.len())?;
        }
        Ok(())
    }

    /// The weight of each class drawn in each block of equal scores, replicate by replicate: all
    /// blocks of the positives, then all of the negatives; then, where they are wanted, those of the
    /// rows that the replicate left out.
    pub fn tables(
        &self,
        seed: u64,
        replicates: Range<usize>,
        blocks: usize,
        out_of_bag: bool,
    ) -> Vec<f64> {
        let columns = if out_of_bag { 4 } else { 2 };
        let mut sums = vec![0.0; replicates.len() * columns * blocks];
        sums.par_chunks_mut((columns * blocks).max(1))
            .zip(replicates)
            .for_each(|(sums, replicate)| self.table(Stream::new(seed, replicate), blocks, sums));
        sums
    }

    fn table(&self, stream: Stream, blocks: usize, sums: &mut [f64]) {
        let mut counts = [0; PIECE];
        let (drawn, left_out) = sums.split_at_mut(2 * blocks);
        let mut block = 0;
        for start in (0..self.positive.len()).step_by(PIECE) {
            let rows = start..self.positive.len().min(start + PIECE);
            let counts = &mut counts[..rows.len()];
            self.draw(stream, rows.clone(), counts);
            for (row, &count) in rows.zip(&*counts) {
                let weight = self.weight.map_or(1.0, |weight| weight[row]);
                let class = usize::from(!self.positive[row]) * blocks;
                drawn[class + block] += f64::from(count) * weight;
                if !left_out.is_empty() {
                    left_out[class + block] += f64::from(u8::from(count == 0)) * weight;
                }
                block += usize::from(self.last[row]);
            }
        }
    }

    fn replicate(&self, stream: Stream, grids: Grids) -> Replicate {
        let mut areas = Areas::default();
        if grids.fpr.is_empty() && grids.recall.is_empty() {
            let total = self.sweep(stream, |points| areas.add(points));
            return Replicate {
                areas: areas.shares(total),
                tpr: Vec::new(),
                precision: Vec::new(),
            };
        }
        // A rate is known only with the totals: drawing twice costs less than storing the curve.
        let mut reader = Reader::new(grids, self.sweep(stream, |_| ()));
        let total = self.sweep(stream, |points| {
            areas.add(points);
            reader.read(points);
        });
        let (tpr, precision) = reader.finish();
        Replicate {
            areas: areas.shares(total),
            tpr,
            precision,
        }
    }

    /// One pass over the resampled rows, which shows the curve to `visit` piece by piece and ends
    /// with the total weights.
    fn sweep(&self, stream: Stream, mut visit: impl FnMut(&[Pair])) -> Pair {
        let mut curve = Curve::default();
        let mut counts = [0; PIECE];
        let mut by_class = [[0; 2]; PIECE];
        for start in (0..self.positive.len()).step_by(PIECE) {
            let rows = start..self.positive.len().min(start + PIECE);
            self.draw(stream, rows.clone(), &mut counts[..rows.len()]);
            split(&counts, &self.positive[rows.clone()], &mut by_class);
            let drawn = by_class.iter().map(|counts| counts.map(f64::from));
            let last = self.last[rows.clone()].iter().copied();
            visit(match self.weight {
                None => curve.advance(drawn.zip(last)),
                Some(weight) => {
                    let weights = weight[rows].iter();
                    let drawn = drawn
                        .zip(weights)
                        .map(|(counts, w)| counts.map(|count| count * w));
                    curve.advance(drawn.zip(last))
                }
            });
        }
        curve.total()
    }

    fn draw(&self, stream: Stream, rows: Range<usize>, counts: &mut [u8]) {
        let Some(unit) = self.unit else {
            return stream.poisson_run(rows.start, counts);
        };
        for (count, &unit) in counts.iter_mut().zip(&unit[rows]) {
            *count = stream.poisson(unit.into());
        }
    }
}

/// Each count as that of a positive and of a negative row, multiplied rather than chosen: a branch
/// on a label is one that the processor cannot predict.
#[inline(never)]
fn split(counts: &[u8], positive: &[bool], by_class: &mut [[u8; 2]]) {
    for ((pair, &count), &positive) in by_class.iter_mut().zip(counts).zip(positive) {
        let positive = u8::from(positive) * count;
        *pair = [positive, count - positive];
    }
}

/// Reads a curve at the points of the grids while its pieces pass.
struct Reader<'a> {
    grids: Grids<'a>,
    total: Pair,
    tpr: Vec<f64>,
    precision: Vec<f64>,
}

impl<'a> Reader<'a> {
    fn new(grids: Grids<'a>, total: Pair) -> Self {
        let tpr = Vec::with_capacity(grids.fpr.len());
        let precision = Vec::with_capacity(grids.recall.len());
        Self {
            grids,
            total,
            tpr,
            precision,
        }
    }

    fn is_defined(&self) -> bool {
        !self.total.contains(&0.0)
    }

    fn read(&mut self, points: &[Pair]) {
        if self.is_defined() {
            self.read_tpr(points);
            self.read_precision(points);
        }
    }

    /// A rate is read when the curve has passed it, and so at the top of a vertical step.
    fn read_tpr(&mut self, points: &[Pair]) {
        let [positives, negatives] = self.total;
        let end = points[points.len() - 1][1] / negatives;
        let ahead = &self.grids.fpr[self.tpr.len()..];
        for &rate in ahead.iter().take_while(|&&rate| rate < end) {
            let passed = points.partition_point(|[_, fp]| fp / negatives <= rate);
            let ([tp, fp], end) = (points[passed - 1], points[passed]);
            let share = ((rate * negatives - fp) / (end[1] - fp)).clamp(0.0, 1.0);
            self.tpr.push((tp + share * (end[0] - tp)) / positives);
        }
    }

    /// Recall 0 is reached by the first block that holds anything.
    fn read_precision(&mut self, points: &[Pair]) {
        let positives = self.total[0];
        let reaches = |[tp, fp]: Pair, recall| tp / positives >= recall && tp + fp > 0.0;
        let end = points[points.len() - 1];
        let ahead = &self.grids.recall[self.precision.len()..];
        for &recall in ahead.iter().take_while(|&&recall| reaches(end, recall)) {
            let first = points.partition_point(|&point| !reaches(point, recall));
            self.precision.push(precision(points[first]));
        }
    }

    fn finish(mut self) -> (Vec<f64>, Vec<f64>) {
        // A rate that the curve never passes is 1, and there every positive is retrieved.
        let end = if self.is_defined() { 1.0 } else { f64::NAN };
        self.tpr.resize(self.grids.fpr.len(), end);
        self.precision.resize(self.grids.recall.len(), f64::NAN);
        (self.tpr, self.precision)
    }
}

// ------------------------------------------------------------------------------ means over units

/// Rows of `columns` values each, one row a unit.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    pub values: &'a [f64],
    pub columns: usize,
}

impl<'a> Values<'a> {
    fn units(self) -> usize {
        self.values.len() / self.columns.max(1)
    }

    fn rows(self) -> impl Iterator<Item = &'a [f64]> {
        self.values.chunks_exact(self.columns.max(1))
    }
}

/// Values less the mean of their column, and 0 where undefined, which leaves sums as they are.
struct Centred {
    values: Vec<f64>,
    centre: Vec<f64>,
    /// (unit, column) of each undefined value.
    missing: Vec<(usize, usize)>,
}

impl Centred {
    fn new(table: Values) -> Self {
        let centre: Vec<_> = (0..table.columns)
            .map(|column| mean_of_defined(table.rows().map(|row| row[column])))
            .collect();
        let mut missing = Vec::new();
        let mut values = table.values.to_vec();
        for (at, value) in values.iter_mut().enumerate() {
            *value -= centre[at % table.columns];
            if value.is_nan() {
                missing.push((at / table.columns, at % table.columns));
                *value = 0.0;
            }
        }
        Self {
            values,
            centre,
            missing,
        }
    }
}

/// Summed as differences from the first, so that equal values have exactly their value as mean.
fn mean_of_defined(values: impl Iterator<Item = f64>) -> f64 {
    let mut defined = values.filter(|value| !value.is_nan());
    let Some(first) = defined.next() else {
        return f64::NAN;
    };
    let (sum, count) = defined.fold((0.0, 1.0), |(sum, count), value| {
        (sum + (value - first), count + 1.0)
    });
    first + sum / count
}

/// Per replicate and column the mean of the drawn defined values and its standard error.
pub fn bootstrap_column_means(table: Values, seed: u64, replicates: usize) -> (Vec<f64>, Vec<f64>) {
    let centred = Centred::new(table);
    let units = table.units();
    let mut means = vec![0.0; replicates * table.columns];
    let mut errors = vec![0.0; replicates * table.columns];
    means
        .par_chunks_mut(table.columns.max(1))
        .zip(errors.par_chunks_mut(table.columns.max(1)))
        .enumerate()
        .for_each_init(
            || vec![0; units],
            |counts, (replicate, (means, errors))| {
                draw_units(Stream::new(seed, replicate), counts);
                centred.resample(counts, means, errors);
            },
        );
    (means, errors)
}

/// How often each unit comes in as many draws as there are units.
fn draw_units(stream: Stream, counts: &mut [u32]) {
    counts.fill(0);
    for draw in 0..counts.len() {
        counts[stream.below(draw as u64, counts.len())] += 1;
    }
}

impl Centred {
    /// The sums and the sums of squares grow where the means and the errors will stand.
    fn resample(&self, counts: &[u32], means: &mut [f64], errors: &mut [f64]) {
        for (row, &count) in self.values.chunks_exact(means.len()).zip(counts) {
            let count = f64::from(count);
            for ((value, sum), squares) in row.iter().zip(&mut *means).zip(&mut *errors) {
                *sum += count * value;
                *squares += count * value * value;
            }
        }
        let mut defined = vec![counts.len() as u64; means.len()];
        for &(unit, column) in &self.missing {
            defined[column] -= u64::from(counts[unit]);
        }
        for (column, &defined) in defined.iter().enumerate() {
            let (sum, squares) = (means[column], errors[column]);
            means[column] = self.centre[column] + sum / defined as f64;
            errors[column] = standard_error(defined as f64, sum, squares);
        }
    }
}

/// Of a mean of `count` values with these sums. What rounding leaves of equal values is nothing.
fn standard_error(count: f64, sum: f64, squares: f64) -> f64 {
    let spread = squares - sum * sum / count;
    let variance = if spread > count * f64::EPSILON * squares {
        spread / (count - 1.0)
    } else {
        0.0
    };
    if count < 2.0 {
        f64::NAN
    } else {
        (variance / count).sqrt()
    }
}

// --------------------------------------------------------------------------------- randomisation

/// What rounding may take from a sum, as a share of the sum of the absolute values.
const ROUNDING: f64 = 1e-12;

/// The absolute sum of each column less what rounding may take: from here on a sum is as extreme.
fn extremes(table: Values) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); table.columns];
    for row in table.rows() {
        for (value, (sum, absolute)) in row.iter().zip(&mut sums) {
            *sum += value;
            *absolute += value.abs();
        }
    }
    sums.into_iter()
        .map(|(sum, absolute): (f64, f64)| sum.abs() - ROUNDING * absolute)
        .collect()
}

/// Per column the replicates whose sum, with random signs, is at least as extreme as the sum.
pub fn count_extreme(table: Values, seed: u64, replicates: usize) -> Vec<i64> {
    let extremes = extremes(table);
    let add = |mut counts: Vec<i64>, more: Vec<i64>| {
        counts
            .iter_mut()
            .zip(more)
            .for_each(|(count, more)| *count += more);
        counts
    };
    (0..replicates)
        .into_par_iter()
        .fold(
            || (vec![0; table.columns], vec![0.0; table.columns]),
            |(mut counts, mut sums), replicate| {
                random_sums(table, Stream::new(seed, replicate), &mut sums);
                for ((count, sum), extreme) in counts.iter_mut().zip(&sums).zip(&extremes) {
                    *count += i64::from(sum.abs() >= *extreme);
                }
                (counts, sums)
            },
        )
        .map(|(counts, _)| counts)
        .reduce(|| vec![0; table.columns], add)
}

/// One bit a unit, the same for all columns; a word serves 64 units.
fn random_sums(table: Values, stream: Stream, sums: &mut [f64]) {
    sums.fill(0.0);
    for (index, block) in (0..).zip(table.values.chunks(64 * table.columns.max(1))) {
        let mut word = stream.word(index);
        for row in block.chunks_exact(table.columns) {
            let sign = word << 63;
            word >>= 1;
            for (value, sum) in row.iter().zip(&mut *sums) {
                *sum += f64::from_bits(value.to_bits() ^ sign);
            }
        }
    }
}

pub const EXACT_UNITS: usize = 30;

/// Per column the sign patterns, of all 2^n, whose sum is at least as extreme as the sum.
pub fn count_extreme_exactly(table: Values) -> Vec<i64> {
    let column = |column| -> Vec<_> { table.rows().map(|row| row[column]).collect() };
    let extremes = extremes(table);
    extremes
        .par_iter()
        .enumerate()
        .map(|(at, &extreme)| patterns_beyond(&column(at), extreme))
        .collect()
}

/// Sums of the two halves of the units, 2^15 at most each, are enough to count all their sums.
fn patterns_beyond(differences: &[f64], extreme: f64) -> i64 {
    if extreme <= 0.0 {
        return 1 << differences.len();
    }
    let (left, right) = differences.split_at(differences.len() / 2);
    let (left, right) = (signed_sums(left), signed_sums(right));
    let short = |sum: &f64| right.partition_point(|other| sum + other < extreme);
    let beyond = |sum: &f64| i64::from((right.len() - short(sum)) as u32);
    // A pattern and its opposite are equally extreme.
    2 * left.iter().map(beyond).sum::<i64>()
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

// ----------------------------------------------------------------------------------------- cells

/// Per replicate the weight of each cell over the resampled rows.
pub fn resampled_cells(
    cell: &[u32],
    weight: &[f64],
    cells: usize,
    seed: u64,
    replicates: usize,
) -> Vec<f64> {
    let mut sums = vec![0.0; replicates * cells];
    sums.par_chunks_mut(cells.max(1))
        .enumerate()
        .for_each(|(replicate, sums)| {
            let stream = Stream::new(seed, replicate);
            let mut counts = [0; PIECE];
            for start in (0..cell.len()).step_by(PIECE) {
                let rows = start..cell.len().min(start + PIECE);
                let counts = &mut counts[..rows.len()];
                stream.poisson_run(start, counts);
                for ((&cell, &weight), &count) in
                    cell[rows.clone()].iter().zip(&weight[rows]).zip(&*counts)
                {
                    sums[cell as usize] += f64::from(count) * weight;
                }
            }
        });
    sums
}

// ---------------------------------------------------------------------------------------- Python

fn invalid<T>(message: impl Into<String>) -> PyResult<T> {
    Err(PyValueError::new_err(message.into()))
}

/// The grid's values, or none where there is no grid; ascending shares.
fn checked_grid(name: &str, grid: Option<&PyReadonlyArray1<f64>>) -> PyResult<Vec<f64>> {
    let grid = grid.map_or_else(Vec::new, |grid| contiguous(grid).into_owned());
    let within = grid.iter().all(|share| (0.0..=1.0).contains(share));
    if !within || !grid.is_sorted() {
        return invalid(format!("{name} must ascend within [0, 1]"));
    }
    Ok(grid)
}

type Matrix<'py> = Bound<'py, PyArray2<f64>>;

/// A matrix of one row a replicate.
fn matrix(py: Python<'_>, values: Vec<f64>, rows: usize, columns: usize) -> PyResult<Matrix<'_>> {
    values.into_pyarray(py).reshape([rows, columns])
}

fn rows_of<'a>(array: &'a PyReadonlyArray2<f64>) -> Cow<'a, [f64]> {
    match array.as_slice() {
        Ok(slice) if array.is_c_contiguous() => Cow::Borrowed(slice),
        _ => array.as_array().iter().copied().collect(),
    }
}

/// `bootstrap_scores(positive, last, weight, unit, seed, replicates, fpr_grid, recall_grid)`: of
/// rows by descending score, per Poisson bootstrap replicate the AUC, PR-AUC and AP, the true
/// positive rate at each false positive rate, and the precision at each recall.
#[pyfunction]
#[pyo3(signature = (
    positive, last, weight, unit, seed, replicates, fpr_grid=None, recall_grid=None
))]
#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]
pub fn bootstrap_scores<'py>(
    py: Python<'py>,
    positive: PyReadonlyArray1<'py, bool>,
    last: PyReadonlyArray1<'py, bool>,
    weight: Option<PyReadonlyArray1<'py, f64>>,
    unit: Option<PyReadonlyArray1<'py, u32>>,
    seed: u64,
    replicates: usize,
    fpr_grid: Option<PyReadonlyArray1<'py, f64>>,
    recall_grid: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<(Matrix<'py>, Option<Matrix<'py>>, Option<Matrix<'py>>)> {
    let (positive, last) = (contiguous(&positive), contiguous(&last));
    let weight = weight.as_ref().map(contiguous);
    let unit = unit.as_ref().map(contiguous);
    let fpr = checked_grid("fpr_grid", fpr_grid.as_ref())?;
    let recall = checked_grid("recall_grid", recall_grid.as_ref())?;
    let ranking = Ranking {
        positive: &positive,
        last: &last,
        weight: weight.as_deref(),
        unit: unit.as_deref(),
    };
    ranking.check()?;
    let grids = Grids {
        fpr: &fpr,
        recall: &recall,
    };
    let drawn = py.detach(|| ranking.bootstrap(seed, replicates, grids));
    let areas = drawn.iter().flat_map(|replicate| replicate.areas).collect();
    let tpr = drawn
        .iter()
        .flat_map(|replicate| &replicate.tpr)
        .copied()
        .collect();
    let precision = drawn
        .iter()
        .flat_map(|replicate| &replicate.precision)
        .copied()
        .collect();
    let tpr = matrix(py, tpr, replicates, fpr.len())?;
    let precision = matrix(py, precision, replicates, recall.len())?;
    Ok((
        matrix(py, areas, replicates, 3)?,
        fpr_grid.map(|_| tpr),
        recall_grid.map(|_| precision),
    ))
}

/// `bootstrap_tables(positive, last, weight, unit, seed, start, replicates, out_of_bag=False)`: the
/// tables of scores that `bootstrap_scores` draws in the replicates from `start` on: per replicate
/// the weight of the positives in each block of equal scores and that of the negatives, and those
/// left out besides where they are asked for, each in its row.
#[pyfunction]
#[pyo3(signature = (
    positive, last, weight, unit, seed, start, replicates, out_of_bag=false
))]
#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]
pub fn bootstrap_tables<'py>(
    py: Python<'py>,
    positive: PyReadonlyArray1<'py, bool>,
    last: PyReadonlyArray1<'py, bool>,
    weight: Option<PyReadonlyArray1<'py, f64>>,
    unit: Option<PyReadonlyArray1<'py, u32>>,
    seed: u64,
    start: usize,
    replicates: usize,
    out_of_bag: bool,
) -> PyResult<Matrix<'py>> {
    let (positive, last) = (contiguous(&positive), contiguous(&last));
    let weight = weight.as_ref().map(contiguous);
    let unit = unit.as_ref().map(contiguous);
    let ranking = Ranking {
        positive: &positive,
        last: &last,
        weight: weight.as_deref(),
        unit: unit.as_deref(),
    };
    ranking.check()?;
    let blocks = last.iter().filter(|&&last| last).count();
    let wanted = start..start + replicates;
    let sums = py.detach(|| ranking.tables(seed, wanted, blocks, out_of_bag));
    let columns = if out_of_bag { 4 } else { 2 };
    matrix(py, sums, replicates * columns, blocks)
}

/// `poisson_counts(seed, replicate, units)`: how often `bootstrap_scores` draws each of the units
/// 0, 1, … in a replicate.
#[pyfunction]
pub fn poisson_counts(
    py: Python<'_>,
    seed: u64,
    replicate: usize,
    units: usize,
) -> Bound<'_, PyArray1<u8>> {
    let mut counts = vec![0; units];
    py.detach(|| Stream::new(seed, replicate).poisson_run(0, &mut counts));
    counts.into_pyarray(py)
}

/// `bootstrap_means(values, seed, replicates)`: values of units (rows) and measures (columns), NaN
/// where undefined; per replicate and measure the mean of the defined values drawn and its
/// standard error.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn bootstrap_means<'py>(
    py: Python<'py>,
    values: PyReadonlyArray2<'py, f64>,
    seed: u64,
    replicates: usize,
) -> PyResult<(Matrix<'py>, Matrix<'py>)> {
    let columns = values.shape()[1];
    let values = rows_of(&values);
    let table = Values {
        values: &values,
        columns,
    };
    let (means, errors) = py.detach(|| bootstrap_column_means(table, seed, replicates));
    Ok((
        matrix(py, means, replicates, columns)?,
        matrix(py, errors, replicates, columns)?,
    ))
}

/// `randomisation(differences, seed, replicates)`: of paired differences of units (rows) in
/// measures (columns), how many replicates with random signs are at least as extreme.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn randomisation<'py>(
    py: Python<'py>,
    differences: PyReadonlyArray2<'py, f64>,
    seed: u64,
    replicates: usize,
) -> Bound<'py, PyArray1<i64>> {
    let columns = differences.shape()[1];
    let values = rows_of(&differences);
    let table = Values {
        values: &values,
        columns,
    };
    py.detach(|| count_extreme(table, seed, replicates))
        .into_pyarray(py)
}

/// `randomisation_exact(differences)`: the same count over all 2^n patterns of signs.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn randomisation_exact<'py>(
    py: Python<'py>,
    differences: PyReadonlyArray2<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let [units, columns] = [differences.shape()[0], differences.shape()[1]];
    if units > EXACT_UNITS {
        return invalid(format!(
            "{units} units have too many sign patterns, at most {EXACT_UNITS}"
        ));
    }
    let values = rows_of(&differences);
    let table = Values {
        values: &values,
        columns,
    };
    Ok(py.detach(|| count_extreme_exactly(table)).into_pyarray(py))
}

/// `bootstrap_cells(cell, weight, cells, seed, replicates)`: per Poisson bootstrap replicate of
/// the rows the sum of the weights in each cell.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn bootstrap_cells<'py>(
    py: Python<'py>,
    cell: PyReadonlyArray1<'py, u32>,
    weight: PyReadonlyArray1<'py, f64>,
    cells: usize,
    seed: u64,
    replicates: usize,
) -> PyResult<Matrix<'py>> {
    let (cell, weight) = (contiguous(&cell), contiguous(&weight));
    same_length("weight", weight.len(), cell.len())?;
    if let Some(row) = cell.iter().position(|&cell| cell as usize >= cells) {
        return invalid(format!(
            "cell is {} in row {row}, of {cells} cells",
            cell[row]
        ));
    }
    let sums = py.detach(|| resampled_cells(&cell, &weight, cells, seed, replicates));
    matrix(py, sums, replicates, cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFFERENCES: [f64; 12] = [
        0.3, -0.1, 0.2, 0.4, 0.0, 0.1, -0.2, 0.5, 0.3, 0.1, 0.2, -0.4,
    ];

    fn table(columns: usize) -> Values<'static> {
        Values {
            values: &DIFFERENCES,
            columns,
        }
    }

    fn counted_by_force(differences: &[f64]) -> i64 {
        let observed = differences.iter().sum::<f64>().abs();
        let signed = |pattern: u32| -> f64 {
            let sign = |unit| if pattern >> unit & 1 == 1 { -1.0 } else { 1.0 };
            let units = 0..differences.len();
            units.map(|unit| sign(unit) * differences[unit]).sum()
        };
        let patterns = 0..1 << differences.len();
        patterns
            .map(|pattern| i64::from(signed(pattern).abs() >= observed - 1e-9))
            .sum()
    }

    #[test]
    fn halves_count_all_patterns() {
        assert_eq!(
            count_extreme_exactly(table(1)),
            [counted_by_force(&DIFFERENCES)]
        );
        let second: Vec<_> = DIFFERENCES.iter().skip(1).step_by(2).copied().collect();
        assert_eq!(
            count_extreme_exactly(table(2))[1],
            counted_by_force(&second)
        );
    }

    #[test]
    fn randomisation_nears_the_exact_share() {
        let exact = count_extreme_exactly(table(1))[0] as f64 / 4096.0;
        let share = count_extreme(table(1), 5, 100_000)[0] as f64 / 1e5;
        assert!((share - exact).abs() < 0.01);
    }

    #[test]
    fn equal_values_have_no_error() {
        let values = [0.1; 10];
        let table = Values {
            values: &values,
            columns: 2,
        };
        let (means, errors) = bootstrap_column_means(table, 0, 50);
        let bits =
            |values: &[f64]| -> Vec<_> { values.iter().map(|value| value.to_bits()).collect() };
        assert_eq!(bits(&means), bits(&[0.1; 100]));
        assert_eq!(bits(&errors), bits(&[0.0; 100]));
    }

    #[test]
    fn a_replicate_is_the_sweep_of_its_counts() {
        let positive: Vec<bool> = (0..2000).map(|row| row * row % 7 < 3).collect();
        let last: Vec<bool> = (0..2000).map(|row| row % 3 != 1 || row == 1999).collect();
        let ranking = Ranking {
            positive: &positive,
            last: &last,
            weight: None,
            unit: None,
        };
        let grids = Grids {
            fpr: &[],
            recall: &[],
        };
        let mut counts = [0; 2000];
        Stream::new(3, 1).poisson_run(0, &mut counts);
        let mut blocks = [vec![0.0], vec![0.0]];
        for ((&positive, &last), &count) in positive.iter().zip(&last).zip(&counts) {
            for (column, of_class) in blocks.iter_mut().zip([positive, !positive]) {
                *column.last_mut().unwrap() += f64::from(count * u8::from(of_class));
                if last {
                    column.push(0.0);
                }
            }
        }
        let areas = ranking.bootstrap(3, 2, grids)[1].areas;
        let expected = crate::scores::sweep(&blocks[0], &blocks[1]);
        assert!(
            areas
                .iter()
                .zip(expected)
                .all(|(area, expected)| (area - expected).abs() < 1e-12)
        );
    }
}
