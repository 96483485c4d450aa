#!/usr/bin/env python3
"""Fills an index with documents as Metricbeat writes them: URL INDEX [HOSTS WEEKS STEP_S AFFECTED SEED]. On the first
AFFECTED hosts something makes the disk wait for 20 to 40 minutes every Monday, from a random moment between 00:00 and
01:40 on; all have days and nights, noise that lasts, quiet weekends, and an hour's incident of their own. Prints the number of documents."""
import http.client
import json
import math
import random
import sys
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone

url, index = sys.argv[1].rstrip("/"), sys.argv[2]
hosts, weeks, step_s, affected, seed = [int(word) for word in sys.argv[3:]] + [1000, 13, 300, 600, 1][len(sys.argv) - 3:]
BEGIN = 1767571200  # Monday 2026-01-05
WEEK_S = 7 * 86400
count = weeks * WEEK_S // step_s
address = urllib.parse.urlsplit(url)
times = [datetime.fromtimestamp(BEGIN + at * step_s, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z") for at in range(count)]
waves = [math.sin(2 * math.pi * (at * step_s % 86400) / 86400 - 1.8) for at in range(count)]
quiet = [0.4 if at * step_s % WEEK_S >= 5 * 86400 else 1.0 for at in range(count)]


def values(host):
    chance = random.Random(f"{seed}/{host}")
    base, wave, noise = chance.uniform(0.3, 8), chance.uniform(0.1, 0.5), chance.uniform(0.03, 0.12)
    found = [1 + wave * waves[at] * quiet[at] for at in range(count)]
    memory = 0.0
    for at in range(count):
        memory = 0.6 * memory + chance.gauss(0, noise)
        found[at] += memory
    busy = []
    if host < affected:
        rise = chance.uniform(1, 6)
        for week in range(weeks):
            start = week * WEEK_S + chance.uniform(0, 6000)
            busy.append((start, start + chance.uniform(1200, 2400), rise))
    start = chance.uniform(0, weeks * WEEK_S - 3600)
    busy.append((start, start + 3600, chance.uniform(2, 20)))
    for first, last, rise in busy:
        for at in range(max(0, int(first // step_s)), min(count, int(last // step_s) + 2)):
            # A gauge is the mean of the time since the sample before.
            shared = min(last, at * step_s) - max(first, (at - 1) * step_s)
            found[at] += rise * max(0.0, shared) / step_s
    return base, found


def ask(connection, method, path, body):
    connection.request(method, path, body, {"Content-Type": "application/x-ndjson" if "_bulk" in path else "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    if answer.status >= 300 or b'"errors":true' in text:
        sys.exit(f"{method} {path}: {answer.status} {text[:300]!r}")
    return text


def send(host):
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=300)
    base, found = values(host)
    name = f"db{host:04}"
    kind = '{"index":{"_type":"_doc"}}\n' if old else '{"index":{}}\n'
    rest = f'","host":{{"name":"{name}"}},"event":{{"module":"system","dataset":"system.diskio"}},"system":{{"diskio":{{"iostat":{{"await":'
    lines = [f'{kind}{{"@timestamp":"{time}{rest}{base * max(value, 0.01):.3f}}}}}}}}}\n' for time, value in zip(times, found)]
    for first in range(0, count, 5000):
        ask(connection, "POST", f"/{index}/_bulk", "".join(lines[first:first + 5000]).encode())


control = http.client.HTTPConnection(address.hostname, address.port, timeout=300)
old = json.loads(ask(control, "GET", "/", None))["version"]["number"].startswith("6.")
keyword = {"type": "keyword"}
properties = {"@timestamp": {"type": "date"}, "host": {"properties": {"name": keyword}},
              "event": {"properties": {"module": keyword, "dataset": keyword}},
              "system": {"properties": {"diskio": {"properties": {"iostat": {"properties": {"await": {"type": "float"}}}}}}}}
mapping = {"properties": properties}
settings = {"number_of_shards": 2, "number_of_replicas": 0, "refresh_interval": "-1", "translog.durability": "async"}
ask(control, "PUT", f"/{index}", json.dumps({"settings": {"index": settings}, "mappings": {"_doc": mapping} if old else mapping}))
with ThreadPoolExecutor(2) as pool:
    for done, _ in enumerate(pool.map(send, range(hosts)), 1):
        if done % 100 == 0:
            print(f"{done} hosts", file=sys.stderr, flush=True)
ask(control, "POST", f"/{index}/_refresh", None)
print(hosts * count)
