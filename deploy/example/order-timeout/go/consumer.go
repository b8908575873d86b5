// SPDX-License-Identifier: Apache-2.0

// The timeout consumer: closes orders that are still unpaid. First the transaction, then the offset.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	ctx := context.Background()
	database, err := pgx.Connect(ctx, os.Getenv("DATABASE"))
	if err != nil {
		log.Fatal(err)
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(os.Getenv("KAFKA")),
		kgo.ConsumerGroup("orders"), kgo.InstanceID("orders-1"),
		kgo.ConsumeTopics("orders.timeout"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), // for a bridge with delivery: exactly-once
		kgo.AutoCommitMarks(),                        // MarkCommitRecords below, committed each 5 seconds
	)
	if err != nil {
		log.Fatal(err)
	}
	for {
		fetches := client.PollFetches(ctx)
		fetches.EachError(func(topic string, partition int32, err error) {
			log.Print(topic, partition, err) // the client tries again by itself
		})
		fetches.EachRecord(func(record *kgo.Record) {
			if err := handle(ctx, database, record); err != nil {
				log.Fatal(err) // a restart reads the record again
			}
			client.MarkCommitRecords(record)
		})
	}
}

func handle(ctx context.Context, database *pgx.Conn, record *kgo.Record) error {
	var order struct{ Order int64 }
	if err := json.Unmarshal(record.Value, &order); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, database, func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, "insert into done (source, order_id) values ($1, $2) on conflict do nothing",
			header(record, "dlb-source"), order.Order)
		if err != nil || done.RowsAffected() == 0 { // a copy: after a crash a record may come twice
			return err
		}
		return closeOrder(ctx, tx, order.Order)
	})
}

// closeOrder closes the order if it is unpaid, and returns its stock. `state = 'UNPAID'` is the guard: a payment and a
// timeout compete for this row, and one of them finds it unpaid.
func closeOrder(ctx context.Context, tx pgx.Tx, order int64) error {
	var product string
	var quantity int
	err := tx.QueryRow(ctx, `update orders set state = 'CLOSED', closed_at = clock_timestamp()
		where id = $1 and state = 'UNPAID' returning product, quantity`, order).Scan(&product, &quantity)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err == nil {
		_, err = tx.Exec(ctx, "update stock set available = available + $1 where product = $2", quantity, product)
	}
	return err
}

func header(record *kgo.Record, name string) string {
	for _, h := range record.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}
