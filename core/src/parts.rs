//! Rows in parts and clusters, of which each part is left out in turn: several at a time, each in a
//! lane of its own.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::scores::same_length;

/// So many parts are left out at a time.
pub const LANES: usize = 8;

pub type Lanes = [f64; LANES];

/// Two sums of each cluster, by lane.
pub type ClusterSums = Vec<[Lanes; 2]>;

/// What a row counts in each lane, by the lane that its part is left out of, if any. A product with
/// it takes less time than a lane that is overwritten, for which the vector has to be in memory.
const COUNTED: [Lanes; LANES + 1] = {
    let mut counted = [[1.0; LANES]; LANES + 1];
    let mut lane = 0;
    while lane < LANES {
        counted[lane][lane] = 0.0;
        lane += 1;
    }
    counted
};

/// The part, weight and cluster of each row. Without clusters all sums are of one.
pub struct Parts<'a> {
    part_of: &'a [u8],
    weight: Option<&'a [f64]>,
    cluster: Option<&'a [u32]>,
    clusters: usize,
}

impl<'a> Parts<'a> {
    /// Columns of so many rows, checked.
    pub fn new(
        part_of: &'a [u8],
        weight: Option<&'a [f64]>,
        cluster: Option<&'a [u32]>,
        clusters: usize,
        rows: usize,
    ) -> PyResult<Self> {
        same_length("part_of", part_of.len(), rows)?;
        if let Some(cluster) = cluster {
            same_length("cluster", cluster.len(), rows)?;
        }
        if let Some(weight) = weight {
            same_length("weight", weight.len(), rows)?;
        }
        let all = || cluster.unwrap_or(&[0]).iter();
        if all().any(|&cluster| cluster as usize >= clusters) {
            return Err(PyValueError::new_err("a cluster is none of those counted"));
        }
        Ok(Self {
            part_of,
            weight,
            cluster,
            clusters,
        })
    }

    /// The weight of a row, 1 without weights.
    #[inline]
    pub fn weight(&self, row: usize) -> f64 {
        self.weight.map_or(1.0, |weight| weight[row])
    }

    /// Sets what a row adds to 0 where its part is left out, in the lanes of the parts from the
    /// `first` on.
    #[inline]
    pub fn leave_out(&self, row: usize, first: usize, lanes: &mut Lanes) {
        if let Some(own) = lanes.get_mut(usize::from(self.part_of[row]).wrapping_sub(first)) {
            *own = 0.0;
        }
    }

    /// The weight of a row in each lane from the part `first` on: none where its part is left out.
    #[inline]
    pub fn weights(&self, row: usize, first: usize) -> Lanes {
        let lane = usize::from(self.part_of[row]).wrapping_sub(first);
        let weight = self.weight(row);
        COUNTED[lane.min(LANES)].map(|counted| counted * weight)
    }

    /// Whether rows are independent.
    pub fn without_clusters(&self) -> bool {
        self.cluster.is_none()
    }

    /// Sums of no rows.
    pub fn no_sums(&self) -> ClusterSums {
        vec![[[0.0; LANES]; 2]; self.clusters]
    }

    /// The sums of the cluster of a row.
    #[inline]
    pub fn of_row<'s>(&self, row: usize, sums: &'s mut ClusterSums) -> &'s mut [Lanes; 2] {
        &mut sums[self.cluster.map_or(0, |cluster| cluster[row] as usize)]
    }

    /// The sums of all lanes by part, kind and cluster, from those of every `LANES` parts.
    pub fn by_part(&self, sums: &[&ClusterSums], parts: usize) -> Vec<f64> {
        let mut out = Vec::with_capacity(parts * 2 * self.clusters);
        for part in 0..parts {
            for kind in 0..2 {
                out.extend(sums[part / LANES].iter().map(|of| of[kind][part % LANES]));
            }
        }
        out
    }
}
