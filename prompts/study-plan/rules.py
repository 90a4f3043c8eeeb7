"""Checks the sessions of a study plan against the rules that can be counted.

Usage: rules.py PLAN EXAM HOURS_PER_WEEK
"""

import csv
import sys
from collections import Counter, defaultdict
from datetime import date, timedelta

path, exam, hours = sys.argv[1], date.fromisoformat(sys.argv[2]), float(sys.argv[3])
with open(path, encoding="utf-8", newline="") as file:
    rows = list(csv.DictReader(file))
days = [date.fromisoformat(row["date"]) for row in rows]
monday = exam - timedelta(days=exam.weekday(), weeks=4)
wrong = []
if days != sorted(days):
    wrong.append("the sessions are not in order")
wrong += [f"{day} has {count} sessions" for day, count in Counter(days).items() if count > 1]
weeks, seen = Counter(), defaultdict(list)
for day, row in zip(days, rows):
    if not monday <= day < exam:
        wrong.append(f"{day} is not between {monday} and the day before the exam")
    if day.weekday() == 6:
        wrong.append(f"{day} is a Sunday")
    if int(row["minutes"]) > 90:
        wrong.append(f"{day} is longer than 90 minutes")
    weeks[day.isocalendar()[:2]] += int(row["minutes"])
    if row["kind"] != "mock":
        seen[row["topic"]].append(day)
wrong += [f"week {week} has {minutes} minutes" for (_, week), minutes in weeks.items() if minutes > hours * 60]
wrong += [f"{topic} does not come up again after a week" for topic, when in seen.items() if max(when) - min(when) < timedelta(weeks=1)]
if [row["kind"] for row in rows[-2:]] != ["mock", "mock"]:
    wrong.append("the last two sessions are no mock exams")
if wrong:
    sys.exit("\n".join(wrong))
print(f"{len(rows)} sessions in {len(weeks)} weeks")
