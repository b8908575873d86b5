-- SPDX-License-Identifier: Apache-2.0
-- The tables of the shop. The Python and the Java programs use the same ones.

create table stock (
    product   text primary key,
    total     int not null,
    available int not null check (available >= 0)
);

create table orders (
    id        bigint generated always as identity primary key,
    product   text not null references stock,
    quantity  int not null,
    state     text not null default 'UNPAID' check (state in ('UNPAID', 'PAID', 'CLOSED')),
    deadline  timestamptz not null, -- an order that is unpaid now will be closed
    paid_at   timestamptz,
    closed_at timestamptz
);

-- Requests to the bridge that are not sent yet. The relay sends them in the order of id and deletes them.
create table outbox (
    id         bigint generated always as identity primary key,
    key        text not null, -- record key of the request, and its name for a cancel
    op         text not null check (op in ('schedule', 'cancel')),
    target     text,          -- of a schedule
    deliver_at bigint,        -- of a schedule: epoch milliseconds
    payload    text
);

-- Deliveries that the consumer has handled. Delete rows that are older than the retention of the target topic.
create table done (
    source     text primary key, -- dlb-source: the same in each copy of a delivery
    order_id   bigint not null,
    handled_at timestamptz not null default clock_timestamp()
);
