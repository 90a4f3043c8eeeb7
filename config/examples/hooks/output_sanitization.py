"""Takes e-mail addresses out of the result of a step."""

import json
import re
import sys

ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)+")


def clean(value):
    if isinstance(value, str):
        return ADDRESS.sub("[address removed]", value)
    if isinstance(value, list):
        return [clean(item) for item in value]
    if isinstance(value, dict):
        return {key: clean(item) for key, item in value.items()}
    return value


data = json.load(sys.stdin)["data"]
cleaned = clean(data["result"])
if cleaned != data["result"]:
    data["result"] = cleaned
    json.dump(data, sys.stdout)
