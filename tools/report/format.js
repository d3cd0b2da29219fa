"use strict";
// Numbers and durations as people read them, the same way as tools/output_format.cpp; for the pictures of the report.
const minute = 60, hour = 3600, day = 86400;

const twoDigits = (number) => String(number).padStart(2, "0");
const count = (number) => number.toLocaleString("en-US", {maximumFractionDigits: 1});
const percent = (number) => (number == null ? "-" : (number >= 99.95 && number < 100 ? "> 99.9" : number.toFixed(1)) + " %");

// The two largest units, as in the table. Each unit ends where its digits would round up to the next.
function duration(seconds) {
  if (seconds < 0) return "-" + duration(-seconds);
  if (seconds === 0) return "0 s";
  if (seconds < 0.9995e-3) return `${Number((seconds * 1e6).toPrecision(3))} us`;
  if (seconds < 0.9995) return `${Number((seconds * 1e3).toPrecision(3))} ms`;
  if (seconds < 59.95) return `${Number(seconds.toPrecision(3))} s`;
  const pair = (large, small, a, b) => {
    const total = Math.round(seconds / small), per = large / small;
    return `${count(Math.floor(total / per))} ${a} ${twoDigits(total % per)} ${b}`;
  };
  if (seconds < hour - 0.5) return pair(minute, 1, "m", "s");
  if (seconds < day - minute / 2) return pair(hour, minute, "h", "m");
  return pair(day, hour, "d", "h");
}

// An instant, in full: 3 d 04:05:06.
function instant(seconds) {
  const whole = Math.floor(seconds + 1e-9);
  const days = Math.floor(whole / day), rest = whole - days * day;
  const clock = [rest / hour, (rest % hour) / minute, rest % minute].map((part) => twoDigits(Math.floor(part))).join(":");
  return (days ? `${count(days)} d ` : "") + clock;
}

// A round duration on an axis: 30 s, 2 h, 7 d.
function roundDuration(seconds) {
  for (const [unit, name] of [[day, "d"], [hour, "h"], [minute, "min"], [1, "s"], [1e-3, "ms"], [1e-6, "us"]]) {
    if (seconds >= unit * 0.9999) return `${count(Number((seconds / unit).toPrecision(4)))} ${name}`;
  }
  return seconds > 0 ? `${Number((seconds * 1e9).toPrecision(3))} ns` : "0";
}
