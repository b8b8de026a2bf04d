//! Rows of a given matrix of distances, summed by cluster or kept at their extremes, and what is wrong
//! with them. A row is summed from its first column to its last, whatever rows come with it.

use std::array::from_fn;
use std::ops::Range;

use numpy::ndarray::{ArrayView2, s};
use numpy::{Element, IntoPyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{Line, Matrix, filled};
use crate::classes::Table;
use crate::distances::{check_labels, check_weights, merge_extremes, split_extremes};
use crate::parallel::{Chunks, Crew};
use crate::scores::contiguous;

/// So many rows are gone along side by side.
const LANES: usize = 8;

/// So many columns at a time.
const COLUMNS: usize = 256;

/// A square of so many rows and columns is held against the one across the diagonal.
const ACROSS: usize = 64;

type Lanes = [f64; LANES];

/// The worst of each kind that was found, with the value and its row and column; of values that are
/// not finite, the first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Faults {
    not_finite: Option<Place>,
    negative: Option<Place>,
    diagonal: Option<Place>,
    asymmetry: Option<Place>,
}

type Place = (f64, usize, usize);

impl Faults {
    /// The worse of both, of equals these.
    fn and(self, other: Self) -> Self {
        let larger = |a: Place, b: Place| a.0.abs() > b.0.abs();
        let earlier = |a: Place, b: Place| (a.1, a.2) < (b.1, b.2);
        Self {
            not_finite: worse(self.not_finite, other.not_finite, earlier),
            negative: worse(self.negative, other.negative, larger),
            diagonal: worse(self.diagonal, other.diagonal, larger),
            asymmetry: worse(self.asymmetry, other.asymmetry, larger),
        }
    }

    /// Of a value that is not on the diagonal.
    fn add(&mut self, value: f64, row: usize, column: usize) {
        let place = Some((value, row, column));
        *self = self.and(Self {
            not_finite: place.filter(|_| !value.is_finite()),
            negative: place.filter(|_| value.is_finite() && value < 0.0),
            ..Self::default()
        });
    }

    fn named(self) -> Vec<(&'static str, f64, usize, usize)> {
        [
            ("not finite", self.not_finite),
            ("negative", self.negative),
            ("diagonal", self.diagonal),
            ("asymmetry", self.asymmetry),
        ]
        .into_iter()
        .filter_map(|(name, found)| found.map(|(value, row, column)| (name, value, row, column)))
        .collect()
    }
}

fn worse(
    one: Option<Place>,
    other: Option<Place>,
    is_worse: impl Fn(Place, Place) -> bool,
) -> Option<Place> {
    match (one, other) {
        (Some(a), Some(b)) if is_worse(b, a) => other,
        (None, _) => other,
        _ => one,
    }
}

/// Rows of a matrix, the first of which is its row `start`.
struct Rows<'a, T> {
    values: ArrayView2<'a, T>,
    start: usize,
}

impl<T: Element + Copy + Into<f64>> Rows<'_, T> {
    /// Some columns of up to eight rows from `first` on, turned about, with zeros on the diagonal and
    /// beyond the last row; and what is wrong with them.
    fn turn(&self, first: usize, columns: Range<usize>, turned: &mut Vec<Lanes>) -> Faults {
        let rows = first..self.values.nrows().min(first + LANES);
        turned.clear();
        turned.resize(columns.len(), [0.0; LANES]);
        let mut faults = Faults::default();
        for (lane, row) in rows.enumerate() {
            let values = self.values.slice(s![row, columns.clone()]);
            for (to, &value) in turned.iter_mut().zip(values) {
                to[lane] = value.into();
            }
            let own = self.start + row;
            if columns.contains(&own) {
                let value = &mut turned[own - columns.start][lane];
                if *value != 0.0 {
                    let place = Some((*value, own, own));
                    faults = faults.and(Faults {
                        not_finite: place.filter(|_| !value.is_finite()),
                        diagonal: place.filter(|_| value.is_finite()),
                        ..Faults::default()
                    });
                }
                *value = 0.0;
            }
        }
        let is_good = |value: f64| (0.0..f64::INFINITY).contains(&value);
        let good = turned.as_flattened().iter();
        if !good.fold(true, |good, &value| good & is_good(value)) {
            for lane in 0..LANES {
                for (column, values) in columns.clone().zip(&*turned) {
                    if !is_good(values[lane]) {
                        faults.add(values[lane], self.start + first + lane, column);
                    }
                }
            }
        }
        faults
    }

    /// Of each row a number for each cluster, made of `first` and the values of its columns.
    fn gather(
        &self,
        crew: Crew,
        clusters: usize,
        first: f64,
        out: &mut [f64],
        take: impl Fn(&mut [Lanes], usize, Range<usize>, &[Lanes]) + Sync + Send,
    ) -> Faults {
        let paper = || (Vec::new(), Vec::new());
        let parts = Chunks(out, LANES * clusters);
        crew.map_with(parts, paper, |(turned, held), part, out| {
            held.clear();
            held.resize(clusters, [first; LANES]);
            let mut faults = Faults::default();
            for columns in crew.pieces(0..self.values.ncols(), COLUMNS) {
                faults = faults.and(self.turn(part * LANES, columns.clone(), turned));
                take(held, part * LANES, columns, turned);
            }
            for (lane, row) in out.chunks_mut(clusters).enumerate() {
                for (to, from) in row.iter_mut().zip(&*held) {
                    *to = from[lane];
                }
            }
            faults
        })
        .into_iter()
        .fold(Faults::default(), Faults::and)
    }

    fn sums(
        &self,
        crew: Crew,
        labels: &[i64],
        clusters: usize,
        weights: Option<&[f64]>,
        out: &mut [f64],
    ) -> Faults {
        self.gather(crew, clusters, 0.0, out, |held, _, columns, turned| {
            for (column, values) in columns.zip(turned) {
                let weight = weights.map_or(1.0, |weights| weights[column]);
                let sums = &mut held[labels[column] as usize];
                for lane in 0..LANES {
                    sums[lane] += weight * values[lane];
                }
            }
        })
        .and(self.asymmetry(crew))
    }

    /// The smallest for each cluster; for that of the row the largest, with a minus.
    fn extremes(&self, crew: Crew, labels: &[i64], clusters: usize, out: &mut [f64]) -> Faults {
        let own = &labels[self.start..self.start + self.values.nrows()];
        let take = |held: &mut [Lanes], first: usize, columns: Range<usize>, turned: &[Lanes]| {
            let own: [_; LANES] = from_fn(|lane| own.get(first + lane).copied());
            for (label, values) in labels[columns].iter().zip(turned) {
                let least = &mut held[*label as usize];
                for lane in 0..LANES {
                    let is_own = own[lane] == Some(*label);
                    let value = if is_own { -values[lane] } else { values[lane] };
                    least[lane] = if value < least[lane] {
                        value
                    } else {
                        least[lane]
                    };
                }
            }
        };
        self.gather(crew, clusters, f64::INFINITY, out, take)
            .and(self.asymmetry(crew))
    }

    /// The largest difference of two values across the diagonal, where both are here.
    fn asymmetry(&self, crew: Crew) -> Faults {
        let rows = self.values.nrows();
        let square = self.values.slice(s![.., self.start..self.start + rows]);
        let starts = 0..rows.div_ceil(ACROSS);
        crew.map(starts, |_, part| {
            let these = part * ACROSS..rows.min((part + 1) * ACROSS);
            let mut largest = (0.0, 0, 0);
            for others in crew.pieces(these.start..rows, ACROSS) {
                for row in these.clone() {
                    let along = square.slice(s![row, others.clone()]);
                    let down = square.slice(s![others.clone(), row]);
                    let found = along.iter().zip(down).map(|(&a, &b)| {
                        let difference: f64 = a.into() - b.into();
                        difference.abs()
                    });
                    let most = found.clone().fold(0.0, f64::max);
                    if most > largest.0 && most.is_finite() {
                        let at = found.take_while(|&value| value < most).count();
                        largest = (most, self.start + row, self.start + others.start + at);
                    }
                }
            }
            Faults {
                asymmetry: Some(largest).filter(|(value, ..)| *value > 0.0),
                ..Faults::default()
            }
        })
        .into_iter()
        .fold(Faults::default(), Faults::and)
    }
}

// ----------------------------------------------------------------------------------------- Python

type Named = Vec<(&'static str, f64, usize, usize)>;

impl<'a, T: Element + Copy + Into<f64>> Rows<'a, T> {
    /// Those of a square matrix from `start` on, with a label for each column.
    fn checked(
        py: Python<'_>,
        rows: &'a PyReadonlyArray2<T>,
        start: usize,
        labels: &[i64],
        clusters: usize,
    ) -> PyResult<Self> {
        let values = rows.as_array();
        let (rows, columns) = values.dim();
        check_labels(py, columns, labels, clusters)?;
        if start.saturating_add(rows) > columns {
            return Err(PyValueError::new_err(format!(
                "rows {start} to {} are more than the {columns} columns",
                start.saturating_add(rows)
            )));
        }
        Ok(Self { values, start })
    }

    fn sums_for_python<'py>(
        &self,
        py: Python<'py>,
        labels: &[i64],
        clusters: usize,
        weights: Option<&[f64]>,
    ) -> PyResult<(Matrix<'py>, Named)> {
        let (rows, columns) = self.values.dim();
        check_weights(weights, columns)?;
        let mut faults = Faults::default();
        let made = filled(py, [rows, clusters], [rows, columns], |crew, out| {
            faults = self.sums(crew, labels, clusters, weights, out);
        })?;
        Ok((made, faults.named()))
    }

    fn extremes_for_python<'py>(
        &self,
        py: Python<'py>,
        labels: &[i64],
        clusters: usize,
    ) -> PyResult<(Matrix<'py>, Line<'py>, Named)> {
        let (rows, columns) = self.values.dim();
        let (mut largest, mut faults) = (Vec::new(), Faults::default());
        let least = filled(py, [clusters; 2], [rows, columns], |crew, out| {
            let mut found = vec![0.0; rows * clusters];
            faults = self.extremes(crew, labels, clusters, &mut found);
            let own = labels[self.start..self.start + rows].iter();
            merge_extremes(own.map(|&label| label as usize), clusters, &found, out);
            largest = split_extremes(out, clusters);
        })?;
        Ok((least, largest.into_pyarray(py), faults.named()))
    }
}

/// `matrix_sums(rows, labels, clusters, weights=None, start=0)`: from each point (row) the sum of its
/// distances to the points (columns) of each cluster, each times the weight of the column, and itself
/// at distance 0; and what was found wrong: of each kind its name, the value, its row and column.
///
/// `rows` are those of an n × n matrix from row `start` on, or all. "not finite" is the first such
/// value, "negative" the least, "diagonal" the one furthest from 0, and "asymmetry" the largest
/// difference across the diagonal of two values that are both in these rows.
#[pyfunction]
#[pyo3(signature = (rows, labels, clusters, weights=None, start=0))]
#[allow(clippy::needless_pass_by_value)]
pub fn matrix_sums<'py>(
    py: Python<'py>,
    rows: Table<'py>,
    labels: PyReadonlyArray1<'py, i64>,
    clusters: usize,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    start: usize,
) -> PyResult<(Matrix<'py>, Named)> {
    let labels = contiguous(&labels);
    let weights = weights.as_ref().map(contiguous);
    let weights = weights.as_deref();
    match &rows {
        Table::Double(rows) => Rows::checked(py, rows, start, &labels, clusters)?
            .sums_for_python(py, &labels, clusters, weights),
        Table::Single(rows) => Rows::checked(py, rows, start, &labels, clusters)?
            .sums_for_python(py, &labels, clusters, weights),
    }
}

/// `dunn_matrix(rows, labels, clusters, start=0)`: of the pairs in these rows, the smallest distance
/// between points of each two clusters, and the largest within each, as of `dunn_distances`; and what
/// was found wrong, as of `matrix_sums`.
#[pyfunction]
#[pyo3(signature = (rows, labels, clusters, start=0))]
#[allow(clippy::needless_pass_by_value)]
pub fn dunn_matrix<'py>(
    py: Python<'py>,
    rows: Table<'py>,
    labels: PyReadonlyArray1<'py, i64>,
    clusters: usize,
    start: usize,
) -> PyResult<(Matrix<'py>, Line<'py>, Named)> {
    let labels = contiguous(&labels);
    match &rows {
        Table::Double(rows) => Rows::checked(py, rows, start, &labels, clusters)?
            .extremes_for_python(py, &labels, clusters),
        Table::Single(rows) => Rows::checked(py, rows, start, &labels, clusters)?
            .extremes_for_python(py, &labels, clusters),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::tested;
    use numpy::ndarray::Array2;

    #[test]
    fn the_worst_of_each_kind_is_found() {
        let mut values = Array2::<f64>::from_elem((600, 600), 1.0);
        values.diag_mut().fill(0.0);
        let sums = |values: &Array2<f64>| {
            let values = values.view();
            let rows = Rows { values, start: 0 };
            tested(|crew| rows.sums(crew, &[0; 600], 1, None, &mut [0.0; 600]))
        };
        assert_eq!(sums(&values), Faults::default());
        values[[3, 500]] = f64::NAN;
        values[[4, 1]] = f64::INFINITY;
        values[[9, 300]] = -0.25;
        values[[599, 0]] = -0.5;
        values[[7, 7]] = 0.125;
        values[[598, 598]] = -0.25;
        let found = sums(&values);
        assert_eq!(
            found.not_finite.map(|(_, row, column)| (row, column)),
            Some((3, 500))
        );
        assert_eq!(found.negative, Some((-0.5, 599, 0)));
        assert_eq!(found.diagonal, Some((-0.25, 598, 598)));
        assert_eq!(found.asymmetry, Some((1.5, 0, 599)));
    }
}
