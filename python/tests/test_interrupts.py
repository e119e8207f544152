"""Ctrl-C ends a long question at once, as it ends any other Python."""

import signal
import subprocess
import sys
import time

PROGRAM = """
import isoscope, sys
print("asking", flush=True)
try:
    isoscope.separate(allow="rc", forbid="ser", all=True, txns=5)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(7)
print("answered", flush=True)
"""


def test_ctrl_c_raises_keyboard_interrupt():
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "asking\n"
    time.sleep(0.5)
    since = time.monotonic()
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[0]
    assert (said, process.returncode) == ("interrupted\n", 7)
    assert time.monotonic() - since < 10
