//! Values folded by a period, and their correlation with waveforms.

use crate::model::form::Form;
use crate::numbers::{as_count, count_f64};
use crate::statistics::prefix_sums;

/// Widths of boxes, in bins of the fold.
pub(crate) const BOX_BINS: [usize; 11] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48];
/// Boxes up to this width are spikes and dips, searched in values that keep their peaks.
pub(crate) const SPIKE_BINS_MAX: usize = 3;

/// How many values there are to correlate forms with, and their autocorrelation: what the norm of a form depends on.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Counts {
    /// Number of innovations whose previous bin is filled.
    pub pairs: usize,
    /// Number of values after a gap.
    pub fresh: usize,
    /// Autocorrelation at a lag of one bin.
    pub phi: f64,
}

impl Counts {
    /// Returns the weight of a form's value in a bin after a gap.
    pub fn weight_of_fresh(self) -> f64 {
        (1.0 - self.phi * self.phi).max(0.0).sqrt()
    }

    /// Replaces each innovation by what it tells of a form's value in its bin: a form's own innovation is its value minus the
    /// fraction of its previous value that the noise model predicts, so the next one tells of it as well. `follows` says whether
    /// the bin before one is filled.
    pub fn tell(self, white: &mut [f64], follows: impl Fn(usize) -> bool) {
        let weight = self.weight_of_fresh();
        for i in 0..white.len() {
            if !follows(i) {
                white[i] *= weight;
            }
            if i + 1 < white.len() && follows(i + 1) {
                white[i] -= self.phi * white[i + 1];
            }
        }
    }
}

/// Whitened values summed by phase.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fold {
    /// Sums of what the values of each bin tell of a form ([`Counts::tell`]).
    pub sums: Vec<f64>,
    /// Their prefix sums over two periods.
    prefix: Vec<f64>,
    counts: Counts,
    /// Cosines and sines at the middle of each bin.
    turns: [Vec<f64>; 2],
    /// The numbers of the bins.
    numbers: Vec<f64>,
}

/// The correlation of a form with the values, at each bin: a sum until there, minus one from there or as much as `from` says at
/// this `slope`, minus that of the level.
struct Along<'a> {
    until: &'a [f64],
    from: &'a [f64],
    slope: f64,
    level: f64,
    /// The norm of the form.
    norm: f64,
}

impl Along<'_> {
    fn sums(&self) -> impl Iterator<Item = f64> + '_ {
        let both = self.until.iter().zip(self.from);
        both.map(|(until, from)| until - self.slope * from - self.level)
    }

    /// Returns the gain of the form at its best position.
    fn gain(&self) -> f64 {
        // In so many lanes, which need not wait for each other.
        const LANES: usize = 8;
        let (until, until_rest) = self.until.as_chunks::<LANES>();
        let (from, from_rest) = self.from.as_chunks::<LANES>();
        let larger = |top: f64, until: f64, from: f64| {
            let sum = (until - self.slope * from - self.level).abs();
            if sum > top { sum } else { top }
        };
        let mut tops = [0.0; LANES];
        for (until, from) in until.iter().zip(from) {
            for lane in 0..LANES {
                tops[lane] = larger(tops[lane], until[lane], from[lane]);
            }
        }
        let mut top = 0.0;
        for (until, from) in until_rest.iter().zip(from_rest) {
            top = larger(top, *until, *from);
        }
        gain(tops.into_iter().fold(top, f64::max), self.norm)
    }

    /// Returns the best position.
    fn best(&self, form: Form) -> Option<Best> {
        let mut best: Option<(usize, f64)> = None;
        for (bin, sum) in self.sums().enumerate() {
            if best.is_none_or(|(_, most)| sum.abs() > most) {
                best = Some((bin, sum.abs()));
            }
        }
        best.map(|(bin, sum)| Best {
            gain: gain(sum, self.norm),
            bin,
            form,
        })
    }
}

/// The sum of the products of two lists that are equally long.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 4;
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest = a_rest.iter().zip(b_rest).map(|(a, b)| a * b);
    sums.iter().sum::<f64>() + rest.sum::<f64>()
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
    /// Resets the fold to `bins` bins.
    pub fn clear(&mut self, bins: usize, counts: Counts) {
        self.sums.clear();
        self.sums.resize(bins, 0.0);
        self.counts = counts;
    }

    /// Finishes the fold; call once everything is added.
    pub fn sum_up(&mut self) {
        prefix_sums(&self.sums, &mut self.prefix);
        let total = self.prefix[self.sums.len()];
        self.prefix.extend_from_within(1..);
        for value in &mut self.prefix[self.sums.len() + 1..] {
            *value += total;
        }
    }

    /// Returns the best position of a sawtooth of either sign.
    pub fn sawtooth(&mut self) -> Option<Best> {
        self.sawteeth()?.best(Form::Sawtooth)
    }

    /// Returns the gain of a sawtooth at its best position.
    pub fn sawtooth_gain(&mut self) -> Option<f64> {
        Some(self.sawteeth()?.gain())
    }

    /// Returns the gain of a form at each bin of the fold; for a box, with the width of its duty.
    pub fn profile(&mut self, form: Form) -> Vec<f64> {
        let bins = self.sums.len();
        let along = match form {
            Form::Sawtooth => self.sawteeth(),
            Form::Box { duty } => self.boxes(width_of(duty, bins)),
            Form::Wave => {
                let mut gains = vec![0.0; bins];
                if let Some(best) = self.wave() {
                    gains[best.bin] = best.gain;
                }
                return gains;
            }
        };
        match along {
            Some(along) => (along.sums()).map(|sum| gain(sum, along.norm)).collect(),
            None => vec![0.0; bins],
        }
    }

    fn sawteeth(&mut self) -> Option<Along<'_>> {
        let bins = self.sums.len();
        if bins < 3 {
            return None;
        }
        let count = count_f64(bins);
        self.numbers
            .extend((self.numbers.len()..bins).map(count_f64));
        let numbers = &self.numbers[..bins];
        // Sums over a sawtooth of this many bins: its first value, squares, and products of neighbours.
        let first = 0.5 / count - 0.5;
        let squares = (1.0 - 1.0 / (count * count)) / 12.0;
        let products = squares + first / (count * count) - 2.0 * first * first / count;
        // The sum of j times the value j bins after the start: from one bin to the next, the value at the start becomes the last
        // one, and all others count once less.
        let (total, moment) = (self.prefix[bins], dot(numbers, &self.sums));
        Some(Along {
            until: &self.prefix[..bins],
            from: numbers,
            slope: total / count,
            level: -(moment / count + total * first),
            norm: self.norm(squares, products),
        })
    }

    /// Returns the best position of a box of any of these widths and either sign.
    pub fn boxed(&self, widths: impl Iterator<Item = usize>) -> Option<Best> {
        let (_, width) = self.best_width(widths)?;
        let duty = count_f64(width) / count_f64(self.sums.len());
        self.boxes(width)?.best(Form::Box { duty })
    }

    /// Returns the gain of the best box of any of these widths, and its width.
    pub fn best_width(&self, widths: impl Iterator<Item = usize>) -> Option<(f64, usize)> {
        let gains = widths.filter_map(|width| Some((self.boxes(width)?.gain(), width)));
        gains.reduce(|best, next| if next.0 > best.0 { next } else { best })
    }

    /// Returns the best of all boxes that share the start or the end of this one.
    pub fn sharing_an_edge(&self, bin: usize, width: usize) -> Option<Best> {
        let bins = self.sums.len();
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

    fn boxes(&self, width: usize) -> Option<Along<'_>> {
        let (norm, level) = self.of_width(width)?;
        let bins = self.sums.len();
        Some(Along {
            until: &self.prefix[width..width + bins],
            from: &self.prefix[..bins],
            slope: 1.0,
            level,
            norm,
        })
    }

    /// Returns the norm of a box of one width, and the correlation of the level with it.
    fn of_width(&self, width: usize) -> Option<(f64, f64)> {
        let bins = self.sums.len();
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
    pub fn wave(&mut self) -> Option<Best> {
        let ((cos, sin), norm) = self.harmonic()?;
        let bins = self.sums.len();
        let turn = std::f64::consts::TAU / count_f64(bins);
        let top = sin.atan2(cos) / turn - 0.5;
        let bin = as_count(top.rem_euclid(count_f64(bins))) % bins;
        Some(Best {
            gain: 0.5 * (cos * cos + sin * sin) / norm,
            bin,
            form: Form::Wave,
        })
    }

    /// Returns the gain of a wave of one harmonic.
    pub fn wave_gain(&mut self) -> Option<f64> {
        let ((cos, sin), norm) = self.harmonic()?;
        Some(0.5 * (cos * cos + sin * sin) / norm)
    }

    /// Returns the correlations with a cosine and a sine, and their norm.
    fn harmonic(&mut self) -> Option<((f64, f64), f64)> {
        let bins = self.sums.len();
        if bins < 4 {
            return None;
        }
        let turn = std::f64::consts::TAU / count_f64(bins);
        if self.turns[0].len() != bins {
            // Rotated bin by bin, because sines and cosines are slow.
            let (sin_turn, cos_turn) = turn.sin_cos();
            let (mut s, mut c) = (0.5 * turn).sin_cos();
            let [cosines, sines] = &mut self.turns;
            cosines.clear();
            sines.clear();
            for _ in 0..bins {
                cosines.push(c);
                sines.push(s);
                (s, c) = (s * cos_turn + c * sin_turn, c * cos_turn - s * sin_turn);
            }
        }
        let [cos, sin] = (self.turns.each_ref()).map(|turns| dot(turns, &self.sums));
        let Counts { pairs, fresh, phi } = self.counts;
        let size = 1.0 + phi * phi - 2.0 * phi * turn.cos();
        let weight = self.counts.weight_of_fresh();
        let norm = 0.5 * (count_f64(pairs) * size + count_f64(fresh) * weight * weight);
        (norm > 0.0).then_some(((cos, sin), norm))
    }

    /// Returns the norm of a whitened form if all phases are equally frequent, from the means of its
    /// squares and of the products of neighbouring bins.
    fn norm(&self, squares: f64, products: f64) -> f64 {
        let Counts { pairs, fresh, phi } = self.counts;
        let weight = self.counts.weight_of_fresh();
        count_f64(pairs) * ((1.0 + phi * phi) * squares - 2.0 * phi * products)
            + count_f64(fresh) * weight * weight * squares
    }
}

/// Returns the width of a box in bins.
pub(crate) fn width_of(duty: f64, bins: usize) -> usize {
    as_count(duty * count_f64(bins)).clamp(1, (bins / 2).max(1))
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
        let value = |j: usize| form.at((((j + bins - at) % bins) as f64 + 0.5) / bins as f64);
        let follows = |i: usize| !(i / bins * 7 + i % bins).is_multiple_of(11);
        let mut white: Vec<f64> = (0..20 * bins)
            .map(|i| match (value(i % bins), follows(i)) {
                (now, true) => now - phi * value((i + bins - 1) % bins),
                (now, false) => now * (1.0 - phi * phi).sqrt(),
            })
            .collect();
        let pairs = (0..white.len()).filter(|&i| follows(i)).count();
        let counts = Counts {
            pairs,
            fresh: white.len() - pairs,
            phi,
        };
        counts.tell(&mut white, follows);
        let mut fold = Fold::default();
        fold.clear(bins, counts);
        for (i, value) in white.into_iter().enumerate() {
            fold.sums[i % bins] += value;
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
                let mut fold = folded(24, phi, Form::Box { duty }, at);
                let saw = fold.sawtooth().expect("bins");
                let best = fold.boxed(BOX_BINS.into_iter()).expect("widths");
                assert_eq!((best.bin, best.form), (at, Form::Box { duty }), "phi {phi}");
                assert!(best.gain > saw.gain);
                let mut fold = folded(24, phi, Form::Wave, at);
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
        let mut fold = folded(24, 0.9, Form::Box { duty }, 20);
        for (bin, width) in [(20, 2), (5, 2)] {
            let best = fold.sharing_an_edge(bin, width).expect("boxes");
            assert_eq!((best.bin, best.form), (20, Form::Box { duty }), "{bin}");
            assert!((best.gain - fold.profile(best.form)[20]).abs() < 1e-9);
        }
    }

    #[test]
    fn gain_is_half_the_explained_sum_of_squares() {
        let mut fold = folded(24, 0.0, Form::Sawtooth, 3);
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
