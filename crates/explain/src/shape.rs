//! What a pattern may look like over one period, and how it correlates with folded noise.

use crate::numbers::count_f64;
use crate::verdict::Shape;

/// Widths of a box, in bins of the fold.
pub(crate) const BOX_BINS: [usize; 11] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48];
/// Boxes up to this width are spikes and dips, and looked for in values that keep their peaks.
pub(crate) const SPIKE_BINS_MAX: usize = 3;

/// A form over one period, of mean 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Form {
    /// Rises from -1/2 to 1/2, and falls back at once at phase 0.
    Sawtooth,
    /// 1 from phase 0 on for a part of the period, 0 after.
    Box {
        /// That part, 0 to 1.
        duty: f64,
    },
    /// A sum of harmonics: of a sine and a cosine each.
    Wave,
}

impl Form {
    /// The value at a phase of 0 to 1.
    pub fn at(self, phase: f64) -> f64 {
        match self {
            Self::Sawtooth => phase - 0.5,
            Self::Box { duty } => f64::from(phase < duty) - duty,
            Self::Wave => (std::f64::consts::TAU * phase).cos(),
        }
    }

    /// The part of the period that it takes, 0 to 1.
    pub fn duty(self) -> f64 {
        match self {
            Self::Box { duty } => duty,
            Self::Sawtooth | Self::Wave => 1.0,
        }
    }

    /// What people call it, with the sign that it was found with.
    pub fn shape(self, amplitude: f64) -> Shape {
        match self {
            Self::Sawtooth => Shape::Sawtooth,
            Self::Wave => Shape::Wave,
            Self::Box { duty } if duty > 0.2 => Shape::Step,
            Self::Box { .. } if amplitude < 0.0 => Shape::Dip,
            Self::Box { .. } => Shape::Spike,
        }
    }
}

/// Whitened values added up by phase.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fold {
    /// Sums of innovations whose bin before is filled.
    pub pairs: Vec<f64>,
    /// Sums of values after a gap, in the innovations' scale.
    pub fresh: Vec<f64>,
    /// How many of each there are.
    pub pair_count: f64,
    /// How many of the others.
    pub fresh_count: f64,
    phi: f64,
    all: Vec<f64>,
    prefix_all: Vec<f64>,
    prefix_pairs: Vec<f64>,
}

/// The best place of one form.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Best {
    /// Logarithm of the likelihood gained, taking the innovations' variance as 1.
    pub gain: f64,
    /// Bin of the fold in which its phase 0 lies.
    pub bin: usize,
    /// Which form.
    pub form: Form,
}

impl Fold {
    /// Makes room for a fold of `bins`, for noise of correlation `phi`.
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

    /// After everything is added: `all` holds what a form correlates with, prefix sums go twice
    /// around.
    fn prepare(&mut self) {
        let weight = self.weight_of_fresh();
        self.all.clear();
        self.all.extend(
            self.pairs
                .iter()
                .zip(&self.fresh)
                .map(|(pair, fresh)| pair + weight * fresh),
        );
        for (prefix, sums) in [
            (&mut self.prefix_all, &self.all),
            (&mut self.prefix_pairs, &self.pairs),
        ] {
            prefix.clear();
            prefix.push(0.0);
            let mut sum = 0.0;
            for &value in sums.iter().chain(sums.iter()) {
                sum += value;
                prefix.push(sum);
            }
        }
    }

    /// The best place of a sawtooth, whatever its sign. To be called before the other forms.
    pub fn sawtooth(&mut self) -> Option<Best> {
        self.prepare();
        let mut best: Option<Best> = None;
        self.each_sawtooth(|bin, gain| keep(&mut best, gain, bin, Form::Sawtooth));
        best
    }

    /// The gain of a form at each bin of the fold; of a box with the width that suits its duty.
    pub fn profile(&mut self, form: Form) -> Vec<f64> {
        self.prepare();
        let mut gains = vec![0.0; self.all.len()];
        let mut put = |bin: usize, gain: f64| gains[bin] = gain;
        match form {
            Form::Sawtooth => self.each_sawtooth(put),
            Form::Box { duty } => self.each_box(width_of(duty, self.all.len()), put),
            Form::Wave => {
                if let Some(best) = self.wave() {
                    put(best.bin, best.gain);
                }
            }
        }
        gains
    }

    fn each_sawtooth(&self, mut tell: impl FnMut(usize, f64)) {
        let bins = self.all.len();
        if bins < 3 {
            return;
        }
        let form = |j: usize| (count_f64(j) + 0.5) / count_f64(bins) - 0.5;
        let norm = self.norm((0..bins).map(form), bins);
        // Sums of j times the value j bins after the start, moved on bin by bin.
        let moment = |sums: &[f64]| {
            sums.iter()
                .enumerate()
                .map(|(j, value)| count_f64(j) * value)
                .sum::<f64>()
        };
        let (total_all, total_pairs) = (self.prefix_all[bins], self.prefix_pairs[bins]);
        let (mut of_all, first_of_pairs) = (moment(&self.all), moment(&self.pairs));
        // Of the bin after: what the noise keeps of the form is one bin late.
        let mut of_pairs = first_of_pairs - total_pairs + count_f64(bins) * self.pairs[0];
        let share = |moment: f64, total: f64| moment / count_f64(bins) + total * form(0);
        for bin in 0..bins {
            let sum = share(of_all, total_all) - self.phi * share(of_pairs, total_pairs);
            tell(bin, gain(sum, norm));
            of_all += count_f64(bins) * self.all[bin] - total_all;
            of_pairs += count_f64(bins) * self.pairs[(bin + 1) % bins] - total_pairs;
        }
    }

    /// The best place of a box of one width, whatever its sign.
    pub fn boxed(&self, width: usize) -> Option<Best> {
        let duty = count_f64(width) / count_f64(self.all.len());
        let mut best: Option<Best> = None;
        self.each_box(width, |bin, gain| {
            keep(&mut best, gain, bin, Form::Box { duty });
        });
        best
    }

    fn each_box(&self, width: usize, mut tell: impl FnMut(usize, f64)) {
        let bins = self.all.len();
        if bins < 3 || width * 2 > bins {
            return;
        }
        let duty = count_f64(width) / count_f64(bins);
        let norm = self.norm(
            (0..bins).map(|j| f64::from(u8::from(j < width)) - duty),
            bins,
        );
        let (total_all, total_pairs) = (self.prefix_all[bins], self.prefix_pairs[bins]);
        let level = duty * (total_all - self.phi * total_pairs);
        for bin in 0..bins {
            let inside = self.prefix_all[bin + width] - self.prefix_all[bin];
            let late = self.prefix_pairs[bin + 1 + width] - self.prefix_pairs[bin + 1];
            tell(bin, gain(inside - self.phi * late - level, norm));
        }
    }

    /// The best place of a wave of one harmonic.
    pub fn wave(&self) -> Option<Best> {
        let bins = self.all.len();
        if bins < 4 {
            return None;
        }
        let turn = std::f64::consts::TAU / count_f64(bins);
        let (mut cos, mut sin) = (0.0, 0.0);
        // Turned on bin by bin: sines and cosines are slow.
        let (sin_turn, cos_turn) = turn.sin_cos();
        let (mut s_late, mut c_late) = (-0.5 * turn).sin_cos();
        for j in 0..bins {
            let s = s_late * cos_turn + c_late * sin_turn;
            let c = c_late * cos_turn - s_late * sin_turn;
            cos += self.all[j] * c - self.phi * self.pairs[j] * c_late;
            sin += self.all[j] * s - self.phi * self.pairs[j] * s_late;
            (s_late, c_late) = (s, c);
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

    /// The size of a whitened form, where all phases are seen equally often.
    fn norm(&self, form: impl Iterator<Item = f64> + Clone, bins: usize) -> f64 {
        let mut squares = 0.0;
        let mut products = 0.0;
        let last = form.clone().last().unwrap_or(0.0);
        let mut before = last;
        for value in form {
            squares += value * value;
            products += value * before;
            before = value;
        }
        let (squares, products) = (squares / count_f64(bins), products / count_f64(bins));
        let weight = self.weight_of_fresh();
        self.pair_count * ((1.0 + self.phi * self.phi) * squares - 2.0 * self.phi * products)
            + self.fresh_count * weight * weight * squares
    }
}

/// The width of a box in bins.
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
        fold
    }

    #[test]
    fn each_form_is_found_where_it_is() {
        for phi in [0.0, 0.4, 0.9] {
            for at in [0, 1, 5, 23] {
                let saw = folded(24, phi, Form::Sawtooth, at)
                    .sawtooth()
                    .expect("bins");
                assert_eq!(saw.bin, at, "phi {phi}");
                let duty = 6.0 / 24.0;
                let mut fold = folded(24, phi, Form::Box { duty }, at);
                let saw = fold.sawtooth().expect("bins");
                let widths: Vec<Best> = BOX_BINS.iter().filter_map(|&w| fold.boxed(w)).collect();
                let best = widths
                    .iter()
                    .max_by(|a, b| a.gain.total_cmp(&b.gain))
                    .expect("widths");
                assert_eq!((best.bin, best.form), (at, Form::Box { duty }), "phi {phi}");
                assert!(best.gain > saw.gain);
                let mut fold = folded(24, phi, Form::Wave, at);
                fold.sawtooth();
                let wave = fold.wave().expect("bins");
                let apart = (wave.bin + 24 - at) % 24;
                assert!(apart <= 1 || apart == 23, "{} {at}", wave.bin);
            }
        }
    }

    #[test]
    fn gain_is_half_the_squares_that_are_explained() {
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
