//! How much rows move the areas under the ROC and the precision–recall curve, and how far those
//! vary: loops over the blocks of tied scores of one table.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::Line;
use crate::parallel::{Chunks, Crew, detached};
use crate::parts::{ClusterSums, LANES, Lanes, Parts};
use crate::scores::{TableColumns, contiguous, same_length, table_columns};

/// Sums are taken over so many addends at a time, so that long ones lose no digits.
const ADDENDS: usize = 64;

/// A running sum.
#[derive(Clone, Copy, Default)]
struct Sum {
    total: f64,
    part: f64,
    addends: usize,
}

impl Sum {
    #[inline]
    fn add(&mut self, value: f64) {
        self.part += value;
        self.addends += 1;
        if self.addends == ADDENDS {
            self.total += self.part;
            self.part = 0.0;
            self.addends = 0;
        }
    }

    #[inline]
    fn get(&self) -> f64 {
        self.total + self.part
    }
}

/// An area that is a sum over blocks of g(T, F, t, f)/P, with T positives and F negatives above a
/// block, t and f in it, and P positives in all.
#[derive(Clone, Copy)]
pub enum Area {
    /// AP: t times the precision below the block.
    Steps,
    /// PR-AUC: t times the mean precision above and below, and a crossing where classes are tied.
    Trapezoids,
    /// Davis and Goadrich: both classes grow evenly in a block.
    Crossings,
}

impl Area {
    fn named(name: &str) -> PyResult<Self> {
        match name {
            "AP" => Ok(Self::Steps),
            "PR-AUC" => Ok(Self::Trapezoids),
            "AP-DG" => Ok(Self::Crossings),
            _ => Err(PyValueError::new_err(format!(
                "area is {name}, expected AP, PR-AUC or AP-DG"
            ))),
        }
    }

    /// None is the AUC, which is not such a sum.
    pub fn of_any(name: &str) -> PyResult<Option<Self>> {
        (name != "AUC").then(|| Self::named(name)).transpose()
    }

    /// A block without positives adds nothing, whatever is above it.
    #[inline]
    fn of(self, up: f64, uf: f64, t: f64, f: f64) -> Block {
        match self {
            Self::Steps => step(up, uf, t, f),
            Self::Trapezoids if f == 0.0 => trapezoid(up, uf, t),
            Self::Trapezoids | Self::Crossings => crossing(up, uf, t, f),
        }
    }
}

/// What a block with positives adds, and the derivatives of that by the positives and negatives
/// above it and by its own.
#[derive(Clone, Copy)]
struct Block {
    value: f64,
    above: [f64; 2],
    own: [f64; 2],
}

/// t times the precision below the block, (T + t)/(T + F + t + f).
#[inline]
fn step(up: f64, uf: f64, t: f64, f: f64) -> Block {
    let (tp, fp) = (up + t, uf + f);
    let part = 1.0 / (tp + fp);
    let precision = tp * part;
    let (rise, fall) = (t * fp * part * part, -t * precision * part);
    Block {
        value: t * precision,
        above: [rise, fall],
        own: [precision + rise, fall],
    }
}

/// t times the mean of the precisions above and below a block of positives.
#[inline]
fn trapezoid(up: f64, uf: f64, t: f64) -> Block {
    let before = up + uf;
    if before <= 0.0 {
        return Block {
            value: t,
            above: [0.0; 2],
            own: [1.0, 0.0],
        };
    }
    let (first, last) = (1.0 / before, 1.0 / (before + t));
    let (above, below) = (up * first, (up + t) * last);
    let (mean, half) = (f64::midpoint(above, below), t / 2.0);
    Block {
        value: t * mean,
        above: [
            half * uf * (first * first + last * last),
            -half * (above * first + below * last),
        ],
        own: [mean + half * uf * last * last, 0.0],
    }
}

/// t/a − b/a²·L, where a = 1 + f/t, b = F − T·f/t and L = ln(1 + (t + f)/(T + F)); t/a in the first
/// block.
fn crossing(up: f64, uf: f64, t: f64, f: f64) -> Block {
    let before = up + uf;
    let a = 1.0 + f / t;
    // The derivatives of a by t and by f.
    let slopes = [-f / (t * t), 1.0 / t];
    if before <= 0.0 {
        return Block {
            value: t / a,
            above: [0.0; 2],
            own: [1.0 / a - t / (a * a) * slopes[0], -t / (a * a) * slopes[1]],
        };
    }
    let b = uf - up * f / t;
    let after = before + t + f;
    let grown = ((t + f) / before).ln_1p();
    let part = b / (a * a);
    let through_a = -t / (a * a) + 2.0 * part * grown / a;
    let through_b = -grown / (a * a);
    // −∂L/∂(T + F), and ∂L/∂(t + f).
    let (lengthened, extended) = ((t + f) / (before * after), 1.0 / after);
    Block {
        value: t / a - part * grown,
        above: [
            part * lengthened - through_b * f / t,
            part * lengthened + through_b,
        ],
        own: [
            1.0 / a - part * extended + through_a * slopes[0] - through_b * up * slopes[0],
            through_a * slopes[1] - through_b * up * slopes[1] - part * extended,
        ],
    }
}

/// The area, and how much a row of either class at each score moves it, which `each` is given:
/// what it does to its own block and, as one more above them, to all blocks below, less its share
/// of the positives.
fn moved(
    area: Area,
    [positive, negative]: [&[f64]; 2],
    mut each: impl FnMut(usize, [f64; 2]),
) -> f64 {
    let blocks = || positive.iter().copied().zip(negative.iter().copied());
    let ([mut up, mut uf], mut value, mut below) = ([0.0; 2], Sum::default(), [Sum::default(); 2]);
    for (t, f) in blocks() {
        if t > 0.0 {
            let block = area.of(up, uf, t, f);
            value.add(block.value);
            below[0].add(block.above[0]);
            below[1].add(block.above[1]);
        }
        up += t;
        uf += f;
    }
    let (total, value) = (up, value.get() / up);
    let below = below.map(|sum| sum.get());
    let mut passed = [Sum::default(); 2];
    (up, uf) = (0.0, 0.0);
    for (place, (t, f)) in blocks().enumerate() {
        let mut own = [0.0; 2];
        if t > 0.0 {
            let block = area.of(up, uf, t, f);
            passed[0].add(block.above[0]);
            passed[1].add(block.above[1]);
            own = block.own;
        }
        let of_positive = own[0] + (below[0] - passed[0].get()) - value;
        let of_negative = own[1] + (below[1] - passed[1].get());
        each(place, [of_positive / total, of_negative / total]);
        up += t;
        uf += f;
    }
    value
}

/// So many scores are gone over at a time; sums over them are added up in their order, so that no sum
/// depends on the number of threads.
const STRETCH: usize = 1 << 14;

/// A table of scores: the weights of either class at each, and the sums of their squares.
pub struct Table<'a> {
    own: [&'a [f64]; 2],
    squares: [&'a [f64]; 2],
    /// The weights above each stretch.
    starts: Vec<[f64; 2]>,
    weight: [f64; 2],
    total_squares: [f64; 2],
}

/// A score of a table, and the weights above it.
struct Place {
    above: [f64; 2],
    own: [f64; 2],
    squares: [f64; 2],
}

/// Sums of the squares, and of the cubes, of what the rows of either class move.
type Powers = [f64; 4];

impl<'a> Table<'a> {
    pub fn of(crew: Crew, own: [&'a [f64]; 2], squares: [&'a [f64]; 2]) -> Self {
        // In the order in which `add_up` goes down, so that both end at the same weight.
        let sums = |[a, b]: [&[f64]; 2], stretch: usize| {
            let range = stretch * STRETCH..a.len().min((stretch + 1) * STRETCH);
            let (a, b) = (&a[range.clone()], &b[range]);
            let add = |[x, y]: [f64; 2], (a, b): (&f64, &f64)| [x + a, y + b];
            a.iter().zip(b).fold([0.0; 2], add)
        };
        let plain = own
            .iter()
            .zip(squares)
            .all(|(own, of)| std::ptr::eq(*own, of));
        let stretches = own[0].len().div_ceil(STRETCH);
        let found = crew.map(0..stretches, |_, at| {
            let weight = sums(own, at);
            (weight, if plain { weight } else { sums(squares, at) })
        });
        let (mut starts, mut above, mut total_squares) = (Vec::new(), [0.0; 2], [0.0; 2]);
        for (weight, squares) in found {
            starts.push(above);
            for class in 0..2 {
                above[class] += weight[class];
                total_squares[class] += squares[class];
            }
        }
        Self {
            own,
            squares,
            starts,
            weight: above,
            total_squares,
        }
    }

    /// What `each` adds to some sums at the places of a stretch, downwards.
    #[inline]
    fn add_up<const N: usize>(
        &self,
        stretch: usize,
        mut each: impl FnMut(usize, Place, &mut [f64; N]),
    ) -> [f64; N] {
        let range = stretch * STRETCH..self.own[0].len().min((stretch + 1) * STRETCH);
        let [positive, negative] = self.own.map(|column| &column[range.clone()]);
        let [of_positive, of_negative] = self.squares.map(|column| &column[range.clone()]);
        let (start, mut inside, mut total) = (self.starts[stretch], [0.0; 2], [0.0; N]);
        for first in (0..range.len()).step_by(ADDENDS) {
            let mut sums = [0.0; N];
            for at in first..range.len().min(first + ADDENDS) {
                let place = Place {
                    above: [start[0] + inside[0], start[1] + inside[1]],
                    own: [positive[at], negative[at]],
                    squares: [of_positive[at], of_negative[at]],
                };
                inside = [inside[0] + place.own[0], inside[1] + place.own[1]];
                each(range.start + at, place, &mut sums);
            }
            for (total, sum) in total.iter_mut().zip(sums) {
                *total += sum;
            }
        }
        total
    }

    /// What is made of each stretch.
    fn each<T: Send>(&self, crew: Crew, work: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
        crew.map(0..self.starts.len(), |_, stretch| work(stretch))
    }

    /// The effective number of rows of either class.
    pub fn effective_rows(&self) -> [f64; 2] {
        std::array::from_fn(|class| {
            self.weight[class] * self.weight[class] / self.total_squares[class]
        })
    }

    /// The squares and cubes of what rows move, as `of` gives it at the places of a stretch, downwards.
    /// It is kept in `moved`, which has room for all scores or for none.
    fn powers<M: FnMut(&Place) -> [f64; 2]>(
        &self,
        crew: Crew,
        moved: &mut [[f64; 2]],
        of: impl Fn(usize) -> M + Sync + Send,
    ) -> Vec<Powers> {
        let mut rooms: Vec<&mut [[f64; 2]]> = if moved.is_empty() {
            self.starts.iter().map(|_| &mut [][..]).collect()
        } else {
            moved.chunks_mut(STRETCH).collect()
        };
        crew.map(Chunks(&mut rooms[..], 1), |stretch, rooms| {
            let mut of = of(stretch);
            self.add_up(stretch, |at, place, powers| {
                let moved = of(&place);
                if let Some(room) = rooms[0].get_mut(at - stretch * STRETCH) {
                    *room = moved;
                }
                place.raise(moved, powers);
            })
        })
    }

    /// An area, its standard error and its acceleration; and what the rows of either class at each
    /// score move it, where there is room for that.
    pub fn spread(&self, crew: Crew, area: Area, moved: &mut [[f64; 2]]) -> [f64; 3] {
        let block =
            |place: &Place| area.of(place.above[0], place.above[1], place.own[0], place.own[1]);
        let parts = self.each(crew, |stretch| {
            self.add_up(stretch, |_, place, sums: &mut [f64; 3]| {
                if place.own[0] > 0.0 {
                    let block = block(&place);
                    sums[0] += block.value;
                    sums[1] += block.above[0];
                    sums[2] += block.above[1];
                }
            })
        });
        // How much a row in or above a stretch moves all blocks below it.
        let (mut value, mut below, mut left) = (0.0, vec![[0.0; 2]; parts.len()], [0.0; 2]);
        for (at, part) in parts.iter().enumerate().rev() {
            below[at] = left;
            value += part[0];
            left = [left[0] + part[1], left[1] + part[2]];
        }
        let total = self.weight[0];
        value /= total;
        let powers = self.powers(crew, moved, |stretch| {
            // The same of the blocks still to come in the stretch, and of those below it.
            let (mut inner, outer) = ([parts[stretch][1], parts[stretch][2]], below[stretch]);
            move |place: &Place| {
                let mut own = [0.0; 2];
                if place.own[0] > 0.0 {
                    let block = block(place);
                    inner = [inner[0] - block.above[0], inner[1] - block.above[1]];
                    own = block.own;
                }
                let positive = own[0] + inner[0] + outer[0] - value;
                let negative = own[1] + inner[1] + outer[1];
                [positive / total, negative / total]
            }
        });
        self.varies(value, &powers)
    }

    /// The same of the AUC, with `DeLong`'s standard error.
    pub fn delong(&self, crew: Crew, moved: &mut [[f64; 2]]) -> [f64; 3] {
        let negatives = self.weight[1];
        let pairs = self.each(crew, |stretch| {
            self.add_up(
                stretch,
                |_, Place { above, own, .. }, sums: &mut [f64; 2]| {
                    sums[0] += own[0] * (negatives - (above[1] + own[1]) + own[1] / 2.0);
                    sums[1] += own[0] * (above[1] + own[1] / 2.0);
                },
            )
        });
        let won: f64 = pairs.iter().map(|pair| pair[0]).sum();
        let lost: f64 = pairs.iter().map(|pair| pair[1]).sum();
        // Not over P·N, whose rounding would leave separated classes of fractional weight off 1.
        let value = won / (won + lost);
        let [of_positives, of_negatives] = self.weight.map(f64::recip);
        let powers = self.powers(crew, moved, |_| {
            move |place: &Place| {
                let ([up, uf], [t, f]) = (place.above, place.own);
                let beaten = 1.0 - (uf + f / 2.0) * of_negatives - value;
                let beating = (up + t / 2.0) * of_positives - value;
                [beaten * of_positives, beating * of_negatives]
            }
        });
        self.varies(value, &powers)
    }

    /// A value, its standard error from Σ(weight·moved)² over the rows of each class, with n/(n − 1)
    /// for their effective number n (NaN where a class has one row or none), and its acceleration
    /// ΣI³/(6·(ΣI²)^1.5) where all rows weigh one.
    fn varies(&self, value: f64, powers: &[Powers]) -> [f64; 3] {
        let total = |of: usize| powers.iter().map(|powers| powers[of]).sum::<f64>();
        let sizes = self.effective_rows();
        let variance = |class: usize| {
            let n = sizes[class];
            if n > 1.0 {
                total(class) * (n / (n - 1.0))
            } else {
                f64::NAN
            }
        };
        let (squares, cubes) = (total(0) + total(1), total(2) + total(3));
        let accelerated = if squares > 0.0 {
            cubes / (6.0 * squares * squares.sqrt())
        } else {
            0.0
        };
        [value, (variance(0) + variance(1)).sqrt(), accelerated]
    }
}

impl Place {
    /// Adds the squares and the cubes of what its rows move.
    #[inline]
    fn raise(&self, moved: [f64; 2], powers: &mut Powers) {
        for class in 0..2 {
            let square = self.squares[class] * moved[class] * moved[class];
            powers[class] += square;
            powers[2 + class] += square * moved[class];
        }
    }
}

/// `area_errors(names, positive, negative, positive_squares, negative_squares)`: AUC, PR-AUC, AP or
/// AP-DG of a table of scores, each with its standard error from the influence of rows, and with its
/// acceleration, which is that of rows without weights.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn area_errors(
    py: Python<'_>,
    names: Vec<String>,
    positive: PyReadonlyArray1<'_, f64>,
    negative: PyReadonlyArray1<'_, f64>,
    positive_squares: PyReadonlyArray1<'_, f64>,
    negative_squares: PyReadonlyArray1<'_, f64>,
) -> PyResult<Vec<(f64, f64, f64)>> {
    let columns = [positive, negative, positive_squares, negative_squares];
    let columns = columns.each_ref().map(contiguous);
    for column in &columns[1..] {
        same_length("a column", column.len(), columns[0].len())?;
    }
    let areas = names.iter().map(|name| Area::of_any(name));
    let areas = areas.collect::<PyResult<Vec<_>>>()?;
    detached(py, [columns[0].len(), areas.len()], |crew| {
        let [positive, negative, of_positive, of_negative] = columns.each_ref().map(|c| &**c);
        let table = Table::of(crew, [positive, negative], [of_positive, of_negative]);
        let found = areas.into_iter().map(|area| match area {
            Some(area) => table.spread(crew, area, &mut []).into(),
            None => table.delong(crew, &mut []).into(),
        });
        found.collect()
    })
}

/// The least and the most that an area can be where the rows of a `merged` block stand in any order,
/// some of them perhaps at the same score. With T, F above the block, and t, f in it:
///
/// Whoever takes a positive over a negative next to it only gains, in the AUC by definition. At any
/// point inside, between T and T + t positives and F to F + f negatives have passed, so that the
/// precision at x positives of it is between (T + x)/(T + x + F + f) and (T + x)/(T + x + F), both
/// of which rise with x and are concave. AP adds up precisions at the ends of blocks: none is above
/// that of all positives first and as one, and the lower curve's integral is below all of them.
/// AP-DG is the integral of the precision itself. PR-AUC mixes that with trapezoids, which are below
/// the integral of what is concave, and the fewer the lower.
fn bounds(area: Option<Area>, table: &Table, merged: &[bool], crew: Crew) -> [f64; 2] {
    let negatives = table.weight[1];
    let pieces = table.each(crew, |stretch| {
        table.add_up(stretch, |at, place, sums: &mut [f64; 4]| {
            let ([up, uf], [t, f]) = (place.above, place.own);
            if t <= 0.0 {
                return;
            }
            let first = |area: Area| area.of(up, uf, t, 0.0).value;
            let last = |area: Area| area.of(up, uf + f, t, 0.0).value;
            let both = match (area, merged[at]) {
                (None, merged) => {
                    let tied = if merged { [f, 0.0] } else { [f / 2.0; 2] };
                    for end in 0..2 {
                        sums[end] += t * (negatives - (uf + tied[end]));
                        sums[2 + end] += t * (uf + tied[end]);
                    }
                    return;
                }
                (Some(area), false) => [area.of(up, uf, t, f).value; 2],
                (Some(Area::Steps), true) => [last(Area::Crossings), first(Area::Steps)],
                (Some(Area::Trapezoids), true) => [last(Area::Trapezoids), first(Area::Crossings)],
                (Some(Area::Crossings), true) => [last(Area::Crossings), first(Area::Crossings)],
            };
            sums[0] += both[0];
            sums[1] += both[1];
        })
    });
    let sum = |of: usize| pieces.iter().map(|piece| piece[of]).sum::<f64>();
    [0, 1].map(|end: usize| match area {
        None => sum(end) / (sum(end) + sum(2 + end)),
        Some(_) => sum(end) / table.weight[0],
    })
}

/// `area_bounds(name, positive, negative, merged)`: the least and the most that an area can be where
/// the rows of merged scores stand in an order that is not known.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn area_bounds(
    py: Python<'_>,
    name: &str,
    positive: PyReadonlyArray1<'_, f64>,
    negative: PyReadonlyArray1<'_, f64>,
    merged: PyReadonlyArray1<'_, bool>,
) -> PyResult<(f64, f64)> {
    let area = Area::of_any(name)?;
    let (positive, negative) = (contiguous(&positive), contiguous(&negative));
    let merged = contiguous(&merged);
    same_length("negative", negative.len(), positive.len())?;
    same_length("merged", merged.len(), positive.len())?;
    detached(py, [positive.len()], |crew| {
        let own: [&[f64]; 2] = [&positive, &negative];
        bounds(area, &Table::of(crew, own, own), &merged, crew).into()
    })
}

type Influence<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// `area_influence(name, positive, negative, scores)`: how much a row of either class at each score
/// moves PR-AUC, AP or AP-DG, of tables of so many scores one after the other.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn area_influence<'py>(
    py: Python<'py>,
    name: &str,
    positive: PyReadonlyArray1<'py, f64>,
    negative: PyReadonlyArray1<'py, f64>,
    scores: usize,
) -> PyResult<Influence<'py>> {
    let area = Area::named(name)?;
    let (positive, negative) = (contiguous(&positive), contiguous(&negative));
    same_length("negative", negative.len(), positive.len())?;
    let found = detached(py, [positive.len()], |crew| {
        let mut found = [vec![0.0; positive.len()], vec![0.0; positive.len()]];
        let width = scores.max(1);
        let tables = positive.chunks(width).zip(negative.chunks(width));
        for (number, (positive, negative)) in tables.enumerate() {
            crew.check();
            moved(area, [positive, negative], |place, moved| {
                for (column, moved) in found.iter_mut().zip(moved) {
                    column[number * width + place] = moved;
                }
            });
        }
        found
    })?;
    let [positive, negative] = found.map(|column| column.into_pyarray(py));
    Ok((positive, negative))
}

// ----------------------------------------------------------------------------------- other parts

/// The table of the rows of all parts but one.
fn without(
    scores: &[f64],
    [positive, last]: [&[bool]; 2],
    part_of: &[u8],
    weight: Option<&[f64]>,
    part: u8,
) -> (Vec<f64>, [Vec<f64>; 2], [Vec<f64>; 2]) {
    let room = || Vec::with_capacity(scores.len());
    let (mut kept, mut sums) = (room(), [room(), room()]);
    let mut squares = match weight {
        Some(_) => [room(), room()],
        None => [Vec::new(), Vec::new()],
    };
    let (mut at, mut some) = (0, false);
    let (mut sum, mut square) = ([0.0; 2], [0.0; 2]);
    for row in 0..positive.len() {
        if part_of[row] != part {
            let class = usize::from(!positive[row]);
            let weight = weight.map_or(1.0, |weight| weight[row]);
            sum[class] += weight;
            square[class] += weight * weight;
            some = true;
        }
        if last[row] {
            if some {
                kept.push(scores[at]);
                for class in 0..2 {
                    sums[class].push(sum[class]);
                    if weight.is_some() {
                        squares[class].push(square[class]);
                    }
                }
                (sum, square, some) = ([0.0; 2], [0.0; 2], false);
            }
            at += 1;
        }
    }
    (kept, sums, squares)
}

/// `score_table_without(scores, positive, last, part_of, weight, part)`: what `score_table` makes of
/// the rows of all parts but one, from the rows by descending score: their class, whether each is
/// the last of its score, its part and its weight; `scores` are those of all rows.
#[pyfunction]
#[pyo3(signature = (scores, positive, last, part_of, weight, part))]
#[allow(clippy::needless_pass_by_value)]
pub fn score_table_without<'py>(
    py: Python<'py>,
    scores: PyReadonlyArray1<'py, f64>,
    positive: PyReadonlyArray1<'py, bool>,
    last: PyReadonlyArray1<'py, bool>,
    part_of: PyReadonlyArray1<'py, u8>,
    weight: Option<PyReadonlyArray1<'py, f64>>,
    part: u8,
) -> PyResult<TableColumns<'py>> {
    let (scores, positive, last) = (
        contiguous(&scores),
        contiguous(&positive),
        contiguous(&last),
    );
    let (part_of, weight) = (contiguous(&part_of), weight.as_ref().map(contiguous));
    same_length("last", last.len(), positive.len())?;
    same_length("part_of", part_of.len(), positive.len())?;
    if let Some(weight) = &weight {
        same_length("weight", weight.len(), positive.len())?;
    }
    if last.iter().filter(|&&last| last).count() != scores.len() {
        return Err(PyValueError::new_err(
            "scores and their last rows do not match",
        ));
    }
    let (scores, sums, squares) = detached(py, [positive.len()], |_| {
        without(
            &scores,
            [&positive, &last],
            &part_of,
            weight.as_deref(),
            part,
        )
    })?;
    let weighted = weight.is_some();
    let squares = squares.map(|column| weighted.then_some(column));
    Ok(table_columns(py, scores, sums, squares))
}

/// Running sums, one for each lane.
#[derive(Clone, Copy, Default)]
struct LaneSums {
    total: Lanes,
    part: Lanes,
}

impl LaneSums {
    /// Ends the short sums, as often as they have some addends.
    fn close(&mut self) {
        for lane in 0..LANES {
            self.total[lane] += self.part[lane];
        }
        self.part = [0.0; LANES];
    }

    fn get(&self, lane: usize) -> f64 {
        self.total[lane] + self.part[lane]
    }
}

/// Rows by descending score.
struct Rows<'a> {
    positive: &'a [bool],
    last: &'a [bool],
    parts: Parts<'a>,
}

/// Areas, and by cluster what the rows of either class move, each without the rows of one part; of
/// independent rows the sum of the squares of that.
struct Remaining {
    areas: Lanes,
    moved: ClusterSums,
}

impl Rows<'_> {
    /// The blocks of equal scores downwards: their rows, the weights of either class above them, and
    /// their own.
    #[inline]
    fn blocks(
        &self,
        crew: Crew,
        first: usize,
        mut each: impl FnMut(std::ops::Range<usize>, &[Lanes; 2], &[Lanes; 2]),
    ) -> [Lanes; 2] {
        let (mut above, mut own, mut start) = ([[0.0; LANES]; 2], [[0.0; LANES]; 2], 0);
        for (row, &last) in crew.watched(self.last.iter().enumerate()) {
            let class = usize::from(!self.positive[row]);
            let weights = self.parts.weights(row, first);
            for lane in 0..LANES {
                own[class][lane] += weights[lane];
            }
            if last {
                each(start..row + 1, &above, &own);
                for class in 0..2 {
                    for lane in 0..LANES {
                        above[class][lane] += own[class][lane];
                    }
                }
                (own, start) = ([[0.0; LANES]; 2], row + 1);
            }
        }
        above
    }

    /// Adds what the rows of a block move to the sums of their clusters, or its squares.
    #[inline]
    fn add(
        &self,
        first: usize,
        block: std::ops::Range<usize>,
        moved: &[Lanes; 2],
        sums: &mut ClusterSums,
    ) {
        let squared = self.parts.without_clusters();
        for row in block {
            let class = usize::from(!self.positive[row]);
            let weights = self.parts.weights(row, first);
            let own: Lanes = std::array::from_fn(|lane| weights[lane] * moved[class][lane]);
            let sum = &mut self.parts.of_row(row, sums)[class];
            for lane in 0..LANES {
                sum[lane] += if squared {
                    own[lane] * own[lane]
                } else {
                    own[lane]
                };
            }
        }
    }

    /// An area without each of some parts, from the `first` on.
    fn remaining(&self, crew: Crew, first: usize, area: Option<Area>) -> Remaining {
        match area {
            None => self.ranked(crew, first),
            Some(Area::Steps) => self.stepped(crew, first, step),
            Some(area) => self.stepped(crew, first, |up, uf, t, f| area.of(up, uf, t, f)),
        }
    }

    /// The AUC without each of some parts.
    fn ranked(&self, crew: Crew, first: usize) -> Remaining {
        let [positives, negatives] = self.blocks(crew, first, |_, _, _| ());
        let (mut won, mut lost) = ([0.0; LANES], [0.0; LANES]);
        self.blocks(crew, first, |_, above, own| {
            for lane in 0..LANES {
                let (uf, t, f) = (above[1][lane], own[0][lane], own[1][lane]);
                won[lane] += t * (negatives[lane] - (uf + f) + f / 2.0);
                lost[lane] += t * (uf + f / 2.0);
            }
        });
        let areas: Lanes = std::array::from_fn(|lane| won[lane] / (won[lane] + lost[lane]));
        let of_positives = positives.map(f64::recip);
        let of_negatives = negatives.map(f64::recip);
        let mut sums = self.parts.no_sums();
        self.blocks(crew, first, |block, above, own| {
            let mut moved = [[0.0; LANES]; 2];
            for lane in 0..LANES {
                let beaten =
                    1.0 - (above[1][lane] + own[1][lane] / 2.0) * of_negatives[lane] - areas[lane];
                let beating =
                    (above[0][lane] + own[0][lane] / 2.0) * of_positives[lane] - areas[lane];
                moved[0][lane] = beaten * of_positives[lane];
                moved[1][lane] = beating * of_negatives[lane];
            }
            self.add(first, block, &moved, &mut sums);
        });
        Remaining { areas, moved: sums }
    }

    /// An area that is a sum over blocks without each of some parts, as [`moved`] of one table.
    #[inline]
    fn stepped(
        &self,
        crew: Crew,
        first: usize,
        of: impl Fn(f64, f64, f64, f64) -> Block,
    ) -> Remaining {
        let (mut value, mut below) = (LaneSums::default(), [LaneSums::default(); 2]);
        let mut addends = 0;
        let [positives, _] = self.blocks(crew, first, |block, above, own| {
            if !self.positive[block].contains(&true) {
                return;
            }
            for lane in 0..LANES {
                if own[0][lane] > 0.0 {
                    let block = of(above[0][lane], above[1][lane], own[0][lane], own[1][lane]);
                    value.part[lane] += block.value;
                    below[0].part[lane] += block.above[0];
                    below[1].part[lane] += block.above[1];
                }
            }
            addends += 1;
            if addends % ADDENDS == 0 {
                value.close();
                below.iter_mut().for_each(LaneSums::close);
            }
        });
        let areas: Lanes = std::array::from_fn(|lane| value.get(lane) / positives[lane]);
        let below: [Lanes; 2] = below.map(|sums| std::array::from_fn(|lane| sums.get(lane)));
        let of_positives = positives.map(f64::recip);
        let mut passed = [LaneSums::default(); 2];
        let mut sums = self.parts.no_sums();
        addends = 0;
        self.blocks(crew, first, |block, above, own| {
            let mut moved = [[0.0; LANES]; 2];
            if self.positive[block.clone()].contains(&true) {
                for lane in 0..LANES {
                    if own[0][lane] > 0.0 {
                        let block = of(above[0][lane], above[1][lane], own[0][lane], own[1][lane]);
                        passed[0].part[lane] += block.above[0];
                        passed[1].part[lane] += block.above[1];
                        moved[0][lane] = block.own[0];
                        moved[1][lane] = block.own[1];
                    }
                }
                addends += 1;
                if addends % ADDENDS == 0 {
                    passed.iter_mut().for_each(LaneSums::close);
                }
            }
            for lane in 0..LANES {
                let left = [0, 1].map(|class| below[class][lane] - passed[class].get(lane));
                moved[0][lane] += left[0] - areas[lane];
                moved[1][lane] += left[1];
                moved[0][lane] *= of_positives[lane];
                moved[1][lane] *= of_positives[lane];
            }
            self.add(first, block, &moved, &mut sums);
        });
        Remaining { areas, moved: sums }
    }
}

/// `areas_without(name, positive, last, part_of, weight, cluster, parts, clusters)`: an area without
/// the rows of each part in turn, and by part, class (positive rows first) and cluster the sum of
/// what the remaining rows move it, from the rows by descending score: their class, whether each is
/// the last of its score, their part, weight and cluster. Without clusters, of which there is one
/// then, it is the sum of the squares of what rows move.
#[pyfunction]
#[pyo3(signature = (name, positive, last, part_of, weight, cluster, parts, clusters))]
#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]
pub fn areas_without<'py>(
    py: Python<'py>,
    name: &str,
    positive: PyReadonlyArray1<'py, bool>,
    last: PyReadonlyArray1<'py, bool>,
    part_of: PyReadonlyArray1<'py, u8>,
    weight: Option<PyReadonlyArray1<'py, f64>>,
    cluster: Option<PyReadonlyArray1<'py, u32>>,
    parts: usize,
    clusters: usize,
) -> PyResult<(Line<'py>, Line<'py>)> {
    let area = Area::of_any(name)?;
    let (positive, last) = (contiguous(&positive), contiguous(&last));
    let part_of = contiguous(&part_of);
    let weight = weight.as_ref().map(contiguous);
    let cluster = cluster.as_ref().map(contiguous);
    same_length("last", last.len(), positive.len())?;
    let rows = Rows {
        positive: &positive,
        last: &last,
        parts: Parts::new(
            &part_of,
            weight.as_deref(),
            cluster.as_deref(),
            clusters,
            positive.len(),
        )?,
    };
    let (areas, moved) = detached(py, [positive.len(), parts], |crew| {
        let found = crew.map(0..parts.div_ceil(LANES), |_, at| {
            rows.remaining(crew, at * LANES, area)
        });
        let areas: Vec<f64> = (0..parts)
            .map(|part| found[part / LANES].areas[part % LANES])
            .collect();
        let sums: Vec<_> = found.iter().map(|remaining| &remaining.moved).collect();
        (areas, rows.parts.by_part(&sums, parts))
    })?;
    Ok((areas.into_pyarray(py), moved.into_pyarray(py)))
}
