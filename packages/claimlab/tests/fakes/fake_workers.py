"""A worker's main function that starts processes of its own, as simulators do."""

import subprocess
import sys
import time

from claimlab.running.workers.worker import Event

SLEEP = "import time; time.sleep(60)"
NESTED = f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {SLEEP!r}]).pid, flush=True); {SLEEP}"


def simulate(job, connection):
    child = subprocess.Popen([sys.executable, "-c", NESTED], stdout=subprocess.PIPE, text=True)
    connection.send(Event("notice", job.seed, text=f"{child.pid} {child.stdout.readline()}"))
    time.sleep(60)
