-- txn: courseware-b3
CREATE TABLE students (name text PRIMARY KEY);
CREATE TABLE courses (name text PRIMARY KEY);
CREATE TABLE enrolled (student text PRIMARY KEY, course text NOT NULL);

-- transaction add_student(name text)
BEGIN;
INSERT INTO students VALUES (:name);
COMMIT;

-- transaction add_course(name text)
BEGIN;
INSERT INTO courses VALUES (:name);
COMMIT;

-- transaction enroll(student text, course text)
BEGIN;
SELECT 1 FROM students WHERE name = :student;
IF FOUND THEN
    SELECT 1 FROM courses WHERE name = :course;
    IF FOUND THEN
        INSERT INTO enrolled VALUES (:student, :course);
    END IF;
END IF;
COMMIT;

-- run add_student('ann') || add_course('logic') || enroll('ann', 'logic')
-- invariant "who is enrolled exists": NOT EXISTS (SELECT 1 FROM enrolled e WHERE NOT EXISTS (SELECT 1 FROM students s WHERE s.name = e.student) OR NOT EXISTS (SELECT 1 FROM courses c WHERE c.name = e.course))
