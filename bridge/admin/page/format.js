// SPDX-License-Identifier: Apache-2.0
// format: numbers, spans and instants as text. Every number gets its unit here or at its caller.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LOCALE = "en-US";
const whole = new Intl.NumberFormat(LOCALE);
const short = new Intl.NumberFormat(LOCALE, {notation: "compact", maximumSignificantDigits: 3});
const tenths = new Intl.NumberFormat(LOCALE, {maximumFractionDigits: 1, minimumFractionDigits: 1});

export const NONE = "–";

export function count(n) {
  return n === null || n === undefined ? NONE : whole.format(n);
}

// For places with little room: 1,234,567 is 1.23M.
export function shortCount(n) {
  return n < 100000 ? count(n) : short.format(n);
}

export function plural(n, one, many) {
  return `${count(n)} ${n === 1 ? one : (many ?? `${one}s`)}`;
}

export function rate(perSecond) {
  if (perSecond === null || perSecond === undefined) return NONE;
  return perSecond > 0 && perSecond < 100 ? tenths.format(perSecond) : count(Math.round(perSecond));
}

// 8 ms, 1.2 s, 12 s, 3 min 4 s, 2 h 5 min, 3 d 4 h.
export function span(ms) {
  if (ms === null || ms === undefined) return NONE;
  const n = Math.abs(ms);
  const sign = ms < 0 ? "−" : "";
  if (n < SECOND) return `${sign}${Math.round(n)} ms`;
  if (n < 10 * SECOND) return `${sign}${tenths.format(n / SECOND)} s`;
  if (n < MINUTE) return `${sign}${Math.floor(n / SECOND)} s`;
  const [size, name, part, partName] =
    n < HOUR
      ? [MINUTE, "min", SECOND, "s"]
      : n < DAY
        ? [HOUR, "h", MINUTE, "min"]
        : [DAY, "d", HOUR, "h"];
  const rest = Math.floor((n % size) / part);
  return `${sign}${count(Math.floor(n / size))} ${name}${rest > 0 ? ` ${rest} ${partName}` : ""}`;
}

// Without small units, for axes: 10 s, 5 min, 2 h.
export function shortSpan(ms) {
  const [size, name] =
    ms < SECOND
      ? [1, "ms"]
      : ms < MINUTE
        ? [SECOND, "s"]
        : ms < HOUR
          ? [MINUTE, "min"]
          : ms < DAY
            ? [HOUR, "h"]
            : [DAY, "d"];
  return `${ms / size} ${name}`;
}

// "1h30m", the form of the configuration and of requests, in ms. NaN if it is no such text.
export function parseSpan(text) {
  const units = {ms: 1, s: SECOND, m: MINUTE, h: HOUR, d: DAY};
  if (!/^(\d+(ms|[smhd]))+$/.test(text)) return NaN;
  return [...text.matchAll(/(\d+)(ms|[smhd])/g)].reduce(
    (sum, [, n, unit]) => sum + n * units[unit],
    0,
  );
}

export function bytes(n) {
  const [size, unit] =
    n < 1024
      ? [1, "B"]
      : n < 1 << 20
        ? [1024, "KiB"]
        : n < 1 << 30
          ? [1 << 20, "MiB"]
          : [1 << 30, "GiB"];
  return `${size === 1 ? n : tenths.format(n / size)} ${unit}`;
}

export function percent(share) {
  return `${Math.floor(share * 100)} %`;
}

const zone = {isUtc: false};

// From now on, times are in UTC, or in the reader's zone.
export function useUtc(isUtc) {
  zone.isUtc = isUtc;
}

// Returns a format for instants that follows the chosen zone.
function inZone(options) {
  const own = new Intl.DateTimeFormat(LOCALE, options);
  const utcFormat = new Intl.DateTimeFormat(LOCALE, {...options, timeZone: "UTC"});
  return {format: (instant) => (zone.isUtc ? utcFormat : own).format(instant)};
}

const MINUTES = {hour: "2-digit", minute: "2-digit", hourCycle: "h23"};
const clock = inZone({...MINUTES, second: "2-digit"});
const minuteClock = inZone(MINUTES);
const year = inZone({year: "numeric"});
const day = inZone({month: "short", day: "numeric"});
const dayOfYear = inZone({year: "numeric", month: "short", day: "numeric"});

export function clockTime(ms) {
  return clock.format(ms);
}

export function minuteTime(ms) {
  return minuteClock.format(ms);
}

// The time in the chosen zone, with the day if that is not today.
export function zoneTime(ms, nowMs = Date.now()) {
  if (dayOfYear.format(ms) === dayOfYear.format(nowMs)) return clock.format(ms);
  const date = (year.format(ms) === year.format(nowMs) ? day : dayOfYear).format(ms);
  return `${date}, ${clock.format(ms)}`;
}

// "2026-11-21 08:00:00.000 UTC".
export function utc(instant) {
  return `${instant.replace("T", " ").replace("Z", "")} UTC`;
}

// "in 12 s" or "12 s ago". A past of less than graceMs is "now".
export function fromNow(ms, nowMs = Date.now(), graceMs = SECOND) {
  const left = ms - nowMs;
  return left < SECOND && left > -graceMs
    ? "now"
    : left > 0
      ? `in ${span(left)}`
      : `${span(-left)} ago`;
}
