//! The order of the labels of each row by their scores.

use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{Matrix, filled};
use crate::order::Score;
use crate::parallel::Chunks;

/// So many rows are one piece of work.
const ROWS: usize = 1 << 8;
/// Up to so many true labels, each is compared with all: as fast as it gets without branches.
const FEW: usize = 16;

/// What is left of a row: its true labels; the sum over them of the proportion of true ones among
/// those of no lower score; the number of labels of no lower score than the lowest true one; and the
/// number of pairs with a false label of no lower score.
type Sums = [f64; 4];

/// Labels of equal score all have the last of their ranks. `scratch` holds scores of true labels.
fn by_comparison(truth: &[bool], scores: &[f64], scratch: &mut Vec<f64>) -> Sums {
    scratch.clear();
    let pairs = truth.iter().zip(scores);
    scratch.extend(pairs.filter_map(|(&is_true, &score)| is_true.then_some(score)));
    let no_lower = |among: &[f64], than: f64| {
        among
            .iter()
            .map(|&score| u32::from(score >= than))
            .sum::<u32>()
    };
    let (mut precision, mut last, mut wrong) = (0.0, 0, 0);
    for &score in scratch.iter() {
        let (rank, hits) = (no_lower(scores, score), no_lower(scratch, score));
        precision += f64::from(hits) / f64::from(rank);
        last = last.max(rank);
        wrong += u64::from(rank - hits);
    }
    [
        scratch.len() as f64,
        precision,
        f64::from(last),
        wrong as f64,
    ]
}

/// The same by sorting the labels.
fn by_order(truth: &[bool], scores: &[f64], scratch: &mut Vec<(u64, bool)>) -> Sums {
    scratch.clear();
    scratch.extend(
        scores
            .iter()
            .map(|score| score.key())
            .zip(truth.iter().copied()),
    );
    scratch.sort_unstable();
    let (mut hits, mut precision, mut last, mut wrong) = (0, 0.0, 0, 0);
    let mut start = 0;
    while start < scratch.len() {
        let score = scratch[start].0;
        let tied = scratch[start..].iter().take_while(|label| label.0 == score);
        let (mut stop, mut here) = (start, 0);
        for label in tied {
            stop += 1;
            here += usize::from(label.1);
        }
        hits += here;
        if here > 0 {
            precision += here as f64 * hits as f64 / stop as f64;
            last = stop;
            wrong += here * (stop - hits);
        }
        start = stop;
    }
    [hits as f64, precision, last as f64, wrong as f64]
}

// ---------------------------------------------------------------------------------------- Python

/// `label_order(truth, scores)`: a line for each row with the number of true labels; the sum over them
/// of the proportion of true ones among those of no lower score; the number of labels of no lower
/// score than the lowest true one; and the number of pairs of a true and a false label of no lower
/// score.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn label_order<'py>(
    py: Python<'py>,
    truth: PyReadonlyArray2<'py, bool>,
    scores: PyReadonlyArray2<'py, f64>,
) -> PyResult<Matrix<'py>> {
    let [rows, labels] = [0, 1].map(|axis| scores.shape()[axis]);
    if truth.shape() != scores.shape() {
        return Err(PyValueError::new_err(format!(
            "truth has the shape {:?}, scores {:?}",
            truth.shape(),
            scores.shape()
        )));
    }
    let truth = truth.as_array();
    let (truth, scores) = (truth.as_standard_layout(), scores.as_array());
    let scores = scores.as_standard_layout();
    let truth = truth.as_slice().expect("in standard layout");
    let scores = scores.as_slice().expect("in standard layout");
    let mut odd = None;
    let made = filled(py, [rows, 4], [rows, labels, 4], |crew, sums| {
        odd = crew.position(scores, |score| score.is_nan());
        if odd.is_some() || labels == 0 {
            return;
        }
        crew.map_with(
            Chunks(sums, 4 * ROWS),
            || (Vec::new(), Vec::new()),
            |(few, many), piece, sums| {
                let start = piece * ROWS * labels;
                let truth = truth[start..].chunks(labels);
                let rows = truth.zip(scores[start..].chunks(labels));
                for (sums, (truth, scores)) in sums.chunks_mut(4).zip(rows) {
                    let hits = truth.iter().filter(|&&is_true| is_true).count();
                    sums.copy_from_slice(&if hits <= FEW {
                        by_comparison(truth, scores, few)
                    } else {
                        by_order(truth, scores, many)
                    });
                }
            },
        );
    })?;
    match odd {
        None => Ok(made),
        Some(at) => Err(PyValueError::new_err(format!(
            "score of label {} in row {} is NaN, expected a number",
            at % labels,
            at / labels
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn both_ways_agree_and_labels_of_equal_score_share_the_last_rank() {
        let (truth, scores) = ([true, false, true, false], [0.5, 0.9, 0.2, 0.5]);
        // True labels at ranks 3 and 4, with 1 and 2 true ones down to there.
        let expected = [2.0, 1.0 / 3.0 + 2.0 / 4.0, 4.0, 4.0];
        let both = [
            by_comparison(&truth, &scores, &mut Vec::new()),
            by_order(&truth, &scores, &mut Vec::new()),
        ];
        for sums in both {
            let close = |(a, b): (f64, f64)| (a - b).abs() < 1e-15;
            assert!(sums.into_iter().zip(expected).all(close));
        }
        let stream = Stream::new(3, 0);
        for round in 0..200_u64 {
            let labels = stream.below(1_000_000 + round, 60) as u64;
            let at = |label: u64| 1000 * round + 2 * label;
            let truth: Vec<_> = (0..labels)
                .map(|label| stream.below(at(label), 3) == 0)
                .collect();
            let scores: Vec<_> = (0..labels)
                .map(|label| stream.below(at(label) + 1, 12) as f64 - 6.0)
                .collect();
            let [a, b] = [
                by_comparison(&truth, &scores, &mut Vec::new()),
                by_order(&truth, &scores, &mut Vec::new()),
            ];
            assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }
}
