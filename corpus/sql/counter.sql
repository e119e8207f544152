-- txn: counter
CREATE TABLE counters (id int PRIMARY KEY, visits int NOT NULL);
INSERT INTO counters VALUES (1, 0);

-- transaction visit()
BEGIN;
UPDATE counters SET visits = visits + 1 WHERE id = 1;
COMMIT;

-- run 4 * visit()
-- invariant "every visit counts": (SELECT visits FROM counters WHERE id = 1) = 4
