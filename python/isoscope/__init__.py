"""Isoscope: what did a database really promise?

Does a recorded history of transactions satisfy an isolation level, and if not, which few operations show it? Which
history separates two levels? Does a program keep its invariants? What could have happened instead of a run?

>>> import isoscope
>>> history = isoscope.History.from_rows([
...     {"session": "s1", "txn": 1, "op": "read", "key": "x", "value": 0},
...     {"session": "s1", "txn": 1, "op": "write", "key": "x", "value": 1},
...     {"session": "s2", "txn": 1, "op": "read", "key": "x", "value": 0},
...     {"session": "s2", "txn": 1, "op": "write", "key": "x", "value": 2},
... ], initial=0)
>>> answer = isoscope.check(history, "si")
>>> answer.verdict, answer.anomalies
('violated', ['lost-update'])

``answer.explain()`` says why in words, ``answer.report("why.html")`` writes a page, and a notebook shows the picture.
Every answer comes with evidence that code without a part in the search has checked.
"""

from ._answers import (
    Answer,
    CheckAnswer,
    CompareAnswer,
    LevelAnswer,
    PredictAnswer,
    Prediction,
    SeparateAnswer,
    VerifyAnswer,
)
from ._ask import check, compare, predict, separate, verify, verify_file
from ._errors import Bug, HistoryError, Interrupted, IsoscopeError, Place, QuestionError
from ._history import History, read
from ._native import __version__

__all__ = [
    "Answer",
    "Bug",
    "CheckAnswer",
    "CompareAnswer",
    "History",
    "HistoryError",
    "Interrupted",
    "IsoscopeError",
    "LevelAnswer",
    "Place",
    "PredictAnswer",
    "Prediction",
    "QuestionError",
    "SeparateAnswer",
    "VerifyAnswer",
    "__version__",
    "check",
    "compare",
    "predict",
    "read",
    "separate",
    "verify",
    "verify_file",
]
