"""Histories come from everywhere, and mean the same."""

import datetime

import pytest

import isoscope
from isoscope import History, HistoryError

ROWS = [
    {"session": "s1", "txn": 1, "op": "read", "key": "x", "value": 0},
    {"session": "s1", "txn": 1, "op": "write", "key": "x", "value": 1},
    {"session": "s2", "txn": 1, "op": "read", "key": "x", "value": 0},
    {"session": "s2", "txn": 1, "op": "write", "key": "x", "value": 2},
]
TEXT = "init x=0\ns1: { r(x,0) w(x,1) }\ns2: { r(x,0) w(x,2) }\n"


def test_rows_texts_and_transactions_give_the_same_history():
    of_rows = History.from_rows(ROWS, initial=0)
    assert of_rows.to_text() == TEXT
    assert of_rows == History.parse(TEXT)
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    assert History.from_rows(columns, initial={"x": 0}) == of_rows
    transactions = [
        {"session": "s1", "ops": [["r", "x", 0], ["w", "x", 1]]},
        {"s": "s2", "ops": [["r", "x", 0], ["w", "x", 2]]},
    ]
    assert History.from_transactions(transactions, initial=0) == of_rows


def test_frames_give_the_same_history():
    pandas, polars, pyarrow = (pytest.importorskip(it) for it in ("pandas", "polars", "pyarrow"))
    expected = History.from_rows(ROWS, initial=0)
    frames = [pandas.DataFrame(ROWS), polars.DataFrame(ROWS), pyarrow.Table.from_pylist(ROWS)]
    for frame in frames:
        assert History.from_rows(frame, initial=0) == expected, type(frame)
    categorical = polars.DataFrame(ROWS).with_columns(polars.col("op", "key", "session").cast(polars.Categorical))
    assert History.from_rows(categorical, initial=0) == expected
    narrow = polars.DataFrame(ROWS).with_columns(polars.col("value").cast(polars.UInt8), polars.col("txn").cast(polars.Float64))
    assert History.from_rows(narrow, initial=0) == expected
    in_pieces = polars.concat([polars.DataFrame(ROWS[:1]), polars.DataFrame(ROWS[1:])], rechunk=False)
    assert History.from_rows(in_pieces, initial=0) == expected


def test_large_frames_give_the_same_history_as_their_rows_in_any_pieces():
    """Pieces of integers are looked up as a whole; cells that are missing, texts, ends and deletes are not."""
    polars = pytest.importorskip("polars")
    rows = []
    for txn in range(3000):
        session, is_odd = f"s{txn % 7}", txn % 5 == 4
        rows.append({"session": session, "txn": txn, "op": "write", "key": txn % 11, "value": txn + 1})
        rows.append({"session": session, "txn": txn, "op": "read", "key": txn % 11, "value": txn + 1})
        if is_odd:
            rows.append({"session": session, "txn": txn, "op": "delete", "key": txn % 3, "value": None})
        if txn % 50 == 49:
            rows.append({"session": session, "txn": txn, "op": "abort", "key": None, "value": None})
    ordinary = [row for row in rows if row["op"] in ("read", "write")]
    by_time = sorted(ordinary, key=lambda it: (it["txn"] // 7, it["op"]))
    for table in (rows, ordinary, by_time):
        expected = History.from_rows(table, initial=0)
        frame = polars.DataFrame(table)
        assert History.from_rows(frame, initial=0) == expected
        parts = [frame[start : start + 1777] for start in range(0, frame.height, 1777)]
        in_pieces = polars.concat(parts, rechunk=False)
        assert History.from_rows(in_pieces, initial=0) == expected
        as_texts = frame.with_columns(polars.col("key").cast(polars.String))
        texts = [row | {"key": None if row["key"] is None else str(row["key"])} for row in table]
        assert History.from_rows(as_texts, initial=0) == History.from_rows(texts, initial=0)


def test_lists_in_frames_take_the_long_way():
    polars = pytest.importorskip("polars")
    rows = {"session": ["a", "b"], "txn": [1, 1], "op": ["r", "r"], "key": ["l", "l"], "value": [[1, 2], [1]]}
    history = History.from_rows(polars.DataFrame(rows))
    assert "r(l,[1,2])" in history.to_text().replace(", ", ",")


def test_a_log_in_the_order_of_time_is_a_table():
    interleaved = [ROWS[0], ROWS[2], ROWS[1], ROWS[3]]
    assert History.from_rows(interleaved, initial=0) == History.from_rows(ROWS, initial=0)


def test_columns_have_any_names_and_outcomes_and_times():
    rows = [
        {"client": 7, "tx": "a", "what": "W", "k": 1, "v": 5, "status": "commit", "from": 1, "to": 3},
        {"client": 7, "tx": "b", "what": "r", "k": 1, "v": 5, "status": "abort", "from": 4, "to": None},
    ]
    names = {"session": "client", "txn": "tx", "op": "what", "key": "k", "value": "v", "begin": "from", "end": "to"}
    history = History.from_rows(rows, **names)
    assert (history.n_transactions, history.n_committed, history.sessions) == (2, 1, ["7"])
    assert "abort" in history.to_text()
    alone = History.from_rows([{"session": 1, "op": "w", "key": "x", "value": it} for it in (1, 2)], txn=None)
    assert alone.n_transactions == 2


def test_rows_can_end_transactions():
    ends = [{"session": "s1", "txn": 1, "op": "rollback", "key": None, "value": None}]
    history = History.from_rows([*ROWS[:2], *ends], initial=0)
    assert (history.n_transactions, history.n_operations, history.n_committed) == (1, 2, 0)


def test_values_that_are_equal_in_python_are_equal_here():
    rows = [
        {"session": 1, "txn": 1, "op": "w", "key": "x", "value": 1.0},
        {"session": 2, "txn": 1, "op": "r", "key": "x", "value": 1},
        {"session": 3, "txn": 1, "op": "w", "key": "y", "value": True},
        {"session": 4, "txn": 1, "op": "r", "key": "y", "value": True},
        {"session": 5, "txn": 1, "op": "w", "key": "z", "value": {"b": 2, "a": None}},
        {"session": 6, "txn": 1, "op": "r", "key": "z", "value": {"a": None, "b": 2}},
        {"session": 7, "txn": 1, "op": "w", "key": "d", "value": datetime.date(2026, 1, 2)},
        {"session": 8, "txn": 1, "op": "r", "key": "d", "value": "2026-01-02"},
        {"session": 9, "txn": 1, "op": "r", "key": "n", "value": float("nan")},
        {"session": 9, "txn": 2, "op": "w", "key": 10**30, "value": 10**30},
    ]
    assert isoscope.check(History.from_rows(rows), "ser").holds


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"op": "peek"}, "line 2: the operation must be read, write, append, delete, commit or abort, not peek"),
        ({"key": None}, "line 2: the operation has no key"),
        ({"session": None}, "line 2: the row has no session"),
        ({"value": object()}, "line 2: the value is of the type object; make it a string, a number or None first"),
        ({"value": [1]}, "line 2: only a read has a whole list; append its elements one by one"),
    ],
)
def test_a_bad_row_is_an_error_with_its_place_and_a_cure(change, message):
    rows = [ROWS[0], {**ROWS[1], **change}]
    with pytest.raises(HistoryError, match=f"rows: {message}"):
        History.from_rows(rows)


def test_errors_say_which_columns_there_are():
    with pytest.raises(HistoryError, match="no column `txn`, but session, op.*say txn=None if each row is a transaction"):
        History.from_rows([{"session": 1, "op": "r", "key": "x", "value": 0}])
    polars = pytest.importorskip("polars")
    with pytest.raises(HistoryError, match="there is no column `key`, but session, txn"):
        History.from_rows(polars.DataFrame({"session": [1], "txn": [1], "op": ["r"], "k": ["x"], "value": [0]}))
    with pytest.raises(HistoryError, match="expected a dict with a key a column, found int"):
        History.from_rows([1])


def test_a_session_runs_one_transaction_after_the_other():
    rows = [{"session": 1, "txn": it, "op": "w", "key": "x", "value": n} for n, it in enumerate([1, 2, 1])]
    with pytest.raises(HistoryError, match="line 3: transaction 1 of session 1 goes on after another one"):
        History.from_rows(rows)


def test_texts_with_mistakes_have_places():
    with pytest.raises(HistoryError) as caught:
        History.parse("init x=0\ns1: { r(x,0) w(x }\n")
    place = caught.value.places[0]
    assert (place.line, place.column) == (2, 18)
    assert place.message.startswith("expected") and "\n" not in place.message
    assert "line 2" in str(caught.value)
    with pytest.raises(HistoryError, match="there is no format `csv`; choose one of text"):
        History.parse("", format="csv")


def test_files_are_read_and_written(tmp_path, corpus):
    history = isoscope.read(corpus / "anomalies/write-skew.history")
    assert history.n_transactions == 2
    for name in ("h.jsonl", "h.history"):
        history.write(tmp_path / name)
        assert isoscope.read(tmp_path / name) == history, name
    empty = History.parse("s1: { w(x,1) }\ns2: { r(x,1) }\n")
    empty.write(tmp_path / "h.edn")
    assert isoscope.read(tmp_path / "h.edn").n_transactions == 2
    with pytest.raises(HistoryError, match="elle cannot express an initial value"):
        history.write(tmp_path / "h.edn")
    with pytest.raises(HistoryError, match="name the format"):
        history.write(tmp_path / "h.what")
    with pytest.raises(HistoryError, match="No such file"):
        isoscope.read(tmp_path / "missing.jsonl")
