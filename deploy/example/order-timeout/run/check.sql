-- SPDX-License-Identifier: Apache-2.0
-- The check at the end of a run. Each query returns the rows that are wrong. receipts holds the orders whose payment the
-- customers saw accepted.

-- no paid order is closed
select r.order_id, o.state, o.paid_at, o.closed_at
from receipts r join orders o on o.id = r.order_id
where o.state <> 'PAID' or o.closed_at is not null;

-- no unpaid order is left open
select id, state, deadline from orders where state = 'UNPAID';

-- each order that is not paid is closed once its deadline has passed, not before
select id, state, deadline, closed_at
from orders
where state <> 'PAID' and (closed_at is null or closed_at < deadline);

-- the stock is right
select s.product, s.total, s.available, s.total - coalesce(sum(o.quantity), 0) as expected
from stock s left join orders o on o.product = s.product and o.state <> 'CLOSED'
group by s.product
having s.available <> s.total - coalesce(sum(o.quantity), 0);

-- the outbox is empty
select id, key, op from outbox;
