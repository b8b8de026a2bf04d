//! Areas under the curves of many labels of the same rows, and how much each row moves averages of
//! them. Each label is sorted once, and nothing is kept of it but its areas: a table of scores a label
//! would take three times the memory of the scores.

use numpy::{PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::areas::{Area, Table};
use crate::arrays::{Matrix, zeros};
use crate::order::{Part, Score, descending};
use crate::parallel::{Crew, detached};
use crate::scores::{Invalid, TO_SORT, check_values, contiguous, ends_of_numbers, same_length};

/// Labels that are copied out of the rows at a time: the scores of a cache line.
const LABELS: usize = 8;

/// Blocks of labels that have sums of their own. These are added in order, so that no sum depends on
/// the number of threads.
const BLOCKS: usize = 8;

/// A key that no finite score has.
const END: u64 = u64::MAX;

/// Rows with a truth and a score of each label.
struct Rows<'a, S> {
    truth: &'a [bool],
    scores: &'a [S],
    weight: Option<&'a [f64]>,
    labels: usize,
}

/// What is averaged: an area (AUC, if none is named) and the weight of each label.
struct Average<'a> {
    area: Option<Area>,
    weights: &'a [f64],
}

/// What a block of labels, and each label, is worked out in.
struct Scratch<S: Score> {
    truth: Vec<bool>,
    scores: Vec<S>,
    keys: Vec<S::Held>,
    rows: Vec<u32>,
    own: [Vec<f64>; 2],
    squares: [Vec<f64>; 2],
    moved: Vec<Vec<[f64; 2]>>,
}

impl<S: Score> Scratch<S> {
    fn new() -> Self {
        Self {
            truth: Vec::new(),
            scores: Vec::new(),
            keys: Vec::new(),
            rows: Vec::new(),
            own: [Vec::new(), Vec::new()],
            squares: [Vec::new(), Vec::new()],
            moved: Vec::new(),
        }
    }
}

/// Goes over rows by descending score: which of the distinct scores each has, whether it is positive,
/// and its number.
fn each_ranked<S: Score>(parts: &[Part<'_, S, u32>], mut work: impl FnMut(usize, bool, usize)) {
    let (mut before, mut scores) = (END, 0);
    for part in parts {
        part.each(|key, is_positive, row| {
            scores += usize::from(key != before);
            before = key;
            work(scores - 1, is_positive, row as usize);
        });
    }
}

impl<S: Score> Rows<'_, S> {
    fn len(&self) -> usize {
        self.truth.len() / self.labels.max(1)
    }

    /// Copies a column of some labels, one after the other.
    fn copy(&self, labels: std::ops::Range<usize>, scratch: &mut Scratch<S>) {
        let rows = self.len();
        scratch.truth.resize(rows * LABELS, false);
        scratch.scores.resize(rows * LABELS, self.scores[0]);
        let lines = self.truth.chunks(self.labels);
        for (row, (truth, scores)) in lines.zip(self.scores.chunks(self.labels)).enumerate() {
            let pairs = truth[labels.clone()].iter().zip(&scores[labels.clone()]);
            for (label, (&truth, &score)) in pairs.enumerate() {
                scratch.truth[label * rows + row] = truth;
                scratch.scores[label * rows + row] = score;
            }
        }
    }

    /// Of a label the effective number of rows of either class, and its areas; what its rows move
    /// averages is added to `sums`, where each row has one for each average.
    fn label(
        &self,
        crew: Crew,
        [place, label]: [usize; 2],
        averages: &[Average],
        scratch: &mut Scratch<S>,
        sums: &mut [f64],
    ) -> Result<Vec<f64>, Invalid> {
        let rows = self.len();
        let column = place * rows..(place + 1) * rows;
        let Scratch {
            truth,
            scores,
            keys,
            rows: numbers,
            own,
            squares,
            moved,
        } = scratch;
        let (truth, scores) = (&truth[column.clone()], &scores[column]);
        keys.resize(rows, S::Held::default());
        numbers.resize(rows, 0);
        let ends = ends_of_numbers(crew, scores)?;
        let positive = |row: usize| truth[row];
        let number = |row: usize| row as u32;
        let parts = descending(crew, scores, ends, positive, number, keys, numbers);
        let distinct = parts.iter().map(|part| part.distinct).sum();
        if let Some(weight) = self.weight {
            for column in own.iter_mut().chain(squares.iter_mut()) {
                column.clear();
                column.resize(distinct, 0.0);
            }
            each_ranked(&parts, |score, is_positive, row| {
                let class = usize::from(!is_positive);
                own[class][score] += weight[row];
                squares[class][score] += weight[row] * weight[row];
            });
        } else {
            let [positives, negatives] = own;
            positives.resize(distinct, 0.0);
            negatives.resize(distinct, 0.0);
            let (mut before, mut positive, mut negative) = (usize::MAX, 0_u32, 0_u32);
            each_ranked(&parts, |score, is_positive, _| {
                let same = u32::from(score == before);
                before = score;
                positive = positive * same + u32::from(is_positive);
                negative = negative * same + u32::from(!is_positive);
                positives[score] = f64::from(positive);
                negatives[score] = f64::from(negative);
            });
        }
        let columns = own.each_ref().map(|column| &column[..]);
        let table = match self.weight {
            Some(_) => Table::of(crew, columns, squares.each_ref().map(|column| &column[..])),
            None => Table::of(crew, columns, columns),
        };
        let sizes = table.effective_rows();
        moved.resize_with(averages.len(), Vec::new);
        let mut facts = sizes.to_vec();
        let mut factors = vec![[0.0; 2]; averages.len()];
        for ((average, moved), factor) in averages.iter().zip(moved.iter_mut()).zip(&mut factors) {
            let weight = average.weights[label];
            moved.resize(distinct, [0.0; 2]);
            if weight == 0.0 {
                moved.fill([0.0; 2]);
                facts.push(f64::NAN);
                continue;
            }
            facts.push(match average.area {
                Some(area) => table.spread(crew, area, moved)[0],
                None => table.delong(crew, moved)[0],
            });
            *factor = sizes.map(|n| {
                if n > 1.0 {
                    weight * (n / (n - 1.0)).sqrt()
                } else {
                    f64::NAN
                }
            });
        }
        let width = averages.len();
        each_ranked(&parts, |score, is_positive, row| {
            let class = usize::from(!is_positive);
            let sums = &mut sums[row * width..][..width];
            for ((sum, moved), factor) in sums.iter_mut().zip(moved.iter()).zip(&factors) {
                *sum += factor[class] * moved[score][class];
            }
        });
        Ok(facts)
    }

    /// The facts of all labels, and the sums of all rows.
    fn areas(
        &self,
        crew: Crew,
        averages: &[Average],
        facts: &mut [f64],
        sums: &mut [f64],
    ) -> Result<(), Invalid> {
        if let Some(weight) = self.weight {
            check_values(crew, "weight", weight, 0.0)?;
        }
        if self.truth.is_empty() {
            return Ok(());
        }
        let mut facts = facts.chunks_mut(2 + averages.len());
        let first = (0..self.labels).step_by(LABELS * BLOCKS);
        for start in first {
            let blocks = (self.labels - start).div_ceil(LABELS).min(BLOCKS);
            let found = crew.map_with(0..blocks, Scratch::new, |scratch, at, _| {
                let labels = start + at * LABELS..self.labels.min(start + (at + 1) * LABELS);
                self.copy(labels.clone(), scratch);
                let mut own = vec![0.0; sums.len()];
                let facts = labels.enumerate().map(|(place, label)| {
                    crew.check();
                    self.label(crew, [place, label], averages, scratch, &mut own)
                });
                let facts = facts.collect::<Result<Vec<_>, _>>()?;
                Ok((facts, own))
            });
            for block in found {
                let (of_labels, own) = block?;
                for (of_label, line) in of_labels.into_iter().zip(facts.by_ref()) {
                    line.copy_from_slice(&of_label);
                }
                for (sum, own) in sums.iter_mut().zip(own) {
                    *sum += own;
                }
            }
        }
        Ok(())
    }
}

/// Scores of double or of single precision, a column for each label.
#[derive(FromPyObject)]
pub enum LabelScores<'py> {
    Double(PyReadonlyArray2<'py, f64>),
    Single(PyReadonlyArray2<'py, f32>),
}

/// `label_areas(names, truth, scores, weight, weights)`: a line for each label, with the effective
/// number of positive and of negative rows and an area of each name, which is NaN where the label has
/// no weight; and a line for each row, with what it moves the average of each area over labels of
/// these `weights`, times the root of n/(n − 1) of its class of each label. It is for a row of
/// weight 1.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn label_areas<'py>(
    py: Python<'py>,
    names: Vec<String>,
    truth: PyReadonlyArray2<'py, bool>,
    scores: LabelScores<'py>,
    weight: Option<PyReadonlyArray1<'py, f64>>,
    weights: PyReadonlyArray2<'py, f64>,
) -> PyResult<(Matrix<'py>, Matrix<'py>)> {
    let options = (names, truth, weight, weights);
    match scores {
        LabelScores::Double(scores) => averaged(py, &scores, options),
        LabelScores::Single(scores) => averaged(py, &scores, options),
    }
}

type Options<'py> = (
    Vec<String>,
    PyReadonlyArray2<'py, bool>,
    Option<PyReadonlyArray1<'py, f64>>,
    PyReadonlyArray2<'py, f64>,
);

fn averaged<'py, S: Score>(
    py: Python<'py>,
    scores: &PyReadonlyArray2<'py, S>,
    (names, truth, weight, weights): Options<'py>,
) -> PyResult<(Matrix<'py>, Matrix<'py>)> {
    let [rows, labels] = [0, 1].map(|axis| scores.shape()[axis]);
    if truth.shape() != scores.shape() || weights.shape() != [names.len(), labels] {
        return Err(PyValueError::new_err(format!(
            "truth has the shape {:?}, scores {:?}, weights {:?}",
            truth.shape(),
            scores.shape(),
            weights.shape()
        )));
    }
    if u32::try_from(rows).is_err() {
        return Err(PyValueError::new_err(
            "scores has more than 4294967295 rows",
        ));
    }
    let weight = weight.as_ref().map(contiguous);
    if let Some(weight) = &weight {
        same_length("weight", weight.len(), rows)?;
    }
    let (truth, scores) = (truth.as_array(), scores.as_array());
    let (truth, scores) = (truth.as_standard_layout(), scores.as_standard_layout());
    let weights = weights.as_array();
    let weights = weights.as_standard_layout();
    let weights = weights.as_slice().expect("in standard layout");
    let areas = names.iter().map(|name| Area::of_any(name));
    let averages = areas.enumerate().map(|(at, area)| {
        Ok(Average {
            area: area?,
            weights: &weights[at * labels..(at + 1) * labels],
        })
    });
    let averages = averages.collect::<PyResult<Vec<_>>>()?;
    let table = Rows {
        truth: truth.as_slice().expect("in standard layout"),
        scores: scores.as_slice().expect("in standard layout"),
        weight: weight.as_deref(),
        labels,
    };
    let facts = zeros(py, labels, 2 + averages.len())?;
    let sums = zeros(py, rows, averages.len())?;
    {
        let (mut facts, mut sums) = (facts.readwrite(), sums.readwrite());
        let (facts, sums) = (facts.as_slice_mut()?, sums.as_slice_mut()?);
        detached(py, [rows, labels, TO_SORT], |crew| {
            table.areas(crew, &averages, facts, sums)
        })??;
    }
    Ok((facts, sums))
}
