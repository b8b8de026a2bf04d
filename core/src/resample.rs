//! The bootstrap. A replicate depends on the seed, its own number and the units it draws, so
//! replicates run on any number of threads and come out the same.

use std::borrow::Cow;
use std::ops::Range;

use numpy::{
    IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PySlice;

use crate::arrays::{Matrix, filled, zeros};
use crate::isotonic::DRAWN;
use crate::parallel::{Chunks, Crew, detached};
use crate::random::{PoissonCounts, PoissonSums, Stream};
use crate::scores::{Areas, Curve, PIECE, Pair, check_values, contiguous, precision, same_length};

// ------------------------------------------------------------------------------ areas and curves

/// Rows by descending score.
pub struct Ranking<'a> {
    pub positive: &'a [bool],
    /// Whether a row is the last of its block of equal scores.
    pub last: &'a [bool],
    pub weight: Option<&'a [f64]>,
    /// What a row is drawn with; its own position where there is nothing else.
    pub unit: Option<&'a [u32]>,
}

/// Where a curve is to be read: false positive rates and recalls, ascending.
#[derive(Clone, Copy)]
pub struct Grids<'a> {
    pub fpr: &'a [f64],
    pub recall: &'a [f64],
}

impl Grids<'_> {
    /// How many numbers a replicate has: the areas, and the curves at these points.
    fn columns(self) -> usize {
        3 + self.fpr.len() + self.recall.len()
    }
}

impl Ranking<'_> {
    /// Per replicate the three areas, then the curves at the points of the grids.
    pub fn bootstrap(&self, crew: Crew, seed: u64, grids: Grids, out: &mut [f64]) {
        crew.map(Chunks(out, grids.columns()), |replicate, out| {
            self.replicate(crew, Stream::new(seed, replicate), grids, out);
        });
    }

    /// That the columns fit each other.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        same_length("last", self.last.len(), self.positive.len())?;
        if self.last.last() == Some(&false) {
            return invalid("the last row must end its block of equal scores");
        }
        if let Some(weight) = self.weight {
            same_length("weight", weight.len(), self.positive.len())?;
            detached(py, [weight.len()], |crew| {
                check_values(crew, "weight", weight, 0.0)
            })??;
        }
        if let Some(unit) = self.unit {
            same_length("unit", unit.len(), self.positive.len())?;
        }
        Ok(())
    }

    /// The weight of each class drawn in each block of equal scores, replicate by replicate: all
    /// blocks of the positives, then all of the negatives; then, where they are wanted, those of the
    /// rows that the replicate left out.
    pub fn tables(
        &self,
        crew: Crew,
        seed: u64,
        start: usize,
        columns: usize,
        blocks: usize,
        sums: &mut [f64],
    ) {
        crew.map(Chunks(sums, columns * blocks), |at, sums| {
            self.table(crew, Stream::new(seed, start + at), blocks, sums);
        });
    }

    fn table(&self, crew: Crew, stream: Stream, blocks: usize, sums: &mut [f64]) {
        let mut counts = [0; PIECE];
        let (drawn, left_out) = sums.split_at_mut(2 * blocks);
        let mut block = 0;
        for rows in crew.pieces(0..self.positive.len(), PIECE) {
            let counts = &mut counts[..rows.len()];
            self.draw(stream, rows.clone(), counts);
            for (row, &count) in rows.zip(&*counts) {
                let weight = self.weight.map_or(1.0, |weight| weight[row]);
                let class = usize::from(!self.positive[row]) * blocks;
                drawn[class + block] += f64::from(count) * weight;
                if !left_out.is_empty() {
                    left_out[class + block] += f64::from(u8::from(count == 0)) * weight;
                }
                block += usize::from(self.last[row]);
            }
        }
    }

    fn replicate(&self, crew: Crew, stream: Stream, grids: Grids, out: &mut [f64]) {
        let (shares, curves) = out.split_at_mut(3);
        // A rate is known only with the totals: drawing twice costs less than storing the curve.
        let mut reader = if grids.fpr.is_empty() && grids.recall.is_empty() {
            None
        } else {
            let total = self.sweep(crew, stream, |_| ());
            Some(Reader::new(grids, total, curves))
        };
        let mut areas = Areas::default();
        let total = self.sweep(crew, stream, |points| {
            areas.add(points);
            if let Some(reader) = &mut reader {
                reader.read(points);
            }
        });
        if let Some(reader) = reader {
            reader.finish();
        }
        shares.copy_from_slice(&areas.shares(total));
    }

    /// Per replicate the areas, and the curve at the start and at the last end of a block in each
    /// run of `step` rows: all true positives, then all false positives.
    pub fn coarse(
        &self,
        crew: Crew,
        seed: u64,
        step: usize,
        areas: &mut [f64],
        curves: &mut [f64],
    ) {
        let points = self.points_of_coarse(step);
        let pieces: Vec<_> = self.pieces(crew, step.min(PIECE)).collect();
        crew.map(
            (Chunks(areas, 3), Chunks(curves, 2 * points)),
            |replicate, (areas, points_of_curve)| {
                let stream = Stream::new(seed, replicate);
                let (tp, fp) = points_of_curve.split_at_mut(points);
                let (mut sums, mut curve, mut counts) =
                    (Areas::default(), Curve::default(), [0; PIECE]);
                for (rows, untied) in &pieces {
                    crew.check();
                    let point = if *untied {
                        let counts = &mut counts[..rows.len()];
                        self.draw(stream, rows.clone(), counts);
                        let positive = &self.positive[rows.clone()];
                        let point = sums.add_untied(curve.total(), counts, positive);
                        curve.go_on_from(point);
                        point
                    } else {
                        let points = self.advance(stream, rows.clone(), &mut curve);
                        sums.add(points);
                        points[points.len() - 1]
                    };
                    [tp[rows.start / step + 1], fp[rows.start / step + 1]] = point;
                }
                areas.copy_from_slice(&sums.shares(curve.total()));
            },
        );
    }

    /// How many points `coarse` keeps of each class.
    fn points_of_coarse(&self, step: usize) -> usize {
        self.positive.len().div_ceil(step) + 1
    }

    /// Pieces of rows, and whether they are whole blocks of a row of weight one each.
    fn pieces(&self, crew: Crew, piece: usize) -> impl Iterator<Item = (Range<usize>, bool)> {
        let ends = |row: usize| self.last[row];
        crew.pieces(0..self.positive.len(), piece).map(move |rows| {
            let begins = rows.start == 0 || ends(rows.start - 1);
            let untied = self.weight.is_none() && begins && rows.clone().all(ends);
            (rows, untied)
        })
    }

    /// The points of a stretch of a curve: the ends of the blocks that its rows make up, and how
    /// many blocks come before each within the stretch.
    fn points(
        &self,
        crew: Crew,
        seed: u64,
        stretch: &Stretch,
        peaks: bool,
    ) -> (Vec<Pair>, Vec<u32>) {
        let mut points = Vec::with_capacity(stretch.rows.len() + 1);
        points.push(stretch.from);
        let mut curve = Curve::default();
        curve.go_on_from(stretch.from);
        let counts = self.draw_stretch(crew, seed, stretch);
        let starts = stretch.rows.clone().step_by(PIECE);
        for (start, counts) in starts.zip(counts.chunks(PIECE)) {
            let rows = start..start + counts.len();
            points.extend_from_slice(&self.advance_by(counts, rows, &mut curve)[1..]);
        }
        let mut places: Vec<u32> = (0..points.len() as u32).collect();
        if peaks {
            places = upper_hull(&points);
            points = places.iter().map(|&at| points[at as usize]).collect();
        }
        (points, places)
    }

    /// How often each row of a stretch is drawn.
    fn draw_stretch(&self, crew: Crew, seed: u64, stretch: &Stretch) -> Vec<u8> {
        let stream = Stream::new(seed, stretch.replicate);
        let mut counts = vec![0; stretch.rows.len()];
        match stretch.drawn {
            None => {
                let starts = stretch.rows.clone().step_by(PIECE);
                for (start, counts) in starts.zip(counts.chunks_mut(PIECE)) {
                    crew.check();
                    self.draw(stream, start..start + counts.len(), counts);
                }
            }
            Some(drawn) => {
                // Each draw falls on any row of its class alike. Words are those of a stream of the
                // stretch itself, so that they are the same whatever else is drawn.
                crew.check();
                let positive = &self.positive[stretch.rows.clone()];
                let positives = positive.iter().filter(|&&positive| positive).count();
                let words = Stream::new(stream.word(stretch.rows.start as u64), 0);
                let sizes = [positives, positive.len() - positives];
                let mut by_class = sizes.map(|size| vec![0_u8; size + 1]);
                let mut index = 0;
                for ((counts, size), draws) in by_class.iter_mut().zip(sizes).zip(drawn) {
                    for _ in 0..draws {
                        counts[words.below(index, size)] += 1;
                        index += 1;
                    }
                }
                let mut next = 0;
                for (row, (count, &positive)) in counts.iter_mut().zip(positive).enumerate() {
                    // Selected rather than chosen: a branch on a label is one that the processor
                    // cannot predict. The extra count stands after the last row of a class.
                    let counts = [by_class[1][row - next], by_class[0][next]];
                    *count = counts[usize::from(positive)];
                    next += usize::from(positive);
                }
            }
        }
        counts
    }

    /// Of runs of rows, which end at `ends`, the weight of the positives drawn, of all rows drawn, and
    /// the weighted sum of their values.
    fn runs(&self, crew: Crew, stream: Stream, ends: &[usize], values: &[f64], sums: &mut [f64]) {
        let (mut counts, mut weights) = ([0; PIECE], [0.0; PIECE]);
        let starts = std::iter::once(&0).chain(ends);
        for ((&start, &end), sums) in starts.zip(ends).zip(sums.chunks_exact_mut(3)) {
            for rows in crew.pieces(start..end, PIECE) {
                let (counts, weights) = (&mut counts[..rows.len()], &mut weights[..rows.len()]);
                self.draw(stream, rows.clone(), counts);
                for (weight, &count) in weights.iter_mut().zip(&*counts) {
                    *weight = f64::from(count);
                }
                if let Some(given) = self.weight {
                    for (weight, given) in weights.iter_mut().zip(&given[rows.clone()]) {
                        *weight *= given;
                    }
                }
                let positive = &self.positive[rows.clone()];
                let of_positives = |row: usize| weights[row] * f64::from(u8::from(positive[row]));
                sums[0] += side_by_side(rows.len(), of_positives);
                sums[1] += side_by_side(rows.len(), |row| weights[row]);
                let values = &values[rows.clone()];
                sums[2] += side_by_side(rows.len(), |row| weights[row] * values[row]);
            }
        }
    }

    /// Of the rows that a replicate left out the weight of each class, below and in the first
    /// `called` rows.
    fn left_out(&self, crew: Crew, stream: Stream, called: usize) -> [f64; 4] {
        let mut counts = [0; PIECE];
        let mut sums = [[0.0; 2]; 2];
        for (side, side_rows) in [(0, called..self.positive.len()), (1, 0..called)] {
            for rows in crew.pieces(side_rows, PIECE) {
                let counts = &mut counts[..rows.len()];
                self.draw(stream, rows.clone(), counts);
                let positive = &self.positive[rows.clone()];
                let [of_negatives, of_positives] = match self.weight {
                    None => counted_out(counts, positive),
                    Some(weight) => weighed_out(counts, positive, &weight[rows]),
                };
                sums[0][side] += of_negatives;
                sums[1][side] += of_positives;
            }
        }
        let [[tn, fp], [fn_, tp]] = sums;
        [tn, fp, fn_, tp]
    }

    /// Of the rows of a stretch that are not drawn the number of each class, below and in the first
    /// `called` rows of all.
    fn left_out_of(&self, crew: Crew, seed: u64, stretch: &Stretch, called: usize) -> [f64; 4] {
        let counts = self.draw_stretch(crew, seed, stretch);
        let split = called.clamp(stretch.rows.start, stretch.rows.end);
        let (above, below) = counts.split_at(split - stretch.rows.start);
        let positive = &self.positive[stretch.rows.clone()];
        let (of_above, of_below) = positive.split_at(above.len());
        let [fp, tp] = counted_out(above, of_above);
        let [tn, fn_] = counted_out(below, of_below);
        [tn, fp, fn_, tp]
    }

    /// One pass over the resampled rows, which shows the curve to `visit` piece by piece and ends
    /// with the total weights.
    fn sweep(&self, crew: Crew, stream: Stream, mut visit: impl FnMut(&[Pair])) -> Pair {
        let mut curve = Curve::default();
        for rows in crew.pieces(0..self.positive.len(), PIECE) {
            visit(self.advance(stream, rows, &mut curve));
        }
        curve.total()
    }

    /// Draws up to `PIECE` rows and goes on along the curve.
    fn advance<'c>(&self, stream: Stream, rows: Range<usize>, curve: &'c mut Curve) -> &'c [Pair] {
        let mut counts = [0; PIECE];
        let counts = &mut counts[..rows.len()];
        self.draw(stream, rows.clone(), counts);
        self.advance_by(counts, rows, curve)
    }

    /// Goes on along the curve by up to `PIECE` rows that are drawn so often.
    fn advance_by<'c>(
        &self,
        counts: &[u8],
        rows: Range<usize>,
        curve: &'c mut Curve,
    ) -> &'c [Pair] {
        let mut by_class = [[0; 2]; PIECE];
        split(counts, &self.positive[rows.clone()], &mut by_class);
        let drawn = by_class.iter().map(|counts| counts.map(f64::from));
        let last = self.last[rows.clone()].iter().copied();
        match self.weight {
            None => curve.advance(drawn.zip(last)),
            Some(weight) => {
                let weights = weight[rows].iter();
                let drawn = drawn
                    .zip(weights)
                    .map(|(counts, w)| counts.map(|count| count * w));
                curve.advance(drawn.zip(last))
            }
        }
    }

    fn draw(&self, stream: Stream, rows: Range<usize>, counts: &mut [u8]) {
        let Some(unit) = self.unit else {
            return stream.poisson_run(rows.start, counts);
        };
        for (count, &unit) in counts.iter_mut().zip(&unit[rows]) {
            *count = stream.poisson(unit.into());
        }
    }
}

/// A sum as wide registers can make it.
#[inline]
fn side_by_side(length: usize, term: impl Fn(usize) -> f64) -> f64 {
    let mut lanes = [0.0; 8];
    let whole = length - length % lanes.len();
    for start in (0..whole).step_by(lanes.len()) {
        for (lane, sum) in lanes.iter_mut().enumerate() {
            *sum += term(start + lane);
        }
    }
    lanes.iter().sum::<f64>() + (whole..length).map(term).sum::<f64>()
}

/// Rows of a replicate's curve, whole blocks of equal scores, and the point it has reached before.
struct Stretch {
    replicate: usize,
    rows: Range<usize>,
    from: Pair,
    /// How many positives and negatives are drawn, where that is known before the rows are.
    drawn: Option<[usize; 2]>,
}

/// Where a curve turns right: the corners of its convex hull on the side of true positives. Of
/// points that are the same the first is meant.
fn upper_hull(points: &[Pair]) -> Vec<u32> {
    let mut hull: Vec<u32> = Vec::new();
    let at = |place: u32| points[place as usize];
    for (place, &point) in (0..).zip(points) {
        let [tp, fp] = point;
        // A point with false positives alone is a corner only where the curve ends.
        let ends = place as usize == points.len() - 1;
        let is_below = |[last_tp, last_fp]: Pair| last_tp >= tp && (last_fp >= fp || !ends);
        if hull.last().is_some_and(|&last| is_below(at(last))) {
            continue;
        }
        while let [.., before, last] = hull[..] {
            let (start, corner) = (at(before), at(last));
            let rise =
                (corner[1] - start[1]) * (tp - start[0]) - (corner[0] - start[0]) * (fp - start[1]);
            if rise < 0.0 {
                break;
            }
            hull.pop();
        }
        hull.push(place);
    }
    hull
}

/// How many negative and positive rows are not drawn.
fn counted_out(counts: &[u8], positive: &[bool]) -> Pair {
    let (mut all, mut positives) = (0_u32, 0_u32);
    for (&count, &positive) in counts.iter().zip(positive) {
        let out = u8::from(count == 0);
        all += u32::from(out);
        positives += u32::from(out & u8::from(positive));
    }
    [f64::from(all - positives), f64::from(positives)]
}

fn weighed_out(counts: &[u8], positive: &[bool], weight: &[f64]) -> Pair {
    let mut sums = [0.0; 2];
    for ((&count, &positive), &weight) in counts.iter().zip(positive).zip(weight) {
        sums[usize::from(positive)] += f64::from(u8::from(count == 0)) * weight;
    }
    sums
}

/// Each count as that of a positive and of a negative row, multiplied rather than chosen: a branch
/// on a label is one that the processor cannot predict.
#[inline(never)]
fn split(counts: &[u8], positive: &[bool], by_class: &mut [[u8; 2]]) {
    for ((pair, &count), &positive) in by_class.iter_mut().zip(counts).zip(positive) {
        let positive = u8::from(positive) * count;
        *pair = [positive, count - positive];
    }
}

/// Reads a curve at the points of the grids while its pieces pass.
struct Reader<'a> {
    grids: Grids<'a>,
    total: Pair,
    tpr: Filled<'a>,
    precision: Filled<'a>,
}

/// A slice that is filled from its start.
struct Filled<'a> {
    values: &'a mut [f64],
    count: usize,
}

impl<'a> Filled<'a> {
    fn new(values: &'a mut [f64]) -> Self {
        Self { values, count: 0 }
    }

    fn push(&mut self, value: f64) {
        self.values[self.count] = value;
        self.count += 1;
    }

    fn finish(self, rest: f64) {
        self.values[self.count..].fill(rest);
    }
}

impl<'a> Reader<'a> {
    fn new(grids: Grids<'a>, total: Pair, curves: &'a mut [f64]) -> Self {
        let (tpr, precision) = curves.split_at_mut(grids.fpr.len());
        Self {
            grids,
            total,
            tpr: Filled::new(tpr),
            precision: Filled::new(precision),
        }
    }

    fn is_defined(&self) -> bool {
        !self.total.contains(&0.0)
    }

    fn read(&mut self, points: &[Pair]) {
        if self.is_defined() {
            self.read_tpr(points);
            self.read_precision(points);
        }
    }

    /// A rate is read when the curve has passed it, and so at the top of a vertical step.
    fn read_tpr(&mut self, points: &[Pair]) {
        let [positives, negatives] = self.total;
        let end = points[points.len() - 1][1] / negatives;
        let ahead = &self.grids.fpr[self.tpr.count..];
        for &rate in ahead.iter().take_while(|&&rate| rate < end) {
            let passed = points.partition_point(|[_, fp]| fp / negatives <= rate);
            let ([tp, fp], end) = (points[passed - 1], points[passed]);
            let share = ((rate * negatives - fp) / (end[1] - fp)).clamp(0.0, 1.0);
            self.tpr.push((tp + share * (end[0] - tp)) / positives);
        }
    }

    /// Recall 0 is reached by the first block that holds anything.
    fn read_precision(&mut self, points: &[Pair]) {
        let positives = self.total[0];
        let reaches = |[tp, fp]: Pair, recall| tp / positives >= recall && tp + fp > 0.0;
        let end = points[points.len() - 1];
        let ahead = &self.grids.recall[self.precision.count..];
        for &recall in ahead.iter().take_while(|&&recall| reaches(end, recall)) {
            let first = points.partition_point(|&point| !reaches(point, recall));
            self.precision.push(precision(points[first]));
        }
    }

    fn finish(self) {
        // A rate that the curve never passes is 1, and there every positive is retrieved.
        let end = if self.is_defined() { 1.0 } else { f64::NAN };
        self.tpr.finish(end);
        self.precision.finish(f64::NAN);
    }
}

// ------------------------------------------------------------------------------ means over units

/// Rows of `columns` values each, one row a unit.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    pub values: &'a [f64],
    pub columns: usize,
}

impl<'a> Values<'a> {
    fn units(self) -> usize {
        self.values.len() / self.columns.max(1)
    }

    pub fn rows(self) -> impl Iterator<Item = &'a [f64]> {
        self.values.chunks_exact(self.columns.max(1))
    }
}

/// Values less the mean of their column, and 0 where undefined, which leaves sums as they are.
struct Centered {
    values: Vec<f64>,
    center: Vec<f64>,
    /// (unit, column) of each undefined value.
    missing: Vec<(usize, usize)>,
}

impl Centered {
    fn new(crew: Crew, table: Values) -> Self {
        let center: Vec<_> = (0..table.columns)
            .map(|column| mean_of_defined(crew.watched(table.rows()).map(|row| row[column])))
            .collect();
        let mut missing = Vec::new();
        let mut values = table.values.to_vec();
        for (at, value) in crew.watched(values.iter_mut()).enumerate() {
            *value -= center[at % table.columns];
            if value.is_nan() {
                missing.push((at / table.columns, at % table.columns));
                *value = 0.0;
            }
        }
        Self {
            values,
            center,
            missing,
        }
    }
}

/// Summed as differences from the first, so that equal values have exactly their value as mean.
fn mean_of_defined(values: impl Iterator<Item = f64>) -> f64 {
    let mut defined = values.filter(|value| !value.is_nan());
    let Some(first) = defined.next() else {
        return f64::NAN;
    };
    let (sum, count) = defined.fold((0.0, 1.0), |(sum, count), value| {
        (sum + (value - first), count + 1.0)
    });
    first + sum / count
}

/// Per replicate and column the mean of the drawn defined values and its standard error, where
/// zeros stand.
pub fn bootstrap_column_means(
    crew: Crew,
    table: Values,
    seed: u64,
    means: &mut [f64],
    errors: &mut [f64],
) {
    let centered = Centered::new(crew, table);
    let units = table.units();
    crew.map_with(
        (Chunks(means, table.columns), Chunks(errors, table.columns)),
        || vec![0; units],
        |counts, replicate, (means, errors)| {
            draw_units(crew, Stream::new(seed, replicate), counts);
            centered.resample(crew, counts, means, errors);
        },
    );
}

/// How often each unit comes in as many draws as there are units.
fn draw_units(crew: Crew, stream: Stream, counts: &mut [u32]) {
    counts.fill(0);
    for draws in crew.pieces(0..counts.len(), PIECE) {
        for draw in draws {
            counts[stream.below(draw as u64, counts.len())] += 1;
        }
    }
}

impl Centered {
    /// The sums and the sums of squares grow where the means and the errors will stand.
    fn resample(&self, crew: Crew, counts: &[u32], means: &mut [f64], errors: &mut [f64]) {
        let columns = means.len();
        let pieces = self.values.chunks(PIECE * columns);
        for (values, counts) in pieces.zip(counts.chunks(PIECE)) {
            crew.check();
            for (row, &count) in values.chunks_exact(columns).zip(counts) {
                let count = f64::from(count);
                for ((value, sum), squares) in row.iter().zip(&mut *means).zip(&mut *errors) {
                    *sum += count * value;
                    *squares += count * value * value;
                }
            }
        }
        let mut defined = vec![counts.len() as u64; means.len()];
        for &(unit, column) in &self.missing {
            defined[column] -= u64::from(counts[unit]);
        }
        for (column, &defined) in defined.iter().enumerate() {
            let (sum, squares) = (means[column], errors[column]);
            means[column] = self.center[column] + sum / defined as f64;
            errors[column] = standard_error(defined as f64, sum, squares);
        }
    }
}

/// Of a mean of `count` values with these sums. What rounding leaves of equal values is nothing.
fn standard_error(count: f64, sum: f64, squares: f64) -> f64 {
    let spread = squares - sum * sum / count;
    let variance = if spread > count * f64::EPSILON * squares {
        spread / (count - 1.0)
    } else {
        0.0
    };
    if count < 2.0 {
        f64::NAN
    } else {
        (variance / count).sqrt()
    }
}

// ----------------------------------------------------------------------------------------- cells

/// Per replicate the weight of each cell over the resampled rows, where zeros stand.
pub fn resampled_cells(
    crew: Crew,
    cell: &[u32],
    weight: &[f64],
    cells: usize,
    seed: u64,
    sums: &mut [f64],
) {
    crew.map(Chunks(sums, cells), |replicate, sums| {
        let stream = Stream::new(seed, replicate);
        let mut counts = [0; PIECE];
        for rows in crew.pieces(0..cell.len(), PIECE) {
            let counts = &mut counts[..rows.len()];
            stream.poisson_run(rows.start, counts);
            for ((&cell, &weight), &count) in
                cell[rows.clone()].iter().zip(&weight[rows]).zip(&*counts)
            {
                sums[cell as usize] += f64::from(count) * weight;
            }
        }
    });
}

/// Of each row of `values` the sums of the columns that go to the same place, where zeros stand.
fn summed_columns(crew: Crew, values: &[f64], place: &[u32], size: usize, sums: &mut [f64]) {
    crew.map(Chunks(sums, size), |row, sums| {
        let values = &values[row * place.len()..][..place.len()];
        for (&value, &place) in values.iter().zip(place) {
            sums[place as usize] += value;
        }
    });
}

// ---------------------------------------------------------------------------------------- Python

fn invalid<T>(message: impl Into<String>) -> PyResult<T> {
    Err(PyValueError::new_err(message.into()))
}

/// That no value, of which each `of` has one, is beyond the `size` there are.
pub fn within(values: &[u32], size: usize, [what, of]: [&str; 2]) -> PyResult<()> {
    match values.iter().position(|&value| value as usize >= size) {
        Some(at) => invalid(format!(
            "{what} is {} in {of} {at}, of {size} {what}s",
            values[at]
        )),
        None => Ok(()),
    }
}

/// The grid's values, or none where there is no grid; ascending shares.
fn checked_grid(name: &str, grid: Option<&PyReadonlyArray1<f64>>) -> PyResult<Vec<f64>> {
    let grid = grid.map_or_else(Vec::new, |grid| contiguous(grid).into_owned());
    let within = grid.iter().all(|share| (0.0..=1.0).contains(share));
    if !within || !grid.is_sorted() {
        return invalid(format!("{name} must ascend within [0, 1]"));
    }
    Ok(grid)
}

pub fn rows_of<'a>(array: &'a PyReadonlyArray2<f64>) -> Cow<'a, [f64]> {
    match array.as_slice() {
        Ok(slice) if array.is_c_contiguous() => Cow::Borrowed(slice),
        _ => array.as_array().iter().copied().collect(),
    }
}

/// The arrays of a ranking, as Python hands them over.
struct Columns<'a> {
    positive: Cow<'a, [bool]>,
    last: Cow<'a, [bool]>,
    weight: Option<Cow<'a, [f64]>>,
    unit: Option<Cow<'a, [u32]>>,
}

impl<'a> Columns<'a> {
    fn of(
        positive: &'a PyReadonlyArray1<bool>,
        last: &'a PyReadonlyArray1<bool>,
        weight: Option<&'a PyReadonlyArray1<f64>>,
        unit: Option<&'a PyReadonlyArray1<u32>>,
    ) -> Self {
        Self {
            positive: contiguous(positive),
            last: contiguous(last),
            weight: weight.map(contiguous),
            unit: unit.map(contiguous),
        }
    }

    fn ranking(&self, py: Python<'_>) -> PyResult<Ranking<'_>> {
        let ranking = Ranking {
            positive: &self.positive,
            last: &self.last,
            weight: self.weight.as_deref(),
            unit: self.unit.as_deref(),
        };
        ranking.check(py)?;
        Ok(ranking)
    }
}

/// `bootstrap_scores(positive, last, weight, unit, seed, replicates, fpr_grid, recall_grid)`: of
/// rows by descending score, per Poisson bootstrap replicate the AUC, PR-AUC and AP, the true
/// positive rate at each false positive rate, and the precision at each recall.
#[pyfunction]
#[pyo3(signature = (
    positive, last, weight, unit, seed, replicates, fpr_grid=None, recall_grid=None
))]
#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]
pub fn bootstrap_scores<'py>(
    py: Python<'py>,
    positive: PyReadonlyArray1<'py, bool>,
    last: PyReadonlyArray1<'py, bool>,
    weight: Option<PyReadonlyArray1<'py, f64>>,
    unit: Option<PyReadonlyArray1<'py, u32>>,
    seed: u64,
    replicates: usize,
    fpr_grid: Option<PyReadonlyArray1<'py, f64>>,
    recall_grid: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<(Matrix<'py>, Option<Matrix<'py>>, Option<Matrix<'py>>)> {
    let columns = Columns::of(&positive, &last, weight.as_ref(), unit.as_ref());
    let ranking = columns.ranking(py)?;
    let fpr = checked_grid("fpr_grid", fpr_grid.as_ref())?;
    let recall = checked_grid("recall_grid", recall_grid.as_ref())?;
    let grids = Grids {
        fpr: &fpr,
        recall: &recall,
    };
    let drawn = zeros(py, replicates, grids.columns())?;
    {
        let mut drawn = drawn.readwrite();
        let out = drawn.as_slice_mut()?;
        detached(py, [replicates, ranking.positive.len()], |crew| {
            ranking.bootstrap(crew, seed, grids, out);
        })?;
    }
    let columns = |from: usize, count: usize| -> PyResult<Matrix<'py>> {
        let [from, to] = [from, from + count].map(usize::cast_signed);
        let columns = PySlice::new(py, from, to, 1);
        Ok(drawn.get_item((PySlice::full(py), columns))?.cast_into()?)
    };
    let tpr = columns(3, fpr.len())?;
    let precision = columns(3 + fpr.len(), recall.len())?;
    Ok((
        columns(0, 3)?,
        fpr_grid.map(|_| tpr),
        recall_grid.map(|_| precision),
    ))
}

/// `bootstrap_tables(positive, last, weight, unit, seed, start, replicates, out_of_bag=False)`: the
/// tables of scores that `bootstrap_scores` draws in the replicates from `start` on: per replicate
/// the weight of the positives in each block of equal scores and that of the negatives, and those
/// left out besides where they are asked for, each in its row.
#[pyfunction]
#[pyo3(signature = (
    positive, last, weight, unit, seed, start, replicates, out_of_bag=false
))]
#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]
pub fn bootstrap_tables<'py>(
    py: Python<'py>,
    positive: PyReadonlyArray1<'py, bool>,
    last: PyReadonlyArray1<'py, bool>,
    weight: Option<PyReadonlyArray1<'py, f64>>,
    unit: Option<PyReadonlyArray1<'py, u32>>,
    seed: u64,
    start: usize,
    replicates: usize,
    out_of_bag: bool,
) -> PyResult<Matrix<'py>> {
    let columns = Columns::of(&positive, &last, weight.as_ref(), unit.as_ref());
    let ranking = columns.ranking(py)?;
    let blocks = columns.last.iter().filter(|&&last| last).count();
    let columns = if out_of_bag { 4 } else { 2 };
    let rows = replicates.saturating_mul(columns);
    let steps = [replicates, ranking.positive.len()];
    filled(py, [rows, blocks], steps, |crew, sums| {
        ranking.tables(crew, seed, start, columns, blocks, sums);
    })
}

/// `bootstrap_coarse(positive, last, weight, unit, seed, replicates, step)`: of the replicates of
/// `bootstrap_scores` the AUC, PR-AUC and AP, and in two rows a replicate the true and the false
/// positives at the start and at the last end of a block of equal scores in each run of `step` rows,
/// a power of two.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]
pub fn bootstrap_coarse<'py>(
    py: Python<'py>,
    positive: PyReadonlyArray1<'py, bool>,
    last: PyReadonlyArray1<'py, bool>,
    weight: Option<PyReadonlyArray1<'py, f64>>,
    unit: Option<PyReadonlyArray1<'py, u32>>,
    seed: u64,
    replicates: usize,
    step: usize,
) -> PyResult<(Matrix<'py>, Matrix<'py>)> {
    let columns = Columns::of(&positive, &last, weight.as_ref(), unit.as_ref());
    let ranking = columns.ranking(py)?;
    if !step.is_power_of_two() {
        return invalid(format!("step is {step}, expected a power of two"));
    }
    let (areas, curves) = (
        zeros(py, replicates, 3)?,
        zeros(
            py,
            replicates.saturating_mul(2),
            ranking.points_of_coarse(step),
        )?,
    );
    {
        let (mut areas, mut curves) = (areas.readwrite(), curves.readwrite());
        let (areas, curves) = (areas.as_slice_mut()?, curves.as_slice_mut()?);
        detached(py, [replicates, ranking.positive.len()], |crew| {
            ranking.coarse(crew, seed, step, areas, curves);
        })?;
    }
    Ok((areas, curves))
}

type Points<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u32>>,
);

/// Stretches of the curves of replicates, one a row of the arrays.
fn checked_stretches(
    ranking: &Ranking<'_>,
    replicate: &PyReadonlyArray1<'_, i64>,
    rows: &PyReadonlyArray2<'_, i64>,
    from: impl Fn(usize) -> Pair,
    drawn: Option<&PyReadonlyArray2<'_, i64>>,
) -> PyResult<Vec<Stretch>> {
    let (rows, drawn) = (rows.as_array(), drawn.map(PyReadonlyArray2::as_array));
    same_length("rows", rows.nrows(), replicate.len())?;
    if let Some(drawn) = drawn {
        same_length("drawn", drawn.nrows(), rows.nrows())?;
    }
    let stretches: Vec<_> = contiguous(replicate)
        .iter()
        .zip(rows.rows())
        .enumerate()
        .map(|(at, (&replicate, rows))| Stretch {
            replicate: replicate as usize,
            rows: rows[0] as usize..rows[1] as usize,
            from: from(at),
            drawn: drawn.map(|drawn| [drawn[[at, 0]] as usize, drawn[[at, 1]] as usize]),
        })
        .collect();
    for stretch in &stretches {
        let Some(positive) = ranking.positive.get(stretch.rows.clone()) else {
            return invalid("a stretch reaches beyond the rows");
        };
        let [positives, negatives] = stretch.drawn.unwrap_or_default();
        if (positives > 0 && !positive.contains(&true))
            || (negatives > 0 && !positive.contains(&false))
        {
            return invalid("a stretch has no row of a class that is drawn");
        }
    }
    Ok(stretches)
}

/// `bootstrap_totals(sizes, seed, replicates)`: per replicate and class (rows of `sizes`) how many
/// rows are drawn in total from the first blocks on, of which `sizes` has the number of rows: 0, then
/// the cumulative sums of Poisson counts of these means.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn bootstrap_totals<'py>(
    py: Python<'py>,
    sizes: PyReadonlyArray2<'py, i64>,
    seed: u64,
    replicates: usize,
) -> PyResult<Matrix<'py>> {
    let [classes, blocks] = [sizes.shape()[0], sizes.shape()[1]];
    let sizes: Vec<usize> = sizes.as_array().iter().map(|&size| size as usize).collect();
    let points = classes * (blocks + 1);
    let sums = PoissonSums::default();
    filled(
        py,
        [replicates, points],
        [replicates, points],
        |crew, out| {
            crew.map(Chunks(out, points), |replicate, out| {
                crew.check();
                // A stream apart from that of single rows.
                let stream = Stream::new(Stream::new(seed, replicate).word(u64::MAX), 0);
                let mut index = 0;
                let mut bits = || {
                    index += 1;
                    (stream.word(index / 2) >> (32 * (index % 2))) as u32
                };
                for (of_class, sizes) in out.chunks_mut(blocks + 1).zip(sizes.chunks(blocks)) {
                    let mut total = 0;
                    for (point, &size) in of_class[1..].iter_mut().zip(sizes) {
                        total += sums.draw(size, &mut bits);
                        *point = total as f64;
                    }
                }
            });
        },
    )
}

/// `bootstrap_points(positive, last, weight, unit, seed, replicate, rows, point, peaks, drawn=None)`:
/// stretches of the curves of replicates, one a row: `rows` are the first row and the row after the
/// last, between ends of blocks of equal scores, `point` the true and false positives before them,
/// `drawn` how many positives and negatives are drawn, where that is known. Of all stretches one
/// after the other the true and the false positives at the point before and at the end of each block
/// (with `peaks` only at the corners of the convex hull above), and how many blocks of the stretch
/// come before; and how many points each stretch has.
#[pyfunction]
#[pyo3(signature = (positive, last, weight, unit, seed, replicate, rows, point, peaks, drawn=None))]
#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]
pub fn bootstrap_points<'py>(
    py: Python<'py>,
    positive: PyReadonlyArray1<'py, bool>,
    last: PyReadonlyArray1<'py, bool>,
    weight: Option<PyReadonlyArray1<'py, f64>>,
    unit: Option<PyReadonlyArray1<'py, u32>>,
    seed: u64,
    replicate: PyReadonlyArray1<'py, i64>,
    rows: PyReadonlyArray2<'py, i64>,
    point: PyReadonlyArray2<'py, f64>,
    peaks: bool,
    drawn: Option<PyReadonlyArray2<'py, i64>>,
) -> PyResult<Points<'py>> {
    let columns = Columns::of(&positive, &last, weight.as_ref(), unit.as_ref());
    let ranking = columns.ranking(py)?;
    let point = point.as_array();
    same_length("point", point.nrows(), rows.as_array().nrows())?;
    let from = |at: usize| [point[[at, 0]], point[[at, 1]]];
    let stretches = checked_stretches(&ranking, &replicate, &rows, from, drawn.as_ref())?;
    let steps = stretches.iter().map(|stretch| stretch.rows.len()).sum();
    let (tp, fp, places, sizes) = detached(py, [steps], |crew| {
        let found = crew.map(0..stretches.len(), |_, at| {
            ranking.points(crew, seed, &stretches[at], peaks)
        });
        let of_class = |class: usize| -> Vec<f64> {
            let points = found.iter().flat_map(|(points, _)| points);
            points.map(|point| point[class]).collect()
        };
        let places = found.iter().flat_map(|(_, places)| places);
        let sizes = found.iter().map(|(points, _)| points.len() as u32);
        (
            of_class(0),
            of_class(1),
            places.copied().collect::<Vec<u32>>(),
            sizes.collect::<Vec<u32>>(),
        )
    })?;
    Ok((
        tp.into_pyarray(py),
        fp.into_pyarray(py),
        places.into_pyarray(py),
        sizes.into_pyarray(py),
    ))
}

/// `bootstrap_left_out_of(positive, last, seed, replicate, rows, drawn, called)`: of the
/// rows of the stretches of `bootstrap_points` that are not drawn the numbers of TN, FP, FN and TP
/// (columns) when the first `called[stretch]` rows of all are called positive.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]
pub fn bootstrap_left_out_of<'py>(
    py: Python<'py>,
    positive: PyReadonlyArray1<'py, bool>,
    last: PyReadonlyArray1<'py, bool>,
    seed: u64,
    replicate: PyReadonlyArray1<'py, i64>,
    rows: PyReadonlyArray2<'py, i64>,
    drawn: PyReadonlyArray2<'py, i64>,
    called: PyReadonlyArray1<'py, i64>,
) -> PyResult<Matrix<'py>> {
    let columns = Columns::of(&positive, &last, None, None);
    let ranking = columns.ranking(py)?;
    let stretches = checked_stretches(&ranking, &replicate, &rows, |_| [0.0; 2], Some(&drawn))?;
    let called = contiguous(&called);
    same_length("called", called.len(), stretches.len())?;
    let steps = stretches.iter().map(|stretch| stretch.rows.len()).sum();
    filled(py, [stretches.len(), 4], [steps], |crew, cells| {
        crew.map(Chunks(cells, 4), |at, cells| {
            let called = called[at] as usize;
            cells.copy_from_slice(&ranking.left_out_of(crew, seed, &stretches[at], called));
        });
    })
}

/// `bootstrap_left_out(positive, last, weight, unit, seed, called)`: of the rows that each replicate
/// of `bootstrap_scores` leaves out the weights of TN, FP, FN and TP (columns) when the first
/// `called[replicate]` rows are called positive.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn bootstrap_left_out<'py>(
    py: Python<'py>,
    positive: PyReadonlyArray1<'py, bool>,
    last: PyReadonlyArray1<'py, bool>,
    weight: Option<PyReadonlyArray1<'py, f64>>,
    unit: Option<PyReadonlyArray1<'py, u32>>,
    seed: u64,
    called: PyReadonlyArray1<'py, i64>,
) -> PyResult<Matrix<'py>> {
    let columns = Columns::of(&positive, &last, weight.as_ref(), unit.as_ref());
    let ranking = columns.ranking(py)?;
    let called = contiguous(&called);
    if called
        .iter()
        .any(|&rows| rows as usize > ranking.positive.len())
    {
        return invalid("called reaches beyond the rows");
    }
    let steps = [called.len(), ranking.positive.len()];
    filled(py, [called.len(), 4], steps, |crew, cells| {
        crew.map(Chunks(cells, 4), |replicate, cells| {
            let stream = Stream::new(seed, replicate);
            let left_out = ranking.left_out(crew, stream, called[replicate] as usize);
            cells.copy_from_slice(&left_out);
        });
    })
}

/// `bootstrap_runs(positive, last, weight, unit, seed, replicates, ends, values)`: of runs of rows,
/// which end before the rows `ends`, in each replicate of `bootstrap_scores` the weight of the
/// positives, of all rows, and the weighted sum of the values of the rows; the runs one after the
/// other, three columns each.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]
pub fn bootstrap_runs<'py>(
    py: Python<'py>,
    positive: PyReadonlyArray1<'py, bool>,
    last: PyReadonlyArray1<'py, bool>,
    weight: Option<PyReadonlyArray1<'py, f64>>,
    unit: Option<PyReadonlyArray1<'py, u32>>,
    seed: u64,
    replicates: usize,
    ends: PyReadonlyArray1<'py, i64>,
    values: PyReadonlyArray1<'py, f64>,
) -> PyResult<Matrix<'py>> {
    let columns = Columns::of(&positive, &last, weight.as_ref(), unit.as_ref());
    let ranking = columns.ranking(py)?;
    let values = contiguous(&values);
    same_length("values", values.len(), ranking.positive.len())?;
    let ends: Vec<_> = contiguous(&ends).iter().map(|&end| end as usize).collect();
    if !ends.is_sorted() || ends.last().is_some_and(|&end| end > values.len()) {
        return invalid("ends must ascend up to the number of rows");
    }
    let columns = 3 * ends.len();
    filled(
        py,
        [replicates, columns],
        [replicates, values.len()],
        |crew, sums| {
            crew.map(Chunks(sums, columns), |replicate, sums| {
                let stream = Stream::new(seed, replicate);
                ranking.runs(crew, stream, &ends, &values, sums);
            });
        },
    )
}

/// `poisson_counts(seed, replicate, units)`: how often `bootstrap_scores` draws each of the units
/// 0, 1, … in a replicate.
#[pyfunction]
pub fn poisson_counts(
    py: Python<'_>,
    seed: u64,
    replicate: usize,
    units: usize,
) -> PyResult<Bound<'_, PyArray1<u8>>> {
    let counts = zeros(py, 1, units)?;
    {
        let mut counts = counts.readwrite();
        let counts = counts.as_slice_mut()?;
        let stream = Stream::new(seed, replicate);
        detached(py, [units], |crew| {
            for units in crew.pieces(0..units, PIECE) {
                stream.poisson_run(units.start, &mut counts[units]);
            }
        })?;
    }
    counts.reshape([units])
}

/// The counts of means that a caller gives.
pub fn poisson_means(mean: &PyReadonlyArray1<'_, f64>) -> PyResult<PoissonCounts> {
    let means = contiguous(mean);
    if !means.iter().all(|mean| (0.0..1e15).contains(mean)) {
        return invalid("a mean must be a number of draws");
    }
    Ok(PoissonCounts::new(means.iter().copied()))
}

/// `poisson_draws(mean, seed, replicates)`: per replicate a Poisson count of each mean.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn poisson_draws<'py>(
    py: Python<'py>,
    mean: PyReadonlyArray1<'py, f64>,
    seed: u64,
    replicates: usize,
) -> PyResult<Matrix<'py>> {
    let (counts, means) = (poisson_means(&mean)?, mean.len());
    filled(py, [replicates, means], [replicates, means], |crew, out| {
        crew.map(Chunks(out, DRAWN * means), |piece, out| {
            crew.check();
            let first = piece * DRAWN;
            counts.draw(seed, first..first + out.len() / means, out);
        });
    })
}

/// `bootstrap_means(values, seed, replicates)`: values of units (rows) and measures (columns), NaN
/// where undefined; per replicate and measure the mean of the defined values drawn and its
/// standard error.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn bootstrap_means<'py>(
    py: Python<'py>,
    values: PyReadonlyArray2<'py, f64>,
    seed: u64,
    replicates: usize,
) -> PyResult<(Matrix<'py>, Matrix<'py>)> {
    let columns = values.shape()[1];
    let values = rows_of(&values);
    let table = Values {
        values: &values,
        columns,
    };
    let [means, errors] = [
        zeros(py, replicates, columns)?,
        zeros(py, replicates, columns)?,
    ];
    {
        let (mut means, mut errors) = (means.readwrite(), errors.readwrite());
        let (means, errors) = (means.as_slice_mut()?, errors.as_slice_mut()?);
        detached(py, [replicates, table.units(), columns + 4], |crew| {
            bootstrap_column_means(crew, table, seed, means, errors);
        })?;
    }
    Ok((means, errors))
}

/// `bootstrap_cells(cell, weight, cells, seed, replicates)`: per Poisson bootstrap replicate of
/// the rows the sum of the weights in each cell.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn bootstrap_cells<'py>(
    py: Python<'py>,
    cell: PyReadonlyArray1<'py, u32>,
    weight: PyReadonlyArray1<'py, f64>,
    cells: usize,
    seed: u64,
    replicates: usize,
) -> PyResult<Matrix<'py>> {
    let (cell, weight) = (contiguous(&cell), contiguous(&weight));
    same_length("weight", weight.len(), cell.len())?;
    within(&cell, cells, ["cell", "row"])?;
    filled(
        py,
        [replicates, cells],
        [replicates, cell.len()],
        |crew, sums| {
            resampled_cells(crew, &cell, &weight, cells, seed, sums);
        },
    )
}

/// `sum_columns(values, place, size)`: of each row of values the sums of the columns that go to
/// each of the places 0 to size − 1.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn sum_columns<'py>(
    py: Python<'py>,
    values: PyReadonlyArray2<'py, f64>,
    place: PyReadonlyArray1<'py, u32>,
    size: usize,
) -> PyResult<Matrix<'py>> {
    let (rows, columns) = (values.shape()[0], values.shape()[1]);
    let (values, place) = (rows_of(&values), contiguous(&place));
    same_length("place", place.len(), columns)?;
    within(&place, size, ["place", "column"])?;
    filled(py, [rows, size], [rows, columns], |crew, sums| {
        summed_columns(crew, &values, &place, size, sums);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::tested;

    #[test]
    fn equal_values_have_no_error() {
        let values = [0.1; 10];
        let table = Values {
            values: &values,
            columns: 2,
        };
        let (mut means, mut errors) = ([0.0; 100], [0.0; 100]);
        tested(|crew| bootstrap_column_means(crew, table, 0, &mut means, &mut errors));
        let bits =
            |values: &[f64]| -> Vec<_> { values.iter().map(|value| value.to_bits()).collect() };
        assert_eq!(bits(&means), bits(&[0.1; 100]));
        assert_eq!(bits(&errors), bits(&[0.0; 100]));
    }

    #[test]
    fn a_replicate_is_the_sweep_of_its_counts() {
        let positive: Vec<bool> = (0..2000).map(|row| row * row % 7 < 3).collect();
        let last: Vec<bool> = (0..2000).map(|row| row % 3 != 1 || row == 1999).collect();
        let ranking = Ranking {
            positive: &positive,
            last: &last,
            weight: None,
            unit: None,
        };
        let grids = Grids {
            fpr: &[],
            recall: &[],
        };
        let mut counts = [0; 2000];
        Stream::new(3, 1).poisson_run(0, &mut counts);
        let mut blocks = [vec![0.0], vec![0.0]];
        for ((&positive, &last), &count) in positive.iter().zip(&last).zip(&counts) {
            for (column, of_class) in blocks.iter_mut().zip([positive, !positive]) {
                *column.last_mut().unwrap() += f64::from(count * u8::from(of_class));
                if last {
                    column.push(0.0);
                }
            }
        }
        let mut areas = [0.0; 6];
        tested(|crew| ranking.bootstrap(crew, 3, grids, &mut areas));
        let expected = tested(|crew| crate::scores::sweep(crew, &blocks[0], &blocks[1]));
        assert!(
            areas[3..]
                .iter()
                .zip(expected)
                .all(|(area, expected)| (area - expected).abs() < 1e-12)
        );
    }
}
