-- txn: unique-username
CREATE TABLE users (name text PRIMARY KEY, owner text NOT NULL);
CREATE TABLE accounts (person text PRIMARY KEY, name text NOT NULL);

-- transaction sign_up(person text, name text)
BEGIN;
INSERT INTO users (name, owner) VALUES (:name, :person);
INSERT INTO accounts (person, name) VALUES (:person, :name);
COMMIT;

-- run sign_up('ann', 'neo') || sign_up('bob', 'neo')
-- invariant "a name has one owner": NOT EXISTS (SELECT 1 FROM accounts a WHERE NOT (SELECT u.owner FROM users u WHERE u.name = a.name) = a.person)
