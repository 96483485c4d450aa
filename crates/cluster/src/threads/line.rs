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
const ELEMENTS: &str = " elements";
const UNIQUE: &str = "unique snapshot";
/// How far around a phrase its other words are looked for, in bytes.
const WINDOW_BYTES: usize = 512;
/// Maximum length of a line that is put together again, in bytes.
const JOINED_BYTES_MAX: usize = 4096;

/// Calls `take` for each line, and once for several empty ones.
pub(super) fn each(text: &str, mut take: impl FnMut(Line<'_>)) {
    let mut joined = Joined::default();
    for line in text.lines() {
        if line.as_bytes().contains(&b'\\') {
            // A JSON string has the line breaks as two characters.
            line.split("\\n").for_each(|raw| joined.add(raw, &mut take));
        } else {
            joined.add(line, &mut take);
        }
    }
    parts(&joined.text, &mut take);
}

/// A line that ends within a phrase, with what was added to it.
#[derive(Default)]
struct Joined {
    text: String,
    /// Whether the last line was empty.
    was_blank: bool,
}

impl Joined {
    fn add(&mut self, raw: &str, take: &mut impl FnMut(Line<'_>)) {
        let line = unquoted(raw);
        if line.is_empty() {
            if !std::mem::replace(&mut self.was_blank, true) {
                take(Line::Blank);
            }
            return;
        }
        self.was_blank = false;
        if self.text.is_empty() && !is_wrapped(line) {
            parts(line, take);
            return;
        }
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(line);
        if !is_wrapped(&self.text) || self.text.len() > JOINED_BYTES_MAX {
            parts(&self.text, take);
            self.text.clear();
        }
    }
}

/// Returns a line without what mail, Markdown and comments put before it.
fn unquoted(raw: &str) -> &str {
    let mut line = raw.trim();
    // Most lines begin with a letter.
    if !line.starts_with(|c: char| c.is_ascii_punctuation()) {
        return line.trim_end_matches('`');
    }
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
    let mut from = 0;
    // Most lines are a frame.
    if line.contains("thread") || line.contains("snapshot") || line.contains(HEAD) {
        for to in cuts(line) {
            take(of(line[from..to].trim()));
            from = to;
        }
    }
    take(of(line[from..].trim()));
}

/// Returns where the parts of a line begin, but for the first.
fn cuts(line: &str) -> Vec<usize> {
    let mut cuts: Vec<usize> = line.match_indices(HEAD).map(|(at, _)| at).collect();
    for (at, _) in line.match_indices(UNIQUE) {
        cuts.extend([at, at + UNIQUE.len()]);
    }
    for (at, _) in line.match_indices(SHARING) {
        cuts.push(word_before(line, at));
        let end = at + SHARING.len();
        let count = window(&line[end..]).find(ELEMENTS);
        cuts.extend(count.map(|count| end + count + ELEMENTS.len()));
    }
    for phrase in [USAGE, MEMORY] {
        for (at, _) in line.match_indices(phrase) {
            // Back to the percentage, but not to one of those in brackets, or to the size.
            let mut from = word_before(line, at);
            while phrase == USAGE && from > 0 && at - from < WINDOW_BYTES {
                let word = line[from..].split(' ').next().unwrap_or_default();
                if word.ends_with('%') && !word.contains('=') {
                    break;
                }
                from = word_before(line, from - 1);
            }
            cuts.push(from);
            // A name may hold apostrophes.
            let name = at + phrase.len();
            let mut ends = window(&line[name..]).match_indices("' ");
            let end = ends.find(|(end, _)| is_stack(&line[name + end + 2..]));
            cuts.extend(end.map(|(end, _)| name + end + 1));
        }
    }
    cuts.sort_unstable();
    cuts.dedup();
    let first = line.len() - line.trim_start().len();
    cuts.retain(|&cut| cut > first && cut < line.len());
    cuts
}

/// Returns where the word begins that ends at `at`.
fn word_before(line: &str, at: usize) -> usize {
    let from = at.saturating_sub(WINDOW_BYTES);
    let from = (from..=at).find(|&from| line.is_char_boundary(from));
    let from = from.unwrap_or(at);
    line[from..at]
        .rfind(' ')
        .map_or(from, |space| from + space + 1)
}

/// Returns the beginning of a text.
fn window(text: &str) -> &str {
    let end = text.len().min(WINDOW_BYTES);
    let end = (0..=end).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

/// Whether a text begins as the line above a stack does.
fn is_stack(text: &str) -> bool {
    let text = window(text).trim_start();
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
        elements: rest.strip_suffix(ELEMENTS)?.parse().ok()?,
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
