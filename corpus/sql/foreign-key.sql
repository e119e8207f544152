-- txn: foreign-key
CREATE TABLE courses (name text PRIMARY KEY);
CREATE TABLE enrolled (student text PRIMARY KEY, course text NOT NULL);
INSERT INTO courses VALUES ('logic');

-- transaction enroll(student text, course text)
BEGIN;
SELECT 1 FROM courses WHERE name = :course;
IF FOUND THEN
    INSERT INTO enrolled VALUES (:student, :course);
END IF;
COMMIT;

-- transaction cancel(course text)
BEGIN;
SELECT count(*) INTO n_enrolled FROM enrolled e WHERE e.course = :course;
IF n_enrolled = 0 THEN
    DELETE FROM courses WHERE name = :course;
END IF;
COMMIT;

-- run enroll('ann', 'logic') || cancel('logic')
-- invariant "who is enrolled has a course": NOT EXISTS (SELECT 1 FROM enrolled e WHERE NOT EXISTS (SELECT 1 FROM courses c WHERE c.name = e.course))
