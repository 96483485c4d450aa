#!/usr/bin/env python3
"""Looks at the page of `trimtab bench nightly` in Debian's Chromium: ./check.py TRIMTAB [FOLDER]

Makes a history (history.py), has the page written and explained, and checks what it must show. Screenshots and
the history stay in FOLDER, if it is given.
"""

import base64
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import history
from devtools import Browser

NIGHTS, METRICS = 400, 40
SIZE_MAX, LOAD_MS_MAX = 2_000_000, 1_000
FAULTS = []


def check(what, holds, found=""):
    print(f"{'ok  ' if holds else 'FAIL'} {what}{f': {found}' if found != '' else ''}")
    if not holds:
        FAULTS.append(what)


def write(program, folder):
    """The page, and the answer as data."""
    nights = folder / "history"
    if not nights.exists():
        history.make(nights, NIGHTS)
    started = time.monotonic()
    command = [program, "bench", "nightly", str(nights), "--jobs", str(folder / "crontab")]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    print(text)
    print(f"     written in {time.monotonic() - started:.1f} s")
    answer = subprocess.run([*command, "--format", "json"], check=True, capture_output=True, text=True).stdout
    return nights / "index.html", json.loads(answer)["result"], text


def verdicts(answer, text):
    metrics = list(zip(answer["metrics"], answer["verdicts"]))
    check("40 metrics", len(metrics) == METRICS, len(metrics))
    jobs = {}
    for metric, one in metrics:
        named = [job for group in one["verdict"]["classes"][:1] for job in group["jobs"]]
        jobs[metric["name"]] = (one["verdict"]["kind"], named)
    writes = [f"{name} {metric}" for name in ("bulk", "update")
              for metric in ("throughput", "latency p50", "latency p99")]
    for name in writes:
        check(f"fstrim is named for {name}", jobs[name][0] == "periodic" and "fstrim" in str(jobs[name][1]), jobs[name])
    wrong = [name for name, (kind, _) in jobs.items()
             if kind in ("periodic", "unattributed") and not name.startswith(("bulk ", "update "))]
    check("nothing recurs in what does not write", not wrong, wrong)
    kernel = next(one for one in answer["annotations"] if one["text"].startswith("kernel"))
    moved = [metric["name"] for metric, one in metrics for change in one["verdict"]["changes"]
             if change["from"] <= kernel["to"] and kernel["from"] <= change["to"]]
    check("aggregations change with the kernel", {"aggregate throughput", "aggregate latency p50"} <= set(moved), moved)
    check("the terminal names fstrim and the page", "fstrim" in text and "index.html" in text)


def page(browser, path, width, scheme, folder):
    tab = browser.tab()
    for domain in ["Page", "Runtime", "Log", "Network"]:
        tab.call(f"{domain}.enable")
    tab.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
             mobile=width < 500)
    tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    tab.call("Page.navigate", url=path.as_uri())
    tab.wait("Page.loadEventFired")
    print(f"\n{width} px, {scheme}")
    load = tab.value("performance.getEntriesByType('navigation')[0].loadEventEnd")
    drawn = tab.value("""(() => {
      const shown = [...document.querySelectorAll('figure.chart > svg')].filter(one => one.getBoundingClientRect().width > 0);
      return {
        figures: document.querySelectorAll('figure.chart').length,
        shown: shown.length,
        long: shown.filter(one => [...one.querySelectorAll('path.line')].some(path => path.getTotalLength() > 200)).length,
        flags: shown.filter(one => one.querySelectorAll('text.flag').length >= 2).length,
        crosses: shown.filter(one => one.querySelector('path.crosses')).length,
        jobs: shown.filter(one => one.querySelector('path.run')).length,
        letters: Math.min(...shown.map(one => one.querySelector('text').getBoundingClientRect().height)),
      };
    })()""")
    check("a chart for each metric", drawn["figures"] == drawn["shown"] == METRICS, drawn)
    check("each with a line", drawn["long"] == METRICS, drawn["long"])
    check("annotations on each", drawn["flags"] == METRICS, drawn["flags"])
    check("crosses for trials that are not valid", drawn["crosses"] == METRICS, drawn["crosses"])
    check("runs of jobs below", drawn["jobs"] == METRICS, drawn["jobs"])
    check("letters are readable", drawn["letters"] >= 10, drawn["letters"])
    words = tab.value("document.querySelector('.lead').innerText")
    check("the lead names fstrim", "fstrim" in words, words)
    texts = tab.value("document.body.innerText")
    for part in ["kernel 6.1.0-41-amd64", "moved to new racks", "other processes used 14.2 %", "it still runs, or was killed"]:
        check(f"the page says {part!r}", part in texts)
    wide = tab.value("document.scrollingElement.scrollWidth")
    check("no horizontal scrolling", wide <= width, wide)
    screenshot(tab, folder / f"top-{width}-{scheme}.png", width, 0)
    for name, title in [("change", "aggregate throughput"), ("end", "Trials that do not count")]:
        top = tab.value(f"[...document.querySelectorAll('h2, h3')].find(one => one.innerText.startsWith({json.dumps(title)})).getBoundingClientRect().top + scrollY")
        screenshot(tab, folder / f"{name}-{width}-{scheme}.png", width, top - 10)
    keyboard(tab)
    tab.value("document.querySelectorAll('details').forEach(one => one.open = true)")
    wide = tab.value("document.scrollingElement.scrollWidth")
    check("nor with everything unfolded", wide <= width, wide)
    asked = {event["params"]["request"]["url"] for event in tab.events if event["method"] == "Network.requestWillBeSent"}
    check("no request but the page itself", asked == {path.as_uri()}, asked)
    said = [event for event in tab.events if event["method"] in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")]
    check("nothing on the console", not said, said)
    tab.call("Page.close")
    return load


def keyboard(tab):
    """Everything can be reached with Tab and opened with Enter."""
    tab.value("document.activeElement.blur()")
    reached = []
    for _ in range(12):
        tab.press("Tab", 9)
        reached.append(tab.value("""(() => { const one = document.activeElement;
          return [one.tagName, getComputedStyle(one).outlineStyle !== 'none']; })()"""))
    check("Tab goes from one to the next, with a visible focus",
          all(name in ("A", "SUMMARY") and is_seen for name, is_seen in reached), reached[:3])
    tab.value("document.querySelector('figure.chart summary').focus()")
    tab.press("Enter", 13)
    rows = tab.value("""(() => { const details = document.querySelector('figure.chart details');
      return details.open && details.querySelector('table').rows.length; })()""")
    check("Enter opens a chart's values, one by one", rows and rows > NIGHTS - 20, rows)
    # The values of 40 charts hold no links, and take long to lay out again and again.
    tab.value("document.querySelectorAll('details').forEach(one => one.open = !one.closest('figure'))")
    links = tab.value("""(() => { const all = [...document.querySelectorAll('a[href], summary')];
      const lost = all.filter(one => { one.focus({preventScroll: true}); return document.activeElement !== one; });
      const trials = all.filter(one => (one.getAttribute('href') || '').endsWith('/trial.json'));
      const broken = all.filter(one => (one.getAttribute('href') || '').startsWith('#') && !document.querySelector(one.getAttribute('href')));
      return {all: all.length, lost: lost.length, broken: broken.length, trials: new Set(trials.map(one => one.href)).size}; })()""")
    check("all links and values take the focus", links["lost"] == 0, links)
    check("links within the page lead somewhere", links["broken"] == 0)
    check("a link to each trial", links["trials"] == NIGHTS - len(history.OFF), links["trials"])


def screenshot(tab, path, width, top):
    clip = {"x": 0, "y": top, "width": width, "height": 1900, "scale": 1}
    data = tab.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]
    path.write_bytes(base64.b64decode(data))


def main(program, folder):
    folder.mkdir(parents=True, exist_ok=True)
    path, answer, text = write(program, folder)
    size = path.stat().st_size
    check("the page is small", size < SIZE_MAX, f"{size:,} bytes")
    verdicts(answer, text)
    browser = Browser()
    try:
        loads = [page(browser, path, width, scheme, folder) for width in (1280, 390) for scheme in ("light", "dark")]
    finally:
        browser.close()
    print()
    # Other work on the machine makes it slower, nothing makes it faster than it is.
    check("it opens within a second", min(loads) < LOAD_MS_MAX, [round(load) for load in loads])
    if FAULTS:
        sys.exit(f"{len(FAULTS)} faults: {FAULTS}")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        main(sys.argv[1], Path(sys.argv[2]).resolve())
    else:
        with tempfile.TemporaryDirectory() as place:
            main(sys.argv[1], Path(place))
