//! Isotonic regression of shares by pooling adjacent violators (Ayer and others 1955): of one table,
//! and of replicates of its counts, read over a grid.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{Matrix, filled};
use crate::bands::interpolate;
use crate::parallel::{Chunks, Crew, detached};
use crate::resample::poisson_means;
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

/// So many replicates are drawn together.
pub const DRAWN: usize = 8;

/// Room for the fit of a replicate, used again for the next.
#[derive(Default)]
struct Fit {
    at: Vec<f64>,
    blocks: Vec<Block>,
    values: Vec<f64>,
}

impl Fit {
    /// The regression of one replicate, of which so many positives and then negatives were drawn at
    /// each level, at each place of an ascending grid, by straight lines between the levels that were
    /// drawn; NaN where none was.
    fn read(&mut self, levels: &[f64], counts: &[f64], grid: &[f64], out: &mut [f64]) {
        self.at.clear();
        self.blocks.clear();
        let (positive, negative) = counts.split_at(levels.len());
        for ((&level, &positive), &negative) in levels.iter().zip(positive).zip(negative) {
            let total = positive + negative;
            if total > 0.0 {
                let drawn = Block {
                    first: self.at.len(),
                    positive,
                    total,
                };
                self.at.push(level);
                pool(&mut self.blocks, drawn);
            }
        }
        self.values.clear();
        for (place, block) in self.blocks.iter().enumerate() {
            let next = self.blocks.get(place + 1);
            let end = next.map_or(self.at.len(), |next| next.first);
            self.values.resize(end, block.share());
        }
        interpolate(&self.at, &self.values, grid, out);
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

/// `isotonic_fits(levels, mean, grid, seed, replicates)`: the isotonic regression of replicates over a
/// grid. `mean` is how many positives are drawn at each level on average, then how many negatives;
/// their counts are those of `poisson_draws`. Levels and grid ascend. A replicate without anything is
/// NaN.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn isotonic_fits<'py>(
    py: Python<'py>,
    levels: PyReadonlyArray1<'py, f64>,
    mean: PyReadonlyArray1<'py, f64>,
    grid: PyReadonlyArray1<'py, f64>,
    seed: u64,
    replicates: usize,
) -> PyResult<Matrix<'py>> {
    let (levels, grid) = (contiguous(&levels), contiguous(&grid));
    let counts = poisson_means(&mean)?;
    same_length("mean", mean.len(), 2 * levels.len())?;
    filled(
        py,
        [replicates, grid.len()],
        [replicates, 2 * levels.len()],
        |crew, fits| {
            if levels.is_empty() {
                return fits.fill(f64::NAN);
            }
            let room = || (Fit::default(), vec![0.0; DRAWN * counts.means()]);
            let fits = Chunks(fits, DRAWN * grid.len());
            crew.map_with(fits, room, |(fit, drawn), piece, out| {
                crew.check();
                let rows = out.len() / grid.len();
                let first = piece * DRAWN;
                let drawn = &mut drawn[..rows * counts.means()];
                counts.draw(seed, first..first + rows, drawn);
                let counts = drawn.chunks_exact(counts.means());
                for (counts, out) in counts.zip(out.chunks_exact_mut(grid.len())) {
                    fit.read(&levels, counts, &grid, out);
                }
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
        let counts = [0.0, 0.0, 1.0, 1.0, 0.0, 0.0];
        Fit::default().read(&[0.2, 0.4, 0.6], &counts, &[0.0, 0.2, 0.5, 0.9], &mut out);
        let between = 1.0 / (0.6 - 0.2) * (0.5 - 0.2);
        let expected = [0.0, 0.0, between, 1.0];
        assert_eq!(out.map(f64::to_bits), expected.map(f64::to_bits));
    }

    #[test]
    fn nothing_drawn_leaves_nothing() {
        let mut out = [0.0];
        Fit::default().read(&[0.5], &[0.0, 0.0], &[0.5], &mut out);
        assert!(out[0].is_nan());
    }
}
