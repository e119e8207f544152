"""The grammars for editors know every word of every file of the project.

Editors match with Oniguruma. The grammars use only what Python's expressions have as well, so that a few lines here can
do what an editor does: at each place the first pattern that matches earliest, and nested patterns up to an end.
"""

import json
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EDITORS = ROOT / "editors"


def tokens(line: str, patterns: list[dict], at: int = 0, until: str | None = None):
    """Pairs of a text and the scope it has, or None; and where it ended."""
    found = []
    while at < len(line):
        candidates = []
        if until is not None and (end := re.compile(until).search(line, at)):
            candidates.append((end.start(), -1, end, None))
        for number, pattern in enumerate(patterns):
            match = re.compile(pattern.get("match", pattern.get("begin"))).search(line, at)
            if match and match.end() > match.start():
                candidates.append((match.start(), number, match, pattern))
        if not candidates:
            found.append((line[at:], None))
            return found, len(line)
        start, number, match, pattern = min(candidates, key=lambda it: it[:2])
        if start > at:
            found.append((line[at:start], None))
        at = match.end()
        if number == -1:
            return found, at
        found.append((match.group(), pattern["name"]))
        if "begin" in pattern:
            inside, at = tokens(line, pattern.get("patterns", []), at, pattern["end"])
            found.extend((text, scope or pattern["name"]) for text, scope in inside)
    return found, at


def grammar(ending: str) -> dict:
    return json.loads((EDITORS / f"textmate/isoscope-{ending}.tmLanguage.json").read_text())


def files(ending: str) -> list[pathlib.Path]:
    catalogue = ROOT / "crates/kernel/spec/catalogue"
    return sorted([*(ROOT / "corpus").rglob(f"*.{ending}"), *catalogue.glob(f"*.{ending}"), *(ROOT / "examples").glob(f"*.{ending}")])


@pytest.mark.parametrize("ending", ["history", "txn", "spec"])
def test_every_file_of_the_project_is_made_of_known_words(ending):
    patterns = grammar(ending)["patterns"]
    assert len(files(ending)) > 2
    unknown = []
    for path in files(ending):
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            for text, scope in tokens(line, patterns)[0]:
                if scope is None and text.strip():
                    unknown.append(f"{path.relative_to(ROOT)}:{number}: {text!r}")
    assert unknown == []


def test_words_have_the_scopes_that_people_expect():
    scopes = dict(tokens('s1: { r(x,1) w(y,"a b") } abort # why', grammar("history")["patterns"])[0])
    assert scopes["s1"].startswith("entity.name.type") and scopes["r"] == "support.function.read"
    assert scopes["w"] == "support.function.write" and scopes["1"] == "constant.numeric"
    assert scopes["abort"] == "keyword.control.outcome" and scopes[" why"].startswith("comment")
    levels = "ru rc ryw mr mw wfr ra ua cc psi pc si ssi ser sser psi-nosession si-nosession ser-nosession pl1 pl2".split()
    scopes = dict(tokens(f"# expect: {' '.join(levels)}", grammar("history")["patterns"])[0])
    assert {it: scopes.get(it) for it in levels} == dict.fromkeys(levels, scopes["ser"])
    assert not scopes["ser"].startswith("comment")
    scopes = dict(tokens("txn pay(n: int) { accounts[n].balance -= 1 } // x", grammar("txn")["patterns"])[0])
    assert scopes["txn"] == "keyword.declaration" and scopes["pay"] == "entity.name.function"
    scopes = dict(tokens("level mine in cerone = cerone.ra and acyclic(so)", grammar("spec")["patterns"])[0])
    assert scopes["level"] == "keyword.declaration" and scopes["and"] == "keyword.operator.word"


def test_the_extension_names_files_that_are_there():
    package = json.loads((EDITORS / "package.json").read_text())
    for language in package["contributes"]["languages"]:
        json.loads((EDITORS / language["configuration"]).read_text())
    for entry in package["contributes"]["grammars"]:
        assert json.loads((EDITORS / entry["path"]).read_text())["scopeName"] == entry["scopeName"]
