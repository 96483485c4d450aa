//! Walks a mounted filesystem as a pass would, but without pacing, printing one line per step.
//!
//! `walk MOUNT FS_TYPE DEVICE [--survey | --whole | --chunks BYTES] [FREE_BYTES [FREE_EXTENTS]]`
//! trims (root). `--whole` makes the one call that fstrim makes; `--chunks` makes fixed ranges. It
//! waits after each step until the device's discard counters are stable.

use std::path::PathBuf;
use std::time::{Duration, Instant};
use trim::child::{Child, Trimmer};
use trim::stop::Stop;
use trim::target::Target;
use trim::{ByteRange, Cursor, StepBudget, geometry};

type Failure = Box<dyn std::error::Error>;

/// Returns discards completed and bytes discarded, from the `stat` file of a device.
fn discards(device: &str) -> Result<(u64, u64), Failure> {
    let name = device.rsplit('/').next().unwrap_or(device);
    let text = std::fs::read_to_string(format!("/sys/class/block/{name}/stat"))?;
    let fields: Vec<u64> = text
        .split_whitespace()
        .map_while(|f| f.parse().ok())
        .collect();
    match fields[..] {
        [.., _, _] if fields.len() >= 14 => Ok((fields[11], fields[13] * 512)),
        _ => Ok((0, 0)),
    }
}

fn settled(device: &str) -> Result<(u64, u64), Failure> {
    let mut last = discards(device)?;
    let mut since = Instant::now();
    while since.elapsed() < Duration::from_millis(60) {
        std::thread::sleep(Duration::from_millis(10));
        let now = discards(device)?;
        if now != last {
            last = now;
            since = Instant::now();
        }
    }
    Ok(last)
}

#[derive(Default)]
struct Sums {
    steps: u64,
    visited: u64,
    extents: u64,
    reported: u64,
    longest: Duration,
}

fn main() -> Result<(), Failure> {
    if std::env::args().nth(1).as_deref() == Some("--serve") {
        return Ok(trim::child::serve()?);
    }
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let mut take = |option: &str| {
        let at = args.iter().position(|arg| arg == option)?;
        Some(args.remove(at))
    };
    let (survey_only, whole) = (take("--survey").is_some(), take("--whole").is_some());
    let chunked = take("--chunks").is_some();
    let [mount, fs_type, device, rest @ ..] = &args[..] else {
        return Err("walk MOUNT FS_TYPE DEVICE [FREE_BYTES [FREE_EXTENTS]]".into());
    };
    let number = |at: usize, default: u64| rest.get(at).map_or(Ok(default), |n| n.parse());
    let budget = StepBudget {
        free_bytes: number(0, 64 << 20)?,
        free_extents: number(1, 100)?,
    };
    let target = Target::identify(PathBuf::from(mount), fs_type, PathBuf::from(device))?;
    let mut walk = geometry::open(&target, Cursor::default(), &Stop::default())?;
    let survey = walk.survey(budget)?;
    println!("{survey:#?}");
    if survey_only {
        return Ok(());
    }
    let helper = vec![std::env::current_exe()?.into(), "--serve".into()];
    let mut child = Child::new(helper, target, Vec::new(), Stop::default());
    let (count, bytes) = settled(device)?;
    let mut sums = Sums::default();
    let started = Instant::now();
    let mut trim = |range, visited, extents| -> Result<(u64, Duration), Failure> {
        let before = settled(device)?;
        let trimmed = child.trim(range, 0)?;
        let discarded = settled(device)?.1 - before.1;
        sums.steps += 1;
        sums.visited += visited;
        sums.extents += extents;
        sums.reported += trimmed.reported_len_bytes;
        sums.longest = sums.longest.max(trimmed.took);
        Ok((discarded, trimmed.took))
    };
    if whole {
        trim(ByteRange::WHOLE, survey.free_bytes, 0)?;
    } else if chunked {
        let mut start_bytes = 0;
        while start_bytes < survey.size_bytes {
            let len_bytes = budget.free_bytes;
            trim(
                ByteRange {
                    start_bytes,
                    len_bytes,
                },
                0,
                0,
            )?;
            start_bytes += len_bytes;
        }
    } else {
        while let Some(step) = walk.next_step(budget)? {
            let free = step.free_bytes.unwrap_or(0);
            let (discarded, took) = trim(step.range, free, step.free_extents.unwrap_or(0))?;
            if std::env::var_os("WALK_STEPS").is_some() {
                println!(
                    "{} +{}: free {free} in {:?}, discarded {discarded}, {took:?} {}",
                    step.range.start_bytes,
                    step.range.len_bytes,
                    step.free_extents,
                    step.unsplittable.as_deref().unwrap_or("")
                );
            }
            walk.observed(Some(discarded));
        }
    }
    let (count_now, bytes_now) = settled(device)?;
    println!(
        "steps {} visited {} MiB extents {} | len {} MiB | discards {} discarded {} MiB | {:?}, \
         longest call {:?}",
        sums.steps,
        sums.visited >> 20,
        sums.extents,
        sums.reported >> 20,
        count_now - count,
        (bytes_now - bytes) >> 20,
        started.elapsed(),
        sums.longest
    );
    Ok(())
}
