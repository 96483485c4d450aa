//! Checks that the jobs and the series are from the same host.

use super::jobs;
use super::load::Loaded;
use facts::series::HOST_LABELS;

/// A warning if this host's jobs are considered for the series of another host.
pub(super) fn caution(loaded: &Loaded, found: &jobs::Found) -> Option<String> {
    let this_host = found.this_host.as_deref()?;
    if found.jobs.is_empty() {
        return None;
    }
    let hint = "--jobs BUNDLE names those of the other host, --jobs none weighs none";
    let is_this = |name: &str| {
        let name = name.split(':').next().unwrap_or(name);
        let short = |name: &str| name.split('.').next().unwrap_or(name).to_ascii_lowercase();
        name == "localhost" || name.starts_with("127.") || short(name) == short(this_host)
    };
    let mut others = loaded.reading.series.iter().filter_map(|series| {
        let names = HOST_LABELS
            .iter()
            .filter_map(|label| series.labels.get(*label));
        let names: Vec<&String> = names.collect();
        (!names.is_empty() && !names.iter().any(|name| is_this(name))).then(|| names[0].clone())
    });
    if let Some(name) = others.next() {
        let name = units::escape::escape(&name).into_owned();
        return Some(format!(
            "the jobs are this host's ({this_host}), but series are of {name}: {hint}"
        ));
    }
    loaded.is_remote.then(|| {
        format!("the jobs are this host's ({this_host}), but another host was asked: {hint}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::series::Series;

    fn loaded(labels: &[(&str, &str)], is_remote: bool) -> Loaded {
        let series = Series {
            name: "load".to_owned(),
            source: "x".to_owned(),
            labels: labels
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            unit: None,
            better: None,
            dating: facts::series::Dating::Absolute,
            sample_of: None,
            times_us: vec![0],
            values: vec![1.0],
            notes: Vec::new(),
            discard_time: None,
        };
        let mut loaded = Loaded {
            is_remote,
            ..Loaded::default()
        };
        loaded.reading.series.push(series);
        loaded
    }

    #[test]
    fn jobs_of_another_host_are_told() {
        let mut found = jobs::find("none").unwrap();
        found.this_host = Some("es1.example.org".to_owned());
        found.from = Some("this host".to_owned());
        // No jobs, no warning.
        assert_eq!(caution(&loaded(&[("host", "es2")], false), &found), None);
        found.jobs = vec![facts::host::Job::new("x".to_owned(), String::new())];
        for labels in [
            &[("host", "ES1")][..],
            &[("instance", "localhost:9100")],
            &[("instance", "es1.example.org:9100")],
            &[],
        ] {
            assert_eq!(caution(&loaded(labels, false), &found), None);
        }
        let told = caution(&loaded(&[("instance", "es2:9100")], false), &found).unwrap();
        assert!(
            told.contains("es2:9100") && told.contains("--jobs"),
            "{told}"
        );
        assert!(caution(&loaded(&[], true), &found).is_some());
        found.this_host = None;
        assert_eq!(caution(&loaded(&[], true), &found), None);
    }
}
