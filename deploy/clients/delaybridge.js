// SPDX-License-Identifier: Apache-2.0
// Headers of Delaybridge requests, checked before they are sent. Copy this file. It needs no client:
// each function returns an object of headers, as kafkajs and @confluentinc/kafka-javascript take it.
//
//   producer.send({topic: 'schedule', messages: [
//     {key: 'order-17', value: order, headers: schedule({delay: '15m', target: 'orders.timeout'})}]})
//   producer.send({topic: 'schedule', messages: [{key: 'order-17', value: null, headers: cancel()}]})
'use strict'

const HEADERS = Object.freeze({
  // Of requests.
  DELAY: 'dlb-delay', DELIVER_AT: 'dlb-deliver-at', TARGET: 'dlb-target', KEY: 'dlb-key', ID: 'dlb-id', OP: 'dlb-op',
  EXPIRES_AT: 'dlb-expires-at',
  // Of deliveries, and of dead letters.
  DUE: 'dlb-due', SOURCE: 'dlb-source', ERROR: 'dlb-error', REASON: 'dlb-reason', SENT_AT: 'dlb-sent-at',
  FAILED_AT: 'dlb-failed-at', TRUNCATED: 'dlb-truncated'
})
const UNITS = [['d', 86400000], ['h', 3600000], ['m', 60000], ['s', 1000], ['ms', 1]]
const DELAY_TEXT = new RegExp('^' + UNITS.map(([name]) => `(?:([0-9]+)${name})?`).join('') + '$')
const INSTANT_MIN = 100000000000

// Returns milliseconds as text: 90000 is 1m30s.
function formatDelay (ms) {
  if (!Number.isSafeInteger(ms) || ms < 0) throw new RangeError(`not a delay in whole milliseconds: ${ms}`)
  let text = ''
  for (const [name, unit] of UNITS) {
    const n = Math.floor(ms / unit)
    ms -= n * unit
    if (n > 0) text += n + name
  }
  return text || '0s'
}

// Returns the milliseconds of a text such as 1h30m or 250ms.
function parseDelay (text) {
  const found = text && DELAY_TEXT.exec(text)
  const ms = found ? UNITS.reduce((sum, [, unit], i) => sum + Number(found[i + 1] || 0) * unit, 0) : -1
  if (!Number.isSafeInteger(ms) || ms < 0) throw new RangeError(`not a delay such as 250ms, 15m or 1h30m: '${text}'`)
  return ms
}

// Returns a Date or epoch milliseconds as text.
function formatInstant (instant) {
  const ms = instant instanceof Date ? instant.getTime() : instant
  if (!Number.isSafeInteger(ms) || ms < INSTANT_MIN) {
    throw new RangeError(`not an instant in epoch milliseconds (seconds by mistake?): ${instant}`)
  }
  return String(ms)
}

function checkTarget (target) {
  if (!/^[A-Za-z0-9._-]{1,249}$/.test(target) || target === '.' || target === '..') {
    throw new RangeError(`not a topic name: '${target}'`)
  }
  return target
}

function checkId (id) {
  const n = Buffer.byteLength(id)
  if (n < 1 || n > 128) throw new RangeError(`not an id of 1 to 128 bytes: '${id}'`)
  return id
}

// Returns the headers of a request. Give `delay` (milliseconds or text) or `at` (a Date or epoch milliseconds).
// key: of the delivered record, a string, a Buffer, or null for a null key.
function schedule ({ delay, at, target, key, id, expiresAt } = {}) {
  if ((delay === undefined) === (at === undefined)) throw new RangeError('give either delay or at')
  const headers = {}
  if (delay !== undefined) headers[HEADERS.DELAY] = formatDelay(typeof delay === 'string' ? parseDelay(delay) : delay)
  else headers[HEADERS.DELIVER_AT] = formatInstant(at)
  if (target !== undefined) headers[HEADERS.TARGET] = checkTarget(target)
  if (key !== undefined) headers[HEADERS.KEY] = key
  if (id !== undefined) headers[HEADERS.ID] = checkId(id)
  if (expiresAt !== undefined) headers[HEADERS.EXPIRES_AT] = formatInstant(expiresAt)
  return headers
}

// Returns the headers of a request that cancels older ones of its name. The record needs the key of the older request.
function replace (fields) {
  return { [HEADERS.OP]: 'replace', ...schedule(fields) }
}

// Returns the headers of a cancel. The record needs the key of its request, and the id if the request has one.
function cancel ({ id } = {}) {
  return { [HEADERS.OP]: 'cancel', ...(id === undefined ? {} : { [HEADERS.ID]: checkId(id) }) }
}

module.exports = { HEADERS, formatDelay, parseDelay, formatInstant, checkTarget, checkId, schedule, replace, cancel }
