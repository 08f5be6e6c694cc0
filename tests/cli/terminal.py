# SPDX-License-Identifier: MIT
"""Runs a command on a terminal of its own, and prints what it shows there, a line for each that it
writes over; its status is the command's."""
import os
import pty
import sys

pid, terminal = pty.fork()
if not pid:
    os.execvp(sys.argv[1], sys.argv[1:])
shown = b""
try:
    while chunk := os.read(terminal, 65536):
        shown += chunk
except OSError:     # the other end is closed
    pass
print(shown.decode(errors="replace").replace("\r", "\n"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
