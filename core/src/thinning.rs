//! Lines with as many of their places as a drawing needs: first without what lies next to a place
//! that is kept, then by halving at the farthest place (Ramer 1972; Douglas and Peucker 1973).

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::parallel::{Crew, detached};
use crate::scores::{contiguous, same_length};

/// The share of the tolerance that the first pass takes.
const FIRST: f64 = 0.25;

type Point = [f64; 2];

fn is_there(point: Point) -> bool {
    point[0].is_finite() && point[1].is_finite()
}

fn square_between(from: Point, to: Point) -> f64 {
    (to[0] - from[0]).powi(2) + (to[1] - from[1]).powi(2)
}

/// What is thinned: so many places, at each of them one point or several.
trait Places {
    fn len(&self) -> usize;

    /// From each place to the next how far it is, and whether a line begins or ends there.
    fn steps(&self) -> impl Iterator<Item = (f64, bool)>;

    /// The square of the largest distance of a place from the straight lines between two others, where
    /// no line begins or ends between these.
    fn gap(&self, place: usize, from: usize, to: usize) -> f64;
}

/// The same places of several lines: the two coordinates of all points of a place, then those of the
/// next. A point that is not finite is not there.
struct Lines<'a> {
    numbers: &'a [f64],
    width: usize,
}

impl Lines<'_> {
    fn at(&self, place: usize) -> impl Iterator<Item = Point> {
        let numbers = &self.numbers[place * 2 * self.width..][..2 * self.width];
        numbers.chunks_exact(2).map(|point| [point[0], point[1]])
    }
}

impl Places for Lines<'_> {
    fn len(&self) -> usize {
        self.numbers.len() / (2 * self.width)
    }

    fn steps(&self) -> impl Iterator<Item = (f64, bool)> {
        (1..self.len()).map(|place| {
            let pairs = || self.at(place - 1).zip(self.at(place));
            let there = pairs().filter(|&(from, to)| is_there(from) && is_there(to));
            let squares = there.map(|(from, to)| square_between(from, to));
            let broken = pairs().any(|(from, to)| is_there(from) != is_there(to));
            (squares.fold(0.0, f64::max).sqrt(), broken)
        })
    }

    fn gap(&self, place: usize, from: usize, to: usize) -> f64 {
        let ends = self.at(from).zip(self.at(to));
        let lines = self.at(place).zip(ends);
        let gaps = lines
            .filter(|&(point, _)| is_there(point))
            .map(|(point, (from, to))| square_of_distance(point, from, to));
        gaps.fold(0.0, f64::max)
    }
}

/// Where an axis begins, and what it spans.
type Axis = (f64, f64);

/// A curve on its axes. With corners it goes in steps: before each point but the first comes the
/// corner where its step begins, straight above or below the point before, and is a place too. A
/// point that is not finite or lies below the bottom is not there.
struct Curve<'a> {
    x: &'a [f64],
    y: &'a [f64],
    axes: [Axis; 2],
    bottom: f64,
    corners: bool,
}

impl Curve<'_> {
    fn at(&self, place: usize) -> Point {
        let (column, row) = if self.corners {
            (place / 2, place.div_ceil(2))
        } else {
            (place, place)
        };
        let [x, y] = self.axes;
        let height = self.y[row];
        let height = if height < self.bottom {
            f64::NAN
        } else {
            height
        };
        [(self.x[column] - x.0) / x.1, (height - y.0) / y.1]
    }
}

impl Places for Curve<'_> {
    fn len(&self) -> usize {
        if self.corners {
            (2 * self.x.len()).saturating_sub(1)
        } else {
            self.x.len()
        }
    }

    fn steps(&self) -> impl Iterator<Item = (f64, bool)> {
        let first = self.at(0);
        (1..self.len()).scan((first, is_there(first)), |(from, was_there), place| {
            let to = self.at(place);
            let there = is_there(to);
            let way = if there && *was_there {
                square_between(*from, to).sqrt()
            } else {
                0.0
            };
            let step = (way, there != *was_there);
            (*from, *was_there) = (to, there);
            Some(step)
        })
    }

    fn gap(&self, place: usize, from: usize, to: usize) -> f64 {
        let point = self.at(place);
        if is_there(point) {
            square_of_distance(point, self.at(from), self.at(to))
        } else {
            0.0
        }
    }
}

/// How far a point is from the straight line between two others, squared.
fn square_of_distance(point: Point, from: Point, to: Point) -> f64 {
    let (way, own) = (
        [to[0] - from[0], to[1] - from[1]],
        [point[0] - from[0], point[1] - from[1]],
    );
    let length = (way[0] * way[0] + way[1] * way[1]).max(f64::MIN_POSITIVE);
    let at = ((own[0] * way[0] + own[1] * way[1]) / length).clamp(0.0, 1.0);
    let (x, y) = (own[0] - at * way[0], own[1] - at * way[1]);
    x * x + y * y
}

/// A place that the first pass left over, and whether it has to stay.
#[derive(Clone, Copy)]
struct Candidate {
    place: usize,
    fixed: bool,
}

/// Counts the stretches of a path.
struct Stretches {
    length: f64,
    end: f64,
}

impl Stretches {
    fn new(length: f64) -> Self {
        Self {
            length,
            end: length,
        }
    }

    /// Whether the path has come to a new stretch.
    fn enters(&mut self, path: f64) -> bool {
        let enters = path >= self.end;
        if enters {
            self.end = ((path / self.length).floor() + 1.0) * self.length;
        }
        enters
    }
}

/// The first place in each stretch of the path, of length `first`; those to keep are the ends, both
/// sides of a break, and the first place in each stretch of length `near`.
fn candidates(crew: Crew, places: &impl Places, first: f64, near: f64) -> Vec<Candidate> {
    let mut found = vec![Candidate {
        place: 0,
        fixed: true,
    }];
    let mut add = |place, fixed| match found.last_mut() {
        Some(last) if last.place == place => last.fixed |= fixed,
        _ => found.push(Candidate { place, fixed }),
    };
    let (mut path, mut short, mut long) = (0.0, Stretches::new(first), Stretches::new(near));
    for (before, (step, broken)) in crew.watched(places.steps()).enumerate() {
        path += step;
        if broken {
            add(before, true);
        }
        let fixed = long.enters(path) || broken;
        if short.enters(path) || fixed {
            add(before + 1, fixed);
        }
    }
    add(places.len() - 1, true);
    found
}

/// The places to keep, ascending, so that no line moves by more than `tolerance`; at least one in
/// each stretch of length `near` of the path.
fn simplified(crew: Crew, places: &impl Places, tolerance: f64, near: f64) -> Vec<usize> {
    let first = FIRST * tolerance;
    let most = (tolerance - first).powi(2);
    let mut found = candidates(crew, places, first, near);
    let fixed: Vec<_> = (0..found.len()).filter(|&at| found[at].fixed).collect();
    let mut ahead: Vec<_> = fixed.windows(2).map(|ends| (ends[0], ends[1])).collect();
    while let Some((from, to)) = ahead.pop() {
        crew.check();
        let [start, end] = [from, to].map(|at| found[at].place);
        let (mut worst, mut at) = (most, from);
        let between = found.iter().enumerate().take(to).skip(from + 1);
        for (middle, candidate) in between {
            let gap = places.gap(candidate.place, start, end);
            if gap > worst {
                (worst, at) = (gap, middle);
            }
        }
        if at > from {
            found[at].fixed = true;
            ahead.extend([(from, at), (at, to)]);
        }
    }
    let kept = found.iter().filter(|candidate| candidate.fixed);
    kept.map(|candidate| candidate.place).collect()
}

/// Places as `NumPy` counts them.
#[allow(clippy::cast_possible_wrap)]
pub fn places(found: Vec<usize>) -> Vec<i64> {
    found.into_iter().map(|place| place as i64).collect()
}

/// `simplified_lines(lines, tolerance)`: the places to keep, ascending, of lines that are thinned
/// together; `lines` has the shape (places, lines, 2), NaN where a line is not there.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn simplified_lines<'py>(
    py: Python<'py>,
    lines: PyReadonlyArray3<'py, f64>,
    tolerance: f64,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let &[_, width, 2] = lines.shape() else {
        return Err(PyValueError::new_err("lines must have two coordinates"));
    };
    let Ok(numbers) = lines.as_slice() else {
        return Err(PyValueError::new_err("lines must be C-contiguous"));
    };
    if numbers.is_empty() {
        return Ok(Vec::<i64>::new().into_pyarray(py));
    }
    let lines = Lines { numbers, width };
    let kept = detached(py, [numbers.len()], |crew| {
        simplified(crew, &lines, tolerance, f64::INFINITY)
    })?;
    Ok(places(kept).into_pyarray(py))
}

/// `simplified_curve(x, y, axes, bottom, corners, tolerance, near)`: the places of a curve to keep,
/// ascending, at least one in each stretch of length `near` of its path. `axes` are where each axis
/// begins and what it spans, in whose shares lengths are; `corners` says that the curve goes in
/// steps, whose corners are counted among its places.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]
pub fn simplified_curve<'py>(
    py: Python<'py>,
    x: PyReadonlyArray1<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    axes: [Axis; 2],
    bottom: f64,
    corners: bool,
    tolerance: f64,
    near: f64,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (x, y) = (contiguous(&x), contiguous(&y));
    same_length("y", y.len(), x.len())?;
    if x.is_empty() {
        return Ok(Vec::<i64>::new().into_pyarray(py));
    }
    let curve = Curve {
        x: &x,
        y: &y,
        axes,
        bottom,
        corners,
    };
    let kept = detached(py, [x.len()], |crew| {
        simplified(crew, &curve, tolerance, near)
    })?;
    Ok(places(kept).into_pyarray(py))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::tested;

    fn kept(points: &[Point], corners: bool, tolerance: f64, near: f64) -> Vec<usize> {
        let (x, y): (Vec<_>, Vec<_>) = points.iter().map(|point| (point[0], point[1])).unzip();
        let curve = Curve {
            x: &x,
            y: &y,
            axes: [(0.0, 1.0); 2],
            bottom: f64::NAN,
            corners,
        };
        let kept = tested(|crew| simplified(crew, &curve, tolerance, near));
        if !corners && near.is_infinite() {
            let numbers = points.as_flattened();
            let lines = Lines { numbers, width: 1 };
            let found = tested(|crew| simplified(crew, &lines, tolerance, near));
            assert_eq!(found, kept);
        }
        kept
    }

    #[test]
    fn what_lies_on_the_line_goes() {
        let points = [[0.0, 0.0], [1.0, 0.01], [2.0, 0.0], [3.0, 1.0]];
        assert_eq!(kept(&points, false, 0.02, f64::INFINITY), [0, 2, 3]);
        assert_eq!(kept(&points, false, 0.001, f64::INFINITY), [0, 1, 2, 3]);
        assert_eq!(kept(&points[..1], false, 0.1, 0.1), [0]);
    }

    #[test]
    fn both_sides_of_a_break_stay() {
        let gone = [f64::NAN, f64::INFINITY];
        let points = [[0.0; 2], [0.1, 0.1], gone, gone, gone, [0.3; 2], [0.4; 2]];
        let sides = [0, 1, 2, 4, 5, 6];
        assert_eq!(kept(&points, false, 0.5, f64::INFINITY), sides);
    }

    #[test]
    fn something_stays_in_every_stretch() {
        let points: Vec<_> = (0..=100).map(|x| [f64::from(x) / 100.0, 0.0]).collect();
        assert_eq!(kept(&points, false, 0.1, 0.25), [0, 25, 50, 75, 100]);
    }

    #[test]
    fn steps_keep_their_corners() {
        let points = [[0.0, 0.0], [1.0, 1.0], [2.0, 1.0], [3.0, 3.0]];
        // Up at the first place, level to the third, and up again there.
        assert_eq!(kept(&points, true, 0.1, f64::INFINITY), [0, 1, 4, 5, 6]);
    }
}
