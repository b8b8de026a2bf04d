//! Arrays that the core makes for Python.

use numpy::{Element, PyArray2, PyArrayDescrMethods, PyArrayMethods, dtype};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

use crate::parallel::{Crew, detached};

pub type Matrix<'py, T = f64> = Bound<'py, PyArray2<T>>;

/// A matrix of zeros. The numbers may be anything a caller asks for, so `NumPy` allots it, which fails
/// where Rust would abort the process.
pub fn zeros<T: Element>(py: Python<'_>, rows: usize, columns: usize) -> PyResult<Matrix<'_, T>> {
    let kind = dtype::<T>(py);
    let bytes = rows as f64 * columns as f64 * kind.itemsize() as f64;
    let made = py
        .import("numpy")?
        .call_method1("zeros", ((rows, columns), kind));
    match made {
        Ok(made) => Ok(made.cast_into::<PyArray2<T>>()?),
        Err(_) => Err(PyMemoryError::new_err(format!(
            "{rows} × {columns} numbers need {:.1} GB, more memory than there is",
            bytes / 1e9
        ))),
    }
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
