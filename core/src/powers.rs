//! Sums of powers: what a smooth function of one number adds up to over many rows follows from them.

#![allow(clippy::cast_possible_wrap)] // nothing has 2^63 bins

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::Line;
use crate::parallel::{Crew, detached};
use crate::parts::{ClusterSums, LANES, Lanes, Parts};
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

// ------------------------------------------------------------------------------ lines of logits

/// Up to here the terms of e^x − 1 below give all its digits.
const NEAR: f64 = 1.0 / 32.0;

/// 1/n! for n from 8 down to 2.
const TERMS: [f64; 7] = [
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
];

/// e^x − 1 for |x| up to `NEAR`.
#[inline]
fn grown(x: f64) -> f64 {
    let sum = TERMS.iter().fold(0.0, |sum, term| sum * x + term);
    (sum * x + 1.0) * x
}

/// Rows with the logit of a probability.
struct Rows<'a> {
    logit: &'a [f64],
    positive: &'a [bool],
    parts: Parts<'a>,
}

impl Rows<'_> {
    /// By cluster the sums of the residuals about lines of logits, and of them times the logit, each
    /// line without the rows of its part, from the `first` on.
    ///
    /// The lines are close to that in their middle: with σ at that one and e the exponential of the
    /// distance to it, σ·e/(1 + σ·(e − 1)) is on the other one.
    fn residuals(&self, crew: Crew, first: usize, lines: [&[f64]; 2]) -> ClusterSums {
        let count = lines[0].len().min(first + LANES) - first;
        let middle = lines.map(|of| of[first]);
        let mut apart = [[0.0; LANES]; 2];
        for of in 0..2 {
            for lane in 0..count {
                apart[of][lane] = lines[of][first + lane] - middle[of];
            }
        }
        let most = apart.map(|of| of.iter().fold(0.0, |most: f64, x| most.max(x.abs())));
        let mut sums = self.parts.no_sums();
        for (row, &x) in crew.watched(self.logit.iter().enumerate()) {
            let weight = self.parts.weight(row);
            if weight == 0.0 {
                continue;
            }
            let fitted = 1.0 / (1.0 + (-(middle[0] + middle[1] * x)).exp());
            let distances: Lanes = std::array::from_fn(|lane| apart[0][lane] + apart[1][lane] * x);
            let is_near = most[0] + most[1] * x.abs() <= NEAR;
            let risen = if is_near {
                distances.map(grown)
            } else {
                distances.map(f64::exp_m1)
            };
            // Of a positive row 1 − σ, of a negative one −σ, on each of the lines.
            let [start, growth] = if self.positive[row] {
                [1.0 - fitted, 0.0]
            } else {
                [-fitted, -fitted]
            };
            let mut residuals: Lanes = std::array::from_fn(|lane| {
                weight * (start + growth * risen[lane]) / (1.0 + fitted * risen[lane])
            });
            self.parts.leave_out(row, first, &mut residuals);
            let sum = self.parts.of_row(row, &mut sums);
            for lane in 0..LANES {
                sum[0][lane] += residuals[lane];
                sum[1][lane] += residuals[lane] * x;
            }
        }
        sums
    }
}

/// `residuals_without(logit, positive, part_of, weight, cluster, intercepts, slopes, clusters)`: by
/// part, power and cluster the sums of the residuals about a line of logits of the rows of all other
/// parts, and of the residuals times the logit. Each part has the line that was fitted without it.
#[pyfunction]
#[pyo3(signature = (logit, positive, part_of, weight, cluster, intercepts, slopes, clusters))]
#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]
pub fn residuals_without<'py>(
    py: Python<'py>,
    logit: PyReadonlyArray1<'py, f64>,
    positive: PyReadonlyArray1<'py, bool>,
    part_of: PyReadonlyArray1<'py, u8>,
    weight: Option<PyReadonlyArray1<'py, f64>>,
    cluster: PyReadonlyArray1<'py, u32>,
    intercepts: PyReadonlyArray1<'py, f64>,
    slopes: PyReadonlyArray1<'py, f64>,
    clusters: usize,
) -> PyResult<Line<'py>> {
    let (logit, positive) = (contiguous(&logit), contiguous(&positive));
    let (part_of, cluster) = (contiguous(&part_of), contiguous(&cluster));
    let weight = weight.as_ref().map(contiguous);
    let (intercepts, slopes) = (contiguous(&intercepts), contiguous(&slopes));
    same_length("positive", positive.len(), logit.len())?;
    same_length("slopes", slopes.len(), intercepts.len())?;
    let rows = Rows {
        logit: &logit,
        positive: &positive,
        parts: Parts::new(
            &part_of,
            weight.as_deref(),
            Some(&cluster),
            clusters,
            logit.len(),
        )?,
    };
    let parts = intercepts.len();
    let found = detached(py, [logit.len(), parts], |crew| {
        let found = crew.map(0..parts.div_ceil(LANES), |_, at| {
            rows.residuals(crew, at * LANES, [&intercepts, &slopes])
        });
        rows.parts.by_part(&found.iter().collect::<Vec<_>>(), parts)
    })?;
    Ok(found.into_pyarray(py))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terms_give_all_digits() {
        for step in -1_000..=1_000 {
            let x = NEAR * f64::from(step) / 1_000.0;
            assert!((grown(x) - x.exp_m1()).abs() <= 4e-16 * x.abs());
        }
    }
}
