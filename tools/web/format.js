"use strict";
// Numbers and durations as people read them, the same way as tools/format/text_format.cpp; for the scripts of the pages. A number and
// its unit are joined by a no-break space.
const minute = 60, hour = 3600, day = 86400;

const twoDigits = (number) => String(number).padStart(2, "0");
const count = (number) => number.toLocaleString("en-US", {maximumFractionDigits: 1});
const percent = (number) => (number == null ? "-" : (number >= 99.95 && number < 100 ? "> 99.9" : number.toFixed(1)) + "\u00a0%");
// `1 job`, `2 jobs`.
const countOf = (number, thing) => `${count(number)}\u00a0${thing}${number === 1 ? "" : "s"}`;

// The two largest units, as in the table. Each unit ends where its digits would round up to the next.
function duration(seconds) {
  if (seconds < 0) return "-" + duration(-seconds);
  if (seconds === 0) return "0\u00a0s";
  if (seconds < 0.9995e-3) return `${Number((seconds * 1e6).toPrecision(3))}\u00a0us`;
  if (seconds < 0.9995) return `${Number((seconds * 1e3).toPrecision(3))}\u00a0ms`;
  if (seconds < 59.95) return `${Number(seconds.toPrecision(3))}\u00a0s`;
  const pair = (large, small, a, b) => {
    const total = Math.round(seconds / small), per = large / small;
    return `${count(Math.floor(total / per))}\u00a0${a}\u00a0${twoDigits(total % per)}\u00a0${b}`;
  };
  if (seconds < hour - 0.5) return pair(minute, 1, "m", "s");
  if (seconds < day - minute / 2) return pair(hour, minute, "h", "m");
  return pair(day, hour, "d", "h");
}

// Time since the trace's origin to the second, without zeros at the end: 3 d 04 h 05 m 06 s, 16 h 56 m, 2 d.
function instant(seconds) {
  if (seconds < 0) return "-" + instant(-seconds);
  if (seconds < minute - 1e-6) return duration(seconds);
  let rest = Math.floor(seconds + 1e-6);
  const parts = [];
  for (const [size, unit] of [[day, "d"], [hour, "h"], [minute, "m"], [1, "s"]]) {
    const number = Math.floor(rest / size);
    rest -= number * size;
    if (parts.length > 0 || number > 0) parts.push(`${parts.length > 0 ? twoDigits(number) : count(number)}\u00a0${unit}`);
    if (rest === 0) break;
  }
  return parts.join("\u00a0");
}

// A round duration on an axis: 30 s, 2 h, 7 d.
function roundDuration(seconds) {
  for (const [unit, name] of [[day, "d"], [hour, "h"], [minute, "m"], [1, "s"], [1e-3, "ms"], [1e-6, "us"]]) {
    if (seconds >= unit * 0.9999) return `${count(Number((seconds / unit).toPrecision(4)))}\u00a0${name}`;
  }
  return seconds > 0 ? `${Number((seconds * 1e9).toPrecision(3))}\u00a0ns` : "0";
}
