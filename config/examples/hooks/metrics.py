"""Appends what a step or an evaluation took to a file, one JSON object a line."""

import json
import os
import sys

said = json.load(sys.stdin)
line = {"event": said["event"], **said["cycle"]}
if said["event"] == "postStep":
    result = said["data"]["result"]
    line.update(step=result["stepId"], status=result["status"], durationMs=result["durationMs"])
else:
    line.update(verdict=said["data"]["verdict"], confidence=said["data"]["confidence"])
with open(os.environ["METRICS_FILE"], "a", encoding="utf-8") as file:
    print(json.dumps(line), file=file)
