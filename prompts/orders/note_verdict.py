"""Appends a line about a verdict to a file of its own."""

import csv
import json
import os
import sys

said = json.load(sys.stdin)
path = os.environ["VERDICTS"]
os.makedirs(os.path.dirname(path), exist_ok=True)
fresh = not os.path.exists(path)
with open(path, "a", encoding="utf-8", newline="") as file:
    rows = csv.writer(file)
    if fresh:
        rows.writerow(["cycle", "verdict", "confidence", "tokens"])
    verdict = said["data"]
    rows.writerow([said["cycle"]["cycleNumber"], verdict["verdict"], verdict["confidence"], said["cycle"]["tokensUsed"]])
