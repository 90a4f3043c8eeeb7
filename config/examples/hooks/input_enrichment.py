"""Adds the content of a JSON file to the context that the planner sees."""

import json
import sys

data = json.load(sys.stdin)["data"]
with open(sys.argv[1], encoding="utf-8") as file:
    data["prompt"]["context"]["conventions"] = json.load(file)
json.dump(data, sys.stdout)
