-- expect: rc=holds ra=holds ua=holds cc=holds pc=holds psi=holds si=holds ser=holds
-- expect: postgres.rc=holds postgres.rr=holds postgres.ser=holds mysql.rc=holds mysql.rr=holds mysql.ser=holds
CREATE TABLE accounts (id int PRIMARY KEY, balance int NOT NULL, owner text NOT NULL DEFAULT '');
INSERT INTO accounts (id, balance) VALUES (1, 100), (2, 0);

-- transaction Transfer(source int, target int, amount int)
BEGIN;
SELECT balance INTO available FROM accounts WHERE id = $1 FOR UPDATE;
IF available >= $3 THEN
    SELECT balance INTO received FROM accounts WHERE id = $2 FOR UPDATE;
    UPDATE accounts SET balance = available - $3, owner = CASE WHEN available = $3 THEN 'nobody' ELSE owner END WHERE id = $1;
    UPDATE accounts SET balance = received + $3 WHERE id = $2;
END IF;
COMMIT;

-- run Transfer(1, 2, 60) || Transfer(1, 2, 60)
-- invariant "nobody is overdrawn": NOT EXISTS (SELECT 1 FROM accounts WHERE balance < 0)
-- invariant "no money is lost": (SELECT sum(balance) FROM accounts) = 100
