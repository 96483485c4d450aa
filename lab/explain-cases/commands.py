#!/usr/bin/env python3
"""Prints the commands that a page shows, in its order, one on a line: of console blocks, and `of the text`."""

import re
import sys

# A bare name, such as `trimtab explain`, is no command.
SHOWN = r"^```console\n(.*?)^```|`((?:sudo |trimtab [^`\s]+ |journalctl |ps )[^`]+)`"

with open(sys.argv[1], encoding="utf-8") as page:
    for block, of_text in re.findall(SHOWN, page.read(), re.MULTILINE | re.DOTALL):
        joined = re.sub(r"\\\n\s*", "", block)
        for command in re.findall(r"^\$ (.*)", joined, re.MULTILINE) if block else [of_text]:
            print(re.sub(r"\s+", " ", command.split(" # ")[0]).strip())
