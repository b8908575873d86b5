-- SPDX-License-Identifier: Apache-2.0
-- The check of the cancels at the end of a run. Each query returns the rows that are wrong. cancels holds the cancels of
-- the topic schedule, outage the kill of the relay. done holds the timeouts that came: a paid order without one is
-- cancelled. A payment in the last 2 seconds races the timeout, and either may win. So the number of cancelled orders
-- lies between the number of payments in time and the number of all payments.

-- each paid order has a cancel, and no other order has one
select o.id, o.state, o.paid_at, o.deadline, c.order_id is not null as cancel
from orders o left join (select distinct order_id from cancels) c on c.order_id = o.id
where (o.state = 'PAID') <> (c.order_id is not null);

-- a cancel that is stored a second before the deadline, or earlier, stops the timeout
select o.id, o.deadline, max(c.stored_at) as stored_at
from orders o join cancels c on c.order_id = o.id
where o.id in (select order_id from done)
group by o.id
having max(c.stored_at) <= o.deadline - interval '1 second';

-- a payment 2 seconds before the deadline, or earlier, stops the timeout
-- One second is for the relay and one for the bridge. An order that is paid while the relay is dead counts as paid when
-- the relay works again.
select o.id, o.paid_at, o.deadline, back_at
from orders o, outage
where o.id in (select order_id from done)
  and o.paid_at <= o.deadline - interval '2 seconds'
  and not (o.paid_at between killed_at - interval '1 second' and back_at and back_at > o.deadline - interval '2 seconds');

-- the timeout of each order that is not paid came
select id, state, deadline from orders where state <> 'PAID' and id not in (select order_id from done);
