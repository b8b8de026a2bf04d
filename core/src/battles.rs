//! Battles of two systems each: what the squares of their scores add up to over clusters, and over how
//! many clusters the battles of each system are spread.

use numpy::{PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{Matrix, zeros};
use crate::parallel::{Crew, detached};
use crate::scores::{contiguous, same_length};

/// The two systems of equal battles, and their score by the strength of the first, which is minus that
/// by the strength of the second, and by the parameter of ties. It lies in one line of the cache.
#[derive(Clone, Copy)]
struct Cell {
    systems: [u32; 2],
    by_strength: f64,
    by_tie: f64,
}

/// A proportion that is 1 but for rounding.
const ROUNDING: f64 = 1e-9;

/// Battles in the order of their clusters: the cell of each, its weight where there are weights, and
/// where each cluster begins.
struct Sorted {
    cells: Vec<u32>,
    weights: Vec<f64>,
    starts: Vec<usize>,
}

impl Sorted {
    /// Counting takes a tenth of the time of a sort by comparison.
    fn of(
        crew: Crew,
        cluster: &[u32],
        clusters: usize,
        cell: &[i32],
        weight: Option<&[f64]>,
    ) -> Self {
        let mut starts = vec![0; clusters + 1];
        for &code in crew.watched(cluster) {
            starts[code as usize + 1] += 1;
        }
        for code in 0..clusters {
            starts[code + 1] += starts[code];
        }
        let mut next = starts.clone();
        let mut cells = vec![0; cluster.len()];
        let mut weights = vec![0.0; if weight.is_some() { cluster.len() } else { 0 }];
        for (battle, (&code, &cell)) in crew.watched(cluster.iter().zip(cell).enumerate()) {
            let place = next[code as usize];
            next[code as usize] += 1;
            cells[place] = cell as u32;
            if let Some(weight) = weight {
                weights[place] = weight[battle];
            }
        }
        Self {
            cells,
            weights,
            starts,
        }
    }
}

/// The sums of the scores of one cluster by the parameters that it bears on, as they come.
struct Sums {
    parameters: Vec<usize>,
    values: Vec<f64>,
    /// The weight of the battles of each system among them.
    weights: Vec<f64>,
    /// Where among them the sum of each system is, if anywhere.
    places: Vec<Option<u32>>,
    /// The sums by the parameter of ties and the covariates, which all battles bear on.
    shared: Vec<f64>,
}

impl Sums {
    fn new(systems: usize, covariates: usize) -> Self {
        Self {
            parameters: Vec::new(),
            values: Vec::new(),
            weights: Vec::new(),
            places: vec![None; systems],
            shared: vec![0.0; 1 + covariates],
        }
    }

    fn add(&mut self, cell: &Cell, covariates: &[f64], weight: f64) {
        let by_strength = weight * cell.by_strength;
        for (system, score) in [
            (cell.systems[0], by_strength),
            (cell.systems[1], -by_strength),
        ] {
            let place = &mut self.places[system as usize];
            if let Some(place) = place {
                self.values[*place as usize] += score;
                self.weights[*place as usize] += weight;
            } else {
                *place = Some(self.values.len() as u32);
                self.parameters.push(system as usize);
                self.values.push(score);
                self.weights.push(weight);
            }
        }
        self.shared[0] += weight * cell.by_tie;
        for (sum, covariate) in self.shared[1..].iter_mut().zip(covariates) {
            *sum += by_strength * covariate;
        }
    }

    /// Adds to the number of clusters of each system, and to the squares of its weights in them.
    fn count(&self, spread: &mut [f64]) {
        let systems = self.places.len();
        for (&system, weight) in self.parameters.iter().zip(&self.weights) {
            spread[system] += f64::from(*weight > 0.0);
            spread[systems + system] += weight * weight;
        }
    }

    /// Puts the shared ones behind the others, and multiplies all by a factor. The sum of a system with
    /// a total weight has the factor of its own proportion h of this weight: 1/√(1 − h).
    fn close(&mut self, factor: f64, totals: Option<&[f64]>) {
        let systems = self.places.len();
        for (at, &system) in self.parameters.iter().enumerate() {
            self.places[system] = None;
            let total = totals.map_or(f64::INFINITY, |totals| totals[system]);
            self.values[at] *= if total.is_finite() {
                let rest = 1.0 - self.weights[at] / total;
                // All of its battles are in this cluster, and their scores add up to 0.
                if rest > ROUNDING {
                    1.0 / rest.sqrt()
                } else {
                    0.0
                }
            } else {
                factor
            };
        }
        let first_shared = self.values.len();
        for (at, sum) in self.shared.iter_mut().enumerate() {
            self.parameters.push(systems + at);
            self.values.push(*sum);
            *sum = 0.0;
        }
        for value in &mut self.values[first_shared..] {
            *value *= factor;
        }
    }

    fn clear(&mut self) {
        self.parameters.clear();
        self.values.clear();
        self.weights.clear();
    }
}

/// Adds the products of the sums of scores of each cluster, times its factor, to a square of zeros, and
/// to `spread` how the battles of each system are spread over clusters. A cluster bears on few systems,
/// so only these are multiplied; where it bears on many, whole rows.
fn add_products(
    crew: Crew,
    (cells, covariates): (&[Cell], &[f64]),
    systems: usize,
    battles: &Sorted,
    (factor, totals): (&[f64], Option<&[f64]>),
    (total, spread): (&mut [f64], &mut [f64]),
) {
    let width = covariates.len() / cells.len().max(1);
    let size = systems + 1 + width;
    let mut sums = Sums::new(systems, width);
    let mut dense = vec![0.0; size];
    for (ends, &factor) in crew.watched(battles.starts.windows(2).zip(factor)) {
        for battle in ends[0]..ends[1] {
            let at = battles.cells[battle] as usize;
            let weight = battles.weights.get(battle).copied().unwrap_or(1.0);
            sums.add(
                &cells[at],
                &covariates[at * width..(at + 1) * width],
                weight,
            );
        }
        sums.count(spread);
        sums.close(factor, totals);
        let (parameters, values) = (&sums.parameters, &sums.values);
        let is_dense = 4 * values.len() > size;
        if is_dense {
            dense.fill(0.0);
            for (&parameter, value) in parameters.iter().zip(values) {
                dense[parameter] = *value;
            }
        }
        for (place, (&row, value)) in parameters.iter().zip(values).enumerate() {
            let products = &mut total[row * size..(row + 1) * size];
            if is_dense {
                for (product, other) in products[..=row].iter_mut().zip(&dense) {
                    *product += value * other;
                }
            } else {
                for (&column, other) in parameters[..=place].iter().zip(values) {
                    products[column] += value * other;
                }
            }
        }
        sums.clear();
    }
    // Each product of two parameters was added on one side or the other.
    for row in 0..size {
        for column in 0..row {
            let both = total[row * size + column] + total[column * size + row];
            total[row * size + column] = both;
            total[column * size + row] = both;
        }
    }
}

// ---------------------------------------------------------------------------------------- Python

/// `cluster_products(cluster, factor, cell, weight, first, second, by_strength, by_tie, covariates,
/// systems, totals)`: the sum over clusters of the outer product of their scores; and for each system
/// the number of clusters with battles of it, and the sum of the squares of their weights. Each battle
/// has a `cluster`, a `cell` and maybe a weight, each cluster a `factor`. A battle of a cell has the
/// score `by_strength` by the strength of its `first` system, minus that by its `second` one, `by_tie`
/// by the parameter of ties, and `by_strength` times its row of `covariates` by their effects:
/// parameters in this order. Where `totals` has the finite weight of all battles of a system, its scores
/// have in place of the factor that of the proportion of this weight which a cluster has.
#[pyfunction]
#[pyo3(signature = (cluster, factor, cell, weight, first, second, by_strength, by_tie, covariates, systems, totals=None))]
#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]
pub fn cluster_products<'py>(
    py: Python<'py>,
    cluster: PyReadonlyArray1<'py, u32>,
    factor: PyReadonlyArray1<'py, f64>,
    cell: PyReadonlyArray1<'py, i32>,
    weight: Option<PyReadonlyArray1<'py, f64>>,
    first: PyReadonlyArray1<'py, i64>,
    second: PyReadonlyArray1<'py, i64>,
    by_strength: PyReadonlyArray1<'py, f64>,
    by_tie: PyReadonlyArray1<'py, f64>,
    covariates: PyReadonlyArray2<'py, f64>,
    systems: usize,
    totals: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<(Matrix<'py>, Matrix<'py>)> {
    let (cluster, factor, cell) = (contiguous(&cluster), contiguous(&factor), contiguous(&cell));
    let weight = weight.as_ref().map(contiguous);
    let totals = totals.as_ref().map(contiguous);
    let (first, second) = (contiguous(&first), contiguous(&second));
    let (by_strength, by_tie) = (contiguous(&by_strength), contiguous(&by_tie));
    let width = covariates.shape()[1];
    let covariates = covariates.as_slice()?;
    same_length("cell", cell.len(), cluster.len())?;
    if let Some(weight) = &weight {
        same_length("weight", weight.len(), cluster.len())?;
    }
    if let Some(totals) = &totals {
        same_length("totals", totals.len(), systems)?;
    }
    let n = first.len();
    same_length("second", second.len(), n)?;
    same_length("by_strength", by_strength.len(), n)?;
    same_length("by_tie", by_tie.len(), n)?;
    same_length("covariates", covariates.len(), n * width)?;
    let outside = |of: &[i64]| of.iter().any(|&at| at < 0 || at as usize >= systems);
    if outside(&first)
        || outside(&second)
        || cluster.iter().any(|&code| code as usize >= factor.len())
        || cell.iter().any(|&at| at < 0 || at as usize >= n)
    {
        return Err(PyValueError::new_err(
            "a battle lies in no cluster or cell, or a cell has no system",
        ));
    }
    let cells: Vec<Cell> = (0..n)
        .map(|at| Cell {
            systems: [first[at] as u32, second[at] as u32],
            by_strength: by_strength[at],
            by_tie: by_tie[at],
        })
        .collect();
    let size = systems + 1 + width;
    let (products, spread) = (zeros(py, size, size)?, zeros(py, 2, systems)?);
    {
        let (mut total, mut counts) = (products.readwrite(), spread.readwrite());
        let (total, counts) = (total.as_slice_mut()?, counts.as_slice_mut()?);
        detached(py, [cluster.len(), size], |crew| {
            let battles = Sorted::of(crew, &cluster, factor.len(), &cell, weight.as_deref());
            add_products(
                crew,
                (&cells, covariates),
                systems,
                &battles,
                (&factor, totals.as_deref()),
                (total, counts),
            );
        })?;
    }
    Ok((products, spread))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::tested;

    /// Five battles of four, or of twenty systems in two clusters, by sums written out.
    #[test]
    fn products_are_those_of_dense_vectors() {
        for systems in [4, 20] {
            let cells = [
                (0, 1, 0.5, 1.0),
                (1, 2, -0.25, -1.0),
                (2, 3, 1.0, 0.5),
                (0, 3, 0.125, 2.0),
            ]
            .map(|(first, second, by_strength, by_tie)| Cell {
                systems: [first, second],
                by_strength,
                by_tie,
            });
            let covariates = [0.3, -2.0, 1.5, 0.0];
            let (cluster, cell) = ([1, 0, 1, 1, 0], [0, 1, 2, 3, 3]);
            let weight = [1.0, 2.0, 1.0, 0.5, 1.0];
            let factor = [2.0, 3.0];
            let size = systems + 2;
            let mut found = vec![0.0; size * size];
            let mut spread = vec![0.0; 2 * systems];
            let battles = tested(|crew| {
                let battles = Sorted::of(crew, &cluster, 2, &cell, Some(&weight));
                let columns = (&cells[..], &covariates[..]);
                let sums = (&mut found[..], &mut spread[..]);
                add_products(crew, columns, systems, &battles, (&factor, None), sums);
                battles
            });
            assert_eq!(spread[..4], [2.0, 2.0, 2.0, 2.0]);
            assert_eq!(spread[systems..systems + 4], [3.25, 5.0, 5.0, 3.25]);
            assert_eq!(battles.cells, [1, 3, 0, 2, 3]);
            assert_eq!(battles.weights, [2.0, 1.0, 1.0, 1.0, 0.5]);
            let mut vectors = vec![vec![0.0; size]; 2];
            for battle in 0..5 {
                let at = cell[battle] as usize;
                let (of, w) = (&mut vectors[cluster[battle] as usize], weight[battle]);
                of[cells[at].systems[0] as usize] += w * cells[at].by_strength;
                of[cells[at].systems[1] as usize] -= w * cells[at].by_strength;
                of[systems] += w * cells[at].by_tie;
                of[systems + 1] += w * cells[at].by_strength * covariates[at];
            }
            for row in 0..size {
                for column in 0..size {
                    let expected: f64 = (vectors.iter().zip(factor))
                        .map(|(of, factor)| factor * factor * of[row] * of[column])
                        .sum();
                    assert!((found[row * size + column] - expected).abs() < 1e-12);
                }
            }
        }
    }
}
