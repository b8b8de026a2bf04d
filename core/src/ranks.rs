//! Midranks, weighted quantiles and the largest values of a column.

use numpy::{IntoPyArray, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::arrays::{Line, line_of_zeros};
use crate::order::descending;
use crate::parallel::{Chunks, Crew, detached};
use crate::scores::{TO_SORT, checked_ends, contiguous, same_length};

/// Quantiles differ from a total by its rounding: so much of it is nothing.
const ROUNDING: f64 = 1e-12;

/// So many rows are looked at for the largest ones before others are dropped, and by one thread.
const ROWS: usize = 1 << 12;
const STRETCH: usize = 1 << 18;

/// Into `ranks` the weight below each value plus half of that at the value, as a proportion of the
/// total weight. `keys` and `order` are room for as many rows.
fn midranks(
    crew: Crew,
    (values, ends): (&[f64], [u64; 2]),
    weight: Option<&[f64]>,
    (keys, order): (&mut [u64], &mut [u32]),
    ranks: &mut [f64],
) {
    let row = |row: usize| row as u32;
    let parts = descending(crew, values, ends, |_| false, row, keys, order);
    let mut below = 0.0;
    let (mut keys, mut rows, mut sums) = (Vec::new(), Vec::<u32>::new(), Vec::new());
    // Equal values are in the same part.
    for part in parts.iter().rev() {
        crew.check();
        keys.clear();
        keys.extend(part.rows().map(|(key, _)| key));
        rows.clear();
        rows.extend(part.loads());
        sums.clear();
        match weight {
            // Far reads one after the other, which wait for each other in no longer loop.
            Some(weight) => sums.extend(rows.iter().map(|&row| weight[row as usize])),
            None => sums.resize(rows.len(), 1.0),
        }
        let mut stop = keys.len();
        while stop > 0 {
            let mut start = stop - 1;
            while start > 0 && keys[start - 1] == keys[start] {
                start -= 1;
            }
            let at: f64 = sums[start..stop].iter().sum();
            sums[start..stop].fill(below + at / 2.0);
            below += at;
            stop = start;
        }
        for (&row, &sum) in rows.iter().zip(&sums) {
            ranks[row as usize] = sum;
        }
    }
    for rank in ranks {
        *rank /= below;
    }
}

/// The first row by value up to which the weight `reaches` what is wanted, among those behind
/// `start`, before which there is the weight `before`; the last row if there is none. Rows before it
/// are not above it. Returns its index and the weight before it.
fn select(
    crew: Crew,
    rows: &mut [(f64, f64)],
    start: usize,
    before: f64,
    reaches: impl Fn(f64) -> bool,
) -> (usize, f64) {
    let (mut start, mut stop, mut before) = (start, rows.len(), before);
    while stop - start > 1 {
        crew.check();
        let middle = usize::midpoint(start, stop);
        rows[start..stop].select_nth_unstable_by(middle - start, |a, b| a.0.total_cmp(&b.0));
        let weight: f64 = rows[start..middle].iter().map(|row| row.1).sum();
        if reaches(before + weight) {
            stop = middle;
        } else {
            before += weight;
            start = middle;
        }
    }
    (start, before)
}

/// The smallest value at or below which this proportion of the weight is; the mean of it and of the
/// next one, if both are.
fn quantile(crew: Crew, values: &[f64], weight: &[f64], proportion: f64) -> f64 {
    let mut rows: Vec<_> = values.iter().copied().zip(weight.iter().copied()).collect();
    if rows.is_empty() {
        return f64::NAN;
    }
    let total: f64 = weight.iter().sum();
    let (target, rounding) = (proportion * total, ROUNDING * total);
    let (low, before) = select(crew, &mut rows, 0, 0.0, |w| w >= target - rounding);
    let (lower, reached) = (rows[low].0, before + rows[low].1);
    if reached > target + rounding || low + 1 == rows.len() {
        return lower;
    }
    let (high, _) = select(crew, &mut rows, low + 1, reached, |w| w > target + rounding);
    f64::midpoint(lower, rows[high].0)
}

// ---------------------------------------------------------------------------------------- Python

/// `midranks(values, weight=None)`: the proportion of the weight below the value of each row, plus
/// half of that at the value. Values are finite.
#[pyfunction]
#[pyo3(signature = (values, weight=None))]
#[allow(clippy::needless_pass_by_value)]
#[pyo3(name = "midranks")]
pub fn column_midranks<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    weight: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Line<'py>> {
    let values = contiguous(&values);
    let weight = weight.as_ref().map(contiguous);
    if let Some(weight) = &weight {
        same_length("weight", weight.len(), values.len())?;
    }
    let ends = checked_ends(py, &values)?;
    let keys = line_of_zeros::<u64>(py, values.len())?;
    let order = line_of_zeros::<u32>(py, values.len())?;
    let ranks = line_of_zeros::<f64>(py, values.len())?;
    {
        let (mut keys, mut order) = (keys.readwrite(), order.readwrite());
        let mut written = ranks.readwrite();
        let (room, written) = (
            (keys.as_slice_mut()?, order.as_slice_mut()?),
            written.as_slice_mut()?,
        );
        detached(py, [values.len(), TO_SORT], |crew| {
            midranks(crew, (&values, ends), weight.as_deref(), room, written);
        })?;
    }
    Ok(ranks)
}

/// `largest_values(values, number)`: the so many largest values, ascending; all of them if there are no
/// more. None of them is NaN.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn largest_values<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    number: usize,
) -> PyResult<Line<'py>> {
    let values = contiguous(&values);
    let largest = detached(py, [values.len()], |crew| {
        let pieces = crew.map(Chunks(&*values, STRETCH), |_, values| {
            largest(values, number)
        });
        let mut largest = largest(&pieces.concat(), number);
        largest.sort_unstable_by(f64::total_cmp);
        largest
    })?;
    Ok(largest.into_pyarray(py))
}

/// Leaves the so many largest values, and returns the least of them.
fn keep_largest(values: &mut Vec<f64>, number: usize) -> f64 {
    if values.len() <= number {
        return f64::NEG_INFINITY;
    }
    let place = values.len() - number;
    if number > 0 {
        values.select_nth_unstable_by(place, f64::total_cmp);
    }
    values.drain(..place);
    values.first().copied().unwrap_or(f64::INFINITY)
}

fn largest(values: &[f64], number: usize) -> Vec<f64> {
    let mut kept = Vec::new();
    let mut least = f64::NEG_INFINITY;
    for values in values.chunks(number.max(ROWS)) {
        // Equal ones do no harm, and let there be enough of them.
        kept.extend(values.iter().filter(|&&value| value >= least));
        // Selected when there are twice as many, which is soon hardly ever.
        if kept.len() > 2 * number {
            least = keep_largest(&mut kept, number);
        }
    }
    keep_largest(&mut kept, number);
    kept
}

/// `weighted_quantile(values, weight, proportion)`: the smallest value at or below which this
/// proportion of the weight is; the mean of it and of the next one, if both are.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn weighted_quantile(
    py: Python<'_>,
    values: PyReadonlyArray1<'_, f64>,
    weight: PyReadonlyArray1<'_, f64>,
    proportion: f64,
) -> PyResult<f64> {
    let (values, weight) = (contiguous(&values), contiguous(&weight));
    same_length("weight", weight.len(), values.len())?;
    detached(py, [values.len(), TO_SORT], |crew| {
        quantile(crew, &values, &weight, proportion)
    })
}
