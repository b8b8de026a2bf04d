//! Binary truth against scores: the table of distinct scores, the stable descending order, and the
//! areas under the ROC and the precision–recall curve in one sweep.

use std::borrow::Cow;

use numpy::{Element, IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::line_of_zeros;
use crate::parallel::{Chunks, Crew, detached};

// ---------------------------------------------------------------------------------------- order

const SIGN: u64 = 1 << 63;

/// An integer that ascends while the score descends; adding 0.0 turns -0.0 into 0.0.
#[inline]
fn key_of(score: f64) -> u64 {
    let bits = (score + 0.0).to_bits();
    if bits & SIGN == 0 {
        !(bits | SIGN)
    } else {
        bits
    }
}

#[inline]
fn score_of(key: u64) -> f64 {
    f64::from_bits(if key & SIGN == 0 { !(key | SIGN) } else { key })
}

/// Steps that it takes to sort a row.
const TO_SORT: usize = 8;

/// So many rows are taken at a time where nothing asks for fewer.
const ROWS: usize = 1 << 14;

/// (key, row) by descending score. The row breaks ties, which makes an unstable sort a stable one.
fn descending(crew: Crew, scores: &[f64]) -> Vec<(u64, u32)> {
    let mut order = vec![(0, 0); scores.len()];
    crew.map(
        (Chunks(&mut order[..], ROWS), Chunks(scores, ROWS)),
        |part, (order, scores)| {
            let rows = (part * ROWS) as u32..;
            for ((to, &score), row) in order.iter_mut().zip(scores).zip(rows) {
                *to = (key_of(score), row);
            }
        },
    );
    crew.sort(&mut order);
    order
}

// ---------------------------------------------------------------------------------------- table

/// The distinct scores, descending, and the weight of either class at each.
pub struct Table {
    pub scores: Vec<f64>,
    pub positive: Vec<f64>,
    pub negative: Vec<f64>,
    /// Sums of the squared weights of either class.
    pub squares: [Vec<f64>; 2],
}

impl Table {
    /// Of columns with room for as many distinct scores as there are rows.
    fn of_first(
        distinct: usize,
        scores: Vec<f64>,
        sums: [Vec<f64>; 2],
        squares: [Vec<f64>; 2],
    ) -> Self {
        let cut = |mut column: Vec<f64>| {
            column.truncate(distinct);
            column.shrink_to_fit();
            column
        };
        let [positive, negative] = sums.map(cut);
        Self {
            scores: cut(scores),
            positive,
            negative,
            squares: squares.map(cut),
        }
    }
}

/// A key that no finite score has.
const END: u64 = u64::MAX;

/// Room for the keys of one class and `END` after them.
fn class_size(class: bool, positive: &[bool]) -> usize {
    positive.iter().filter(|&&of| of == class).count() + 1
}

/// The keys of the scores of one class, and `END` after them, into `keys`, which has that room.
fn keys_of_class(crew: Crew, class: bool, positive: &[bool], scores: &[f64], keys: &mut [u64]) {
    let mut filled = 0;
    for (positive, scores) in positive.chunks(ROWS).zip(scores.chunks(ROWS)) {
        crew.check();
        for (&positive, &score) in positive.iter().zip(scores) {
            // Each key is written before it is known to belong here: no branch on a label, which nobody
            // can predict. The last place takes what does not.
            keys[filled] = key_of(score);
            filled += usize::from(positive == class);
        }
    }
    keys[filled] = END;
}

/// The columns of a table without weights, from the sorted keys of each class, and how many distinct
/// scores there are. (Sorting each class by itself needs no labels beside the keys.)
fn merge(crew: Crew, positives: &[u64], negatives: &[u64], columns: [&mut [f64]; 3]) -> usize {
    let [scores, positive_sums, negative_sums] = columns;
    let (mut p, mut n, mut distinct) = (0, 0, 0);
    let (mut before, mut positive, mut negative) = (END, 0_u32, 0_u32);
    for rows in crew.pieces(0..scores.len(), ROWS) {
        for _ in rows {
            let is_positive = positives[p] <= negatives[n];
            let key = positives[p].min(negatives[n]);
            let same = u32::from(key == before);
            before = key;
            positive = positive * same + u32::from(is_positive);
            negative = negative * same + u32::from(!is_positive);
            distinct += 1 - same as usize;
            scores[distinct - 1] = score_of(key);
            positive_sums[distinct - 1] = f64::from(positive);
            negative_sums[distinct - 1] = f64::from(negative);
            p += usize::from(is_positive);
            n += usize::from(!is_positive);
        }
    }
    distinct
}

/// The same on two threads, one for the scores above some score and one for the others.
fn merge_halves(
    crew: Crew,
    positives: &[u64],
    negatives: &[u64],
    mut columns: [&mut [f64]; 3],
) -> usize {
    let more = positives.len().max(negatives.len());
    let middle = if positives.len() == more {
        positives[more / 2]
    } else {
        negatives[more / 2]
    };
    let [p, n] = [positives, negatives].map(|keys| keys.partition_point(|&key| key < middle));
    let (upper, lower) = {
        let halves = columns.each_mut().map(|column| column.split_at_mut(p + n));
        let [scores, positive, negative] = halves;
        crew.join(
            || {
                merge(
                    crew,
                    positives,
                    negatives,
                    [scores.0, positive.0, negative.0],
                )
            },
            || {
                merge(
                    crew,
                    &positives[p..],
                    &negatives[n..],
                    [scores.1, positive.1, negative.1],
                )
            },
        )
    };
    // Scores that stood there more than once have left room between the halves.
    for column in &mut columns {
        column.copy_within(p + n..p + n + lower, upper);
    }
    upper + lower
}

/// Weights add up in the order of the input within a block of equal scores.
pub fn weighted_table(crew: Crew, positive: &[bool], scores: &[f64], weights: &[f64]) -> Table {
    let order = descending(crew, scores);
    let column = || vec![0.0; order.len()];
    let (mut scores, mut sums) = (column(), [column(), column()]);
    let mut squares = [column(), column()];
    let (mut before, mut distinct) = (END, 0);
    for &(key, row) in crew.watched(&order) {
        let row = row as usize;
        distinct += usize::from(key != before);
        before = key;
        let (class, weight) = (usize::from(!positive[row]), weights[row]);
        scores[distinct - 1] = score_of(key);
        sums[class][distinct - 1] += weight;
        squares[class][distinct - 1] += weight * weight;
    }
    Table::of_first(distinct, scores, sums, squares)
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
pub(crate) fn check_values(
    crew: Crew,
    name: &str,
    values: &[f64],
    lowest: f64,
) -> Result<(), Invalid> {
    let fault = |value: f64| match value {
        _ if value.is_nan() => Some("NaN"),
        _ if value.is_infinite() => Some("infinite"),
        _ if value < lowest => Some("negative"),
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

/// Scores of double precision, or of single precision to be widened.
#[derive(FromPyObject)]
pub enum Scores<'py> {
    Double(PyReadonlyArray1<'py, f64>),
    Single(PyReadonlyArray1<'py, f32>),
}

impl Scores<'_> {
    fn checked(&self, py: Python<'_>) -> PyResult<Cow<'_, [f64]>> {
        let (double, single) = match self {
            Self::Double(scores) => (contiguous(scores), None),
            Self::Single(scores) => (vec![0.0; scores.len()?].into(), Some(contiguous(scores))),
        };
        if u32::try_from(double.len()).is_err() {
            return Err(PyValueError::new_err("score has more than 4294967295 rows"));
        }
        Ok(detached(py, [double.len()], |crew| {
            let mut scores = double;
            if let Some(single) = &single {
                let wide = (
                    Chunks(scores.to_mut().as_mut_slice(), ROWS),
                    Chunks(&single[..], ROWS),
                );
                crew.map(wide, |_, (wide, single)| {
                    for (to, &score) in wide.iter_mut().zip(single) {
                        *to = score.into();
                    }
                });
            }
            check_values(crew, "score", &scores, f64::MIN).map(|()| scores)
        })??)
    }
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
    let scores = score.checked(py)?;
    let weights = weight.as_ref().map(contiguous);
    same_length("score", scores.len(), positive.len())?;
    if let Some(weights) = &weights {
        same_length("weight", weights.len(), positive.len())?;
        detached(py, [weights.len()], |crew| {
            check_values(crew, "weight", weights, 0.0)
        })??;
    }
    let Some(weights) = &weights else {
        return counted_columns(py, &positive, &scores);
    };
    let table = detached(py, [scores.len(), TO_SORT], |crew| {
        weighted_table(crew, &positive, &scores, weights)
    })?;
    let sums = [table.positive, table.negative];
    Ok(table_columns(
        py,
        table.scores,
        sums,
        table.squares.map(Some),
    ))
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

/// The table of rows without weights.
fn counted_columns<'py>(
    py: Python<'py>,
    positive: &[bool],
    scores: &[f64],
) -> PyResult<TableColumns<'py>> {
    let keys = [
        line_of_zeros::<u64>(py, class_size(true, positive))?,
        line_of_zeros(py, class_size(false, positive))?,
    ];
    let columns = [
        line_of_zeros::<f64>(py, scores.len())?,
        line_of_zeros(py, scores.len())?,
        line_of_zeros(py, scores.len())?,
    ];
    let distinct = {
        let [mut of_positives, mut of_negatives] =
            keys.each_ref().map(numpy::PyArrayMethods::readwrite);
        let [mut a, mut b, mut c] = columns.each_ref().map(numpy::PyArrayMethods::readwrite);
        let (positives, negatives) = (of_positives.as_slice_mut()?, of_negatives.as_slice_mut()?);
        let columns = [a.as_slice_mut()?, b.as_slice_mut()?, c.as_slice_mut()?];
        detached(py, [scores.len(), TO_SORT], |crew| {
            let sorted = |class, keys: &mut [u64]| {
                keys_of_class(crew, class, positive, scores, keys);
                crew.sort(keys);
            };
            crew.join(|| sorted(true, positives), || sorted(false, negatives));
            merge_halves(crew, positives, negatives, columns)
        })?
    };
    let [scores, positive, negative] = columns.map(|column| first(column, distinct));
    Ok((scores?, positive?, negative?, None, None))
}

/// The first values of a column, the column itself where that is all of them.
fn first(column: Column<'_>, count: usize) -> PyResult<Column<'_>> {
    if column.len()? == count {
        return Ok(column);
    }
    let values = column.readonly().as_slice()?[..count].to_vec();
    Ok(values.into_pyarray(column.py()))
}

/// `order_descending(score)`: the rows by descending score, those of equal score in input order.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn order_descending<'py>(
    py: Python<'py>,
    score: Scores<'py>,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let scores = score.checked(py)?;
    let rows = detached(py, [scores.len(), TO_SORT], |crew| -> Vec<_> {
        let order = descending(crew, &scores);
        crew.watched(order.into_iter().map(|(_, row)| row))
            .collect()
    })?;
    Ok(rows.into_pyarray(py))
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
        let keys = scores.map(key_of);
        assert!(keys.is_sorted());
        assert_eq!(
            keys.map(|key| score_of(key).to_bits()),
            scores.map(f64::to_bits)
        );
        assert_eq!(key_of(-0.0), key_of(0.0));
        assert!(key_of(f64::MIN) < END);
    }

    #[test]
    fn unit_weights_count() {
        let positive = [true, false, true, true, false, false];
        let scores = [0.5, 0.5, -0.0, 0.0, 2.0, -1.0];
        let [positives, negatives] = [true, false].map(|class| {
            let mut keys = vec![0; class_size(class, &positive)];
            tested(|crew| keys_of_class(crew, class, &positive, &scores, &mut keys));
            keys.sort_unstable();
            keys
        });
        let mut columns = [[0.0; 6]; 3];
        let distinct = tested(|crew| {
            let columns = columns.each_mut().map(|c| &mut c[..]);
            merge(crew, &positives, &negatives, columns)
        });
        let counted = columns.each_ref().map(|column| &column[..distinct]);
        assert_eq!(counted[0], [2.0, 0.5, 0.0, -1.0]);
        assert_eq!(counted[1], [0.0, 1.0, 2.0, 0.0]);
        assert_eq!(counted[2], [1.0, 1.0, 0.0, 1.0]);
        let weighted = tested(|crew| weighted_table(crew, &positive, &scores, &[2.0; 6]));
        assert_eq!(weighted.scores, counted[0]);
        assert_eq!(weighted.positive, [0.0, 2.0, 4.0, 0.0]);
        assert_eq!(weighted.squares[1], [4.0, 4.0, 0.0, 4.0]);
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
