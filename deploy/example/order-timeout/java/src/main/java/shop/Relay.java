// SPDX-License-Identifier: Apache-2.0
package shop;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Profile;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.transaction.annotation.Transactional;

/**
 * The outbox relay: sends the rows of the outbox to the bridge in the order of their ids, then deletes them. After a crash
 * it sends some rows again. The consumer does not mind: see {@link Orders#close}.
 */
@Configuration
@EnableScheduling
@Profile("relay")
class Relay {
    record Row(long id, String key, String op, String target, Long deliverAt, String payload) {}

    private final JdbcClient database;
    private final KafkaTemplate<String, String> kafka;

    Relay(JdbcClient database, KafkaTemplate<String, String> kafka) {
        this.database = database;
        this.kafka = kafka;
    }

    @Scheduled(fixedDelay = 50)
    @Transactional
    public void send() throws Exception {
        database.sql("select pg_advisory_xact_lock(1)").query().singleRow(); // two relays would mix up the order
        List<Row> rows = database.sql("""
                select id, key, op, target, deliver_at, payload from outbox order by id limit 500""")
                .query(Row.class).list();
        List<Future<?>> sent = new ArrayList<>();
        for (Row row : rows) {
            sent.add(kafka.send(request(row)));
        }
        for (Future<?> one : sent) {
            one.get(); // throws: the rows stay, and the next run sends them
        }
        database.sql("delete from outbox where id = any(?)").param(rows.stream().map(Row::id).toArray(Long[]::new))
                .update();
    }

    private static ProducerRecord<String, String> request(Row row) {
        var request = new ProducerRecord<>("schedule", row.key, row.payload);
        if (row.op.equals("cancel")) {
            request.headers().add("dlb-op", utf8("cancel"));
        } else {
            request.headers().add("dlb-target", utf8(row.target));
            request.headers().add("dlb-deliver-at", utf8(row.deliverAt.toString()));
        }
        return request;
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
