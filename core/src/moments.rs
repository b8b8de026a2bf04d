//! Sums over rows in one reading of them: moments of numbers and of a value per row.
//!
//! Each of them is added up in pairs, halves of halves, by places that depend on the number of rows
//! alone: so it neither loses digits with the rows nor depends on the threads.

use numpy::{PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::arrays::{Line, line_of_zeros};
use crate::parallel::{Chunks, Crew, detached};
use crate::scores::{contiguous, same_length};

/// So many rows are one piece of work.
const PIECE: usize = 1 << 14;
/// So many rows are added up one after the other, in as many lanes.
const RUN: usize = 1 << 8;
const LANES: usize = 4;
/// So many rows are put into bins one after the other.
const BINNED: usize = 1 << 17;
/// So many values tell roughly where the mean is.
const SAMPLE: usize = 64;

/// The sums of what `each` makes of the rows of some columns of the same length.
fn summed<const C: usize, const K: usize>(
    crew: Crew,
    columns: [&[f64]; C],
    each: impl Fn([f64; C]) -> [f64; K] + Sync + Send,
) -> [f64; K] {
    let pieces = columns[0].len().div_ceil(PIECE);
    let parts = crew.map(0..pieces, |piece, _| {
        let start = piece * PIECE;
        let of = columns.map(|column| &column[start..column.len().min(start + PIECE)]);
        halved(of, &each)
    });
    in_pairs(&parts)
}

fn halved<const C: usize, const K: usize>(
    columns: [&[f64]; C],
    each: &impl Fn([f64; C]) -> [f64; K],
) -> [f64; K] {
    let rows = columns[0].len();
    if rows > RUN {
        let half = (rows / 2).next_multiple_of(LANES);
        let [first, second] = [
            columns.map(|column| &column[..half]),
            columns.map(|column| &column[half..]),
        ];
        return plus(halved(first, each), halved(second, each));
    }
    let mut lanes = [[0.0; K]; LANES];
    let (whole, rest) = (rows / LANES * LANES, rows % LANES);
    for start in (0..whole).step_by(LANES) {
        let few = columns.map(|column| &column[start..start + LANES]);
        for (lane, sums) in lanes.iter_mut().enumerate() {
            *sums = plus(*sums, each(few.map(|column| column[lane])));
        }
    }
    for (lane, sums) in lanes.iter_mut().enumerate().take(rest) {
        *sums = plus(*sums, each(columns.map(|column| column[whole + lane])));
    }
    in_pairs(&lanes)
}

fn plus<const K: usize>(mut first: [f64; K], second: [f64; K]) -> [f64; K] {
    for (sum, other) in first.iter_mut().zip(second) {
        *sum += other;
    }
    first
}

fn in_pairs<const K: usize>(parts: &[[f64; K]]) -> [f64; K] {
    match parts {
        [] => [0.0; K],
        [one] => *one,
        _ => {
            let (first, second) = parts.split_at(parts.len() / 2);
            plus(in_pairs(first), in_pairs(second))
        }
    }
}

/// A number near the mean, if neither few rows nor an order of the rows mislead: the mean of so many
/// values that stand far from each other.
fn near(values: &[f64]) -> f64 {
    let step = values.len().div_ceil(SAMPLE).max(1);
    let few = values.iter().step_by(step);
    let (count, sum) = few.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    sum / f64::max(count, 1.0)
}

/// Whether what a sum of squares loses, where the mean is not where it was looked for, is at most half
/// of it: one digit.
fn is_near(squares: f64, loss: f64) -> bool {
    squares.is_finite() && loss <= squares / 2.0
}

/// Σw, Σw², the weighted means of y, p and r = p − y, and the central sums of yy, pp, rr and yp.
type NumberSums = (f64, f64, [f64; 3], [f64; 4]);

/// Of rows whose first two columns are y and p: in one reading about numbers that are near the means,
/// or else in another about these. What is left about them puts the means right.
fn numbers<const C: usize>(
    crew: Crew,
    columns: [&[f64]; C],
    weight: impl Fn(&[f64; C]) -> f64 + Sync + Send,
) -> NumberSums {
    let [y, p] = [near(columns[0]), near(columns[1])];
    if let Some(sums) = numbers_about(crew, columns, &weight, [y, p, p - y], is_near) {
        return sums;
    }
    let [total, squares, y, p, r] = summed(crew, columns, |row| {
        let (w, y, p) = (weight(&row), row[0], row[1]);
        [w, w * w, w * y, w * p, w * (p - y)]
    });
    if total <= 0.0 {
        return (total, squares, [0.0; 3], [0.0; 4]);
    }
    let means = [y, p, r].map(|sum| sum / total);
    numbers_about(crew, columns, &weight, means, |_, _| true).expect("any mean will do")
}

/// The same about some numbers, if they are `close` enough: given a sum of squares about one of them,
/// and what of it belongs to the distance from the mean.
fn numbers_about<const C: usize>(
    crew: Crew,
    columns: [&[f64]; C],
    weight: &(impl Fn(&[f64; C]) -> f64 + Sync + Send),
    about: [f64; 3],
    close: impl Fn(f64, f64) -> bool,
) -> Option<NumberSums> {
    let sums = summed(crew, columns, |row| {
        let w = weight(&row);
        let [y, p, r] = [
            row[0] - about[0],
            row[1] - about[1],
            row[1] - row[0] - about[2],
        ];
        let [wy, wp, wr] = [w * y, w * p, w * r];
        [w, w * w, wy, wp, wr, wy * y, wp * p, wr * r, wy * p]
    });
    let [total, squares, y, p, r, yy, pp, rr, yp] = sums;
    if total <= 0.0 {
        return Some((total, squares, [0.0; 3], [0.0; 4]));
    }
    let off = [y, p, r].map(|sum| sum / total);
    let losses = [y * off[0], p * off[1], r * off[2]];
    let about_them = [yy, pp, rr];
    if !about_them
        .iter()
        .zip(losses)
        .all(|(&sum, loss)| close(sum, loss))
    {
        return None;
    }
    let [yy, pp, rr] = [0, 1, 2].map(|at| (about_them[at] - losses[at]).max(0.0));
    let means = [0, 1, 2].map(|at| about[at] + off[at]);
    Some((total, squares, means, [yy, pp, rr, yp - y * off[1]]))
}

/// A mean, and about it the sum of squares, what is left, and the sum of cubes.
type Spread = (f64, f64, f64, f64);

/// That of what `each` makes of the rows.
///
/// The mean is the sum of the values over their number, so that one of whole numbers is exact.
fn spread<const C: usize>(
    crew: Crew,
    columns: [&[f64]; C],
    about: f64,
    each: impl Fn([f64; C]) -> f64 + Sync + Send,
) -> Spread {
    let count = columns[0].len().max(1) as f64;
    let [sum, off, squares, cubes] = summed(crew, columns, |row| {
        let value = each(row);
        let apart = value - about;
        let square = apart * apart;
        [value, apart, square, square * apart]
    });
    let (mean, step) = (sum / count, off / count);
    if is_near(squares, off * step) {
        let rest = off - count * (mean - about);
        let cubes = cubes - 3.0 * step * squares + 2.0 * off * step * step;
        return (mean, (squares - off * step).max(0.0), rest, cubes);
    }
    let [squares, rest, cubes] = summed(crew, columns, |row| {
        let apart = each(row) - mean;
        let square = apart * apart;
        [square, apart, square * apart]
    });
    (mean, squares, rest, cubes)
}

/// `spread` of three values of each row, in one reading of them.
fn spreads<const C: usize>(
    crew: Crew,
    columns: [&[f64]; C],
    each: impl Fn([f64; C]) -> [f64; 3] + Sync + Send,
) -> [(f64, f64, f64); 3] {
    let rows = columns[0].len();
    let step = rows.div_ceil(SAMPLE).max(1);
    let few = (0..rows).step_by(step);
    let few: Vec<_> = few
        .map(|row| each(columns.map(|column| column[row])))
        .collect();
    let about = [0, 1, 2].map(|at| few.iter().map(|row| row[at]).sum::<f64>());
    let about = about.map(|sum| sum / few.len().max(1) as f64);
    let sums: [f64; 9] = summed(crew, columns, |row| {
        let values = each(row);
        let mut sums = [0.0; 9];
        for (at, value) in values.into_iter().enumerate() {
            let apart = value - about[at];
            (sums[at], sums[at + 3], sums[at + 6]) = (value, apart, apart * apart);
        }
        sums
    });
    let count = rows.max(1) as f64;
    [0, 1, 2].map(|at| {
        let (sum, off, squares) = (sums[at], sums[at + 3], sums[at + 6]);
        let (mean, loss) = (sum / count, off * (off / count));
        if is_near(squares, loss) {
            let rest = off - count * (mean - about[at]);
            (mean, (squares - loss).max(0.0), rest)
        } else {
            without_cubes(spread(crew, columns, mean, |row| each(row)[at]))
        }
    })
}

/// The number of rows of positive weight, Σw and Σw²; the weighted mean of x; and Σw(x − mean)²,
/// Σw²(x − mean)² and Σw²(x − mean).
type WeightedSums = (usize, f64, f64, f64, f64, f64, f64);

/// A row of weight 0 is no row, even where its value is infinite.
fn weighted(crew: Crew, values: &[f64], weight: &[f64]) -> WeightedSums {
    let [rows, total, squares, sum] = summed(crew, [values, weight], |[x, w]| {
        if w > 0.0 {
            [1.0, w, w * w, w * x]
        } else {
            [0.0; 4]
        }
    });
    let mean = if total > 0.0 { sum / total } else { 0.0 };
    let [m2, v2, cross] = summed(crew, [values, weight], |[x, w]| {
        if w > 0.0 {
            let deviation = x - mean;
            let first = w * deviation;
            [first * deviation, first * first, w * first]
        } else {
            [0.0; 3]
        }
    });
    (rows as usize, total, squares, mean, m2, v2, cross)
}

// ---------------------------------------------------------------------------------------- Python

/// `number_moments(truth, predicted, weight)`: Σw, Σw²; the weighted means of truth y, prediction p
/// and p − y; and the sums of their squares about these and of the product of the first two.
#[pyfunction]
#[pyo3(signature = (truth, predicted, weight=None))]
#[allow(clippy::needless_pass_by_value)]
pub fn number_moments(
    py: Python<'_>,
    truth: PyReadonlyArray1<'_, f64>,
    predicted: PyReadonlyArray1<'_, f64>,
    weight: Option<PyReadonlyArray1<'_, f64>>,
) -> PyResult<NumberSums> {
    let (truth, predicted) = (contiguous(&truth), contiguous(&predicted));
    same_length("predicted", predicted.len(), truth.len())?;
    let weight = weight.as_ref().map(contiguous);
    if let Some(weight) = &weight {
        same_length("weight", weight.len(), truth.len())?;
    }
    detached(py, [truth.len()], |crew| match &weight {
        None => numbers(crew, [&truth, &predicted], |_| 1.0),
        Some(weight) => numbers(crew, [&truth, &predicted, weight], |row| row[2]),
    })
}

/// `value_moments(values)`: their mean, and about it the sum of squares, what is left, and the sum of
/// cubes.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn value_moments(py: Python<'_>, values: PyReadonlyArray1<'_, f64>) -> PyResult<Spread> {
    let values = contiguous(&values);
    detached(py, [values.len()], |crew| {
        spread(crew, [&values], near(&values), |[value]| value)
    })
}

/// `error_moments(truth, predicted, squared)`: `value_moments` of the absolute or squared errors, without
/// the cubes. A single prediction is that of all rows.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn error_moments(
    py: Python<'_>,
    truth: PyReadonlyArray1<'_, f64>,
    predicted: PyReadonlyArray1<'_, f64>,
    squared: bool,
) -> PyResult<(f64, f64, f64)> {
    let (truth, predicted) = (contiguous(&truth), contiguous(&predicted));
    let constant = <[f64; 1]>::try_from(&*predicted);
    if constant.is_err() {
        same_length("predicted", predicted.len(), truth.len())?;
    }
    detached(py, [truth.len()], |crew| {
        let columns = [&*truth, &*predicted];
        match (constant, squared) {
            (Ok([p]), true) => errors(crew, [&*truth], |[y]| (p - y) * (p - y)),
            (Ok([p]), false) => errors(crew, [&*truth], |[y]| (p - y).abs()),
            (Err(_), true) => errors(crew, columns, |[y, p]| (p - y) * (p - y)),
            (Err(_), false) => errors(crew, columns, |[y, p]| (p - y).abs()),
        }
    })
}

fn errors<const C: usize>(
    crew: Crew,
    columns: [&[f64]; C],
    loss: impl Fn([f64; C]) -> f64 + Sync + Send,
) -> (f64, f64, f64) {
    let step = columns[0].len().div_ceil(SAMPLE).max(1);
    let rows = (0..columns[0].len()).step_by(step);
    let few: Vec<_> = rows
        .map(|row| loss(columns.map(|column| column[row])))
        .collect();
    without_cubes(spread(crew, columns, near(&few), loss))
}

fn without_cubes((mean, squares, rest, _): Spread) -> (f64, f64, f64) {
    (mean, squares, rest)
}

/// `error_differences(truth, predicted, constant, squared)`: `value_moments` of the absolute or squared
/// errors, of those of a constant prediction, and of the differences of the two, in one reading.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn error_differences(
    py: Python<'_>,
    truth: PyReadonlyArray1<'_, f64>,
    predicted: PyReadonlyArray1<'_, f64>,
    constant: f64,
    squared: bool,
) -> PyResult<[(f64, f64, f64); 3]> {
    let (truth, predicted) = (contiguous(&truth), contiguous(&predicted));
    same_length("predicted", predicted.len(), truth.len())?;
    detached(py, [truth.len(), 2], |crew| {
        let columns = [&*truth, &*predicted];
        if squared {
            let of = |y: f64, p: f64| (p - y) * (p - y);
            spreads(crew, columns, |[y, p]| {
                with_difference(of(y, p), of(y, constant))
            })
        } else {
            let of = |y: f64, p: f64| (p - y).abs();
            spreads(crew, columns, |[y, p]| {
                with_difference(of(y, p), of(y, constant))
            })
        }
    })
}

#[inline]
fn with_difference(first: f64, second: f64) -> [f64; 3] {
    [first, second, first - second]
}

/// `cube_sums(values, center, scale, weight=None)`: Σw³, Σw³d, Σw³d² and Σw³d³ of the deviations
/// d = (x − center)/scale.
#[pyfunction]
#[pyo3(signature = (values, center, scale=1.0, weight=None))]
#[allow(clippy::needless_pass_by_value)]
pub fn cube_sums(
    py: Python<'_>,
    values: PyReadonlyArray1<'_, f64>,
    center: f64,
    scale: f64,
    weight: Option<PyReadonlyArray1<'_, f64>>,
) -> PyResult<[f64; 4]> {
    let sums = move |x: f64, w: f64| {
        let deviation = (x - center) / scale;
        let first = w * w * w * deviation;
        let second = first * deviation;
        [w * w * w, first, second, second * deviation]
    };
    summed_rows(py, &values, weight.as_ref(), sums)
}

/// `shape_sums(values, center, weight=None)`: Σw|d| and the weight of d < 0 of the deviations
/// d = x − center, and Σwx² and Σwx⁴.
#[pyfunction]
#[pyo3(signature = (values, center, weight=None))]
#[allow(clippy::needless_pass_by_value)]
pub fn shape_sums(
    py: Python<'_>,
    values: PyReadonlyArray1<'_, f64>,
    center: f64,
    weight: Option<PyReadonlyArray1<'_, f64>>,
) -> PyResult<[f64; 4]> {
    let sums = move |x: f64, w: f64| {
        let (deviation, square) = (x - center, x * x);
        let below = if deviation < 0.0 { w } else { 0.0 };
        [w * deviation.abs(), below, w * square, w * square * square]
    };
    summed_rows(py, &values, weight.as_ref(), sums)
}

/// The sums of what `each` makes of a value and its weight. A row of weight 0 is no row.
fn summed_rows<const K: usize>(
    py: Python<'_>,
    values: &PyReadonlyArray1<'_, f64>,
    weight: Option<&PyReadonlyArray1<'_, f64>>,
    each: impl Fn(f64, f64) -> [f64; K] + Sync + Send,
) -> PyResult<[f64; K]> {
    let (values, weight) = (contiguous(values), weight.map(contiguous));
    if let Some(weight) = &weight {
        same_length("weight", weight.len(), values.len())?;
    }
    detached(py, [values.len()], |crew| match &weight {
        None => summed(crew, [&values], |[x]| each(x, 1.0)),
        Some(weight) => summed(crew, [&values, weight], |[x, w]| {
            if w > 0.0 { each(x, w) } else { [0.0; K] }
        }),
    })
}

/// `bin_sums(values, width, first, bins, weight=None)`: of each bin width·(first + k) ≤ x the number
/// of rows, or the sums of their weights and of the squares of these, and the sum of the weighted
/// values. Every value is in a bin, and the width is a power of two.
#[pyfunction]
#[pyo3(signature = (values, width, first, bins, weight=None))]
#[allow(clippy::needless_pass_by_value)]
pub fn bin_sums<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    width: f64,
    first: i64,
    bins: usize,
    weight: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<[Line<'py>; 3]> {
    let (values, weight) = (contiguous(&values), weight.as_ref().map(contiguous));
    if let Some(weight) = &weight {
        same_length("weight", weight.len(), values.len())?;
    }
    let sums = detached(py, [values.len()], |crew| {
        let per_width = 1.0 / width;
        let bin = |x: f64| {
            // What `floor` does takes longer where it is a function of a library. A value that is no
            // number is in the first bin.
            let place = x * per_width;
            let whole = place as i64;
            (whole - i64::from(place < whole as f64) - first) as usize
        };
        let pieces = values.len().div_ceil(BINNED);
        let sums_of = crew.map(0..pieces, |piece, _| {
            let rows = piece * BINNED..values.len().min((piece + 1) * BINNED);
            let mut sums = vec![[0.0; 3]; bins];
            match &weight {
                None => {
                    // Neighbours are often of the same bin, and would wait for each other.
                    let mut lanes = [vec![[0.0; 2]; bins], vec![[0.0; 2]; bins]];
                    let mut pairs = values[rows].chunks_exact(2);
                    for pair in &mut pairs {
                        for (lane, &x) in lanes.iter_mut().zip(pair) {
                            let sums = &mut lane[bin(x)];
                            *sums = plus(*sums, [1.0, x]);
                        }
                    }
                    for &x in pairs.remainder() {
                        let sums = &mut lanes[0][bin(x)];
                        *sums = plus(*sums, [1.0, x]);
                    }
                    let [first, second] = lanes;
                    for ((sums, first), second) in sums.iter_mut().zip(first).zip(second) {
                        let [count, total] = plus(first, second);
                        *sums = [count, count, total];
                    }
                }
                Some(weight) => {
                    let weights = &weight[rows.clone()];
                    for (&x, &w) in values[rows].iter().zip(weights) {
                        let sums = &mut sums[bin(x)];
                        *sums = plus(*sums, [w, w * w, w * x]);
                    }
                }
            }
            sums
        });
        sums_of.into_iter().reduce(|mut sums, others| {
            for (sum, other) in sums.iter_mut().zip(others) {
                *sum = plus(*sum, other);
            }
            sums
        })
    })?;
    let columns = [(); 3].map(|()| line_of_zeros::<f64>(py, bins));
    let [weights, squares, totals] = columns;
    let lines = [weights?, squares?, totals?];
    for (at, line) in lines.iter().enumerate() {
        let mut line = line.readwrite();
        for (to, from) in line.as_slice_mut()?.iter_mut().zip(sums.iter().flatten()) {
            *to = from[at];
        }
    }
    Ok(lines)
}

/// `left_out_logs(truth, predicted, about, sums, is_central, factor, weight=None)`: of each row the
/// change of log(S/T), times a factor, if the row is left out, and the largest proportion of S or T
/// that a row has. T and S are the sums of squares of truth and residuals about numbers, which are the
/// means of all rows; or that of the residuals is 0, if it is not central.
#[pyfunction]
#[pyo3(signature = (truth, predicted, about, sums, is_central, factor, weight=None))]
#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]
pub fn left_out_logs<'py>(
    py: Python<'py>,
    truth: PyReadonlyArray1<'py, f64>,
    predicted: PyReadonlyArray1<'py, f64>,
    about: [f64; 2],
    sums: [f64; 3],
    is_central: bool,
    factor: f64,
    weight: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<(Line<'py>, f64)> {
    let (truth, predicted) = (contiguous(&truth), contiguous(&predicted));
    same_length("predicted", predicted.len(), truth.len())?;
    let weight = weight.as_ref().map(contiguous);
    if let Some(weight) = &weight {
        same_length("weight", weight.len(), truth.len())?;
    }
    let (made, [total, spread, unexplained]) = (line_of_zeros::<f64>(py, truth.len())?, sums);
    let largest = {
        let mut changes = made.readwrite();
        let changes = changes.as_slice_mut()?;
        let per = [1.0 / spread, 1.0 / unexplained];
        // The proportions of the two sums that a row of this weight has, the second of what goes with
        // it from a sum of squares about a mean.
        let proportions = |y: f64, p: f64, w: f64, central: f64| {
            let (d, r) = (y - about[0], p - y - about[1]);
            let of_residual = if is_central { central } else { w } * r * r * per[1];
            [central * d * d * per[0], of_residual]
        };
        let central = |w: f64| w * total / (total - w);
        detached(py, [truth.len(), 2], |crew| {
            let pieces = crew.map(Chunks(changes, PIECE), |piece, changes| {
                let rows = piece * PIECE..piece * PIECE + changes.len();
                let (truth, predicted) = (&truth[rows.clone()], &predicted[rows.clone()]);
                if let Some(weight) = &weight {
                    let mut largest = 0.0_f64;
                    let rows_of = changes.iter_mut().zip(truth).zip(predicted);
                    for (((to, &y), &p), &w) in rows_of.zip(&weight[rows]) {
                        let [of_truth, of_residual] = proportions(y, p, w, central(w));
                        *to = factor * (log_less(of_residual) - log_less(of_truth));
                        largest = largest.max(of_truth).max(of_residual);
                    }
                    return largest;
                }
                let central = central(1.0);
                let of = |y: f64, p: f64| proportions(y, p, 1.0, central);
                let columns = [truth, predicted];
                let largest = differences(changes, columns, of, series_of_log_less, factor);
                if largest < LARGEST_OF_SERIES {
                    return largest;
                }
                differences(changes, columns, of, log_less, factor)
            });
            pieces.into_iter().fold(0.0, f64::max)
        })?
    };
    Ok((made, largest))
}

/// A multiple of the differences of what `each` makes of the second and the first proportion of each
/// row, in lanes, and the largest proportion.
#[inline]
fn differences(
    out: &mut [f64],
    [truth, predicted]: [&[f64]; 2],
    proportions: impl Fn(f64, f64) -> [f64; 2],
    each: impl Fn(f64) -> f64,
    factor: f64,
) -> f64 {
    let mut largest = [0.0_f64; LANES];
    let add = |largest: &mut f64, out: &mut f64, y: f64, p: f64| {
        let [first, second] = proportions(y, p);
        *out = factor * (each(second) - each(first));
        let larger = if second > first { second } else { first };
        *largest = if larger > *largest { larger } else { *largest };
    };
    let mut lanes = out.chunks_exact_mut(LANES);
    let rows = truth.chunks_exact(LANES).zip(predicted.chunks_exact(LANES));
    for (out, (truth, predicted)) in (&mut lanes).zip(rows) {
        for lane in 0..LANES {
            add(
                &mut largest[lane],
                &mut out[lane],
                truth[lane],
                predicted[lane],
            );
        }
    }
    let rest = lanes.into_remainder();
    let start = truth.len() - rest.len();
    for (out, (&y, &p)) in rest
        .iter_mut()
        .zip(truth[start..].iter().zip(&predicted[start..]))
    {
        add(&mut largest[0], out, y, p);
    }
    largest.into_iter().fold(0.0, f64::max)
}

/// log(1 − x), of small x by its series, which takes a fraction of the time.
#[inline]
fn log_less(x: f64) -> f64 {
    if x < LARGEST_OF_SERIES {
        series_of_log_less(x)
    } else {
        (-x).ln_1p()
    }
}

/// Below this the series has all digits.
const LARGEST_OF_SERIES: f64 = 1.0 / 1024.0;

#[inline]
fn series_of_log_less(x: f64) -> f64 {
    let rest = 1.0 / 4.0 + x * (1.0 / 5.0 + x * (1.0 / 6.0));
    -x * (1.0 + x * (1.0 / 2.0 + x * (1.0 / 3.0 + x * rest)))
}

/// `value_ends(values)`: the lowest and the highest; NaN for both if one is.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn value_ends(py: Python<'_>, values: PyReadonlyArray1<'_, f64>) -> PyResult<(f64, f64)> {
    let values = contiguous(&values);
    detached(py, [values.len()], |crew| {
        let pieces = crew.map(Chunks(&*values, PIECE), |_, values| ends(values));
        let both = |[a, b, c]: [f64; 3], [d, e, f]: [f64; 3]| [a.min(d), b.max(e), c + f];
        let [low, high, odd] = pieces
            .into_iter()
            .fold([f64::INFINITY, f64::NEG_INFINITY, 0.0], both);
        if odd.is_nan() && !(low.is_infinite() || high.is_infinite()) {
            return (f64::NAN, f64::NAN);
        }
        (low, high)
    })
}

/// The lowest and the highest, but of NaN, and a number that is NaN if one of them is no finite number.
fn ends(values: &[f64]) -> [f64; 3] {
    let mut lanes = [[f64::INFINITY, f64::NEG_INFINITY, 0.0]; LANES];
    let add = |[low, high, odd]: &mut [f64; 3], value: f64| {
        *low = if value < *low { value } else { *low };
        *high = if value > *high { value } else { *high };
        *odd += value * 0.0;
    };
    let mut few = values.chunks_exact(LANES);
    for values in &mut few {
        for (lane, &value) in lanes.iter_mut().zip(values) {
            add(lane, value);
        }
    }
    for &value in few.remainder() {
        add(&mut lanes[0], value);
    }
    let [first, others @ ..] = lanes;
    others.iter().fold(first, |[low, high, odd], lane| {
        [low.min(lane[0]), high.max(lane[1]), odd + lane[2]]
    })
}

/// `weighted_moments(values, weight)`: the number of rows of positive weight, Σw and Σw²; the weighted
/// mean; and Σw(x − mean)², Σw²(x − mean)² and Σw²(x − mean).
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn weighted_moments(
    py: Python<'_>,
    values: PyReadonlyArray1<'_, f64>,
    weight: PyReadonlyArray1<'_, f64>,
) -> PyResult<WeightedSums> {
    let (values, weight) = (contiguous(&values), contiguous(&weight));
    same_length("weight", weight.len(), values.len())?;
    detached(py, [values.len()], |crew| weighted(crew, &values, &weight))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::tested;

    #[test]
    fn every_row_counts_once() {
        for rows in [0, 1, 3, 4, RUN, RUN + 1, PIECE - 1, 2 * PIECE + 5] {
            let values: Vec<f64> = (0..rows).map(|row| row as f64).collect();
            let [sum, count] = tested(|crew| summed(crew, [&values], |[x]| [x, 1.0]));
            let expected = rows * rows.saturating_sub(1) / 2;
            assert_eq!((sum as usize, count as usize), (expected, rows));
        }
    }

    #[test]
    fn far_means_are_found_and_lose_no_digits() {
        // The values that are looked at first are not like the others.
        let values: Vec<f64> = (0..70_000)
            .map(|row| {
                if row % 1094 == 0 {
                    0.0
                } else {
                    1e9 + f64::from(row % 7)
                }
            })
            .collect();
        let about = near(&values);
        assert!(about < 1.0);
        let (mean, squares, rest, _) = tested(|crew| spread(crew, [&values], about, |[x]| x));
        let expected = values.iter().sum::<f64>() / values.len() as f64;
        let deviations = values.iter().map(|value| (value - expected).powi(2));
        let expected_squares: f64 = deviations.sum();
        assert!((mean / expected - 1.0).abs() < 1e-14);
        assert!((squares / expected_squares - 1.0).abs() < 1e-12);
        assert!(rest.abs() < 1e-3);
        let close: Vec<f64> = (0..70_000).map(|row| 1e9 + f64::from(row % 7)).collect();
        let (mean, squares, ..) = tested(|crew| spread(crew, [&close], near(&close), |[x]| x));
        assert!((mean - 1e9 - 3.0).abs() < 1e-6);
        assert!((squares / 280_000.0 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn logs_of_less_than_one_are_the_same_by_series() {
        for x in [0.0, 1e-300, 1e-9, 1e-4, 9.7e-4, 1e-3, 0.3, 0.999] {
            let expected = f64::ln_1p(-x);
            assert!((log_less(x) - expected).abs() <= 4e-16 * expected.abs());
        }
    }

    #[test]
    fn ends_are_those_of_all_values_and_nan_is_told() {
        let values = [3.0, -1.0, 2.0, 9.0, -4.0, 0.0, 1.0];
        assert_eq!(ends(&values)[..2], [-4.0, 9.0]);
        assert!(ends(&values)[2] == 0.0 && ends(&[1.0, f64::NAN])[2].is_nan());
        assert!(ends(&[0.0, f64::INFINITY])[1].is_infinite());
    }

    #[test]
    fn weights_count_as_rows_and_a_constant_has_no_spread() {
        let (y, p) = ([0.1, 0.1, 0.1, 0.1], [1.0, 2.0, 2.0, 4.0]);
        let plain = tested(|crew| numbers(crew, [&y, &p], |_| 1.0));
        let weights = [1.0, 2.0, 1.0];
        let columns = [&y[..3], &[1.0, 2.0, 4.0], &weights];
        let weighted = tested(|crew| numbers(crew, columns, |row| row[2]));
        assert!((plain.2[1] - 2.25).abs() < 1e-15 && (weighted.2[1] - 2.25).abs() < 1e-15);
        assert!((plain.3[1] - 4.75).abs() < 1e-14 && (weighted.3[1] - 4.75).abs() < 1e-14);
        assert!(plain.3[0] < 1e-33);
    }
}
