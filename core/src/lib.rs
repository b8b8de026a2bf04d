//! The loops over data behind `calipers._core`; every formula a reader would look for stands in
//! `calipers.measures`.

use pyo3::prelude::*;

pub mod random;
pub mod resample;
pub mod scores;
pub mod trec;

#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use crate::resample::{
        bootstrap_cells, bootstrap_means, bootstrap_scores, bootstrap_tables, poisson_counts,
        randomisation, randomisation_exact,
    };
    #[pymodule_export]
    use crate::scores::{order_descending, score_table, sweep_scores};
    #[pymodule_export]
    use crate::trec::{JudgedRun, Judgments, read_rows};
}
