/* SPDX-License-Identifier: Apache-2.0 */
import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.DefaultConsumer;
import com.rabbitmq.client.Envelope;
import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;

/**
 * RabbitMQ: messages with a TTL wait in a queue without consumers. The dead-letter exchange moves expired ones to the
 * queue of the reader. Messages are persistent, publishes are confirmed, deliveries acknowledged.
 */
final class Rabbit implements Link {
    private static final String WAITING = "waiting", EXPIRED = "expired";
    private static final int PREFETCH = 2000, ACKNOWLEDGED = 100, ACKNOWLEDGE_MS = 10;

    private final Tally tally;
    private final int port;
    private final boolean quorum;
    private final TreeMap<Long, Integer> inFlight = new TreeMap<>(); // by the sequence number of the publish
    private Connection writing, reading;
    private Channel writer;

    Rabbit(Tally tally, int port, boolean quorum) {
        this.tally = tally;
        this.port = port;
        this.quorum = quorum;
    }

    @Override
    public void connect() throws Exception {
        fail();
        ConnectionFactory factory = new ConnectionFactory();
        factory.setHost("127.0.0.1");
        factory.setPort(port);
        factory.setAutomaticRecoveryEnabled(false);
        reading = factory.newConnection();
        Channel reader = reading.createChannel();
        declare(reader);
        reader.basicQos(PREFETCH);
        Reader consumer = new Reader(reader);
        reader.basicConsume(EXPIRED, false, consumer);
        Thread acknowledging = new Thread(consumer::acknowledge);
        acknowledging.setDaemon(true);
        acknowledging.start();
        writing = factory.newConnection();
        Channel channel = writing.createChannel();
        channel.confirmSelect();
        channel.addConfirmListener((tag, multiple) -> confirm(tag, multiple, true),
                (tag, multiple) -> confirm(tag, multiple, false));
        writer = channel;
    }

    /** Quorum queues move expired messages at least once. Classic queues cannot. */
    private void declare(Channel channel) throws IOException {
        Map<String, Object> dead = Map.of("x-dead-letter-exchange", "", "x-dead-letter-routing-key", EXPIRED);
        Map<String, Object> sure = Map.of("x-queue-type", "quorum", "x-dead-letter-strategy", "at-least-once", "x-overflow",
                "reject-publish", "x-dead-letter-exchange", "", "x-dead-letter-routing-key", EXPIRED);
        channel.queueDeclare(EXPIRED, true, false, false, quorum ? Map.of("x-queue-type", "quorum") : null);
        channel.queueDeclare(WAITING, true, false, false, quorum ? sure : dead);
    }

    /** Closes the connections and marks all messages in flight as failed. */
    private void fail() {
        if (writing != null)
            writing.abort(100);
        if (reading != null)
            reading.abort(100);
        synchronized (inFlight) {
            inFlight.values().forEach(tally::fail);
            inFlight.clear();
        }
    }

    @Override
    public boolean lost() {
        return !writing.isOpen() || !reading.isOpen() || !writer.isOpen();
    }

    @Override
    public void send(int number, byte[] body, long dueMs) throws Exception {
        long ttlMs = Math.max(0, dueMs - System.currentTimeMillis());
        AMQP.BasicProperties properties = new AMQP.BasicProperties.Builder().deliveryMode(2)
                .expiration(Long.toString(ttlMs)).build();
        long sequence = writer.getNextPublishSeqNo();
        synchronized (inFlight) {
            inFlight.put(sequence, number);
        }
        try {
            writer.basicPublish("", WAITING, properties, body);
        } catch (Exception away) {
            synchronized (inFlight) {
                if (inFlight.remove(sequence) == null)
                    return; // it has failed already
            }
            throw away;
        }
    }

    private void confirm(long tag, boolean multiple, boolean stored) {
        synchronized (inFlight) {
            Map<Long, Integer> told = multiple ? inFlight.headMap(tag, true) : inFlight.subMap(tag, true, tag, true);
            if (stored)
                tally.acknowledge(told.size());
            else
                told.values().forEach(tally::fail);
            told.clear();
        }
    }

    private final class Reader extends DefaultConsumer {
        private volatile long read;
        private long acknowledged;

        Reader(Channel channel) {
            super(channel);
        }

        @Override
        public void handleDelivery(String consumer, Envelope envelope, AMQP.BasicProperties properties, byte[] body)
                throws IOException {
            tally.see(body);
            read = envelope.getDeliveryTag();
            if (read % ACKNOWLEDGED == 0)
                acknowledge(read);
        }

        private synchronized void acknowledge(long tag) throws IOException {
            if (tag > acknowledged)
                getChannel().basicAck(tag, true);
            acknowledged = Math.max(tag, acknowledged);
        }

        void acknowledge() {
            try {
                while (getChannel().isOpen()) {
                    Thread.sleep(ACKNOWLEDGE_MS);
                    acknowledge(read);
                }
            } catch (Exception away) {
                reading.abort(100);
            }
        }
    }
}
