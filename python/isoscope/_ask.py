"""Questions, one function each, with the names and defaults of the command line."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

from . import _native
from ._answers import CheckAnswer, CompareAnswer, PredictAnswer, SeparateAnswer, VerifyAnswer
from ._errors import HistoryError
from ._history import History, history_of

_Path = str | os.PathLike[str]


def check(
    history: History | _Path | Any,
    level: str | Iterable[str] | None = None,
    *,
    spec: _Path | None = None,
    database: str | None = None,
    allow_empty: bool = False,
    timeout: float | None = None,
) -> CheckAnswer:
    """Does this history satisfy these levels, and if not, why not?

    ``history`` is a :class:`History`, the name of a file, or a table as :meth:`History.from_rows` takes it. Without
    ``level``, all usual levels are decided. ``spec`` is a file with levels of your own, ``database`` the one whose SQL
    names ``level`` has. What is not decided after ``timeout`` seconds is unknown. A history without transactions is
    refused, as every level holds of it, unless ``allow_empty`` says that this is as it should be.

    >>> lost = History.parse("init x=0\\ns1: { r(x,0) w(x,1) }\\ns2: { r(x,0) w(x,2) }")
    >>> check(lost, "si").anomalies
    ['lost-update']
    """
    given = history_of(history)
    if given.n_transactions == 0 and not allow_empty:
        raise HistoryError(
            f"{given.name}: there are no transactions in it, so there is nothing to check; if that is as it should be, "
            "say allow_empty=True"
        )
    own = None if spec is None else _text(spec)
    return CheckAnswer(_native.check(given._inner, _names(level), own, database, timeout))


def predict(
    history: History | _Path | Any,
    level: str | Iterable[str] | None = None,
    *,
    target: str = "ser",
    boundary: str | None = None,
    all: bool = False,
    timeout: float | None = None,
) -> PredictAnswer:
    """From this one good run, which bad one could have happened at a weaker level?

    >>> run = History.parse("init x=0\\ns1: { r(x,0) w(x,60) }\\ns2: { r(x,60) w(x,10) }")
    >>> predict(run, "cc").predictions[0].anomalies
    ('lost-update',)
    """
    words = _options(level=_names(level), target=target, boundary=boundary) + (["--all"] if all else [])
    return PredictAnswer(_native.predict(history_of(history)._inner, words, timeout))


def verify(
    program: str,
    level: str | Iterable[str] | None = None,
    *,
    database: str | None = None,
    repair: bool = False,
    name: str = "program",
    timeout: float | None = None,
) -> VerifyAnswer:
    """Do these transactions keep their invariants under isolation levels? ``program`` is the text of a ``.txn`` file.

    >>> text = "var hits: int = 0\\ntxn hit() { hits += 1 }\\nrun hit() || hit()\\ninvariant hits == 2"
    >>> verify(text).weakest
    ['ua']
    """
    words = _options(level=_names(level), database=database) + (["--repair"] if repair else [])
    return VerifyAnswer(_native.verify(name, program, words, timeout))


def verify_file(path: _Path, level: str | Iterable[str] | None = None, **options: Any) -> VerifyAnswer:
    """As :func:`verify`, of a file."""
    return verify(pathlib.Path(path).read_text(encoding="utf-8"), level, name=os.fspath(path), **options)


def separate(
    allow: str | Iterable[str] = (),
    forbid: str | Iterable[str] = (),
    *,
    spec: _Path | Sequence[_Path] = (),
    all: bool = False,
    limit: int | None = None,
    txns: int | None = None,
    keys: int | None = None,
    values: int | None = None,
    timeout: float | None = None,
) -> SeparateAnswer:
    """Which history do some levels allow and others forbid? The smallest one, or with ``all`` every one.

    >>> len(separate(allow="si", forbid="ser").histories)
    1
    """
    words = _options(allow=_names(allow), forbid=_names(forbid), limit=limit, txns=txns, keys=keys, values=values)
    return SeparateAnswer(_native.separate(words + (["--all"] if all else []), _texts(spec), timeout))


def compare(
    level: str,
    other: str,
    *,
    spec: _Path | Sequence[_Path] = (),
    bounded: int | None = None,
    timeout: float | None = None,
) -> CompareAnswer:
    """Are two levels equivalent, is one stronger, and which history shows it?

    >>> compare("ser", "si").relation
    'stronger'
    """
    words = [*_options(bounded=bounded), "--", level, other]
    return CompareAnswer(_native.compare(words, _texts(spec), timeout))


def _names(level: str | Iterable[str] | None) -> list[str]:
    if level is None:
        return []
    return [it for it in level.split(",") if it.strip()] if isinstance(level, str) else [str(it) for it in level]


def _options(**options: Any) -> list[str]:
    """Options as words of the command line; a list is an option for each of its members."""
    words = []
    for name, value in options.items():
        for one in value if isinstance(value, list) else [value]:
            if one is not None:
                words.append(f"--{name}={one}")
    return words


def _text(path: _Path) -> tuple[str, str]:
    return os.fspath(path), pathlib.Path(path).read_text(encoding="utf-8")


def _texts(spec: _Path | Sequence[_Path]) -> list[tuple[str, str]]:
    paths = [spec] if isinstance(spec, (str, os.PathLike)) else list(spec)
    return [_text(it) for it in paths]
