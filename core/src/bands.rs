//! Replicates of curves, read at the places of a grid.

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{Matrix, filled};
use crate::parallel::Chunks;
use crate::scores::{contiguous, same_length};

/// The lines through points with ascending `x`, at each place of an ascending grid: constant outside,
/// at a jump its upper end, NaN without points.
pub fn interpolate(x: &[f64], y: &[f64], grid: &[f64], out: &mut [f64]) {
    let Some(last) = x.len().checked_sub(1) else {
        out.fill(f64::NAN);
        return;
    };
    let mut after = 0;
    for (&place, out) in grid.iter().zip(out) {
        while after <= last && x[after] <= place {
            after += 1;
        }
        *out = match after {
            0 => y[0],
            _ if after > last => y[last],
            _ => {
                let before = after - 1;
                (y[after] - y[before]) / (x[after] - x[before]) * (place - x[before]) + y[before]
            }
        };
    }
}

/// True and false positives of a replicate at thresholds, from none to all, and at which of them
/// several distinct scores lie between it and the one before.
struct Thresholds<'a> {
    tp: &'a [f64],
    fp: &'a [f64],
    several: &'a [bool],
}

impl Thresholds<'_> {
    /// Precision where each recall of an ascending grid is first reached with a predicted positive.
    fn precision(&self, grid: &[f64], out: &mut [f64]) {
        let last = self.tp.len() - 1;
        let all = self.tp[last];
        let mut at = 1;
        while at < last && self.tp[at] + self.fp[at] <= 0.0 {
            at += 1;
        }
        for (&recall, out) in grid.iter().zip(out) {
            let target = recall * all;
            while at < last && self.tp[at] < target {
                at += 1;
            }
            let (tp, step) = (self.tp[at - 1], self.tp[at] - self.tp[at - 1]);
            let between = self.several[at] && self.tp[at] > target && target > 0.0;
            let fraction = if between { (target - tp) / step } else { 1.0 };
            let hits = tp + fraction * step;
            let fp = self.fp[at - 1];
            *out = hits / (hits + fp + fraction * (self.fp[at] - fp));
        }
    }
}

// ---------------------------------------------------------------------------------------- Python

fn rows_of<'a>(rows: &'a PyReadonlyArray2<'_, f64>) -> PyResult<&'a [f64]> {
    let rows = rows.as_slice();
    rows.map_err(|_| PyValueError::new_err("rows must be C-contiguous"))
}

/// `interpolated_rows(x, y, grid)`: each row of `y` as a line over the same row of `x`, at the places
/// of a grid; `x` and grid ascend.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn interpolated_rows<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray2<'py, f64>,
    grid: PyReadonlyArray1<'py, f64>,
) -> PyResult<Matrix<'py>> {
    let [rows, points] = [x.shape()[0], x.shape()[1]];
    same_length("y", y.len(), x.len())?;
    let (x, y, grid) = (rows_of(&x)?, rows_of(&y)?, contiguous(&grid));
    filled(
        py,
        [rows, grid.len()],
        [rows, points + grid.len()],
        |crew, out| {
            let lines = (Chunks(x, points), Chunks(y, points));
            crew.map((Chunks(out, grid.len()), lines), |_, (out, (x, y))| {
                interpolate(x, y, &grid, out);
            });
        },
    )
}

/// `replicate_precision(positive, negative, several, recall)`: precision at ascending recalls, of
/// replicates of the true and the false positives at thresholds (columns), from none to all. A value
/// is that at the first threshold that reaches the recall, or on the way to it from the one before
/// where there are `several` distinct scores between them.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn replicate_precision<'py>(
    py: Python<'py>,
    positive: PyReadonlyArray2<'py, f64>,
    negative: PyReadonlyArray2<'py, f64>,
    several: PyReadonlyArray1<'py, bool>,
    recall: PyReadonlyArray1<'py, f64>,
) -> PyResult<Matrix<'py>> {
    let [rows, points] = [positive.shape()[0], positive.shape()[1]];
    same_length("negative", negative.len(), positive.len())?;
    same_length("several", several.len(), points)?;
    if points < 2 {
        return Err(PyValueError::new_err(
            "there must be two thresholds or more",
        ));
    }
    let (positive, negative) = (rows_of(&positive)?, rows_of(&negative)?);
    let (several, grid) = (contiguous(&several), contiguous(&recall));
    filled(
        py,
        [rows, grid.len()],
        [rows, points + grid.len()],
        |crew, out| {
            let counts = (Chunks(positive, points), Chunks(negative, points));
            crew.map((Chunks(out, grid.len()), counts), |_, (out, (tp, fp))| {
                let several = &several;
                Thresholds { tp, fp, several }.precision(&grid, out);
            });
        },
    )
}
