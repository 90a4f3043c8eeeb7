"""A tool: the newest commits of the repository as JSON. Parameters come as JSON on standard input: {"commits": 30}."""

import json
import subprocess
import sys

newest = int(json.load(sys.stdin)["commits"])
log = subprocess.run(
    ["git", "log", "--no-merges", f"--max-count={newest}", "--name-only", "--format=%x1e%h%x1f%as%x1f%s%x1f%b%x1f"],
    capture_output=True,
    text=True,
)
if log.returncode != 0:
    sys.exit(log.stderr)  # what a model is told, and whoever reads the log
commits = []
for record in log.stdout.split("\x1e")[1:]:
    name, date, subject, body, files = record.split("\x1f")
    commits.append({"hash": name, "date": date, "subject": subject, "body": body.strip(), "files": files.split()})
json.dump({"commits": commits}, sys.stdout)
