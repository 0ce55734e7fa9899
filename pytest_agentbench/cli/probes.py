"""Programs that try, from inside a trial's sandbox, what no agent should be able to do.

Each is the source of a Python program; it runs as the ``command`` agent does, reads its
orders as JSON from standard input, and prints one JSON line. Standard library only, any
Python 3.
"""

from __future__ import annotations

SEARCH = r"""
import hashlib, json, os, stat, sys
orders = json.load(sys.stdin)
wanted = orders["files"]                      # digest -> name
sizes = set(orders["sizes"])
own = os.getcwd()
found = set()
for path in orders["paths"]:
    if os.path.lexists(path):
        found.add(path + " is there")
for base, below, names in os.walk("/", followlinks=False):
    below[:] = [name for name in below
                if os.path.join(base, name) not in ("/proc", "/sys", "/dev", own)]
    for name in names:
        path = os.path.join(base, name)
        try:
            about = os.lstat(path)
            if not stat.S_ISREG(about.st_mode) or about.st_size not in sizes:
                continue
            with open(path, "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
        except OSError:
            continue
        if digest in wanted:
            found.add(path + " is " + wanted[digest])
for pid in filter(str.isdigit, os.listdir("/proc")):
    for kind in ("environ", "cmdline"):
        try:
            with open("/proc/%s/%s" % (pid, kind), "rb") as file:
                text = file.read().decode("utf-8", "replace")
        except OSError:
            continue
        for path in orders["paths"]:
            if path in text:
                found.add("/proc/%s/%s names %s" % (pid, kind, path))
print(json.dumps(sorted(found)[:10]))
"""
"""Prints what of some files, told by digest and size, can be read anywhere outside of the
working directory (a template is checked by itself), and which of some paths are there."""

SLEEP = r"""
import json, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
time.sleep(600)
print(json.dumps([]))
"""
"""Sleeps for longer than any limit, and has a child that does so too."""

MEMORY = r"""
import json, sys
size = json.load(sys.stdin)["bytes"]
held = []
piece = 1 << 24
while len(held) * piece < size:
    held.append(bytearray(piece))
print(json.dumps(["took %d bytes" % size]))
"""
"""Takes so many bytes of memory, and says so if it could."""

PROCESSES = r"""
import json, os, sys, time
wanted = json.load(sys.stdin)["pids"]
count = 0
try:
    while count < wanted:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        count += 1
except OSError:
    print(json.dumps([]))
else:
    print(json.dumps(["started %d processes" % count]))
"""
"""Starts so many processes, and says so if it could."""

NETWORK = r"""
import json, socket
found = [name for _, name in socket.if_nameindex() if name != "lo"]
try:
    socket.create_connection(("192.0.2.1", 9), timeout=2).close()
    found.append("a connection")
except OSError as error:
    if isinstance(error, socket.timeout):
        found.append("a way to 192.0.2.1")
print(json.dumps(found))
"""
"""Prints which ways there are to a network. 192.0.2.1 is an address for examples: nobody's."""

FILL = r"""
import json, sys
with open("filled-by-validate", "wb") as file:
    file.truncate(json.load(sys.stdin)["bytes"])
print(json.dumps([]))
"""
"""Leaves a file of so many bytes."""
