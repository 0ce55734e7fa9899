#!/bin/sh
# A request failed when it had an attempt that failed and was never done.
awk '
    $2 == "ERROR" && first == "" { first = $1; cause = $3 }
    $3 == "gateway" && $2 == "ERROR" { tried[$4] = 1 }
    $3 == "gateway" && $5 == "done" { delete tried[$4] }
    END {
        for (request in tried) failed++
        printf "{\"first_error\": \"%s\", \"cause\": \"%s\", \"failed_requests\": %d}\n", first, cause, failed
    }
' service.log > incident.json
cat incident.json
