"""Runs planned passes in fast time beside a cluster: passes.py TRIMTAB URL WORK WEEKS; see cluster.sh."""

import datetime
import json
import subprocess
import sys
import threading
import time
import urllib.request

trimtab, url, work, weeks = sys.argv[1], sys.argv[2].rstrip("/"), sys.argv[3], int(sys.argv[4])
SLOT_S = 12
PASS_S = 11


def ask(method, path, body=None):
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url + path, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def replicas(count):
    ask("PUT", "/logs/_settings", {"index": {"number_of_replicas": count}})


health = []  # (time, whether it is green and at rest)
over = threading.Event()


def watch():
    while not over.is_set():
        now = time.time()
        state = ask("GET", "/_cluster/health")
        health.append((now, state["status"] == "green" and state["relocating_shards"] == 0))
        time.sleep(0.1)


ask("PUT", "/logs", {"settings": {"number_of_shards": 3, "number_of_replicas": 1}})
ask("GET", "/_cluster/health?wait_for_status=green&timeout=60s")
for number in range(500):
    ask("POST", "/logs/_doc", {"text": "x" * 1000, "number": number})
watcher = threading.Thread(target=watch, daemon=True)
watcher.start()

# The slots in the order of the week, as the plan has them.
days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
nodes = json.load(open(f"{work}/plan.json"))["result"]["nodes"]
nodes.sort(key=lambda node: (days.index(node["slot"].split()[0]), node["slot"].split()[1]))
passes = []  # (node, began, ended, exit code, what it said)


def run(node):
    now = datetime.datetime.now(datetime.timezone.utc)
    window = f"{now:%H:%M}-{now + datetime.timedelta(hours=2):%H:%M}"
    began = time.time()
    done = subprocess.run(
        [trimtab, "trim", "--window", window, "--tz", "UTC", "--deadline", f"{PASS_S}s", "--require-green", url,
         "--state", f"{work}/state", f"{work}/{node}"], capture_output=True, text=True)
    passes.append((node, began, time.time(), done.returncode, done.stdout + done.stderr))


begin = time.time()
threads = []
for slot in range(weeks * len(nodes)):
    time.sleep(max(0, begin + slot * SLOT_S - time.time()))
    # In every fifth week a copy has no node: until the middle of a slot, or for longer than it lasts.
    week, at = divmod(slot, len(nodes))
    if week % 5 == 3 and at == 0:
        replicas(3)
    if week % 5 == 3 and at == 2:
        replicas(1)
    thread = threading.Thread(target=run, args=(nodes[at]["name"],))
    thread.start()
    threads.append(thread)
for thread in threads:
    thread.join()
over.set()
watcher.join()

audit = [json.loads(line) for line in open(f"{work}/state/audit.jsonl")]
at = datetime.datetime.fromisoformat
spans = sorted((at(line["began_at"]).timestamp(), at(line["ended_at"]).timestamp(), line["mount_point"])
               for line in audit if line["steps"])
overlaps = sum(first[1] > second[0] for first, second in zip(spans, spans[1:]))
overlaps_of_calls = sum(first[2] > second[1] for first, second in zip(passes, passes[1:]))
yellow = [now for now, is_green in health if not is_green]
# Where the two samples around a start agree that it is not green.
def is_green_at(moment):
    before = [green for now, green in health if now <= moment][-1:]
    after = [green for now, green in health if now > moment][:1]
    return any(before + after)


started_yellow = [span for span in spans if not is_green_at(span[0])]
waited = [one for one in passes if one[3] == 1 and "yellow" in one[4]]
complete = sum(line["outcome"] == "complete" for line in audit)
print(f"  {len(passes)} planned passes, {complete} complete, {len(waited)} ended within their slot while the cluster was "
      f"yellow; {len(yellow)} of {len(health)} samples were not green")
# Why the others ended before they were done.
for one in passes:
    if one[3] == 1 and one not in waited:
        said = " ".join(one[4].split())
        print(f"  {one[0]}: {said[:300]}")
print(f"  two at once: {overlaps + overlaps_of_calls}; started while not green: {len(started_yellow)}")
wrong = [one for one in passes if one[3] not in (0, 1)]
for one in wrong:
    print(one)
sys.exit(bool(overlaps or overlaps_of_calls or started_yellow or wrong or not waited or complete < len(passes) / 2))
