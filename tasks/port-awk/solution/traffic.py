"""Sums up traffic by user. See docs/format.md for what comes in."""

import sys


def main():
    total, count, skipped = {}, {}, 0
    for line in sys.stdin:
        if line.startswith("#"):
            continue
        fields = line.split()
        if len(fields) < 3:
            skipped += 1
            continue
        user, size = fields[1], fields[2]
        total[user] = total.get(user, 0) + (0 if size == "-" else int(size))
        count[user] = count.get(user, 0) + 1
    lines = [
        f"{user:<12} {count[user]:5d} {total[user]:12d} {total[user] / count[user]:10.1f}"
        for user in total
    ]
    for line in sorted(lines):
        print(line)
    if skipped:
        print(f"skipped: {skipped}")


main()
