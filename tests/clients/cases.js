// SPDX-License-Identifier: Apache-2.0
// Runs the table of cases with deploy/clients/delaybridge.js: cases.js FOLDER_OF_THE_CLIENT CASES
'use strict'
const assert = require('node:assert')
const fs = require('node:fs')
const d = require(require('node:path').resolve(process.argv[2], 'delaybridge.js'))

const line = headers => Object.entries(headers).map(([name, value]) => `${name}=${value}`).join(' ')

function fields (text) {
  const given = Object.fromEntries(text.split(' ').filter(Boolean).map(part => part.split('=', 2)))
  const found = { target: given.target, id: given.id, key: given.key === 'null' ? null : given.key }
  if (given.delay !== undefined) found.delay = Number(given.delay)
  if (given.at !== undefined) found.at = Number(given.at)
  if (given.expires !== undefined) found.expiresAt = Number(given.expires)
  return found
}

const ok = check => text => { check(text); return 'ok' }
const RESULTS = {
  format: text => d.formatDelay(Number(text)),
  parse: text => String(d.parseDelay(text)),
  instant: text => d.formatInstant(Number(text)),
  id: ok(d.checkId),
  target: ok(d.checkTarget),
  schedule: text => line(d.schedule(fields(text))),
  replace: text => line(d.replace(fields(text))),
  cancel: text => line(d.cancel(fields(text)))
}

let faults = 0
for (const row of fs.readFileSync(process.argv[3], 'utf8').split('\n').filter(Boolean)) {
  const [kind, text, want] = row.split('\t')
  let got
  try {
    got = RESULTS[kind](text)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    got = 'error'
  }
  if (got !== want) {
    faults++
    console.log(`${kind} '${text}': ${got}, not ${want}`)
  }
}
// What the table cannot write.
assert.deepStrictEqual(d.schedule({ delay: '90s' }), { 'dlb-delay': '1m30s' })
assert.strictEqual(d.formatInstant(new Date('2026-11-21T08:00:00.250+08:00')), '1795219200250')
for (const bad of [() => d.schedule({}), () => d.schedule({ delay: 5, at: 5 }), () => d.formatDelay(1.5),
  () => d.formatInstant(new Date('x')), () => d.parseDelay(undefined)]) assert.throws(bad, RangeError)
process.exit(faults ? 1 : 0)
