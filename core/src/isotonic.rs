//! Isotonic regression of shares by pooling adjacent violators (Ayer and others 1955): of one table,
//! and of replicates of its counts, read over a grid.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{Matrix, filled};
use crate::parallel::{Chunks, Crew, detached};
use crate::scores::{contiguous, same_length};
use crate::thinning::places;

/// Neighbouring levels that share one value: the first of them, and their summed weights.
#[derive(Clone, Copy)]
struct Block {
    first: usize,
    positive: f64,
    total: f64,
}

impl Block {
    fn share(&self) -> f64 {
        self.positive / self.total
    }

    /// Whether this block's share is no smaller than that of the one that follows it.
    fn violates(&self, next: &Self) -> bool {
        self.positive * next.total >= next.positive * self.total
    }
}

/// Adds a level to blocks whose shares ascend, and merges backwards until they ascend again.
fn pool(blocks: &mut Vec<Block>, mut next: Block) {
    while let Some(last) = blocks.pop_if(|last| last.violates(&next)) {
        next = Block {
            first: last.first,
            positive: last.positive + next.positive,
            total: last.total + next.total,
        };
    }
    blocks.push(next);
}

/// Where the blocks of the isotonic regression begin; every level has some weight.
pub fn blocks(crew: Crew, positive: &[f64], total: &[f64]) -> Vec<usize> {
    let mut blocks = Vec::new();
    let levels = positive.iter().zip(total).enumerate();
    for (first, (&positive, &total)) in crew.watched(levels) {
        let level = Block {
            first,
            positive,
            total,
        };
        pool(&mut blocks, level);
    }
    blocks.iter().map(|block| block.first).collect()
}

/// Room for the fit of a replicate, used again for the next.
#[derive(Default)]
struct Fit {
    at: Vec<f64>,
    blocks: Vec<Block>,
    values: Vec<f64>,
}

impl Fit {
    /// The regression of one replicate at each place of an ascending grid, by straight lines between
    /// the levels that were drawn; NaN where none was.
    fn read(&mut self, levels: &[f64], counts: [&[i64]; 2], grid: &[f64], out: &mut [f64]) {
        self.at.clear();
        self.blocks.clear();
        for ((&level, &positive), &negative) in levels.iter().zip(counts[0]).zip(counts[1]) {
            let total = positive + negative;
            if total > 0 {
                let drawn = Block {
                    first: self.at.len(),
                    positive: positive as f64,
                    total: total as f64,
                };
                self.at.push(level);
                pool(&mut self.blocks, drawn);
            }
        }
        let Some(last) = self.at.len().checked_sub(1) else {
            out.fill(f64::NAN);
            return;
        };
        self.values.clear();
        for (place, block) in self.blocks.iter().enumerate() {
            let end = self.blocks.get(place + 1).map_or(last + 1, |b| b.first);
            self.values.resize(end, block.share());
        }
        let mut after = 0;
        for (&x, out) in grid.iter().zip(out) {
            while after <= last && self.at[after] <= x {
                after += 1;
            }
            *out = match after {
                0 => self.values[0],
                _ if after > last => self.values[last],
                _ => self.between(after - 1, x),
            };
        }
    }

    /// The value at `x`, which lies at a level or between it and the next.
    fn between(&self, level: usize, x: f64) -> f64 {
        let [(x0, y0), (x1, y1)] = [level, level + 1].map(|at| (self.at[at], self.values[at]));
        (y1 - y0) / (x1 - x0) * (x - x0) + y0
    }
}

// ---------------------------------------------------------------------------------------- Python

/// `isotonic_blocks(positive, total)`: where the blocks of the isotonic regression of shares begin,
/// of levels that all have some weight; equal shares are one block.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn isotonic_blocks<'py>(
    py: Python<'py>,
    positive: PyReadonlyArray1<'py, f64>,
    total: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (positive, total) = (contiguous(&positive), contiguous(&total));
    same_length("total", total.len(), positive.len())?;
    let first = detached(py, [total.len()], |crew| blocks(crew, &positive, &total))?;
    Ok(places(first).into_pyarray(py))
}

/// `isotonic_fits(levels, counts, grid)`: the isotonic regression of replicates over a grid.
/// A row of `counts` holds how many positives were drawn at each level, then how many negatives;
/// levels and grid ascend. A replicate without anything is NaN.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn isotonic_fits<'py>(
    py: Python<'py>,
    levels: PyReadonlyArray1<'py, f64>,
    counts: PyReadonlyArray2<'py, i64>,
    grid: PyReadonlyArray1<'py, f64>,
) -> PyResult<Matrix<'py>> {
    let (levels, grid) = (contiguous(&levels), contiguous(&grid));
    let [replicates, columns] = [counts.as_array().nrows(), counts.as_array().ncols()];
    same_length("counts", columns, 2 * levels.len())?;
    let Ok(counts) = counts.as_slice() else {
        return Err(PyValueError::new_err("counts must be C-contiguous"));
    };
    filled(
        py,
        [replicates, grid.len()],
        [replicates, columns],
        |crew, fits| {
            let rows = (Chunks(fits, grid.len()), Chunks(counts, columns));
            crew.map_with(rows, Fit::default, |fit, _, (out, counts)| {
                fit.read(&levels, counts.split_at(levels.len()).into(), &grid, out);
            });
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::tested;

    #[test]
    fn violators_are_pooled_as_far_back_as_need_be() {
        let found = |positive: [f64; 5]| tested(|crew| blocks(crew, &positive, &[1.0; 5]));
        assert_eq!(found([0.0, 1.0, 1.0, 1.0, 0.0]), [0, 1]);
        assert_eq!(found([1.0, 1.0, 0.0, 0.0, 0.0]), [0]);
        assert!(tested(|crew| blocks(crew, &[], &[])).is_empty());
    }

    #[test]
    fn levels_that_were_not_drawn_are_passed_over() {
        let mut out = [f64::NAN; 4];
        let counts = [&[0, 0, 1][..], &[1, 0, 0][..]];
        Fit::default().read(&[0.2, 0.4, 0.6], counts, &[0.0, 0.2, 0.5, 0.9], &mut out);
        let between = 1.0 / (0.6 - 0.2) * (0.5 - 0.2);
        let expected = [0.0, 0.0, between, 1.0];
        assert_eq!(out.map(f64::to_bits), expected.map(f64::to_bits));
    }

    #[test]
    fn nothing_drawn_leaves_nothing() {
        let mut out = [0.0];
        Fit::default().read(&[0.5], [&[0], &[0]], &[0.5], &mut out);
        assert!(out[0].is_nan());
    }
}
