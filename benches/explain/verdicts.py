"""One way to ask the tool for a verdict."""

import json
import subprocess


def verdict_on(trimtab, series, *arguments, directory=None):
    """What `trimtab explain` says of one series, run in a directory: its verdict."""
    command = [str(trimtab), "explain", str(series), *map(str, arguments), "--format", "json"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)["result"]["series"][0]["verdict"]
