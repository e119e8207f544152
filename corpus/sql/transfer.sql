-- expect: rc=violated ra=holds ua=holds cc=holds pc=holds psi=holds si=holds ser=holds
-- expect: postgres.rc=violated postgres.rr=holds postgres.ser=holds mysql.rc=violated mysql.rr=violated mysql.ser=holds
CREATE TABLE accounts (id int PRIMARY KEY, balance int NOT NULL DEFAULT 0);
INSERT INTO accounts VALUES (1, 100), (2, 0);

-- transaction Transfer(source int, target int, amount int)
BEGIN;
SELECT balance INTO available FROM accounts WHERE id = :source;
IF available >= :amount THEN
    UPDATE accounts SET balance = balance - :amount WHERE id = :source;
    UPDATE accounts SET balance = balance + :amount WHERE id = :target;
END IF;
COMMIT;

-- run Transfer(1, 2, 60) || Transfer(1, 2, 60)
-- invariant "nobody is overdrawn": NOT EXISTS (SELECT 1 FROM accounts WHERE balance < 0)
-- invariant "no money is lost": (SELECT sum(balance) FROM accounts) = 100
