#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Presses Ctrl-C where a command has come to, however loaded the machine is.

    interrupt.py [--seen TEXT] [--cpu SECONDS] CMD...

Starts the command and sends it SIGINT once its output holds TEXT and it has used so many seconds of
processors' time. The output is passed on, stdout and stderr as one, and the status as a shell says
it (130 when the signal ended the command). A command that ends before, or that does not come that
far within a minute and a half, is a failure of its own: 99, with a line that says so.
"""
import argparse
import os
import signal
import subprocess
import sys
import threading
import time

PATIENCE = 90       # below the time that a golden test has


def processor_seconds(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")    # utime, stime


def pass_on(stream, output):
    while chunk := os.read(stream.fileno(), 65536):
        output.extend(chunk)
        sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()


def came_there(child, output, options):
    end = time.monotonic() + PATIENCE
    while child.poll() is None and time.monotonic() < end:
        if options.seen.encode() in output and processor_seconds(child.pid) >= options.cpu:
            return True
        time.sleep(0.02)
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seen", default="", help="what its output must hold")
    parser.add_argument("--cpu", type=float, default=0, help="seconds of processors' time")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    child = subprocess.Popen(options.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = bytearray()
    reader = threading.Thread(target=pass_on, args=(child.stdout, output))
    reader.start()
    there = came_there(child, output, options)
    child.send_signal(signal.SIGINT if there else signal.SIGKILL)
    try:
        status = child.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        there, status = False, child.wait()
    reader.join()
    if not there:
        print("interrupt.py: the command ended, or took too long, with %d" % status)
        return 99
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
