//! Tables of scores: two put together, and neighbours merged.

use std::borrow::Cow;
use std::ops::Range;

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::arrays::line_of_zeros;
use crate::parallel::{Chunks, Crew, detached};
use crate::scores::{contiguous, same_length};

// --------------------------------------------------------------------------------------- together

/// Scores of the first table that are taken at a time, with those of the second that stand among them.
const STRETCH: usize = 1 << 15;

/// Descending scores and what belongs to each.
#[derive(Clone, Copy)]
struct Columns<'a, const N: usize> {
    scores: &'a [f64],
    sums: [&'a [f64]; N],
}

/// The scores of two tables, in order and each once, by where they stand in either.
fn together(a: &[f64], b: &[f64], mut each: impl FnMut(Option<usize>, Option<usize>)) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (of_a, of_b) = (a[i] >= b[j], b[j] >= a[i]);
        each(of_a.then_some(i), of_b.then_some(j));
        i += usize::from(of_a);
        j += usize::from(of_b);
    }
    (i..a.len()).for_each(|i| each(Some(i), None));
    (j..b.len()).for_each(|j| each(None, Some(j)));
}

/// Stretches of two tables that hold the same range of scores.
fn stretches(a: &[f64], b: &[f64]) -> Vec<[Range<usize>; 2]> {
    let mut found = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let next = (i + STRETCH).min(a.len());
        let end = if next < a.len() {
            j + b[j..].partition_point(|&score| score > a[next])
        } else {
            b.len()
        };
        // A long tail of the second table is cut as well.
        let end = if next == a.len() && i == a.len() {
            end.min(j + STRETCH)
        } else {
            end
        };
        found.push([i..next, j..end]);
        (i, j) = (next, end);
    }
    found
}

type Lines<'py> = Vec<Bound<'py, PyArray1<f64>>>;

fn merged<'py, const N: usize>(py: Python<'py>, [a, b]: [Columns<N>; 2]) -> PyResult<Lines<'py>> {
    let rows = a.scores.len() + b.scores.len();
    let (pieces, sizes) = detached(py, [rows], |crew| {
        let pieces = stretches(a.scores, b.scores);
        let sizes = crew.map(Chunks(&pieces[..], 1), |_, piece| {
            let [i, j] = piece[0].clone();
            let mut size = 0;
            together(&a.scores[i], &b.scores[j], |_, _| size += 1);
            size
        });
        (pieces, sizes)
    })?;
    let made = (0..=N).map(|_| line_of_zeros::<f64>(py, sizes.iter().sum()));
    let made: Lines = made.collect::<PyResult<_>>()?;
    {
        let mut lines: Vec<_> = made.iter().map(PyArrayMethods::readwrite).collect();
        let mut rests = Vec::with_capacity(N + 1);
        for line in &mut lines {
            rests.push(line.as_slice_mut()?);
        }
        let mut rooms: Vec<Vec<&mut [f64]>> = Vec::with_capacity(sizes.len());
        for &size in &sizes {
            let cut = rests.iter_mut().map(|rest| {
                let (own, others) = std::mem::take(rest).split_at_mut(size);
                *rest = others;
                own
            });
            rooms.push(cut.collect());
        }
        detached(py, [rows], |crew: Crew| {
            let pieces = (Chunks(&mut rooms[..], 1), Chunks(&pieces[..], 1));
            crew.map(pieces, |_, (rooms, piece)| {
                let [i, j] = piece[0].clone();
                let (a_scores, b_scores) = (&a.scores[i.clone()], &b.scores[j.clone()]);
                let a_sums = a.sums.map(|sum| &sum[i.clone()]);
                let b_sums = b.sums.map(|sum| &sum[j.clone()]);
                let [scores, sums @ ..] = &mut rooms[0][..] else {
                    return;
                };
                let mut at = 0;
                together(a_scores, b_scores, |i, j| {
                    scores[at] = i.map_or_else(|| j.map_or(0.0, |j| b_scores[j]), |i| a_scores[i]);
                    for (place, sum) in sums.iter_mut().enumerate() {
                        let of_a = i.map_or(0.0, |i| a_sums[place][i]);
                        sum[at] = of_a + j.map_or(0.0, |j| b_sums[place][j]);
                    }
                    at += 1;
                });
            });
        })?;
    }
    Ok(made)
}

fn columns<'a, const N: usize>(table: &'a [Cow<'a, [f64]>]) -> Columns<'a, N> {
    Columns {
        scores: &table[0],
        sums: std::array::from_fn(|at| &*table[at + 1]),
    }
}

/// `merge_score_tables(a, b)`: the table of two tables, each of which is its scores, descending, and
/// two or four columns of sums.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn merge_score_tables<'py>(
    py: Python<'py>,
    a: Vec<PyReadonlyArray1<'py, f64>>,
    b: Vec<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Lines<'py>> {
    same_length("b", b.len(), a.len())?;
    let [a, b] = [&a, &b].map(|table| table.iter().map(contiguous).collect::<Vec<_>>());
    for table in [&a, &b] {
        for column in table {
            same_length("a column", column.len(), table[0].len())?;
        }
    }
    match a.len() {
        3 => merged::<2>(py, [columns(&a), columns(&b)]),
        5 => merged::<4>(py, [columns(&a), columns(&b)]),
        other => Err(pyo3::exceptions::PyValueError::new_err(format!(
            "a table has 3 or 5 columns, not {other}"
        ))),
    }
}
