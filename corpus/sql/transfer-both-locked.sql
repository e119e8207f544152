-- expect: postgres.rc=holds postgres.rr=holds postgres.ser=holds mysql.rc=holds mysql.ser=holds
CREATE TABLE accounts (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO accounts (id, balance) VALUES (1, 100), (2, 0), (3, 0);

-- transaction Transfer(source int, target int, amount int)
BEGIN;
SELECT * FROM accounts WHERE id IN (:source, :target) FOR UPDATE;
IF FOUND THEN
    SELECT balance INTO available FROM accounts WHERE id = :source;
    SELECT balance INTO received FROM accounts WHERE id = :target;
    IF available >= :amount THEN
        UPDATE accounts SET balance = available - :amount WHERE id = :source;
        UPDATE accounts SET balance = received + :amount WHERE id = :target;
    END IF;
END IF;
COMMIT;

-- transaction Collect()
BEGIN;
SELECT 1 FROM accounts WHERE id BETWEEN 2 AND 3 FOR UPDATE;
SELECT balance INTO second FROM accounts WHERE id = 2;
SELECT balance INTO third FROM accounts WHERE id = 3;
UPDATE accounts SET balance = 0 WHERE id = 2;
UPDATE accounts SET balance = second + third WHERE id = 3;
COMMIT;

-- run Transfer(1, 2, 60) || Transfer(1, 2, 60) || Collect()
-- invariant "nobody is overdrawn": NOT EXISTS (SELECT 1 FROM accounts WHERE balance < 0)
-- invariant "no money is lost": (SELECT sum(balance) FROM accounts) = 100
