-- txn: website-hits
CREATE TABLE website (page int PRIMARY KEY CHECK (page BETWEEN 1 AND 2), hits int NOT NULL);
INSERT INTO website VALUES (1, 9), (2, 10);

-- transaction count_hits()
BEGIN;
UPDATE website SET hits = hits + 1;
COMMIT;

-- transaction prune()
BEGIN;
DELETE FROM website WHERE hits = 10;
COMMIT;

-- run count_hits() || prune()
-- invariant "the page with ten hits is gone": (SELECT count(*) FROM website) = 1
