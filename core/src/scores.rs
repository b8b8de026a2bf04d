//! Binary truth against scores: the table of distinct scores, the stable descending order, and the
//! areas under the ROC and the precision–recall curve in one sweep.

use std::borrow::Cow;

use numpy::{Element, IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::line_of_zeros;
use crate::order::{Part, Score, descending, ends};
use crate::parallel::{Chunks, Crew, detached};

// ---------------------------------------------------------------------------------------- table

/// Steps that it takes to sort a row.
pub const TO_SORT: usize = 8;

/// The scores of some rows, and what is kept of each.
struct Task<'a, 'b, S: Score, L, const N: usize> {
    part: &'a Part<'b, S, L>,
    columns: [&'a mut [f64]; N],
}

/// What `fill` makes of the rows of each part, in the lines of the columns that are its own.
fn filled_by_part<S: Score, L: Copy + Send + Sync, const N: usize>(
    crew: Crew,
    parts: &[Part<S, L>],
    columns: [&mut [f64]; N],
    fill: impl Fn(&Part<S, L>, &mut [&mut [f64]; N]) + Sync + Send,
) {
    let mut rests = columns;
    let tasks = parts.iter().map(|part| {
        let columns = rests.each_mut().map(|rest| {
            let (own, others) = std::mem::take(rest).split_at_mut(part.distinct);
            *rest = others;
            own
        });
        Task { part, columns }
    });
    let mut tasks: Vec<_> = tasks.collect();
    crew.map(Chunks(&mut tasks[..], 1), |_, tasks| {
        for Task { part, columns } in tasks {
            fill(part, columns);
        }
    });
}

/// A key that no finite score has.
const END: u64 = u64::MAX;

/// The scores of a part and how many positives and negatives each has.
fn count<S: Score, L: Copy>(part: &Part<S, L>, columns: &mut [&mut [f64]; 3]) {
    let [scores, positives, negatives] = columns;
    let mut distinct = 0;
    let (mut before, mut positive, mut negative) = (END, 0_u32, 0_u32);
    for (key, is_positive) in part.rows() {
        // No branch on a label or on a tie, which nobody can predict.
        let same = u32::from(key == before);
        before = key;
        positive = positive * same + u32::from(is_positive);
        negative = negative * same + u32::from(!is_positive);
        distinct += 1 - same as usize;
        scores[distinct - 1] = S::of_key(key);
        positives[distinct - 1] = f64::from(positive);
        negatives[distinct - 1] = f64::from(negative);
    }
}

/// The scores of a part, the weight of either class at each and the sum of its squares. Weights add up
/// in the order of the rows.
fn weigh<S: Score>(part: &Part<S, f64>, columns: &mut [&mut [f64]; 5]) {
    let [scores, sums @ ..] = columns;
    let (mut before, mut distinct) = (END, 0);
    for ((key, is_positive), weight) in part.rows().zip(part.loads()) {
        distinct += usize::from(key != before);
        before = key;
        let class = usize::from(!is_positive);
        scores[distinct - 1] = S::of_key(key);
        sums[class][distinct - 1] += weight;
        sums[class + 2][distinct - 1] += weight * weight;
    }
}

// ---------------------------------------------------------------------------------------- areas

/// Rows taken at a time: what belongs to them stays in the first-level cache. The steps over a piece
/// are never inlined; fused into one loop they run out of registers and take up to twice the time.
pub const PIECE: usize = 512;

/// Sums that grow side by side, as wide registers hold them.
const LANES: usize = 8;

/// Where the positives stand in a number that holds them beside all rows drawn in a piece, of which
/// there are fewer than 2^13.
const HITS: u32 = 16;

/// The weight of the positive and of the negative rows.
pub type Pair = [f64; 2];

/// A curve in pieces: the weights down to the end of each block of equal scores.
pub struct Curve {
    points: [Pair; PIECE + 1],
    last: usize,
    total: Pair,
}

impl Default for Curve {
    fn default() -> Self {
        Self {
            points: [[0.0; 2]; PIECE + 1],
            last: 0,
            total: [0.0; 2],
        }
    }
}

impl Curve {
    /// From here on the curve goes on from a point at the end of a block.
    pub fn go_on_from(&mut self, point: Pair) {
        self.points[0] = point;
        self.last = 0;
        self.total = point;
    }

    /// The last point so far and those that up to `PIECE` further rows add; the flag of a row says
    /// that its block ends here. Every row is written and the end of a block kept, since a branch
    /// would be mispredicted wherever some scores are tied and some are not.
    #[inline(never)]
    pub fn advance(&mut self, rows: impl Iterator<Item = (Pair, bool)>) -> &[Pair] {
        self.points[0] = self.points[self.last];
        let mut next = 1;
        let [mut tp, mut fp] = self.total;
        for ([positive, negative], ends) in rows {
            tp += positive;
            fp += negative;
            self.points[next] = [tp, fp];
            next += usize::from(ends);
        }
        self.total = [tp, fp];
        self.last = next - 1;
        &self.points[..next]
    }

    /// The weights down to the last row.
    pub fn total(&self) -> Pair {
        self.total
    }
}

/// The precision at a point of a curve. That of nothing retrieved counts as 1, which is the
/// precision after a first block of positives alone, so that the block gets it as a whole.
#[inline]
pub fn precision([tp, fp]: Pair) -> f64 {
    let retrieved = tp + fp;
    if retrieved == 0.0 {
        1.0
    } else {
        tp / retrieved
    }
}

/// The areas under a curve, times the weights that make them shares; those of trapezoids twice.
#[derive(Default)]
pub struct Areas {
    auc: f64,
    pr_auc: f64,
    ap: f64,
}

impl Areas {
    #[inline(never)]
    pub fn add(&mut self, points: &[Pair]) {
        let Self {
            mut auc,
            mut pr_auc,
            mut ap,
        } = *self;
        let mut before = precision(points[0]);
        for step in points.windows(2) {
            let [[tp, fp], end] = [step[0], step[1]];
            let (positive, negative) = (end[0] - tp, end[1] - fp);
            let after = precision(end);
            let twice = if positive * negative > 0.0 {
                2.0 * mean_precision(before, tp + fp, positive, negative)
            } else {
                before + after
            };
            auc += negative * (tp + end[0]);
            pr_auc += positive * twice;
            ap += positive * after;
            before = after;
        }
        *self = Self { auc, pr_auc, ap };
    }

    /// `add` for up to `PIECE` rows whose scores all differ, each drawn so often; takes the point
    /// before them and gives the one after. Steps of negatives need no precision, and counts no
    /// floating point.
    #[inline(never)]
    pub fn add_untied(&mut self, [tp0, fp0]: Pair, counts: &[u8], positive: &[bool]) -> Pair {
        let mut steps = [0_u32; PIECE];
        for ((step, &count), &positive) in steps.iter_mut().zip(counts).zip(positive) {
            *step = u32::from(count * u8::from(positive)) << HITS | u32::from(count);
        }
        // Where positives were drawn: the true positives so far, and all that was drawn.
        let mut reached = [0; PIECE + LANES + 1];
        let (mut sum, mut last) = (0, 0);
        for step in &steps[..counts.len()] {
            sum += step;
            // Written before it is known to belong here, as in `Curve::advance`.
            reached[last + 1] = sum;
            last += usize::from(step >> HITS > 0);
        }
        // Steps of nothing fill the last lanes.
        let end = reached[last];
        reached[last..=last + LANES].fill(end);
        let steps = last.next_multiple_of(LANES);
        let taken0 = tp0 + fp0;
        let areas = |before: u32, after: u32| {
            let (tp, taken) = (
                f64::from(after >> HITS),
                f64::from(after & ((1 << HITS) - 1)),
            );
            let hits = tp - f64::from(before >> HITS);
            let (tp, taken) = (tp0 + tp, taken0 + taken);
            // Before anything is retrieved precision counts as 1.
            let none = f64::from(u8::from(taken <= hits));
            let before = (tp - hits + none) / (taken - hits + none);
            let after = tp / taken;
            [hits * (taken - tp), hits * (before + after), hits * after]
        };
        let mut sums = [[0.0; LANES]; 3];
        let (first, second) = (&reached[..steps], &reached[1..=steps]);
        for (before, after) in first.chunks_exact(LANES).zip(second.chunks_exact(LANES)) {
            for (lane, (&before, &after)) in before.iter().zip(after).enumerate() {
                for (sum, area) in sums.iter_mut().zip(areas(before, after)) {
                    sum[lane] += area;
                }
            }
        }
        let [above, pr_auc, ap] = sums.map(|lanes| lanes.iter().sum::<f64>());
        let (tp, taken) = (f64::from(sum >> HITS), f64::from(sum & ((1 << HITS) - 1)));
        let fp = fp0 + taken - tp;
        // Negatives that end up below the positives here, and those here below all before.
        self.auc += 2.0 * (tp * fp - above + tp0 * (fp - fp0));
        self.pr_auc += pr_auc;
        self.ap += ap;
        [tp0 + tp, fp]
    }

    /// AUC, PR-AUC and AP.
    pub fn shares(&self, [positive, negative]: Pair) -> [f64; 3] {
        if positive == 0.0 || negative == 0.0 {
            return [f64::NAN; 3];
        }
        [
            0.5 * self.auc / (positive * negative),
            0.5 * self.pr_auc / positive,
            self.ap / positive,
        ]
    }
}

/// The mean precision over a block of equal scores by Davis & Goadrich's interpolation, which lets
/// both classes grow evenly. With n the weight before the block and m its own, the integral of
/// (tp + u·t) / (n + u·m) for u from 0 to 1 is a mean of the precision before and that of the
/// block, whose share of it is 1 - ln(1 + m/n) / (m/n).
#[inline(never)]
fn mean_precision(before: f64, n: f64, positive: f64, negative: f64) -> f64 {
    let m = positive + negative;
    before + (positive / m - before) * share_of_block(m / n)
}

/// 1 - ln(1 + r) / r; by its series where the difference would cancel.
fn share_of_block(ratio: f64) -> f64 {
    if ratio.is_infinite() {
        1.0
    } else if ratio > 0.02 {
        1.0 - ratio.ln_1p() / ratio
    } else {
        (2..=10)
            .rev()
            .fold(0.0, |series, k| ratio * (1.0 / f64::from(k) - series))
    }
}

/// AUC, PR-AUC and AP of a table of scores.
pub fn sweep(crew: Crew, positive: &[f64], negative: &[f64]) -> [f64; 3] {
    let mut curve = Curve::default();
    let mut areas = Areas::default();
    for (positive, negative) in positive.chunks(PIECE).zip(negative.chunks(PIECE)) {
        crew.check();
        let rows = positive.iter().zip(negative);
        areas.add(curve.advance(rows.map(|(&positive, &negative)| ([positive, negative], true))));
    }
    areas.shares(curve.total())
}

// --------------------------------------------------------------------------------------- Python

/// The array's own memory where it is contiguous, and a copy where it is not.
pub(crate) fn contiguous<'a, T: Element + Copy>(array: &'a PyReadonlyArray1<T>) -> Cow<'a, [T]> {
    match array.as_slice() {
        Ok(slice) => Cow::Borrowed(slice),
        Err(_) => Cow::Owned(array.as_array().to_vec()),
    }
}

pub(crate) fn same_length(name: &str, rows: usize, truth: usize) -> PyResult<()> {
    if rows == truth {
        return Ok(());
    }
    Err(PyValueError::new_err(format!(
        "{name} has {rows} rows, truth has {truth}"
    )))
}

/// What is wrong with what Python handed over.
pub(crate) struct Invalid(String);

impl From<Invalid> for PyErr {
    fn from(Invalid(message): Invalid) -> Self {
        PyValueError::new_err(message)
    }
}

/// Every value is a number and no smaller than `lowest`; else the first row where it is not.
pub(crate) fn check_values<T: Copy + Into<f64> + Sync>(
    crew: Crew,
    name: &str,
    values: &[T],
    lowest: f64,
) -> Result<(), Invalid> {
    let fault = |value: T| match value.into() {
        value if value.is_nan() => Some("NaN"),
        value if value.is_infinite() => Some("infinite"),
        value if value < lowest => Some("negative"),
        _ => None,
    };
    let Some(row) = crew.position(values, |&value| fault(value).is_some()) else {
        return Ok(());
    };
    let first = fault(values[row]);
    let more = crew
        .watched(&values[row + 1..])
        .filter(|&&value| fault(value) == first)
        .count();
    let others = match more {
        0 => String::new(),
        1 => " (and 1 more row)".to_owned(),
        _ => format!(" (and {more} more rows)"),
    };
    let fault = first.unwrap_or_default();
    Err(Invalid(format!("{name} is {fault} in row {row}{others}")))
}

/// Scores of double or of single precision, which stay what they are.
#[derive(FromPyObject)]
pub enum Scores<'py> {
    Double(PyReadonlyArray1<'py, f64>),
    Single(PyReadonlyArray1<'py, f32>),
}

/// The lowest and the highest key of scores, all of which are numbers.
pub fn checked_ends<S: Score>(py: Python<'_>, scores: &[S]) -> PyResult<[u64; 2]> {
    if u32::try_from(scores.len()).is_err() {
        return Err(PyValueError::new_err("score has more than 4294967295 rows"));
    }
    Ok(detached(py, [scores.len()], |crew| {
        ends_of_numbers(crew, scores)
    })??)
}

/// The same without the interpreter.
pub(crate) fn ends_of_numbers<S: Score>(crew: Crew, scores: &[S]) -> Result<[u64; 2], Invalid> {
    let found = ends(crew, scores);
    let [highest, lowest] = S::ENDS;
    if found[0] >= highest && found[1] <= lowest || scores.is_empty() {
        return Ok(found);
    }
    check_values(crew, "score", scores, f64::MIN).map(|()| found)
}

type Column<'py> = Bound<'py, PyArray1<f64>>;
pub type TableColumns<'py> = (
    Column<'py>,
    Column<'py>,
    Column<'py>,
    Option<Column<'py>>,
    Option<Column<'py>>,
);

/// `score_table(positive, score, weight=None)`: the distinct scores, descending, the sums of the
/// weights of the positive and of the negative rows at each, and the sums of their squares.
#[pyfunction]
#[pyo3(signature = (positive, score, weight=None))]
#[allow(clippy::needless_pass_by_value)]
pub fn score_table<'py>(
    py: Python<'py>,
    positive: PyReadonlyArray1<'py, bool>,
    score: Scores<'py>,
    weight: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<TableColumns<'py>> {
    let positive = contiguous(&positive);
    let weights = weight.as_ref().map(contiguous);
    match &score {
        Scores::Double(scores) => table(py, &positive, &contiguous(scores), weights.as_deref()),
        Scores::Single(scores) => table(py, &positive, &contiguous(scores), weights.as_deref()),
    }
}

fn table<'py, S: Score>(
    py: Python<'py>,
    positive: &[bool],
    scores: &[S],
    weights: Option<&[f64]>,
) -> PyResult<TableColumns<'py>> {
    let ends = checked_ends(py, scores)?;
    same_length("score", scores.len(), positive.len())?;
    let Some(weights) = weights else {
        let of = (scores, ends, positive, |_: usize| 0.0);
        let [scores, positive, negative] = summed(py, of, 0, count)?;
        return Ok((scores, positive, negative, None, None));
    };
    same_length("weight", weights.len(), positive.len())?;
    detached(py, [weights.len()], |crew| {
        check_values(crew, "weight", weights, 0.0)
    })??;
    let of = (scores, ends, positive, |row: usize| weights[row]);
    let [scores, positive, negative, squares @ ..] = summed(py, of, weights.len(), weigh)?;
    let [of_positive, of_negative] = squares.map(Some);
    Ok((scores, positive, negative, of_positive, of_negative))
}

/// The columns of a table, as `fill` makes them of the rows in order: of so many of them the load is
/// kept, which is all or none.
fn summed<'py, S: Score, const N: usize>(
    py: Python<'py>,
    (scores, ends, positive, load): (&[S], [u64; 2], &[bool], impl Fn(usize) -> f64 + Sync + Send),
    laden: usize,
    fill: fn(&Part<S, f64>, &mut [&mut [f64]; N]),
) -> PyResult<[Column<'py>; N]> {
    let keys = line_of_zeros::<S::Held>(py, scores.len())?;
    let loads = line_of_zeros::<f64>(py, laden)?;
    let (mut keys, mut loads) = (keys.readwrite(), loads.readwrite());
    let (keys, loads) = (keys.as_slice_mut()?, loads.as_slice_mut()?);
    let parts = detached(py, [scores.len(), TO_SORT], |crew| {
        let bit = |row: usize| positive[row];
        descending(crew, scores, ends, bit, load, keys, loads)
    })?;
    let distinct = parts.iter().map(|part| part.distinct).sum();
    let columns = (0..N).map(|_| line_of_zeros::<f64>(py, distinct));
    let columns: Vec<_> = columns.collect::<PyResult<_>>()?;
    let columns: [Column; N] = columns.try_into().expect("as many as there are");
    {
        let mut lines = columns.each_ref().map(PyArrayMethods::readwrite);
        let mut rooms = Vec::with_capacity(N);
        for line in &mut lines {
            rooms.push(line.as_slice_mut()?);
        }
        let rooms: [&mut [f64]; N] = rooms.try_into().expect("as many as there are");
        detached(py, [scores.len(), TO_SORT], |crew| {
            filled_by_part(crew, &parts, rooms, fill);
        })?;
    }
    Ok(columns)
}

/// The columns of a table of scores, as Python gets them.
pub fn table_columns(
    py: Python<'_>,
    scores: Vec<f64>,
    sums: [Vec<f64>; 2],
    squares: [Option<Vec<f64>>; 2],
) -> TableColumns<'_> {
    let [positive, negative] = sums.map(|column| column.into_pyarray(py));
    let [of_positive, of_negative] = squares.map(|column| column.map(|c| c.into_pyarray(py)));
    (
        scores.into_pyarray(py),
        positive,
        negative,
        of_positive,
        of_negative,
    )
}

/// `order_descending(score)`: the rows by descending score, those of equal score in input order.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn order_descending<'py>(
    py: Python<'py>,
    score: Scores<'py>,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    match &score {
        Scores::Double(scores) => order(py, &contiguous(scores)),
        Scores::Single(scores) => order(py, &contiguous(scores)),
    }
}

fn order<'py, S: Score>(py: Python<'py>, scores: &[S]) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let ends = checked_ends(py, scores)?;
    let keys = line_of_zeros::<S::Held>(py, scores.len())?;
    let rows = line_of_zeros::<u32>(py, scores.len())?;
    let ordered = line_of_zeros::<u32>(py, scores.len())?;
    {
        let (mut keys, mut rows) = (keys.readwrite(), rows.readwrite());
        let (keys, rows) = (keys.as_slice_mut()?, rows.as_slice_mut()?);
        let mut ordered = ordered.readwrite();
        let mut rest = ordered.as_slice_mut()?;
        detached(py, [scores.len(), TO_SORT], |crew| {
            let row = |row: usize| row as u32;
            for part in descending(crew, scores, ends, |_| false, row, keys, rows) {
                crew.check();
                for rows in part.loads {
                    let (here, others) = rest.split_at_mut(rows.len());
                    here.copy_from_slice(rows);
                    rest = others;
                }
            }
        })?;
    }
    Ok(ordered)
}

/// `sweep_scores(positive_weight, negative_weight)`: AUC, PR-AUC and AP of a score table.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn sweep_scores(
    py: Python<'_>,
    positive_weight: PyReadonlyArray1<'_, f64>,
    negative_weight: PyReadonlyArray1<'_, f64>,
) -> PyResult<(f64, f64, f64)> {
    let positive = contiguous(&positive_weight);
    let negative = contiguous(&negative_weight);
    same_length("negative_weight", negative.len(), positive.len())?;
    Ok(detached(py, [positive.len()], |crew| {
        sweep(crew, &positive, &negative)
    })?
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::tested;

    fn swept(positive: &[f64], negative: &[f64]) -> [f64; 3] {
        tested(|crew| sweep(crew, positive, negative))
    }

    fn close(left: [f64; 3], right: [f64; 3]) -> bool {
        left.iter()
            .zip(right)
            .all(|(left, right)| (left - right).abs() < 1e-9)
    }

    #[test]
    fn areas_of_hanley_and_mcneil() {
        let areas = swept(&[33.0, 11.0, 2.0, 2.0, 3.0], &[2.0, 11.0, 6.0, 6.0, 33.0]);
        assert!(close(
            areas,
            [0.893_171_061_5, 0.880_086_459_8, 0.857_639_933_7]
        ));
    }

    #[test]
    fn a_constant_scorer_gets_the_prevalence() {
        assert!(close(swept(&[3.0], &[9.0]), [0.5, 0.25, 0.25]));
        assert!(swept(&[3.0], &[0.0])[0].is_nan());
    }

    #[test]
    fn the_series_meets_the_logarithm() {
        let limit = 0.02_f64;
        assert!((share_of_block(limit) - (1.0 - limit.ln_1p() / limit)).abs() < 1e-14);
    }
}
