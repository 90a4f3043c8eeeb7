"""Checks a changelog against the history: every commit that it names is one of the newest, and none of those is missing.

Usage: every_commit.py CHANGELOG --newest=N
"""

import re
import subprocess
import sys

path, newest = sys.argv[1], int(sys.argv[2].partition("=")[2])
with open(path, encoding="utf-8") as file:
    text = file.read()
log = ["git", "log", "--no-merges", f"--max-count={newest}", "--format=%H %s"]
history = dict(line.split(" ", 1) for line in subprocess.run(log, capture_output=True, text=True, check=True).stdout.splitlines())
named = [name for group in re.findall(r"\(([0-9a-f]{7,}(?:, [0-9a-f]{7,})*)\)$", text, re.MULTILINE) for name in group.split(", ")]
wrong = [f"{name} is none of the newest {newest} commits" for name in named if not any(full.startswith(name) for full in history)]
wrong += [f"{full[:9]} is missing: {subject}" for full, subject in history.items() if not any(full.startswith(name) for name in named)]
if wrong:
    sys.exit("\n".join(wrong))
print(f"{len(history)} commits, {len(named)} mentions")
