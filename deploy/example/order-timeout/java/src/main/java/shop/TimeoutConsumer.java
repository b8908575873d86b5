// SPDX-License-Identifier: Apache-2.0
package shop;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Profile;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.util.backoff.FixedBackOff;
import tools.jackson.databind.json.JsonMapper;

/** The timeout consumer: closes orders that are still unpaid. First the transaction, then the offset. */
@Configuration
@Profile("consumer")
class TimeoutConsumer {
    record Timeout(long order) {}

    private final Orders orders;
    private final JsonMapper json;

    TimeoutConsumer(Orders orders, JsonMapper json) {
        this.orders = orders;
        this.json = json;
    }

    @KafkaListener(topics = Orders.TARGET)
    void handle(String value, @Header("dlb-source") byte[] source) {
        orders.timeout(new String(source), json.readValue(value, Timeout.class).order());
    }

    /** Tries a record until it succeeds, for a database that is away. The default gives it up after ten attempts. */
    @Bean
    DefaultErrorHandler errorHandler() {
        return new DefaultErrorHandler(new FixedBackOff(1000, FixedBackOff.UNLIMITED_ATTEMPTS));
    }
}
