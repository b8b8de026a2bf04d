//! Samples of rows, by a hash of their numbers or of their values.

#![allow(clippy::cast_possible_wrap)] // no table has 2^63 rows

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::arrays::Line;
use crate::parallel::{Chunks, Crew, detached};
use crate::random::{STEP, Stream};
use crate::scores::contiguous;

/// So many rows are one piece of work.
const PIECE: usize = 1 << 16;

/// Where the rows are that are `chosen`.
fn places<T: Copy + Sync>(
    crew: Crew,
    rows: &[T],
    chosen: impl Fn(T) -> bool + Sync + Send,
) -> Vec<i64> {
    let pieces = crew.map(Chunks(rows, PIECE), |piece, rows| {
        let mut places = vec![0; rows.len()];
        let mut count = 0;
        for (at, &row) in rows.iter().enumerate() {
            // Written in any case, as nobody can predict which rows are chosen.
            places[count] = (piece * PIECE + at) as i64;
            count += usize::from(chosen(row));
        }
        places.truncate(count);
        places
    });
    pieces.concat()
}

/// `sampled_numbers(numbers, level)`: the places of the numbers whose hash ends in so many zero bits.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn sampled_numbers<'py>(
    py: Python<'py>,
    numbers: PyReadonlyArray1<'py, i64>,
    level: u32,
) -> PyResult<Line<'py, i64>> {
    let numbers = contiguous(&numbers);
    let places = detached(py, [numbers.len()], |crew| {
        places(crew, &numbers, |number| {
            Stream::from_state(number as u64).word(0).trailing_zeros() >= level
        })
    })?;
    Ok(places.into_pyarray(py))
}

/// `sampled_values(values, proportion)`: the places of about this proportion of the distinct values,
/// of which equal ones, also 0.0 and -0.0, are chosen together.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn sampled_values<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    proportion: f64,
) -> PyResult<Line<'py, i64>> {
    let values = contiguous(&values);
    let limit = (proportion * 2.0_f64.powi(64)) as u64;
    let places = detached(py, [values.len()], |crew| {
        places(crew, &values, |value| {
            (value + 0.0).to_bits().wrapping_mul(STEP) < limit
        })
    })?;
    Ok(places.into_pyarray(py))
}
