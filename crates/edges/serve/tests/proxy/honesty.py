"""Four sessions work at once through the proxy, and each writes down what it saw, as it saw it.

Arguments: the isolation level and a seed. What is printed has one transaction a line, in the words of a history.
"""

import json
import random
import sys
import threading

import psycopg
from psycopg.rows import dict_row

LEVELS = {
    "read-committed": psycopg.IsolationLevel.READ_COMMITTED,
    "repeatable-read": psycopg.IsolationLevel.REPEATABLE_READ,
    "serializable": psycopg.IsolationLevel.SERIALIZABLE,
}
N_SESSIONS, N_TXNS, N_ROWS = 4, 25, 6


def key(row):
    return f"accounts/{row['id']}"


def read(cursor, dice):
    number = dice.randrange(N_ROWS + 2)
    cursor.execute("SELECT id, owner, balance FROM accounts WHERE id = %s", (number,))
    row = cursor.fetchone()
    return ["r", f"accounts/{number}", row]


def lock(cursor, dice):
    number = dice.randrange(N_ROWS)
    cursor.execute("SELECT * FROM accounts WHERE id = %s FOR UPDATE", (number,))
    return ["r", f"accounts/{number}", cursor.fetchone()]


def scan(cursor, dice):
    most = dice.randrange(200)
    cursor.execute("SELECT * FROM accounts WHERE balance < %s AND owner = 'ann' ORDER BY id", (most,))
    return ["scan", [[key(row), row] for row in cursor.fetchall()]]


def total(cursor, dice):
    # What is added up is not seen by the client; the rows are read again, which only a snapshot makes equal.
    cursor.execute("SELECT sum(balance) AS sum, count(*) AS n FROM accounts")
    found = cursor.fetchone()
    return ["total", found["n"], int(found["sum"] or 0)]


def update(cursor, dice):
    number, by = dice.randrange(N_ROWS), dice.randrange(1, 100)
    sql = "UPDATE accounts SET balance = balance + %s WHERE id = %s RETURNING *"
    cursor.execute(sql, (by, number))
    row = cursor.fetchone()
    return ["w", f"accounts/{number}", row] if row else ["r", f"accounts/{number}", None]


def insert(cursor, dice):
    number = dice.randrange(1000, 10**9)
    cursor.execute("INSERT INTO accounts VALUES (%s, 'ann', %s) RETURNING *", (number, dice.randrange(100)))
    return ["w", f"accounts/{number}", cursor.fetchone()]


def delete(cursor, dice):
    cursor.execute("DELETE FROM accounts WHERE balance > %s RETURNING id", (dice.randrange(900, 1200),))
    return ["deleted", sorted(key(row) for row in cursor.fetchall())]


def work(connection, dice, log):
    for _ in range(N_TXNS):
        ops = []
        try:
            with connection.cursor(row_factory=dict_row) as cursor:
                for _ in range(dice.randrange(1, 5)):
                    act = dice.choice([read, read, lock, scan, total, update, update, insert, delete])
                    if dice.random() < 0.15:
                        cursor.execute("SAVEPOINT here")
                        insert(cursor, dice)
                        cursor.execute("ROLLBACK TO SAVEPOINT here")
                    ops.append(act(cursor, dice))
            if dice.random() < 0.2:
                connection.rollback()
                log.append({"status": "abort", "ops": ops})
            else:
                connection.commit()
                log.append({"status": "commit", "ops": ops})
        except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected):
            connection.rollback()
            log.append({"status": "abort", "ops": ops})
    connection.close()


def main():
    level, seed = sys.argv[1], int(sys.argv[2])
    connections = [psycopg.connect() for _ in range(N_SESSIONS)]
    logs = [[] for _ in connections]
    threads = []
    for nth, connection in enumerate(connections):
        connection.isolation_level = LEVELS[level]
        # Prepared on the server at once, after a few times, or never.
        connection.prepare_threshold = [0, 3, None, 5][nth]
        dice = random.Random(seed * 100 + nth)
        threads.append(threading.Thread(target=work, args=(connection, dice, logs[nth])))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for log in logs:
        print(json.dumps(log))


main()
