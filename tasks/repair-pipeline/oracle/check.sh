# Runs the script on logs that it has not seen, and compares what it prints.
failures=0
logs=$(mktemp -d)

requests() { # requests ADDRESS COUNT
    i=0
    while [ "$i" -lt "$2" ]; do
        printf '%s - - [03/Mar/2025:10:00:00 +0000] "GET /%s HTTP/1.1" 200 1\n' "$1" "$i"
        i=$((i + 1))
    done
}

expect() { # expect NAME WANTED ARGUMENT...
    name=$1 wanted=$2
    shift 2
    got=$(sh ./top_clients.sh "$@" 2>&1)
    if [ "$got" != "$wanted" ]; then
        failures=$((failures + 1))
        printf '%s: expected [%s], got [%s]\n' "$name" \
            "$(printf %s "$wanted" | tr '\n' '|')" "$(printf %s "$got" | tr '\n' '|')" >&2
    fi
}

{ requests 10.1.1.9 4; requests 10.1.1.10 5; requests 10.1.1.9 5; requests 10.1.1.10 5
  requests 10.1.1.2 1; requests 10.1.1.10 1; } > "$logs/mixed.log"
{ requests 192.168.0.20 2; requests 192.168.0.3 2; requests 192.168.0.100 2
  requests 192.168.0.4 1; } > "$logs/ties.log"
requests 10.1.1.2 120 > "$logs/night shift.log"
: > "$logs/empty.log"

expect 'same address' '11 10.1.1.10
9 10.1.1.9
1 10.1.1.2' "$logs/mixed.log"
expect 'numbers in order' '11 10.1.1.10
9 10.1.1.9' -n 2 "$logs/mixed.log"
expect 'ties' '2 192.168.0.100
2 192.168.0.20
2 192.168.0.3' "$logs/ties.log"
expect 'more than there are' '2 192.168.0.100
2 192.168.0.20
2 192.168.0.3
1 192.168.0.4' -n 10 "$logs/ties.log"
expect 'a space in a name' '120 10.1.1.2' "$logs/night shift.log"
expect 'two logs' '121 10.1.1.2' -n 1 "$logs/mixed.log" "$logs/night shift.log"
expect 'an empty log' '' "$logs/empty.log"

rm -rf "$logs"
[ "$failures" -eq 0 ]
