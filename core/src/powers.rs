//! Sums of powers: what a smooth function of one number adds up to over many rows follows from them.

#![allow(clippy::cast_possible_wrap)] // nothing has 2^63 bins

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::Line;
use crate::parallel::{Crew, detached};
use crate::scores::{contiguous, same_length};

/// So many powers, the first of which is 1.
const POWERS: usize = 13;

/// In each bin the sums of the powers of the distance of a number from the middle of its bin.
struct Sums {
    plain: Vec<[f64; POWERS]>,
    squares: Vec<[f64; POWERS]>,
}

/// Of numbers of two classes in bins of this width, of which the first has the number `lowest`; those
/// of the second class in bins of their own behind the others. None where a number lies outside.
fn sums(
    crew: Crew,
    x: &[f64],
    second: &[bool],
    weight: Option<&[f64]>,
    (lowest, bins, width): (i64, usize, f64),
) -> Option<Sums> {
    let mut plain = vec![[0.0; POWERS]; 2 * bins];
    let mut squares = vec![[0.0; POWERS]; if weight.is_some() { 2 * bins } else { 0 }];
    for (row, (&x, &second)) in crew.watched(x.iter().zip(second).enumerate()) {
        let bin = (x / width).floor();
        let place = bin as i64 - lowest;
        if !x.is_finite() || place < 0 || place >= bins as i64 {
            return None;
        }
        let at = place as usize + usize::from(second) * bins;
        let apart = x - (bin + 0.5) * width;
        let weight = weight.map(|weight| weight[row]);
        let mut power = weight.unwrap_or(1.0);
        for sum in &mut plain[at] {
            *sum += power;
            power *= apart;
        }
        if let Some(weight) = weight {
            let mut power = weight * weight;
            for sum in &mut squares[at] {
                *sum += power;
                power *= apart;
            }
        }
    }
    Some(Sums { plain, squares })
}

// ---------------------------------------------------------------------------------------- Python

/// `power_sums(x, second, weight, lowest, bins, width)`: of numbers of two classes the sums of the
/// powers 0 to 12 of their distance from the middle of their bin, and with squared weights where
/// there are weights: 2 × bins × 13 numbers each, those of the first class first. Bin k reaches from
/// k·width to (k + 1)·width, `lowest` being the first.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn power_sums<'py>(
    py: Python<'py>,
    x: PyReadonlyArray1<'py, f64>,
    second: PyReadonlyArray1<'py, bool>,
    weight: Option<PyReadonlyArray1<'py, f64>>,
    lowest: i64,
    bins: usize,
    width: f64,
) -> PyResult<(Line<'py>, Option<Line<'py>>)> {
    let (x, second) = (contiguous(&x), contiguous(&second));
    let weight = weight.as_ref().map(contiguous);
    same_length("second", second.len(), x.len())?;
    if let Some(weight) = &weight {
        same_length("weight", weight.len(), x.len())?;
    }
    let grid = (lowest, bins, width);
    let found = detached(py, [x.len(), POWERS], |crew| {
        sums(crew, &x, &second, weight.as_deref(), grid)
    })?;
    let Some(found) = found else {
        return Err(PyValueError::new_err("a number lies in none of the bins"));
    };
    let line = |of: Vec<[f64; POWERS]>| of.into_flattened().into_pyarray(py);
    let squares = weight.is_some().then(|| line(found.squares));
    Ok((line(found.plain), squares))
}
