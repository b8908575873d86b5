-- SPDX-License-Identifier: Apache-2.0
-- The figures at the end of a run, one row. Lateness is the time from the deadline to the end of the consumer's work.
with handled as (
    select extract(epoch from d.handled_at - o.deadline) as late
    from done d join orders o on o.id = d.order_id
), paid as (
    select o.id, o.paid_at <= o.deadline - interval '2 seconds' as in_time, d.order_id is null as cancelled
    from orders o left join (select distinct order_id from done) d on d.order_id = o.id
    where o.state = 'PAID'
)
select (select count(*) from orders) as orders,
       (select count(*) from paid) as paid,
       (select count(*) from orders where state = 'CLOSED') as closed,
       (select count(*) from orders where paid_at > deadline) as paid_late,
       (select count(*) from paid where in_time) as paid_in_time,
       (select count(*) from paid where cancelled) as cancelled,
       (select percentile_cont(0.5) within group (order by late) from handled) as late_p50,
       (select percentile_cont(0.99) within group (order by late) from handled) as late_p99;
