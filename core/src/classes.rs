//! One pass over a matrix of scores or probabilities: a row for each unit, a column for each class.
//!
//! Matrices of single and double precision are read where they lie, in any order of memory. A row is
//! summed from its first class to its last, so that neither the order of memory nor the number of
//! threads changes a digit.

#![allow(clippy::cast_possible_wrap)] // no table has 2^63 rows or classes

use std::array::from_fn;

use numpy::ndarray::{ArrayView2, Axis, Slice};
use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::line_of_zeros;
use crate::parallel::{Chunks, Crew, detached};
use crate::scores::{contiguous, same_length};

/// So many numbers are turned about at a time where a row is not contiguous.
const AT_ONCE: usize = 4096;

/// How many rows are faulty, and which is the first of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Faults {
    count: usize,
    first: usize,
}

impl Faults {
    fn add(&mut self, row: usize) {
        *self = self.and(Self {
            count: 1,
            first: row,
        });
    }

    fn and(self, other: Self) -> Self {
        let first = match (self.count, other.count) {
            (0, _) => other.first,
            (_, 0) => self.first,
            _ => self.first.min(other.first),
        };
        Self {
            count: self.count + other.count,
            first,
        }
    }
}

/// What a pass found wrong: rows with a value that may not be, and rows with a wrong sum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Wrong {
    values: Faults,
    sums: Faults,
}

impl Wrong {
    fn and(self, other: Self) -> Self {
        Self {
            values: self.values.and(other.values),
            sums: self.sums.and(other.sums),
        }
    }
}

/// So many rows are looked at side by side: none waits for the sums of another, and what is done to
/// all of them is done in vectors.
const SIDE_BY_SIDE: usize = 4;

/// What is said of rows, side by side. Classes are numbered in the type of the values, so that they
/// take the same vectors.
struct Said<const N: usize> {
    /// The class of the largest value, the first of equals.
    highest: [f64; N],
    largest: [f64; N],
    /// The smallest value, or 0.
    least: [f64; N],
    /// The sum of all values, NaN where one is.
    total: [f64; N],
    /// The sum of the squares of all values but that of the row's own class.
    others: [f64; N],
}

impl<const N: usize> Said<N> {
    // Loops by index become vectors; classes are whole numbers, equal or not.
    #[allow(clippy::needless_range_loop, clippy::float_cmp)]
    fn of<T: Copy + Into<f64>>(rows: [&[T]; N], own: [i64; N]) -> Self {
        let mut said = Self {
            highest: [0.0; N],
            largest: [f64::NEG_INFINITY; N],
            least: [0.0; N],
            total: [0.0; N],
            others: [0.0; N],
        };
        let own = own.map(|class| class as f64);
        let classes = rows[0].len();
        let rows = rows.map(|row| &row[..classes]);
        let mut number = 0.0;
        for class in 0..classes {
            for n in 0..N {
                let value = rows[n][class].into();
                let higher = value > said.largest[n];
                said.highest[n] = if higher { number } else { said.highest[n] };
                said.largest[n] = if higher { value } else { said.largest[n] };
                said.least[n] = if value < said.least[n] {
                    value
                } else {
                    said.least[n]
                };
                said.total[n] += value;
                let other = if number == own[n] { 0.0 } else { value };
                said.others[n] += other * other;
            }
            number += 1.0;
        }
        said
    }

    fn is_within(&self, n: usize, low: f64, high: f64) -> bool {
        !self.total[n].is_nan() && self.least[n] >= low && self.largest[n] <= high
    }
}

/// The rows of a block, each contiguous; `turned` holds them where the block does not.
fn rows_of<'a, T: Copy + Default>(
    block: &'a ArrayView2<T>,
    turned: &'a mut Vec<T>,
) -> Vec<&'a [T]> {
    let classes = block.ncols();
    if let Some(values) = block.as_slice() {
        return values.chunks_exact(classes).collect();
    }
    turned.resize(block.len(), T::default());
    for (class, column) in block.columns().into_iter().enumerate() {
        for (to, &value) in turned[class..].iter_mut().step_by(classes).zip(column) {
            *to = value;
        }
    }
    turned.chunks_exact(classes).collect()
}

/// How many rows are taken at a time.
fn rows_at_once(classes: usize) -> usize {
    (AT_ONCE / classes.max(1)).max(SIDE_BY_SIDE)
}

/// What the pass writes: of each row the class of its largest value, its value for the class that it
/// is of, and the sum of the squares of the others.
struct Columns<'a> {
    highest: &'a mut [i64],
    own: &'a mut [f64],
    others: &'a mut [f64],
}

impl Columns<'_> {
    /// Write what is said of the rows from `at` on.
    fn fill<T: Copy + Into<f64>, const N: usize>(
        &mut self,
        at: usize,
        rows: &[&[T]],
        truth: &[i64],
    ) -> Said<N> {
        let said = Said::of(from_fn(|n| rows[at + n]), from_fn(|n| truth[at + n]));
        self.others[at..at + N].copy_from_slice(&said.others);
        for n in 0..N {
            self.highest[at + n] = said.highest[n] as i64;
            self.own[at + n] = rows[at + n][truth[at + n] as usize].into();
        }
        said
    }
}

/// What is wrong with rows whose values have to be finite; or, as probabilities, whose sum may be off
/// by the `tolerance`, between 0 and 1.
fn wrong<const N: usize>(said: &Said<N>, at: usize, tolerance: Option<f64>) -> Wrong {
    let mut wrong = Wrong::default();
    for n in 0..N {
        match tolerance {
            None if !said.is_within(n, f64::MIN, f64::MAX) => wrong.values.add(at + n),
            Some(_) if !said.is_within(n, 0.0, 1.0) => wrong.values.add(at + n),
            Some(most) if (said.total[n] - 1.0).abs() > most => wrong.sums.add(at + n),
            _ => (),
        }
    }
    wrong
}

fn pass<T: Element + Copy + Default + Into<f64>>(
    crew: Crew,
    table: &ArrayView2<T>,
    truth: &[i64],
    tolerance: Option<f64>,
    out: &mut Columns,
) -> Wrong {
    let step = rows_at_once(table.ncols());
    let truth = Chunks(truth, step);
    let own = (Chunks(&mut *out.own, step), Chunks(&mut *out.others, step));
    crew.map_with(
        (truth, (Chunks(&mut *out.highest, step), own)),
        Vec::new,
        |turned, part, (truth, (highest, (own, others)))| {
            let mut out = Columns {
                highest,
                own,
                others,
            };
            let block = block_of(table, part * step, truth.len());
            let rows = rows_of(&block, turned);
            let whole = rows.len() - rows.len() % SIDE_BY_SIDE;
            let mut found = Wrong::default();
            for at in (0..whole).step_by(SIDE_BY_SIDE) {
                let said = out.fill::<_, SIDE_BY_SIDE>(at, &rows, truth);
                found = found.and(wrong(&said, part * step + at, tolerance));
            }
            for at in whole..rows.len() {
                let said = out.fill::<_, 1>(at, &rows, truth);
                found = found.and(wrong(&said, part * step + at, tolerance));
            }
            found
        },
    )
    .into_iter()
    .fold(Wrong::default(), Wrong::and)
}

/// Of each row K times the number of classes above its own, plus that of others with the same value.
fn ranks<T: Element + Copy + Default + PartialOrd>(
    crew: Crew,
    table: &ArrayView2<T>,
    truth: &[i64],
    out: &mut [i64],
) {
    let classes = table.ncols();
    let step = rows_at_once(classes);
    crew.map_with(
        (Chunks(truth, step), Chunks(out, step)),
        Vec::new,
        |turned, part, (truth, out)| {
            let block = block_of(table, part * step, truth.len());
            let rows = rows_of(&block, turned);
            for ((to, &truth), row) in out.iter_mut().zip(truth).zip(rows) {
                let own = row[truth as usize];
                let above = row.iter().filter(|&&value| value > own).count();
                let same = row.iter().filter(|&&value| value == own).count();
                *to = (above * classes + same.saturating_sub(1)) as i64;
            }
        },
    );
}

fn block_of<'a, T>(table: &'a ArrayView2<T>, start: usize, rows: usize) -> ArrayView2<'a, T> {
    table.slice_axis(Axis(0), Slice::from(start..start + rows))
}

// --------------------------------------------------------------------------------------- Python

/// A matrix of double or of single precision.
#[derive(FromPyObject)]
pub enum Table<'py> {
    Double(PyReadonlyArray2<'py, f64>),
    Single(PyReadonlyArray2<'py, f32>),
}

impl Table<'_> {
    /// That each row is of one of the classes.
    fn check(&self, py: Python<'_>, truth: &[i64]) -> PyResult<()> {
        let (rows, classes) = match self {
            Self::Double(table) => table.as_array().dim(),
            Self::Single(table) => table.as_array().dim(),
        };
        same_length("table", rows, truth.len())?;
        let known = 0..classes as i64;
        let strange = |class: &i64| !known.contains(class);
        match detached(py, [rows], |crew| crew.position(truth, strange))? {
            None => Ok(()),
            Some(row) => Err(PyValueError::new_err(format!(
                "truth is {} in row {row}, expected a class from 0 to {}",
                truth[row],
                classes as i64 - 1
            ))),
        }
    }
}

type Column<'py, T> = Bound<'py, PyArray1<T>>;

/// How many rows are wrong, and the first of them.
type Count = (usize, usize);

/// `class_rows(table, truth, tolerance=None)`: of each row the class of the largest value (the first
/// of equals), the value of the row's own class, and the sum of the squares of the others; then the
/// number of rows with a value that is not finite, and the first of them. With a tolerance the values
/// are probabilities: the number of rows with one that is missing or not between 0 and 1, and of
/// others whose sum is further from 1 than that.
#[pyfunction]
#[pyo3(signature = (table, truth, tolerance=None))]
#[allow(clippy::needless_pass_by_value, clippy::type_complexity)]
pub fn class_rows<'py>(
    py: Python<'py>,
    table: Table<'py>,
    truth: PyReadonlyArray1<'py, i64>,
    tolerance: Option<f64>,
) -> PyResult<(
    Column<'py, i64>,
    Column<'py, f64>,
    Column<'py, f64>,
    Count,
    Count,
)> {
    let truth = contiguous(&truth);
    table.check(py, &truth)?;
    let highest = line_of_zeros::<i64>(py, truth.len())?;
    let [own, others] = [
        line_of_zeros::<f64>(py, truth.len())?,
        line_of_zeros(py, truth.len())?,
    ];
    let wrong = {
        let (mut highest, mut own, mut others) =
            (highest.readwrite(), own.readwrite(), others.readwrite());
        let out = &mut Columns {
            highest: highest.as_slice_mut()?,
            own: own.as_slice_mut()?,
            others: others.as_slice_mut()?,
        };
        match &table {
            Table::Double(table) => {
                let table = table.as_array();
                detached(py, [table.len()], |crew| {
                    pass(crew, &table, &truth, tolerance, out)
                })?
            }
            Table::Single(table) => {
                let table = table.as_array();
                detached(py, [table.len()], |crew| {
                    pass(crew, &table, &truth, tolerance, out)
                })?
            }
        }
    };
    let [values, sums] = [wrong.values, wrong.sums].map(|faults| (faults.count, faults.first));
    Ok((highest, own, others, values, sums))
}

/// `class_ranks(table, truth)`: of each row K times the number of classes whose value is above that
/// of its own, plus the number of others with the same value.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn class_ranks<'py>(
    py: Python<'py>,
    table: Table<'py>,
    truth: PyReadonlyArray1<'py, i64>,
) -> PyResult<Column<'py, i64>> {
    let truth = contiguous(&truth);
    table.check(py, &truth)?;
    let cell = line_of_zeros::<i64>(py, truth.len())?;
    {
        let mut cell = cell.readwrite();
        let out = cell.as_slice_mut()?;
        match &table {
            Table::Double(table) => {
                let table = table.as_array();
                detached(py, [table.len()], |crew| ranks(crew, &table, &truth, out))?;
            }
            Table::Single(table) => {
                let table = table.as_array();
                detached(py, [table.len()], |crew| ranks(crew, &table, &truth, out))?;
            }
        }
    }
    Ok(cell)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::tested;
    use numpy::ndarray::{Array2, ShapeBuilder};

    #[test]
    fn the_first_of_equals_is_the_highest() {
        let said = Said::of(
            [&[0.25, 0.5, 0.25, 0.5][..], &[0.5, 0.25, 0.25, 0.0]],
            [3, 0],
        );
        assert_eq!((said.highest, said.largest), ([1.0, 0.0], [0.5, 0.5]));
        assert_eq!((said.total, said.others), ([1.5, 1.0], [0.375, 0.125]));
        assert!(said.is_within(0, 0.0, 1.0));
    }

    #[test]
    fn what_is_missing_is_not_within() {
        for (row, is_within) in [
            ([f64::NAN, 0.0], false),
            ([1.0, f64::NAN], false),
            ([-1e-9, 1.0], false),
            ([-0.0, 1.0], true),
            ([f64::INFINITY, f64::NEG_INFINITY], false),
        ] {
            assert_eq!(Said::of([&row[..]], [0]).is_within(0, 0.0, 1.0), is_within);
        }
    }

    #[test]
    fn the_order_of_memory_changes_no_digit() {
        let (rows, classes) = (1000, 7);
        let value = |(row, class): (usize, usize)| ((row * 31 + class * 17) % 101) as f64 / 300.0;
        let by_rows = Array2::from_shape_fn((rows, classes), value);
        let by_columns = Array2::from_shape_fn((rows, classes).f(), value);
        let truth: Vec<_> = (0..rows as i64).map(|row| row % 7).collect();
        let [one, other] = [&by_rows, &by_columns].map(|table| {
            let (mut highest, mut own, mut others) =
                (vec![0; rows], vec![0.0; rows], vec![0.0; rows]);
            let out = &mut Columns {
                highest: &mut highest,
                own: &mut own,
                others: &mut others,
            };
            let wrong = tested(|crew| pass(crew, &table.view(), &truth, Some(1e-6), out));
            let mut cell = vec![0; rows];
            tested(|crew| ranks(crew, &table.view(), &truth, &mut cell));
            (highest, own, others, cell, wrong)
        });
        assert_eq!(one, other);
        assert_eq!(one.4.sums.first, 0);
    }

    #[test]
    fn faults_are_counted_from_the_first() {
        let mut some = Faults::default();
        some.add(7);
        let mut more = Faults::default();
        more.add(3);
        more.add(9);
        assert_eq!(some.and(more), Faults { count: 3, first: 3 });
        assert_eq!(Faults::default().and(some), some);
    }
}
