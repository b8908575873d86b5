// SPDX-License-Identifier: Apache-2.0
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.DelayQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.TimeUnit;

/** Timers in the memory of a process: a DelayQueue of the JDK. The thread of the relay fills it from the outbox. */
public class InProcess {
    record Timer(long order, long deadline) implements Delayed {
        public long getDelay(TimeUnit unit) {
            return unit.convert(deadline - System.currentTimeMillis(), TimeUnit.MILLISECONDS);
        }

        public int compareTo(Delayed other) {
            return Long.compare(deadline, ((Timer) other).deadline);
        }
    }

    private static final DelayQueue<Timer> QUEUE = new DelayQueue<>(); // a kill loses all of it
    private static final Map<Long, Timer> BY_ORDER = new ConcurrentHashMap<>();

    public static void main(String[] args) throws Exception {
        Thread relay = new Thread(InProcess::relay);
        relay.setDaemon(true);
        relay.start();
        try (Connection database = connect()) {
            while (true) {
                Timer timer = QUEUE.take();
                BY_ORDER.remove(timer.order);
                handle(database, timer.order);
            }
        }
    }

    private static void relay() {
        try (Connection database = connect(); var statement = database.createStatement()) {
            while (true) {
                ResultSet rows = statement.executeQuery("with next as (select id from outbox order by id limit 500)"
                        + " delete from outbox where id in (select id from next)"
                        + " returning id, replace(key, 'order-', '')::bigint, op, deliver_at");
                while (rows.next()) {
                    apply(rows.getLong(2), rows.getString(3), rows.getLong(4));
                }
                Thread.sleep(50);
            }
        } catch (Exception error) {
            error.printStackTrace();
            System.exit(1);
        }
    }

    private static void apply(long order, String op, long deadline) {
        if (op.equals("schedule")) {
            Timer timer = new Timer(order, deadline);
            BY_ORDER.put(order, timer);
            QUEUE.add(timer);
        } else {
            Timer timer = BY_ORDER.remove(order);
            if (timer != null) {
                QUEUE.remove(timer); // searches the whole queue
            }
        }
    }

    private static void handle(Connection database, long order) throws Exception {
        database.setAutoCommit(false);
        try (var done = database.prepareStatement("insert into done (source, order_id) values (?, ?)");
                var close = database.prepareStatement("with closed as (update orders set state = 'CLOSED',"
                        + " closed_at = clock_timestamp() where id = ? and state = 'UNPAID' returning product, quantity)"
                        + " update stock set available = available + quantity from closed"
                        + " where stock.product = closed.product")) {
            done.setString(1, UUID.randomUUID().toString());
            done.setLong(2, order);
            done.executeUpdate();
            close.setLong(1, order);
            close.executeUpdate();
        }
        database.commit();
    }

    private static Connection connect() throws Exception {
        return DriverManager.getConnection(System.getenv("JDBC_URL"), System.getenv("JDBC_USER"), "");
    }
}
