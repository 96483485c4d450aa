"""Some twenty invocations of `ssd` on small drives."""


def calls():
    """Names and arguments of the invocations."""
    host = ["ssd", "run", "--simulated-pages", "16384", "--days", "7", "--alone", "--capacity"]
    found = {}
    for policy in ("fifo", "d-choices:3", "d-choices:10"):
        found[f"host, {policy}"] = [*host, "400GB", "--writes-per-day", "400GB", "--policy", policy]
    for workload in ("uniform", "hot-cold:20/80", "zipf:0.99", "sequential"):
        found[f"host, {workload}"] = [*host, "400GB", "--writes-per-day", "400GB", "--workload", workload]
        found[f"host, {workload}"] += ["--op", "15%", "--seed", "3"]
    for trim in ("weekly", "daily", "online", "never", "swallowed", "Sun 06:47"):
        found[f"host, trim {trim}"] = [*host, "400GB", "--writes-per-day", "400GB", "--trim", trim]
    for workload in ("mongodb", "lsm", "lucene@80,circular-log@20/5"):
        found[f"host, {workload}"] = [*host, "300GB", "--writes-per-day", "300GB", "--workload", workload]
        found[f"host, {workload}"] += ["--page-bytes", "4KiB"]
    found["host, raid 0"] = [*host, "1TB", "--writes-per-day", "3TB", "--drives", "3", "--fill", "80%"]
    found["host, rhythm"] = [*host, "1TB", "--writes-per-day", "900GB", "--rhythm", "daily:14/20%"]
    found["host, measured"] = [
        *host, "1TB", "--writes-per-day", "1TB", "--host-written", "100TB", "--media-written", "250TB",
    ]  # fmt: skip
    found["host, used, slc cache"] = [
        *host, "500GB", "--writes-per-day", "300GB", "--history", "used:1", "--preset", "tlc-slc-cache",
    ]  # fmt: skip
    found["sweep, policies"] = [
        "ssd", "sweep", "--capacity", "400GB", "--writes-per-day", "400GB", "--days", "7",
        "--simulated-pages", "16384", "--op", "7%,15%,28%", "--policy", "greedy,fifo",
    ]  # fmt: skip
    found["sweep, schedules"] = [
        "ssd", "sweep", "--capacity", "400GB", "--writes-per-day", "400GB", "--days", "7",
        "--simulated-pages", "16384", "--fill", "50%,80%", "--trim", "weekly,never",
    ]  # fmt: skip
    for example in ("five-pages", "ten-runs", "schedules"):
        found[f"example {example}"] = ["ssd", "example", example]
    found["refused: a full drive"] = [*host, "400GB", "--writes-per-day", "1TB", "--fill", "120%"]
    return found
