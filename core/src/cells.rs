//! Cells of neighbouring scores that agree in their first bits. Cells of more bits lie inside those of
//! fewer, so that tables of different ones add up.

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::arrays::Line;
use crate::parallel::{Crew, detached};
use crate::scores::{contiguous, same_length};

/// A whole number of the same order as the score; equal scores have equal ones.
fn key(score: f64) -> u64 {
    let bits = (score + 0.0).to_bits(); // −0 is 0
    if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    }
}

/// The number that cells agree in whose keys differ by the last `shift` bits at most.
fn cell(score: f64, shift: u32) -> u64 {
    key(score).checked_shr(shift).unwrap_or(0)
}

/// The fewest last bits without which no more than so many cells are left.
fn shift(crew: Crew, scores: &[f64], cells: usize) -> u32 {
    let mut apart = [0_usize; 65];
    for pair in crew.watched(scores.windows(2)) {
        // From so many bits on the two are in one cell.
        let bits = 64 - (key(pair[0]) ^ key(pair[1])).leading_zeros();
        apart[bits as usize] += 1;
    }
    let (mut left, mut shift) = (scores.len(), 0);
    while left > cells.max(1) && shift < 64 {
        shift += 1;
        left -= apart[shift];
    }
    shift as u32
}

/// A table: of each cell its lowest and its highest score, and what its rows add up to.
type Table<'a> = Vec<&'a [f64]>;

/// One table, or two together, whose scores descend, in cells without the last `shift` bits.
fn together(crew: Crew, tables: &[Table<'_>], shift: u32) -> Vec<Vec<f64>> {
    let columns = tables[0].len();
    let most = tables.iter().map(|table| table[0].len()).sum();
    let mut out = vec![Vec::with_capacity(most); columns];
    let mut at = vec![0_usize; tables.len()];
    let mut last = None;
    for _ in crew.watched(0..most) {
        let next = |of: usize| tables[of][0].get(at[of]).map(|&score| cell(score, shift));
        let of = usize::from(tables.len() > 1 && next(1) > next(0));
        let Some(own) = next(of) else { break };
        let place = at[of];
        at[of] += 1;
        if last == Some(own) {
            let end = out[0].len() - 1;
            out[0][end] = f64::min(out[0][end], tables[of][0][place]);
            out[1][end] = f64::max(out[1][end], tables[of][1][place]);
            for (sums, column) in out[2..].iter_mut().zip(&tables[of][2..]) {
                sums[end] += column[place];
            }
        } else {
            last = Some(own);
            for (values, column) in out.iter_mut().zip(&tables[of]) {
                values.push(column[place]);
            }
        }
    }
    out
}

// ---------------------------------------------------------------------------------------- Python

/// `score_shift(scores, cells)`: without how many of their last bits scores, descending, fall into no
/// more than so many cells.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn score_shift(
    py: Python<'_>,
    scores: PyReadonlyArray1<'_, f64>,
    cells: usize,
) -> PyResult<u32> {
    let scores = contiguous(&scores);
    detached(py, [scores.len()], |crew| shift(crew, &scores, cells))
}

/// `score_cells(tables, shift)`: one table, or the sum of two, in cells of scores that agree but for
/// the last `shift` bits. Of a table there are the lowest and the highest score of each of its cells,
/// descending, and columns that are added up.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn score_cells<'py>(
    py: Python<'py>,
    tables: Vec<Vec<PyReadonlyArray1<'py, f64>>>,
    shift: u32,
) -> PyResult<Vec<Line<'py>>> {
    let slices: Vec<Vec<_>> = tables
        .iter()
        .map(|table| table.iter().map(contiguous).collect())
        .collect();
    for table in &slices {
        for column in table {
            same_length("a column", column.len(), table[0].len())?;
        }
    }
    let rows = slices.iter().map(|table| table[0].len()).sum();
    let found = detached(py, [rows], |crew| {
        let borrowed: Vec<Table<'_>> = slices
            .iter()
            .map(|table| table.iter().map(AsRef::as_ref).collect())
            .collect();
        together(crew, &borrowed, shift)
    })?;
    Ok(found.into_iter().map(|of| of.into_pyarray(py)).collect())
}
