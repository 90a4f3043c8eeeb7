"""Checks a review against its change: every finding names a line that the change wrote.

Usage: findings.py REVIEW DIFF
"""

import re
import sys

review, diff = sys.argv[1:3]
written, name, line = set(), None, 0
with open(diff, encoding="utf-8") as file:
    for text in file:
        if text.startswith("+++ "):
            name = text[4:].strip().removeprefix("b/")
        elif hunk := re.match(r"@@ -\S+ \+(\d+)", text):
            line = int(hunk.group(1))
        elif text.startswith(("+", " ")):
            if text.startswith("+"):
                written.add((name, line))
            line += 1
with open(review, encoding="utf-8") as file:
    findings = [text.strip() for text in file if text.startswith("- ")]
wrong = []
for finding in findings:
    said = re.match(r"- \*\*(blocker|risk|nit)\*\* (\S+):(\d+): .", finding)
    if not said:
        wrong.append(f"not in the form that was asked for: {finding}")
    elif (said.group(2), int(said.group(3))) not in written:
        wrong.append(f"the change did not write {said.group(2)}:{said.group(3)}")
if wrong:
    sys.exit("\n".join(wrong))
print(f"{len(findings)} findings, each about a line of the change")
