#!/bin/sh
# The highest number of sessions that were open at once; both words end one.
awk '
    $3 == "login" { open++; if (open > peak) peak = open }
    $3 == "logout" || $3 == "timeout" { open-- }
    END { print "At most " peak " sessions were open at once." }
' sessions.log
