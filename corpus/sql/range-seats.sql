-- expect: ua=holds si=holds ser=holds
-- expect: postgres.rc=holds postgres.rr=holds postgres.ser=holds mysql.rc=holds mysql.rr=holds mysql.ser=holds
-- A row of seats is blocked, while somebody takes one of them.
CREATE TABLE seats (no int PRIMARY KEY CHECK (no BETWEEN 1 AND 4), state int NOT NULL DEFAULT 0);
CREATE TABLE tickets (who text PRIMARY KEY, n int NOT NULL);
INSERT INTO seats (no) VALUES (1), (2), (3), (4);

-- transaction block(low int, high int)
BEGIN;
UPDATE seats SET state = 2 WHERE no BETWEEN :low AND :high AND state = 0;
COMMIT;

-- transaction take(who text, seat int)
BEGIN;
UPDATE seats SET state = 1 WHERE no = :seat AND state = 0;
IF FOUND THEN
    INSERT INTO tickets VALUES (:who, 1);
END IF;
COMMIT;

-- run block(2, 3) || take('ann', 3) || take('bob', 3)
-- invariant "who has a ticket has the seat": (SELECT sum(n) FROM tickets) = (SELECT count(*) FROM seats WHERE state = 1)
