"""Tests on a weak PostgreSQL: a plugin for pytest that starts `isoscope serve` for a test, and says why it failed.

Put this file beside your tests, name it in conftest.py with `pytest_plugins = ["isoscope_pytest"]`, and write

    @pytest.mark.isoscope(level="cc", schema="schema.sql", seed=7)
    def test_two_customers(isoscope):
        ...                       # connects as always: PGHOST and PGPORT are set

The test runs on a throw-away PostgreSQL that answers as the level allows. If it fails, its report has what
`isoscope check` says of the run: which anomaly the test was shown, and by which transactions.

The program is `isoscope` on the path, or what ISOSCOPE names. `serve()` does the same without pytest.
"""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import tempfile

PROGRAM = os.environ.get("ISOSCOPE", "isoscope")


class Served:
    """A database that is being served."""

    def __init__(self, process, host, port, history):
        self.process, self.host, self.port, self.history = process, host, port, history
        self.is_over = False

    @property
    def url(self):
        return f"postgresql://app@{self.host}:{self.port}/app"

    def end(self):
        """Ends the run; from then on the history is whole."""
        if not self.is_over:
            self.is_over = True
            self.process.send_signal(signal.SIGINT)
            self.process.communicate(timeout=60)

    def explanation(self, level="ser"):
        """What is wrong with the run, as text; nothing if the level allows it."""
        self.end()
        command = [PROGRAM, "check", str(self.history), "--level", level]
        checked = subprocess.run(command, capture_output=True, text=True, check=False)
        return checked.stdout if checked.returncode == 1 else ""


def start(
    level,
    folder,
    schema=None,
    seed=1,
    policy="random",
    sessions=None,
    after_setup=False,
    updates="newest",
    allow_opaque=False,
):
    """Starts a served database, whose history goes to a folder."""
    history = pathlib.Path(folder) / "history.jsonl"
    command = [PROGRAM, "serve", "--level", level, "--listen", "127.0.0.1:0", "--seed", str(seed), "--policy", policy]
    command += ["-o", str(history), "--force"]
    command += ["--schema", str(schema)] if schema else []
    command += ["--sessions", str(sessions)] if sessions else []
    command += ["--after-setup"] if after_setup else []
    command += ["--updates", updates]
    command += ["--allow-opaque"] if allow_opaque else []
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    first = process.stderr.readline()
    place = re.search(r"connect to (\S+):(\d+)", first)
    if place is None:
        raise RuntimeError(first + process.communicate()[1])
    return Served(process, place.group(1), int(place.group(2)), history)


@contextlib.contextmanager
def serve(level, **options):
    """A served database as long as a block runs, with PGHOST and PGPORT set to it."""
    with tempfile.TemporaryDirectory() as folder:
        served = start(level, folder, **options)
        before = {name: os.environ.get(name) for name in ("PGHOST", "PGPORT")}
        os.environ.update(PGHOST=served.host, PGPORT=str(served.port))
        try:
            yield served
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
            served.end()


try:
    import pytest
except ImportError:
    pytest = None

if pytest is not None:

    def pytest_configure(config):
        config.addinivalue_line("markers", "isoscope(level, schema, seed, policy, updates, ..): serve a weak PostgreSQL for this test")

    @pytest.fixture
    def isoscope(request):
        """A served database with the options of the test's marker."""
        marker = request.node.get_closest_marker("isoscope")
        options = dict(marker.kwargs) if marker else {}
        schema = options.get("schema")
        if schema and not os.path.isabs(schema):
            options["schema"] = os.path.join(os.path.dirname(str(request.node.fspath)), schema)
        with serve(options.pop("level", "cc"), **options) as served:
            request.node.isoscope_served = served
            yield served

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(item, call):
        outcome = yield
        report = outcome.get_result()
        served = getattr(item, "isoscope_served", None)
        if served is not None and report.when == "call" and report.failed:
            report.sections.append(("isoscope: what the test was shown", served.explanation() or "a serializable run"))
