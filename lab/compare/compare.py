"""Runs two builds on the same inputs and compares their output: see run.sh."""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter, namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import clusters
import drives
import series
import servers
from difference import differences, shown

REPOSITORY = Path(__file__).resolve().parents[2]
KINDS = ["hosts", "servers", "cases", "explain", "reroute", "what-if", "cost", "ssd", "trim"]
TIMEOUT_S = 900
SHOWN_MAX = 40

# One call of the program. `left_out` lists fields that vary from call to call on the same machine.
Case = namedtuple("Case", ["kind", "name", "arguments", "left_out"], defaults=[frozenset()])
Outcome = namedtuple("Outcome", ["case", "facts", "words"])


def main():
    options = _options()
    only = options.only.split(",") if options.only else KINDS
    unknown = set(only) - set(KINDS)
    if unknown:
        sys.exit(f"unknown kinds: {', '.join(sorted(unknown))}; known are {', '.join(KINDS)}")
    work = Path(options.work)
    cases = []
    for kind in only:
        if kind == "reroute" or (kind in ("what-if", "cost") and "reroute" not in only):
            cases += [case for case in _clusters(work, options) if case.kind in only]
        elif kind in SOURCES:
            cases += SOURCES[kind](work, options)
    # Run duplicate cases only once.
    cases = list(dict.fromkeys(cases))
    with ThreadPoolExecutor(options.parallel) as pool:
        outcomes = list(pool.map(lambda case: _compare(case, options.old, options.new, work), cases))
    failed = _report(only, outcomes, options.words)
    return 1 if failed else 0


def _options():
    parser = argparse.ArgumentParser()
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("work")
    parser.add_argument("--words", action="store_true", help="show what is worded differently")
    parser.add_argument("--only", help="kinds, separated by commas: " + ",".join(KINDS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--series", type=int, default=200)
    parser.add_argument("--clusters", type=int, default=200)
    parser.add_argument("--servers", type=int, default=40)
    parser.add_argument("--parallel", type=int, default=os.cpu_count())
    return parser.parse_args()


def _hosts(_, options):
    """The recorded hosts, unchanged and with a store's data path on each of their mounts."""
    cases = []
    recorded = [["--bundle", str(path)] for path in sorted((REPOSITORY / "lab/hosts").glob("*.tar.zst"))]
    recorded += [
        ["--root", str(path)] for path in sorted((REPOSITORY / "lab/explain-cases").iterdir()) if path.is_dir()
    ]
    for host in recorded:
        check = ["check", *host]
        # A directory is read at run time, a bundle was recorded once.
        left_out = frozenset({"read_at"} if host[0] == "--root" else ())
        name = Path(host[1]).name
        cases.append(Case("hosts", name, (*check, "--format", "json"), left_out))
        answer, _ = _run(options.old, cases[-1], Path.cwd())
        for mount in answer.get("result", {}).get("mounts", []):
            if mount["stack"]:
                point = mount["mount_point"]
                arguments = (*check, "--data-path", point, "--format", "json")
                cases.append(Case("hosts", f"{name}, data on {point}", arguments, left_out))
    return cases


def _servers(work, options):
    """Recorded servers: unchanged, together with a host, from a bundle, and with modified responses."""
    left_out = frozenset({"read_at"})
    pages = servers.recorded(REPOSITORY / "crates/cluster/tests/data")
    host = str(REPOSITORY / "lab/hosts/crypt-drops-discards.tar.zst")
    cases = []
    for name, answers in pages.items():
        url = servers.serve(answers)
        cases.append(Case("servers", name, ("check", "--cluster", url, "--format", "json"), left_out))
        arguments = ("check", "--cluster", url, "--bundle", host, "--format", "json")
        cases.append(Case("servers", f"{name} and a host", arguments, left_out))
        bundle = work / f"{name}.tar.zst"
        subprocess.run(
            [options.old, "collect", "-q", "--root", str(REPOSITORY / "lab/explain-cases/mongo-03")]
            + ["--cluster", url, "-o", str(bundle)],
            check=True,
            stdin=subprocess.DEVNULL,
            env=_environment(),
        )
        cases.append(Case("servers", f"{name}, kept", ("check", "--bundle", str(bundle), "--format", "json")))
    for seed in range(options.seed, options.seed + options.servers):
        name, answers = servers.changed(pages, seed)
        url = servers.serve(answers)
        arguments = ("check", "--cluster", url, "--format", "json")
        cases.append(Case("servers", f"{name} changed, seed {seed}", arguments, left_out))
    return cases


def _cases(work, _):
    """The cases of lab/explain-cases/run.sh."""
    cases = REPOSITORY / "lab/explain-cases"
    curve, trims = str(work / "sawtooth.csv"), str(work / "trims.csv")
    calls = {
        "jobs": [curve, "--better", "higher", "--jobs", str(cases / "rally-2016")],
        "blind": [curve, "--better", "higher", "--jobs", "none"],
        "events": [curve, "--better", "higher", "--jobs", "none", "--events", trims],
        "iostat": [str(cases / "mongo-03.iostat.txt"), "--jobs", str(cases / "mongo-03")],
    }
    return [
        Case("cases", name, ("explain", *arguments, "--tz", "UTC", "--format", "json"))
        for name, arguments in calls.items()
    ]


def _explain(work, options):
    return [
        Case("explain", f"seed {seed}", (*series.make(work / f"series-{seed}", seed), "--format", "json"))
        for seed in range(options.seed, options.seed + options.series)
    ]


def _clusters(work, options):
    return [
        Case(kind, f"seed {seed}", (*arguments, "--format", "json"))
        for seed in range(options.seed, options.seed + options.clusters)
        for kind, arguments in clusters.make(work / f"cluster-{seed}", seed).items()
    ]


def _ssd(*_):
    return [Case("ssd", name, (*arguments, "--format", "json")) for name, arguments in drives.calls().items()]


def _trim(*_):
    """Dry runs and refusals on this machine's mounts; nothing is changed."""
    # Other programs write in the meantime.
    left_out = frozenset({"at", "free_bytes", "expected_bytes_max", "estimated_s", "free_extents"})
    with open("/proc/self/mounts") as mounts:
        points = list(dict.fromkeys(line.split()[1] for line in mounts))
    calls = {point: [point] for point in points if "\\" not in point}
    calls |= {
        "no mount": ["/nonexistent"],
        "a path below a mount": ["/etc/passwd"],
        "all": ["--all", "--yes"],
        "all, not agreed to": ["--all"],
        "now and a window": ["--now", "--window", "01:00-02:00", "/"],
        "a rate": ["--rate", "100MiB/s", "/"],
        "forced": ["--force", "/"],
    }
    cases = [
        Case("trim", name, ("trim", "--dry-run", *arguments, "--format", "json"), left_out)
        for name, arguments in calls.items()
    ]
    return [*cases, Case("trim", "status", ("trim", "--status", "--format", "json"), left_out)]


SOURCES = {
    "hosts": _hosts,
    "servers": _servers,
    "cases": _cases,
    "explain": _explain,
    "ssd": _ssd,
    "trim": _trim,
}


def _environment():
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "TMPDIR")}
    return kept | {"LANG": "C.UTF-8", "TZ": "UTC", "NO_COLOR": "1", "COLUMNS": "80"}


def _run(program, case, work):
    """Output of one build, with its exit code and standard error."""
    done = subprocess.run(
        [program, *case.arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=work,
        env=_environment(),
        timeout=TIMEOUT_S,
    )
    text = done.stdout.decode(errors="replace")
    try:
        answer = json.loads(text) if text.strip() else {}
    except ValueError:
        try:
            answer = {"lines": [json.loads(line) for line in text.splitlines()]}
        except ValueError:
            answer = {"not_json": text}
    if not isinstance(answer, dict):
        answer = {"answer": answer}
    answer["exit_code"] = done.returncode
    answer["stderr"] = done.stderr.decode(errors="replace")
    return answer, done.returncode


def _compare(case, old, new, work):
    before, _ = _run(old, case, work)
    after, _ = _run(new, case, work)
    if "not_json" in before:
        return Outcome(case, [("$", before["not_json"], "an answer that is JSON was expected")], [])
    facts, words = differences(before, after, case.left_out)
    return Outcome(case, facts, words)


def _report(kinds, outcomes, with_words):
    counts = Counter()
    for outcome in outcomes:
        state = "facts" if outcome.facts else "words" if outcome.words else "same"
        counts[outcome.case.kind, state] += 1
    print("| kind | inputs | identical | wording only | facts differ |")
    print("|---|---:|---:|---:|---:|")
    sums = Counter()
    for kind in [kind for kind in KINDS if kind in kinds]:
        row = {state: counts[kind, state] for state in ("same", "words", "facts")}
        sums.update(row)
        print(f"| {kind} | {sum(row.values())} | {row['same']} | {row['words']} | {row['facts']} |")
    print(f"| **all** | {sum(sums.values())} | {sums['same']} | {sums['words']} | {sums['facts']} |")
    for outcome in outcomes:
        if outcome.facts:
            _list("facts", outcome.case, outcome.facts)
        if with_words and outcome.words:
            _list("wording", outcome.case, outcome.words)
    return sums["facts"]


def _list(what, case, found):
    print(f"\n{case.kind}, {case.name}: {what}\n  trimtab {' '.join(case.arguments)}")
    for path, old, new in found[:SHOWN_MAX]:
        print(f"  {path}\n    - {shown(old)}\n    + {shown(new)}")
    if len(found) > SHOWN_MAX:
        print(f"  ... and {len(found) - SHOWN_MAX} more")


if __name__ == "__main__":
    sys.exit(main())
