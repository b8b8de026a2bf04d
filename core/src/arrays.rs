//! Arrays that the core makes for Python.

use numpy::{Element, PyArray1, PyArray2, PyArrayDescrMethods, PyArrayMethods, dtype};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::parallel::{Crew, called, detached};

pub type Line<'py, T = f64> = Bound<'py, PyArray1<T>>;
pub type Matrix<'py, T = f64> = Bound<'py, PyArray2<T>>;

/// A matrix of zeros.
pub fn zeros<T: Element>(py: Python<'_>, rows: usize, columns: usize) -> PyResult<Matrix<'_, T>> {
    let made = allotted::<T>(py, [rows, columns].into_pyobject(py)?.into_any(), || {
        (format!("{rows} × {columns}"), rows as f64 * columns as f64)
    })?;
    Ok(made.cast_into()?)
}

/// So many zeros.
pub fn line_of_zeros<T: Element>(py: Python<'_>, length: usize) -> PyResult<Line<'_, T>> {
    let made = allotted::<T>(py, length.into_pyobject(py)?.into_any(), || {
        (format!("{length}"), length as f64)
    })?;
    Ok(made.cast_into()?)
}

/// The numbers may be anything a caller asks for, so `NumPy` allots them, which fails where Rust would
/// abort the process; and it asks for huge pages, without which most of the time of a table would go
/// to touching fresh memory.
fn allotted<'py, T: Element>(
    py: Python<'py>,
    shape: Bound<'py, PyAny>,
    said: impl Fn() -> (String, f64),
) -> PyResult<Bound<'py, PyAny>> {
    let kind = dtype::<T>(py);
    let bytes = kind.itemsize() as f64;
    let arguments = PyTuple::new(py, [shape, kind.into_any()])?;
    called(&py.import("numpy")?.getattr("zeros")?, &arguments).map_err(|_| {
        let (numbers, many) = said();
        PyMemoryError::new_err(format!(
            "{numbers} numbers need {:.1} GB, more memory than there is",
            many * bytes / 1e9
        ))
    })
}

/// A matrix that the crew fills, in so many steps, where zeros stand.
pub fn filled<const N: usize>(
    py: Python<'_>,
    [rows, columns]: [usize; 2],
    steps: [usize; N],
    fill: impl FnOnce(Crew, &mut [f64]) + Send,
) -> PyResult<Matrix<'_>> {
    let made = zeros(py, rows, columns)?;
    {
        let mut values = made.readwrite();
        let values = values.as_slice_mut()?;
        detached(py, steps, |crew| fill(crew, values))?;
    }
    Ok(made)
}
