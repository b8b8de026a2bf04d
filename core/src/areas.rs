//! How much rows move the areas under the ROC and the precision–recall curve, and how far those
//! vary: loops over the blocks of tied scores of one table.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::parallel::detached;
use crate::scores::{TableColumns, contiguous, same_length, table_columns};

/// Sums are taken over so many addends at a time, so that long ones lose no digits.
const ADDENDS: usize = 64;

/// A running sum.
#[derive(Clone, Copy, Default)]
struct Sum {
    total: f64,
    part: f64,
    addends: usize,
}

impl Sum {
    #[inline]
    fn add(&mut self, value: f64) {
        self.part += value;
        self.addends += 1;
        if self.addends == ADDENDS {
            self.total += self.part;
            self.part = 0.0;
            self.addends = 0;
        }
    }

    #[inline]
    fn get(&self) -> f64 {
        self.total + self.part
    }
}

/// An area that is a sum over blocks of g(T, F, t, f)/P, with T positives and F negatives above a
/// block, t and f in it, and P positives in all.
#[derive(Clone, Copy)]
enum Area {
    /// AP: t times the precision below the block.
    Steps,
    /// PR-AUC: t times the mean precision above and below, and a crossing where classes are tied.
    Trapezoids,
    /// Davis and Goadrich: both classes grow evenly in a block.
    Crossings,
}

impl Area {
    fn named(name: &str) -> PyResult<Self> {
        match name {
            "AP" => Ok(Self::Steps),
            "PR-AUC" => Ok(Self::Trapezoids),
            "AP-DG" => Ok(Self::Crossings),
            _ => Err(PyValueError::new_err(format!("{name} is no such area"))),
        }
    }

    /// A block without positives adds nothing, whatever is above it.
    #[inline]
    fn of(self, up: f64, uf: f64, t: f64, f: f64) -> Block {
        match self {
            Self::Steps => step(up, uf, t, f),
            Self::Trapezoids if f == 0.0 => trapezoid(up, uf, t),
            Self::Trapezoids | Self::Crossings => crossing(up, uf, t, f),
        }
    }
}

/// What a block with positives adds, and the derivatives of that by the positives and negatives
/// above it and by its own.
#[derive(Clone, Copy)]
struct Block {
    value: f64,
    above: [f64; 2],
    own: [f64; 2],
}

/// t times the precision below the block, (T + t)/(T + F + t + f).
#[inline]
fn step(up: f64, uf: f64, t: f64, f: f64) -> Block {
    let (tp, fp) = (up + t, uf + f);
    let part = 1.0 / (tp + fp);
    let precision = tp * part;
    let (rise, fall) = (t * fp * part * part, -t * precision * part);
    Block {
        value: t * precision,
        above: [rise, fall],
        own: [precision + rise, fall],
    }
}

/// t times the mean of the precisions above and below a block of positives.
#[inline]
fn trapezoid(up: f64, uf: f64, t: f64) -> Block {
    let before = up + uf;
    if before <= 0.0 {
        return Block {
            value: t,
            above: [0.0; 2],
            own: [1.0, 0.0],
        };
    }
    let (first, last) = (1.0 / before, 1.0 / (before + t));
    let (above, below) = (up * first, (up + t) * last);
    let (mean, half) = (f64::midpoint(above, below), t / 2.0);
    Block {
        value: t * mean,
        above: [
            half * uf * (first * first + last * last),
            -half * (above * first + below * last),
        ],
        own: [mean + half * uf * last * last, 0.0],
    }
}

/// t/a − b/a²·L, where a = 1 + f/t, b = F − T·f/t and L = ln(1 + (t + f)/(T + F)); t/a in the first
/// block.
fn crossing(up: f64, uf: f64, t: f64, f: f64) -> Block {
    let before = up + uf;
    let a = 1.0 + f / t;
    // The derivatives of a by t and by f.
    let slopes = [-f / (t * t), 1.0 / t];
    if before <= 0.0 {
        return Block {
            value: t / a,
            above: [0.0; 2],
            own: [1.0 / a - t / (a * a) * slopes[0], -t / (a * a) * slopes[1]],
        };
    }
    let b = uf - up * f / t;
    let after = before + t + f;
    let grown = ((t + f) / before).ln_1p();
    let part = b / (a * a);
    let through_a = -t / (a * a) + 2.0 * part * grown / a;
    let through_b = -grown / (a * a);
    // −∂L/∂(T + F), and ∂L/∂(t + f).
    let (lengthened, extended) = ((t + f) / (before * after), 1.0 / after);
    Block {
        value: t / a - part * grown,
        above: [
            part * lengthened - through_b * f / t,
            part * lengthened + through_b,
        ],
        own: [
            1.0 / a - part * extended + through_a * slopes[0] - through_b * up * slopes[0],
            through_a * slopes[1] - through_b * up * slopes[1] - part * extended,
        ],
    }
}

/// The area, and how much a row of either class at each score moves it, which `each` is given:
/// what it does to its own block and, as one more above them, to all blocks below, less its share
/// of the positives.
fn moved(
    area: Area,
    [positive, negative]: [&[f64]; 2],
    mut each: impl FnMut(usize, [f64; 2]),
) -> f64 {
    let blocks = || positive.iter().copied().zip(negative.iter().copied());
    let ([mut up, mut uf], mut value, mut below) = ([0.0; 2], Sum::default(), [Sum::default(); 2]);
    for (t, f) in blocks() {
        if t > 0.0 {
            let block = area.of(up, uf, t, f);
            value.add(block.value);
            below[0].add(block.above[0]);
            below[1].add(block.above[1]);
        }
        up += t;
        uf += f;
    }
    let (total, value) = (up, value.get() / up);
    let below = below.map(|sum| sum.get());
    let mut passed = [Sum::default(); 2];
    (up, uf) = (0.0, 0.0);
    for (place, (t, f)) in blocks().enumerate() {
        let mut own = [0.0; 2];
        if t > 0.0 {
            let block = area.of(up, uf, t, f);
            passed[0].add(block.above[0]);
            passed[1].add(block.above[1]);
            own = block.own;
        }
        let of_positive = own[0] + (below[0] - passed[0].get()) - value;
        let of_negative = own[1] + (below[1] - passed[1].get());
        each(place, [of_positive / total, of_negative / total]);
        up += t;
        uf += f;
    }
    value
}

/// A block with positives: the weights above it and its own, the squares of its own, and those of
/// the negatives between it and the one above.
struct Step {
    above: [f64; 2],
    own: [f64; 2],
    squares: [f64; 2],
    between: f64,
}

/// A table of scores by its blocks with positives, since negatives in between are all moved alike.
struct Steps {
    blocks: Vec<Step>,
    /// The squares of the negatives below the last of them.
    below: f64,
    weight: [f64; 2],
    squares: [f64; 2],
}

impl Steps {
    fn of([positive, negative, positive_squares, negative_squares]: [&[f64]; 4]) -> Self {
        let (mut above, mut squares, mut between) = ([0.0; 2], [0.0; 2], 0.0);
        let mut steps = Vec::with_capacity(positive.iter().filter(|&&t| t > 0.0).count());
        for place in 0..positive.len() {
            let own = [positive[place], negative[place]];
            let of_own = [positive_squares[place], negative_squares[place]];
            if own[0] > 0.0 {
                steps.push(Step {
                    above,
                    own,
                    squares: of_own,
                    between,
                });
                between = 0.0;
            } else {
                between += of_own[1];
            }
            for class in 0..2 {
                above[class] += own[class];
                squares[class] += of_own[class];
            }
        }
        Self {
            blocks: steps,
            below: between,
            weight: above,
            squares,
        }
    }

    /// The standard error, from Σ(weight·moved)² over the rows of each class, with n/(n − 1) for
    /// their effective number n; NaN where a class has one row or none.
    fn error(&self, sums: [f64; 2]) -> f64 {
        let variance = |class: usize| {
            let n = self.weight[class] * self.weight[class] / self.squares[class];
            if n > 1.0 {
                sums[class] * (n / (n - 1.0))
            } else {
                f64::NAN
            }
        };
        (variance(0) + variance(1)).sqrt()
    }

    /// An area and its standard error.
    fn spread(&self, area: Area) -> (f64, f64) {
        let block = |step: &Step| area.of(step.above[0], step.above[1], step.own[0], step.own[1]);
        let (mut value, mut below) = (0.0, [0.0; 2]);
        for steps in self.blocks.chunks(ADDENDS) {
            let (mut of_value, mut of_below) = (0.0, [0.0; 2]);
            for step in steps {
                let block = block(step);
                of_value += block.value;
                of_below[0] += block.above[0];
                of_below[1] += block.above[1];
            }
            value += of_value;
            below[0] += of_below[0];
            below[1] += of_below[1];
        }
        let total = self.weight[0];
        value /= total;
        let (mut passed, mut sums) = ([0.0; 2], [0.0; 2]);
        for steps in self.blocks.chunks(ADDENDS) {
            let (mut of_passed, mut of_sums) = ([0.0; 2], [0.0; 2]);
            for step in steps {
                let block = block(step);
                let negative = below[1] - (passed[1] + of_passed[1]);
                of_sums[1] += step.between * negative * negative;
                of_passed[0] += block.above[0];
                of_passed[1] += block.above[1];
                let positive = block.own[0] + (below[0] - (passed[0] + of_passed[0])) - value;
                of_sums[0] += step.squares[0] * positive * positive;
                let negative = block.own[1] + (below[1] - (passed[1] + of_passed[1]));
                of_sums[1] += step.squares[1] * negative * negative;
            }
            for class in 0..2 {
                passed[class] += of_passed[class];
                sums[class] += of_sums[class];
            }
        }
        (value, self.error(sums.map(|sum| sum / (total * total))))
    }

    /// The AUC and `DeLong`'s standard error of it.
    fn delong(&self) -> (f64, f64) {
        let [positives, negatives] = self.weight;
        let (mut won, mut lost) = (0.0, 0.0);
        for steps in self.blocks.chunks(ADDENDS) {
            let (mut of_won, mut of_lost) = (0.0, 0.0);
            for &Step { above, own, .. } in steps {
                of_won += own[0] * (negatives - (above[1] + own[1]) + own[1] / 2.0);
                of_lost += own[0] * (above[1] + own[1] / 2.0);
            }
            won += of_won;
            lost += of_lost;
        }
        // Not over P·N, whose rounding would leave separated classes of fractional weight off 1.
        let value = won / (won + lost);
        let [share, other] = self.weight.map(f64::recip);
        let mut sums = [0.0, self.below * (1.0 - value) * (1.0 - value)];
        for steps in self.blocks.chunks(ADDENDS) {
            let mut of_sums = [0.0; 2];
            for step in steps {
                let ([up, uf], [t, f]) = (step.above, step.own);
                let beaten = 1.0 - (uf + f / 2.0) * other - value;
                let (beating, tied) = (up * share - value, (up + t / 2.0) * share - value);
                of_sums[0] += step.squares[0] * beaten * beaten;
                of_sums[1] += step.between * beating * beating + step.squares[1] * tied * tied;
            }
            sums[0] += of_sums[0];
            sums[1] += of_sums[1];
        }
        let of_class = [
            sums[0] / (positives * positives),
            sums[1] / (negatives * negatives),
        ];
        (value, self.error(of_class))
    }
}

/// `area_errors(names, positive, negative, positive_squares, negative_squares)`: AUC, PR-AUC, AP or
/// AP-DG of a table of scores, each with its standard error from the influence of rows.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn area_errors(
    py: Python<'_>,
    names: Vec<String>,
    positive: PyReadonlyArray1<'_, f64>,
    negative: PyReadonlyArray1<'_, f64>,
    positive_squares: PyReadonlyArray1<'_, f64>,
    negative_squares: PyReadonlyArray1<'_, f64>,
) -> PyResult<Vec<(f64, f64)>> {
    let columns = [positive, negative, positive_squares, negative_squares];
    let columns = columns.each_ref().map(contiguous);
    for column in &columns[1..] {
        same_length("a column", column.len(), columns[0].len())?;
    }
    // None is the AUC.
    let areas = names.iter().map(|name| match name.as_str() {
        "AUC" => Ok(None),
        _ => Area::named(name).map(Some),
    });
    let areas = areas.collect::<PyResult<Vec<_>>>()?;
    detached(py, [columns[0].len(), areas.len()], |crew| {
        let steps = Steps::of(columns.each_ref().map(|column| &**column));
        let found = areas.into_iter().map(|area| {
            crew.check();
            match area {
                Some(area) => steps.spread(area),
                None => steps.delong(),
            }
        });
        found.collect()
    })
}

type Influence<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// `area_influence(name, positive, negative, scores)`: how much a row of either class at each score
/// moves PR-AUC, AP or AP-DG, of tables of so many scores one after the other.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn area_influence<'py>(
    py: Python<'py>,
    name: &str,
    positive: PyReadonlyArray1<'py, f64>,
    negative: PyReadonlyArray1<'py, f64>,
    scores: usize,
) -> PyResult<Influence<'py>> {
    let area = Area::named(name)?;
    let (positive, negative) = (contiguous(&positive), contiguous(&negative));
    same_length("negative", negative.len(), positive.len())?;
    let found = detached(py, [positive.len()], |crew| {
        let mut found = [vec![0.0; positive.len()], vec![0.0; positive.len()]];
        let width = scores.max(1);
        let tables = positive.chunks(width).zip(negative.chunks(width));
        for (number, (positive, negative)) in tables.enumerate() {
            crew.check();
            moved(area, [positive, negative], |place, moved| {
                for (column, moved) in found.iter_mut().zip(moved) {
                    column[number * width + place] = moved;
                }
            });
        }
        found
    })?;
    let [positive, negative] = found.map(|column| column.into_pyarray(py));
    Ok((positive, negative))
}

// ----------------------------------------------------------------------------------- other parts

/// The table of the rows of all parts but one.
fn without(
    scores: &[f64],
    [positive, last]: [&[bool]; 2],
    part_of: &[u8],
    weight: Option<&[f64]>,
    part: u8,
) -> (Vec<f64>, [Vec<f64>; 2], [Vec<f64>; 2]) {
    let room = || Vec::with_capacity(scores.len());
    let (mut kept, mut sums) = (room(), [room(), room()]);
    let mut squares = match weight {
        Some(_) => [room(), room()],
        None => [Vec::new(), Vec::new()],
    };
    let (mut at, mut some) = (0, false);
    let (mut sum, mut square) = ([0.0; 2], [0.0; 2]);
    for row in 0..positive.len() {
        if part_of[row] != part {
            let class = usize::from(!positive[row]);
            let weight = weight.map_or(1.0, |weight| weight[row]);
            sum[class] += weight;
            square[class] += weight * weight;
            some = true;
        }
        if last[row] {
            if some {
                kept.push(scores[at]);
                for class in 0..2 {
                    sums[class].push(sum[class]);
                    if weight.is_some() {
                        squares[class].push(square[class]);
                    }
                }
                (sum, square, some) = ([0.0; 2], [0.0; 2], false);
            }
            at += 1;
        }
    }
    (kept, sums, squares)
}

/// `score_table_without(scores, positive, last, part_of, weight, part)`: what `score_table` makes of
/// the rows of all parts but one, from the rows by descending score: their class, whether each is
/// the last of its score, its part and its weight; `scores` are those of all rows.
#[pyfunction]
#[pyo3(signature = (scores, positive, last, part_of, weight, part))]
#[allow(clippy::needless_pass_by_value)]
pub fn score_table_without<'py>(
    py: Python<'py>,
    scores: PyReadonlyArray1<'py, f64>,
    positive: PyReadonlyArray1<'py, bool>,
    last: PyReadonlyArray1<'py, bool>,
    part_of: PyReadonlyArray1<'py, u8>,
    weight: Option<PyReadonlyArray1<'py, f64>>,
    part: u8,
) -> PyResult<TableColumns<'py>> {
    let (scores, positive, last) = (
        contiguous(&scores),
        contiguous(&positive),
        contiguous(&last),
    );
    let (part_of, weight) = (contiguous(&part_of), weight.as_ref().map(contiguous));
    same_length("last", last.len(), positive.len())?;
    same_length("part_of", part_of.len(), positive.len())?;
    if let Some(weight) = &weight {
        same_length("weight", weight.len(), positive.len())?;
    }
    if last.iter().filter(|&&last| last).count() != scores.len() {
        return Err(PyValueError::new_err(
            "scores and their last rows do not match",
        ));
    }
    let (scores, sums, squares) = detached(py, [positive.len()], |_| {
        without(
            &scores,
            [&positive, &last],
            &part_of,
            weight.as_deref(),
            part,
        )
    })?;
    let weighted = weight.is_some();
    let squares = squares.map(|column| weighted.then_some(column));
    Ok(table_columns(py, scores, sums, squares))
}
