// A test of the coupons of examples/apps/shop with JUnit, on a weak PostgreSQL.
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import org.junit.Test;

public class CouponTest {
    private static final String SCHEMA = System.getenv().getOrDefault("SCHEMA", "../shop/schema.sql");

    /** Redeems a coupon, if it has uses left. Says whether it did. */
    static boolean redeem(Connection connection, String customer, String code) throws SQLException {
        connection.setAutoCommit(false);
        try (PreparedStatement look = connection.prepareStatement("SELECT uses_left FROM coupons WHERE code = ?");
             PreparedStatement use = connection.prepareStatement("UPDATE coupons SET uses_left = ? WHERE code = ?");
             PreparedStatement note = connection.prepareStatement("INSERT INTO redemptions (code, customer) VALUES (?, ?)")) {
            look.setString(1, code);
            ResultSet found = look.executeQuery();
            if (!found.next() || found.getInt(1) == 0) {
                connection.rollback();
                return false;
            }
            // The bug: somebody else may have redeemed it since it was looked at.
            use.setInt(1, found.getInt(1) - 1);
            use.setString(2, code);
            use.executeUpdate();
            note.setString(1, code);
            note.setString(2, customer);
            note.executeUpdate();
            connection.commit();
            return true;
        }
    }

    static int redeemAll(Isoscope served, int customers) throws SQLException {
        int redeemed = 0;
        for (int nth = 0; nth < customers; nth++) {
            try (Connection connection = DriverManager.getConnection(served.url())) {
                redeemed += redeem(connection, "customer " + nth, "VIP") ? 1 : 0;
            }
        }
        return redeemed;
    }

    @Test
    public void aCouponIsRedeemedTooOftenAtCausalConsistency() throws Exception {
        try (Isoscope served = Isoscope.serve("cc", SCHEMA, 7)) {
            // Your own test has only what is inside, and fails with this message until the bug is gone.
            AssertionError error = assertThrows(AssertionError.class, () -> served.run(() -> {
                int redeemed = redeemAll(served, 8);
                assertTrue(redeemed + " of 5 uses", redeemed <= 5);
            }));
            assertTrue(error.getMessage(), error.getMessage().contains("lost-update"));
        }
    }
}
