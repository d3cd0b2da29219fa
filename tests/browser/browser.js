"use strict";
// What the tests of pages share: a headless Chromium, where there is one, and a list of checks that use it.
const fs = require("node:fs");
const path = require("node:path");

const [program, modules, chromium, wanted = ""] = process.argv.slice(2);
if (!chromium || !fs.existsSync(chromium) || !fs.existsSync(path.join(modules, "playwright-core"))) {
  console.log("skipped: no Chromium, or the packages that drive it were not fetched");
  process.exit(77);  // ctest's sign for "skipped"
}
const playwright = require(path.resolve(modules, "playwright-core"));
exports.program = path.resolve(program);
const axeSource = fs.readFileSync(path.resolve(modules, "axe-core", "axe.min.js"), "utf8");

// What hinders assistive technology on a page as it is.
exports.violations = async (page) => {
  await page.evaluate(axeSource);
  const found = await page.evaluate(() => window.axe.run(document, {resultTypes: ["violations"]}));
  return found.violations.map(({id, nodes}) => `${id}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 120)).join(" | ")}`);
};

// Does all checks whose name has the wanted part, with `exports.browser`, and ends the process.
exports.runChecks = async (checks, {begin, end}) => {
  let failures = 0;
  try {
    try {
      exports.browser = await playwright.chromium.launch({executablePath: chromium, args: ["--no-sandbox"]});
    } catch (error) {
      console.log(`skipped: Chromium does not start here: ${error.message.split("\n")[0]}`);
      process.exitCode = 77;
      return;
    }
    await begin();
    for (const [name, check] of Object.entries(checks).filter(([each]) => each.includes(wanted))) {
      const start = Date.now();
      try {
        await check();
        console.log(`ok    ${name} (${Date.now() - start} ms)`);
      } catch (error) {
        ++failures;
        console.log(`FAILS ${name}: ${error.message.slice(0, 1000)}`);
      }
      for (const context of exports.browser.contexts()) await context.close();
    }
  } finally {
    await exports.browser?.close();
    await end();
  }
  process.exit(failures === 0 ? 0 : 1);
};
