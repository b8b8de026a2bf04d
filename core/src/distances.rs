//! Distances between all points, summed by cluster or kept at their extremes, without ever holding
//! them: n × k numbers of memory beside the points.
//!
//! Points are sorted by cluster into groups of eight, which fill vectors, and groups into panels,
//! which fit the cache. Every two panels meet once, as in a tournament: in each round each panel
//! meets one other, so that a thread writes to both and no thread to what another writes. The order
//! of sums follows from the rounds, and no operation depends on the width of the machine's vectors:
//! neither the number of threads nor the machine changes a digit.

#![allow(clippy::inline_always)] // only so do loops become vectors of the width that is found
#![allow(clippy::cast_possible_wrap)] // no table has 2^63 rows

use std::array::from_fn;
use std::ops::Range;

use numpy::ndarray::ArrayView2;
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{Line, Matrix, filled};
use crate::parallel::{Chunks, Crew, detached};
use crate::scores::contiguous;

/// The points of a group.
const LANES: usize = 8;

/// One number of each point of a group.
type Lanes = [f64; LANES];

/// No panel has more groups.
const GROUPS: usize = 32;

/// Nor more numbers than this, if it has more than two groups: a quarter of a megabyte.
const NUMBERS: usize = 1 << 15;

/// So many groups are looked for at once where only some points are.
const GROUPS_SOUGHT: usize = 4;

// ---------------------------------------------------------------------------------------- metrics

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    Euclidean,
    SquaredEuclidean,
    Manhattan,
    Cosine,
}

impl Metric {
    const NAMES: [(&str, Self); 4] = [
        ("euclidean", Self::Euclidean),
        ("sqeuclidean", Self::SquaredEuclidean),
        ("manhattan", Self::Manhattan),
        ("cosine", Self::Cosine),
    ];

    fn begin(self, meeting: impl Meeting) {
        match self {
            Self::Euclidean => meeting.begin::<RootOfSquares>(),
            Self::SquaredEuclidean | Self::Cosine => meeting.begin::<Squares>(),
            Self::Manhattan => meeting.begin::<Absolutes>(),
        }
    }

    /// A distance that was summed of points divided by `scale`. That of the cosine is half the square
    /// of the distance between unit vectors, which loses no digits where they are near.
    fn unscaled(self, distance: f64, scale: f64) -> f64 {
        match self {
            Self::Euclidean | Self::Manhattan => distance * scale,
            Self::SquaredEuclidean => distance * scale * scale,
            Self::Cosine => distance / 2.0,
        }
    }
}

/// How a distance is made of the differences of coordinates.
trait Distance {
    fn add(sum: f64, difference: f64) -> f64;

    #[inline(always)]
    fn of(sum: f64) -> f64 {
        sum
    }
}

struct Squares;
struct RootOfSquares;
struct Absolutes;

impl Distance for Squares {
    #[inline(always)]
    fn add(sum: f64, difference: f64) -> f64 {
        sum + difference * difference
    }
}

impl Distance for RootOfSquares {
    #[inline(always)]
    fn add(sum: f64, difference: f64) -> f64 {
        Squares::add(sum, difference)
    }

    #[inline(always)]
    fn of(sum: f64) -> f64 {
        sum.sqrt()
    }
}

impl Distance for Absolutes {
    #[inline(always)]
    fn add(sum: f64, difference: f64) -> f64 {
        sum + difference.abs()
    }
}

/// The power of two next below a number, from 2⁻¹⁰⁰⁰ to 2¹⁰⁰⁰: dividing by it changes no digit, and
/// neither squares nor their sums leave the range of numbers.
fn power_of_two(number: f64) -> f64 {
    let exponent = (number.to_bits() >> 52 & 0x7ff).clamp(23, 2023);
    f64::from_bits(exponent << 52)
}

fn largest<'a>(values: impl IntoIterator<Item = &'a f64>) -> f64 {
    let values = values.into_iter();
    values.fold(0.0, |most, value| value.abs().max(most))
}

// ----------------------------------------------------------------------------------------- points

/// Up to eight points of one cluster, from a place on.
struct Group {
    first: usize,
    members: usize,
    cluster: usize,
}

/// Points in groups. Where a group has fewer than eight, its last point fills it up, with no weight.
struct Points {
    groups: Vec<Group>,
    /// Of each group, one after the other, each coordinate of its points.
    coordinates: Vec<Lanes>,
    weights: Vec<Lanes>,
    dimensions: usize,
}

impl Points {
    /// The rows in an `order` that keeps each cluster together.
    fn new(
        metric: Metric,
        scale: f64,
        rows: &ArrayView2<f64>,
        order: &[usize],
        label: impl Fn(usize) -> usize,
        weight: impl Fn(usize) -> f64,
    ) -> Self {
        let dimensions = rows.ncols();
        let mut made = Self {
            groups: Vec::new(),
            coordinates: Vec::new(),
            weights: Vec::new(),
            dimensions,
        };
        let mut first = 0;
        let mut point = vec![0.0; dimensions];
        for members in order
            .chunk_by(|&a, &b| label(a) == label(b))
            .flat_map(|cluster| cluster.chunks(LANES))
        {
            let mut coordinates = vec![[0.0; LANES]; dimensions];
            let mut weights = [0.0; LANES];
            for lane in 0..LANES {
                if let Some(&row) = members.get(lane) {
                    weights[lane] = weight(row);
                    let values = rows.row(row);
                    let scale = match metric {
                        Metric::Cosine => power_of_two(largest(values)),
                        _ => scale,
                    };
                    for (to, from) in point.iter_mut().zip(values) {
                        *to = from / scale;
                    }
                    if metric == Metric::Cosine {
                        let norm = point.iter().map(|x| x * x).sum::<f64>().sqrt();
                        for x in &mut point {
                            *x /= norm;
                        }
                    }
                }
                for (to, &from) in coordinates.iter_mut().zip(&point) {
                    to[lane] = from;
                }
            }
            made.groups.push(Group {
                first,
                members: members.len(),
                cluster: label(members[0]),
            });
            made.coordinates.extend(coordinates);
            made.weights.push(weights);
            first += members.len();
        }
        made
    }

    /// The groups of each panel.
    fn panels(&self, groups: usize) -> Vec<Range<usize>> {
        let end = self.groups.len();
        let starts = (0..end).step_by(groups);
        starts.map(|start| start..end.min(start + groups)).collect()
    }

    fn groups_at_once(&self) -> usize {
        (NUMBERS / LANES / self.dimensions).clamp(2, GROUPS)
    }

    /// How many points some groups have.
    fn members(&self, groups: &Range<usize>) -> usize {
        let groups = &self.groups[groups.clone()];
        groups.iter().map(|group| group.members).sum()
    }

    /// The groups of each cluster, of those of a panel.
    fn runs(&self, groups: &Range<usize>) -> Vec<(usize, Range<usize>)> {
        let mut start = groups.start;
        let runs = self.groups[groups.clone()].chunk_by(|a, b| a.cluster == b.cluster);
        runs.map(|run| {
            let range = start..start + run.len();
            start = range.end;
            (run[0].cluster, range)
        })
        .collect()
    }

    fn coordinates(&self, group: usize) -> &[Lanes] {
        &self.coordinates[group * self.dimensions..(group + 1) * self.dimensions]
    }

    /// The coordinates of some of the points of a group.
    #[inline(always)]
    fn take<const R: usize>(&self, group: usize, from: usize, taken: &mut Vec<[f64; R]>) {
        taken.clear();
        for lanes in self.coordinates(group) {
            let mut some = [0.0; R];
            some.copy_from_slice(&lanes[from..from + R]);
            taken.push(some);
        }
    }
}

/// Distances of some points from those of a group.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // a loop over all of them would not become vectors
fn distances<D: Distance, const R: usize>(rows: &[[f64; R]], columns: &[Lanes]) -> [Lanes; R] {
    let mut sums = [[0.0; LANES]; R];
    for (row, column) in rows.iter().zip(columns) {
        for r in 0..R {
            for lane in 0..LANES {
                sums[r][lane] = D::add(sums[r][lane], column[lane] - row[r]);
            }
        }
    }
    for r in 0..R {
        for lane in 0..LANES {
            sums[r][lane] = D::of(sums[r][lane]);
        }
    }
    sums
}

#[inline(always)]
fn add(sums: &mut Lanes, weights: Lanes, distances: Lanes) {
    for lane in 0..LANES {
        sums[lane] += weights[lane] * distances[lane];
    }
}

fn total(lanes: Lanes) -> f64 {
    let [a, b, c, d] = from_fn(|lane| lanes[lane] + lanes[lane + 4]);
    (a + c) + (b + d)
}

// --------------------------------------------------------------------------- where two panels meet

/// What is done where panels meet, some rows at a time.
trait Meeting: Sized {
    fn hold<D: Distance, const ROWS: usize>(self);

    /// In the widest vectors that the machine has.
    fn begin<D: Distance>(self) {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx2")]
            fn wide<M: Meeting, D: Distance>(meeting: M) {
                meeting.hold::<D, 4>();
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the machine has what the function asks for.
                return unsafe { wide::<Self, D>(self) };
            }
            self.hold::<D, 2>();
        }
        #[cfg(not(target_arch = "x86_64"))]
        self.hold::<D, 4>();
    }
}

/// A panel, and what is written of its points.
struct Side<'a> {
    points: &'a Points,
    groups: &'a Range<usize>,
    out: &'a mut [f64],
}

impl<'a> Side<'a> {
    fn new(points: &'a Points, groups: &'a Range<usize>, out: &'a mut [f64]) -> Self {
        Self {
            points,
            groups,
            out,
        }
    }

    /// Adds to what stands of a point of a group and a cluster.
    #[inline(always)]
    fn add(&mut self, [group, member]: [usize; 2], [cluster, clusters]: [usize; 2], sum: f64) {
        let groups = &self.points.groups;
        let point = groups[group].first - groups[self.groups.start].first + member;
        self.out[point * clusters + cluster] += sum;
    }
}

/// Adds up the distances of each point of the rows from each cluster of the columns, and the other
/// way round where two panels meet.
struct Sums<'a> {
    clusters: usize,
    rows: Side<'a>,
    columns: Side<'a>,
    are_two: bool,
}

impl Meeting for Sums<'_> {
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // these become vectors
    fn hold<D: Distance, const ROWS: usize>(mut self) {
        let (from, to) = (self.rows.points, self.columns.points);
        let runs = to.runs(self.columns.groups);
        let mut taken = Vec::with_capacity(from.dimensions);
        let start = self.columns.groups.start;
        let mut down = vec![[0.0; LANES]; self.columns.groups.len()];
        for (own, groups) in from.runs(self.rows.groups) {
            for group in groups {
                let members = from.groups[group].members;
                for first in (0..members).step_by(ROWS) {
                    from.take::<ROWS>(group, first, &mut taken);
                    let weights: [f64; ROWS] = from_fn(|row| from.weights[group][first + row]);
                    for (other, columns) in &runs {
                        let mut along = [[0.0; LANES]; ROWS];
                        for column in columns.clone() {
                            let made = distances::<D, ROWS>(&taken, to.coordinates(column));
                            for row in 0..ROWS {
                                add(&mut along[row], to.weights[column], made[row]);
                            }
                            if self.are_two {
                                let mut sum = down[column - start];
                                for row in 0..ROWS {
                                    add(&mut sum, [weights[row]; LANES], made[row]);
                                }
                                down[column - start] = sum;
                            }
                        }
                        for (member, along) in (first..members).zip(along) {
                            let cluster = [*other, self.clusters];
                            self.rows.add([group, member], cluster, total(along));
                        }
                    }
                }
            }
            if self.are_two {
                for (group, down) in self.columns.groups.clone().zip(&mut down) {
                    for member in 0..to.groups[group].members {
                        let cluster = [own, self.clusters];
                        self.columns.add([group, member], cluster, down[member]);
                    }
                    *down = [0.0; LANES];
                }
            }
        }
    }
}

/// Of each cluster of the rows the smallest distance of its points from those of each other cluster of
/// the columns; and the largest from its own, with a minus, so that it is the smallest as well.
struct Extremes<'a> {
    clusters: usize,
    rows: Side<'a>,
    columns: Side<'a>,
}

impl Meeting for Extremes<'_> {
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // these become vectors
    fn hold<D: Distance, const ROWS: usize>(self) {
        let (from, to) = (self.rows.points, self.columns.points);
        let runs = to.runs(self.columns.groups);
        let mut taken = Vec::with_capacity(from.dimensions);
        let rows = from.runs(self.rows.groups);
        for ((own, groups), out) in rows
            .into_iter()
            .zip(self.rows.out.chunks_mut(self.clusters))
        {
            for group in groups {
                for first in (0..from.groups[group].members).step_by(ROWS) {
                    from.take::<ROWS>(group, first, &mut taken);
                    for (other, columns) in &runs {
                        let sign = if own == *other { -1.0 } else { 1.0 };
                        let mut least = [[f64::INFINITY; LANES]; ROWS];
                        for column in columns.clone() {
                            let made = distances::<D, ROWS>(&taken, to.coordinates(column));
                            for row in 0..ROWS {
                                for lane in 0..LANES {
                                    let value = sign * made[row][lane];
                                    let held = least[row][lane];
                                    least[row][lane] = if value < held { value } else { held };
                                }
                            }
                        }
                        let least = least.as_flattened().iter().copied();
                        out[*other] = least.fold(out[*other], f64::min);
                    }
                }
            }
        }
    }
}

// ------------------------------------------------------------------------------------- tournament

/// Every panel meets itself and then every other. Of each, so many numbers of `out` are written.
fn tournament(
    crew: Crew,
    panels: &[Range<usize>],
    mut out: &mut [f64],
    numbers: impl Fn(&Range<usize>) -> usize,
    meet: impl Fn(Met, Option<Met>) + Sync + Send,
) {
    let mut left = Vec::with_capacity(panels.len() + 1);
    for panel in panels {
        let (own, rest) = out.split_at_mut(numbers(panel));
        left.push(Some((panel, own)));
        out = rest;
    }
    crew.map(Chunks(&mut left[..], 1), |_, seats| {
        for (panel, out) in seats.iter_mut().flatten() {
            meet((panel, out), None);
        }
    });
    if left.len() % 2 == 1 {
        left.push(None);
    }
    let mut right = left.split_off(left.len() / 2);
    for _ in 1..2 * left.len() {
        let seats = (Chunks(&mut left[..], 1), Chunks(&mut right[..], 1));
        crew.map(seats, |_, seats| {
            if let ([Some((one, of_one))], [Some((other, of_other))]) = seats {
                meet((one, of_one), Some((other, of_other)));
            }
        });
        // The first keeps its seat and all others move on by one, round the table.
        left.insert(1, right.remove(0));
        right.extend(left.pop());
    }
}

/// A panel and what is written of it.
type Met<'a> = (&'a Range<usize>, &'a mut [f64]);

/// What is measured.
struct Task<'a> {
    rows: ArrayView2<'a, f64>,
    labels: &'a [i64],
    weights: Option<&'a [f64]>,
    clusters: usize,
    metric: Metric,
    /// A power of two that all points are divided by, so that no square leaves the range of numbers.
    scale: f64,
}

impl Task<'_> {
    fn points(&self, order: &[usize], label: impl Fn(usize) -> usize) -> Points {
        let weight = |row: usize| self.weights.map_or(1.0, |weights| weights[row]);
        Points::new(self.metric, self.scale, &self.rows, order, label, weight)
    }

    /// The points of each cluster together, and where they were.
    fn sorted(&self) -> (Points, Vec<usize>) {
        let label = |row: usize| self.labels[row] as usize;
        let mut order: Vec<_> = (0..self.labels.len()).collect();
        order.sort_by_key(|&row| label(row));
        (self.points(&order, label), order)
    }

    /// The sums of distances from each point to each cluster.
    fn sums(&self, crew: Crew, out: &mut [f64]) {
        let (points, order) = self.sorted();
        let (points, clusters) = (&points, self.clusters);
        tournament(
            crew,
            &points.panels(points.groups_at_once()),
            out,
            |panel| points.members(panel) * clusters,
            |(groups, out), other| {
                let are_two = other.is_some();
                let (others, of_others) = other.unwrap_or((groups, &mut []));
                let rows = Side::new(points, groups, out);
                let columns = Side::new(points, others, of_others);
                self.metric.begin(Sums {
                    clusters,
                    rows,
                    columns,
                    are_two,
                });
            },
        );
        put_back(order, out, clusters);
        self.unscale(out);
    }

    /// The same from some of the points only. Points without weight add nothing, and are left out.
    fn sums_of(&self, crew: Crew, some: &[usize], out: &mut [f64]) {
        let label = |row: usize| self.labels[row] as usize;
        let weighs = |row: &usize| self.weights.is_none_or(|weights| weights[*row] > 0.0);
        let mut order: Vec<_> = (0..self.labels.len()).filter(weighs).collect();
        order.sort_by_key(|&row| label(row));
        let points = self.points(&order, label);
        let (sought, clusters) = (self.points(some, |_| 0), self.clusters);
        let panels = points.panels(points.groups_at_once());
        let asked = sought.panels(GROUPS_SOUGHT);
        let rows = Chunks(&mut *out, GROUPS_SOUGHT * LANES * clusters);
        crew.map((rows, Chunks(&asked[..], 1)), |_, (out, groups)| {
            for others in &panels {
                crew.check();
                let rows = Side::new(&sought, &groups[0], out);
                let columns = Side::new(&points, others, &mut []);
                self.metric.begin(Sums {
                    clusters,
                    rows,
                    columns,
                    are_two: false,
                });
            }
        });
        self.unscale(out);
    }

    /// For every two clusters the smallest distance between their points, infinite without any; for a
    /// cluster and itself the largest, with a minus.
    fn extremes(&self, crew: Crew, out: &mut [f64]) {
        let (points, _) = self.sorted();
        let (points, clusters) = (&points, self.clusters);
        let panels = points.panels(points.groups_at_once());
        let runs = |panel: &Range<usize>| points.runs(panel);
        let mut found = vec![f64::INFINITY; panels.iter().flat_map(runs).count() * clusters];
        tournament(
            crew,
            &panels,
            &mut found,
            |panel| runs(panel).len() * clusters,
            |(groups, out), other| {
                let rows = Side::new(points, groups, out);
                let columns =
                    Side::new(points, other.map_or(groups, |(others, _)| others), &mut []);
                let meeting = Extremes {
                    clusters,
                    rows,
                    columns,
                };
                match self.metric {
                    // The root is taken of what is found.
                    Metric::Euclidean => Metric::SquaredEuclidean.begin(meeting),
                    metric => metric.begin(meeting),
                }
            },
        );
        let own = panels.iter().flat_map(runs).map(|(own, _)| own);
        merge_extremes(own, clusters, &found, out);
        if self.metric == Metric::Euclidean {
            for value in &mut *out {
                *value = value.abs().sqrt().copysign(*value);
            }
        }
        self.unscale(out);
    }

    fn unscale(&self, numbers: &mut [f64]) {
        for number in numbers {
            *number = self.metric.unscaled(*number, self.scale);
        }
    }
}

/// Of rows that hold a number for each cluster, and are each of one, the smallest of each two clusters.
pub(crate) fn merge_extremes(
    own: impl Iterator<Item = usize>,
    clusters: usize,
    found: &[f64],
    out: &mut [f64],
) {
    out.fill(f64::INFINITY);
    for (own, row) in own.zip(found.chunks(clusters.max(1))) {
        for (other, &value) in row.iter().enumerate() {
            for place in [own * clusters + other, other * clusters + own] {
                out[place] = value.min(out[place]);
            }
        }
    }
}

/// Takes the largest distances from the diagonal, where they stood with a minus.
pub(crate) fn split_extremes(numbers: &mut [f64], clusters: usize) -> Vec<f64> {
    let diagonal = numbers.iter_mut().step_by(clusters + 1);
    diagonal
        .map(|found| {
            let largest = if *found < 0.0 { -*found } else { 0.0 };
            *found = f64::INFINITY;
            largest
        })
        .collect()
}

/// Brings rows back to where each `was`.
fn put_back(mut was: Vec<usize>, rows: &mut [f64], columns: usize) {
    for at in 0..was.len() {
        while was[at] != at {
            let to = was[at];
            for column in 0..columns {
                rows.swap(at * columns + column, to * columns + column);
            }
            was.swap(at, to);
        }
    }
}

// ----------------------------------------------------------------------------------------- Python

/// Labels of as many points, each of a cluster.
pub(crate) fn check_labels(
    py: Python<'_>,
    points: usize,
    labels: &[i64],
    clusters: usize,
) -> PyResult<()> {
    check_length("labels", labels.len(), points)?;
    let known = 0..i64::try_from(clusters)?;
    let strange = |label: &i64| !known.contains(label);
    match detached(py, [points], |crew| crew.position(labels, strange))? {
        None => Ok(()),
        Some(row) => Err(PyValueError::new_err(format!(
            "the label is {} in row {row}, expected one from 0 to {}",
            labels[row],
            known.end - 1
        ))),
    }
}

/// As many weights, each finite and not negative.
pub(crate) fn check_weights(weights: Option<&[f64]>, points: usize) -> PyResult<()> {
    let Some(weights) = weights else {
        return Ok(());
    };
    check_length("weights", weights.len(), points)?;
    let wrong = |weight: &f64| !(0.0..f64::INFINITY).contains(weight);
    match weights.iter().position(wrong) {
        None => Ok(()),
        Some(row) => Err(PyValueError::new_err(format!(
            "the weight is {} in row {row}, expected a finite number from 0 on",
            weights[row]
        ))),
    }
}

fn check_length(name: &str, rows: usize, points: usize) -> PyResult<()> {
    if rows == points {
        return Ok(());
    }
    Err(PyValueError::new_err(format!(
        "{name} has {rows} rows, expected {points}"
    )))
}

impl<'a> Task<'a> {
    fn checked(
        py: Python<'_>,
        points: &'a PyReadonlyArray2<f64>,
        labels: &'a [i64],
        clusters: usize,
        metric: &str,
        weights: Option<&'a [f64]>,
    ) -> PyResult<Self> {
        let rows = points.as_array();
        let fault = |message: String| Err(PyValueError::new_err(message));
        let Some((_, metric)) = Metric::NAMES.into_iter().find(|(name, _)| *name == metric) else {
            let names = Metric::NAMES.map(|(name, _)| name).join(", ");
            return fault(format!("the metric is {metric}, expected one of {names}"));
        };
        check_labels(py, rows.nrows(), labels, clusters)?;
        check_weights(weights, rows.nrows())?;
        if rows.ncols() == 0 {
            return fault("points has no columns".into());
        }
        let mut scale = 0.0_f64;
        for (at, row) in rows.rows().into_iter().enumerate() {
            if let Some(column) = row.iter().position(|value| !value.is_finite()) {
                let value = row[column];
                return fault(format!("points has {value} in row {at}, column {column}"));
            }
            let most = largest(row);
            if metric == Metric::Cosine && most == 0.0 {
                return fault(format!(
                    "points has nothing but 0 in row {at}, which has no direction for the cosine"
                ));
            }
            scale = scale.max(most);
        }
        Ok(Self {
            rows,
            labels,
            weights,
            clusters,
            metric,
            scale: power_of_two(scale),
        })
    }

    /// Pairs of points and dimensions, of which so many points are on one side.
    fn steps(&self, rows: usize) -> [usize; 3] {
        [rows, self.rows.nrows(), self.rows.ncols()]
    }
}

/// `distance_sums(points, labels, clusters, metric, weights=None, of=None)`: from each point (row) the
/// sum of its distances to the points of each cluster (column), itself at distance 0; each times the
/// weight of the other point. `of` numbers the points to start from, otherwise all.
#[pyfunction]
#[pyo3(signature = (points, labels, clusters, metric, weights=None, of=None))]
#[allow(clippy::needless_pass_by_value)]
pub fn distance_sums<'py>(
    py: Python<'py>,
    points: PyReadonlyArray2<'py, f64>,
    labels: PyReadonlyArray1<'py, i64>,
    clusters: usize,
    metric: &str,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    of: Option<PyReadonlyArray1<'py, i64>>,
) -> PyResult<Matrix<'py>> {
    let labels = contiguous(&labels);
    let weights = weights.as_ref().map(contiguous);
    let weights = weights.as_deref();
    let task = Task::checked(py, &points, &labels, clusters, metric, weights)?;
    let Some(of) = of else {
        let shape = [labels.len(), clusters];
        return filled(py, shape, task.steps(labels.len()), |crew, out| {
            task.sums(crew, out);
        });
    };
    let of = contiguous(&of);
    let known = 0..labels.len() as i64;
    if let Some(strange) = of.iter().find(|row| !known.contains(row)) {
        return Err(PyValueError::new_err(format!(
            "of has {strange}, expected rows from 0 to {}",
            known.end - 1
        )));
    }
    let of: Vec<_> = of.iter().map(|&row| row as usize).collect();
    filled(
        py,
        [of.len(), clusters],
        task.steps(of.len()),
        |crew, out| {
            task.sums_of(crew, &of, out);
        },
    )
}

/// `dunn_distances(points, labels, clusters, metric)`: the smallest distance between points of each
/// two clusters, infinite where there are none and of a cluster and itself; and the largest between
/// points of each cluster, 0 where there are not two.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn dunn_distances<'py>(
    py: Python<'py>,
    points: PyReadonlyArray2<'py, f64>,
    labels: PyReadonlyArray1<'py, i64>,
    clusters: usize,
    metric: &str,
) -> PyResult<(Matrix<'py>, Line<'py>)> {
    let labels = contiguous(&labels);
    let task = Task::checked(py, &points, &labels, clusters, metric, None)?;
    let mut largest = Vec::new();
    let least = filled(py, [clusters; 2], task.steps(labels.len()), |crew, out| {
        task.extremes(crew, out);
        largest = split_extremes(out, clusters);
    })?;
    Ok((least, largest.into_pyarray(py)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::tested;
    use crate::random::Stream;

    #[test]
    fn every_two_panels_meet_once() {
        for many in 0..9 {
            let panels: Vec<_> = (0..many).map(|at| at..at + 1).collect();
            let mut met = vec![0.0; many * many];
            tested(|crew| {
                tournament(
                    crew,
                    &panels,
                    &mut met,
                    |_| many,
                    |(one, of_one), other| {
                        if let Some((other, of_other)) = other {
                            of_one[other.start] += 1.0;
                            of_other[one.start] += 1.0;
                        } else {
                            of_one[one.start] += 1.0;
                        }
                    },
                );
            });
            assert_eq!(met, vec![1.0; many * many]);
        }
    }

    /// As it is where vectors are narrow, and wherever this runs.
    #[test]
    fn the_width_of_vectors_changes_no_digit() {
        let stream = Stream::new(1, 0);
        let (rows, dimensions, clusters) = (301, 17, 3);
        let value = |at: usize| stream.below(at as u64, 1 << 40) as f64 / 1e6;
        let values: Vec<_> = (0..rows * dimensions).map(value).collect();
        let table = ArrayView2::from_shape((rows, dimensions), &values).expect("a table");
        let order: Vec<_> = (0..rows).collect();
        let points = Points::new(
            Metric::Euclidean,
            1.0,
            &table,
            &order,
            |row| row / 120,
            |_| 1.0,
        );
        let all = 0..points.groups.len();
        let made = |hold: fn(Sums)| {
            let mut out = vec![0.0; rows * clusters];
            hold(Sums {
                clusters,
                rows: Side::new(&points, &all, &mut out),
                columns: Side::new(&points, &all, &mut []),
                are_two: false,
            });
            out
        };
        let first = made(|sums| sums.hold::<RootOfSquares, 2>());
        assert!(first.iter().all(|&sum| sum > 0.0));
        assert_eq!(first, made(|sums| sums.hold::<RootOfSquares, 4>()));
        assert_eq!(first, made(|sums| sums.begin::<RootOfSquares>()));
    }

    #[test]
    fn rows_come_back_to_where_they_were() {
        let was = vec![2, 0, 3, 1, 4];
        let mut rows: Vec<_> = was.iter().flat_map(|&row| [row as f64, 0.5]).collect();
        put_back(was, &mut rows, 2);
        assert_eq!(rows, [0.0, 0.5, 1.0, 0.5, 2.0, 0.5, 3.0, 0.5, 4.0, 0.5]);
    }

    #[test]
    fn a_power_of_two_is_next_below() {
        for (number, power) in [(1.0, 1.0), (7.9, 4.0), (0.3, 0.25)] {
            assert_eq!(power_of_two(number).to_bits(), f64::to_bits(power));
        }
        for number in [0.0, f64::MIN_POSITIVE / 8.0, f64::MAX] {
            assert!((number / power_of_two(number)).powi(2).is_finite());
        }
    }
}
