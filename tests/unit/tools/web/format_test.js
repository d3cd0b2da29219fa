"use strict";
// Known answers for tools/web/format.js, those of tools/format/text_format.cpp with no-break spaces. Run by node with the file as its argument.
const assert = require("node:assert");
const fs = require("node:fs");
const vm = require("node:vm");

const {count, countOf, duration, instant, percent, roundDuration} = vm.runInNewContext(
  fs.readFileSync(process.argv[2], "utf8") + "\n({count, countOf, duration, instant, percent, roundDuration});");

// A duration breaks over no line.
const whole = (text) => text.replaceAll(" ", "\u00a0");

for (const [seconds, text] of [
  [0, "0 s"], [8.1e-6, "8.1 us"], [0.0123, "12.3 ms"], [9.81, "9.81 s"], [0.9997, "1 s"], [0.9994, "999 ms"], [0.9997e-3, "1 ms"], [60, "1 m 00 s"], [2170, "36 m 10 s"], [3599.6, "1 h 00 m"],
  [18720, "5 h 12 m"], [273600, "3 d 04 h"], [86400 * 1234, "1,234 d 00 h"], [-60, "-1 m 00 s"],
]) assert.strictEqual(duration(seconds), whole(text));

// An instant reads like no time of day.
for (const [seconds, text] of [
  [0, "0 s"], [0.25, "250 ms"], [59.5, "59.5 s"], [60, "1 m"], [3661, "1 h 01 m 01 s"], [60960, "16 h 56 m"], [2 * 86400, "2 d"], [86400 + 60, "1 d 00 h 01 m"],
  [3 * 86400 + 4 * 3600 + 5 * 60 + 6, "3 d 04 h 05 m 06 s"], [-7200, "-2 h"],
]) assert.strictEqual(instant(seconds), whole(text));

assert.strictEqual(count(1234567), "1,234,567");
assert.strictEqual(countOf(1, "job"), whole("1 job"));
assert.strictEqual(countOf(0, "job"), whole("0 jobs"));
assert.strictEqual(countOf(1.5, "GPU"), whole("1.5 GPUs"));
assert.strictEqual(percent(81.53), whole("81.5 %"));
assert.strictEqual(percent(99.97), "> 99.9\u00a0%");  // never 100 % unless it is all
assert.strictEqual(percent(100), whole("100.0 %"));
assert.strictEqual(percent(null), "-");
assert.strictEqual(roundDuration(7200), whole("2 h"));
assert.strictEqual(roundDuration(30), whole("30 s"));
assert.strictEqual(roundDuration(7 * 86400), whole("7 d"));
