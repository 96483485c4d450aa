//! Values folded by a period, and their correlation with waveforms.

use crate::model::form::Form;
use crate::numbers::count_f64;

/// Widths of boxes, in bins of the fold.
pub(crate) const BOX_BINS: [usize; 11] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48];
/// Boxes up to this width are spikes and dips, searched in values that keep their peaks.
pub(crate) const SPIKE_BINS_MAX: usize = 3;

/// Whitened values summed by phase.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fold {
    /// Sums of innovations whose previous bin is filled.
    pub pairs: Vec<f64>,
    /// Sums of values after a gap, on the same scale.
    pub fresh: Vec<f64>,
    /// Number of innovations whose previous bin is filled.
    pub pair_count: f64,
    /// Number of values after a gap.
    pub fresh_count: f64,
    phi: f64,
    /// The values to correlate forms with, and their prefix sums, over two periods.
    mixed: Vec<f64>,
    prefix: Vec<f64>,
}

/// The best position of a form.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Best {
    /// Log-likelihood gain, assuming innovations of variance 1.
    pub gain: f64,
    /// Bin of the fold that contains phase 0.
    pub bin: usize,
    /// The form.
    pub form: Form,
}

impl Fold {
    /// Resets the fold to `bins` bins, for noise with autocorrelation `phi`.
    pub fn clear(&mut self, bins: usize, phi: f64) {
        for sums in [&mut self.pairs, &mut self.fresh] {
            sums.clear();
            sums.resize(bins, 0.0);
        }
        self.pair_count = 0.0;
        self.fresh_count = 0.0;
        self.phi = phi;
    }

    fn weight_of_fresh(&self) -> f64 {
        (1.0 - self.phi * self.phi).max(0.0).sqrt()
    }

    /// Finishes the fold; call once everything is added. A form's own innovation in a bin is its value
    /// there minus the fraction of its previous value that the noise model predicts.
    pub fn sum_up(&mut self) {
        let (weight, phi) = (self.weight_of_fresh(), self.phi);
        let next = self.pairs.iter().skip(1).chain(self.pairs.first());
        let sums = self.pairs.iter().zip(&self.fresh).zip(next);
        self.mixed.clear();
        self.mixed
            .extend(sums.map(|((pair, fresh), next)| pair + weight * fresh - phi * next));
        self.prefix.clear();
        self.prefix.push(0.0);
        let mut sum = 0.0;
        for &value in self.mixed.iter().chain(&self.mixed) {
            sum += value;
            self.prefix.push(sum);
        }
    }

    /// Returns the best position of a sawtooth of either sign.
    pub fn sawtooth(&self) -> Option<Best> {
        let mut best: Option<Best> = None;
        self.each_sawtooth(|bin, gain| keep(&mut best, gain, bin, Form::Sawtooth));
        best
    }

    /// Returns the gain of a form at each bin of the fold; for a box, with the width of its duty.
    pub fn profile(&self, form: Form) -> Vec<f64> {
        let mut gains = vec![0.0; self.mixed.len()];
        let mut put = |bin: usize, gain: f64| gains[bin] = gain;
        match form {
            Form::Sawtooth => self.each_sawtooth(put),
            Form::Box { duty } => {
                if let Some((sums, norm)) = self.boxes(width_of(duty, self.mixed.len())) {
                    for (bin, sum) in sums.enumerate() {
                        put(bin, gain(sum, norm));
                    }
                }
            }
            Form::Wave => {
                if let Some(best) = self.wave() {
                    put(best.bin, best.gain);
                }
            }
        }
        gains
    }

    fn each_sawtooth(&self, mut tell: impl FnMut(usize, f64)) {
        let bins = self.mixed.len();
        if bins < 3 {
            return;
        }
        let count = count_f64(bins);
        // Sums over a sawtooth of this many bins: its first value, squares, and products of neighbours.
        let first = 0.5 / count - 0.5;
        let squares = (1.0 - 1.0 / (count * count)) / 12.0;
        let products = squares + first / (count * count) - 2.0 * first * first / count;
        let norm = self.norm(squares, products);
        let total = self.prefix[bins];
        // The sum of j times the value j bins after the start, updated bin by bin.
        let mut moment: f64 = (0..bins).map(|j| count_f64(j) * self.mixed[j]).sum();
        for bin in 0..bins {
            tell(bin, gain(moment / count + total * first, norm));
            moment += count * self.mixed[bin] - total;
        }
    }

    /// Returns the best position of a box of any of these widths and either sign.
    pub fn boxed(&self, widths: impl Iterator<Item = usize>) -> Option<Best> {
        let mut best: Option<(f64, usize)> = None;
        for width in widths {
            if let Some((sums, norm)) = self.boxes(width) {
                let gain = gain(largest(sums), norm);
                if best.is_none_or(|best| gain > best.0) {
                    best = Some((gain, width));
                }
            }
        }
        let (gain, width) = best?;
        let top = largest(self.boxes(width)?.0);
        Some(Best {
            gain,
            bin: self.boxes(width)?.0.position(|sum| sum.abs() >= top)?,
            form: Form::Box {
                duty: count_f64(width) / count_f64(self.mixed.len()),
            },
        })
    }

    /// Returns the best of all boxes that share the start or the end of this one.
    pub fn sharing_an_edge(&self, bin: usize, width: usize) -> Option<Best> {
        let bins = self.mixed.len();
        let mut best: Option<Best> = None;
        for wide in 1..=bins / 2 {
            let (norm, level) = self.of_width(wide)?;
            for from in [bin, (bin + bins + width - wide) % bins] {
                let sum = self.prefix[from + wide] - self.prefix[from] - level;
                let duty = count_f64(wide) / count_f64(bins);
                keep(&mut best, gain(sum, norm), from, Form::Box { duty });
            }
        }
        best
    }

    /// Returns the correlation of a box of one width at each bin, and its norm.
    fn boxes(&self, width: usize) -> Option<(impl Iterator<Item = f64> + '_, f64)> {
        let (norm, level) = self.of_width(width)?;
        let bins = self.mixed.len();
        let ends = self.prefix[width..].iter().zip(&self.prefix[..bins]);
        Some((ends.map(move |(until, from)| until - from - level), norm))
    }

    /// Returns the norm of a box of one width, and the correlation of the level with it.
    fn of_width(&self, width: usize) -> Option<(f64, f64)> {
        let bins = self.mixed.len();
        if bins < 3 || width * 2 > bins {
            return None;
        }
        let duty = count_f64(width) / count_f64(bins);
        // The box contains one pair of neighbouring bins fewer than bins.
        let both = count_f64(width - 1) / count_f64(bins);
        let norm = self.norm(duty - duty * duty, both - duty * duty);
        Some((norm, duty * self.prefix[bins]))
    }

    /// Returns the best position of a wave of one harmonic.
    pub fn wave(&self) -> Option<Best> {
        let bins = self.mixed.len();
        if bins < 4 {
            return None;
        }
        let turn = std::f64::consts::TAU / count_f64(bins);
        let (mut cos, mut sin) = (0.0, 0.0);
        // Rotated bin by bin, because sines and cosines are slow.
        let (sin_turn, cos_turn) = turn.sin_cos();
        let (mut s, mut c) = (0.5 * turn).sin_cos();
        for value in &self.mixed {
            cos += value * c;
            sin += value * s;
            (s, c) = (s * cos_turn + c * sin_turn, c * cos_turn - s * sin_turn);
        }
        let weight = self.weight_of_fresh();
        let size = 1.0 + self.phi * self.phi - 2.0 * self.phi * turn.cos();
        let norm = 0.5 * (self.pair_count * size + self.fresh_count * weight * weight);
        if norm <= 0.0 {
            return None;
        }
        let top = sin.atan2(cos) / turn - 0.5;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "within 0 and the number of bins"
        )]
        let bin = top.rem_euclid(count_f64(bins)).round() as usize % bins;
        Some(Best {
            gain: 0.5 * (cos * cos + sin * sin) / norm,
            bin,
            form: Form::Wave,
        })
    }

    /// Returns the norm of a whitened form if all phases are equally frequent, from the means of its
    /// squares and of the products of neighbouring bins.
    fn norm(&self, squares: f64, products: f64) -> f64 {
        let weight = self.weight_of_fresh();
        self.pair_count * ((1.0 + self.phi * self.phi) * squares - 2.0 * self.phi * products)
            + self.fresh_count * weight * weight * squares
    }
}

/// Returns the largest absolute value.
fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(
        0.0,
        |top: f64, value| {
            if value.abs() > top { value.abs() } else { top }
        },
    )
}

/// Returns the width of a box in bins.
pub(crate) fn width_of(duty: f64, bins: usize) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within 1 and half the bins"
    )]
    let width = (duty * count_f64(bins)).round() as usize;
    width.clamp(1, (bins / 2).max(1))
}

fn gain(sum: f64, norm: f64) -> f64 {
    if norm > 0.0 {
        0.5 * sum * sum / norm
    } else {
        0.0
    }
}

fn keep(best: &mut Option<Best>, gain: f64, bin: usize, form: Form) {
    if best.is_none_or(|best| gain > best.gain) {
        *best = Some(Best { gain, bin, form });
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        reason = "small numbers, chosen here"
    )]

    use super::*;

    fn folded(bins: usize, phi: f64, form: Form, at: usize) -> Fold {
        let mut fold = Fold::default();
        fold.clear(bins, phi);
        let value = |j: usize| form.at((((j + bins - at) % bins) as f64 + 0.5) / bins as f64);
        for cycle in 0..20 {
            for j in 0..bins {
                if (cycle * 7 + j) % 11 == 0 {
                    fold.fresh[j] += value(j) * (1.0 - phi * phi).sqrt();
                    fold.fresh_count += 1.0;
                } else {
                    fold.pairs[j] += value(j) - phi * value((j + bins - 1) % bins);
                    fold.pair_count += 1.0;
                }
            }
        }
        fold.sum_up();
        fold
    }

    #[test]
    fn each_form_is_located() {
        for phi in [0.0, 0.4, 0.9] {
            for at in [0, 1, 5, 23] {
                let saw = folded(24, phi, Form::Sawtooth, at)
                    .sawtooth()
                    .expect("bins");
                assert_eq!(saw.bin, at, "phi {phi}");
                let duty = 6.0 / 24.0;
                let fold = folded(24, phi, Form::Box { duty }, at);
                let saw = fold.sawtooth().expect("bins");
                let best = fold.boxed(BOX_BINS.into_iter()).expect("widths");
                assert_eq!((best.bin, best.form), (at, Form::Box { duty }), "phi {phi}");
                assert!(best.gain > saw.gain);
                let fold = folded(24, phi, Form::Wave, at);
                let wave = fold.wave().expect("bins");
                let apart = (wave.bin + 24 - at) % 24;
                assert!(apart <= 1 || apart == 23, "{} {at}", wave.bin);
            }
        }
    }

    #[test]
    fn sawtooth_reset_is_located() {
        let duty = 0.1;
        for (form, way) in [(Form::Box { duty }, 1.0), (Form::Sawtooth, -1.0)] {
            for size in [3.0, -2.0] {
                let step = size * (form.at(0.0) - form.at(0.999));
                assert!(step * form.jump(size) > 0.0, "{form:?} {size}");
                assert!((form.jump(size) - way * f64::signum(size)).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn box_is_found_from_one_edge() {
        let duty = 11.0 / 24.0;
        let fold = folded(24, 0.9, Form::Box { duty }, 20);
        for (bin, width) in [(20, 2), (5, 2)] {
            let best = fold.sharing_an_edge(bin, width).expect("boxes");
            assert_eq!((best.bin, best.form), (20, Form::Box { duty }), "{bin}");
            assert!((best.gain - fold.profile(best.form)[20]).abs() < 1e-9);
        }
    }

    #[test]
    fn gain_is_half_the_explained_sum_of_squares() {
        let fold = folded(24, 0.0, Form::Sawtooth, 3);
        let squares: f64 = 20.0
            * (0..24)
                .map(|j| Form::Sawtooth.at((f64::from(j) + 0.5) / 24.0).powi(2))
                .sum::<f64>();
        let best = fold.sawtooth().expect("bins");
        assert!(
            (best.gain / (0.5 * squares) - 1.0).abs() < 0.02,
            "{} {squares}",
            best.gain
        );
    }
}
