"""Histories: what sessions read and wrote, from files, texts, rows, frames and transactions."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _native
from ._errors import HistoryError

_FORMATS = {
    ".history": "text",
    ".jsonl": "jsonl",
    ".edn": "elle",
}


class History:
    """What was observed: sessions, their transactions, and what each read and wrote. It never changes.

    Made by :func:`isoscope.read`, :meth:`parse`, :meth:`from_rows` or :meth:`from_transactions`.
    """

    __slots__ = ("_inner",)

    def __init__(self, inner: _native.History) -> None:
        self._inner = inner

    @classmethod
    def parse(cls, text: str, *, name: str = "text", format: str | None = None, initial: Any = None) -> History:
        """A history in our notation, or in any other format that is recognised.

        >>> History.parse("init x=0\\ns1: { r(x,0) w(x,1) }").n_transactions
        1
        """
        return cls(_native.parse(text.encode(), name, format, initial))

    @classmethod
    def from_rows(
        cls,
        rows: Any,
        *,
        session: str = "session",
        txn: str | None = "txn",
        op: str = "op",
        key: str = "key",
        value: str = "value",
        status: str | None = None,
        begin: str | None = None,
        end: str | None = None,
        initial: Any = None,
        name: str = "rows",
    ) -> History:
        """A history from a table with one operation a row.

        ``rows`` is a list of dicts, a dict of lists, a polars or pandas frame, a pyarrow table, or anything else that
        hands over an Arrow stream. The other arguments name its columns; ``txn=None`` says that each row is a transaction.

        ``op`` is ``read``, ``write``, ``append`` or ``delete`` (or ``r``, ``w``, ``a``, ``d``), or ``commit`` or
        ``abort``, which end a transaction. A read of a whole list has a list as its value. Without ``status``, whose
        words are ``commit``, ``abort`` and ``unknown``, and without such rows, transactions committed. ``status``,
        ``begin`` and ``end`` are columns named so if the table has them.

        ``initial`` is what every register holds at first, or a dict with the values of single keys. Rows of a
        transaction need not stand together, but have the order in which it did them.

        >>> rows = [{"session": "s1", "txn": 1, "op": "write", "key": "x", "value": 1}]
        >>> History.from_rows(rows).sessions
        ['s1']
        """
        roles = {"session": session, "op": op, "key": key, "value": value}
        wanted = {"txn": txn, "status": status, "begin": begin, "end": end}
        roles.update({role: column for role, column in wanted.items() if column is not None})
        initials = dict(initial) if isinstance(initial, Mapping) else None
        initial = None if isinstance(initial, Mapping) else initial
        if hasattr(rows, "__arrow_c_stream__"):
            roles.update(_also_there(roles, _names_of(rows)))
            try:
                return cls(_native.from_arrow(_stream_of(rows), roles, name, initial, initials))
            except KeyError as error:
                raise _no_column(roles, error.args[0]) from None
            except (TypeError, ImportError):
                # A type that Arrow has and histories do not, such as lists, or a frame that needs another package for
                # its stream: the long way, object by object.
                pass
        columns = _columns(rows)
        roles.update(_also_there(roles, columns))
        for column in roles.values():
            if column not in columns:
                raise _no_column(roles, list(columns))
        cells = {role: columns[column] for role, column in roles.items()}
        return cls(_native.from_columns(cells, name, initial, initials))

    @classmethod
    def from_transactions(
        cls, transactions: Iterable[Mapping[str, Any]], *, initial: Any = None, name: str = "transactions"
    ) -> History:
        """A history from dicts as lines of our JSON have them, which say everything that a history can have.

        >>> transactions = [{"s": "s1", "ops": [["r", "x", 0], ["w", "x", 1]], "status": "commit"}]
        >>> History.from_transactions(transactions, initial=0).n_operations
        2
        """
        header: dict[str, Any] = {"isoscope": 1}
        if isinstance(initial, Mapping):
            header["init"] = [list(it) for it in initial.items()]
        elif initial is not None:
            header["initial"] = initial
        lines = [json.dumps(header), *(json.dumps(_transaction(it)) for it in transactions)]
        return cls(_native.parse("\n".join(lines).encode(), name, "jsonl", None))

    @property
    def name(self) -> str:
        """What messages call it."""
        return self._inner.name

    @property
    def n_transactions(self) -> int:
        """How many transactions it has."""
        return self._inner.n_transactions

    @property
    def n_operations(self) -> int:
        """How many operations they have together."""
        return self._inner.n_operations

    @property
    def n_keys(self) -> int:
        """How many keys it has."""
        return self._inner.n_keys

    @property
    def n_committed(self) -> int:
        """How many transactions committed."""
        return self._inner.n_committed

    @property
    def sessions(self) -> list[str]:
        """The names of its sessions."""
        return self._inner.sessions

    @property
    def warnings(self) -> list[str]:
        """What is worth a look in the input it came from."""
        return self._inner.warnings

    def to_text(self) -> str:
        """The history in our notation."""
        return bytes(self._inner.write("text")).decode()

    def write(self, path: str | os.PathLike[str], *, format: str | None = None) -> None:
        """Writes it to a file; without a format, the ending says which."""
        path = pathlib.Path(path)
        if format is None:
            format = _FORMATS.get(path.suffix)
            if format is None:
                known = ", ".join(_FORMATS)
                raise HistoryError(f"{path}: the ending is none of {known}; name the format, as in format=\"jsonl\"")
        path.write_bytes(bytes(self._inner.write(format)))

    def __eq__(self, other: object) -> bool:
        return self._inner.equals(other._inner) if isinstance(other, History) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<History {self.name}: {self.n_transactions} transactions of {len(self.sessions)} sessions>"


def read(path: str | os.PathLike[str], *, format: str | None = None, initial: Any = None) -> History:
    """Reads a history from a file in any format that the command line reads, compressed or not.

    ``initial`` is what every register holds before its first write, if the file does not say it.
    """
    return History(_native.read(os.fspath(path), format, initial))


def history_of(given: History | str | os.PathLike[str] | Any) -> History:
    """A history, the file of a name, or a table of rows with the usual columns."""
    if isinstance(given, History):
        return given
    if isinstance(given, (str, os.PathLike)):
        return read(given)
    return History.from_rows(given)


def _stream_of(frame: Any) -> Any:
    return frame.__arrow_c_stream__()


def _names_of(frame: Any) -> Sequence[str]:
    """The columns of a frame, by the word that its library has for them."""
    for attribute in ("column_names", "columns"):
        names = getattr(frame, attribute, None)
        if names is not None and not callable(names):
            return [str(it) for it in names]
    return []


def _also_there(roles: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Columns that nobody named, and that are called by what they are."""
    return {role: role for role in ("status", "begin", "end") if role not in roles and role in names}


def _columns(rows: Any) -> dict[str, Any]:
    if isinstance(rows, Mapping):
        return dict(rows)
    for method in ("to_pydict", "to_dict"):
        if hasattr(rows, method):
            as_dict = getattr(rows, method)
            try:
                # Pandas gives lists only if it is told so, and polars series only if it is not.
                columns = as_dict(orient="list") if method == "to_dict" else as_dict()
            except TypeError:
                columns = as_dict(as_series=False)
            return dict(columns)
    rows = list(rows)
    names: dict[str, None] = {}
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise HistoryError(f"rows: line {number}: expected a dict with a key a column, found {type(row).__name__}")
        names.update(dict.fromkeys(row))
    return {column: [row.get(column) for row in rows] for column in names}


def _no_column(roles: Mapping[str, str], names: Sequence[str]) -> HistoryError:
    there = [str(it) for it in names]
    for role, column in roles.items():
        if column not in there:
            found = ", ".join(there) if there else "no columns at all"
            cure = f"name the column that is the {role}, as in {role}=\"...\""
            if role == "txn":
                cure += ", or say txn=None if each row is a transaction"
            return HistoryError(f"rows: there is no column `{column}`, but {found}; {cure}")
    return HistoryError("rows: the table has no columns")


def _transaction(given: Mapping[str, Any]) -> dict[str, Any]:
    """Long words for short ones."""
    line = dict(given)
    if "session" in line and "s" not in line:
        line["s"] = line.pop("session")
    return line
