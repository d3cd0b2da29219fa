"use strict";
// Uses the page of `vtrain serve` as a person would, mostly by keys, with the real service behind it.
//
//   node service_page_test.js VTRAIN NODE_MODULES CHROMIUM [PART OF A NAME]
//
// Exits with 77, ctest's sign for "skipped", where there is no Chromium.
const assert = require("node:assert");
const {execFileSync, spawn} = require("node:child_process");
const {once} = require("node:events");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const readline = require("node:readline");

const testing = require("./browser.js");

// ---- services and pages -------------------------------------------------------------------------------------------

const work = fs.mkdtempSync(path.join(os.tmpdir(), "vtrain-page-"));
const services = [];

// Starts a service with a cluster of its own; the first line of its log names the port.
async function serve({port = 0, state = `${services.length}.db`, options = []} = {}) {
  const words = ["serve", "--cluster", "4x8:a100", "--state", state, "--listen", `127.0.0.1:${port}`, "--log", "events", ...options];
  const child = spawn(testing.program, words, {cwd: work, stdio: ["ignore", "ignore", "pipe"]});
  services.push(child);
  const lines = readline.createInterface({input: child.stderr});
  const [first] = await once(lines, "line");
  const {event, port: taken} = JSON.parse(first);
  assert.strictEqual(event, "listening", first);
  const stop = async () => {
    if (child.exitCode != null || child.signalCode != null) return;
    child.kill("SIGTERM");
    await once(child, "exit");
  };
  return {port: taken, url: `http://127.0.0.1:${taken}/`, stop};
}

const complaints = [];  // of pages: errors, violations of the policy for content, requests to other hosts

// A page of a service. `expected`: errors that the check provokes, which Chromium logs.
async function open(service, {width = 1280, height = 900, colorScheme = "light", at = "", expected = /^$/, routes = async () => {}} = {}) {
  const context = await testing.browser.newContext({viewport: {width, height}, colorScheme, reducedMotion: "reduce"});
  const page = await context.newPage();
  page.asked = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !expected.test(message.text())) complaints.push(`${message.text()} ${message.location().url}`);
  });
  page.on("request", (request) => {
    page.asked.push(request.url());
    if (!request.url().startsWith(service.url) && !request.url().startsWith("data:")) complaints.push(`asks for ${request.url()}`);
  });
  await page.exposeFunction("noteViolation", (text) => complaints.push(text));
  await page.addInitScript(() => addEventListener("securitypolicyviolation", (event) => window.noteViolation(`${event.violatedDirective}: ${event.blockedURI} ${event.sample}`)));
  await routes(page);
  await page.goto(service.url + at);
  return page;
}

async function openReady(service, options) {
  const page = await open(service, options);
  await page.locator("#content").waitFor();
  return page;
}

const isUpToDate = (page) => page.waitForFunction(() => document.getElementById("connection").textContent === "Up to date", null, {timeout: 20000});
const answerOf = (page, kind) => page.locator(`#answer .answer.${kind}`).innerText({timeout: 60000});

async function fill(page, fields) {
  for (const [id, value] of Object.entries({name: "", gpus: "", deadline: "", ...fields})) await page.locator(`#${id}`).fill(value);
}
const press = (page, button) => page.getByRole("button", {name: button, exact: true}).click();
const rowOf = (page, name) => page.locator("#lists tbody tr").filter({hasText: name});
const focused = (page) => page.evaluate(() => document.activeElement.id || document.activeElement.textContent.trim());

async function tabTo(page, what, key = "Tab") {
  for (let i = 0; i < 60; ++i) {
    if (await focused(page) === what) return;
    await page.keyboard.press(key);
  }
  assert.fail(`${what} is not reached with ${key}`);
}

const tooMuch = {model: "gpt3-13b", tokens: "300B", deadline: "10d"};  // 39 days on all GPUs
const small = {model: "gpt3-1.3b", tokens: "2B", deadline: "2d"};

let shared;  // a service that several checks submit to

const job = (id, more = {}) => ({
  id: String(id), name: `run-${id}`, tenant: "nlp", model: "gpt3-13b", tokens: 3e11, submitted: "2026-11-28T10:00:00Z", deadline: "2030-12-05T12:00:00Z", gpus: 32, elastic: true,
  state: "waiting", admitted: true, promised: true, reason: null, run_time_s: 86400, time_limit_s: 97200, held_gpus: 0, started: null, ended: null, progress: 0, ...more,
});

// ---- checks -------------------------------------------------------------------------------------------------------

const checks = {
  async "an empty cluster says so"() {
    const page = await openReady(shared);
    await isUpToDate(page);
    assert.match(await page.locator("#facts").innerText(), /GPUs in use\s+0 of 32/);
    assert.match(await page.locator("#lists").innerText(), /No job runs\.[^]*No job waits\./);
    assert.match(await page.locator("#gpus-caption").innerText(), /Nothing is planned/);
    assert(!(await page.locator("#gpus-chart").isVisible()));
  },

  async "a check names the reason of a no, and what would be a yes"() {
    const page = await openReady(shared);
    await fill(page, tooMuch);
    await page.keyboard.press("Tab");
    await page.locator("#deadline").press("Enter");
    const no = await answerOf(page, "bad");
    assert.match(no, /^No: .*gpt3-13b.*10\sd\s00\sh/);
    assert.match(no, /deadline in \d+\sd\s\d\d\sh[^]*tokens \d+B/);
    await page.getByRole("button", {name: /^Use deadline/}).click();
    assert.match(await answerOf(page, "good"), /^Yes: [^]*Starts[^]*Ends[^]*Jobs done later/);
    assert.notStrictEqual(await page.locator("#deadline").inputValue(), "10d");
    assert.strictEqual(await focused(page), "deadline");
    assert.strictEqual(await page.locator("#lists tbody tr").count(), 0, "a check changes nothing");
  },

  async "by keys alone: a job is checked, submitted, and stands in the queue with its promise"() {
    const page = await openReady(shared);
    await page.keyboard.press("Tab");
    assert.strictEqual(await focused(page), "Skip to the jobs");
    for (const [id, value] of Object.entries({...small, name: "by-keys"})) {
      await tabTo(page, id);
      await page.keyboard.type(value);
    }
    await page.keyboard.press("Enter");
    await answerOf(page, "good");
    await tabTo(page, "Submit");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => /^Admitted:/.test(document.getElementById("answer").innerText), null, {timeout: 60000});
    assert.match(await page.locator("#answer").innerText(), /Promised to be done by \d+\s\w+/);
    await rowOf(page, "by-keys").waitFor({timeout: 20000});
    assert.match(await rowOf(page, "by-keys").innerText(), /gpt3-1\.3b[^]*\d+\s\w{3}\s\d\d:\d\d in\s(1\sd\s23|2\sd\s00)\sh/);
    // Its dialog, and back to where the focus was.
    await tabTo(page, "by-keys");
    await page.keyboard.press("Enter");
    await page.locator("dialog[open] dl").waitFor();
    const facts = await page.locator("#job").innerText();
    assert.match(facts, /Deadline\s+\d+\s\w+\s\d\d:\d\d[^\n]*promised/);
    assert.match(facts, /Forecast end\s+\d+\s\w+/);
    assert.match(facts, /Tokens\s+2B/);
    await page.keyboard.press("Escape");
    await page.locator("#job").waitFor({state: "hidden", timeout: 20000});
    assert.strictEqual(await focused(page), "by-keys");
    // The picture, by keys.
    await page.locator("#gpus-chart").waitFor();
    await tabTo(page, "gpus-chart", "Shift+Tab");
    await page.keyboard.press("ArrowRight");
    assert.match(await page.locator("#gpus-pointed").innerText(), /\d+\s\w+\s\d\d:\d\d.*: \d+\sGPUs? planned/);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.locator("#gpus-numbers tbody tr").nth(1).waitFor({timeout: 20000});
  },

  async "a refused job stands among the refused, with its reason"() {
    const page = await openReady(shared);
    await fill(page, {...tooMuch, name: "too-much"});
    await press(page, "Submit");
    assert.match(await answerOf(page, "bad"), /^Refused: /);
    await page.getByRole("button", {name: /^Use deadline/}).waitFor({timeout: 60000});
    assert.strictEqual(await rowOf(page, "too-much").count(), 0);
    await page.getByRole("link", {name: "Refused", exact: true}).click();
    await rowOf(page, "too-much").waitFor();
    assert.match(await rowOf(page, "too-much").innerText(), /gpt3-13b[^]*(promises|deadline|done)[^]*/i);
    await rowOf(page, "too-much").getByRole("link").click();
    await page.locator("dialog[open] dl").waitFor();
    assert.match(await page.locator("#job").innerText(), /State\s+refused[^]*Reason/);
  },

  async "a submission whose answer is lost is repeated, not doubled"() {
    const page = await openReady(shared, {expected: /Failed to load resource/});
    let lost = 0;
    await page.route("**/v1/jobs", async (route) => {
      if (route.request().method() !== "POST" || lost > 0) return route.continue();
      ++lost;
      await route.fetch();
      return route.abort();
    });
    await fill(page, {...small, deadline: "3d", name: "once"});
    await press(page, "Submit");
    assert.match(await answerOf(page, "bad"), /^No answer: /);
    await press(page, "Submit");
    await answerOf(page, "good");
    await rowOf(page, "once").first().waitFor({timeout: 20000});
    assert.strictEqual(await rowOf(page, "once").count(), 1);
  },

  async "an error stands at its field"() {
    const page = await openReady(shared, {expected: /40[04]/});
    for (const [id, value] of [["model", "no-such-model"], ["tokens", "many"], ["deadline", "soon"]]) {
      await fill(page, {...small, [id]: value});
      await press(page, "Check");
      await page.locator(`#${id}[aria-invalid=true]`).waitFor({timeout: 20000});
      assert.strictEqual(await focused(page), id);
      assert.match(await page.locator(`#${id}-error`).innerText(), /\w/);
      assert(await page.locator(`#${id}`).evaluate((input) => input.getAttribute("aria-describedby").includes(`${input.id}-error`)));
    }
    await fill(page, small);
    await press(page, "Check");
    await answerOf(page, "good");
    assert.strictEqual(await page.locator("[aria-invalid]").count(), 0);
  },

  async "a token is asked for, and a wrong one is refused"() {
    const token = (role) => execFileSync(testing.program, ["serve", "--tokens", "tokens", "--new-token", role], {cwd: work, encoding: "utf8"}).trim();
    const [reader, submitter] = [token("nlp:read"), token("nlp:submit")];
    const service = await serve({options: ["--tokens", "tokens"]});
    const page = await open(service, {expected: /40[13]/});
    await page.locator("#access").waitFor();
    assert(!(await page.locator("#content").isVisible()));
    assert.strictEqual(await focused(page), "token");
    const enter = async (text) => { await page.keyboard.type(text); await page.keyboard.press("Enter"); };
    await enter("vt_wrong");
    await page.getByText("The service refuses this token").waitFor();
    assert.strictEqual(await focused(page), "token");
    const before = page.asked.length;
    await page.waitForTimeout(4500);
    assert.strictEqual(page.asked.length, before, "nothing is asked without a token");
    await enter(reader);
    await page.locator("#content").waitFor();
    await fill(page, small);
    await press(page, "Submit");
    assert.match(await answerOf(page, "bad"), /^Not allowed: .*submit/);
    // It is gone when the tab is, and before, if somebody wants so.
    assert.deepStrictEqual(await page.evaluate(() => [localStorage.length, sessionStorage.length, document.cookie]), [0, 1, ""]);
    await press(page, "Forget the token");
    await page.locator("#access").waitFor();
    assert.strictEqual(await page.evaluate(() => sessionStorage.length), 0);
    await enter(submitter);
    await page.locator("#content").waitFor();
    await page.reload();
    await page.locator("#content").waitFor();
    await fill(page, small);
    await press(page, "Submit");
    await answerOf(page, "good");
    assert(!page.asked.some((url) => url.includes("vt_")), "no token in an address");
    await page.context().close();
    await service.stop();
  },

  async "a service that is gone is said to be, and found again"() {
    const first = await serve({state: "twice.db"});
    const page = await openReady(first, {expected: /Failed to load resource/});
    await isUpToDate(page);
    await first.stop();
    await page.locator("#connection.bad").waitFor({timeout: 20000});
    assert.match(await page.locator("#connection").innerText(), /does not answer; trying again\. What is shown is of \d+/);
    assert(await page.locator("#content").isVisible());
    const second = await serve({port: first.port, state: "twice.db"});
    await page.waitForFunction(() => document.getElementById("connection").textContent === "Up to date", null, {timeout: 40000});
    await second.stop();
  },

  async "a busy service is asked again when it says"() {
    let busy = true;
    const times = [];
    const page = await openReady(shared, {expected: /503/, routes: (each) => each.route("**/v1/cluster", (route) => {
      times.push(Date.now());
      if (times.length === 1 || !busy) return route.continue();
      return route.fulfill({status: 503, contentType: "application/problem+json", headers: {"Retry-After": "6"}, body: '{"title": "x", "status": 503, "detail": "the service is busy"}'});
    })});
    await page.locator("#connection.bad").waitFor({timeout: 20000});
    assert.match(await page.locator("#connection").innerText(), /busy/);
    busy = false;
    await isUpToDate(page);
    assert(times.at(-1) - times.at(-2) >= 5900, String(times));
  },

  async "a page that is not seen asks for nothing"() {
    const page = await openReady(shared);
    await isUpToDate(page);
    const hide = (isHidden) => page.evaluate((hidden) => {
      Object.defineProperty(document, "hidden", {configurable: true, get: () => hidden});
      document.dispatchEvent(new Event("visibilitychange"));
    }, isHidden);
    await hide(true);
    await page.waitForTimeout(500);
    const before = page.asked.length;
    await page.waitForTimeout(5000);
    assert.strictEqual(page.asked.length, before);
    await hide(false);
    await page.waitForTimeout(500);
    assert(page.asked.length > before);
  },

  async "thousands of jobs are shown by pages, and any name is shown as it is"() {
    const names = {2999: "<img src=x onerror=alert(1)>", 2998: "\u062a\u062f\u0631\u064a\u0628 13b", 2997: "a-long-name-".repeat(40), 2996: "\u202egnp.exe"};
    const all = [...Array(3000).keys()].reverse().map((id) => job(id, names[id] ? {name: names[id], tenant: names[id], reason: names[id]} : {}));
    const page = await openReady(shared, {width: 400, routes: (each) => each.route("**/v1/jobs?*", (route) => {
      const query = new URL(route.request().url()).searchParams;
      const begin = Number(query.get("cursor") ?? 0), end = begin + Number(query.get("limit"));
      const isWaiting = query.get("state") === "waiting";
      return route.fulfill({json: {jobs: isWaiting ? all.slice(begin, end) : [], next: isWaiting && end < all.length ? String(end) : null}});
    })});
    await rowOf(page, "run-2995").waitFor();
    const rows = page.locator("#lists tbody tr");
    assert.strictEqual(await rows.count(), 50);
    assert.deepStrictEqual(await page.locator("#lists .name bdi").evaluateAll((all) => all.slice(0, 4).map((each) => each.textContent)), [2999, 2998, 2997, 2996].map((id) => names[id]));
    assert.strictEqual(await page.locator("#lists img").count(), 0);
    assert(await page.evaluate(() => document.documentElement.scrollWidth) <= 400);
    // Rows that stay keep the focus while the page is made current.
    await rowOf(page, "run-2990").getByRole("link").focus();
    all.shift();
    await page.waitForFunction(() => document.querySelector("#lists .name").textContent.includes("13b"), null, {timeout: 20000});
    assert.strictEqual(await focused(page), "run-2990");
    await press(page, "Older");
    await rowOf(page, "run-2900").waitFor();
    assert.strictEqual(await rows.count(), 50);
    assert.strictEqual(await focused(page), "list-waiting");
    await press(page, "Newer");
    await rowOf(page, "run-2990").waitFor();
    assert.strictEqual(await page.getByRole("button", {name: "Newer"}).first().getAttribute("aria-disabled"), "true");
  },

  async "assistive technology finds nothing in its way, light and dark, wide and narrow"() {
    for (const [colorScheme, width] of [["light", 1280], ["dark", 1280], ["light", 400], ["dark", 400]]) {
      const page = await openReady(shared, {colorScheme, width});
      await isUpToDate(page);
      await rowOf(page, "by-keys").waitFor();
      for (const [fields, kind] of [[tooMuch, "bad"], [{...tooMuch, deadline: "90d"}, "good"]]) {
        await fill(page, fields);
        await press(page, "Check");
        await answerOf(page, kind);
        assert.deepStrictEqual(await testing.violations(page), [], `${colorScheme} ${width} ${kind}`);
      }
      assert(await page.evaluate(() => document.documentElement.scrollWidth) <= width, "no scrolling sideways");
      await page.goto(`${shared.url}#refused`);
      await rowOf(page, "too-much").getByRole("link").click();
      await page.locator("dialog[open] dl").waitFor();
      assert.deepStrictEqual(await testing.violations(page), [], `${colorScheme} ${width} dialog`);
      await page.context().close();
    }
  },

  async "the files of the page come with a strict policy"() {
    for (const file of ["", "page.js", "page.css", "uplot.js", "uplot.css"]) {
      const {status, headers} = await fetch(shared.url + file);
      assert.strictEqual(status, 200);
      assert.match(headers.get("content-security-policy"), /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:;/);
      assert.strictEqual(headers.get("x-content-type-options"), "nosniff");
      assert.strictEqual(headers.get("referrer-policy"), "no-referrer");
    }
  },

  async "no page has an error, breaks its policy or asks another host"() {
    assert.deepStrictEqual(complaints, []);
  },
};

testing.runChecks(checks, {
  begin: async () => { shared = await serve(); },
  end: () => {
    for (const child of services) child.kill("SIGKILL");
    fs.rmSync(work, {recursive: true, force: true});
  },
});
