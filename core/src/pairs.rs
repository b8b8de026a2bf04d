//! Sums over pairs of rows in the order of two columns, by a binary indexed tree (Fenwick 1994).

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{Matrix, filled};
use crate::parallel::{Chunks, Crew};
use crate::resample::{rows_of, within};
use crate::scores::{contiguous, same_length};

/// Sums by rank, in which those of all lower ranks are found in a few steps.
struct Tree(Vec<f64>);

impl Tree {
    fn add(&mut self, rank: u32, weight: f64) {
        let mut node = rank as usize + 1;
        while let Some(sum) = self.0.get_mut(node) {
            *sum += weight;
            node += node & node.wrapping_neg();
        }
    }

    /// The sum over all ranks below this one.
    fn below(&self, rank: u32) -> f64 {
        let (mut node, mut sum) = (rank as usize, 0.0);
        while node > 0 {
            sum += self.0[node];
            node &= node - 1;
        }
        sum
    }
}

/// Of each row the weight of those in groups before its own that have a lower rank, and half of that
/// of those with the same rank. Groups ascend.
fn sum_lower(
    crew: Crew,
    (group, rank): (&[u32], &[u32]),
    weight: &[f64],
    tree: &mut Tree,
    sums: &mut [f64],
) {
    tree.0.fill(0.0);
    let mut start = 0;
    for run in crew.watched(group.chunk_by(|a, b| a == b)) {
        let rows = start..start + run.len();
        start = rows.end;
        for row in rows.clone() {
            sums[row] = f64::midpoint(tree.below(rank[row]), tree.below(rank[row] + 1));
        }
        for row in rows {
            if weight[row] > 0.0 {
                tree.add(rank[row], weight[row]);
            }
        }
    }
}

// ---------------------------------------------------------------------------------------- Python

/// `lower_sums(group, rank, weight, ranks)`: for each row of weights and each row of data the weight
/// of the data in lower groups with a lower rank, plus half of that with the same rank. Groups
/// ascend; ranks are 0 to ranks − 1.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn lower_sums<'py>(
    py: Python<'py>,
    group: PyReadonlyArray1<'py, u32>,
    rank: PyReadonlyArray1<'py, u32>,
    weight: PyReadonlyArray2<'py, f64>,
    ranks: usize,
) -> PyResult<Matrix<'py>> {
    let (replicates, rows) = (weight.shape()[0], weight.shape()[1]);
    let (group, rank, weight) = (contiguous(&group), contiguous(&rank), rows_of(&weight));
    same_length("group", group.len(), rows)?;
    same_length("rank", rank.len(), rows)?;
    within(&rank, ranks, ["rank", "row"])?;
    filled(py, [replicates, rows], [replicates, rows], |crew, sums| {
        if rows > 0 {
            let room = || Tree(vec![0.0; ranks + 1]);
            crew.map_with(Chunks(sums, rows), room, |tree, replicate, sums| {
                let weight = &weight[replicate * rows..][..rows];
                sum_lower(crew, (&group, &rank), weight, tree, sums);
            });
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::tested;

    #[test]
    fn sums_are_those_of_all_pairs() {
        let group: Vec<u32> = (0..60).map(|row| row / 4).collect();
        let rank: Vec<u32> = (0..60).map(|row| row * row % 11).collect();
        let weight: Vec<f64> = (0..60).map(|row| f64::from(row % 3)).collect();
        let mut sums = vec![0.0; 60];
        let mut tree = Tree(vec![0.0; 12]);
        tested(|crew| sum_lower(crew, (&group, &rank), &weight, &mut tree, &mut sums));
        for (row, &sum) in sums.iter().enumerate() {
            let earlier = (0..60).filter(|&other| group[other] < group[row]);
            // The sum of nothing is −0.
            let expected: f64 = 0.0
                + earlier
                    .map(|other| match rank[other].cmp(&rank[row]) {
                        std::cmp::Ordering::Less => weight[other],
                        std::cmp::Ordering::Equal => weight[other] / 2.0,
                        std::cmp::Ordering::Greater => 0.0,
                    })
                    .sum::<f64>();
            assert_eq!(sum.to_bits(), expected.to_bits());
        }
    }
}
