"""Accounts for every row of an export: kept, the duplicate of one that is kept, or rejected.

Usage: account.py EXPORT ORDERS REJECTED
"""

import csv
import sys
from collections import Counter


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        return [(reader.line_num, row) for row in reader]


export, orders, rejected = (rows(path) for path in sys.argv[1:4])
kept = Counter(row["order_id"].strip() for _, row in orders)
refused = {row["line"].strip(): row["order_id"].strip() for _, row in rejected}
wrong = [f"{number} is in the orders {count} times" for number, count in kept.items() if count > 1]
known = {row["order_id"].strip() for _, row in export}
wrong += [f"{number} is in the orders and not in the export" for number in kept if number not in known]
for line, row in export:
    number = row["order_id"].strip()
    if str(line) in refused:
        if refused[str(line)] != number:
            wrong.append(f"line {line} is rejected as `{refused[str(line)]}` and holds `{number}`")
        if number in kept:
            wrong.append(f"line {line} is rejected, and its order {number} is kept")
    elif number not in kept:
        wrong.append(f"line {line} (order {number}) is neither kept nor rejected")
if wrong:
    sys.exit("\n".join(wrong))
print(f"{len(export)} rows: {len(orders)} kept, {len(export) - len(orders) - len(rejected)} duplicates, {len(rejected)} rejected")
