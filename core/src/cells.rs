//! Cells of neighbouring scores that agree in their first bits. Cells of more bits lie inside those of
//! fewer, so that tables of different ones add up.

#![allow(clippy::float_cmp)] // ends of cells are scores themselves, and no sums

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

/// A table: of each cell its lowest and its highest score, and what its rows add up to, the weights
/// of both classes first.
type Table<'a> = Vec<&'a [f64]>;

/// What is read next of one or two tables: the cell with the highest score, the widest first. Single
/// scores that both tables have are one.
struct Next<'a, 'b> {
    tables: &'b [Table<'a>],
    at: Vec<usize>,
    sums: Vec<f64>,
}

impl Next<'_, '_> {
    fn ends(&self, of: usize) -> Option<(f64, f64)> {
        let table = self.tables.get(of)?;
        Some((*table[0].get(self.at[of])?, table[1][self.at[of]]))
    }

    fn add(&mut self, of: usize) {
        let place = self.at[of];
        for (sum, column) in self.sums.iter_mut().zip(&self.tables[of][2..]) {
            *sum += column[place];
        }
        self.at[of] += 1;
    }

    /// The ends of the cell, whose sums are then known.
    fn step(&mut self) -> Option<(f64, f64)> {
        let (first, second) = (self.ends(0), self.ends(1));
        let of = match (first, second) {
            (Some((low, high)), Some((lowest, highest))) => {
                usize::from(highest > high || (highest == high && lowest < low))
            }
            (first, _) => usize::from(first.is_none()),
        };
        let ends = if of == 0 { first } else { second }?;
        self.sums.fill(0.0);
        self.add(of);
        if ends.0 == ends.1 && self.ends(1 - of) == Some(ends) {
            self.add(1 - of);
        }
        Some(ends)
    }
}

/// One table, or two together, whose scores descend, in cells without the last `shift` bits. A single
/// score of this `least` weight stays alone, unless it lies inside a cell that is merged already.
fn together(crew: Crew, tables: &[Table<'_>], shift: u32, least: f64) -> Vec<Vec<f64>> {
    let columns = tables[0].len();
    let most = tables.iter().map(|table| table[0].len()).sum();
    let mut out = vec![Vec::new(); columns];
    let at = vec![0; tables.len()];
    let sums = vec![0.0; columns - 2];
    let mut next = Next { tables, at, sums };
    // The last cell that takes in more.
    let mut open = None;
    for _ in crew.watched(0..most) {
        let Some((low, high)) = next.step() else {
            break;
        };
        let own = cell(low, shift);
        let inside = open == Some(own);
        let covered = inside && out[0].last().is_some_and(|&lowest| lowest < low);
        let alone = low == high && next.sums[0] + next.sums[1] >= least && !covered;
        if inside && !alone {
            let end = out[0].len() - 1;
            out[0][end] = f64::min(out[0][end], low);
            for (values, sum) in out[2..].iter_mut().zip(&next.sums) {
                values[end] += sum;
            }
            continue;
        }
        open = (!alone).then_some(own);
        out[0].push(low);
        out[1].push(high);
        for (values, sum) in out[2..].iter_mut().zip(&next.sums) {
            values.push(*sum);
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

/// `score_cells(tables, shift, least)`: one table, or the sum of two, in cells of scores that agree but
/// for the last `shift` bits; single scores of this `least` weight stay alone. Of a table there are the
/// lowest and the highest score of each of its cells, descending, and columns that are added up, the
/// weights of both classes first.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn score_cells<'py>(
    py: Python<'py>,
    tables: Vec<Vec<PyReadonlyArray1<'py, f64>>>,
    shift: u32,
    least: f64,
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
        together(crew, &borrowed, shift, least)
    })?;
    Ok(found.into_iter().map(|of| of.into_pyarray(py)).collect())
}
