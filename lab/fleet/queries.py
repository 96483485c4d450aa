#!/usr/bin/env python3
"""Asks a server what the panels of the dashboard ask: URL. Fails for a panel without an answer, or one that takes a second."""
import json
import re
import sys
import time
import urllib.request

import dashboard

URL = sys.argv[1]
# What the queries of the panels are in the server's language.
CLAUSES = {
    r"^(\S+) (>=|<) (now-\S+)$": lambda found: {"range": {found[1]: {"gte" if found[2] == ">=" else "lt": found[3]}}},
    r"^(\S+): (\S+)$": lambda found: {"term": {found[1]: found[2] == "true" if found[2] in ("true", "false") else found[2]}},
}


def clause(query):
    for pattern, make in CLAUSES.items():
        if found := re.match(pattern, query):
            return make(found)
    sys.exit(f"{query}: no such query is known here")


def aggregations(wanted):
    """Nested as the dashboards nest them: buckets in their order, metrics in each."""
    metrics = {one["id"]: {one["type"]: {"field": one["params"]["field"]}} for one in wanted if one["schema"] == "metric" and one["type"] != "count"}
    inner = dict(metrics)
    for bucket in reversed([one for one in wanted if one["schema"] != "metric"]):
        params = bucket["params"]
        by = params["orderBy"] if params["orderBy"] in metrics else "_count"
        inner = metrics | {bucket["id"]: {"terms": {"field": params["field"], "size": params["size"], "order": {by: params["order"]}}, "aggs": inner}}
    return inner


slow = 0
for name, title, _, index, query, wanted, _, _ in dashboard.PANELS:
    body = {"size": 0, "track_total_hits": True, "query": {"bool": {"filter": [clause(query)]}}, "aggs": aggregations(wanted)}
    request = urllib.request.Request(f"{URL.rstrip('/')}/{index}/_search?request_cache=false", json.dumps(body).encode(), {"Content-Type": "application/json"})
    began = time.monotonic()
    answer = json.load(urllib.request.urlopen(request, timeout=60))
    took = time.monotonic() - began
    hits = answer["hits"]["total"]["value"]
    buckets = [len(found["buckets"]) for found in answer.get("aggregations", {}).values() if "buckets" in found]
    print(f"  {title}: {hits} documents, {sum(buckets)} rows, {took * 1000:.0f} ms")
    # All hosts can be judged and were looked at today: those two panels are empty.
    if name not in ("blind", "gone") and (hits == 0 or buckets and not sum(buckets)):
        sys.exit(f"{title}: nothing")
    slow += took > 1
sys.exit(f"{slow} queries took longer than a second" if slow else 0)
