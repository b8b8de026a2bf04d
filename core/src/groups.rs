//! Rows in groups, each ranked by score, and what ties leave to chance.

use numpy::{PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{Line, line_of_zeros};
use crate::order::Score;
use crate::parallel::{Chunks, Crew, detached};
use crate::scores::{TO_SORT, contiguous, same_length};

/// Groups of so many rows together are one piece of work.
const PIECE: usize = 1 << 14;
/// So many groups are one piece of work where each takes a few steps.
const FEW: usize = 1 << 10;

/// Some groups: their sizes, and their rows in each column that is written.
struct Task<'a> {
    sizes: &'a [usize],
    first: usize,
    rank: &'a mut [i64],
    grade: &'a mut [i64],
    tied_from: &'a mut [i64],
    tied_to: &'a mut [i64],
}

/// The rows of each group one after the other, in their order; nothing if they are so already.
fn gathered(crew: Crew, group: &[i64], sizes: &[usize]) -> Option<Vec<u32>> {
    if group.is_sorted() {
        return None;
    }
    let mut next: Vec<_> = sizes
        .iter()
        .scan(0, |start, &size| {
            let here = *start;
            *start += size;
            Some(here)
        })
        .collect();
    let mut rows = vec![0; group.len()];
    for (row, &group) in crew.watched(group).enumerate() {
        let at = &mut next[group as usize];
        rows[*at] = row as u32;
        *at += 1;
    }
    Some(rows)
}

/// A key that ascends while the score descends, and the grade of equal scores.
fn key(score: f64, grade: i64) -> u128 {
    let descending = !(grade.cast_unsigned() ^ 1 << 63);
    u128::from(score.key()) << 64 | u128::from(descending)
}

fn grade_of(key: u128) -> i64 {
    (!(key as u64) ^ 1 << 63).cast_signed()
}

/// So many of the last bits of a score make room for the number of a row of its group.
const NUMBER: u32 = 10;

/// Rows whose scores begin alike are sorted by insertion, if there are no more than these.
const ALIKE: usize = 24;

/// Sorts keys: of small groups by the first bits of the scores, half as wide, with the number of the
/// row in the place of the others; those that begin alike are then put in order by all that they are.
fn sort(crew: Crew, keys: &mut Vec<u128>, short: &mut Vec<u64>, sorted: &mut Vec<u128>) {
    const NUMBERS: u64 = (1 << NUMBER) - 1;
    if keys.len() > 1 << NUMBER {
        return crew.sort(keys);
    }
    short.clear();
    let of_scores = keys.iter().map(|key| (key >> 64) as u64 & !NUMBERS);
    short.extend(of_scores.zip(0..).map(|(score, number)| score | number));
    short.sort_unstable();
    sorted.clear();
    sorted.extend(short.iter().map(|&key| keys[(key & NUMBERS) as usize]));
    let mut first = 0;
    for at in 1..=short.len() {
        let ends = at == short.len() || (short[at] ^ short[first]) > NUMBERS;
        if ends {
            let alike = &mut sorted[first..at];
            if alike.len() > ALIKE {
                alike.sort_unstable();
            } else {
                for end in 1..alike.len() {
                    let mut place = end;
                    while place > 0 && alike[place - 1] > alike[place] {
                        alike.swap(place - 1, place);
                        place -= 1;
                    }
                }
            }
            first = at;
        }
    }
    std::mem::swap(keys, sorted);
}

/// Among at most 2³² rows.
#[allow(clippy::cast_possible_wrap)]
fn place(at: usize) -> i64 {
    at as i64
}

/// Writes what `rows` of each group, by their number, come to.
fn rank(
    crew: Crew,
    (group, score, grade): (&[i64], &[f64], &[i64]),
    sizes: &[usize],
    [mut ranks, mut grades, mut tied_from, mut tied_to]: [&mut [i64]; 4],
) {
    let rows = gathered(crew, group, sizes);
    let (mut tasks, mut first, mut rest) = (Vec::new(), 0, sizes);
    while !rest.is_empty() {
        let (mut taken, mut size) = (0, 0);
        while taken < rest.len() && (taken == 0 || size + rest[taken] <= PIECE) {
            size += rest[taken];
            taken += 1;
        }
        let (here, others) = rest.split_at(taken);
        let [rank, grade, from, to];
        (rank, ranks) = ranks.split_at_mut(size);
        (grade, grades) = grades.split_at_mut(size);
        (from, tied_from) = tied_from.split_at_mut(size);
        (to, tied_to) = tied_to.split_at_mut(size);
        tasks.push(Task {
            sizes: here,
            first,
            rank,
            grade,
            tied_from: from,
            tied_to: to,
        });
        (first, rest) = (first + size, others);
    }
    let scratch = || (Vec::new(), Vec::new(), Vec::new());
    crew.map_with(Chunks(&mut tasks[..], 1), scratch, |scratch, _, tasks| {
        let (keys, short, sorted) = scratch;
        for task in tasks {
            let mut start = 0;
            for &size in task.sizes {
                keys.clear();
                keys.extend((task.first + start..task.first + start + size).map(|at| {
                    let row = rows.as_ref().map_or(at, |rows| rows[at] as usize);
                    key(score[row], grade[row])
                }));
                sort(crew, keys, short, sorted);
                let mut first = 0;
                while first < size {
                    let is_tied = |key: &u128| key >> 64 == keys[first] >> 64;
                    let tied = keys[first..].iter().take_while(|key| is_tied(key)).count();
                    let (from, to) = (place(first) + 1, place(first + tied));
                    for (at, &key) in keys.iter().enumerate().skip(first).take(tied) {
                        task.rank[start + at] = place(at) + 1;
                        task.grade[start + at] = grade_of(key);
                        task.tied_from[start + at] = from;
                        task.tied_to[start + at] = to;
                    }
                    first += tied;
                }
                start += size;
            }
        }
    });
}

/// Of `size` rows in any order, from rank `first` on, `hits` are relevant: the mean of the reciprocal
/// rank of the first of them, and the probability that there is one, both down to rank `last`.
fn first_hit(first: f64, size: f64, hits: f64, last: f64) -> (f64, f64) {
    let (mut missed, mut mean, mut place) = (1.0, 0.0, 0.0);
    while missed > 0.0 && place < size && first + place <= last {
        let left: f64 = size - place;
        mean += missed * (hits / left).min(1.0) / (first + place);
        missed *= (left - hits).max(0.0) / left;
        place += 1.0;
    }
    (mean, 1.0 - missed)
}

// ---------------------------------------------------------------------------------------- Python

type Ranked<'py> = [Line<'py, i64>; 4];

/// `rank_groups(group, score, grade, groups)`: the rows of each group by descending score, and those
/// of equal score by descending grade: their ranks and grades, and the first and the last rank of
/// their score. Groups are numbers from 0 on.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn rank_groups<'py>(
    py: Python<'py>,
    group: PyReadonlyArray1<'py, i64>,
    score: PyReadonlyArray1<'py, f64>,
    grade: PyReadonlyArray1<'py, i64>,
    groups: usize,
) -> PyResult<Ranked<'py>> {
    let (group, score, grade) = (contiguous(&group), contiguous(&score), contiguous(&grade));
    same_length("score", score.len(), group.len())?;
    same_length("grade", grade.len(), group.len())?;
    if u32::try_from(group.len()).is_err() {
        return Err(PyValueError::new_err("score has more than 4294967295 rows"));
    }
    let (odd, beyond) = detached(py, [group.len()], |crew| {
        let is_group = |group: &i64| usize::try_from(*group).is_ok_and(|group| group < groups);
        let beyond = crew.position(&group, |group| !is_group(group));
        (crew.position(&score, |score| score.is_nan()), beyond)
    })?;
    if let Some(row) = odd {
        return Err(PyValueError::new_err(format!(
            "score of row {row} is NaN, expected a number"
        )));
    }
    if let Some(row) = beyond {
        return Err(PyValueError::new_err(format!(
            "group of row {row} is {}, expected a number from 0 to {groups} − 1",
            group[row]
        )));
    }
    let lines = [(); 4].map(|()| line_of_zeros::<i64>(py, group.len()));
    let [a, b, c, d] = lines;
    let lines = [a?, b?, c?, d?];
    {
        let mut written = lines.each_ref().map(PyArrayMethods::readwrite);
        let [a, b, c, d] = &mut written;
        let columns = [
            a.as_slice_mut()?,
            b.as_slice_mut()?,
            c.as_slice_mut()?,
            d.as_slice_mut()?,
        ];
        detached(py, [group.len(), TO_SORT], |crew| {
            let mut sizes = vec![0; groups];
            for &group in crew.watched(&*group) {
                sizes[group as usize] += 1;
            }
            rank(crew, (&group, &score, &grade), &sizes, columns);
        })?;
    }
    Ok(lines)
}

/// `first_hits(first, size, hits, last)`: of so many rows in any order, from rank `first` on, of which
/// so many are relevant, the mean of the reciprocal rank of the first relevant one, and the
/// probability that there is one, both down to rank `last`.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn first_hits<'py>(
    py: Python<'py>,
    first: PyReadonlyArray1<'py, f64>,
    size: PyReadonlyArray1<'py, f64>,
    hits: PyReadonlyArray1<'py, f64>,
    last: f64,
) -> PyResult<[Line<'py>; 2]> {
    let (first, size, hits) = (contiguous(&first), contiguous(&size), contiguous(&hits));
    same_length("size", size.len(), first.len())?;
    same_length("hits", hits.len(), first.len())?;
    let [mean, found] = [(); 2].map(|()| line_of_zeros::<f64>(py, first.len()));
    let (mean, found) = (mean?, found?);
    {
        let (mut mean, mut found) = (mean.readwrite(), found.readwrite());
        let (mean, found) = (mean.as_slice_mut()?, found.as_slice_mut()?);
        detached(py, [first.len(), TO_SORT], |crew| {
            crew.map(
                (Chunks(mean, FEW), Chunks(found, FEW)),
                |piece, (mean, found)| {
                    for (at, (mean, found)) in mean.iter_mut().zip(found).enumerate() {
                        let at = piece * FEW + at;
                        (*mean, *found) = first_hit(first[at], size[at], hits[at], last);
                    }
                },
            );
        })?;
    }
    Ok([mean, found])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::tested;

    #[test]
    fn keys_order_scores_and_grades_and_keep_the_grade() {
        let rows = [
            (f64::INFINITY, -2),
            (1.5, i64::MAX),
            (1.5, 0),
            (1.5, i64::MIN),
            (0.0, 1),
            (-1.0, 7),
            (f64::NEG_INFINITY, 0),
        ];
        let keys: Vec<_> = rows
            .iter()
            .map(|&(score, grade)| key(score, grade))
            .collect();
        assert!(keys.is_sorted());
        assert!(
            keys.iter()
                .zip(rows)
                .all(|(&key, row)| grade_of(key) == row.1)
        );
        assert_eq!(key(0.0, 3), key(-0.0, 3));
    }

    #[test]
    fn keys_are_sorted_however_many_begin_alike() {
        for size in [0, 1, 5, 40, 300, 1 << NUMBER, (1 << NUMBER) + 1] {
            for distinct in [1, 2, 7, 1000] {
                let number = |at: u64| (at + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 7;
                let keys = (0..size).map(|at| {
                    let score = 1.0 + (number(at) % distinct) as f64 * f64::EPSILON * 100.0;
                    key(score, (number(at + 1) % 5).cast_signed())
                });
                let mut keys: Vec<_> = keys.collect();
                let mut expected = keys.clone();
                expected.sort_unstable();
                tested(|crew| sort(crew, &mut keys, &mut Vec::new(), &mut Vec::new()));
                assert_eq!(keys, expected);
            }
        }
    }

    #[test]
    fn groups_are_ranked_wherever_their_rows_are() {
        let (group, score) = ([2, 0, 2, 2, 0], [0.5, 1.0, 0.5, 0.9, 2.0]);
        let (grade, sizes) = ([0, 3, 2, 1, 0], [2, 0, 3]);
        let mut columns = [[0; 5]; 4];
        let [a, b, c, d] = &mut columns;
        tested(|crew| rank(crew, (&group, &score, &grade), &sizes, [a, b, c, d]));
        assert_eq!(columns[0], [1, 2, 1, 2, 3]);
        assert_eq!(columns[1], [0, 3, 1, 2, 0]);
        assert_eq!(columns[2], [1, 2, 1, 2, 2]);
        assert_eq!(columns[3], [1, 2, 1, 3, 3]);
    }

    #[test]
    fn the_first_hit_is_where_chance_puts_it() {
        // Two of four, from rank 3 on: first with 1/2, second with 1/3, third with 1/6.
        let (mean, found) = first_hit(3.0, 4.0, 2.0, f64::INFINITY);
        assert!((mean - (1.0 / 6.0 + 1.0 / 12.0 + 1.0 / 30.0)).abs() < 1e-15);
        assert!((found - 1.0).abs() < 1e-15);
        let (mean, found) = first_hit(3.0, 4.0, 2.0, 3.0);
        assert!((mean - 1.0 / 6.0).abs() < 1e-15 && (found - 0.5).abs() < 1e-15);
        assert_eq!(first_hit(3.0, 4.0, 2.0, 2.0), (0.0, 0.0));
        assert_eq!(first_hit(1.0, 4.0, 0.0, 9.0), (0.0, 0.0));
    }
}
