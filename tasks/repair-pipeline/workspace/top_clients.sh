#!/bin/sh
# Prints the busiest clients of web server logs.
# Usage: top_clients.sh [-n COUNT] FILE...

count=3
if [ "$1" = "-n" ]; then
    count=$2
    shift 2
fi

awk '{ print $1 }' $* | uniq -c | awk '{ print $1, $2 }' | sort -r | head -n $count
