"""Answers: what was decided, what it rests on, and everything that can be made of it."""

from __future__ import annotations

import datetime
import functools
import html
import json
import os
import pathlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from . import _native
from ._errors import QuestionError
from ._history import History

Verdict = Literal["holds", "violated", "unknown"]

# No line of an answer is longer.
_UNBROKEN = 10_000


class Answer:
    """What all answers have. The document behind one never changes, and is rendered when somebody looks."""

    def __init__(self, document: _native.Document) -> None:
        self._document = document

    def explain(self, *, columns: int = 100) -> str:
        """The answer in words, as the command line prints it."""
        # Options of the command line are of no use here.
        lines = self._document.text(columns).splitlines(keepends=True)
        words = "".join(it for it in lines if not it.startswith("For a picture, add --report"))
        return words + "".join(f"{it}\n" for it in self.notes)

    @functools.cached_property
    def document(self) -> Mapping[str, Any]:
        """The whole answer as data: the JSON that the command line prints."""
        parsed: Mapping[str, Any] = json.loads(self.json())
        return parsed

    @property
    def notes(self) -> list[str]:
        """What one should know besides."""
        return self._document.notes

    @property
    def exit_code(self) -> int:
        """What the command line would end with: 0 if all is well, 1 if something was found, 3 if it is not known."""
        return self._document.exit_code

    def json(self, *, pretty: bool = False) -> str:
        """The document as JSON."""
        return self._document.json(pretty)

    def html(self) -> str:
        """The page: one file that needs nothing else."""
        return self._document.html(datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"))

    def svg(self) -> str:
        """The page's picture."""
        return self._document.svg()

    def dot(self) -> str:
        """The answer as a graph for Graphviz."""
        return self._document.dot()

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes a report; the ending says which kind: .html .svg .dot .json .txt"""
        path = pathlib.Path(path)
        kinds: dict[str, Callable[[], str]] = {
            ".html": self.html,
            ".svg": self.svg,
            ".dot": self.dot,
            ".json": functools.partial(self.json, pretty=True),
            ".txt": self.explain,
        }
        if path.suffix not in kinds:
            raise QuestionError(f"{path}: a report's name ends in one of {' '.join(kinds)}")
        path.write_text(kinds[path.suffix](), encoding="utf-8")

    def headline(self) -> str:
        """The answer in a line, however long it is."""
        return next((line for line in self.explain(columns=_UNBROKEN).splitlines() if line.strip()), "")

    def _repr_html_(self) -> str:
        """For notebooks: the headline and the page's picture, which has a scroll bar if it is wider than its cell."""
        return f'<div style="overflow-x: auto"><p><b>{html.escape(self.headline())}</b></p>{self.svg()}</div>'

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.headline()}>"

    def __str__(self) -> str:
        return self.explain()


@dataclass(frozen=True)
class LevelAnswer:
    """What was decided of one level."""

    level: str
    """As on the command line: ``ser``."""
    name: str
    """In full: ``serializable``."""
    verdict: Verdict
    anomalies: tuple[str, ...]
    """What the field calls it, if it is violated."""
    certified: bool
    """Was the evidence checked by code that has no part in the search?"""
    evidence: Mapping[str, Any]
    """The schedule that explains the history, or the core that is forbidden by itself."""
    reason: str
    """Why it is not known, if it is not."""

    @property
    def holds(self) -> bool:
        """Is it known to hold?"""
        return self.verdict == "holds"

    def __bool__(self) -> bool:
        return self.holds


class CheckAnswer(Answer):
    """Which levels a history satisfies. It is true only if every level that was asked is known to hold."""

    @functools.cached_property
    def levels(self) -> Mapping[str, LevelAnswer]:
        """One answer a level, by its short name."""
        return {it["level"]: _level(it) for it in self.document["levels"]}

    def headline(self) -> str:
        """The answer in a line: of several levels, what became of them, the worst first."""
        if len(self.levels) < 2:
            return super().headline()
        parts = []
        for verdict in ("violated", "unknown", "holds"):
            names = ", ".join(it.level for it in self if it.verdict == verdict)
            why = f" ({', '.join(self.anomalies)})" if verdict == "violated" else ""
            if names:
                parts.append(f"{verdict}: {names}{why}")
        return "; ".join(parts)

    def __getitem__(self, level: str) -> LevelAnswer:
        for answer in self.levels.values():
            if level in (answer.level, answer.name):
                return answer
        raise KeyError(f"{level} was not asked; asked were {', '.join(self.levels)}")

    def __iter__(self) -> Iterator[LevelAnswer]:
        return iter(self.levels.values())

    @property
    def verdict(self) -> Verdict:
        """Of all that was asked: violated if one level is, otherwise unknown if one is."""
        verdicts = {it.verdict for it in self}
        if "violated" in verdicts:
            return "violated"
        return "unknown" if "unknown" in verdicts or not verdicts else "holds"

    @property
    def holds(self) -> bool:
        """Is every level known to hold that was asked?"""
        return self.verdict == "holds"

    @property
    def anomalies(self) -> list[str]:
        """The anomalies of all violated levels, each once."""
        return list(dict.fromkeys(name for it in self for name in it.anomalies))

    @property
    def promise(self) -> Mapping[str, Any] | None:
        """What the database promised that the history was recorded from, and whether it kept that."""
        promise: Mapping[str, Any] | None = self.document.get("promise")
        return promise

    def __bool__(self) -> bool:
        return self.holds


class VerifyAnswer(Answer):
    """Whether a program keeps its invariants. It is true only if every level that was asked is known to keep them."""

    @functools.cached_property
    def levels(self) -> Mapping[str, Verdict]:
        """A verdict a level, weaker levels first."""
        return {it["level"]: it["verdict"] for it in self.document["levels"]}

    @property
    def weakest(self) -> list[str] | None:
        """The weakest levels that hold, if that was asked."""
        weakest: list[str] | None = self.document.get("weakest")
        return weakest

    @property
    def repairs(self) -> list[Mapping[str, Any]]:
        """What would help, if that was asked."""
        repairs: list[Mapping[str, Any]] = self.document.get("repairs", [])
        return repairs

    def counterexample(self, level: str) -> Mapping[str, Any] | None:
        """The run that breaks the program at a level, if there is one."""
        for it in self.document["levels"]:
            if it["level"] == level:
                run: Mapping[str, Any] | None = it.get("counterexample")
                return run
        raise KeyError(f"{level} was not asked; asked were {', '.join(self.levels)}")

    @property
    def holds(self) -> bool:
        """Is every level known to hold that was asked?"""
        return bool(self.levels) and all(it == "holds" for it in self.levels.values())

    def __bool__(self) -> bool:
        return self.holds


class SeparateAnswer(Answer):
    """Histories that some levels allow and others forbid. It is true if there is one."""

    @property
    def verdict(self) -> Literal["found", "none", "unknown"]:
        """Whether there is such a history within the scope."""
        verdict: Literal["found", "none", "unknown"] = self.document["verdict"]
        return verdict

    @functools.cached_property
    def histories(self) -> list[History]:
        """The histories, the smallest one first."""
        return [History.parse(it["history"], name="separating") for it in self.document["found"]]

    def __bool__(self) -> bool:
        return self.verdict == "found"


class CompareAnswer(Answer):
    """How two levels relate."""

    @property
    def relation(self) -> Literal["equivalent", "stronger", "weaker", "incomparable", "unknown"]:
        """What the first level is, compared with the second one."""
        relation: Literal["equivalent", "stronger", "weaker", "incomparable", "unknown"] = self.document["relation"]
        return relation

    @property
    def left_only(self) -> History | None:
        """The smallest history that only the first level allows."""
        return self._history("left_only")

    @property
    def right_only(self) -> History | None:
        """The smallest history that only the second level allows."""
        return self._history("right_only")

    def _history(self, side: str) -> History | None:
        found = self.document.get(side)
        return History.parse(found["history"], name=side) if found else None


@dataclass(frozen=True)
class Prediction:
    """A run that could have happened instead of the observed one."""

    level: str
    """The level that allows it."""
    anomalies: tuple[str, ...]
    """What is wrong with it at the target."""
    history: History
    document: Mapping[str, Any]


class PredictAnswer(Answer):
    """What could have happened instead of a run. It is true if a bad run was found."""

    @functools.cached_property
    def levels(self) -> Mapping[str, Literal["predicted", "none", "unknown"]]:
        """What was found at each level, weaker levels first."""
        return {it["level"]: it["verdict"] for it in self.document["levels"]}

    @functools.cached_property
    def predictions(self) -> list[Prediction]:
        """All runs that were found."""
        found = []
        for level in self.document["levels"]:
            for run in level.get("predictions", []):
                anomalies = tuple(run["forbidden"]["anomalies"])
                history = History.parse(run["history"], name="predicted")
                found.append(Prediction(level["level"], anomalies, history, run))
        return found

    def __bool__(self) -> bool:
        return bool(self.predictions)


def _level(of: Mapping[str, Any]) -> LevelAnswer:
    return LevelAnswer(
        level=of["level"],
        name=of["name"],
        verdict=of["verdict"],
        anomalies=tuple(of.get("anomalies", ())),
        certified=of.get("certified", False),
        evidence=of.get("evidence", {}),
        reason=of.get("reason", ""),
    )
