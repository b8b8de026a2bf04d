//! The loops over data behind `calipers._core`; every formula a reader would look for stands in
//! `calipers.measures`.

use pyo3::prelude::*;

pub mod resample;
pub mod scores;
pub mod trec;

#[pymodule(gil_used = false)]
mod _core {}
