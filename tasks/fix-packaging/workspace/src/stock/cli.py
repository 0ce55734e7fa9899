"""The command line."""

import sys

from stock.reports import page


def main():
    print(page(sys.argv[1:]))
    return 0
