"""Tests on a weak PostgreSQL: the plugin for pytest, as a part of the package.

Name it in conftest.py with ``pytest_plugins = ["isoscope.pytest"]``. It is the module ``isoscope_pytest``, which also
works as a single file beside your tests, without the package; it says how a test uses it. The program ``isoscope`` must
be on the path: the package has no databases.
"""

from isoscope_pytest import *  # type: ignore[import-not-found,import-untyped,unused-ignore] # noqa: F403
