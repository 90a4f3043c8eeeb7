"""Drops the steps of a plan that would run a dangerous command."""

import json
import re
import sys

DANGEROUS = re.compile(r"\brm\s+-|\bdelete\b|\bdrop\s+table\b|\bforce[- ]push\b", re.IGNORECASE)

plan = json.load(sys.stdin)["data"]
kept, dropped = [], set()
for step in plan["steps"]:
    if "shell_execute" in step["tools"] and DANGEROUS.search(step["description"]):
        dropped.add(step["id"])
    else:
        kept.append(step)

if not dropped:
    sys.exit()  # nothing is printed: the plan stays as it is
if not kept or any(dropped.intersection(step["dependencies"]) for step in kept):
    print("the plan relies on dangerous commands:", ", ".join(sorted(dropped)), file=sys.stderr)
    sys.exit(2)  # stops the run
plan["steps"] = kept
json.dump(plan, sys.stdout)
