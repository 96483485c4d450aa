"""Compares two JSON documents: facts, wording, and fields that always differ."""

import re

# Always ignored: they differ between any two runs or builds.
LEFT_OUT = {"generated_at", "tool_version"}

# Wording, including everything nested below: sentences for people, which may be rephrased. Matched by
# field name at any depth.
WORDING = {
    "because",
    "beside",
    "cannot_tell",
    "explanation",
    "from_text",
    "geometry_unknown",
    "jobs_from",
    "label",
    "needs",
    "notes",
    "operation",
    "refusal",
    "risk",
    "sentence",
    "sentences",
    "separate_by",
    "step",
    "text",
    "title",
    "to_text",
    "undo",
    "unsplittable",
    "warnings",
    "what",
    "why",
    "would_change",
    "zone_from",
}

# Wording only at these paths: elsewhere the same name is a fact.
WORDING_AT = {
    "$.source",
    "$.stderr",
    # ssd: the requested configuration, and what is compared.
    "$.result.asked.trim",
    "$.result.cases[].name",
    "$.result.rows[].error",
    # shards what-if.
    "$.result.changes",
    # explain: mounts with a finding, the description of a job, and "an unknown cause" among the jobs.
    "$.result.disk_logs[].mounts",
    "$.result.series[].verdict.classes[].evidence",
    "$.result.series[].verdict.candidates[].name",
}

MISSING = object()


def differences(old, new, left_out=frozenset()):
    """Returns the differences as (facts, words), each a list of (JSON path, old, new)."""
    facts, words = [], []
    _compare(old, new, "$", facts, words, LEFT_OUT | set(left_out))
    return facts, words


def shown(value, width=100):
    """A value on one line, truncated."""
    if value is MISSING:
        return "(missing)"
    text = value if isinstance(value, str) else repr(value)
    text = text.replace("\n", "\\n")
    return text if len(text) <= width else text[: width - 1] + "…"


def _compare(old, new, path, facts, words, left_out):
    if isinstance(old, dict) and isinstance(new, dict):
        for key in list(old) + [key for key in new if key not in old]:
            if key in left_out:
                continue
            below = f"{path}.{key}"
            before, after = old.get(key, MISSING), new.get(key, MISSING)
            if key in WORDING or re.sub(r"\[\d+\]", "[]", below) in WORDING_AT:
                if not _same(before, after):
                    words.append((below, before, after))
            else:
                _compare(before, after, below, facts, words, left_out)
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            before = old[index] if index < len(old) else MISSING
            after = new[index] if index < len(new) else MISSING
            _compare(before, after, f"{path}[{index}]", facts, words, left_out)
    elif not _same(old, new):
        facts.append((path, old, new))


def _same(old, new):
    # True is not 1, and 1 is not 1.0.
    if type(old) is not type(new):
        return False
    if isinstance(old, dict):
        return old.keys() == new.keys() and all(_same(old[key], new[key]) for key in old)
    if isinstance(old, list):
        return len(old) == len(new) and all(map(_same, old, new))
    return old == new
