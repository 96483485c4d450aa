//! The lines of hot threads and thread dumps, also as they were pasted: quoted, indented, wrapped,
//! joined, or as the text of a JSON string.

/// A line, or a part of one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Line<'a> {
    /// Nothing.
    Blank,
    /// `::: {NAME}{ID}...`, above a node's threads.
    Node(Option<&'a str>),
    /// `Hot threads at ..., interval=500ms, ...`, with the interval in milliseconds.
    Head(Option<u64>),
    /// `Full thread dump ...`
    Dump,
    /// `73.9% (369.6ms out of 500ms) cpu usage by thread 'NAME'`, and for memory
    /// `1.2mb memory allocated by thread 'NAME'`.
    Usage {
        cpu_percent: Option<f64>,
        name: &'a str,
    },
    /// `7/10 snapshots sharing following 12 elements`
    Sharing {
        seen: u32,
        snapshots: u32,
        elements: usize,
    },
    /// `unique snapshot`
    Unique,
    /// `"NAME" #52 daemon prio=5 ...` in a dump.
    DumpThread(&'a str),
    /// `java.lang.Thread.State: BLOCKED (on object monitor)`, the first word.
    State(&'a str),
    /// A lock of a thread in a dump, and its address.
    Lock(Lock, u64),
    /// Anything else: frames, if there are any.
    Calls(&'a str),
}

/// What a thread has to do with a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    Held,
    /// It waits for it.
    Wanted,
    /// It waits to be notified, and does not hold it meanwhile.
    Notified,
}

const HEAD: &str = "Hot threads at ";
const USAGE: &str = " usage by thread '";
const MEMORY: &str = " memory allocated by thread '";
const SHARING: &str = " snapshots sharing following ";
const UNIQUE: &str = "unique snapshot";
/// Maximum length of a line that is put together again, in bytes.
const JOINED_BYTES_MAX: usize = 4096;

/// Calls `take` for each line.
pub(super) fn each(text: &str, mut take: impl FnMut(Line<'_>)) {
    let mut joined = String::new();
    // A JSON string has the line breaks as two characters.
    for raw in text.lines().flat_map(|line| line.split("\\n")) {
        let line = unquoted(raw);
        if joined.is_empty() && !is_wrapped(line) {
            parts(line, &mut take);
            continue;
        }
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(line);
        if !is_wrapped(&joined) || joined.len() > JOINED_BYTES_MAX {
            parts(&joined, &mut take);
            joined.clear();
        }
    }
    parts(&joined, &mut take);
}

/// Returns a line without what mail, Markdown and comments put before it.
fn unquoted(raw: &str) -> &str {
    let mut line = raw.trim();
    while let Some(rest) = ["//", ">", "|", "*", "#", "`", "+", "\\t"]
        .iter()
        .find_map(|mark| line.strip_prefix(mark))
    {
        line = rest.trim_start();
    }
    line.trim_end_matches('`')
}

/// Whether a line ends within a phrase.
fn is_wrapped(line: &str) -> bool {
    let ends = [
        "by thread",
        "snapshots sharing following",
        "snapshots sharing",
        "snapshots",
    ];
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    ends.iter().any(|end| line.ends_with(end))
        || line
            .rsplit_once(SHARING)
            .is_some_and(|(_, rest)| is_number(rest))
}

/// Splits a line at the phrases that begin on lines of their own, and reads each part.
fn parts(line: &str, take: &mut impl FnMut(Line<'_>)) {
    let mut rest = line;
    // Most lines are a frame.
    while rest.contains("thread") || rest.contains("snapshot") {
        let Some(end) = first_part(rest).filter(|&end| end > 0 && end < rest.len()) else {
            break;
        };
        take(of(rest[..end].trim()));
        rest = rest[end..].trim_start();
    }
    take(of(rest));
}

/// Returns where the first part of a line ends and another begins.
fn first_part(line: &str) -> Option<usize> {
    // Where phrases end that a line begins with.
    let own = if line.starts_with(UNIQUE) {
        Some(UNIQUE.len())
    } else if let Some(at) = line.find(SHARING).filter(|&at| !line[..at].contains(' ')) {
        let count = line[at + SHARING.len()..].find(" elements")?;
        Some(at + SHARING.len() + count + " elements".len())
    } else {
        usage(line).filter(|(from, _)| *from == 0).map(|(_, to)| to)
    };
    if own.is_some() {
        return own;
    }
    let word_before = |at: usize| line[..at].rfind(' ').map(|space| space + 1);
    [
        line.find(HEAD),
        line.find(SHARING).and_then(word_before),
        line.find(UNIQUE),
        usage(line).map(|(from, _)| from),
    ]
    .into_iter()
    .flatten()
    .filter(|&at| at > 0)
    .min()
}

/// Returns where the first phrase about a thread's usage begins and ends.
fn usage(line: &str) -> Option<(usize, usize)> {
    let (at, phrase) = [USAGE, MEMORY]
        .iter()
        .filter_map(|phrase| Some((line.find(phrase)?, *phrase)))
        .min()?;
    let name = at + phrase.len();
    let words = line[..at].split(' ');
    // Back to the first number: the percentage, without those in brackets, or the size.
    let mut from = at;
    for word in words.rev() {
        from -= word.len();
        let is_first = phrase == MEMORY || (word.ends_with('%') && !word.contains('='));
        if is_first {
            break;
        }
        from = from.checked_sub(1)?;
    }
    // A name may hold apostrophes, so the last one ends it, unless another part follows.
    let end = line[name..]
        .match_indices("' ")
        .find(|(end, _)| is_stack(&line[name + end + 2..]))
        .map(|(end, _)| name + end + 1);
    Some((from, end.unwrap_or(line.len())))
}

/// Whether a text begins as the line above a stack does.
fn is_stack(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with(UNIQUE)
        || text
            .split_once(SHARING)
            .is_some_and(|(counts, _)| !counts.contains(' '))
}

fn of(part: &str) -> Line<'_> {
    if part.is_empty() {
        Line::Blank
    } else if let Some(rest) = part.strip_prefix(":::") {
        Line::Node(node_name(rest))
    } else if let Some(rest) = part.strip_prefix(HEAD) {
        let interval = rest.split_once("interval=").map(|(_, rest)| rest);
        Line::Head(interval.and_then(|rest| interval_ms(rest.split(',').next()?)))
    } else if part.starts_with("Full thread dump") {
        Line::Dump
    } else if part == UNIQUE {
        Line::Unique
    } else if let Some(rest) = part.strip_prefix('"') {
        // The name itself may contain quotes; what follows never does.
        rest.rsplit_once('"')
            .map_or(Line::Calls(part), |(name, _)| Line::DumpThread(name))
    } else if let Some(state) = part.strip_prefix("java.lang.Thread.State: ") {
        Line::State(state.split_whitespace().next().unwrap_or_default())
    } else {
        let parsed = [parse_usage, parse_sharing, parse_lock];
        let line = parsed.iter().find_map(|parse| parse(part));
        line.unwrap_or(Line::Calls(part))
    }
}

/// Returns the name in ` {es-1}{KBz7OsBEQnuTM9b3XX8lcA}...`.
fn node_name(text: &str) -> Option<&str> {
    let (name, _) = text.trim().strip_prefix('{')?.split_once('}')?;
    (!name.is_empty()).then_some(name)
}

/// `500ms`, `1s`, `500micros`.
fn interval_ms(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, factor) = [("ms", 1.0), ("s", 1000.0), ("m", 60_000.0)]
        .into_iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    let ms = number.parse::<f64>().ok()? * factor;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    (0.0..1e12).contains(&ms).then_some(ms as u64)
}

/// From 7.16 on with `[cpu=73.9%, other=0.0%]` in the middle; with `type=wait` or `type=block`
/// another word for `cpu`.
fn parse_usage(line: &str) -> Option<Line<'_>> {
    if let Some((size, name)) = line.split_once(MEMORY) {
        let name = name.strip_suffix('\'')?;
        return (!size.contains(' ')).then_some(Line::Usage {
            cpu_percent: None,
            name,
        });
    }
    let (head, name) = line.split_once(USAGE)?;
    let name = name.strip_suffix('\'')?;
    let (percent, rest) = head.split_once('%')?;
    let cpu = rest
        .split_once("[cpu=")
        .and_then(|(_, rest)| rest.split_once('%'))
        .map_or(percent, |(cpu, _)| cpu);
    let cpu: f64 = cpu.trim().parse().ok()?;
    let is_cpu = cpu.is_finite() && head.ends_with(" cpu");
    Some(Line::Usage {
        cpu_percent: is_cpu.then_some(cpu),
        name,
    })
}

fn parse_sharing(line: &str) -> Option<Line<'_>> {
    let (counts, rest) = line.split_once(SHARING)?;
    let (seen, snapshots) = counts.split_once('/')?;
    Some(Line::Sharing {
        seen: seen.parse().ok()?,
        snapshots: snapshots.parse().ok()?,
        elements: rest.strip_suffix(" elements")?.parse().ok()?,
    })
}

/// `- locked <0x00000000f7204488> (a org.apache.lucene.index.IndexWriter)`
fn parse_lock(line: &str) -> Option<Line<'_>> {
    let (what, rest) = line.strip_prefix('-')?.split_once('<')?;
    let (address, _) = rest.split_once('>')?;
    let address = u64::from_str_radix(address.strip_prefix("0x")?, 16).ok()?;
    let lock = match what.trim() {
        // Alone it is one of the `Locked ownable synchronizers`.
        "locked" | "" => Lock::Held,
        "waiting to lock" | "waiting to re-lock in wait()" | "parking to wait for" => Lock::Wanted,
        "waiting on" => Lock::Notified,
        _ => return None,
    };
    Some(Line::Lock(lock, address))
}

/// Returns the calls in a line, without where they are: `RoutingNode.java:190`.
pub(super) fn calls(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line.strip_prefix("at ").unwrap_or(line);
    let mut is_first = true;
    std::iter::from_fn(move || {
        let (before, after) = rest.split_once('(')?;
        let (place, tail) = after.split_once(')').unwrap_or((after, ""));
        rest = tail;
        let before = before.trim();
        let call = before.rsplit(' ').next().unwrap_or_default();
        // Prose has brackets, too.
        let is_place = [".java", "Native Method", "Unknown Source", ".kt", ".scala"]
            .iter()
            .any(|known| place.contains(known));
        let is_alone = std::mem::take(&mut is_first) && before == call;
        Some(if is_alone || is_place { call } else { "" })
    })
    .filter(|call| !call.is_empty())
}
