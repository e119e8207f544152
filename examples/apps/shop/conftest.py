"""Finds the plugin in python/isoscope_pytest.py; your own tests may have a copy of it beside them."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "python"))
pytest_plugins = ["isoscope_pytest"]
