"use strict";
// `vtrain mcp` as clients see it: the tools through the client of the protocol's own SDK, and misuse through bare lines.
//
//   node mcp_test.js VTRAIN NPM_FOLDER DOCS [PART OF A NAME]
const assert = require("node:assert");
const {execFileSync, spawn} = require("node:child_process");
const fs = require("node:fs");
const {createRequire} = require("node:module");
const path = require("node:path");

const [program, packages, docs, wanted = ""] = process.argv.slice(2);
const fromPackages = createRequire(path.resolve(packages, "test.js"));
const {Client} = fromPackages("@modelcontextprotocol/sdk/client/index.js");
const {StdioClientTransport} = fromPackages("@modelcontextprotocol/sdk/client/stdio.js");

// ---- questions ----------------------------------------------------------------------------------------------------

const prediction = {
  model: "llama3-8b", profile: "h100", stack: "megatron-core",
  plan: {tensor: 2, data: 4, pipeline: 1, global_batch: 64, micro_batch: 1, recompute: "none"},
};
const search = {spec_version: 1, model: "llama3-8b", gpus: "8,16", target: {profile: "h100"}, top: 2};
const example = (name) => fs.readFileSync(path.join(docs, "eta_example", name), "utf8");
const slurmQueue = {now: [example("jobs.txt"), example("nodes.txt")], policy: "easy"};
const kueueQueue = {now: ["workloads.json", "queues.json", "gpu_nodes.json"].map(example), policy: "kueue"};

const vtrain = (words, input = "") => execFileSync(path.resolve(program), words, {input, encoding: "utf8", stdio: ["pipe", "pipe", "ignore"]});

// ---- a client, and bare lines -------------------------------------------------------------------------------------

async function withClient(use, options = []) {
  const client = new Client({name: "test", version: "1"});
  await client.connect(new StdioClientTransport({command: path.resolve(program), args: ["mcp", ...options], stderr: "ignore"}));
  try {
    await use(client);
  } finally {
    await client.close();
  }
}

// Writes text, ends the input, and returns the messages with the exit code.
function converse(text, {end = true} = {}) {
  return new Promise((resolve, reject) => {
    const server = spawn(path.resolve(program), ["mcp"], {stdio: ["pipe", "pipe", "pipe"]});
    let out = "", log = "";
    server.stdout.setEncoding("utf8").on("data", (part) => { out += part; });
    server.stderr.setEncoding("utf8").on("data", (part) => { log += part; });
    server.on("error", reject);
    server.on("close", (code) => {
      assert.ok(out === "" || out.endsWith("\n"), "each message ends its line");
      resolve({code, log, messages: out.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line))});
    });
    server.stdin.on("error", () => {});
    server.stdin.write(text);
    if (end) server.stdin.end();
  });
}

const request = (id, method, params) => JSON.stringify({jsonrpc: "2.0", id, method, ...(params === undefined ? {} : {params})}) + "\n";
const notify = (method, params) => JSON.stringify({jsonrpc: "2.0", method, params}) + "\n";
const call = (id, name, args) => request(id, "tools/call", {name, arguments: args});
const begin = (version = "2025-06-18") =>
  request("begin", "initialize", {protocolVersion: version, capabilities: {}, clientInfo: {name: "test", version: "1"}}) +
  notify("notifications/initialized");

// The responses after that to `initialize`, in any order, by id.
async function ask(text, version) {
  const {code, messages} = await converse(begin(version) + text);
  assert.strictEqual(code, 0);
  assert.strictEqual(messages[0].id, "begin");
  return messages.slice(1);
}

const codeOf = (message) => message.error && message.error.code;

// ---- tests --------------------------------------------------------------------------------------------------------

const tests = {
  async "a client finds the tools with their schemas"() {
    await withClient(async (client) => {
      assert.strictEqual(client.getServerVersion().name, "vtrain");
      assert.match(client.getInstructions(), /predict/);
      const {tools} = await client.listTools();
      assert.deepStrictEqual(tools.map((tool) => tool.name), ["predict", "plan", "eta", "explain"]);
      for (const tool of tools) {
        assert.ok(tool.description.length > 40 && tool.title);
        assert.strictEqual(tool.inputSchema.type, "object");
        assert.strictEqual(tool.outputSchema.type, "object");
        assert.strictEqual(tool.annotations.readOnlyHint, true);
      }
      assert.deepStrictEqual(tools[0].inputSchema.required, ["model", "plan"]);
      assert.ok(tools[0].inputSchema.properties.plan.properties.tensor.minimum >= 1);
      assert.ok(tools[1].inputSchema.properties.target.properties.cluster);
      await client.ping();
    });
  },

  async "answers are those of the commands"() {
    await withClient(async (client) => {
      // Clients check answers against the output schema once they know it.
      await client.listTools();
      const same = async (name, args, expected) => {
        const answer = await client.callTool({name, arguments: args});
        assert.ok(!answer.isError, JSON.stringify(answer.content));
        assert.deepStrictEqual(answer.structuredContent, JSON.parse(expected));
        assert.deepStrictEqual(JSON.parse(answer.content[0].text), answer.structuredContent);
      };
      await same("predict", prediction, vtrain(["predict", "-", "--json"], JSON.stringify(prediction)));
      const folder = fs.mkdtempSync(path.join(require("node:os").tmpdir(), "vtrain-mcp-"));
      const spec = path.join(folder, "spec.json");
      fs.writeFileSync(spec, JSON.stringify(search));
      await same("plan", search, vtrain(["plan", "--spec", spec, "--json"]));
      fs.rmSync(folder, {recursive: true});
      const files = (...names) => names.map((name) => path.join(docs, "eta_example", name));
      await same("eta", slurmQueue, vtrain(["eta", "--now", ...files("jobs.txt", "nodes.txt"), "--policy", "easy", "--json"]));
      await same("eta", {...slurmQueue, job: "103", models: example("models.csv"), samples: 20},
        vtrain(["eta", "--now", ...files("jobs.txt", "nodes.txt"), "--policy", "easy", "--job", "103", "--samples", "20",
          "--models", ...files("models.csv"), "--json"]));
      await same("eta", kueueQueue, vtrain(["eta", "--now", ...files("workloads.json", "queues.json", "gpu_nodes.json"), "--policy", "kueue", "--json"]));
    });
  },

  async "slurm's own files are texts, too"() {
    const folder = path.join(docs, "slurm_example");
    const text = (name) => fs.readFileSync(path.join(folder, name), "utf8");
    const names = ["slurm.conf", "associations-dump.cfg", "qos.txt"];
    const now = [...slurmQueue.now, ...names.map(text)];
    const expected = JSON.parse(vtrain(["eta", "--now", path.join(docs, "eta_example/jobs.txt"), path.join(docs, "eta_example/nodes.txt"),
      ...names.map((name) => path.join(folder, name)), "--policy", "slurm", "--samples", "20", "--json"]));
    const [answer] = await ask(call(1, "eta", {now, policy: "slurm", samples: 20}));
    assert.ok(!answer.result.isError, JSON.stringify(answer));
    assert.deepStrictEqual(answer.result.structuredContent.jobs, expected.jobs);
    assert.ok(answer.result.structuredContent.policy_files.every((name) => /^now\[\d\]$/.test(name)));
  },

  async "explanations"() {
    await withClient(async (client) => {
      await client.listTools();
      const explain = async (args) => {
        const answer = await client.callTool({name: "explain", arguments: args});
        assert.ok(!answer.isError, JSON.stringify(answer.content));
        return answer.structuredContent;
      };
      const slow = await explain({prediction});
      assert.match(slow.answer, /^An iteration takes .* on 8 GPUs \(h100\): \d+ % matrix products, /);
      assert.strictEqual(slow.parts[0].part, "matrix products");
      const sum = slow.parts.reduce((all, part) => all + part.seconds, 0);
      assert.ok(Math.abs(sum / slow.iteration_time_s - 1) < 0.01, `${sum} of ${slow.iteration_time_s}`);
      const waits = await explain({waiting_job: {...slurmQueue, job: "103"}});
      assert.match(waits.answer, /^Under easy, job 103 starts in .*Now: /);
      assert.strictEqual(waits.needs_somebody, false);
      assert.ok(waits.reason.length > 5 && Array.isArray(waits.ahead) && Array.isArray(waits.suggestions));
      // A job that somebody holds is no error: that is the explanation.
      const all = JSON.parse(vtrain(["eta", "--now", path.join(docs, "eta_example/jobs.txt"), path.join(docs, "eta_example/nodes.txt"), "--policy", "easy", "--json"]));
      assert.ok(all.stuck.length > 0);
      const held = await explain({waiting_job: {...slurmQueue, job: all.stuck[0].job}});
      assert.strictEqual(held.needs_somebody, true);
      assert.ok(held.answer.includes(all.stuck[0].reason));
    });
  },

  async "wrong arguments name the place"() {
    const wrong = [
      ["predict", {}, /model/],
      ["predict", {...prediction, model: "lama3-8b"}, /^model: .*did you mean/],
      ["predict", {...prediction, plan: {...prediction.plan, tensor: "2"}}, /^plan\.tensor: expected .*found/],
      ["predict", {...prediction, pln: {}}, /^pln: /],
      ["plan", {...search, gpus: "zero"}, /^gpus: .*zero/],
      ["plan", {...search, gpus: "1-4096"}, /^gpus: expected at most 64/],
      ["plan", {...search, model: "llama3-70b", gpus: "1"}, /^gpus: .*it fits on/],
      ["plan", {...search, target: {headroom: 99}}, /^target\.headroom: /],
      ["eta", {}, /^now: missing/],
      ["eta", {now: "jobs.txt"}, /^now: expected a list/],
      ["eta", {now: [5]}, /^now\[0\]: expected a text/],
      ["eta", {now: ["docs/eta_example/jobs.txt"]}, /^now\[0\]/],
      ["eta", {...slurmQueue, policy: "eazy"}, /^policy: .*did you mean 'easy'/],
      ["eta", {...slurmQueue, time_zone: "Mars"}, /^time_zone: .*Mars/],
      ["eta", {...slurmQueue, time_zone: "../../../etc/passwd"}, /^time_zone: /],
      ["eta", {...slurmQueue, samples: 0}, /^samples: expected .*found/],
      ["eta", {...slurmQueue, job: "nobody"}, /^job: expected a pending job that can start, found 'nobody'/],
      ["eta", {...slurmQueue, models: "job,model,tokens\n103,lama,1B\n"}, /^models:2: model: /],
      ["eta", {...slurmQueue, jobs: "103"}, /^jobs: .*job/],
      ["explain", {}, /expected one of prediction and waiting_job, found 'none'/],
      ["explain", {prediction, waiting_job: slurmQueue}, /found 'both'/],
      ["explain", {prediction: {...prediction, plan: {...prediction.plan, tensor: "2"}}}, /^prediction\.plan\.tensor: /],
      ["explain", {waiting_job: slurmQueue}, /^waiting_job\.job: missing/],
      ["explain", {waiting_job: {...slurmQueue, job: "103", samples: 0}}, /^waiting_job\.samples: /],
    ];
    const answers = await ask(wrong.map(([name, args], i) => call(i, name, args)).join(""));
    assert.strictEqual(answers.length, wrong.length);
    for (const answer of answers) {
      const [name, args, expected] = wrong[answer.id];
      assert.strictEqual(answer.result && answer.result.isError, true, `${name} ${JSON.stringify(args).slice(0, 200)}: ${JSON.stringify(answer).slice(0, 300)}`);
      assert.strictEqual(answer.result.structuredContent, undefined);
      assert.match(answer.result.content[0].text, expected);
    }
  },

  async "a calibration of the server corrects what names none"() {
    const answers = async (options, calibration) => {
      const list = [];
      await withClient(async (client) => {
        const call = async (name, args) => list.push((await client.callTool({name, arguments: args})).structuredContent);
        await call("plan", {...search, target: {...search.target, stack, ...calibration}});
        await call("eta", {...slurmQueue, models, stack, ...calibration});
        await call("explain", {waiting_job: {...slurmQueue, models, stack, job: "103", ...calibration}});
      }, options);
      for (const answer of list) delete answer.spec;
      return list;
    };
    const models = example("models.csv"), stack = "fsdp-eager";
    const asked = await answers([], {calibration: "published"});
    assert.deepStrictEqual(await answers(["--calibrate", "published"], {}), asked);
    assert.deepStrictEqual(await answers(["--calibrate", "published"], {calibration: "published"}), asked);
    const plain = await answers([], {});
    for (let i = 0; i < asked.length; ++i) assert.notDeepStrictEqual(plain[i], asked[i], `answer ${i}`);
  },

  async "a model names no files"() {
    const names = ["/etc/passwd", "../../etc/passwd", "/dev/stdin", "missing.json", "/no/such/h100.json"];
    const calls = [];
    for (const name of names) {
      calls.push(["predict", {...prediction, model: name}], ["predict", {...prediction, profile: name}]);
      calls.push(["plan", {...search, model: name}]);
      for (const key of ["cluster", "profile", "calibration"]) calls.push(["plan", {...search, target: {[key]: name}}]);
      for (const key of ["cluster", "profile", "calibration"]) calls.push(["eta", {...slurmQueue, [key]: name}]);
      for (const key of ["folder", "conf", "assoc", "history", "reservations"]) calls.push(["eta", {...slurmQueue, policy: `slurm:${key}=${name}`}]);
      calls.push(["eta", {...slurmQueue, policy: `kueue:objects=${name}`}], ["eta", {...slurmQueue, policy: `gittins:distribution=${name}`}]);
      calls.push(["eta", {...slurmQueue, policy: `plugin:path=${name}`}], ["eta", {...slurmQueue, policy: `exec:command=${name}`}]);
    }
    const answers = await ask(calls.map(([name, args], i) => call(i, name, args)).join(""));
    assert.strictEqual(answers.length, calls.length);
    for (const answer of answers) {
      assert.strictEqual(answer.result.isError, true, JSON.stringify(calls[answer.id]).slice(0, 200));
      assert.doesNotMatch(answer.result.content[0].text, /No such file|cannot read|root:/);
    }
  },

  async "unknown tools and methods"() {
    await withClient(async (client) => {
      await assert.rejects(client.callTool({name: "predikt", arguments: {}}), /-32602.*Unknown tool: predikt.*predict/);
    });
    const answers = await ask(request(1, "resources/list") + request("x", "no/such") + request(2, "tools/list", {cursor: "next"}) +
      request(3, "tools/call", {arguments: {}}) + request(4, "tools/call", {name: "predict", arguments: [1]}) + request(5, "tools/call") +
      notify("notifications/roots/list_changed") + notify("no/such") + request(6, "ping") + request(7, "initialize", {protocolVersion: "2025-06-18"}));
    const codes = Object.fromEntries(answers.map((answer) => [answer.id, codeOf(answer)]));
    assert.deepStrictEqual(codes, {1: -32601, x: -32601, 2: -32602, 3: -32602, 4: -32602, 5: -32602, 6: undefined, 7: -32600});
  },

  async "versions are negotiated"() {
    for (const [asked, agreed] of [["2025-06-18", "2025-06-18"], ["2025-03-26", "2025-03-26"], ["2024-11-05", "2025-06-18"], ["2099-01-01", "2025-06-18"]]) {
      const {messages} = await converse(begin(asked));
      assert.strictEqual(messages.length, 1);
      assert.strictEqual(messages[0].result.protocolVersion, agreed);
      assert.deepStrictEqual(messages[0].result.capabilities, {tools: {listChanged: false}});
    }
    const {messages} = await converse(request(1, "tools/list") + call(2, "predict", prediction) + request(3, "ping") + request(4, "initialize", {}));
    assert.deepStrictEqual(Object.fromEntries(messages.map((each) => [each.id, codeOf(each)])), {1: -32600, 2: -32600, 3: undefined, 4: -32602});
  },

  async "only the older version has batches"() {
    const batch = JSON.stringify([JSON.parse(request(1, "ping")), JSON.parse(notify("notifications/cancelled", {requestId: 99})), 5,
      JSON.parse(call(2, "predict", prediction)), JSON.parse(request(3, "no/such")), JSON.parse(request(4, "initialize", {protocolVersion: "2025-06-18"}))]) + "\n";
    const [older, empty] = (await ask(batch + "[]\n" + '[{"jsonrpc":"2.0","method":"x"}]\n', "2025-03-26")).sort((a, b) => Array.isArray(b) - Array.isArray(a));
    assert.deepStrictEqual(Object.fromEntries(older.map((each) => [each.id, codeOf(each)])), {1: undefined, null: -32600, 2: undefined, 3: -32601, 4: -32600});
    assert.strictEqual(codeOf(empty), -32600);
    const newer = await ask(batch);
    assert.strictEqual(newer.length, 1);
    assert.strictEqual(codeOf(newer[0]), -32600);
    assert.strictEqual(newer[0].id, null);
  },

  async "bare lines that are wrong"() {
    const wrong = [
      ["{", -32700, null], ["nonsense", -32700, null], ['{"jsonrpc": "2.0", "id": 1, "method": "ping"} {}', -32700, null],
      ["\ufffd\u0000", -32700, null], ["5", -32600, null], ["null", -32600, null], ['"text"', -32600, null], ["{}", -32600, null],
      ['{"id": 7, "method": "ping"}', -32600, 7], ['{"jsonrpc": "1.0", "id": 8, "method": "ping"}', -32600, 8],
      ['{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600, null], ['{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', -32600, null],
      ['{"jsonrpc": "2.0", "id": {}, "method": "ping"}', -32600, null], ['{"jsonrpc": "2.0", "id": 9, "method": 5}', -32600, 9],
      ['{"jsonrpc": "2.0", "id": 10, "method": "ping", "params": [1]}', -32600, 10], ['{"jsonrpc": "2.0", "id": 11}', -32600, 11],
      ['{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}', -32700, null],
      ["[".repeat(100000), -32700, null], ['{"a":'.repeat(5000), -32700, null],
    ];
    for (const start of ["", begin(), begin("2025-03-26")]) {
      const {code, messages} = await converse(start + wrong.map(([line]) => line + "\n").join("") + "\n  \r\n" + request("end", "ping"));
      assert.strictEqual(code, 0);
      const answers = start ? messages.slice(1) : messages;
      assert.deepStrictEqual(answers.slice(0, -1).map((each) => [codeOf(each), each.id]), wrong.map(([, number, id]) => [number, id]));
      assert.deepStrictEqual(answers.at(-1), {jsonrpc: "2.0", id: "end", result: {}});
    }
    // Answers of a client to requests that nobody made, and bytes that are no UTF-8.
    const {messages} = await converse(Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":1,"result":{}}\n{"jsonrpc":"2.0","id":"'), Buffer.from([0xff, 0xfe]), Buffer.from('","method":"ping"}\n')]));
    assert.deepStrictEqual(messages.map(codeOf), [-32700]);
  },

  async "huge and deep arguments"() {
    const deep = (levels) => JSON.parse('{"a":'.repeat(levels) + "1" + "}".repeat(levels));
    const huge = "x".repeat(20 * 1024 * 1024);
    const [first, ...others] = (await ask(call(1, "predict", {...prediction, model: deep(40)}) + call(2, "predict", {...prediction, model: huge}) +
      call(3, "eta", {now: [huge]}) + call(4, "plan", deep(90)) + request("end", "ping"))).sort((a, b) => String(a.id).localeCompare(String(b.id)));
    assert.strictEqual(first.result.isError, true);
    const [second, third, end, tooDeep] = others;
    for (const each of [second, third]) {
      assert.strictEqual(each.result.isError, true);
      assert.ok(each.result.content[0].text.length < 1000);
    }
    assert.deepStrictEqual(end, {jsonrpc: "2.0", id: "end", result: {}});
    assert.strictEqual(codeOf(tooDeep), -32700);
    // A line beyond the limit is not kept, and the next one is read.
    const {code, messages} = await converse(" ".repeat(70 * 1024 * 1024) + "{}\n" + request("end", "ping"));
    assert.strictEqual(code, 0);
    assert.deepStrictEqual(messages.map((each) => [each.id, codeOf(each)]), [[null, -32700], ["end", undefined]]);
    assert.match(messages[0].error.message, /at most 64 MiB/);
  },

  async "cancelled calls are not answered"() {
    const long = {...search, model: "gpt3-175b", gpus: "1024-1520", target: {profile: "h100"}};
    const cancel = (id) => notify("notifications/cancelled", {requestId: id, reason: "test"});
    const begun = Date.now();
    const answers = await ask([...Array(12).keys()].map((i) => call(i, "plan", long)).join("") + [...Array(12).keys()].map(cancel).join("") +
      cancel("no such") + cancel(3) + notify("notifications/cancelled") + notify("notifications/cancelled", {requestId: {}}) + call("after", "predict", prediction));
    assert.deepStrictEqual(answers.map((each) => each.id), ["after"]);
    assert.ok(Date.now() - begun < 60000);
    await withClient(async (client) => {
      const stop = new AbortController();
      const waits = client.callTool({name: "plan", arguments: long}, undefined, {signal: stop.signal});
      stop.abort("test");
      await assert.rejects(waits);
      assert.ok(!(await client.callTool({name: "predict", arguments: prediction})).isError);
    });
  },

  async "calls run beside each other, each with an id of its own"() {
    const answers = await ask([...Array(40).keys()].map((i) => call(i, "predict", {...prediction, plan: {...prediction.plan, global_batch: 64 * (1 + i)}})).join("") +
      call("twice", "plan", search) + call("twice", "plan", search));
    assert.strictEqual(answers.length, 42);
    for (const answer of answers) {
      if (answer.id === "twice") continue;
      assert.strictEqual(answer.result.structuredContent.plan.global_batch, 64 * (1 + answer.id));
    }
    assert.deepStrictEqual(answers.filter((each) => each.id === "twice").map(codeOf).sort(), [-32600, undefined]);
  },

  async "the end of the input ends the process"() {
    assert.deepStrictEqual(await converse(""), {code: 0, log: "", messages: []});
    // A last line without its end is read, and calls under way are answered.
    const {code, log, messages} = await converse((begin() + call(1, "predict", prediction)).trimEnd());
    assert.strictEqual(code, 0);
    assert.strictEqual(log, "");
    assert.deepStrictEqual(messages.map((each) => each.id), ["begin", 1]);
  },
};

(async () => {
  let failures = 0;
  for (const [name, test] of Object.entries(tests)) {
    if (!name.includes(wanted)) continue;
    const begun = Date.now();
    try {
      await test();
      console.log(`ok      ${name} (${Date.now() - begun} ms)`);
    } catch (error) {
      ++failures;
      console.log(`FAILED  ${name}\n${error.stack}`);
    }
  }
  process.exit(failures === 0 ? 0 : 1);
})();
