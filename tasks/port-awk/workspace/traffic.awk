# Sums up traffic by user. See docs/format.md for what comes in.

/^#/   { next }
NF < 3 { skipped++; next }

{
    bytes[$2] += $3
    count[$2]++
}

END {
    for (user in bytes)
        printf "%-12s %5d %12d %10.1f\n", \
            user, count[user], bytes[user], bytes[user] / count[user] | "LC_ALL=C sort"
    close("LC_ALL=C sort")
    if (skipped)
        printf "skipped: %d\n", skipped
}
