"""Stops a run whose judge has been unsure for too long."""

import json
import os
import sys

said = json.load(sys.stdin)
cycle, confidence = said["cycle"]["cycleNumber"], said["data"]["confidence"]
if cycle >= int(os.environ["FROM_CYCLE"]) and confidence < float(os.environ["LEAST_CONFIDENCE"]):
    print(f"no progress: confidence {confidence} in cycle {cycle}", file=sys.stderr)
    sys.exit(2)  # stops the run
