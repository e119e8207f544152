-- txn: visits-upsert
CREATE TABLE visits (page text PRIMARY KEY, n int NOT NULL);

-- transaction visit(page text)
BEGIN;
INSERT INTO visits (page, n) VALUES (:page, 1) ON CONFLICT (page) DO UPDATE SET n = visits.n + excluded.n;
COMMIT;

-- run visit('home') || visit('home') || visit('home')
-- invariant "every visit counts": (SELECT n FROM visits WHERE page = 'home') = 3
