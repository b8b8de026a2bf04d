//! Quantiles of Σgwx/Σgw, of numbers x from 0 to 1 with weights w, where the g are independent Gamma
//! numbers: the weighted mean under Dirichlet counts.

#![allow(clippy::inline_always)] // only so do loops become vectors of the width that is found

use std::array::from_fn;
use std::sync::LazyLock;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::parallel::{Crew, at_once, detached};
use crate::scores::{contiguous, same_length};

/// Nodes of the integral: their distance, and at most so many blocks of them, after each of which it
/// is seen what the last one added.
const STEP: f64 = 1.0 / 8.0;
const BLOCKS: usize = 45;
/// Sums and products are of so many numbers, or at so many nodes, side by side.
const LANES: usize = 8;
/// A product is put on a scale of its own before its logarithm exceeds this.
const LARGE: f64 = 300.0;
/// Halves of shapes up to this are powers by multiplication.
const MULTIPLIED: u32 = 32;

type Lanes = [f64; LANES];

/// sinh and cosh at the nodes, a block of them at a time.
static NODES: LazyLock<Vec<[Lanes; 2]>> = LazyLock::new(|| {
    let at = |block: usize, lane: usize| STEP * (block * LANES + lane) as f64;
    (0..BLOCKS)
        .map(|block| {
            [
                from_fn(|lane| at(block, lane).sinh()),
                from_fn(|lane| at(block, lane).cosh()),
            ]
        })
        .collect()
});

/// Complex numbers side by side.
#[derive(Clone, Copy)]
struct Complex([f64; LANES], [f64; LANES]);

impl Complex {
    #[inline(always)]
    fn of(number: impl Fn(usize) -> [f64; 2]) -> Self {
        let (mut real, mut imaginary) = ([0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            [real[lane], imaginary[lane]] = number(lane);
        }
        Self(real, imaginary)
    }

    #[inline(always)]
    fn times(self, by: Self) -> Self {
        Self::of(|k| {
            [
                self.0[k] * by.0[k] - self.1[k] * by.1[k],
                self.0[k] * by.1[k] + self.1[k] * by.0[k],
            ]
        })
    }

    #[inline(always)]
    fn over(self, by: Self) -> Self {
        Self::of(|k| {
            let size = by.0[k] * by.0[k] + by.1[k] * by.1[k];
            [
                (self.0[k] * by.0[k] + self.1[k] * by.1[k]) / size,
                (self.1[k] * by.0[k] - self.0[k] * by.1[k]) / size,
            ]
        })
    }

    /// 1 − self·by.
    #[inline(always)]
    fn without(self, by: f64) -> Self {
        Self::of(|k| [1.0 - self.0[k] * by, -self.1[k] * by])
    }

    /// exp of these.
    #[inline(always)]
    fn exp(self) -> Self {
        Self::of(|k| {
            let size = self.0[k].exp();
            [size * self.1[k].cos(), size * self.1[k].sin()]
        })
    }

    /// The roots with a real part of at least 0.
    #[inline(always)]
    fn root(self) -> Self {
        Self::of(|k| {
            let [real, imaginary] = [self.0[k], self.1[k]];
            let size = (real * real + imaginary * imaginary).sqrt();
            let long = (0.5 * (size + real.abs())).sqrt();
            let short = 0.5 * imaginary.abs() / long;
            let [to, up] = if real >= 0.0 {
                [long, short]
            } else {
                [short, long]
            };
            [to, up.copysign(imaginary)]
        })
    }

    #[inline(always)]
    fn size(self, lane: usize) -> f64 {
        (self.0[lane] * self.0[lane] + self.1[lane] * self.1[lane]).sqrt()
    }
}

/// Powers whose sums make the integrand, and from how many numbers on they are quicker than the
/// numbers.
const POWERS: usize = 32;
const MANY: usize = 64;
/// What may be left out of a sum of powers, of the integral.
const NEGLIGIBLE: f64 = 1e-17;
/// Numbers are in sums of powers if they are at most this, over K″'s root at the saddle point: eight
/// times so far away from it, where hardly anything is left of the integrand, z·c is ½.
const NEAR: f64 = 0.0625;

/// The numbers x, their weights w, and the shapes of their g; with room for w(x − t), that over what
/// it is at the saddle point, and the sums of powers of the latter. Numbers of no weight and no shape
/// make their number a multiple of [`LANES`].
struct Mean {
    number: usize,
    x: Vec<f64>,
    weight: Vec<f64>,
    mass: Vec<f64>,
    apart: Vec<f64>,
    tilted: Vec<f64>,
    powers: Option<Powers>,
}

/// The saddle point, and K″ there.
struct Saddle {
    at: f64,
    curve: f64,
}

/// The shares below and above a number, and about how dense they are there.
struct Shares {
    sides: [f64; 2],
    dense: f64,
}

/// Σa·c^k/k of numbers c with shapes a, for k from 1 to [`POWERS`], and the largest |c|; and with their
/// shapes the numbers that are too far out for that, which few are.
///
/// As −Σa·log(1 − zc) = Σₖ(Σa·c^k)·z^k/k, a node of the integral takes as many steps as there are
/// powers, however many numbers there are. Many numbers make z small, and the sum short.
struct Powers {
    terms: [f64; POWERS],
    largest: f64,
    far: Vec<[f64; 2]>,
    furthest: f64,
}

impl Powers {
    #[inline(always)] // so that it is compiled for wide vectors too
    fn of(mass: &[f64], numbers: &[f64], reach: f64) -> Self {
        let (mut lanes, mut largest) = ([[0.0; LANES]; POWERS], [0.0; LANES]);
        let mut far = Vec::new();
        for (mass, numbers) in mass.chunks_exact(LANES).zip(numbers.chunks_exact(LANES)) {
            let (mut squares, mut powers) = ([0.0; LANES], [[0.0; LANES]; 2]);
            let mut any = false;
            for lane in 0..LANES {
                let near = numbers[lane].abs() <= reach;
                let number = if near { numbers[lane] } else { 0.0 };
                squares[lane] = number * number;
                powers[0][lane] = mass[lane] * number;
                powers[1][lane] = mass[lane] * squares[lane];
                largest[lane] = f64::max(largest[lane], number.abs());
                any |= !near;
            }
            if any {
                let both = mass.iter().zip(numbers);
                let both = both.filter(|(_, number)| number.abs() > reach);
                far.extend(both.map(|(&mass, &number)| [mass, number]));
            }
            // Odd and even powers side by side, neither of which waits for the other.
            for sums in lanes.chunks_exact_mut(2) {
                for (sum, power) in sums.iter_mut().zip(&mut powers) {
                    for lane in 0..LANES {
                        sum[lane] += power[lane];
                        power[lane] *= squares[lane];
                    }
                }
            }
        }
        Self {
            terms: from_fn(|k| lanes[k].iter().sum::<f64>() / (k + 1) as f64),
            largest: largest.into_iter().fold(0.0, f64::max),
            furthest: far.iter().fold(0.0, |most, [_, c]| f64::max(most, c.abs())),
            far,
        }
    }

    /// −Σa·log(1 − zc) of the numbers that are not far out, and how much it may lack.
    #[inline(always)]
    fn log(&self, z: Complex) -> (Complex, Lanes) {
        let mut sum = Complex([0.0; LANES], [0.0; LANES]);
        for term in self.terms.iter().rev() {
            let with = Complex::of(|k| [sum.0[k] + term, sum.1[k]]);
            sum = with.times(z);
        }
        let lacking = from_fn(|lane| {
            let size = z.size(lane);
            let ratio = size * self.largest;
            if ratio < 0.95 {
                // The last power is even, so that nothing cancels in its sum.
                let power = size.powi(const { POWERS.cast_signed() as i32 });
                let last = self.terms[POWERS - 1] * power * ratio;
                last * POWERS as f64 / ((1.0 - ratio) * (POWERS + 1) as f64)
            } else {
                f64::INFINITY
            }
        });
        (sum, lacking)
    }
}

/// Π(1 − zc)^−a of numbers c of at most this size with shapes a, by multiplication where these are
/// few halves.
#[inline(always)] // so that it is compiled for wide vectors too
fn product<'a>(
    numbers: impl Iterator<Item = (&'a f64, &'a f64)>,
    furthest: f64,
    z: Complex,
) -> Complex {
    let size = (0..LANES).fold(0.0, |size, lane| f64::max(size, z.size(lane)));
    let most = (size * furthest).ln_1p();
    let mut product = Complex([1.0; LANES], [0.0; LANES]);
    let mut log = Complex([0.0; LANES], [0.0; LANES]);
    let mut grown = 0.0;
    for (&mass, &number) in numbers {
        let factor = z.without(number);
        let halves = (2.0 * mass) as u32;
        let growth = mass * most;
        if halves > MULTIPLIED || (f64::from(halves) - 2.0 * mass).abs() > 0.0 || growth > LARGE {
            log = Complex::of(|k| {
                [
                    log.0[k] + mass * factor.size(k).ln(),
                    log.1[k] + mass * factor.1[k].atan2(factor.0[k]),
                ]
            });
            continue;
        }
        if grown + growth > LARGE {
            let sizes: Lanes = from_fn(|k| f64::max(product.0[k].abs(), product.1[k].abs()));
            product = Complex::of(|k| [product.0[k] / sizes[k], product.1[k] / sizes[k]]);
            log = Complex::of(|k| [log.0[k] + sizes[k].ln(), log.1[k]]);
            grown = 0.0;
        }
        grown += growth;
        if halves % 2 == 1 {
            product = product.times(factor.root());
        }
        let (mut times, mut factor) = (halves / 2, factor);
        while times > 1 {
            if times % 2 == 1 {
                product = product.times(factor);
            }
            factor = factor.times(factor);
            times /= 2;
        }
        if times == 1 {
            product = product.times(factor);
        }
    }
    let turned = Complex::of(|k| [-log.0[k], -log.1[k]]).exp();
    turned.over(product)
}

impl Mean {
    fn of([x, weight, mass]: [&[f64]; 3]) -> Self {
        let size = x.len().next_multiple_of(LANES);
        let padded = |values: &[f64]| {
            let mut values = values.to_vec();
            values.resize(size, 0.0);
            values
        };
        Self {
            number: x.len(),
            x: padded(x),
            weight: padded(weight),
            mass: padded(mass),
            apart: vec![0.0; size],
            tilted: vec![0.0; size],
            powers: None,
        }
    }

    /// Sums of values of each number, each times its shape.
    #[inline(always)]
    fn sums<const N: usize>(&self, values: &[f64], of: impl Fn(f64) -> [f64; N]) -> [f64; N] {
        let mut lanes = [[0.0; LANES]; N];
        let blocks = values.chunks_exact(LANES);
        for (mass, values) in self.mass.chunks_exact(LANES).zip(blocks) {
            for lane in 0..LANES {
                let terms = of(values[lane]);
                for (sums, term) in lanes.iter_mut().zip(terms) {
                    sums[lane] += mass[lane] * term;
                }
            }
        }
        lanes.map(|lanes| lanes.iter().sum())
    }

    /// Turns `tilted` into c/(1 − sc), and returns K′ and K″ at s.
    #[inline(always)]
    fn tilt(&mut self, at: f64) -> [f64; 2] {
        for (tilted, apart) in self.tilted.iter_mut().zip(&self.apart) {
            *tilted = apart / (1.0 - at * apart);
        }
        self.sums(&self.tilted, |c| [c, c * c])
    }

    /// The shares below and above t.
    fn shares(&mut self, t: f64) -> Shares {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx2")]
            fn wide(of: &mut Mean, t: f64) -> Shares {
                of.shares_of(t)
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the machine has what the function asks for.
                return unsafe { wide(self, t) };
            }
        }
        self.shares_of(t)
    }

    /// The mean is below t where Q = Σgw(x − t) is below 0. With K(s) = −Σa·log(1 − sw(x − t)), a
    /// being the shapes of the g, P(Q > 0) is ∫exp(K(s))/s ds/2πi along any upright line to the right
    /// of 0 on which K is defined, and to the left of it −P(Q < 0). On a line through the saddle point
    /// of K, bent by its skewness there, hardly anything oscillates (Daniels 1987), and the
    /// trapezoidal rule gives all digits.
    #[inline(always)] // so that it is compiled for wide vectors too
    fn shares_of(&mut self, t: f64) -> Shares {
        if t.is_nan() {
            let sides = [t, t];
            return Shares { sides, dense: t };
        }
        let (mut low, mut high) = ([0.0; LANES], [0.0; LANES]);
        let numbers = self
            .x
            .chunks_exact(LANES)
            .zip(self.weight.chunks_exact(LANES));
        for (apart, (x, weight)) in self.apart.chunks_exact_mut(LANES).zip(numbers) {
            for lane in 0..LANES {
                apart[lane] = weight[lane] * (x[lane] - t);
                low[lane] = f64::min(low[lane], apart[lane]);
                high[lane] = f64::max(high[lane], apart[lane]);
            }
        }
        let low = low.into_iter().fold(0.0, f64::min);
        let high = high.into_iter().fold(0.0, f64::max);
        if low >= 0.0 || high <= 0.0 || low.is_nan() || high.is_nan() {
            let sides = if low < 0.0 { [1.0, 0.0] } else { [0.0, 1.0] };
            return Shares { sides, dense: 0.0 };
        }
        let Saddle { at, curve } = self.saddle([low, high].map(f64::recip));
        let width = 1.0 / curve.sqrt();
        let many = self.number >= MANY;
        self.powers = many.then(|| Powers::of(&self.mass, &self.tilted, NEAR / width));
        let [cubes] = self.sums(&self.tilted, |c| [c * c * c]);
        let bend = 2.0 / 3.0 * cubes * width.powi(3);
        let mut total = 0.0;
        for (block, [sinh, cosh]) in NODES.iter().enumerate() {
            let away = Complex::of(|k| [width * bend * (cosh[k] - 1.0), width * sinh[k]]);
            let slope = Complex::of(|k| [width * bend * sinh[k], width * cosh[k]]);
            let on = Complex::of(|k| [at + away.0[k], away.1[k]]);
            let along = slope.over(on);
            let terms = along.times(self.fall(away, along, total));
            total += terms.1.iter().sum::<f64>();
            if block == 0 {
                total -= 0.5 * terms.1[0];
            }
            // What follows falls at least as fast as the last two.
            let [before, last] = [terms.size(LANES - 2), terms.size(LANES - 1)];
            let ratio = last / before;
            if last <= 0.0 || last * ratio <= NEGLIGIBLE * (1.0 - ratio) * f64::abs(total) {
                break;
            }
        }
        let height = self.height(at).exp();
        let tail = (height * total * STEP / std::f64::consts::PI)
            .abs()
            .min(1.0);
        let sides = if at > 0.0 {
            [1.0 - tail, tail]
        } else {
            [tail, 1.0 - tail]
        };
        // Of the first order at the saddle point (Daniels 1954).
        let terms = self.apart.iter().zip(&self.weight).zip(&self.mass);
        let turned: f64 = terms.map(|((c, w), a)| a * w / (1.0 - at * c)).sum();
        let dense = height * width * turned.abs() / std::f64::consts::TAU.sqrt();
        Shares { sides, dense }
    }

    /// K at the saddle point.
    #[inline(always)]
    fn height(&self, at: f64) -> f64 {
        if let Some(powers) = &self.powers {
            let (log, lacking) = powers.log(Complex([-at; LANES], [0.0; LANES]));
            if lacking[0] <= NEGLIGIBLE {
                let far = powers.far.iter().map(|[mass, c]| mass * (at * c).ln_1p());
                return far.sum::<f64>() - log.0[0];
            }
        }
        let numbers = self.apart.iter().zip(&self.mass);
        -numbers
            .map(|(c, mass)| mass * (-at * c).ln_1p())
            .sum::<f64>()
    }

    /// exp(K) so far away from the saddle point, over what it is there; as exact as it has to be, to
    /// be added to the `total` times what is `along` the line.
    #[inline(always)]
    fn fall(&self, away: Complex, along: Complex, total: f64) -> Complex {
        if let Some(powers) = &self.powers {
            let (log, lacking) = powers.log(away);
            let far = powers.far.iter().map(|[mass, c]| (mass, c));
            let fall = log.exp().times(product(far, powers.furthest, away));
            let least = NEGLIGIBLE * (total.abs() + f64::from(u8::from(total == 0.0)));
            if (0..LANES).all(|k| lacking[k] * fall.size(k) * along.size(k) <= least) {
                return fall;
            }
        }
        let numbers = self.mass[..self.number].iter().zip(&self.tilted);
        let furthest = self
            .tilted
            .iter()
            .fold(0.0, |most, c| f64::max(most, c.abs()));
        product(numbers, furthest, away)
    }

    /// Where K′(s) = Σa·c/(1 − sc) is 0, or near it, between the poles; `tilted` becomes c/(1 − sc)
    /// there.
    #[inline(always)]
    fn saddle(&mut self, [mut low, mut high]: [f64; 2]) -> Saddle {
        let mut at = 0.0;
        let mut least = 0.0;
        for turn in 0..60 {
            let [slope, curve] = self.tilt(at);
            if turn == 0 {
                least = (0.5 / curve.sqrt()).copysign(-slope);
            }
            if slope < 0.0 {
                low = at;
            } else if slope > 0.0 {
                high = at;
            }
            let straight = at - slope / curve;
            let new = if low < straight && straight < high {
                straight
            } else {
                f64::midpoint(low, high)
            };
            let near = (new - at).abs() <= 1e-3 / curve.sqrt();
            at = new;
            if near {
                break;
            }
        }
        // Where it is all but 0, 1/s would be too steep along the line through it.
        if at.abs() < least.abs() {
            at = least;
        }
        let [_, curve] = self.tilt(at);
        Saddle { at, curve }
    }

    /// Where the share below (`side` 0) or above (1) is a `tail`, by the secant of its logit from a
    /// number on. If `outer`, it is that number where the share is smaller there.
    fn quantile(&mut self, tail: f64, side: usize, near: f64, outer: bool) -> f64 {
        let logit = |[below, above]: [f64; 2]| (below / above).ln();
        let z = logit(if side == 0 {
            [tail, 1.0 - tail]
        } else {
            [1.0 - tail, tail]
        });
        let (mut low, mut high) = (0.0, 1.0);
        let mut at = near;
        let mut last: Option<[f64; 2]> = None;
        for _ in 0..80 {
            let Shares { sides, dense } = self.shares(at);
            if outer && last.is_none() && sides[side] <= tail {
                return near;
            }
            let left = logit(sides) - z;
            if left < 0.0 {
                low = at;
            }
            if left > 0.0 {
                high = at;
            }
            let tangent = dense / (sides[0] * sides[1]);
            let secant = last.map(|[before, past]| (left - past) / (at - before));
            let secant = secant.filter(|slope| slope.is_finite() && *slope > 0.0);
            let new = at - left / secant.unwrap_or(tangent);
            let within = low < new && new < high;
            if left.abs() <= 1e-11 || high - low <= 1e-15 {
                break;
            }
            // What a step along the secant leaves is of the size of the product of both before it.
            let small = last.is_some_and(|[_, past]| (left * past).abs() <= 1e-11);
            last = Some([at, left]);
            at = if within {
                new
            } else {
                f64::midpoint(low, high)
            };
            if small && within {
                break;
            }
        }
        at
    }

    /// Where a share is below about, from mean, standard deviation and skewness by Cornish and Fisher.
    fn near(&self, share: f64) -> f64 {
        let each = || {
            let terms = self.x.iter().zip(&self.weight).zip(&self.mass);
            terms.map(|((x, w), a)| (x, w, a))
        };
        let [total, heavy, sum] = each().fold([0.0; 3], |[total, heavy, sum], (x, w, a)| {
            [total + a, heavy + a * w, sum + a * w * x]
        });
        let mean = sum / heavy;
        let [squares, cubes] = each().fold([0.0; 2], |[squares, cubes], (x, w, a)| {
            let c = w * (x - mean);
            [squares + a * c * c, cubes + a * c * c * c]
        });
        let within = (squares * total / (total + 1.0)).sqrt() / heavy;
        let skewness = 2.0 * cubes / squares.powf(1.5);
        // Hastings's formula for the normal, correct to 0.0005.
        let root = (-2.0 * share.min(1.0 - share).ln()).sqrt();
        let above = (0.010_328 * root + 0.802_853) * root + 2.515_517;
        let below = ((0.001_308 * root + 0.189_269) * root + 1.432_788) * root + 1.0;
        let z = (root - above / below).copysign(share - 0.5);
        let bent = z + (skewness / 6.0 * (z * z - 1.0)).clamp(-0.3 * z.abs(), 0.3 * z.abs());
        let near = (mean + bent * within).max(mean * 1e-3);
        near.min(1.0 - (1.0 - mean) * 1e-3)
    }
}

/// Numbers whose mean is asked for, and their shapes: where these have no weights, equal ones are
/// one, with the sum of their shapes. `low` and `length` are where they begin and how far they reach.
struct Scaled {
    mean: Mean,
    low: f64,
    length: f64,
}

impl Scaled {
    fn of(values: &[f64], weight: Option<&[f64]>, mass: &[f64]) -> Option<Self> {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let length = values.iter().copied().fold(f64::NEG_INFINITY, f64::max) - low;
        if !(length > 0.0 && length.is_finite()) || values.iter().any(|x| x.is_nan()) {
            return None;
        }
        let numbers = values.iter().map(|x| (x - low) / length);
        let mean = if let Some(weight) = weight {
            let x: Vec<_> = numbers.collect();
            Mean::of([&x, weight, mass])
        } else {
            let mut numbers: Vec<_> = numbers.zip(mass.iter().copied()).collect();
            numbers.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            numbers.dedup_by(|next, first| {
                let equal = next.0 <= first.0;
                first.1 += if equal { next.1 } else { 0.0 };
                equal
            });
            let (x, mass): (Vec<_>, Vec<_>) = numbers.into_iter().unzip();
            Mean::of([&x, &vec![1.0; x.len()], &mass])
        };
        Some(Self { mean, low, length })
    }

    fn shares(&mut self, t: f64) -> [f64; 2] {
        self.mean.shares((t - self.low) / self.length).sides
    }

    /// Where these shares are below.
    fn quantiles(&mut self, crew: Crew, shares: &[f64]) -> Vec<f64> {
        let each = crew.watched(shares.iter());
        each.map(|&share| {
            let near = self.mean.near(share);
            let (tail, side) = if share > 0.5 {
                (1.0 - share, 1)
            } else {
                (share, 0)
            };
            self.low + self.length * self.mean.quantile(tail, side, near, false)
        })
        .collect()
    }

    /// The number with this tail on its side, or `near` if the tail is smaller there.
    fn limit(&mut self, tail: f64, side: usize, near: f64) -> f64 {
        let scaled = (near - self.low) / self.length;
        let at = self.mean.quantile(tail, side, scaled, true);
        let same = at.to_bits() == scaled.to_bits();
        if same {
            near
        } else {
            self.low + self.length * at
        }
    }
}

// ---------------------------------------------------------------------------------------- Python

/// Values, their weights, and shapes, as Python hands them over.
fn scaled(
    values: &PyReadonlyArray1<'_, f64>,
    weight: Option<&PyReadonlyArray1<'_, f64>>,
    mass: &PyReadonlyArray1<'_, f64>,
) -> PyResult<Option<Scaled>> {
    let (values, mass) = (contiguous(values), contiguous(mass));
    let weight = weight.map(contiguous);
    same_length("mass", mass.len(), values.len())?;
    if let Some(weight) = &weight {
        same_length("weight", weight.len(), values.len())?;
    }
    Ok(Scaled::of(&values, weight.as_deref(), &mass))
}

/// `dirichlet_quantiles(values, weight, mass, shares)`: below which numbers these shares of Σgwx/Σgw
/// are, of values x with weights w, 1 if None, and Gamma numbers g of the shapes `mass`; NaN if all
/// values are equal.
#[pyfunction]
#[pyo3(signature = (values, weight, mass, shares))]
#[allow(clippy::needless_pass_by_value)]
pub fn dirichlet_quantiles<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    weight: Option<PyReadonlyArray1<'py, f64>>,
    mass: PyReadonlyArray1<'py, f64>,
    shares: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let of = scaled(&values, weight.as_ref(), &mass)?;
    let shares = contiguous(&shares);
    let found = detached(py, [shares.len(), contiguous(&mass).len()], |crew| {
        of.map_or_else(
            || vec![f64::NAN; shares.len()],
            |mut of| of.quantiles(crew, &shares),
        )
    })?;
    Ok(found.into_pyarray(py))
}

/// `dirichlet_tails(values, weight, mass, t)`: the shares of Σgwx/Σgw below and above t, of the same.
#[pyfunction]
#[pyo3(signature = (values, weight, mass, t))]
#[allow(clippy::needless_pass_by_value)]
pub fn dirichlet_tails(
    py: Python<'_>,
    values: PyReadonlyArray1<'_, f64>,
    weight: Option<PyReadonlyArray1<'_, f64>>,
    mass: PyReadonlyArray1<'_, f64>,
    t: f64,
) -> PyResult<(f64, f64)> {
    let of = scaled(&values, weight.as_ref(), &mass)?;
    let [below, above] = at_once(py, || of.map_or([f64::NAN; 2], |mut of| of.shares(t)));
    Ok((below, above))
}

/// `dirichlet_limits(values, weight, mass, tail, low, high)`: the numbers below and above which this
/// tail of the same is, or `low` and `high` where the tail is smaller there; NaN for None.
#[pyfunction]
#[pyo3(signature = (values, weight, mass, tail, low, high))]
#[allow(clippy::needless_pass_by_value)]
pub fn dirichlet_limits(
    py: Python<'_>,
    values: PyReadonlyArray1<'_, f64>,
    weight: Option<PyReadonlyArray1<'_, f64>>,
    mass: PyReadonlyArray1<'_, f64>,
    tail: f64,
    low: Option<f64>,
    high: Option<f64>,
) -> PyResult<(f64, f64)> {
    let of = scaled(&values, weight.as_ref(), &mass)?;
    let [low, high] = at_once(py, || {
        let ends = [low.unwrap_or(f64::NAN), high.unwrap_or(f64::NAN)];
        of.map_or(ends, |mut of| {
            from_fn(|side| {
                if ends[side].is_nan() {
                    ends[side]
                } else {
                    of.limit(tail, side, ends[side])
                }
            })
        })
    });
    Ok((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::tested;

    fn quantiles([x, weight, mass]: [&[f64]; 3], shares: &[f64]) -> Vec<f64> {
        tested(|crew| {
            let mut of = Scaled::of(x, Some(weight), mass).expect("they differ");
            of.quantiles(crew, shares)
        })
    }

    #[test]
    fn of_two_numbers_it_is_the_arc_sine() {
        // Beta(½, ½): the share p is below sin²(πp/2).
        let shares = [0.025, 0.25, 0.5, 0.9];
        let of = [&[0.0, 1.0][..], &[1.0, 1.0], &[0.5, 0.5]];
        let found = quantiles(of, &shares);
        for (share, at) in shares.iter().zip(found) {
            let expected = (std::f64::consts::FRAC_PI_2 * share).sin().powi(2);
            assert!((at - expected).abs() < 1e-9, "{at} for {expected}");
        }
    }

    #[test]
    fn large_products_overflow_nothing() {
        let n = 900;
        let x: Vec<_> = (0..n).map(|i| f64::from(i % 2)).collect();
        let ones = vec![1.0; x.len()];
        let of = [&x[..], &ones, &ones];
        let found = quantiles(of, &[0.5]);
        assert!((found[0] - 0.5).abs() < 1e-9);
    }

    #[test]
    fn sums_of_powers_give_what_the_numbers_give() {
        // Uneven shapes, a long tail and other weights; at the middle and far out.
        for n in [80, 300, 2000] {
            let x: Vec<_> = (0..n)
                .map(|i| (f64::from(i) / f64::from(n)).powi(3))
                .collect();
            let weight: Vec<_> = (0..n).map(|i| 1.0 + f64::from(i % 3)).collect();
            let mass: Vec<_> = (0..n).map(|i| 0.5 + f64::from(i % 5)).collect();
            let heavy: f64 = mass.iter().zip(&weight).map(|(m, w)| m * w).sum();
            let terms = x.iter().zip(&weight).zip(&mass);
            let middle = terms.map(|((x, w), m)| x * w * m).sum::<f64>() / heavy;
            for t in [0.5, 0.8, 0.95, 0.999, 1.001, 1.05, 1.2, 1.5].map(|factor| factor * middle) {
                let mut of = Mean::of([&x, &weight, &mass]);
                let found = of.shares(t).sides;
                let poles = of.apart.iter().fold([0.0, 0.0], |[low, high], &c| {
                    [f64::min(low, c), f64::max(high, c)]
                });
                let Saddle { at, curve } = of.saddle(poles.map(f64::recip));
                let exact = |z: f64| {
                    let terms = mass
                        .iter()
                        .zip(&of.tilted)
                        .map(|(m, c)| [(z * c).hypot(1.0).ln() * m, (-z * c).atan2(1.0) * m]);
                    let sum = terms.fold([0.0, 0.0], |sum, log| [sum[0] + log[0], sum[1] + log[1]]);
                    let size = f64::exp(-sum[0]);
                    [size * sum[1].cos(), -size * sum[1].sin()]
                };
                let away = Complex::of(|k| [0.0, k as f64 / curve.sqrt()]);
                let fall = of.fall(away, Complex([1.0; LANES], [0.0; LANES]), 1.0);
                for lane in 0..LANES {
                    let [real, imaginary] = exact(away.1[lane]);
                    assert!((fall.0[lane] - real).hypot(fall.1[lane] - imaginary) < 1e-11);
                }
                let height = mass.iter().zip(&of.apart);
                let height: f64 = height.map(|(m, c)| -m * (-at * c).ln_1p()).sum();
                assert!((of.height(at) - height).abs() < 1e-10 * height.abs().max(1.0));
                assert!((found[0] + found[1] - 1.0).abs() < 1e-15);
            }
        }
    }
}
