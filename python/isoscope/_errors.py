"""What can go wrong: each message says where, what was expected, what was found, and what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Place:
    """A mistake in an input: where it is, what is wrong, and how to mend it."""

    file: str
    line: int | None
    column: int | None
    message: str
    hint: str


def _place(file: str, line: int | None, column: int | None, message: str, hint: str) -> Place:
    """Words about a history may begin with the column, and end with the line itself."""
    if column is None and (words := re.match(r"column (\d+): ", message)):
        column, message = int(words[1]), message[words.end() :].split("\n    ")[0]
    return Place(file, line, column, message, hint)


class IsoscopeError(Exception):
    """A question could not be asked, or was not answered. A violation is no error: it is an answer."""

    def __init__(self, message: str, places: list[dict[str, Any]] | None = None) -> None:
        super().__init__(message)
        self.places: list[Place] = [_place(**it) for it in places or []]
        """Where the input is wrong, if that is why."""


class HistoryError(IsoscopeError, ValueError):
    """An input is no history: it cannot be read, or its table lacks something."""


class QuestionError(IsoscopeError, ValueError):
    """There is no such level, no such option, or a program or spec has a mistake."""


class Interrupted(IsoscopeError):
    """Reading was told to stop."""


class Bug(IsoscopeError, RuntimeError):
    """A bug in isoscope, which is never an answer."""
