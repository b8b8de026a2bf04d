//! Quantiles of Σgwx/Σgw, of numbers x from 0 to 1 with weights w, where the g are independent Gamma
//! numbers: the weighted mean under Dirichlet counts.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::parallel::{Crew, detached};
use crate::scores::{contiguous, same_length};

/// Nodes of the integral: their distance, how many there are between two looks at what they add, and
/// at most.
const STEP: f64 = 1.0 / 8.0;
const BLOCK: usize = 12;
const MOST: usize = 360;
/// A product is put on a scale of its own where its parts exceed this.
const LARGE: f64 = 1e100;
/// Whole shapes up to this are powers by multiplication, of many numbers and factors below this.
const MULTIPLIED: u32 = 16;
const MODERATE: f64 = 1e6;

/// A complex number.
#[derive(Clone, Copy)]
struct Complex(f64, f64);

impl Complex {
    fn times(self, by: Self) -> Self {
        Self(self.0 * by.0 - self.1 * by.1, self.0 * by.1 + self.1 * by.0)
    }

    fn over(self, by: Self) -> Self {
        let size = by.0 * by.0 + by.1 * by.1;
        let turned = self.times(Self(by.0, -by.1));
        Self(turned.0 / size, turned.1 / size)
    }

    /// 1 − self·by.
    fn without(self, by: f64) -> Self {
        Self(1.0 - self.0 * by, -self.1 * by)
    }
}

/// Powers whose sums make the integrand, and from how many numbers on they are quicker than the
/// numbers.
const POWERS: usize = 32;
const MANY: usize = 64;
/// Sums are of so many numbers side by side.
const LANES: usize = 8;
/// What may be left out of a sum of powers, of the integral.
const NEGLIGIBLE: f64 = 1e-17;
/// Numbers are in sums of powers if they are at most this, over K″'s root at the saddle point: eight
/// times so far away from it, where hardly anything is left of the integrand, z·c is ½.
const NEAR: f64 = 0.0625;

/// The numbers x, their weights w, and the shapes of their g; with room for w(x − t), that over what
/// it is at the saddle point, and the sums of powers of the latter.
struct Mean<'a> {
    x: &'a [f64],
    weight: &'a [f64],
    mass: &'a [f64],
    apart: Vec<f64>,
    tilted: Vec<f64>,
    powers: Option<Powers>,
}

/// The saddle point, and K″ there.
struct Saddle {
    at: f64,
    curve: f64,
}

/// Σa·c^k of numbers c with shapes a, for k from 1 to [`POWERS`], and the largest |c|; and with their
/// shapes the numbers that are too far out for that, which few are.
///
/// As −Σa·log(1 − zc) = Σₖ(Σa·c^k)·z^k/k, a node of the integral takes as many steps as there are
/// powers, however many numbers there are. Many numbers make z small, and the sum short.
struct Powers {
    sums: [f64; POWERS],
    largest: f64,
    far: Vec<[f64; 2]>,
}

impl Powers {
    fn of(mass: &[f64], numbers: &[f64], reach: f64) -> Self {
        let of = || mass.iter().copied().zip(numbers.iter().copied());
        let far = of().filter(|(_, c)| c.abs() > reach);
        let far: Vec<_> = far.map(|(mass, c)| [mass, c]).collect();
        let sums = if far.is_empty() {
            Self::added(mass, numbers)
        } else {
            let near = of().filter(|(_, c)| c.abs() <= reach);
            let (mass, numbers): (Vec<_>, Vec<_>) = near.unzip();
            Self::added(&mass, &numbers)
        };
        let near = numbers.iter().map(|c| c.abs()).filter(|&c| c <= reach);
        Self {
            sums,
            largest: near.fold(0.0, f64::max),
            far,
        }
    }

    fn added(mass: &[f64], numbers: &[f64]) -> [f64; POWERS] {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx2")]
            fn wide(mass: &[f64], numbers: &[f64]) -> [f64; POWERS] {
                Powers::summed(mass, numbers)
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the machine has what the function asks for.
                return unsafe { wide(mass, numbers) };
            }
        }
        Self::summed(mass, numbers)
    }

    #[inline(always)] // so that it is compiled for wide vectors too
    #[allow(clippy::inline_always)]
    fn summed(mass: &[f64], numbers: &[f64]) -> [f64; POWERS] {
        let mut lanes = [[0.0; LANES]; POWERS];
        for (mass, numbers) in mass.chunks(LANES).zip(numbers.chunks(LANES)) {
            let (mut number, mut power) = ([0.0; LANES], [0.0; LANES]);
            number[..numbers.len()].copy_from_slice(numbers);
            power[..mass.len()].copy_from_slice(mass);
            for sum in &mut lanes {
                for lane in 0..LANES {
                    power[lane] *= number[lane];
                    sum[lane] += power[lane];
                }
            }
        }
        lanes.map(|lanes| lanes.iter().sum())
    }

    /// −Σa·log(1 − zc) of the numbers that are not far out, and how much it may lack.
    fn log(&self, z: Complex) -> (Complex, f64) {
        let mut sum = Complex(0.0, 0.0);
        for (k, power) in self.sums.iter().enumerate().rev() {
            sum = Complex(sum.0 + power / (k + 1) as f64, sum.1).times(z);
        }
        let size = z.0.hypot(z.1);
        let ratio = size * self.largest;
        let lacking = if ratio < 0.95 {
            // The last power is even, so that nothing cancels in its sum.
            self.sums[POWERS - 1] * size.powi(const { POWERS.cast_signed() as i32 }) * ratio
                / ((1.0 - ratio) * (POWERS + 1) as f64)
        } else {
            f64::INFINITY
        };
        (sum, lacking)
    }
}

/// Π(1 − zc)^−a of numbers c with shapes a, by multiplication for whole a up to `multiplied`.
fn product(numbers: impl Iterator<Item = [f64; 2]>, z: Complex, multiplied: u32) -> Complex {
    let (mut product, mut log) = (Complex(1.0, 0.0), Complex(0.0, 0.0));
    for [mass, number] in numbers {
        let mut factor = z.without(number);
        let mut times = mass as u32;
        let whole = times > 0 && (f64::from(times) - mass).abs() <= 0.0;
        let moderate = times == 1 || f64::max(factor.0.abs(), factor.1.abs()) < MODERATE;
        if !whole || times > multiplied || !moderate {
            log.0 += mass * factor.0.hypot(factor.1).ln();
            log.1 += mass * factor.1.atan2(factor.0);
            continue;
        }
        while times > 1 {
            if times % 2 == 1 {
                product = product.times(factor);
            }
            factor = factor.times(factor);
            times /= 2;
        }
        product = product.times(factor);
        let size = product.0.abs().max(product.1.abs());
        if size > LARGE {
            log.0 += size.ln();
            product = Complex(product.0 / size, product.1 / size);
        }
    }
    let size = (-log.0).exp();
    let turned = Complex(size * log.1.cos(), -size * log.1.sin());
    turned.over(product)
}

impl<'a> Mean<'a> {
    fn of([x, weight, mass]: [&'a [f64]; 3]) -> Self {
        Self {
            x,
            weight,
            mass,
            apart: vec![0.0; x.len()],
            tilted: vec![0.0; x.len()],
            powers: None,
        }
    }

    /// The sum of a value per number, each times its shape.
    fn sum(&self, values: &[f64], of: impl Fn(f64) -> f64) -> f64 {
        if values.len() < MANY {
            let terms = self.mass.iter().zip(values);
            return terms.map(|(mass, &value)| mass * of(value)).sum();
        }
        let mut lanes = [0.0; LANES];
        for (mass, values) in self.mass.chunks(LANES).zip(values.chunks(LANES)) {
            for ((lane, mass), &value) in lanes.iter_mut().zip(mass).zip(values) {
                *lane += mass * of(value);
            }
        }
        lanes.iter().sum()
    }

    fn tilt(&mut self, at: f64) {
        for (tilted, apart) in self.tilted.iter_mut().zip(&self.apart) {
            *tilted = apart / (1.0 - at * apart);
        }
    }

    /// The shares below and above t.
    ///
    /// The mean is below t where Q = Σgw(x − t) is below 0. With K(s) = −Σa·log(1 − sw(x − t)), a
    /// being the shapes of the g, P(Q > 0) is ∫exp(K(s))/s ds/2πi along any upright line to the right
    /// of 0 on which K is defined, and to the left of it −P(Q < 0). On a line through the saddle point
    /// of K, bent by its skewness there, hardly anything oscillates (Daniels 1987), and the
    /// trapezoidal rule gives all digits.
    fn shares(&mut self, t: f64) -> [f64; 2] {
        for ((apart, x), weight) in self.apart.iter_mut().zip(self.x).zip(self.weight) {
            *apart = weight * (x - t);
        }
        if self.apart.iter().all(|&c| c >= 0.0) {
            return [0.0, 1.0];
        }
        if self.apart.iter().all(|&c| c <= 0.0) {
            return [1.0, 0.0];
        }
        let Saddle { at, curve } = self.saddle();
        let many = self.x.len() >= MANY;
        let width = 1.0 / curve.sqrt();
        self.powers = many.then(|| Powers::of(self.mass, &self.tilted, NEAR / width));
        let bend = 2.0 / 3.0 * self.sum(&self.tilted, |c| c * c * c) * width.powi(3);
        let mut total = 0.0;
        for block in 0..MOST / BLOCK {
            let mut last = 0.0;
            for node in block * BLOCK..(block + 1) * BLOCK {
                let v = STEP * node as f64;
                let (sinh, cosh) = (v.sinh(), v.cosh());
                let away = Complex(width * bend * (cosh - 1.0), width * sinh);
                let slope = Complex(width * bend * sinh, width * cosh);
                let on = Complex(at + away.0, away.1);
                let along = slope.over(on);
                last = along.times(self.fall(away, along, total)).1;
                last *= if node == 0 { 0.5 } else { 1.0 };
                total += last;
            }
            if last.abs() <= 1e-17 * f64::abs(total) {
                break;
            }
        }
        let tail = (self.height(at).exp() * total * STEP / std::f64::consts::PI).abs();
        let tail = tail.min(1.0);
        if at > 0.0 {
            [1.0 - tail, tail]
        } else {
            [tail, 1.0 - tail]
        }
    }

    /// K at the saddle point.
    fn height(&self, at: f64) -> f64 {
        if let Some(powers) = &self.powers {
            let (log, lacking) = powers.log(Complex(-at, 0.0));
            if lacking <= NEGLIGIBLE {
                let far = powers.far.iter().map(|[mass, c]| mass * (at * c).ln_1p());
                return far.sum::<f64>() - log.0;
            }
        }
        -self.sum(&self.apart, |c| (-at * c).ln_1p())
    }

    /// exp(K) so far away from the saddle point, over what it is there; as exact as it has to be, to
    /// be added to the `total` times what is `along` the line.
    fn fall(&self, away: Complex, along: Complex, total: f64) -> Complex {
        if let Some(powers) = &self.powers {
            let (log, lacking) = powers.log(away);
            let size = log.0.exp();
            let near = Complex(size * log.1.cos(), size * log.1.sin());
            let fall = near.times(product(powers.far.iter().copied(), away, MULTIPLIED));
            let first = f64::from(u8::from(total == 0.0));
            let rest = lacking * fall.0.hypot(fall.1) * along.0.hypot(along.1);
            if rest <= NEGLIGIBLE * (total.abs() + first) {
                return fall;
            }
        }
        let multiplied = if self.powers.is_some() { MULTIPLIED } else { 1 };
        let of = self.mass.iter().zip(&self.tilted);
        product(of.map(|(&mass, &c)| [mass, c]), away, multiplied)
    }

    /// Where K′(s) = Σa·c/(1 − sc) is 0, or near it; `tilted` becomes c/(1 − sc) there.
    fn saddle(&mut self) -> Saddle {
        let ends = self.apart.iter().fold([0.0, 0.0], |[low, high], &c| {
            [f64::min(low, c), f64::max(high, c)]
        });
        let [mut low, mut high] = ends.map(f64::recip);
        let least = 0.5 / self.sum(&self.apart, |c| c * c).sqrt();
        let least = if self.sum(&self.apart, |c| c) > 0.0 {
            -least
        } else {
            least
        };
        let mut at = 0.0;
        for _ in 0..60 {
            self.tilt(at);
            let slope = self.sum(&self.tilted, |c| c);
            let curve = self.sum(&self.tilted, |c| c * c);
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
        self.tilt(at);
        let curve = self.sum(&self.tilted, |c| c * c);
        Saddle { at, curve }
    }

    /// Where a share is below: by the secant of its logit, which is nearly straight, from a mean and
    /// a standard deviation.
    fn quantile(&mut self, share: f64, mean: f64, within: f64) -> f64 {
        let logit = |share: f64| (share / (1.0 - share)).ln();
        let z = logit(share);
        let (mut low, mut high) = (0.0, 1.0);
        let near = (mean + z * within / 1.8).max(mean * 1e-3);
        let mut at = near.min(1.0 - (1.0 - mean) * 1e-3);
        let (mut last, mut slope) = ((at, z), 1.8 / within);
        for _ in 0..80 {
            let [below, _] = self.shares(at);
            let score = logit(below);
            let secant = (score - last.1) / (at - last.0);
            if secant.is_finite() && secant > 0.0 {
                slope = secant;
            }
            let new = at - (score - z) / slope;
            if below < share {
                low = at;
            }
            if below > share {
                high = at;
            }
            if (score - z).abs() <= 1e-11 || high - low <= 1e-15 {
                break;
            }
            last = (at, score);
            at = if low < new && new < high {
                new
            } else {
                f64::midpoint(low, high)
            };
        }
        at
    }
}

/// The quantiles, by mean and standard deviation of what they are of.
pub fn quantiles(
    crew: Crew,
    numbers: [&[f64]; 3],
    shares: &[f64],
    (mean, within): (f64, f64),
) -> Vec<f64> {
    let mut of = Mean::of(numbers);
    let each = crew.watched(shares.iter());
    each.map(|&share| of.quantile(share, mean, within))
        .collect()
}

// ---------------------------------------------------------------------------------------- Python

/// `dirichlet_quantiles(x, weight, mass, shares, mean, within)`: where these shares of Σgwx/Σgw are
/// below, of numbers x from 0 to 1 with weights w and Gamma numbers g of the shapes `mass`; its mean
/// and standard deviation say where to begin.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn dirichlet_quantiles<'py>(
    py: Python<'py>,
    x: PyReadonlyArray1<'py, f64>,
    weight: PyReadonlyArray1<'py, f64>,
    mass: PyReadonlyArray1<'py, f64>,
    shares: PyReadonlyArray1<'py, f64>,
    mean: f64,
    within: f64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let of = [contiguous(&x), contiguous(&weight), contiguous(&mass)];
    same_length("weight", of[1].len(), of[0].len())?;
    same_length("mass", of[2].len(), of[0].len())?;
    let shares = contiguous(&shares);
    let found = detached(py, [shares.len(), of[0].len()], |crew| {
        quantiles(crew, [&of[0], &of[1], &of[2]], &shares, (mean, within))
    })?;
    Ok(found.into_pyarray(py))
}

/// `dirichlet_tails(x, weight, mass, t)`: the shares of Σgwx/Σgw below and above t, of the same.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn dirichlet_tails(
    py: Python<'_>,
    x: PyReadonlyArray1<'_, f64>,
    weight: PyReadonlyArray1<'_, f64>,
    mass: PyReadonlyArray1<'_, f64>,
    t: f64,
) -> PyResult<(f64, f64)> {
    let of = [contiguous(&x), contiguous(&weight), contiguous(&mass)];
    same_length("weight", of[1].len(), of[0].len())?;
    same_length("mass", of[2].len(), of[0].len())?;
    let [below, above] = detached(py, [of[0].len()], |_| {
        Mean::of([&of[0], &of[1], &of[2]]).shares(t)
    })?;
    Ok((below, above))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::tested;

    #[test]
    fn of_two_numbers_it_is_the_arc_sine() {
        // Beta(½, ½): the share p is below sin²(πp/2).
        let shares = [0.025, 0.25, 0.5, 0.9];
        let deviation = (0.25_f64 / 2.0).sqrt();
        let of = [&[0.0, 1.0][..], &[1.0, 1.0], &[0.5, 0.5]];
        let found = tested(|crew| quantiles(crew, of, &shares, (0.5, deviation)));
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
        let found = tested(|crew| quantiles(crew, of, &[0.5], (0.5, 0.5 / 30.0)));
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
                let found = of.shares(t);
                let Saddle { at, curve } = of.saddle();
                let exact = |z: Complex| {
                    let terms = mass.iter().zip(&of.tilted).map(|(m, c)| {
                        let factor = z.without(*c);
                        [
                            factor.0.hypot(factor.1).ln() * m,
                            factor.1.atan2(factor.0) * m,
                        ]
                    });
                    let sum = terms.fold([0.0, 0.0], |sum, log| [sum[0] + log[0], sum[1] + log[1]]);
                    let size = f64::exp(-sum[0]);
                    Complex(size * sum[1].cos(), -size * sum[1].sin())
                };
                for steps in 0..9 {
                    let away = Complex(0.0, f64::from(steps) / curve.sqrt());
                    let (fall, exact) = (of.fall(away, Complex(1.0, 0.0), 1.0), exact(away));
                    assert!((fall.0 - exact.0).hypot(fall.1 - exact.1) < 1e-11);
                }
                let height = mass.iter().zip(&of.apart);
                let height: f64 = height.map(|(m, c)| -m * (-at * c).ln_1p()).sum();
                assert!((of.height(at) - height).abs() < 1e-10 * height.abs().max(1.0));
                assert!((found[0] + found[1] - 1.0).abs() < 1e-15);
            }
        }
    }
}
