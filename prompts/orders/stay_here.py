"""Refuses plans that would take customer data to the network."""

import json
import sys

NETWORK = {"http_request", "web_search"}

plan = json.load(sys.stdin)["data"]
for step in plan["steps"]:
    reaching = NETWORK.intersection(step["tools"])
    if reaching:
        print(f"orders are customer data: {step['id']} must not use {', '.join(sorted(reaching))}", file=sys.stderr)
        sys.exit(2)  # stops the run with this reason
# Nothing is printed: the plan stays as it is.
