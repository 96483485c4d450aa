#!/usr/bin/env python3
"""Writes one story in the many shapes in which people record it, and quiet machines.

    shapes.py OUT    writes OUT/storms/*, OUT/nulls/* and OUT/expected.json

The story is mongo-03's: a weekly fstrim discards 7 to 8.3 GB/s on each of eight
NVMe drives below md0 (RAID-0), and reads fall 7x, then 200x.  Before Linux 4.19
discards are counted as writes; since then they have counters of their own.
Written without knowledge of any parser: layouts are those of sysstat's source
(9.1.5 to 12.6.1), procps 4.0.2 and the kernel's Documentation/admin-guide/iostats.
Everything is seeded: the same script writes the same bytes.

Fields of a storm in expected.json (only what the file's own columns can say):
  first_sample_of_burst  1-based; counts every report, the one since boot too.
                         In diskstats, sample n is the difference of copies n, n+1.
  gib_per_s_per_drive    [lowest, highest] over drives and reports of the storm
  iowait_percent         [mean before, highest during]
  start                  the stamp of the first storm report (that is its END;
                         start_not_before is the stamp before it, or null)
  ever_discarded         only with one report since boot, where no storm can be dated
"""
import json
import math
import os
import random
import re
import sys
from collections import namedtuple
from dataclasses import make_dataclass, replace
from datetime import datetime, timezone

INTERVAL_S = 3
UPTIME_S = 30 * 86400
START_S = 1586760424            # 2020-04-13 06:47:04 UTC: end of the first storm report
KIB_PER_GIB = 1 << 20
DRIVES = [f"nvme{i}n1" for i in (1, 0, 2, 5, 3, 4, 6, 7)]     # the order of the record

# tps, kB_read/s, kB_wrtn/s of the four recorded reports (3 s each).
RECORDED = """
loop0    0.00 0.00 0.00           0.00 0.00 0.00           0.00 0.00 0.00                0.00 0.00 0.00
xvda     0.00 0.00 0.00           0.33 0.00 2.67           2.67 0.00 17.33               0.33 1.33 0.00
xvdd     0.00 0.00 0.00           0.00 0.00 0.00           0.00 0.00 0.00                0.00 0.00 0.00
xvdb     0.00 0.00 0.00           0.00 0.00 0.00           3.33 0.00 369.67              0.00 0.00 0.00
nvme1n1  231.67 2488.00 560.00    251.33 2685.33 544.00    910.67 360.00 7540296.00      997.00 17.33 8663381.33
nvme0n1  245.33 2478.67 561.33    256.67 2518.67 715.00    887.67 330.67 7400742.67      998.33 0.00 8689493.33
nvme2n1  241.33 2634.67 637.33    243.33 2600.00 548.00    892.33 336.00 7392044.00      1000.00 2.67 8686761.33
nvme5n1  243.67 2472.00 617.33    256.00 2454.67 570.83    890.00 293.33 7397830.67      999.67 6.67 8675158.67
nvme3n1  238.33 2493.33 525.33    238.00 2630.67 544.00    932.33 377.33 7653155.50      999.33 4.00 8678128.50
nvme4n1  235.67 2457.33 529.33    218.33 2296.00 545.33    956.00 352.00 7917478.67      923.00 8.00 8007872.00
nvme6n1  227.67 2248.00 640.00    256.67 2670.67 640.33    889.67 298.67 7421049.33      999.67 6.67 8683810.67
nvme7n1  228.67 2198.67 557.33    270.33 2545.33 732.00    892.67 293.33 7395156.00      997.67 5.33 8680789.33
md0      1931.33 19478.67 4628.00 2027.67 20408.00 4839.50 157869.00 2641.33 80663394.50 78771.67 96.00 40321945.83
"""
RECORDED_CPU = [(3.27, 0.58, 0.18), (3.39, 0.49, 0.14), (1.63, 1.34, 9.80), (0.49, 0.63, 4.84)]

Host = namedtuple("Host", "name kernel cpus")
OLD = Host("mongo-03", "4.4.0-1105-aws", 64)
OLDER = Host("mongo-03", "2.6.32-754.el6.x86_64", 64)
NEW = Host("mongo-03", "5.10.0-8-amd64", 64)
Report = namedtuple("Report", "end_s seconds cpu disks blocked")    # cpu: user, system, iowait %
Locale = namedtuple("Locale", "date stamp time comma average")
LOCALES = {
    "C": Locale("%m/%d/%y", "%m/%d/%y %H:%M:%S", "%H:%M:%S", ".", "Average:"),
    "en_US": Locale("%m/%d/%Y", "%m/%d/%Y %I:%M:%S %p", "%I:%M:%S %p", ".", "Average:"),
    "ISO": Locale("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S+0000", "%H:%M:%S", ".", "Average:"),
    "de_DE": Locale("%d.%m.%Y", "%d.%m.%Y %H:%M:%S", "%H:%M:%S", ",", "Durchschn.:"),
    "zh_CN": Locale("%Y年%m月%d日", "%Y年%m月%d日 %H时%M分%S秒", "%H时%M分%S秒", ".", "平均时间:"),
    "ja_JP": Locale("%Y年%m月%d日", "%Y年%m月%d日 %H時%M分%S秒", "%H時%M分%S秒", ".", "平均値:"),
    "ko_KR": Locale("%Y년 %m월 %d일", "%Y년 %m월 %d일 %H시 %M분 %S초", "%H시 %M분 %S초", ".", "평균값:"),
}


# r reads, w writes, d discards, f flushes per second; _kb KiB/s; _mrg merged/s; _ms the mean wait of one
OPS, TAILS = "rwdf", ("", "_kb", "_mrg", "_ms")
COUNTS = [op + tail for op in OPS for tail in TAILS]


class Disk(make_dataclass("Counts", [(name, float, 0.0) for name in COUNTS])):
    """One device in one report."""

    def queue(self):
        """Little's law: mean number in the queue = arrivals per second x seconds waited."""
        return sum(getattr(self, op) * getattr(self, op + "_ms") for op in OPS) / 1000

    def util(self):
        """Percent of time with anything in flight, if arrivals are random: 1 - exp(-queue)."""
        return self.__dict__.get("mean_util", 100 * (1 - math.exp(-self.queue())))

    def folded(self):
        """As a kernel before 4.19 counts: discards are writes, and flushes are not counted."""
        discards = Disk(w=self.d, w_kb=self.d_kb, w_mrg=self.d_mrg, w_ms=self.d_ms)
        return combined([replace(self, d=0.0, d_kb=0.0, d_mrg=0.0, d_ms=0.0, f=0.0, f_ms=0.0), discards])


def combined(disks, share=1.0):
    """The sum of rates (times share: their mean); waits weighted by requests, so that queues add up, too."""
    new = {name: sum(getattr(disk, name) for disk in disks) * share for name in COUNTS}
    for op in OPS:
        waited_ms = sum(getattr(disk, op) * getattr(disk, op + "_ms") for disk in disks) * share
        new[op + "_ms"] = waited_ms / new[op] if new[op] else 0.0
    return Disk(**new)


def noisy(rng, value, sigma=0.15):
    return value * math.exp(rng.gauss(0, sigma))


def varied(rng, disk, load=1.0, sigma=0.15):
    """Lognormal noise on rates, a little on sizes and waits."""
    new = {}
    for op in OPS:
        rate, size, wait = noisy(rng, load, sigma), noisy(rng, 1, 0.08), noisy(rng, 1, 0.1)
        for tail, factor in zip(TAILS, (rate, rate * size, rate, wait)):
            new[op + tail] = getattr(disk, op + tail) * factor
    return Disk(**new)


def columns(disk, seconds, knows_discards=True):
    """Every column any of the tools prints, by its title; sysstat before 12.1.2 does not see discards' counters."""
    def share(part, whole):
        return part / whole if whole else 0.0
    # Time of flushes (and of unknown discards) is in the queue, but not in await
    known = combined([replace(disk, f=0.0, f_ms=0.0, **({} if knows_discards else {"d": 0.0, "d_kb": 0.0}))])
    ios, kb, waited = known.r + known.w + known.d, known.r_kb + known.w_kb + known.d_kb, known.queue() * 1000
    value = {"tps": ios, "await": share(waited, ios), "areq-sz": share(kb, ios), "avgrq-sz": 2 * share(kb, ios),
             "aqu-sz": disk.queue(), "avgqu-sz": disk.queue(), "%util": disk.util(),
             "svctm": share(disk.util() * 10, ios), "f/s": float(disk.f), "f_await": float(disk.f_ms)}
    for op, past, sar in (("r", "read", "rd"), ("w", "wrtn", "wr"), ("d", "dscd", "dc")):
        rate, kb, merged, wait = (float(getattr(disk, op + tail)) for tail in TAILS)    # int is for totals only
        value |= {f"{op}/s": rate, f"{op}kB/s": kb, f"{op}MB/s": kb / 1024, f"{op}sec/s": 2 * kb,
                  f"{sar}_sec/s": 2 * kb, f"{op}rqm/s": merged, f"%{op}rqm": 100 * share(merged, rate + merged),
                  f"{op}_await": wait, f"{op}areq-sz": share(kb, rate), f"kB_{past}/s": kb,
                  f"MB_{past}/s": kb / 1024, f"kB_{past}": int(kb * seconds + 0.4),
                  f"MB_{past}": int(kb * seconds / 1024)}
    return value


def cell(title, value, human):
    if human and "kB" in title or human and "req-sz" in title:
        for unit in "kMGTP":
            if value < 1024 or unit == "P":
                return f"{value:.1f}{unit}"
            value /= 1024
    if human and title.startswith("%"):
        return f"{value:.1f}%"
    return str(value) if isinstance(value, int) else f"{value:.2f}"


def row(header, values, name="", human=False, comma="."):
    """A line below header: right-aligned where its titles end, as printf's widths make it."""
    line, end = "", 0
    for match in re.finditer(r"\S+", header):
        title, width, end = match.group(), match.end() - end - 1, match.end()
        if title in ("Device", "Device:"):
            line += f"{name:<13}" if match.start() == 0 else " " + name
            end = 13 if match.start() == 0 else end
        elif title in ("DEV", "CPU"):
            line += " " + name.rjust(width)
        else:
            line += " " + cell(title, values[title], human).replace(".", comma).rjust(width)
    return line


EXT_12_6 = ("Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await"
            " wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util")
HEADERS = {
    "plain-11": "Device:            tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn",
    "plain-12.0": "Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn",
    "plain-12.6": "Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd",
    "x-9.0": "Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await"
             "  svctm  %util",
    "x-10": "Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await"
            " r_await w_await  svctm  %util",
    # 12.0 prints no discards even where the kernel counts them (they came with 12.1.2).
    "x-12.0": "Device            r/s     w/s     rkB/s     wkB/s   rrqm/s   wrqm/s  %rrqm  %wrqm r_await w_await"
              " aqu-sz rareq-sz wareq-sz  svctm  %util",
    "x-12.2": EXT_12_6.replace("     f/s f_await", ""),      # flushes came with 12.3.x
    "x-12.6": EXT_12_6,
}
for _name in ("plain-11", "plain-12.6", "x-10", "x-12.6"):
    HEADERS[_name + "-m"] = HEADERS[_name].replace("kB", "MB")
HUMAN_PARTS = [part + " Device" for part in re.split(r"(?= {5}[wdf]/s)", EXT_12_6.replace("Device       ", ""))]
HUMAN_PLAIN = HEADERS["plain-12.6"].replace("Device       ", "") + " Device"
CPU_HEADER = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle"
SAR_CPU = "     CPU     %user     %nice   %system   %iowait    %steal     %idle"
SAR_OLD = "       DEV       tps  rd_sec/s  wr_sec/s  avgrq-sz  avgqu-sz     await     svctm     %util"
SAR_12 = "       DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util"


def clock(end_s, form):
    return datetime.fromtimestamp(end_s, timezone.utc).strftime(form)


def cpu_columns(cpu):
    user, system, iowait = cpu
    return {"%user": user, "%nice": 0.0, "%system": system, "%iowait": iowait, "%steal": 0.0,
            "%idle": max(0.0, 100 - user - system - iowait)}


def first_line(host, end_s, locale):
    return f"Linux {host.kernel} ({host.name}) \t{clock(end_s, locale.date)} \t_x86_64_\t({host.cpus} CPU)"


def iostat(host, reports, layout="x-12.6", where="en_US", stamped=False, human=False):
    locale = LOCALES[where]
    headers = [HEADERS[layout]] if not human else HUMAN_PARTS if layout.startswith("x") else [HUMAN_PLAIN]
    out = [first_line(host, reports[0].end_s, locale), ""]
    for report in reports:
        if stamped:
            out.append(clock(report.end_s, locale.stamp))
        cpu = [cell(title, v, human).replace(".", locale.comma) for title, v in cpu_columns(report.cpu).items()]
        out += [CPU_HEADER, "        " + "".join(f"  {v:>6}" for v in cpu)[1:], ""]
        for header in headers:
            out.append(header)
            for name, disk in report.disks.items():
                out.append(row(header, columns(disk, report.seconds, "12.0" not in layout), name, human, locale.comma))
            out.append("")
        if "12" in layout:          # 12 ends a report with a second empty line
            out.append("")
    return "\n".join(out) + "\n"


def to_json(value, depth=0):
    """As iostat and sadf indent it: with tabs; an object of plain values stays on one line."""
    inside, end = "\n" + "\t" * (depth + 1), "\n" + "\t" * depth
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, list):
        return "[" + ",".join(inside + to_json(item, depth + 1) for item in value) + end + "]"
    if not isinstance(value, dict):
        return json.dumps(value)
    flat = not any(isinstance(item, (dict, list)) for item in value.values())
    items = [f'"{key}": {to_json(item, depth + 1)}' for key, item in value.items()]
    return "{" + (", ".join(items) if flat else inside + ("," + inside).join(items) + end) + "}"


def sysstat_json(host, more, statistics, foot, version):
    head = {"nodename": host.name, "sysname": "Linux", "release": host.kernel, "machine": "x86_64",
            "number-of-cpus": host.cpus}
    return '{"sysstat": ' + to_json(version | {"hosts": [head | more | {"statistics": statistics} | foot]}) + "}\n"


def iostat_json(host, reports, extended=True, where="en_US", stamped=False):
    titles = HEADERS["plain-12.6"].split()[1:] if not extended else (
        "r/s w/s d/s f/s rkB/s wkB/s dkB/s rrqm/s wrqm/s drqm/s %rrqm %wrqm %drqm r_await w_await d_await f_await"
        " rareq-sz wareq-sz dareq-sz aqu-sz %util").split()
    statistics = []
    for report in reports:
        disks = [(name, columns(disk, report.seconds)) for name, disk in report.disks.items()]
        stamp = {"timestamp": clock(report.end_s, LOCALES[where].stamp)} if stamped else {}
        cpu = {title[1:]: v for title, v in cpu_columns(report.cpu).items()}
        statistics.append(stamp | {"avg-cpu": cpu, "disk": [
            {"disk_device": name} | {t.lstrip("%"): value[t] for t in titles} for name, value in disks]})
    return sysstat_json(host, {"date": clock(reports[0].end_s, LOCALES[where].date)}, statistics, {}, {})


def sadf_json(host, reports, old=False):
    titles = ("tps rd_sec/s wr_sec/s avgrq-sz avgqu-sz await svctm %util" if old else
              "tps rd_sec/s wr_sec/s dc_sec/s rkB/s wkB/s dkB/s avgrq-sz areq-sz avgqu-sz aqu-sz await %util").split()
    statistics = []
    for report in reports:
        disks = [(name, columns(disk, report.seconds)) for name, disk in report.disks.items()]
        statistics.append({
            "timestamp": {"date": clock(report.end_s, "%Y-%m-%d"), "time": clock(report.end_s, "%H:%M:%S"), "utc": 1,
                          "interval": report.seconds},
            "cpu-load": [{"cpu": "all"} | {title[1:]: v for title, v in cpu_columns(report.cpu).items()}],
            "disk": [{"disk-device": name} | {"util-percent" if t == "%util" else t.replace("/s", ""): value[t]
                                              for t in titles} for name, value in disks]})
    opened_s = reports[0].end_s - reports[0].seconds
    more = {"file-date": clock(opened_s, "%Y-%m-%d"), "file-utc-time": clock(opened_s, "%H:%M:%S")}
    return sysstat_json(host, more | ({} if old else {"timezone": "UTC"}), statistics, {"restarts": []},
                        {"sysdata-version": 3.10} if old else {})


def mean_of(reports):
    """Device by device, and of the CPU; of %util, too, for busy time adds up as no queue does."""
    disks = {n: combined([r.disks[n] for r in reports], 1 / len(reports)) for n in reports[0].disks}
    for name, disk in disks.items():
        disk.mean_util = sum(report.disks[name].util() for report in reports) / len(reports)
    return disks, tuple(sum(r.cpu[i] for r in reports) / len(reports) for i in range(3))


def sar(host, reports, header=SAR_12, where="en_US", live=False):
    """sar -u -d: live reports alternate CPU and disks; from a file (-f) each has one table."""
    locale = LOCALES[where]
    out = [first_line(host, reports[0].end_s, locale), ""]

    def label(text):        # printf's %-11s counts bytes, which matters for CJK
        return text + " " * max(0, 11 - len(text.encode()))

    def tables(opened, entries):
        for title in (SAR_CPU, header):
            out.append(label(opened) + title)
            for stamp, disks, cpu in entries:
                rows = {"all": cpu_columns(cpu)} if title is SAR_CPU else {n: columns(d, 1) for n, d in disks.items()}
                out.extend(label(stamp) + row(title, v, name, comma=locale.comma) for name, v in rows.items())
            out.append("")

    entries = [(clock(report.end_s, locale.time), report.disks, report.cpu) for report in reports]
    opened = [clock(reports[0].end_s - reports[0].seconds, locale.time)] + [stamp for stamp, _, _ in entries]
    mean = (locale.average, *mean_of(reports))
    for start, entry in zip(opened, entries) if live else []:
        tables(start, [entry])
    tables(locale.average if live else opened[0], [mean] if live else entries + [mean])
    return "\n".join(out)


def vmstat(host, reports, stamped=False):
    """Counts bios once, above md: not the NVMe drives again.  No discards, hence no d_kb."""
    out = ["procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----"
           + (" -----timestamp-----" if stamped else ""),
           " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st"
           + ("                 UTC" if stamped else "")]
    for report in reports:
        tops = [disk for name, disk in report.disks.items() if "md0" not in report.disks or "nvme" not in name]
        bi, bo = (int(sum(getattr(disk, key) for disk in tops)) for key in ("r_kb", "w_kb"))
        user, system, iowait = (round(v) for v in report.cpu)
        running, interrupts = max(0, round(user * host.cpus / 100)), int(4000 + (bi + min(bo, 20000)) / 4)
        out.append(f"{running:2} {report.blocked:2} {0:6} 1834512 218340 201134980 {0:4} {0:4} {bi:5} {bo:5}"
                   f" {interrupts:4} {2 * interrupts:4} {user:2} {system:2} {100 - user - system - iowait:2} {iowait:2}"
                   f" {0:2}" + (clock(report.end_s, " %Y-%m-%d %H:%M:%S") if stamped else ""))
    return "\n".join(out) + "\n"


def diskstats(host, reports, fields_shown=18):
    """Copies of /proc/diskstats as pt-stalk keeps them; one more copy than reports."""
    majors = {"loop": 7, "xvd": 202, "md": 9, "sd": 8, "vd": 254, "nvme": 259}
    # Since boot: reads, merged, sectors, ms; the same of writes; in flight, busy ms, queue ms; of discards; flushes, ms
    before = [8e7, 0, 3e9, 2e7, 4e7, 0, 9e8, 4e6, 0, 3e7, 3e7, 0, 0, 0, 0, 0, 0]
    totals = {name: [v * (name[:2] not in ("lo", "xv")) for v in before] for name in reports[0].disks}
    out = []

    def copy(end_s):
        out.append(clock(end_s, f"TS {end_s}.000000000 %Y-%m-%d %H:%M:%S"))
        for minor, (name, counters) in enumerate(totals.items()):
            major = next(number for start, number in majors.items() if name.startswith(start))
            out.append(f"{major:4} {minor:7} {name} " + " ".join(str(int(v)) for v in counters[:fields_shown - 3]))

    copy(reports[0].end_s - reports[0].seconds)
    for report in reports:
        for name, disk in report.disks.items():
            rates = []
            for op in OPS:
                rate, kb, merged, ms = (getattr(disk, op + tail) for tail in TAILS)
                rates += [rate, rate * ms] if op == "f" else [rate, merged, 2 * kb, rate * ms]
            rates[8:8] = [0, disk.util() * 10, disk.queue() * 1000]
            totals[name] = [total + rate * report.seconds for total, rate in zip(totals[name], rates)]
            totals[name][8] = round(disk.queue())       # in flight is the only one that is no counter
        copy(report.end_s)
    return "\n".join(out) + "\n"


# ---- the story ----

def raid0(members):
    """md counts requests, but no times (before 5.14 or so); it sends one discard for each 512-KiB chunk."""
    whole = combined(members)
    return Disk(r=whole.r, r_kb=whole.r_kb, w=whole.w, w_kb=whole.w_kb, d=whole.d_kb / 512, d_kb=whole.d_kb)


def recorded_story():
    rows = {line.split()[0]: [float(v) for v in line.split()[1:]] for line in RECORDED.strip().splitlines()}
    reports = []
    for n, cpu in enumerate(RECORDED_CPU):
        disks = {}
        for name, numbers in rows.items():
            tps, r_kb, w_kb = numbers[3 * n:3 * n + 3]
            r = min(0.7 * tps, r_kb / 16)
            disk = Disk(r=r, r_kb=r_kb, r_ms=0.2 * (r > 0), w=tps - r, w_kb=w_kb, w_ms=0.05 * (tps > r))
            if name in DRIVES or name == "md0":
                disk = replace(disk, f=9.67, f_ms=0.4)
                if n >= 2:      # what exceeds the usual writes is discards; merged for the drive, chunks of 512 KiB
                    w, usual_kb = 0.32 * (numbers[0] + numbers[3]) / 2, (numbers[2] + numbers[5]) / 2
                    disk = replace(disk, r_ms=(58.0, 95.0)[n - 2] * (r > 0), w=w, w_kb=usual_kb, w_ms=20.0,
                                   d=tps - r - w, d_kb=w_kb - usual_kb, d_ms=62.0, f_ms=41.0,
                                   d_mrg=(w_kb - usual_kb) / 512 - (tps - r - w))
            if name == "md0":
                disk = replace(disk, r_ms=0.0, w_ms=0.0, d_ms=0.0, d_mrg=0.0, f=0.0, f_ms=0.0)
            disks[name] = disk
        reports.append(Report(START_S + (n - 2) * INTERVAL_S, INTERVAL_S, cpu, disks, (0, 0, 31, 27)[n]))
    return reports, 2, 4


def long_story(strength=1, before=40, during=12, after=20):
    """The same with noise and an end; strength 10 makes every effect ten times clearer."""
    rng = random.Random(f"mongo-03 x{strength}")
    quiet = Disk(r=156, r_kb=2500, r_ms=0.2, w=85, w_kb=590, w_ms=0.05, f=9.7, f_ms=0.4)
    reports = []
    for n in range(before + during + after):
        storm, first = before <= n < before + during, n == before
        usual = quiet
        if storm:
            fall, d_kb = (7 if first else 200) * strength, (7.5e6 if first else 8.6e6) * strength
            usual = replace(quiet, r=156 / fall, r_kb=2500 / fall, r_ms=(58 if first else 95) * strength,
                            w_ms=20 * strength, d=d_kb / 8700, d_kb=d_kb, d_mrg=d_kb / 542, d_ms=62, f_ms=41 * strength)
        disks = {"loop0": Disk(), "xvda": varied(rng, Disk(w=0.5, w_kb=4, w_ms=0.6), sigma=0.8),
                 "xvdd": Disk(), "xvdb": Disk()}
        for name in DRIVES:
            # Discards are the drive's own full speed: less noise than what programs ask for
            disks[name] = replace(varied(rng, usual), **{k: noisy(rng, getattr(usual, k), 0.005)
                                                         for k in ("d", "d_kb", "d_mrg")})
        disks["md0"] = raid0([disks[name] for name in DRIVES])
        cpu = (noisy(rng, 0.6 if storm else 3.3, 0.1), noisy(rng, 0.7 if storm else 0.55, 0.1),
               min(85.0, noisy(rng, 7 * strength)) if storm else noisy(rng, 0.16))
        blocked = min(90, round(noisy(rng, 28 * strength))) if storm else 0
        reports.append(Report(START_S + (n - before) * INTERVAL_S, INTERVAL_S, cpu, disks, blocked))
    return reports, before, before + during


def shown(shape, reports, usual, booted, trim_kb_s=0.0):
    """What the shape's kernel counted; with the first report, since boot, whose mean has the weekly trims in it."""
    if booted:
        disks, cpu = mean_of(usual)
        for name in DRIVES if trim_kb_s else []:
            disks[name] = replace(disks[name], d=trim_kb_s / 8700, d_kb=trim_kb_s, d_ms=62.0, d_mrg=trim_kb_s / 542)
        if "md0" in disks:
            disks["md0"] = raid0([disks[name] for name in DRIVES])
        reports = [Report(reports[0].end_s - reports[0].seconds, UPTIME_S, cpu, disks, 0)] + reports
    if shape.host is not NEW:
        reports = [r._replace(disks={n: d.folded() for n, d in r.disks.items()}) for r in reports]
    return reports


# name, writer, its options, discards seen as ('discards', 'writes', nothing), host, kinds of story, zone of the stamps
Shape = namedtuple("Shape", "name writer options seen host kinds zone")
S, L = ("short",), ("short", "long", "strong")
SHAPES = [
    Shape("iostat-11-old", iostat, {"layout": "plain-11"}, "writes", OLD, L, None),
    Shape("iostat-11-old-m", iostat, {"layout": "plain-11-m"}, "writes", OLD, S, None),
    Shape("iostat-x-9.0-old", iostat, {"layout": "x-9.0"}, "writes", OLDER, L, None),
    Shape("iostat-x-10-old", iostat, {"layout": "x-10"}, "writes", OLD, L, None),
    Shape("iostat-xtm-10-old", iostat, {"layout": "x-10-m", "stamped": True}, "writes", OLD, S, "naive"),
    Shape("iostat-xt-12.0-old", iostat, {"layout": "x-12.0", "stamped": True}, "writes", OLD, S, "naive"),
    Shape("iostat-12.6", iostat, {"layout": "plain-12.6"}, "discards", NEW, L, None),
    Shape("iostat-12.6-t", iostat, {"layout": "plain-12.6", "stamped": True}, "discards", NEW, S, "naive"),
    Shape("iostat-12.6-m", iostat, {"layout": "plain-12.6-m"}, "discards", NEW, S, None),
    Shape("iostat-12.6-h", iostat, {"layout": "plain-12.6", "human": True}, "discards", NEW, S, None),
    Shape("iostat-x-12.0", iostat, {"layout": "x-12.0"}, None, NEW, S, None),
    Shape("iostat-12.0", iostat, {"layout": "plain-12.0"}, None, NEW, S, None),
    Shape("iostat-x-12.2", iostat, {"layout": "x-12.2"}, "discards", NEW, L, None),
    Shape("iostat-x-12.6", iostat, {}, "discards", NEW, S, None),
    Shape("iostat-xt-12.6", iostat, {"stamped": True}, "discards", NEW, L, "naive"),
    Shape("iostat-xt-12.6-iso", iostat, {"stamped": True, "where": "ISO"}, "discards", NEW, S, "utc"),
    Shape("iostat-xtm-12.6", iostat, {"layout": "x-12.6-m", "stamped": True}, "discards", NEW, S, "naive"),
    Shape("iostat-xh-12.6", iostat, {"human": True}, "discards", NEW, L, None),
    Shape("iostat-x-12.6-json", iostat_json, {}, "discards", NEW, S, None),
    Shape("iostat-xt-12.6-json", iostat_json, {"stamped": True}, "discards", NEW, L, "naive"),
    Shape("iostat-xt-12.6-iso-json", iostat_json, {"stamped": True, "where": "ISO"}, "discards", NEW, S, "utc"),
    Shape("iostat-t-12.6-json", iostat_json, {"extended": False, "stamped": True}, "discards", NEW, S, "naive"),
    Shape("sar-ud-10-old", sar, {"header": SAR_OLD, "live": True}, "writes", OLD, L, "naive"),
    Shape("sar-ud-12.6", sar, {}, "discards", NEW, L, "naive"),
    Shape("sar-ud-12.6-C-live", sar, {"where": "C", "live": True}, "discards", NEW, S, "naive"),
    Shape("sar-ud-12.6-zh_CN", sar, {"where": "zh_CN"}, "discards", NEW, S, "naive"),
    Shape("sadf-11-old-json", sadf_json, {"old": True}, "writes", OLD, S, "utc"),
    Shape("sadf-12.6-json", sadf_json, {}, "discards", NEW, L, "utc"),
    # Kernels 3.14 and later leave discards out of pgpgout (bio_has_data()); bo may count them only before.
    Shape("vmstat-older", vmstat, {}, "writes", OLDER, S, None),
    Shape("vmstat-t-older", vmstat, {"stamped": True}, "writes", OLDER, S, "utc"),
    Shape("vmstat", vmstat, {}, None, NEW, L, None),
    Shape("vmstat-t", vmstat, {"stamped": True}, None, NEW, L, "utc"),
    Shape("diskstats-14-old", diskstats, {"fields_shown": 14}, "writes", OLD, L, "utc"),
    Shape("diskstats-18", diskstats, {"fields_shown": 18}, "discards", NEW, L, "utc"),
    Shape("diskstats-20", diskstats, {"fields_shown": 20}, "discards", NEW, S, "utc"),
] + [Shape(f"iostat-xt-12.6-{where}", iostat, {"stamped": True, "where": where}, "discards", NEW, kinds, "naive")
     for where, kinds in (("C", S), ("zh_CN", L), ("ja_JP", S), ("ko_KR", S), ("de_DE", L))]


def expectation(shape, file, reports, first, last, booted):
    drives = shape.writer is not vmstat
    key = {"discards": "d_kb", "writes": "w_kb"}.get(shape.seen)
    rates = [getattr(report.disks[name], key) / KIB_PER_GIB for report in reports[first:last] for name in DRIVES
             if key and drives]
    quiet = [report.cpu[2] for report in reports[:first]]
    form = "%Y-%m-%dT%H:%M:%S" + ("+00:00" if shape.zone == "utc" else "")
    return {"file": file, "counts_discards": shape.seen == "discards", "old_kernel": shape.host is not NEW,
            "devices": DRIVES if drives else None, "first_report_since_boot": booted, "reports": len(reports) + booted,
            "first_sample_of_burst": first + 1 + booted,
            "gib_per_s_per_drive": [round(min(rates), 3), round(max(rates), 3)] if rates else None,
            "reads_fall": True,
            "iowait_percent": None if shape.writer is diskstats else
            [round(sum(quiet) / len(quiet), 2), round(max(report.cpu[2] for report in reports[first:last]), 2)],
            "time_known": shape.zone is not None,
            "start": clock(reports[first].end_s, form) if shape.zone else None,
            "start_not_before": clock(reports[first - 1].end_s, form) if shape.zone else None}


def write(out, file, text):
    path = os.path.join(out, file)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="\n") as handle:
        handle.write(text)


def write_shape(out, stem, shape, host, reports):
    file = stem + (".json" if "json" in shape.name else ".txt")
    write(out, file, shape.writer(host, reports, **shape.options))
    return file


def write_storms(out):
    stories = {"short": recorded_story(), "long": long_story(), "strong": long_story(strength=10)}
    expected = []
    for shape in SHAPES:
        for kind in shape.kinds:
            reports, first, last = stories[kind]
            # The record began without its report since boot (-y); longer ones have it, vmstat always.
            booted = shape.writer is vmstat or kind != "short" and shape.writer in (iostat, iostat_json)
            seen = shown(shape, reports, reports[:first], booted, trim_kb_s=530)
            file = write_shape(out, f"storms/{shape.name}.{kind}", shape, shape.host, seen)
            expected.append(expectation(shape, file, seen[booted:], first, last, booted))
    # One report since boot of an SSD: no storm can be dated, only whether it was ever discarded.
    for file, d_kb, options in (("discarded-a-lot", 45000, {}), ("never-discarded", 0, {}),
                                ("discarded-a-lot-h", 45000, {"human": True})):
        disk = Disk(r=41, r_kb=910, r_ms=0.3, w=66, w_kb=1240, w_ms=0.9, w_mrg=31, d=d_kb / 1184, d_kb=d_kb,
                    d_ms=2.4 * (d_kb > 0), d_mrg=d_kb / 11250, f=3.1, f_ms=0.6)
        boot = Report(START_S, UPTIME_S, (4.1, 1.2, 0.35), {"sda": disk}, 0)
        file = f"storms/since-boot-{file}.txt"
        write(out, file, iostat(NEW, [boot], **options))
        expected.append(dict.fromkeys(expected[0]) | {
            "file": file, "counts_discards": True, "old_kernel": False, "devices": ["sda"], "reports": 1,
            "first_report_since_boot": True, "gib_per_s_per_drive": [round(d_kb / KIB_PER_GIB, 3)] * 2,
            "reads_fall": False, "time_known": False, "ever_discarded": d_kb > 0})
    return expected


# ---- machines without harmful discards ----

# cpu: user, system, iowait %; disks: usual Disk, or partitions and last what only the whole disk counts;
# shapes besides iostat -xt; load(rng, n) multiplies report n's rates; burst(n) says whether `extra` is added to it
STEADY, NEVER = (lambda rng, n: 1.0), (lambda n: False)
Machine = namedtuple("Machine", "cpu disks shapes load burst extra", defaults=(STEADY, NEVER, Disk()))
IDLE = {"sda": [Disk(w=0.7, w_kb=6, w_ms=0.7, w_mrg=0.7, f=0.2, f_ms=0.5)]}
DATABASE = Disk(r=2900, r_kb=47500, r_ms=0.22, w=1450, w_kb=30000, w_ms=0.08, w_mrg=170, f=35, f_ms=0.4)
JOURNALED = {"sda": [Disk(r=420, r_kb=6700, r_ms=0.4, w=270, w_kb=6400, w_ms=0.9),
                     Disk(w=1600, w_kb=8200, w_ms=0.5, w_mrg=480), Disk(f=800, f_ms=3)]}
BACKUP = Disk(r=860, r_kb=440000, r_ms=2.2, r_mrg=770, w=6, w_kb=60, w_ms=1.1, f=0.3, f_ms=1.5)
MAIL = Disk(r=35, r_kb=310, r_ms=0.7, w=60, w_kb=720, w_ms=1.4, w_mrg=24, f=9, f_ms=1.2)
BUILD = Disk(r=15, r_kb=300, r_ms=0.2, w=12, w_kb=150, w_ms=0.1, f=1, f_ms=0.3)
LOGS = Disk(r=0.6, r_kb=9, r_ms=0.5, w=210, w_kb=6100, w_ms=0.8, w_mrg=190, f=5, f_ms=0.6)
NULLS = {       # shapes of old kernels too: there a burst of writes resembles discards
    "idle": Machine((0.3, 0.2, 0.01), IDLE, ("sar-ud-12.6", "vmstat-t"),
                    load=lambda rng, n: rng.choice((0, 0, 0.5, 1, 3))),
    # sync(1) of some 700 MB of dirty pages
    "idle-one-flush": Machine((0.3, 0.2, 0.05), IDLE, ("iostat-11-old", "iostat-x-10-old", "iostat-xt-12.6-zh_CN"),
                              burst=lambda n: n in (45, 46), extra=Disk(w=240, w_kb=117000, w_ms=22, w_mrg=720)),
    "database": Machine((31, 6, 2.8), {"nvme0n1": [DATABASE]}, ("diskstats-18", "iostat-xt-12.6-ja_JP")),
    "fsyncs": Machine((12, 3, 6), JOURNALED, ("diskstats-20", "sadf-12.6-json")),
    "fsyncs-daily-hump": Machine((12, 3, 6), JOURNALED, ("iostat-xt-12.6-json", "iostat-xt-12.6-de_DE"),
                                 load=lambda rng, n: 0.25 + 0.75 * math.sin(math.pi * n / 72) ** 2),
    "backup": Machine((4, 5, 9), {"sda": [BACKUP]}, ("iostat-12.6", "sar-ud-10-old")),
    "mail": Machine((3, 1.5, 1.1), {"sda": [MAIL]}, ("sadf-12.6-json", "vmstat"),
                    load=lambda rng, n: min(14, rng.paretovariate(1.3))),
    "mounted-discard": Machine((12, 2.5, 1.2), {"nvme0n1": [combined([DATABASE, Disk(
        d=55, d_kb=10500, d_ms=0.4, d_mrg=3)], 0.4)]}, ("sar-ud-12.6", "iostat-xh-12.6")),
    # dirty_expire_centisecs: every 30 s the kernel writes back what the compilers left
    "build": Machine((84, 9, 0.3), {"nvme0n1": [BUILD]}, ("diskstats-14-old", "sar-ud-10-old"),
                     burst=lambda n: n % 10 == 7, extra=Disk(w=900, w_kb=306000, w_ms=5, w_mrg=540)),
    "log-host": Machine((5, 2, 0.7), {"vda": [LOGS]}, ("iostat-x-12.2", "iostat-x-10-old")),
}


def write_nulls(out):
    listed = []
    for name, machine in NULLS.items():
        rng = random.Random(name)
        reports = []
        for n in range(72):
            load, burst, disks = machine.load(rng, n), machine.burst(n), {}
            for disk_name, usual in machine.disks.items():
                parts = [varied(rng, part, load) for part in usual]
                disks[disk_name] = combined(parts + [varied(rng, machine.extra)] * burst)
                disks |= {f"{disk_name}{'p' * (disk_name[-1] in '0123456789')}{i}": part
                          for i, part in enumerate(parts[:-1], 1)}
            user, system, iowait = (noisy(rng, v * load ** 0.5, 0.1 if v < 50 else 0.02) for v in machine.cpu)
            reports.append(Report(START_S + n * INTERVAL_S, INTERVAL_S, (user, system, iowait + 4 * burst), disks,
                                  rng.choice((0, 0, 0, 1))))
        for shape in [shape for shape in SHAPES if shape.name in ("iostat-xt-12.6",) + machine.shapes]:
            seen = shown(shape, reports, reports, shape.writer in (iostat, iostat_json, vmstat))
            file = write_shape(out, f"nulls/{name}.{shape.name}", shape, shape.host._replace(name=name, cpus=8), seen)
            listed.append({"file": file, "machine": name})
    return listed


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = sys.argv[1]
    expected = {"storms": write_storms(out), "nulls": write_nulls(out)}
    write(out, "expected.json", json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
