#!/usr/bin/env python3
"""Opens a page in Chromium at 1280 and 390 pixels: nothing may be wider than the window, and nobody may be asked for
anything."""
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "nightly"))
from devtools import Browser  # noqa: E402

browser = Browser()
try:
    tab = browser.tab()
    tab.call("Page.enable")
    for width, is_phone in [(1280, False), (390, True)]:
        tab.call("Emulation.setDeviceMetricsOverride", width=width, height=2000, deviceScaleFactor=1, mobile=is_phone)
        tab.call("Page.navigate", url=Path(sys.argv[1]).resolve().as_uri())
        for _ in range(100):
            ready = tab.call("Runtime.evaluate", expression="document.readyState + document.querySelectorAll('h2').length", returnByValue=True)
            if ready["result"]["value"].startswith("complete") and ready["result"]["value"] != "complete0":
                break
            time.sleep(0.1)
        ask = "[document.documentElement.scrollWidth, performance.getEntriesByType('resource').length]"
        found = tab.call("Runtime.evaluate", expression=ask, returnByValue=True)["result"]["value"]
        assert found[0] <= width, f"at {width} pixels it is {found[0]} wide"
        assert found[1] == 0, found
finally:
    browser.close()
