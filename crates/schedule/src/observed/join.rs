//! Joins several files into one log.

use super::Sighting;
use super::log::{Log, OBSERVED_MAX, Observed, SUBJECTS_MAX};
use super::pair::uptimes;
use super::subject::Subject;
use crate::events::Events;
use crate::run::{Forecast, earlier_of};
use facts::host::Job;
use jiff::Timestamp;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// Maximum number of runs returned by [`observed_runs`].
pub const RUNS_OF_ALL_MAX: usize = 500_000;

/// Maximum time in seconds between two records of the same run, in the journal and a syslog file or
/// in two syslog files: a forwarded line may arrive late.
const SAME_RUN_S: f64 = 5.0;

impl Log {
    /// Joins files that continue one another, such as `syslog.1` and `syslog`, into one log. A job
    /// recorded in one of them did not run during the others unless they record it.
    ///
    /// The log is named after the file that ends last, and evidence names each file. If several
    /// files record the same event at the same time and host, it counts as one run, as when a
    /// rotated file was copied, or compressed without being deleted; two identical events in one
    /// file remain two. A run that begins in one file and ends in the next has no duration. If the
    /// files together exceed the limits, the newest are used, and a note names the first that is
    /// not. Returns `None` if there is no file.
    pub fn joined(files: Vec<Self>) -> Option<Self> {
        Self::joined_within(files, SUBJECTS_MAX, OBSERVED_MAX)
    }

    pub(super) fn joined_within(
        mut files: Vec<Self>,
        subjects_max: usize,
        observed_max: usize,
    ) -> Option<Self> {
        files.sort_by_key(|file| (file.from, file.until));
        // Far more than any host has. Older files that would exceed the limits are left out.
        let mut subjects: HashSet<&Subject> = HashSet::new();
        let mut count = 0;
        let fitting = files.iter().rev().take_while(|file| {
            subjects.extend(&file.subjects);
            count += file.count();
            subjects.len() <= subjects_max && count <= observed_max
        });
        // A single file is always within the limits.
        let fitting = fitting.count().clamp(1, files.len().max(1));
        let older = files.len().saturating_sub(fitting);
        let left_out = older.checked_sub(1).map(|last| {
            format!(
                "{} and what is older are not read: with them {} tells of too much",
                files[last].source,
                files.last().map_or("", |newest| &newest.source)
            )
        });
        let mut files = files.into_iter().skip(older);
        let mut whole = files.next()?;
        let mut places = IndexMaps {
            subjects: whole.subjects.iter().cloned().zip(0..).collect(),
            hosts: of_names(&whole),
        };
        for file in files {
            whole.append(file, &mut places);
        }
        whole.notes.extend(left_out);
        let recorded = whole.observed.len();
        whole.observed = without_copies(whole.observed);
        let copies = recorded - whole.observed.len();
        if copies > 0 {
            whole.notes.push(format!(
                "{copies} of its runs stand in a second file as well, and count once"
            ));
        }
        let starts = &mut whole.host_starts;
        starts.sort_by_key(|start| (start.at, start.host, Reverse(start.before)));
        starts.dedup_by_key(|start| (start.at, start.host));
        whole.uptimes = uptimes(&whole.host_starts);
        Some(whole)
    }

    fn append(&mut self, file: Self, places: &mut IndexMaps) {
        let parts = self.parts.len();
        let of_subjects: Vec<usize> = file
            .subjects
            .into_iter()
            .map(|subject| {
                *places
                    .subjects
                    .entry(subject)
                    .or_insert_with_key(|subject| {
                        self.subjects.push(subject.clone());
                        self.subjects.len() - 1
                    })
            })
            .collect();
        // When the host of each boot last wrote in the previous files.
        let mut before_own = Vec::with_capacity(file.hosts.len());
        let of_hosts: Vec<usize> = file
            .hosts
            .into_iter()
            .map(|host| {
                let Some(&place) = places.hosts.get(&host.name) else {
                    places.hosts.insert(host.name.clone(), self.hosts.len());
                    self.hosts.push(host);
                    before_own.push(None);
                    return self.hosts.len() - 1;
                };
                let known = &mut self.hosts[place];
                before_own.push(Some(known.until));
                known.from = known.from.min(host.from);
                known.until = known.until.max(host.until);
                known.lines += host.lines;
                place
            })
            .collect();
        self.observed
            .extend(file.observed.into_iter().map(|mut seen| {
                seen.subject = of_subjects[seen.subject];
                seen.host = of_hosts[seen.host];
                seen.part += parts;
                seen
            }));
        let before = self.until;
        self.host_starts
            .extend(file.host_starts.into_iter().map(|mut start| {
                // A line at the same time is the boot itself, in a copy of the file.
                let known = |last: Timestamp| (last < start.at).then_some(last);
                start.before = start.before.or(known(before));
                start.before_own = start.before_own.or(before_own[start.host].and_then(known));
                start.host = of_hosts[start.host];
                start
            }));
        self.parts.extend(file.parts);
        self.notes.extend(file.notes);
        self.is_of_anybody |= file.is_of_anybody;
        // Of copies with the same end, the first one given wins.
        if file.until > before {
            self.until = file.until;
            self.source = file.source;
        }
    }

    /// Drops the line numbers of a log whose text is not stored, such as a command's output:
    /// evidence names no lines.
    #[must_use]
    pub fn without_line_numbers(mut self) -> Self {
        for part in &mut self.parts {
            part.has_lines = false;
        }
        self
    }

    /// Returns the [`observed_runs`] of this log alone, over all time.
    pub fn events(&self) -> Vec<Events> {
        let logs = std::slice::from_ref(self);
        observed_runs(logs, &[], Timestamp::MIN, Timestamp::MAX, RUNS_OF_ALL_MAX)
            .into_iter()
            .map(|(name, found)| Events {
                name,
                runs: found.runs,
            })
            .collect()
    }

    /// Returns the number of files it was read from.
    pub fn files(&self) -> usize {
        self.parts.len()
    }
}

/// Maps the indices of a file to those in the joined log.
struct IndexMaps {
    subjects: HashMap<Subject, usize>,
    hosts: HashMap<Option<String>, usize>,
}

fn of_names(log: &Log) -> HashMap<Option<String>, usize> {
    let names = log.hosts.iter().map(|host| host.name.clone());
    names.zip(0..).collect()
}

/// Returns the runs sorted by start, each as often as in the file that records it most often.
fn without_copies(mut observed: Vec<Observed>) -> Vec<Observed> {
    let run = |seen: &Observed| (seen.start, seen.subject, seen.host);
    observed.sort_by_key(|seen| (run(seen), seen.part));
    let mut kept = Vec::with_capacity(observed.len());
    for same in observed.chunk_by(|one, next| run(one) == run(next)) {
        let files = || same.chunk_by(|one, next| one.part == next.part);
        let Some(most) = files().map(<[_]>::len).max() else {
            continue;
        };
        let begin = kept.len();
        kept.extend_from_slice(files().find(|file| file.len() == most).unwrap_or(same));
        // A file that ends during a run does not have its duration. Each file is scanned only once,
        // because hostile ones may repeat one time millions of times.
        for file in files() {
            for (seen, copy) in kept[begin..].iter_mut().zip(file) {
                seen.len_s = seen.len_s.or(copy.len_s);
            }
        }
    }
    kept
}

/// Drops duplicate records of the same run in a second log. `runs` are sorted by start, each with
/// the index of its log. Of two records, the more precise one is kept.
pub(crate) fn drop_duplicates(runs: &mut Vec<(usize, Sighting<'_>)>) {
    runs.sort_by_key(|(_, seen)| (seen.start, seen.log.seen));
    runs.dedup_by(|(later_log, later), (kept_log, kept)| {
        let same = later_log != kept_log
            && later.start.duration_since(kept.start).as_secs_f64() <= SAME_RUN_S;
        if same {
            if later.log.seen < kept.log.seen {
                std::mem::swap(later, kept);
                std::mem::swap(later_log, kept_log);
            }
            kept.len_s = kept.len_s.or(later.len_s);
        }
        same
    });
}

/// Returns all recorded runs from `from` until before `until` that belong to none of `jobs`, grouped
/// by the name of what was started, for use as lists of events. A run recorded in two logs appears once. The result has at
/// most the first `runs_max` runs of each name, and the first [`RUNS_OF_ALL_MAX`] overall;
/// truncated lists say so.
pub fn observed_runs(
    logs: &[Log],
    jobs: &[Job],
    from: Timestamp,
    until: Timestamp,
    runs_max: usize,
) -> Vec<(String, Forecast)> {
    let mut lists: Vec<(String, Vec<(usize, Sighting<'_>)>)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    // All lists are complete up to this time.
    let mut cut: Option<Timestamp> = None;
    for (index, log) in logs.iter().enumerate() {
        let places: Vec<Option<usize>> = log
            .subjects
            .iter()
            .map(|subject| {
                if jobs.iter().any(|job| subject.is_of(job)) {
                    return None;
                }
                let place = *known.entry(subject.name()).or_insert_with_key(|name| {
                    lists.push((name.clone(), Vec::new()));
                    lists.len() - 1
                });
                Some(place)
            })
            .collect();
        let before = log.observed.partition_point(|seen| seen.start < from);
        let within = log.observed[before..].partition_point(|seen| seen.start < until);
        let of_stretch = &log.observed[before..before + within];
        cut = earlier_of(cut, of_stretch.get(RUNS_OF_ALL_MAX).map(|seen| seen.start));
        for seen in of_stretch.iter().take(RUNS_OF_ALL_MAX) {
            if let Some(place) = places[seen.subject] {
                lists[place].1.push((index, log.sighting(seen)));
            }
        }
    }
    for (_, seen) in &mut lists {
        drop_duplicates(seen);
    }
    let mut starts: Vec<Timestamp> = lists
        .iter()
        .flat_map(|(_, seen)| seen)
        .map(|(_, seen)| seen.start)
        .collect();
    if starts.len() > RUNS_OF_ALL_MAX {
        let (_, first_cut, _) = starts.select_nth_unstable(RUNS_OF_ALL_MAX);
        cut = earlier_of(cut, Some(*first_cut));
    }
    lists
        .into_iter()
        .filter(|(_, seen)| !seen.is_empty())
        .map(|(name, mut seen)| {
            let of_name = seen.get(runs_max).map(|(_, seen)| seen.start);
            let truncated_at = earlier_of(cut, of_name);
            if let Some(cut) = truncated_at {
                seen.retain(|(_, seen)| seen.start < cut);
            }
            let runs = seen.iter().map(|(_, seen)| seen.run(&name)).collect();
            let found = Forecast {
                runs,
                truncated_at,
                ..Forecast::default()
            };
            (name, found)
        })
        .collect()
}
