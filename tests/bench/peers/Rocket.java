/* SPDX-License-Identifier: Apache-2.0 */
import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** RocketMQ: messages wait in the first level, or in the timer until their due time. Its client reconnects. */
final class Rocket implements Link {
    private static final String TOPIC = "delayed", DEFAULT_TOPIC = "TBW102";
    private static final int QUEUES = 8, THREADS = 2, FIRST_LEVEL = 1;
    private static final int NOTICED_MS = 1000; // a broker that returns, in place of 20 to 30 s

    private final Tally tally;
    private final String names;
    private final boolean levels;
    private DefaultMQProducer producer;

    Rocket(Tally tally, String names, boolean levels) {
        this.tally = tally;
        this.names = names;
        this.levels = levels;
    }

    @Override
    public void connect() throws Exception {
        System.setProperty("rocketmq.client.rebalance.waitInterval", Integer.toString(NOTICED_MS));
        DefaultMQProducer started = new DefaultMQProducer("writers");
        started.setNamesrvAddr(names);
        started.setPollNameServerInterval(NOTICED_MS);
        started.start();
        try {
            started.createTopic(DEFAULT_TOPIC, TOPIC, QUEUES, Map.of());
            started.fetchPublishMessageQueues(TOPIC);
        } catch (Exception away) {
            started.shutdown();
            throw away;
        }
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("readers");
        consumer.setNamesrvAddr(names);
        consumer.setPollNameServerInterval(NOTICED_MS);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setConsumeThreadMin(THREADS);
        consumer.setConsumeThreadMax(THREADS);
        consumer.subscribe(TOPIC, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt message : messages)
                tally.see(message.getBody());
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        producer = started;
    }

    @Override
    public boolean lost() {
        return producer == null;
    }

    /** The broker rejects requests that wait for 200 ms. */
    @Override
    public int inFlightMax() {
        return 1000;
    }

    @Override
    public void send(int number, byte[] body, long dueMs) throws Exception {
        Message message = new Message(TOPIC, body);
        if (levels)
            message.setDelayTimeLevel(FIRST_LEVEL);
        else
            message.setDeliverTimeMs(dueMs);
        producer.send(message, new SendCallback() {
            @Override
            public void onSuccess(SendResult result) {
                tally.acknowledge(1);
            }

            @Override
            public void onException(Throwable away) {
                tally.fail(number);
            }
        });
    }
}
