//! Sums over rows in one reading of them: moments of numbers and of a value per row.
//!
//! Each of them is added up in pairs, halves of halves, by places that depend on the number of rows
//! alone: so it neither loses digits with the rows nor depends on the threads.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::parallel::{Crew, detached};
use crate::scores::{contiguous, same_length};

/// So many rows are one piece of work.
const PIECE: usize = 1 << 14;
/// So many rows are added up one after the other, in as many lanes.
const RUN: usize = 1 << 8;
const LANES: usize = 4;

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

/// Σw, Σw², the weighted means of y, p and r = p − y, and the central sums of yy, pp, rr and yp.
type NumberSums = (f64, f64, [f64; 3], [f64; 4]);

/// Of rows whose first two columns are y and p. The first mean is off by the last digits, and what
/// is left about it puts that right.
fn numbers<const C: usize>(
    crew: Crew,
    columns: [&[f64]; C],
    weight: impl Fn(&[f64; C]) -> f64 + Sync + Send,
) -> NumberSums {
    let [total, squares, y, p, r] = summed(crew, columns, |row| {
        let (w, y, p) = (weight(&row), row[0], row[1]);
        [w, w * w, w * y, w * p, w * (p - y)]
    });
    if total <= 0.0 {
        return (total, squares, [0.0; 3], [0.0; 4]);
    }
    let near = [y, p, r].map(|sum| sum / total);
    let [y, p, r, yy, pp, rr, yp] = summed(crew, columns, |row| {
        let w = weight(&row);
        let [y, p, r] = [
            row[0] - near[0],
            row[1] - near[1],
            row[1] - row[0] - near[2],
        ];
        [
            w * y,
            w * p,
            w * r,
            w * y * y,
            w * p * p,
            w * r * r,
            w * y * p,
        ]
    });
    let off = [y, p, r].map(|sum| sum / total);
    let central = [yy - y * off[0], pp - p * off[1], rr - r * off[2]].map(|sum| sum.max(0.0));
    let means = [near[0] + off[0], near[1] + off[1], near[2] + off[2]];
    let sums = [central[0], central[1], central[2], yp - y * off[1]];
    (total, squares, means, sums)
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

/// `value_moments(values)`: their mean, and the sums of squares and of what is left about it.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn value_moments(
    py: Python<'_>,
    values: PyReadonlyArray1<'_, f64>,
) -> PyResult<(f64, f64, f64)> {
    let values = contiguous(&values);
    detached(py, [values.len()], |crew| {
        let [sum] = summed(crew, [&values], |row| row);
        let mean = sum / values.len().max(1) as f64;
        let [squares, rest] = summed(crew, [&values], |[value]| {
            let apart = value - mean;
            [apart * apart, apart]
        });
        (mean, squares, rest)
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
