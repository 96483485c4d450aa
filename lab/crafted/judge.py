#!/usr/bin/env python3
"""Evaluates what lab/cases/crafted.sh recorded in one or more boots of the guest.

    judge.py todo IMAGES RESULTS                   lines ID TYPE LANE SLOT BYTES for the next boot
    judge.py flight IMAGES RESULTS                 lines ID COPY ACTION: what was under way when the guest ended
    judge.py wanted IMAGES RESULTS COUNT           lines TYPE COUNT: how many are still to be mounted
    judge.py counts IMAGES RESULTS COMPARED OUT COUNT   the table; ends with 1 if trim fell

RESULTS holds the lines of all boots: ID COPY KEY VALUE. A boot that the guest did not survive ends with
lines ID COPY crashed KEY.
"""

import json
import os
import sys
from pathlib import Path

TYPES = os.environ.get("TYPES", "xfs ext4 btrfs").split()
NONE, FSTRIM, TRIM = "0", "1", "2"


def read(images, results):
    found = {image["id"]: {"image": image, "done": False, "crashed": None, NONE: {}, FSTRIM: {}, TRIM: {}} for image in images}
    for line in results.read_text().splitlines() if results.exists() else []:
        # The last line before a crash may be cut off.
        words = line.split()
        if len(words) != 4 or words[0] not in found:
            continue
        name, copy, key, value = words
        one = found[name]
        if key == "finished":
            one["done"] = True
        elif key == "crashed":
            one["crashed"] = (copy, value)
        elif copy in one:
            if copy == NONE and (key, value) == ("began", "mount"):
                # Tried again.
                one.update({NONE: {}, FSTRIM: {}, TRIM: {}})
            one[copy][key] = value
            one["last"] = (copy, key)
    return found


def hung(copy):
    """Actions that did not end in time, or left the filesystem busy."""
    return [key for key, value in copy.items() if value in ("124", "125") or (key == "umount" and value != "0")]


def is_over(one):
    return one["done"] or one["crashed"] or one[NONE].get("mount", "0") != "0" or any(hung(one[copy]) for copy in (NONE, FSTRIM, TRIM))


def mounted(one):
    return one[NONE].get("mount") == "0"


def verdict(one, out):
    """How the pass on an image ended."""
    trim = one[TRIM]
    if one["crashed"]:
        return "crashed"
    if any(hung(one[copy]) for copy in (NONE, FSTRIM)):
        return "kernel hung"
    if hung(trim):
        return "hung"
    if "trim" not in trim:
        return "not again"
    said = out / f"{one['image']['id']}.err"
    if trim["trim"] == "101" or int(trim["trim"]) > 128 or (said.exists() and "panicked at" in said.read_text(errors="replace")):
        return "panicked"
    return "completed" if trim["trim"] == "0" else "refused"


def changed(copy):
    return "changed" in (copy.get("files_after"), copy.get("files_remounted")) or copy.get("remount", "0") != "0"


def reason(out, name):
    """The last thing that the pass said."""
    stream = out / f"{name}.json"
    ended = [json.loads(line) for line in stream.read_text().splitlines() if '"ended"' in line] if stream.exists() else []
    if ended:
        return ended[-1].get("reason") or ended[-1].get("outcome")
    said = out / f"{name}.err"
    return " ".join(said.read_text(errors="replace").split()[-30:]) if said.exists() else "nothing"


def counts(found, compared, out, count):
    blocks = {words[0]: list(map(int, words[1:])) for words in map(str.split, compared.read_text().splitlines())}
    columns = ["made", "mounted", "completed", "refused", "panicked", "hung", "kernel hung", "crashed", "not again"]
    print(f"{'':6}" + "".join(f"{column:>12}" for column in [*columns, "changed:", "mount", "fstrim", "trim", "trim alone"]))
    fell = []
    for fs in TYPES:
        ones = [one for one in found.values() if one["image"]["fs"] == fs]
        tried = [one for one in ones if one[NONE].get("mount") is not None or one["crashed"]]
        row = {column: 0 for column in columns}
        row["made"] = len(tried)
        changes = [0, 0, 0, 0]
        for one in tried:
            name = one["image"]["id"]
            if one["crashed"]:
                row["crashed"] += 1
                row["mounted"] += mounted(one)
                print(f"# {name}: guest crashed in copy {one['crashed'][0]} at {one['crashed'][1]}: {one['image']['changes']}")
                if one["crashed"][0] == TRIM:
                    fell.append(f"{name}: the guest crashed below trim, and not below fstrim")
                continue
            if not mounted(one):
                continue
            row["mounted"] += 1
            ended = verdict(one, out)
            row[ended] += 1
            files = [changed(one[copy]) for copy in (NONE, FSTRIM, TRIM)]
            differ = blocks.get(name, [0, 0, 0, 0])
            # Files that cannot be read any more may still be on the drive, and the other way round.
            each = [files[copy] or differ[copy] > 0 for copy in range(3)]
            alone = differ[3] > 0 or (each[2] and not each[0] and not each[1])
            for index, is_changed in enumerate([*each, alone]):
                changes[index] += is_changed
            if ended in ("panicked", "hung"):
                fell.append(f"{name}: {ended}: {reason(out, name)}; {one['image']['changes']}")
            if alone:
                fell.append(f"{name}: trim alone changed files: {files}, bytes {differ}: {one['image']['changes']}")
            if any(each) or ended not in ("completed",):
                print(f"# {name}: {ended} ({reason(out, name)}), changed by mount, fstrim, trim: {each} {differ}; {one['image']['changes']}")
        print(f"{fs:6}" + "".join(f"{row[column]:>12}" for column in columns) + f"{'':>12}" + "".join(f"{number:>12}" for number in changes))
        if row["mounted"] < count:
            fell.append(f"{fs}: {row['mounted']} mounted, {count} wanted")
        if row["completed"] * 3 < row["mounted"]:
            fell.append(f"{fs}: {row['completed']} passes completed: refusals alone prove nothing")
    for line in fell:
        print(f"FAILED: {line}")
    return bool(fell)


def main():
    command, images, results = sys.argv[1], json.loads(Path(sys.argv[2]).read_text()), Path(sys.argv[3])
    found = read(images, results)
    if command == "wanted":
        for fs in TYPES:
            there = sum(mounted(one) and bool(is_over(one)) for one in found.values() if one["image"]["fs"] == fs)
            print(fs, max(0, int(sys.argv[4]) - there))
    elif command == "todo":
        for one in found.values():
            if not is_over(one):
                image = one["image"]
                print(image["id"], image["fs"], image["lane"], image["slot"], image["size"])
    elif command == "flight":
        for one in found.values():
            if "last" in one and not is_over(one):
                print(one["image"]["id"], one["last"][0], one[one["last"][0]].get("began", "-"))
    else:
        sys.exit(counts(found, Path(sys.argv[4]), Path(sys.argv[5]), int(sys.argv[6])))


if __name__ == "__main__":
    main()
