#!/usr/bin/env python3
"""Prints the saved objects of a dashboard over trimtab-findings and trimtab-hosts, for OpenSearch Dashboards and Kibana
(Stack Management, Saved Objects, Import). packaging/elasticsearch/dashboard.ndjson is what it prints."""
import json

PATTERNS = ["trimtab-findings", "trimtab-hosts"]
RECENT = "@timestamp >= now-8d"


def terms(number, field, size, label, schema="bucket", by="1"):
    return {"id": str(number), "enabled": True, "type": "terms", "schema": schema, "params": {
        "field": field, "orderBy": by, "order": "desc", "size": size, "customLabel": label,
        "otherBucket": False, "missingBucket": False}}


def metric(number, kind, field=None, label=""):
    return {"id": str(number), "enabled": True, "type": kind, "schema": "metric",
            "params": ({"field": field} if field else {}) | ({"customLabel": label} if label else {})}


HOSTS = metric(1, "cardinality", "host.name", "Hosts")
TABLE = {"perPage": 15, "showPartialRows": False, "showMetricsAtAllLevels": False, "showTotal": False, "totalFunc": "sum"}
BAR = {"type": "horizontal_bar", "addTooltip": True, "addLegend": True, "legendPosition": "right", "grid": {"categoryLines": False},
       "categoryAxes": [{"id": "CategoryAxis-1", "type": "category", "position": "left", "show": True, "style": {},
                         "scale": {"type": "linear"}, "labels": {"show": True, "filter": False, "truncate": 200}, "title": {}}],
       "valueAxes": [{"id": "ValueAxis-1", "name": "BottomAxis-1", "type": "value", "position": "bottom", "show": True, "style": {},
                      "scale": {"type": "linear", "mode": "normal"}, "labels": {"show": True, "rotate": 0, "filter": True, "truncate": 100},
                      "title": {"text": "Hosts"}}],
       "seriesParams": [{"show": True, "type": "histogram", "mode": "stacked", "data": {"label": "Hosts", "id": "1"},
                         "valueAxis": "ValueAxis-1", "drawLinesBetweenPoints": True, "showCircles": True}]}
# Name, title, kind, index, query, aggregations, parameters, and the panel's place: x, y, width, height.
PANELS = [
    ("rules", "Hosts by finding", "horizontal_bar", "trimtab-findings", RECENT,
     [HOSTS, terms(2, "rule.name", 30, "Finding", "segment"), terms(3, "trimtab.severity", 3, "Severity", "group")], BAR, (0, 0, 32, 18)),
    ("coverage", "Hosts checked in the last 8 days", "metric", "trimtab-hosts", RECENT,
     [metric(1, "count", label="Hosts"), metric(2, "sum", "trimtab.findings.error", "Errors"),
      metric(3, "sum", "trimtab.findings.warning", "Warnings"), metric(4, "sum", "trimtab.suppressed", "Suppressed")],
     {"addTooltip": True, "addLegend": False, "type": "metric", "metric": {"style": {"fontSize": 36}, "labels": {"show": True}}},
     (32, 0, 16, 8)),
    ("blind", "Hosts that could not be judged", "table", "trimtab-hosts", "trimtab.could_tell: false",
     [metric(1, "max", "@timestamp", "Checked"), terms(2, "host.name", 100, "Host"), terms(3, "trimtab.skipped", 5, "Skipped")],
     TABLE, (32, 8, 16, 10)),
    ("new", "New in the last day", "table", "trimtab-findings", "event.start >= now-1d",
     [metric(1, "max", "event.start", "Since"), terms(2, "rule.id", 60, "Rule"), terms(3, "host.name", 100, "Host")], TABLE, (0, 18, 24, 15)),
    ("worst", "Hosts with most errors", "table", "trimtab-hosts", RECENT,
     [metric(1, "max", "trimtab.findings.error", "Errors"), metric(4, "max", "trimtab.findings.warning", "Warnings"),
      terms(2, "host.name", 100, "Host"), terms(3, "host.os.full", 1, "System")], TABLE, (24, 18, 24, 15)),
    ("remedies", "Commands that fix most", "table", "trimtab-findings", RECENT,
     [HOSTS, terms(2, "rule.id", 30, "Rule"), terms(3, "trimtab.remedy.command", 10, "Command")], TABLE, (0, 33, 24, 15)),
    ("gone", "Hosts not checked for 8 days", "table", "trimtab-hosts", "@timestamp < now-8d",
     [metric(1, "max", "@timestamp", "Checked"), terms(2, "host.name", 500, "Host")], TABLE, (24, 33, 24, 15)),
]


def saved(kind, name, attributes, references, version):
    return {"id": f"trimtab-{name}", "type": kind, "attributes": attributes, "references": references, "migrationVersion": {kind: version}}


def searching(query):
    return {"searchSourceJSON": json.dumps({"query": {"query": query, "language": "kuery"}, "filter": [],
                                            "indexRefName": "kibanaSavedObjectMeta.searchSourceJSON.index"} if query is not None else
                                           {"query": {"query": "", "language": "kuery"}, "filter": []})}


def objects():
    for pattern in PATTERNS:
        # Without a time field: what is there is the present.
        yield saved("index-pattern", pattern.removeprefix("trimtab-"), {"title": pattern}, [], "7.6.0")
    places, references = [], []
    for name, title, kind, index, query, aggregations, parameters, (x, y, width, height) in PANELS:
        state = {"title": f"trimtab: {title}", "type": kind, "aggs": aggregations, "params": parameters}
        yield saved("visualization", name, {
            "title": f"trimtab: {title}", "visState": json.dumps(state), "uiStateJSON": "{}", "description": "", "version": 1,
            "kibanaSavedObjectMeta": searching(query)},
            [{"name": "kibanaSavedObjectMeta.searchSourceJSON.index", "type": "index-pattern", "id": f"trimtab-{index.removeprefix('trimtab-')}"}],
            "7.10.0")
        places.append({"version": "7.10.0", "gridData": {"x": x, "y": y, "w": width, "h": height, "i": name}, "panelIndex": name,
                       "embeddableConfig": {"title": title}, "panelRefName": f"panel_{len(places)}"})
        references.append({"name": f"panel_{len(references)}", "type": "visualization", "id": f"trimtab-{name}"})
    yield saved("dashboard", "fleet", {
        "title": "trimtab: what slows the fleet", "hits": 0, "description": "What trimtab check found, by rule and by host",
        "panelsJSON": json.dumps(places), "optionsJSON": json.dumps({"hidePanelTitles": False, "useMargins": True}), "version": 1,
        "timeRestore": False, "kibanaSavedObjectMeta": searching(None)}, references, "7.9.3")


if __name__ == "__main__":
    for item in objects():
        print(json.dumps(item, sort_keys=True))
