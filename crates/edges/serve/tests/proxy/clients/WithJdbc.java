// What an application with JDBC does; prints what it saw in one line.
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

public class WithJdbc {
    private static Connection connection;

    private static List<String> column(String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int nth = 0; nth < values.length; nth++) {
                statement.setObject(nth + 1, values[nth]);
            }
            List<String> found = new ArrayList<>();
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    found.add(rows.getString(1));
                }
            }
            return found;
        }
    }

    private static int run(String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int nth = 0; nth < values.length; nth++) {
                statement.setObject(nth + 1, values[nth]);
            }
            return statement.executeUpdate();
        }
    }

    public static void main(String[] arguments) throws SQLException {
        String url = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");
        connection = DriverManager.getConnection(url, System.getenv("PGUSER"), System.getenv("PGPASSWORD"));
        List<String> said = new ArrayList<>();
        connection.setAutoCommit(false);
        run("INSERT INTO accounts VALUES (?, ?, ?)", 10, "zoe", 7);
        connection.commit();
        int balance = Integer.parseInt(column("SELECT balance FROM accounts WHERE id = ?", 1).get(0));
        said.add(String.valueOf(balance));
        run("UPDATE accounts SET balance = ? WHERE id = ?", balance - 5, 1);
        connection.commit();
        // The driver prepares what comes often on the server.
        for (int nth = 0; nth < 6; nth++) {
            run("UPDATE accounts SET balance = balance + ? WHERE owner = ?", 0, "ann");
        }
        said.add(String.valueOf(run("UPDATE accounts SET balance = balance + ? WHERE owner = ?", 1, "ann")));
        connection.commit();
        said.add(column("SELECT count(*) FROM accounts").get(0));
        said.add(column("SELECT sum(balance) FROM accounts").get(0));
        said.add(String.join(",", column("SELECT id FROM accounts WHERE balance > ? ORDER BY id", 95)));
        connection.commit();
        run("DELETE FROM accounts WHERE id = ?", 10);
        connection.rollback();
        said.add(column("SELECT id FROM accounts WHERE id = ?", 10).isEmpty() ? "False" : "True");
        Savepoint here = connection.setSavepoint("here");
        run("INSERT INTO accounts VALUES (11, 'yan', 1)");
        connection.rollback(here);
        try (Statement batch = connection.createStatement()) {
            batch.addBatch("UPDATE accounts SET balance = 9 WHERE id = 10");
            batch.addBatch("UPDATE accounts SET balance = 8 WHERE id = 10");
            batch.executeBatch();
        }
        connection.commit();
        said.add(column("SELECT count(*) FROM accounts").get(0));
        connection.commit();
        int sum = 0;
        try (Statement statement = connection.createStatement()) {
            // A portal, from which rows come a few at a time.
            statement.setFetchSize(2);
            try (ResultSet rows = statement.executeQuery("SELECT balance FROM accounts WHERE id >= 0")) {
                while (rows.next()) {
                    sum += rows.getInt(1);
                }
            }
        }
        connection.commit();
        said.add(String.valueOf(sum));
        System.out.println(String.join(" ", said));
        connection.close();
    }
}
