"""Counts words: `tally.py [FILE...]`, or standard input without a file.

Prints a line a word, the most frequent first, equally frequent ones in
alphabetical order.
"""

import argparse
import re
import sys
from collections import Counter


def words(text):
    return re.findall(r"[a-z']+", text.lower())


def tally(texts):
    """Counts of all words in all texts."""
    counts = Counter()
    for text in texts:
        counts.update(words(text))
    return counts


def lines(counts):
    """What is printed, line by line."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [f"{count:6} {word}" for word, count in ordered]


def read(paths):
    if not paths:
        return [sys.stdin.read()]
    texts = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
    return texts


def main():
    parser = argparse.ArgumentParser(description="Count words.")
    parser.add_argument("files", nargs="*", metavar="FILE", help="text to count; default: stdin")
    options = parser.parse_args()
    for line in lines(tally(read(options.files))):
        print(line)


if __name__ == "__main__":
    main()
