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
        places(crew, &numbers, |number| is_sampled(number as u64, level))
    })?;
    Ok(places.into_pyarray(py))
}

/// `sampled_range(rows, level)`: `sampled_numbers` of the numbers from 0 to `rows`.
#[pyfunction]
pub fn sampled_range(py: Python<'_>, rows: usize, level: u32) -> PyResult<Line<'_, i64>> {
    let numbers = detached(py, [rows], |crew| {
        let pieces = crew.map(0..rows.div_ceil(PIECE), |piece, _| {
            let range = piece * PIECE..rows.min((piece + 1) * PIECE);
            let mut numbers = vec![0; range.len()];
            let mut count = 0;
            for number in range {
                numbers[count] = number as i64;
                count += usize::from(is_sampled(number as u64, level));
            }
            numbers.truncate(count);
            numbers
        });
        pieces.concat()
    })?;
    Ok(numbers.into_pyarray(py))
}

/// Whether the hash of a number ends in so many zero bits.
#[inline]
fn is_sampled(number: u64, level: u32) -> bool {
    Stream::from_state(number).word(0).trailing_zeros() >= level
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
