//! Renderings of an analysis: text, page, Markdown and JSON.

use crate::explained::{self, Case};
use crate::schemas::{self, assert_valid};
use explain::verdict::Kind;
use facts::series::Dating;
use jsonschema::Validator;
use page::Terminal;
use report::explain::json;
use report::{Answer as _, ExplainDetail, ExplainResult, explain_page};
use serde_json::Value;

/// Detail on a terminal.
const BRIEF: ExplainDetail = ExplainDetail {
    verbose: false,
    brief: true,
    all: false,
};
/// Detail on a page.
const IN_FULL: ExplainDetail = ExplainDetail {
    brief: false,
    ..BRIEF
};

fn text(case: &Case, width: usize, unicode: bool, color: bool) -> String {
    let terminal = Terminal {
        width,
        color,
        unicode,
    };
    page::terminal(&explain_page(&case.report(), BRIEF), &terminal)
}

fn plain(case: &Case) -> String {
    text(case, 80, true, false)
}

fn html(case: &Case) -> String {
    page::html(&explain_page(&case.report(), IN_FULL))
}

fn markdown(case: &Case) -> String {
    page::markdown(&explain_page(&case.report(), IN_FULL))
}

#[test]
fn text_at_80_columns() {
    for (name, case) in explained::all() {
        insta::assert_snapshot!(format!("explain_text_{name}"), plain(&case));
    }
}

/// Shows what a browser shows as well, with the tables behind the charts.
#[test]
fn markdown_in_full() {
    for (name, case) in [
        ("weekly", explained::weekly()),
        ("several", explained::several()),
        ("disks", explained::disks()),
    ] {
        insta::assert_snapshot!(format!("explain_markdown_{name}"), markdown(&case));
    }
}

#[test]
fn text_in_ascii_and_in_colour() {
    let weekly = explained::weekly();
    let ascii = text(&weekly, 80, false, false);
    assert!(ascii.is_ascii(), "{ascii}");
    insta::assert_snapshot!("explain_text_weekly_ascii", ascii);
    let color = text(&weekly, 80, true, true);
    insta::assert_snapshot!("explain_text_weekly_color", color);
    // Colour adds nothing and removes nothing.
    let mut without = String::new();
    let mut rest = color.as_str();
    while let Some(at) = rest.find('\u{1b}') {
        without.push_str(&rest[..at]);
        rest = &rest[at..];
        rest = &rest[rest.find('m').unwrap() + 1..];
    }
    without.push_str(rest);
    assert_eq!(without, plain(&weekly));
}

fn assert_fits(name: &str, shown: &str, width: usize) {
    for line in shown.lines() {
        // Text between two backticks is never wrapped.
        if !line.contains('`') {
            let columns = units::display_width(line);
            assert!(columns <= width, "{name} at {width}: {line:?}");
        }
        assert!(
            !line.chars().any(|c| c.is_control() || c == '\u{202e}'),
            "{name}: {line:?}"
        );
    }
}

#[test]
fn lines_fit_and_contain_no_control_characters() {
    for (name, case) in explained::all() {
        for width in [40, 60, 80, 120] {
            for unicode in [false, true] {
                assert_fits(name, &text(&case, width, unicode, false), width);
            }
        }
    }
}

#[test]
fn sentence_comes_first_and_nothing_is_listed_as_a_candidate() {
    let case = explained::weekly();
    let shown = plain(&case);
    assert!(
        shown.starts_with("Throughput decays 1.8 % a day"),
        "{shown}"
    );
    for (_, case) in explained::all() {
        let shown = plain(&case);
        let candidates = shown.matches("\nnothing: noise alone ").count();
        assert_eq!(candidates, case.series.len().min(5), "{shown}");
    }
}

#[test]
fn a_class_and_its_candidate_are_one_row() {
    let shown = plain(&explained::weekly());
    let table = shown
        .split_once("Explanations, most likely first")
        .unwrap()
        .1;
    let table = table.split_once("\n\n").unwrap().0;
    let rows: Vec<&str> = table.lines().filter(|line| line.contains(" %")).collect();
    assert_eq!(rows.len(), 4, "{rows:#?}");
    let cells: Vec<&str> = rows[0].split_whitespace().collect();
    assert_eq!(
        cells,
        [
            "cron.weekly",
            "(fstrim,",
            "man-db)",
            "94",
            "%",
            "improves",
            "11",
            "0",
            "0"
        ]
    );
}

#[test]
fn series_with_the_same_name_are_distinguished_by_source() {
    let part = |name: &str, source: &str| {
        let values = vec![1.0; 20];
        let mut one = explained::series(name, "2026-01-01T00:00:00Z", explained::DAY_S, values);
        one.source = source.to_owned();
        (one, explained::bare(Kind::None, "Nothing recurs."))
    };
    let case = Case::new(vec![
        part(
            "latency_ms",
            "/srv/a very long directory, as they are/es1/d.csv",
        ),
        part(
            "latency_ms",
            "/srv/a very long directory, as they are/es10/<d>.csv",
        ),
        part("load", "/srv/load.csv"),
    ]);
    let shown = plain(&case);
    let page = html(&case);
    for (title, escaped) in [
        ("latency_ms of es1/d.csv", "latency_ms of es1/d.csv"),
        (
            "latency_ms of es10/<d>.csv",
            "latency_ms of es10/&lt;d&gt;.csv",
        ),
        ("load", "load"),
    ] {
        let rows = shown
            .lines()
            .filter(|line| line.starts_with(&format!("{title}  ")));
        assert_eq!(rows.count(), 1, "{shown}");
        assert!(shown.contains(&format!("\n{title} ──")), "{shown}");
        assert!(page.contains(&format!("\">{escaped}</a></th>")), "{page}");
        assert!(page.contains(&format!("<h2>{escaped}</h2>")), "{page}");
    }
    // If the source is the same too, nothing distinguishes them.
    let case = Case::new(vec![part("x", "/srv/a.csv"), part("x", "/srv/a.csv")]);
    assert_eq!(plain(&case).matches("\nx ──").count(), 2);
}

#[test]
fn only_the_first_series_are_shown_in_detail() {
    let series = |number: usize| {
        let name = format!("s{number}");
        let values = vec![1.0; 20];
        (
            explained::series(&name, "2026-01-01T00:00:00Z", explained::DAY_S, values),
            explained::bare(Kind::None, &format!("Nothing recurs in {name}.")),
        )
    };
    let case = Case::new((0..25).map(series).collect());
    let shown = plain(&case);
    assert!(shown.contains("20 more series; `--all` shows"), "{shown}");
    assert!(
        shown.contains("Nothing recurs in s4.") && !shown.contains("Nothing recurs in s5."),
        "{shown}"
    );
    // Each of them has a row.
    assert_eq!(shown.matches(" no pattern ").count(), 25, "{shown}");
    let page = html(&case);
    assert_eq!(page.matches("<section").count(), 20);
    assert!(page.contains("href=\"#s19\"") && !page.contains("href=\"#s20\""));
    assert!(page.contains("5 more series"));
    let all = ExplainDetail { all: true, ..BRIEF };
    let shown = page::terminal(&explain_page(&case.report(), all), &Terminal::default());
    assert!(shown.contains("Nothing recurs in s24.") && !shown.contains("more series"));
}

fn validator() -> Validator {
    schemas::validator(ExplainResult::JSON_SCHEMA)
}

#[test]
fn documents_match_the_published_schema() {
    let validator = validator();
    for (_, case) in explained::all() {
        assert_valid(&validator, &json(&case.report()));
    }
    insta::assert_snapshot!("explain_json_weekly", json(&explained::weekly().report()));
}

#[test]
fn schema_requires_the_documented_fields() {
    let validator = validator();
    let document: Value = serde_json::from_str(&json(&explained::weekly().report())).unwrap();
    assert_eq!(document["schema"], "trimtab.explain/1");
    let fields = [
        ("", "schema"),
        ("", "source"),
        ("", "warnings"),
        ("/result", "series"),
        ("/result", "zone"),
        ("/result", "jobs_from"),
        ("/result/series/0", "verdict"),
        ("/result/series/0/verdict", "kind"),
        ("/result/series/0/verdict", "sentence"),
        ("/result/series/0/verdict/classes/0", "separate_by"),
    ];
    schemas::assert_required(&validator, &document, &fields);
}

/// Checks that tags are balanced and attributes quoted.
fn assert_well_formed(name: &str, page: &str) {
    const VOID: [&str; 3] = ["meta", "input", "br"];
    let mut open: Vec<String> = Vec::new();
    let mut rest = page.strip_prefix("<!doctype html>").unwrap();
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        let end = rest
            .find('>')
            .unwrap_or_else(|| panic!("{name}: a tag does not end"));
        let tag = &rest[1..end];
        rest = &rest[end + 1..];
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(closed), "{name}");
            continue;
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{name}: <{tag}>");
        let word = tag.split([' ', '\n', '/']).next().unwrap().to_owned();
        assert!(
            word.chars().all(|c| c.is_ascii_alphanumeric()),
            "{name}: <{tag}>"
        );
        if tag.ends_with('/') || VOID.contains(&word.as_str()) {
            continue;
        }
        if word == "script" || word == "style" {
            let end = rest.find(&format!("</{word}>")).unwrap();
            rest = &rest[end..];
        }
        open.push(word);
    }
    assert!(open.is_empty(), "{name}: {open:?} stay open");
}

#[test]
fn pages_are_well_formed_and_self_contained() {
    for (name, case) in explained::all() {
        let page = html(&case);
        assert_well_formed(name, &page);
        for word in [
            "http:", "https:", "@import", "url(h", "url('", "//www", "<script",
        ] {
            assert!(!page.contains(word), "{name}: {word}");
        }
        assert!(page.contains("default-src 'none'"), "{name}");
        assert!(!page.contains("NaN") && !page.contains("inf "), "{name}");
    }
}

#[test]
fn text_is_escaped_on_a_page() {
    let page = html(&explained::hostile());
    assert!(!page.contains("<img") && !page.contains("onerror=\"") && !page.contains('\u{202e}'));
    assert!(!page.contains("</script>"));
    // The unit is shown as it is written.
    assert!(page.contains("onerror=&quot;alert(1)&quot;&gt;&#39;&amp;"));
}

#[test]
fn a_page_keeps_a_spike_of_a_long_series() {
    let mut values = vec![1.0; 100_000];
    values[77_777] = 9.0;
    let long = explained::series("long", "2026-01-01T00:00:00Z", 60, values);
    let verdict = explained::bare(Kind::None, "Nothing explains it best.");
    let case = Case::new(vec![(long, verdict)]);
    let page = html(&case);
    // In the table behind the chart, in a row of its own.
    assert_eq!(page.matches("(1 to 9)").count(), 1);
    assert!(page.len() < 400_000, "{}", page.len());
    // 100,000 samples at 720 points.
    assert!(page.contains("mean of 139 samples on average"));
    assert!(!html(&explained::weekly()).contains("samples on average"));
    // A shaded column on a terminal, and a legend entry.
    assert!(plain(&case).matches('░').count() > 5);
}

#[test]
fn a_page_is_complete_without_a_script() {
    let page = html(&explained::weekly());
    for part in [
        "<svg class=\"wide\"",
        "<svg class=\"narrow\"",
        "class=\"mark m0\"",
        "class=\"mark m1\"",
        "class=\"run r0\"",
        "a: cron.weekly/fstrim, cron.weekly/man-db",
        ">Mon</text>",
        "What would change this verdict",
        "nothing: noise alone</th>",
        "Folded by week",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn disk_log_is_shown_as_a_whole() {
    let case = explained::disks();
    insta::assert_snapshot!("explain_text_disks", plain(&case));
    for width in [40, 80] {
        assert_fits("disks", &text(&case, width, false, false), width);
    }
    let page = html(&case);
    assert_well_formed("disks", &page);
    assert!(!page.contains("<img") && page.contains("15,625x"));
    assert_valid(&validator(), &json(&case.report()));
    // Dates in it change nothing: `iostat -xt` has them.
    for kind in [Kind::Undecided, Kind::None] {
        let dated = explained::disk_log(Dating::Absolute, kind);
        assert_eq!(plain(&dated).matches("Cannot tell.").count(), 0);
    }
    // All of them, if requested.
    let all = ExplainDetail { all: true, ..BRIEF };
    assert_eq!(plain(&case).matches("Cannot tell.").count(), 0);
    let shown = page::terminal(&explain_page(&case.report(), all), &Terminal::default());
    assert_eq!(shown.matches("Cannot tell.").count(), 3);
}
