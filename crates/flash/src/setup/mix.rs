//! Mixes of workloads as written on the command line: `elasticsearch`,
//! `lucene@80,circular-log@20/5`.

use crate::scenario::{Kind, Part};
use crate::workload::database::Pattern;
use std::fmt;
use std::str::FromStr;
use units::ValueError;

/// One of the workloads of a mix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MixPart {
    /// The workload.
    pub what: WorkloadKind,
    /// Share of the writes, in percent.
    pub weight: f64,
    /// Share of the data, in percent.
    pub space: f64,
}

/// A workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WorkloadKind {
    /// Pages overwritten in place.
    Pages(Pattern),
    /// Files created and deleted.
    Files(&'static str, Kind),
}

/// The file workloads by name.
const FILES: [(&str, Kind); 5] = [
    ("lucene", Kind::LUCENE),
    ("lsm", Kind::ROCKSDB),
    ("log", Kind::JOURNAL),
    (
        "circular-log",
        Kind::Log {
            file_bytes: 100 << 20,
            recycled: true,
        },
    ),
    ("files", Kind::FILES),
];

impl fmt::Display for WorkloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pages(pattern) => pattern.fmt(f),
            Self::Files(name, _) => f.write_str(name),
        }
    }
}

/// Mixes typical of databases: segments and a translog that is deleted when rolled over; pages of
/// files and a journal.
const STORES: [(&str, &str); 3] = [
    ("elasticsearch", "lucene@75/90,log@25/10"),
    ("opensearch", "lucene@75/90,log@25/10"),
    ("mongodb", "uniform@80/98,log@20/2"),
];

/// Workloads running in parallel.
#[derive(Debug, Clone, PartialEq)]
pub struct Mix {
    /// At least one part.
    pub parts: Vec<MixPart>,
    /// The database's name, if the mix was given by name.
    store: Option<&'static str>,
}

impl Mix {
    /// The scenario's workloads, for a drive with this page size: patterns write one page at a
    /// time.
    pub fn scenario_parts(&self, page_bytes: u32) -> Vec<Part> {
        let part = |part: &MixPart| {
            let kind = match part.what {
                WorkloadKind::Files(_, kind) => kind,
                WorkloadKind::Pages(pattern) => Kind::Database {
                    pattern,
                    write_bytes: page_bytes.into(),
                },
            };
            Part::new(kind).shares(part.weight, part.space)
        };
        self.parts.iter().map(part).collect()
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(store) = self.store {
            return f.write_str(store);
        }
        if let [part] = self.parts.as_slice() {
            return part.what.fmt(f);
        }
        for (index, part) in self.parts.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let (weight, space) = (round_percent(part.weight), round_percent(part.space));
            write!(f, "{comma}{}@{weight}/{space}", part.what)?;
        }
        Ok(())
    }
}

/// Parses `lucene`, `uniform` or `lucene@80,circular-log@20/5`. Without numbers all parts are
/// equal; otherwise the shares of the writes must add up to 100. Missing shares of the data divide
/// what the others leave, in proportion to the writes.
impl FromStr for Mix {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let store = STORES.iter().find(|(known, _)| *known == text.trim());
        let named = store
            .map_or(text, |(_, parts)| parts)
            .split(',')
            .map(parse_part)
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            parts: resolve_shares(&named)?,
            store: store.map(|(name, _)| *name),
        })
    }
}

/// Resolves the parts' shares in percent.
#[allow(clippy::cast_precision_loss)] // a handful of parts
fn resolve_shares(named: &[ParsedPart]) -> Result<Vec<MixPart>, ValueError> {
    let count = named.len() as f64;
    if named.iter().all(|part| part.writes.is_none()) {
        let equal = 100.0 / count;
        let part = |part: &ParsedPart| MixPart {
            what: part.what,
            weight: equal,
            space: equal,
        };
        return Ok(named.iter().map(part).collect());
    }
    // Each share may have been rounded to a whole number.
    let is_whole = |sum: f64| (sum - 100.0).abs() <= 0.5 * count;
    let writes: f64 = named.iter().filter_map(|part| part.writes).sum();
    if !is_whole(writes) || named.iter().any(|part| part.writes.is_none()) {
        return Err(ValueError::new(
            "the shares of the writes to come to 100 %",
            format!("{} %", round_percent(writes)),
        )
        .hint("give each of the workloads its number, or none of them (lucene@80,log@20)"));
    }
    let data: f64 = named.iter().filter_map(|part| part.data).sum();
    let open = named.iter().filter(|part| part.data.is_none());
    let open: f64 = open.filter_map(|part| part.writes).sum();
    let left = 100.0 - data;
    if open > 0.0 && left <= 0.0 || open == 0.0 && !is_whole(data) {
        let expected = if open > 0.0 {
            "the shares of the data, behind the slash, to leave some of 100 %"
        } else {
            "the shares of the data, behind the slash, to come to 100 %"
        };
        return Err(
            ValueError::new(expected, format!("{} %", round_percent(data)))
                .hint("leave one out, and it is what the others leave (lucene@80,log@20/5)"),
        );
    }
    let part = |part: &ParsedPart| {
        let weight = part.writes.unwrap_or(0.0);
        MixPart {
            what: part.what,
            weight,
            space: part.data.unwrap_or(left * weight / open),
        }
    };
    Ok(named.iter().map(part).collect())
}

/// A part as written.
struct ParsedPart {
    what: WorkloadKind,
    /// Share of the writes, in percent.
    writes: Option<f64>,
    /// Share of the data, in percent.
    data: Option<f64>,
}

fn parse_part(text: &str) -> Result<ParsedPart, ValueError> {
    let text = text.trim();
    let (name, shares) = match text.rsplit_once('@') {
        Some((name, shares)) => (name, Some(shares)),
        None => (text, None),
    };
    let what = match FILES.iter().find(|(known, _)| *known == name) {
        Some((known, kind)) => WorkloadKind::Files(known, *kind),
        None => WorkloadKind::Pages(Pattern::parse(name)?.ok_or_else(|| {
            ValueError::new(
                format!(
                    "{}, or elasticsearch, opensearch, mongodb, lucene, lsm, log, circular-log, files",
                    Pattern::NAMES
                ),
                name,
            )
        })?),
    };
    let percent = |number: &str| {
        let value: Option<f64> = number.trim().trim_end_matches('%').parse().ok();
        let value = value.filter(|value| *value > 0.0 && *value <= 1e6);
        value.ok_or_else(|| {
            ValueError::new(
                "NAME@WRITES or NAME@WRITES/DATA in percent (lucene@80, log@20/5)",
                text,
            )
        })
    };
    let (writes, data) = match shares.map(|shares| shares.split_once('/').ok_or(shares)) {
        None => (None, None),
        Some(Ok((writes, data))) => (Some(percent(writes)?), Some(percent(data)?)),
        Some(Err(writes)) => (Some(percent(writes)?), None),
    };
    Ok(ParsedPart { what, writes, data })
}

/// Rounded so that 0.07 * 100 gives 7 instead of 7.000000000000001.
fn round_percent(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mix(text: &str) -> Result<Mix, String> {
        text.parse().map_err(|error: ValueError| error.to_string())
    }

    #[test]
    fn mixes() {
        let found = mix("lucene@80,circular-log@20/5").unwrap();
        assert_eq!(found.to_string(), "lucene@80/95,circular-log@20/5");
        let found = mix("hot-cold:20/80@70,log@30").unwrap();
        assert_eq!(found.parts.len(), 2);
        assert!(matches!(
            found.parts[0].what,
            WorkloadKind::Pages(Pattern::HotCold { .. })
        ));
        for text in [
            "lucene@",
            "lucene@0",
            "lucene@10/0",
            "lucene@x",
            "lucene,",
            "lucene@10/",
        ] {
            assert!(mix(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shares_add_up_to_100_percent() {
        for (text, expected) in [
            ("lucene,log", "lucene@50/50,log@50/50"),
            ("lucene@80,log@20", "lucene@80/80,log@20/20"),
            (
                "lucene@60,lsm@20,log@20/5",
                "lucene@60/71.25,lsm@20/23.75,log@20/5",
            ),
            (
                "lucene@33,lsm@33,log@33",
                "lucene@33/33.333333,lsm@33/33.333333,log@33/33.333333",
            ),
            ("lucene@75/90,log@25/10", "lucene@75/90,log@25/10"),
            ("uniform@80/98%,log@20%/2", "uniform@80/98,log@20/2"),
            ("lucene@100", "lucene"),
        ] {
            assert_eq!(mix(text).unwrap().to_string(), expected);
        }
        for (text, named) in [
            (
                "lucene@80,log@30",
                "of the writes to come to 100 %, found \"110 %\"",
            ),
            (
                "lucene@80,log",
                "of the writes to come to 100 %, found \"80 %\"",
            ),
            ("lucene@100,log", "each of the workloads"),
            ("lucene@50", "found \"50 %\""),
            (
                "lucene@80/90,log@20/20",
                "of the data, behind the slash, to come to 100 %, found \"110 %\"",
            ),
            ("lucene@80/90,log@20/5", "found \"95 %\""),
            (
                "lucene@80/100,log@20",
                "leave some of 100 %, found \"100 %\"",
            ),
        ] {
            let error = mix(text).unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
    }

    #[test]
    fn databases_are_named_mixes() {
        for (name, _) in STORES {
            let found = mix(name).unwrap();
            assert_eq!(found.to_string(), name);
            assert_eq!(found.parts.len(), 2);
        }
    }

    #[test]
    fn patterns_round_trip() {
        for text in ["uniform", "sequential", "zipf:0.9", "hot-cold:20/80"] {
            let found = mix(text).unwrap();
            assert!(matches!(found.parts[0].what, WorkloadKind::Pages(_)));
            assert_eq!(found.to_string(), text);
        }
        for text in [
            "zipf",
            "zipf:-1",
            "zipf:x",
            "hot-cold",
            "hot-cold:20",
            "hot-cold:0/80",
            "uniform:3",
            "random",
            "",
        ] {
            assert!(mix(text).unwrap_err().starts_with("expected"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*|[a-z]{0,8}[:@ /,0-9.%]{0,12}") {
            let _ = mix(&text);
        }
    }
}
