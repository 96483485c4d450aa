//! Discrete-event simulation of a drive, its readers and a pass over it. The same seed gives the same
//! run.

#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]

use super::{Action, Controller, QuietLevel, Settings, StepOutcome};
use crate::counters::Sample;
use crate::probe::Reading;
use linux::counters::DeviceCounters;
use std::time::Duration;

/// Model of a drive.
#[derive(Debug, Clone, Copy)]
pub(super) struct Disk {
    /// Requests served at the same time; each server has its own queue, and requests are assigned
    /// to them at random.
    pub(super) servers: usize,
    /// Mean service time of a read; exponential.
    pub(super) read_s: f64,
    /// Cost of a discard, per command and per byte.
    pub(super) discard_s: f64,
    pub(super) discard_byte_s: f64,
    /// Discards have their own queue, and no read waits for them.
    pub(super) separate_queue: bool,
}

/// One server; a discard takes 1 ms plus its bytes at 1 GB/s.
pub(super) const FIFO: Disk = Disk {
    servers: 1,
    read_s: 0.5e-3,
    discard_s: 1e-3,
    discard_byte_s: 1e-9,
    separate_queue: false,
};

/// 50 ms per command, whatever its size.
pub(super) const PER_COMMAND: Disk = Disk {
    discard_s: 50e-3,
    discard_byte_s: 0.0,
    ..FIFO
};

/// Eight servers, fast discards.
pub(super) const PARALLEL: Disk = Disk {
    servers: 8,
    read_s: 0.2e-3,
    discard_s: 0.1e-3,
    discard_byte_s: 0.2e-9,
    separate_queue: false,
};

/// Reads never wait for discards.
pub(super) const IDEAL: Disk = Disk {
    separate_queue: true,
    ..PARALLEL
};

/// A discard takes two seconds, and everything waits for it.
pub(super) const IMPOSSIBLE: Disk = Disk {
    discard_s: 2.0,
    ..FIFO
};

pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn unit(&mut self) -> f64 {
        // xorshift64* (Vigna 2014).
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11;
        bits as f64 / (1u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// Returns extents as they occur in filesystems: most are small, most bytes are in few. Pareto
    /// with exponent 1.1 from 64 KiB to 1 GiB.
    fn extent_bytes(&mut self) -> u64 {
        let size = 65_536.0 / (1.0 - self.unit()).powf(1.0 / 1.1);
        (size.min((1u64 << 30) as f64) as u64) & !4095
    }
}

/// State of the simulation.
pub(super) struct World {
    disk: Disk,
    random: Random,
    now_s: f64,
    free_at_s: Vec<f64>,
    discards_free_at_s: f64,
    reads_per_s: f64,
    next_read_s: f64,
    next_probe_s: f64,
    /// Latencies of the store's reads.
    pub(super) reads_s: Vec<f64>,
    probes: Vec<Reading>,
    counters: DeviceCounters,
    /// From and to: during this time the store's read rate is multiplied by the third number.
    pub(super) surge: Option<(f64, f64, f64)>,
}

impl World {
    /// `utilisation` is that of the drive by the store's reads.
    pub(super) fn new(disk: Disk, utilisation: f64, seed: u64) -> Self {
        Self {
            disk,
            random: Random::new(seed),
            now_s: 0.0,
            free_at_s: vec![0.0; disk.servers],
            discards_free_at_s: 0.0,
            reads_per_s: utilisation * disk.servers as f64 / disk.read_s,
            next_read_s: 0.0,
            next_probe_s: 0.0,
            reads_s: Vec::new(),
            probes: Vec::new(),
            counters: DeviceCounters::default(),
            surge: None,
        }
    }

    fn serve(&mut self, at_s: f64, cost_s: f64) -> f64 {
        let server = (self.random.unit() * self.disk.servers as f64) as usize;
        let end_s = self.free_at_s[server].max(at_s) + cost_s;
        self.free_at_s[server] = end_s;
        end_s
    }

    fn read(&mut self, at_s: f64) -> f64 {
        let cost_s = self.random.exponential(self.disk.read_s);
        let latency_s = self.serve(at_s, cost_s) - at_s;
        self.counters.reads += 1;
        self.counters.read_ms += (latency_s * 1e3).round() as u64;
        latency_s
    }

    /// Advances time to `to_s`, with all reads that arrive meanwhile.
    pub(super) fn advance(&mut self, to_s: f64) {
        loop {
            let at_s = self.next_read_s.min(self.next_probe_s);
            if at_s > to_s {
                break;
            }
            if self.next_read_s <= self.next_probe_s {
                let latency_s = self.read(at_s);
                self.reads_s.push(latency_s);
                let times = match self.surge {
                    Some((from, to, times)) if (from..to).contains(&at_s) => times,
                    _ => 1.0,
                };
                self.next_read_s += self.random.exponential(1.0 / (self.reads_per_s * times));
            } else {
                let latency_s = self.read(at_s);
                self.probes.push(Reading {
                    at: Duration::from_secs_f64(at_s),
                    latency: Duration::from_secs_f64(latency_s),
                    failed: false,
                    pending: false,
                });
                self.next_probe_s += 0.05 * (0.5 + self.random.unit());
            }
        }
        self.now_s = self.now_s.max(to_s);
    }

    pub(super) fn now(&self) -> Duration {
        Duration::from_secs_f64(self.now_s)
    }

    fn discard(&mut self, at_s: f64, bytes: u64) -> f64 {
        let cost_s = self.disk.discard_s + bytes as f64 * self.disk.discard_byte_s;
        if self.disk.separate_queue {
            self.discards_free_at_s = self.discards_free_at_s.max(at_s) + cost_s;
            self.discards_free_at_s
        } else {
            self.serve(at_s, cost_s)
        }
    }

    /// Returns what a probe would return now.
    fn drain(&mut self) -> Vec<Reading> {
        let now = self.now();
        let (mut done, waiting): (Vec<_>, Vec<_>) =
            self.probes.drain(..).partition(|r| r.at + r.latency <= now);
        done.extend(waiting.iter().map(|reading| Reading {
            latency: now.saturating_sub(reading.at),
            pending: true,
            ..*reading
        }));
        self.probes = waiting;
        done
    }

    fn sample(&self) -> Sample {
        Sample {
            at: self.now(),
            devices: [("sda".to_owned(), self.counters)].into(),
            io_pressure_us: None,
        }
    }
}

/// Results of a pass.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) mean_budget_s: f64,
    pub(super) gave_up: Option<String>,
    pub(super) complete: bool,
    pub(super) locked_s: Vec<f64>,
    pub(super) bytes: u64,
    /// Length of the pass, and the fraction of it in which discards were in flight.
    pub(super) took_s: f64,
    pub(super) duty: f64,
    pub(super) mean_s: f64,
    pub(super) p99_s: f64,
    pub(super) seen: Option<QuietLevel>,
    pub(super) largest_pause: Duration,
    pub(super) reasons: std::collections::BTreeMap<String, u32>,
}

/// Parameters of a simulated pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) free_bytes: u64,
    pub(super) quiet_s: f64,
    pub(super) longest_s: f64,
    pub(super) probe: bool,
    /// Whether extents can be split at the budget.
    pub(super) split: bool,
}

pub(super) const PLAN: Plan = Plan {
    free_bytes: 256 << 30,
    quiet_s: 15.0,
    longest_s: 900.0,
    probe: true,
    split: true,
};

pub(super) fn percentile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (part * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(0.0)
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The engine's overhead per step: querying a process, reading counters.
const ENGINE_S: f64 = 0.5e-3;
/// Polling interval while settling.
const POLL_S: f64 = 2e-3;

/// Makes a step: the discards are given to the drive at once, as XFS does, and waited for.
fn step(
    world: &mut World,
    controller: &mut Controller,
    run: &mut Run,
    plan: Plan,
    rest_bytes: &mut u64,
) {
    let budget = controller.step_budget();
    world.advance(world.now_s + ENGINE_S);
    let step_s = world.now_s;
    let (mut bytes, mut extents, mut end_s) = (0u64, 0u64, step_s);
    while extents < budget.free_extents
        && bytes < budget.free_bytes
        && run.bytes + bytes < plan.free_bytes
    {
        if *rest_bytes == 0 {
            *rest_bytes = world.random.extent_bytes();
        }
        let room = budget.free_bytes - bytes;
        let piece = if plan.split {
            (*rest_bytes).min(room)
        } else if extents > 0 && *rest_bytes > room {
            break;
        } else {
            *rest_bytes
        };
        *rest_bytes -= piece;
        bytes += piece;
        extents += 1;
        end_s = end_s.max(world.discard(step_s, piece));
    }
    world.advance(end_s);
    let polls = ((end_s - step_s) / POLL_S).ceil().max(1.0);
    world.advance(step_s + polls * POLL_S);
    let locked_s = end_s - step_s;
    run.locked_s.push(locked_s);
    run.bytes += bytes;
    run.duty += locked_s;
    controller.finished(&StepOutcome {
        began: Duration::from_secs_f64(step_s),
        settled: world.now(),
        locked: Duration::from_secs_f64(locked_s),
        discarded_bytes: Some(bytes),
        free_bytes: Some(bytes),
        free_extents: Some(extents),
        timed_out: false,
    });
}

/// Simulates a pass.
pub(super) fn run(world: &mut World, settings: Settings, plan: Plan) -> Run {
    let mut samples = vec![world.sample()];
    let mut readings = Vec::new();
    while world.now_s < plan.quiet_s {
        world.advance(world.now_s + 0.1);
        readings.retain(|reading: &Reading| !reading.pending);
        readings.extend(world.drain());
        samples.push(world.sample());
    }
    let quiet = Controller::quiet_level(&readings).filter(|_| plan.probe);
    let probes = quiet.map(|level| ("reads".to_owned(), level));
    let mut controller = Controller::new(settings, probes.into_iter().collect(), &samples);
    let began_s = world.now_s;
    world.reads_s.clear();
    let mut run = Run {
        mean_budget_s: controller.budget(0).as_secs_f64(),
        gave_up: None,
        complete: false,
        locked_s: Vec::new(),
        bytes: 0,
        took_s: 0.0,
        duty: 0.0,
        mean_s: 0.0,
        p99_s: 0.0,
        seen: None,
        largest_pause: Duration::ZERO,
        reasons: std::collections::BTreeMap::new(),
    };
    // The remainder of an extent that a step did not cover.
    let mut rest_bytes = 0u64;
    while world.now_s - began_s < plan.longest_s {
        if plan.probe {
            let readings = world.drain();
            controller.read(0, &readings);
        }
        controller.sample(&world.sample());
        match controller.next(world.now()) {
            Action::Go => {
                step(world, &mut controller, &mut run, plan, &mut rest_bytes);
                if run.bytes >= plan.free_bytes {
                    run.complete = true;
                    break;
                }
            }
            Action::Wait { pause, reason } => {
                run.largest_pause = run.largest_pause.max(pause);
                let kind: String = reason.chars().filter(|c| !c.is_ascii_digit()).collect();
                *run.reasons.entry(kind).or_default() += 1;
                let until_s = world.now_s + pause.as_secs_f64().max(1e-4);
                while world.now_s < until_s {
                    world.advance((world.now_s + 0.1).min(until_s));
                    if plan.probe {
                        let readings = world.drain();
                        controller.read(0, &readings);
                    }
                    controller.sample(&world.sample());
                }
            }
            Action::GiveUp { reason } => {
                run.gave_up = Some(reason);
                break;
            }
        }
    }
    run.took_s = world.now_s - began_s;
    run.duty /= run.took_s;
    run.mean_s = mean(&world.reads_s);
    run.p99_s = percentile(&world.reads_s, 0.99);
    run.seen = controller.seen(0);
    run
}

/// Returns mean and p99 of the store's reads without trimming, over the same time.
pub(super) fn untrimmed(disk: Disk, utilisation: f64, seed: u64, long_s: f64) -> (f64, f64) {
    let mut world = World::new(disk, utilisation, seed);
    world.advance(long_s);
    (mean(&world.reads_s), percentile(&world.reads_s, 0.99))
}
