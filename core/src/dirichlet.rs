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

/// The numbers x, their weights w, and the shapes of their g; with room for w(x − t), and that over
/// what it is at the saddle point.
struct Mean<'a> {
    x: &'a [f64],
    weight: &'a [f64],
    mass: &'a [f64],
    apart: Vec<f64>,
    tilted: Vec<f64>,
}

/// The saddle point, and K″ there.
struct Saddle {
    at: f64,
    curve: f64,
}

impl Mean<'_> {
    /// The sum of a value per number, each times its shape.
    fn sum(&self, values: &[f64], of: impl Fn(f64) -> f64) -> f64 {
        let terms = self.mass.iter().zip(values);
        terms.map(|(mass, &value)| mass * of(value)).sum()
    }

    fn tilt(&mut self, at: f64) {
        for (tilted, apart) in self.tilted.iter_mut().zip(&self.apart) {
            *tilted = apart / (1.0 - at * apart);
        }
    }

    /// The share below t.
    ///
    /// The mean is below t where Q = Σgw(x − t) is below 0. With K(s) = −Σa·log(1 − sw(x − t)), a
    /// being the shapes of the g, P(Q > 0) is ∫exp(K(s))/s ds/2πi along any upright line to the right
    /// of 0 on which K is defined, and to the left of it −P(Q < 0). On a line through the saddle point
    /// of K, bent by its skewness there, hardly anything oscillates (Daniels 1987), and the
    /// trapezoidal rule gives all digits.
    fn below(&mut self, t: f64) -> f64 {
        for ((apart, x), weight) in self.apart.iter_mut().zip(self.x).zip(self.weight) {
            *apart = weight * (x - t);
        }
        let Saddle { at, curve } = self.saddle();
        let width = 1.0 / curve.sqrt();
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
                last = slope.over(on).times(self.fall(away)).1 * if node == 0 { 0.5 } else { 1.0 };
                total += last;
            }
            if last.abs() <= 1e-17 * f64::abs(total) {
                break;
            }
        }
        let height = (-self.sum(&self.apart, |c| (-at * c).ln_1p())).exp();
        let tail = height * total * STEP / std::f64::consts::PI;
        if at > 0.0 { 1.0 - tail } else { -tail }
    }

    /// exp(K) so far away from the saddle point, over what it is there.
    fn fall(&self, away: Complex) -> Complex {
        let (mut product, mut log) = (Complex(1.0, 0.0), Complex(0.0, 0.0));
        for (&mass, &tilted) in self.mass.iter().zip(&self.tilted) {
            let factor = away.without(tilted);
            if (mass - 1.0).abs() > 0.0 {
                log.0 += mass * factor.0.hypot(factor.1).ln();
                log.1 += mass * factor.1.atan2(factor.0);
                continue;
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
            let below = self.below(at);
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
    [x, weight, mass]: [&[f64]; 3],
    shares: &[f64],
    (mean, within): (f64, f64),
) -> Vec<f64> {
    let (apart, tilted) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    let mut of = Mean {
        x,
        weight,
        mass,
        apart,
        tilted,
    };
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
}
