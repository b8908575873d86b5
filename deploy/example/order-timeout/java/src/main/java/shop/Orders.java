// SPDX-License-Identifier: Apache-2.0
package shop;

import java.time.Duration;
import java.util.Optional;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.Transactional;

/** The four things that happen to an order. Each is one short transaction. */
@Component
public class Orders {
    static final String TARGET = "orders.timeout";

    public static class SoldOut extends RuntimeException {}

    private record Created(long id, long deadline) {}

    private record Closed(String product, int quantity) {}

    private final JdbcClient database;
    private final Duration paymentTime;

    Orders(JdbcClient database, @Value("${shop.payment-time}") Duration paymentTime) {
        this.database = database;
        this.paymentTime = paymentTime;
    }

    /** Reserves stock and schedules the timeout. Returns the number of the order. */
    @Transactional
    public long create(String product, int quantity) {
        int taken = database.sql("update stock set available = available - ? where product = ? and available >= ?")
                .params(quantity, product, quantity).update();
        if (taken == 0) {
            throw new SoldOut();
        }
        Created order = database.sql("""
                insert into orders (product, quantity, deadline)
                values (?, ?, date_trunc('milliseconds', clock_timestamp()) + ? * interval '1 millisecond')
                returning id, (extract(epoch from deadline) * 1000)::bigint as deadline""")
                .params(product, quantity, paymentTime.toMillis()).query(Created.class).single();
        database.sql("insert into outbox (key, op, target, deliver_at, payload) values (?, 'schedule', ?, ?, ?)")
                .params("order-" + order.id, TARGET, order.deadline, "{\"order\": " + order.id + "}").update();
        return order.id;
    }

    /** Takes the payment and cancels the timeout. Returns whether the order was still unpaid. */
    @Transactional
    public boolean pay(long order) {
        int paid = database.sql("""
                update orders set state = 'PAID', paid_at = clock_timestamp() where id = ? and state = 'UNPAID'""")
                .param(order).update();
        if (paid == 0) {
            return false;
        }
        database.sql("insert into outbox (key, op) values (?, 'cancel')").param("order-" + order).update();
        return true;
    }

    /**
     * Closes the order if it is unpaid, and returns its stock. {@code state = 'UNPAID'} is the guard: a payment and a
     * timeout compete for this row, and one of them finds it unpaid.
     */
    @Transactional
    public void close(long order) {
        database.sql("""
                update orders set state = 'CLOSED', closed_at = clock_timestamp()
                where id = ? and state = 'UNPAID' returning product, quantity""")
                .param(order).query(Closed.class).optional()
                .ifPresent(closed -> database.sql("update stock set available = available + ? where product = ?")
                        .params(closed.quantity, closed.product).update());
    }

    /** Handles a delivery of the bridge, unless it is a copy: after a crash a record may come twice. */
    @Transactional
    public void timeout(String source, long order) {
        int added = database.sql("insert into done (source, order_id) values (?, ?) on conflict do nothing")
                .params(source, order).update();
        if (added == 1) {
            close(order);
        }
    }

    /**
     * Returns the state of the order. The passive check: an unpaid order past its deadline is closed here if its timeout
     * is late.
     */
    @Transactional
    public Optional<String> open(long order) {
        boolean expired = database.sql("select deadline <= clock_timestamp() from orders where id = ?")
                .param(order).query(Boolean.class).optional().orElse(false);
        if (expired) {
            close(order);
        }
        return database.sql("select state from orders where id = ?").param(order).query(String.class).optional();
    }
}
