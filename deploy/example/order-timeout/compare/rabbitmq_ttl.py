# SPDX-License-Identifier: Apache-2.0
"""RabbitMQ: messages with a TTL wait in a queue without consumers. When they expire, the dead-letter exchange moves them
to the queue of the consumer. A message expires only at the head of its queue. A payment cannot remove a message.

  rabbitmq_ttl.py relay | consume"""
import os
import sys
import time

import pika

from common import connect, handle, relay

WAITING, EXPIRED = "orders.waiting", "orders.timeout"


def channel():
    connection = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", int(os.environ["AMQP_PORT"])))
    opened = connection.channel()
    opened.queue_declare(EXPIRED, durable=True)
    opened.queue_declare(WAITING, durable=True, arguments={"x-dead-letter-exchange": "",
                                                           "x-dead-letter-routing-key": EXPIRED})
    return opened


def send(rows):
    for order, op, deadline in rows:
        if op == "cancel":
            continue
        left = max(0, deadline - int(time.time() * 1000))
        CHANNEL.basic_publish("", WAITING, str(order), pika.BasicProperties(
            delivery_mode=pika.DeliveryMode.Persistent, expiration=str(left)))  # confirm_delivery: waits for the broker


def consume():
    with connect() as database:
        CHANNEL.basic_qos(prefetch_count=50)
        for method, _, body in CHANNEL.consume(EXPIRED):
            handle(database, int(body))
            CHANNEL.basic_ack(method.delivery_tag)  # a kill before this line brings the message again


CHANNEL = channel()
if sys.argv[1] == "consume":
    consume()
else:
    CHANNEL.confirm_delivery()
    relay(send)
