//! The loops over data behind `calipers._core`; every formula a reader would look for stands in
//! `calipers.measures`.

use pyo3::prelude::*;

pub mod areas;
mod arrays;
pub mod bands;
pub mod battles;
pub mod cells;
pub mod classes;
pub mod dirichlet;
pub mod distances;
pub mod groups;
pub mod isotonic;
pub mod json;
pub mod label_areas;
mod labels;
pub mod matrices;
pub mod moments;
mod order;
pub mod pairs;
pub mod parallel;
mod parts;
pub mod powers;
pub mod random;
pub mod randomize;
pub mod ranks;
pub mod resample;
pub mod samples;
pub mod scores;
pub mod tables;
pub mod thinning;
pub mod trec;

// Nobody has run it in an interpreter without the GIL yet: there, importing it switches the GIL on.
#[pymodule(gil_used = true)]
mod _core {
    #[pymodule_export]
    use crate::areas::{
        area_bounds, area_errors, area_influence, areas_without, score_table_without,
    };
    #[pymodule_export]
    use crate::bands::{interpolated_rows, replicate_precision};
    #[pymodule_export]
    use crate::battles::cluster_products;
    #[pymodule_export]
    use crate::cells::{score_cells, score_shift};
    #[pymodule_export]
    use crate::classes::{class_ranks, class_rows};
    #[pymodule_export]
    use crate::dirichlet::{dirichlet_limits, dirichlet_quantiles, dirichlet_tails};
    #[pymodule_export]
    use crate::distances::{distance_sums, dunn_distances};
    #[pymodule_export]
    use crate::groups::{first_hits, rank_groups};
    #[pymodule_export]
    use crate::isotonic::{isotonic_blocks, isotonic_fits};
    #[pymodule_export]
    use crate::json::json_depth_excess;
    #[pymodule_export]
    use crate::label_areas::label_areas;
    #[pymodule_export]
    use crate::labels::label_order;
    #[pymodule_export]
    use crate::matrices::{dunn_matrix, matrix_sums};
    #[pymodule_export]
    use crate::moments::{
        bin_sums, cube_sums, error_differences, error_moments, left_out_logs, number_moments,
        shape_sums, value_ends, value_moments, weighted_moments,
    };
    #[pymodule_export]
    use crate::pairs::lower_sums;
    #[pymodule_export]
    use crate::parallel::progress;
    #[pymodule_export]
    use crate::powers::{power_sums, residuals_without};
    #[pymodule_export]
    use crate::randomize::{
        difference_maxima, randomization, randomization_exact, randomized_maxima, randomized_ranges,
    };
    #[pymodule_export]
    use crate::ranks::{column_midranks, largest_values, weighted_quantile};
    #[pymodule_export]
    use crate::resample::{
        bootstrap_cells, bootstrap_coarse, bootstrap_left_out, bootstrap_left_out_of,
        bootstrap_means, bootstrap_points, bootstrap_runs, bootstrap_scores, bootstrap_tables,
        bootstrap_totals, poisson_counts, poisson_draws, sum_columns,
    };
    #[pymodule_export]
    use crate::samples::{sampled_numbers, sampled_range, sampled_values};
    #[pymodule_export]
    use crate::scores::{order_descending, score_table, sweep_scores};
    #[pymodule_export]
    use crate::tables::merge_score_tables;
    #[pymodule_export]
    use crate::thinning::{simplified_curve, simplified_lines};
    #[pymodule_export]
    use crate::trec::{Asked, JudgedRun, Judgments, read_rows};
}
