"""A stage: brings a change into the run, one passage a file, as the words of somebody else.

It is asked with {"event": …, "data": …} on standard input; what it prints replaces the passages of the run.
"""

import json
import re
import sys
from datetime import datetime, timezone

data = json.load(sys.stdin)["data"]
path = data["prompt"]["context"]["diff"]
try:
    with open(path, encoding="utf-8") as file:
        text = file.read()
except (OSError, UnicodeDecodeError) as why:
    print(f"the change cannot be read: {why}", file=sys.stderr)
    sys.exit(2)  # refuses the run before a model is asked
parts = re.split(r"^(?=diff --git )", text, flags=re.MULTILINE)[1:]
if not parts:
    print(f"{path} holds no change in the form of `git diff`", file=sys.stderr)
    sys.exit(2)
now = datetime.now(timezone.utc).isoformat()
found = []
for at, part in enumerate(parts):
    name = re.search(r"^\+\+\+ b/(.+)$", part, re.MULTILINE) or re.search(r"^diff --git a/(\S+)", part)
    found.append({
        "id": f"change-{at + 1}",
        "content": part,
        "trustTier": "third-party-private",
        "source": name.group(1),
        "kind": "diff",
        "score": 1 / (1 + part.count("\n")),  # where not everything fits, small files stay
        "createdAt": now,
        "updatedAt": now,
    })
json.dump({"retrievables": data["retrievables"] + found}, sys.stdout)
