-- txn: counter-read-first
CREATE TABLE counters (id int PRIMARY KEY, visits int NOT NULL);
INSERT INTO counters VALUES (1, 0);

-- transaction visit()
BEGIN;
SELECT visits INTO seen FROM counters WHERE id = 1;
UPDATE counters SET visits = :seen + 1 WHERE id = 1;
COMMIT;

-- run 4 * visit()
-- invariant "every visit counts": (SELECT visits FROM counters WHERE id = 1) = 4
