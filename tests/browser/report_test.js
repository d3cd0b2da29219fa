"use strict";
// Opens the pages that vtrain writes in a headless Chromium and uses them as a reader would: by pointer, by keys, on a phone, on paper.
//
//   node report_test.js VTRAIN NODE_MODULES CHROMIUM [PART OF A NAME]
//
// Exits with 77, ctest's sign for "skipped", where there is no Chromium.
const assert = require("node:assert");
const {execFileSync} = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

const testing = require("./browser.js");

// ---- pages --------------------------------------------------------------------------------------------------------

const work = fs.mkdtempSync(path.join(os.tmpdir(), "vtrain-browser-"));
const vtrain = (...words) => execFileSync(testing.program, words, {cwd: work, stdio: ["ignore", "ignore", "inherit"]});

function makePages() {
  vtrain("compare", "--seed", "1", "--policies", "easy,srtf", "--out", "two");
  vtrain("compare", "--seed", "1", "--policies", "fifo,easy,srtf,las,edf-admission,elasticflow:costs=free", "--interruption-cost", "checkpoint", "--placement", "consolidate", "--out", "six");
  vtrain("trace", "generate", "--jobs", "60", "--cluster", "4x8:a100", "--load", "0.9", "--seed", "7", "--out", "jobs.csv");
  vtrain("compare", "--trace", "jobs.csv", "--cluster", "4x8:a100", "--policies", "easy,srtf", "--placement", "yarn", "--failures", "mtbf=300h", "--out", "small");
  fs.writeFileSync(path.join(work, "tenants.csv"), "job_id,tenant,submit_s,num_gpus,duration_s\n" +
    ["a", "b"].flatMap((tenant, late) => [...Array(12).keys()].map((i) => `${tenant}${i},${tenant},${late * 600},1,3600`)).join("\n") + "\n");
  fs.writeFileSync(path.join(work, "tree.json"), '{"version": 1, "tenants": [{"name": "a"}, {"name": "b", "quotas": [{"gpus": 6}]}]}');
  vtrain("compare", "--trace", "tenants.csv", "--deadlines", "none", "--cluster", "1x8:a100", "--tenant-tree", "tree.json", "--policies", "fifo,fair-share", "--out", "shared");
  vtrain("trace", "info", "jobs.csv", "--cluster", "4x8:a100", "--report", "trace.html");
}
const fileOf = {two: "two/report.html", six: "six/report.html", small: "small/report.html", shared: "shared/report.html", trace: "trace.html"};

const complaints = [];  // of pages: errors, and requests that leave the file

// A page, with all that its canvases ever wrote in `window.drawnTexts`.
async function open(name, {width = 1240, height = 900, colorScheme = "light"} = {}) {
  const context = await testing.browser.newContext({viewport: {width, height}, colorScheme, reducedMotion: "reduce"});
  const page = await context.newPage();
  page.on("pageerror", (error) => complaints.push(`${name}: ${error}`));
  page.on("console", (message) => { if (message.type() === "error") complaints.push(`${name}: ${message.text()}`); });
  page.on("request", (request) => { if (!/^(file|data):/.test(request.url())) complaints.push(`${name} asks for ${request.url()}`); });
  await page.addInitScript(() => {
    window.drawnTexts = [];
    const fillText = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
      window.drawnTexts.push({text: String(text), chart: this.canvas.closest("figure")?.id});
      return fillText.call(this, text, ...place);
    };
  });
  await page.goto(`file://${path.join(work, fileOf[name])}`);
  return page;
}

// What a picture writes when `act` is done.
async function textsAfter(page, figure, act) {
  await page.evaluate(() => { window.drawnTexts.length = 0; });
  await act();
  await page.waitForTimeout(50);
  return page.evaluate((id) => window.drawnTexts.filter(({chart}) => chart === id).map(({text}) => text), figure);
}

// The number of pixels in strong colours.
const painted = (page, selector) => page.locator(`${selector} .u-wrap canvas`).first().evaluate((canvas) => {
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let number = 0;
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] > 200 && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 60) ++number;
  }
  return number;
});

async function drag(page, selector, [x0, y0], [x1, y1]) {
  const over = page.locator(`${selector} .u-over`).first();
  await over.scrollIntoViewIfNeeded();
  const {x, y, width, height} = await over.boundingBox();
  await page.mouse.move(x + x0 * width, y + y0 * height);
  await page.mouse.down();
  await page.mouse.move(x + (x0 + x1) / 2 * width, y + (y0 + y1) / 2 * height);
  await page.mouse.move(x + x1 * width, y + y1 * height);
  await page.mouse.up();
  await page.waitForTimeout(50);
}

async function hover(page, selector, x, y = 0.5) {
  const over = page.locator(`${selector} .u-over`).first();
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  await page.mouse.move(box.x + x * box.width, box.y + y * box.height);
  return over.evaluate((plot) => [...plot.querySelectorAll(".tooltip:not([hidden]) > *")].map((line) => [...line.childNodes].map((part) => part.textContent).join(" ")).join("\n"));
}

const spoken = (page) => page.locator("p[aria-live]").textContent();
const press = async (page, key) => { await page.keyboard.press(key); await page.waitForTimeout(50); };

async function openTables(page, within = "") {
  await page.evaluate((selector) => document.querySelectorAll(`${selector} details`).forEach((details) => { details.open = true; }), within);
  await page.waitForFunction((selector) => [...document.querySelectorAll(`${selector} .numbers`)].every((box) => box.firstChild), within, {timeout: 20000});
}

async function violations(page) {
  await openTables(page);
  // Long tables are alike from row to row.
  await page.evaluate(() => document.querySelectorAll(".numbers tbody tr:nth-child(n + 4)").forEach((row) => row.remove()));
  return testing.violations(page);
}

// `16 h 56 m` in seconds; null for another text.
function secondsOf(text) {
  const sizes = {d: 86400, h: 3600, m: 60, s: 1, ms: 1e-3};
  if (!/^([\d,.]+\s(d|h|m|s|ms)(\s|$))+$/.test(text)) return null;
  return [...text.matchAll(/([\d,.]+)\s(d|h|ms|m|s)/g)].reduce((sum, [, number, unit]) => sum + Number(number.replaceAll(",", "")) * sizes[unit], 0);
}

// ---- checks -------------------------------------------------------------------------------------------------------

const checks = {
  async "a drag across the Gantt chart zooms it, a double click goes back"() {
    const page = await open("small");
    const whole = await painted(page, "#gantt");
    assert(whole > 20000, `${whole} pixels`);
    await drag(page, "#gantt", [0.1, 0.5], [0.3, 0.5]);
    const zoomed = await painted(page, "#gantt");
    assert(zoomed > 20000, `${zoomed} pixels after a horizontal drag`);
    assert.notStrictEqual(zoomed, whole);
    await drag(page, "#gantt", [0.1, 0.1], [0.6, 0.6]);
    assert(await painted(page, "#gantt") > 5000);
    await page.locator("#gantt .u-over").dblclick({position: {x: 50, y: 50}});
    await page.waitForTimeout(50);
    assert.strictEqual(await painted(page, "#gantt"), whole);
  },

  async "the Gantt chart shows the best policy, and says which segments it leaves out"() {
    const two = await open("two");
    assert(await painted(two, "#gantt") > 20000);
    assert(!(await two.locator("#gantt .segments").isVisible()));
    const six = await open("six");
    assert(await painted(six, "#gantt") > 20000);
    assert.strictEqual(await six.locator("#gantt select").first().evaluate((select) => select.selectedOptions[0].text), "elasticflow:costs=free");
    assert.match(await six.locator("#gantt .segments").textContent(), /^Drawn are the [\d,]+ segments of elasticflow:costs=free with the most GPU time, of [\d,]+: \d\d\.\d\s% of its GPU time\.$/);
    await six.locator("#gantt select").first().selectOption({label: "fifo"});
    assert(!(await six.locator("#gantt .segments").isVisible()));
    assert(fs.statSync(path.join(work, fileOf.six)).size < 1e6);
  },

  async "rows of the Gantt chart are nodes or tenants"() {
    const page = await open("six");
    const nodes = await page.evaluate(() => window.drawnTexts.filter(({chart}) => chart === "gantt").map(({text}) => text));
    assert(nodes.includes("node 0") && nodes.includes("node 15"), nodes.join("; "));
    const tenants = await textsAfter(page, "gantt", () => page.locator("#gantt select").nth(1).selectOption("tenant"));
    assert(tenants.includes("tenant-1") && !tenants.includes("node 0"), tenants.join("; "));
    assert(await painted(page, "#gantt") > 20000);
    assert.match(await hover(page, "#gantt", 0.3, 0.05), /tenant tenant-\d/);
  },

  async "keys zoom, move and point; 0 goes back"() {
    const page = await open("small");
    assert.match(await page.locator(".help").textContent(), /keyboard.*\+ and \u2212 zoom.*arrows move.*0 goes back/);
    for (const id of ["gantt", "waiting", "jct"]) {
      await page.locator(`#${id} .chart`).focus();
      await press(page, "-");
      const whole = await spoken(page);
      await press(page, "+");
      const zoomed = await spoken(page);
      assert.match(zoomed, /^from .* to /);
      assert.notStrictEqual(zoomed, whole, id);
      const ticks = await textsAfter(page, id, () => press(page, "ArrowRight"));
      assert(ticks.length > 0, `${id} is drawn anew`);
      const moved = await spoken(page);
      assert.notStrictEqual(moved, zoomed, id);
      await press(page, "ArrowLeft");
      assert.strictEqual(await spoken(page), zoomed, id);
      await press(page, "Shift+ArrowRight");
      await press(page, "Shift+ArrowRight");
      assert(await page.locator(`#${id} .tooltip`).isVisible() || id === "gantt", `${id} has a tip`);
      await press(page, "0");
      assert.strictEqual(await spoken(page), whole, id);
    }
    await page.locator("#bySize .chart").focus();
    await press(page, "ArrowRight");
    assert.match(await spoken(page), /deadline/);
    // The pictures over time move together.
    await page.locator("#waiting .chart").focus();
    const other = await textsAfter(page, "gpus", () => press(page, "+"));
    assert(other.length > 0);
    // Rows of the Gantt chart, too.
    await page.locator("#gantt .chart").focus();
    await press(page, "+");
    const rows = await textsAfter(page, "gantt", () => press(page, "ArrowDown"));
    assert(rows.includes("node 3") && !rows.includes("node 0"), rows.join("; "));
    // Tab reaches every picture.
    assert.strictEqual(await page.locator("figure .chart[tabindex='0']").count(), await page.locator("figure .chart").count());
  },

  async "shares due and received have a picture for each tenant and policy"() {
    const page = await open("shared");
    assert.strictEqual(await page.locator("#shares .cell:visible").count(), 4);
    assert.deepStrictEqual(await page.locator("#shares .cell p").allInnerTexts(), ["fifo: b", "fair-share: b", "fifo: a", "fair-share: a"]);
    assert.deepStrictEqual(await page.locator("#shares .legend .swatch").allInnerTexts(), ["due", "received"]);
    assert.match(await hover(page, "#shares", 0.5), /due/);
    // A policy that is hidden takes its pictures along.
    await page.locator("figure .legend button").first().click();
    assert.strictEqual(await page.locator("#shares .cell:visible").count(), 2);
    await openTables(page, "#shares");
    assert.match(await page.locator("#shares .numbers").first().innerText(), /fair-share: b: received/);
  },

  async "tips say durations, not clock times, and count one thing as one"() {
    const page = await open("small");
    const tips = [];
    for (const id of ["waiting", "gpus"]) {
      for (let x = 0.02; x < 1; x += 0.04) tips.push(await hover(page, `#${id}`, x));
    }
    for (let x = 0.1; x < 1; x += 0.2) tips.push(await hover(page, "#gantt", x, 0.2));
    tips.push(await hover(page, "#bySize", 0.1));
    const all = tips.join("\n");
    assert(!/\d:\d\d/.test(all), all.match(/.*\d:\d\d.*/)?.[0]);
    assert.match(all, /from \d+\u00a0h\u00a0\d\d\u00a0m/);
    assert.match(all, /\b1\u00a0job\b/);
    assert.match(all, /holds GPUs/);
    assert(!/(^|[^\d.,])1\s(jobs|GPUs|deadlines)/m.test(all), all.match(/.*\b1\s(jobs|GPUs|deadlines).*/)?.[0]);
    assert(!/\d [dhms%]\b/.test(all), "no-break spaces");
  },

  async "zoomed axes have round ticks"() {
    const page = await open("two");
    for (const [id, from, to] of [["jct", 0.6, 0.7], ["jct", 0.4, 0.6], ["waiting", 0.3, 0.33], ["waiting", 0.2, 0.25], ["gantt", 0.42, 0.46]]) {
      const texts = await textsAfter(page, id, () => drag(page, `#${id}`, [from, 0.5], [to, 0.5]));
      assert(!texts.some((text) => /\d:\d\d/.test(text)), texts.join("; "));
      const ticks = [...new Set(texts.map(secondsOf).filter((seconds) => seconds != null))].sort((a, b) => a - b);
      assert(ticks.length >= 2, `${id}: ${texts.join("; ")}`);
      const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
      const gaps = ticks.slice(1).map((tick, i) => tick - ticks[i]);
      const step = steps.filter((each) => ticks.every((tick) => tick % each === 0)).pop() ?? 0;
      assert(step >= Math.min(...gaps) / 2, `${id}: ${texts.join("; ")}`);
      await page.locator(`#${id} .u-over`).dblclick();
    }
  },

  async "shares have axes from 0 %"() {
    const page = await open("small");
    for (const id of ["jct", "wait"]) {
      const texts = await page.evaluate((figure) => window.drawnTexts.filter(({chart}) => chart === figure).map(({text}) => text.replace(/\s/g, " ")), id);
      assert(texts.includes("0 %") && texts.includes("100 %"), `${id}: ${texts.join("; ")}`);
    }
  },

  async "numbers are in a table behind every picture"() {
    for (const name of ["small", "trace"]) {
      const page = await open(name);
      await openTables(page, "figure");
      const rows = await page.evaluate(() => [...document.querySelectorAll("figure")].map((figure) => [figure.id, figure.querySelectorAll("details tbody tr").length]));
      assert(rows.length >= 4);
      for (const [id, number] of rows) assert(number > 0, `${name}: ${id} has no table`);
    }
    const page = await open("small");
    await openTables(page, "#gantt");
    const first = await page.locator("#gantt details tbody tr").count();
    await page.locator("#gantt select").first().selectOption({index: 0});
    assert.notStrictEqual(await page.locator("#gantt details tbody tr").count(), first);
  },

  async "five policies and more have a small picture each"() {
    const six = await open("six");
    for (const id of ["waiting", "gpus"]) assert.strictEqual(await six.locator(`#${id} .cell:visible`).count(), 6);
    const ticks = (id) => six.evaluate((figure) => [...new Set(window.drawnTexts.filter(({chart}) => chart === figure).map(({text}) => text))], id);
    assert((await ticks("gpus")).length < 20, "the same axes in all");
    await six.locator("#gpus .legend button").first().click();
    for (const id of ["waiting", "gpus"]) assert.strictEqual(await six.locator(`#${id} .cell:visible`).count(), 5);
    await hover(six, "#gpus .cell:nth-child(2)", 0.5);
    assert.strictEqual(await six.locator(".tooltip:visible").count(), 1);
    await openTables(six, "#gpus");
    assert.strictEqual(await six.locator("#gpus .numbers thead th").count(), 7);
    const two = await open("two");
    assert.strictEqual(await two.locator(".cell").count(), 0);
  },

  async "a duration stays on one line"() {
    const page = await open("six");
    for (const selector of ["header", "figcaption"]) {
      const text = (await page.locator(selector).allTextContents()).join("\n");
      assert(!/\d (d|h|m|s|%)(\W|$)/.test(text), text);
      assert.match(text, /\d\u00a0(%|m)/);
    }
  },

  async "axe finds nothing, light, dark and on a phone"() {
    for (const [name, options] of [["small", {}], ["two", {colorScheme: "dark"}], ["trace", {}], ["small", {width: 390, height: 844}]]) {
      const page = await open(name, options);
      assert.deepStrictEqual(await violations(page), [], `${name} ${JSON.stringify(options)}`);
      await page.context().close();
    }
  },

  async "dark pages are dark, and drawn anew when the scheme changes"() {
    const page = await open("two", {colorScheme: "dark"});
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number));
    assert((await ground()).every((part) => part < 60));
    assert(await painted(page, "#gantt") > 20000);
    await page.emulateMedia({colorScheme: "light"});
    await page.waitForTimeout(100);
    assert((await ground()).every((part) => part > 230));
    assert(await painted(page, "#gantt") > 20000);
  },

  async "a phone scrolls down only"() {
    for (const name of Object.keys(fileOf)) {
      const page = await open(name, {width: 390, height: 844});
      if (name !== "six") await openTables(page);
      assert(await page.evaluate(() => document.documentElement.scrollWidth) <= 390, name);
      const outside = await page.evaluate(() => [...document.querySelectorAll("figure .u-wrap")].filter((plot) => plot.getBoundingClientRect().right > 390).length);
      assert.strictEqual(outside, 0, `${name}: pictures that leave the screen`);
      await page.context().close();
    }
  },

  async "paper is white, narrow and has all pictures"() {
    for (const [name, mostPages] of [["two", 6], ["six", 8]]) {
      const page = await open(name, {colorScheme: "dark"});
      const pdf = await page.pdf({format: "A4"});
      const pages = pdf.toString("latin1").match(/\/Type\s*\/Page\b(?!s)/g).length;
      assert(pages >= 2 && pages <= mostPages, `${name}: ${pages} pages`);
      await page.emulateMedia({media: "print", colorScheme: "dark"});
      await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
      await page.waitForTimeout(50);
      assert.strictEqual(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
      assert(!(await page.locator(".help").isVisible()));
      const widths = await page.evaluate(() => [...document.querySelectorAll("figure .u-wrap")].map((plot) => plot.clientWidth));
      assert(widths.every((width) => width > 200 && width <= 640), widths.join(" "));
      assert(await painted(page, "#gantt") > 5000);
    }
  },

  async "pages have no error and ask for nothing"() {
    assert.deepStrictEqual(complaints, []);
  },
};

testing.runChecks(checks, {begin: makePages, end: () => fs.rmSync(work, {recursive: true, force: true})});
