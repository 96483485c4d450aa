#!/usr/bin/env python3
"""Reads metrics with the strict parser of OpenMetrics, of Debian's python3-prometheus-client; exit code 77 without it."""
import sys

try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
except ImportError:
    sys.exit(77)
families = list(text_string_to_metric_families(open(sys.argv[1]).read()))
assert families and all(family.name.startswith("trimtab_") for family in families)
