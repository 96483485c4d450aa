//! Conclusions about many series: which hosts show the same pattern at the same times, and which jobs fit all of them.

use super::phrases::{every, names};
use super::result::{Common, Cycle, Kind, SeriesVerdict, Shape, Verdict};
use crate::calendar::weekdays;
use crate::folds::{Folded, Kin};
use std::collections::{BTreeMap, BTreeSet};
use units::count::grouped_usize;

/// Periods that differ by no more than this share are the same.
const PERIOD_SLACK: f64 = 0.02;
/// Places within the period that are no further apart are the same, in seconds; samples of a longer interval allow theirs.
const PLACE_SLACK_S: f64 = 900.0;
/// A chain of places that overlap one after the other must not run through more of the period than this share.
const SPAN_MAX: f64 = 0.25;
/// Without a job that explains it, so many hosts are no coincidence, if they are one in [`HOSTS_SHARE`] as well.
const HOSTS_MIN: usize = 3;
const HOSTS_SHARE: usize = 5;

/// Series with one pattern, while they are gathered.
struct Group<'a> {
    first: &'a SeriesVerdict,
    /// Indices of the series.
    series: Vec<usize>,
    /// The interval in which it starts in each period.
    place: Place,
}

/// An interval within a period, in seconds after the place of the first series, with the texts of its ends.
#[derive(Clone)]
struct Place {
    from_s: f64,
    to_s: f64,
    from_text: String,
    to_text: String,
}

/// Groups series of several hosts that show the same pattern; `all` are in the order of the result. Hosts whose folded weeks
/// are like those of the series' belong to them.
pub(super) fn common(all: &[SeriesVerdict], zone: &str, folded: Option<&Folded>) -> Vec<Common> {
    let hosts_of = all.iter().map(host).collect::<BTreeSet<_>>().len();
    if hosts_of < 2 {
        return Vec::new();
    }
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (index, series) in all.iter().enumerate() {
        let recurs = matches!(series.verdict.kind, Kind::Periodic | Kind::Unattributed);
        // Days and nights of load are alike everywhere.
        let is_load = series.verdict.shape == Some(Shape::Wave)
            || series.verdict.looks_like_load && series.verdict.kind == Kind::Unattributed;
        if !recurs || is_load {
            continue;
        }
        match groups
            .iter_mut()
            .find_map(|group| group.joined(series, zone).map(|place| (group, place)))
        {
            Some((group, place)) => {
                group.series.push(index);
                group.place = place;
            }
            // Without a place, nothing tells whether others are at the same one.
            None => groups.extend(place(&series.verdict, &series.verdict).map(|place| Group {
                first: series,
                series: vec![index],
                place,
            })),
        }
    }
    let mut found: Vec<Common> = groups
        .iter()
        .filter_map(|group| group.concluded(all, hosts_of, zone, folded))
        .collect();
    found.sort_by_key(|common| {
        let known = (!common.jobs.is_empty(), !common.possible.is_empty());
        std::cmp::Reverse((known, common.hosts.len()))
    });
    found
}

/// The zone whose clocks a pattern follows: that of the analysis, unless another one's fit better.
fn zone_of<'a>(verdict: &'a Verdict, zone: &'a str) -> &'a str {
    verdict.clock.as_ref().map_or(zone, |clock| &clock.zone)
}

/// The host of a series, else where it was read.
fn host(series: &SeriesVerdict) -> &str {
    series.host.as_deref().unwrap_or(&series.source)
}

/// Where a pattern starts within its period, relative to that of another one.
fn place(verdict: &Verdict, first: &Verdict) -> Option<Place> {
    let period_s = verdict.period_s?;
    let phase = verdict.phase.as_ref()?;
    let after_s = phase
        .from
        .duration_since(first.phase.as_ref()?.from)
        .as_secs_f64();
    let from_s = after_s - (after_s / period_s).round() * period_s;
    Some(Place {
        from_s,
        to_s: from_s + phase.to.duration_since(phase.from).as_secs_f64(),
        from_text: phase.from_text.clone(),
        to_text: phase.to_text.clone(),
    })
}

impl Group<'_> {
    /// Returns the place of the group with one more series; `None` if that shows another pattern.
    fn joined(&self, series: &SeriesVerdict, zone: &str) -> Option<Place> {
        let (first, verdict) = (&self.first.verdict, &series.verdict);
        let (period_s, other_s) = (first.period_s?, verdict.period_s?);
        let is_same = zone_of(first, zone) == zone_of(verdict, zone)
            && first.cycle == verdict.cycle
            && first.weekdays == verdict.weekdays
            && (other_s - period_s).abs() <= PERIOD_SLACK * period_s;
        // The runs of a job that was named are its own pattern, even at the same time as another one's.
        let named = |verdict: &Verdict| {
            let class = verdict.classes.first();
            let class = class.filter(|_| verdict.kind == Kind::Periodic);
            class.map(|class| class.jobs.clone())
        };
        let contradict = match (named(first), named(verdict)) {
            (Some(one), Some(other)) => !one.iter().any(|job| other.contains(job)),
            _ => false,
        };
        if !is_same || contradict {
            return None;
        }
        let (mine, theirs) = (&self.place, place(verdict, first)?);
        let gap_s = series.gap_s.unwrap_or(0.0);
        let slack_s = PLACE_SLACK_S
            .max(gap_s)
            .max(self.first.gap_s.unwrap_or(0.0));
        let apart_s = (theirs.from_s - mine.to_s).max(mine.from_s - theirs.to_s);
        let union = union(mine, &theirs);
        let is_near = apart_s <= slack_s;
        let is_short = union.to_s - union.from_s <= SPAN_MAX * period_s + slack_s;
        (is_near && is_short).then_some(union)
    }

    /// Returns the conclusion; `None` if too few hosts show the pattern.
    fn concluded(
        &self,
        all: &[SeriesVerdict],
        hosts_of: usize,
        zone: &str,
        folded: Option<&Folded>,
    ) -> Option<Common> {
        let mut hosts: BTreeSet<&str> =
            self.series.iter().map(|&index| host(&all[index])).collect();
        let (jobs, possible) = self.jobs(all, hosts.len());
        let alike = alike(&hosts, folded);
        let hosts_of = folded.map_or(hosts_of, |folded| folded.hosts);
        let is_enough = if !alike.is_empty() {
            true
        } else if jobs.is_empty() && possible.is_empty() {
            hosts.len() >= HOSTS_MIN && hosts.len() * HOSTS_SHARE >= hosts_of
        } else {
            hosts.len() > 1
        };
        let cause = match (jobs.as_slice(), possible.as_slice()) {
            ([_], _) => format!("one job fits all: {}", names(&jobs)),
            ([_, ..], _) => format!("jobs that fit all: {}", names(&jobs)),
            ([], [_, ..]) => format!("possible, not proven: {}", names(&possible)),
            ([], []) => "no known job explains all".to_owned(),
        };
        hosts.extend(alike);
        // Files may be of one host.
        let are_hosts = all.iter().all(|series| series.host.is_some());
        let what = if are_hosts { "hosts" } else { "sources" };
        is_enough.then(|| Common {
            series: self.series.clone(),
            sentence: self.sentence((hosts.len(), hosts_of), what, &cause, zone),
            are_hosts,
            hosts: hosts.into_iter().map(str::to_owned).collect(),
            hosts_of,
            jobs,
            possible,
        })
    }

    /// Returns the jobs that fit every host, and explain at least half of the series, and those that fit only. Each
    /// series has a vote: what one of them names may be the coincidence of its noise.
    fn jobs(&self, all: &[SeriesVerdict], hosts: usize) -> (Vec<String>, Vec<String>) {
        #[derive(Default)]
        struct Votes<'a> {
            named: usize,
            hosts: BTreeSet<&'a str>,
        }
        let mut votes: BTreeMap<&str, Votes<'_>> = BTreeMap::new();
        for &index in &self.series {
            let series = &all[index];
            for (rank, class) in series.verdict.classes.iter().enumerate() {
                for job in &class.jobs {
                    let votes = votes.entry(job).or_default();
                    let is_named = rank == 0 && series.verdict.kind == Kind::Periodic;
                    votes.named += usize::from(is_named);
                    votes.hosts.insert(host(series));
                }
            }
        }
        let fits = votes.iter().filter(|(_, votes)| votes.hosts.len() == hosts);
        let (mut jobs, mut possible) = (Vec::new(), Vec::new());
        for (job, votes) in fits {
            let list = if votes.named * 2 >= self.series.len() {
                &mut jobs
            } else {
                &mut possible
            };
            list.push((*job).to_owned());
        }
        if !jobs.is_empty() {
            possible.clear();
        }
        (jobs, possible)
    }

    fn sentence(
        &self,
        (hosts, hosts_of): (usize, usize),
        what: &str,
        cause: &str,
        zone: &str,
    ) -> String {
        let verdict = &self.first.verdict;
        let of = if hosts == hosts_of {
            format!("All {} {what}", grouped_usize(hosts))
        } else {
            let (hosts, hosts_of) = (grouped_usize(hosts), grouped_usize(hosts_of));
            format!("{hosts} of {hosts_of} {what}")
        };
        let often = match &verdict.weekdays {
            Some(days) => units::date::on_weekdays(&weekdays::named(days)),
            None => every(verdict.cycle, verdict.period_s.unwrap_or(0.0)),
        };
        let place = if verdict.cycle == Some(Cycle::Fixed) {
            String::new()
        } else {
            let from = self.place.from_text.as_str();
            let to = self.place.to_text.as_str();
            // `Monday 00:00 to 01:40`, where both are on one day.
            let day = from.rsplit_once(' ').map_or("", |(day, _)| day);
            let to = to.strip_prefix(day).map_or(to, str::trim_start);
            format!(", {from} to {to} {}", zone_of(verdict, zone))
        };
        format!("{of}: {often}{place}; {cause}.")
    }
}

/// The hosts whose folded weeks are like those of `hosts`: of which most were read whole and are among them.
fn alike<'a>(hosts: &BTreeSet<&str>, folded: Option<&'a Folded>) -> Vec<&'a str> {
    let groups = folded.iter().flat_map(|folded| &folded.groups);
    let shown_here = |kin: &&Kin| {
        let here = kin
            .shown
            .iter()
            .filter(|name| hosts.contains(name.as_str()));
        here.count() * 2 > kin.shown.len()
    };
    let alike = groups.filter(shown_here).flat_map(|kin| &kin.hosts);
    alike.map(String::as_str).collect()
}

fn union(a: &Place, b: &Place) -> Place {
    let (first, last) = (
        if a.from_s <= b.from_s { a } else { b },
        if a.to_s >= b.to_s { a } else { b },
    );
    Place {
        from_s: first.from_s,
        to_s: last.to_s,
        from_text: first.from_text.clone(),
        to_text: last.to_text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::input::{JobRuns, Options};
    use crate::verdict::analyse::explain;
    use facts::series::{Better, Dating, Series};
    use jiff::Timestamp;
    use schedule::{Delays, Run, Seen};

    const START_S: i64 = 1_780_272_000; // a Monday

    /// Four hosts that are slow on Mondays at 03:00, ten weeks of hours.
    fn verdicts() -> Vec<SeriesVerdict> {
        let times_us: Vec<i64> = (0..10 * 168)
            .map(|hour| (START_S + hour * 3_600) * 1_000_000)
            .collect();
        let series: Vec<Series> = (0_u32..4)
            .map(|host| Series {
                name: "await".to_owned(),
                source: "test".to_owned(),
                labels: [("host".to_owned(), format!("db{host}"))].into(),
                unit: None,
                better: Some(Better::Lower),
                dating: Dating::Absolute,
                sample_of: None,
                values: (0_u32..10 * 168)
                    .map(|hour| {
                        let mixed = (hour * 4 + host).wrapping_mul(0x045d_9f3b);
                        let mixed = (mixed ^ mixed >> 16).wrapping_mul(0x045d_9f3b);
                        let noise = (mixed ^ mixed >> 16) % 256;
                        let more = if hour % 168 == 3 { 900.0 } else { 0.0 };
                        1_000.0 + f64::from(noise) + more
                    })
                    .collect(),
                times_us: times_us.clone(),
                notes: Vec::new(),
                discard_time: None,
            })
            .collect();
        let at = |second| Timestamp::from_second(second).unwrap();
        let runs = (0..10).map(|week| at(START_S + week * 604_800 + 3 * 3_600));
        let trim = JobRuns {
            name: "trim".to_owned(),
            runs: runs
                .map(|at| Run {
                    job: "trim".to_owned(),
                    earliest: at,
                    latest: at,
                    delays: Delays::Either,
                    len_s: None,
                    seen: Seen::Given,
                    evidence: "trims.csv".into(),
                })
                .collect(),
            unknown: Vec::new(),
            by_hand: None,
        };
        explain(&series, &[trim], &Options::default()).series
    }

    /// What the noise of one series makes of it is outvoted, however sure that one is.
    #[test]
    fn each_series_has_a_vote_on_the_job() {
        let named = verdicts();
        let of = |all: &[SeriesVerdict]| common(all, "UTC", None).remove(0);
        assert_eq!(of(&named).jobs, ["trim"]);
        assert_eq!(of(&named).hosts.len(), 4);
        // Near misses are no other pattern, and no contradiction.
        let mut near = named.clone();
        near[1].verdict.kind = Kind::Unattributed;
        near[2].verdict.kind = Kind::Unattributed;
        assert_eq!(of(&near).jobs, ["trim"]);
        assert_eq!(of(&near).hosts.len(), 4);
        near[3].verdict.kind = Kind::Unattributed;
        let found = of(&near);
        assert_eq!(
            (found.jobs.len(), found.possible),
            (0, vec!["trim".to_owned()])
        );
        assert!(
            found.sentence.ends_with("possible, not proven: trim."),
            "{}",
            found.sentence
        );
        // It does not fit one of the hosts at all.
        near[3].verdict.classes.clear();
        let found = of(&near);
        assert_eq!((found.jobs.len(), found.possible.len()), (0, 0));
        assert!(
            found.sentence.ends_with("no known job explains all."),
            "{}",
            found.sentence
        );
        // Another job that was named is another pattern.
        let mut other = named.clone();
        other[0].verdict.classes[0].jobs = vec!["other".to_owned()];
        let groups = common(&other, "UTC", None);
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].hosts.len(), 3);
    }

    #[test]
    fn hosts_whose_folded_weeks_are_alike_belong_to_them() {
        let named = verdicts();
        let kin = |shown: &[&str]| Folded {
            groups: vec![Kin {
                hosts: (0..300).map(|host| format!("db{host}")).collect(),
                shown: shown.iter().map(|&name| name.to_owned()).collect(),
            }],
            hosts: 1000,
        };
        let of = |folded: &Folded| common(&named, "UTC", Some(folded)).remove(0);
        let found = of(&kin(&["db0", "db1", "db2", "db3"]));
        assert_eq!((found.hosts.len(), found.hosts_of), (300, 1000));
        assert_eq!(found.series.len(), 4);
        assert!(
            found.sentence.starts_with("300 of 1,000 hosts: every week"),
            "{}",
            found.sentence
        );
        // Half of those that were read show something else.
        let found = of(&kin(&["db0", "db1", "other", "another"]));
        assert_eq!((found.hosts.len(), found.hosts_of), (4, 1000));
    }

    #[test]
    fn load_and_other_clocks_are_no_common_pattern() {
        let named = verdicts();
        let mut load = named.clone();
        for one in &mut load {
            one.verdict.kind = Kind::Unattributed;
            one.verdict.looks_like_load = true;
        }
        assert_eq!(common(&load, "UTC", None), []);
        let mut apart = named;
        for (one, hours) in apart.iter_mut().zip([0, 5, 10, 15]) {
            let phase = one.verdict.phase.as_mut().unwrap();
            for end in [&mut phase.from, &mut phase.to] {
                *end += jiff::SignedDuration::from_hours(hours);
            }
        }
        assert_eq!(common(&apart, "UTC", None), []);
    }
}
