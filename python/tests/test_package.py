"""The package is typed, and its examples are true."""

import doctest
import importlib
import pathlib
import subprocess
import sys

import pytest

import isoscope

PACKAGE = pathlib.Path(isoscope.__file__).parent


@pytest.mark.parametrize("module", ["isoscope", "isoscope._ask", "isoscope._history"])
def test_examples_in_doc_strings_are_true(module):
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0 and result.failed == 0


def test_types_are_complete():
    pytest.importorskip("mypy")
    assert (PACKAGE / "py.typed").exists()
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(PACKAGE)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_stubs_have_what_the_extension_has():
    stubs = (PACKAGE / "_native.pyi").read_text()
    native = importlib.import_module("isoscope._native")
    for name in dir(native):
        if not name.startswith("__"):
            assert f"def {name}(" in stubs or f"class {name}" in stubs, name
    for owner in (native.History, native.Document):
        for name in dir(owner):
            if not name.startswith("__"):
                assert f"def {name}(" in stubs, f"{owner.__name__}.{name}"


def test_everything_that_is_exported_is_there():
    for name in isoscope.__all__:
        assert hasattr(isoscope, name), name


def test_the_example_writes_its_page(tmp_path):
    script = pathlib.Path(__file__).resolve().parents[2] / "examples/python/orders.py"
    page = tmp_path / "why.html"
    run = subprocess.run([sys.executable, str(script), str(page)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "si   violated lost-update" in run.stdout and "The page is in" in run.stdout
    assert "Lost update" in page.read_text()


def test_the_plugin_for_pytest_is_in_the_package():
    plugin = importlib.import_module("isoscope.pytest")
    alone = importlib.import_module("isoscope_pytest")
    for name in ("pytest_configure", "pytest_runtest_makereport", "isoscope", "serve", "start", "Served"):
        assert getattr(plugin, name) is getattr(alone, name), name
    command = [sys.executable, "-m", "pytest", "-p", "isoscope.pytest", "--markers", "-p", "no:cacheprovider"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=pathlib.Path(__file__).parent)
    assert "@pytest.mark.isoscope(level, schema" in run.stdout, run.stdout + run.stderr
