// The form: whether a job can be admitted, what would be a yes, and its submission.

const form = byId("ask");
const answerPlace = byId("answer");
let isAsking = false;
let last = {body: "", key: ""};  // a submission without an answer is repeated under its key

const numberFields = ["gpus", "global_batch"];
const textFields = ["model", "tokens", "deadline", "name", "tenant", "gpu_type"];

function requestOf() {
  const request = {};
  for (const name of textFields) {
    const value = form.elements[name].value.trim();
    if (value) request[name] = value;
  }
  for (const name of numberFields) {
    if (form.elements[name].value !== "") request[name] = Number(form.elements[name].value);
  }
  if (form.elements.rigid.checked) request.rigid = true;
  return request;
}

// Random, also where the page came without TLS and crypto.randomUUID is absent.
const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

function clearErrors() {
  for (const input of form.querySelectorAll("[aria-invalid]")) {
    input.removeAttribute("aria-invalid");
    const described = (input.getAttribute("aria-describedby") ?? "").split(" ").filter((id) => id && id !== `${input.id}-error`);
    described.length > 0 ? input.setAttribute("aria-describedby", described.join(" ")) : input.removeAttribute("aria-describedby");
  }
  for (const error of form.querySelectorAll(".error")) error.remove();
}

// An error at its field, `--gpu-type` or `gpu_type`, where the form has it.
function showError(problem) {
  const name = (problem.field ?? "").replace(/^-+/, "").replaceAll("-", "_");
  const input = textFields.concat(numberFields, "rigid").includes(name) ? form.elements[name] : null;
  if (input == null) {
    const heads = {0: "No answer", 403: "Not allowed", 429: "Too many requests", 503: "The service is busy"};
    const what = problem.status === 0 ? "The service does not answer. Nothing is lost: try again, and a job that came through is not submitted twice." : sentence(problem.message);
    showAnswer("bad", heads[problem.status] ?? "No answer", [problem.field ? `${problem.field}: ` : null, told(what)]);
    return;
  }
  showNote("");
  const error = element("span", {class: "error", id: `${input.id}-error`}, told(sentence(problem.message)));
  input.closest("p").append(error);
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-describedby", [input.getAttribute("aria-describedby"), error.id].filter(Boolean).join(" "));
  input.focus();
}

// ---- answers ------------------------------------------------------------------------------------------------------

// The place of answers stays where it is, unseen while it is empty, since assistive technology reads what changes in places that it knows.
// An answer begins with its word, in the line of its first sentence. Kind: good, bad, or none for a note.
function showAnswer(kind, word, first, parts = []) {
  byId("answer-panel").className = `panel ${kind}`;
  answerPlace.replaceChildren(element("div", {class: `answer ${kind}`}, element("p", {}, element("strong", {class: "verdict"}, `${word}:`), " ", ...first), ...parts));
}

function showNote(text) {
  byId("answer-panel").className = text === "" ? "unseen" : "panel";
  answerPlace.replaceChildren(...(text === "" ? [] : [element("p", {class: "help"}, text)]));
}

// Seconds after the instant of the answer, as a time.
const inSeconds = (seconds) => (seconds == null ? "never" : time(new Date(now() + seconds * 1000).toISOString()));

function displacedText(displaced) {
  if (displaced.length === 0) return "none";
  const shown = displaced.slice(0, 5).map(({job, later_by_s: by, misses_deadline: misses}) => element("li", {}, foreign(job), by == null ? ": never done" : ` by ${duration(by)}`, misses ? ", misses its deadline" : null));
  if (displaced.length > 5) shown.push(element("li", {}, `and ${count(displaced.length - 5)} more`));
  return element("ul", {}, ...shown);
}

function segmentsText(segments) {
  const shown = segments.slice(0, 4).map(({begin_s: begin, end_s: end, num_gpus: gpus, gpu_type: type}) => element("li", {}, gpusText(gpus), type ? element("span", {}, " ", foreign(type)) : null, ` for ${duration(end - begin)}`));
  if (segments.length > 4) shown.push(element("li", {}, `and ${count(segments.length - 4)} more changes`));
  return element("ul", {}, ...shown);
}

function assumptionsOf(answer) {
  if (!answer.assumptions?.length) return null;
  return element("details", {}, element("summary", {}, "Assumed"), element("ul", {}, ...answer.assumptions.map((text) => element("li", {}, told(text)))));
}

function showYes(answer) {
  const {end_interval_s: interval, probability_in_time: probability} = answer;
  const facts = [["Starts", inSeconds(answer.start_s)], ["Ends", inSeconds(answer.end_s)]];
  if (interval) facts.push(["Nine in ten", element("span", {}, "between ", inSeconds(interval.low), " and ", inSeconds(interval.high))]);
  if (probability != null && answer.deadline_s != null) facts.push(["In time", `${Math.floor(probability * 100)}\u00a0% of the simulations with errors of the predictor`]);
  if (answer.gpus_over_time?.length) facts.push(["Holds", segmentsText(answer.gpus_over_time)]);
  facts.push(["Jobs done later", displacedText(answer.displaced ?? [])]);
  showAnswer("good", "Yes", [told(withoutWord(answer.sentence, "yes"))], [dataList(facts), assumptionsOf(answer)]);
}

// What follows `no: `.
const withoutWord = (text, word) => String(text ?? "").replace(new RegExp(`^${word}[:,] *`, "i"), "");

const changeWords = {deadline: "deadline", tokens: "tokens", gpus: "GPUs", "gpu-type": "GPU type"};
const fieldOfOption = {"--deadline": "deadline", "--tokens": "tokens", "--gpus": "gpus", "--gpu-type": "gpu_type"};

// What would be a yes: each with a button that puts it into the form and checks it.
function changesTable(changes) {
  if (changes.length === 0) return element("p", {}, "Nothing that was tried would be a yes.");
  const rows = changes.map((change) => {
    const [option, value = ""] = change.option.split(" ");
    const what = change.change === "deadline" && change.earliest_deadline_s != null ? `deadline in ${duration(change.earliest_deadline_s)}` : `${changeWords[change.change] ?? change.change} ${value}`;
    const field = fieldOfOption[option];
    const button = field && element("button", {type: "button", "aria-label": `Use ${what}`}, "Use");
    button?.addEventListener("click", () => {
      form.elements[field].value = value;
      form.elements[field].focus();
      if (form.reportValidity()) check();
    });
    const cells = [["Yes with", element("th", {scope: "row", role: "rowheader"}, what)], ["Ends", element("td", {role: "cell"}, inSeconds(change.end_s))],
      ["Jobs done later", element("td", {role: "cell"}, count(change.displaced))], ["", element("td", {role: "cell"}, button)]];
    for (const [label, cell] of cells) if (label) cell.setAttribute("data-label", label);
    return element("tr", {role: "row"}, ...cells.map(([, cell]) => cell));
  });
  const head = ["Yes with", "Ends", "Jobs done later"].map((text) => element("th", {scope: "col", role: "columnheader"}, text));
  return element("table", {role: "table", class: "jobs changes", "aria-label": "What would be a yes"},
    element("thead", {role: "rowgroup"}, element("tr", {role: "row"}, ...head, element("td", {role: "cell"}))), element("tbody", {role: "rowgroup"}, ...rows));
}

function showNo(answer) {
  showAnswer("bad", "No", [told(withoutWord(answer.sentence, "no"))], [changesTable(answer.changes ?? []), assumptionsOf(answer)]);
}

function showSubmitted(job) {
  const link = element("a", {href: `#job=${encodeURIComponent(job.id)}`}, `job\u00a0${job.id}`);
  const promise = job.promised && job.deadline != null ? element("p", {}, "Promised to be done by ", time(job.deadline), ".") : element("p", {}, "It has no promise.");
  showAnswer("good", "Admitted", [foreign(job.name), " is ", link, `; it ${stateWords[job.state] ?? job.state}.`], [promise]);
}

function showRefused(job, answer) {
  const link = element("a", {href: `#job=${encodeURIComponent(job.id)}`}, `job\u00a0${job.id}`);
  const parts = [];
  if (job.earliest_deadline && answer == null) parts.push(element("p", {}, "Earliest deadline: ", time(job.earliest_deadline), "."));
  if (answer?.answer === "no") parts.push(changesTable(answer.changes ?? []));
  showAnswer("bad", "Refused", [told(job.reason ?? "no reason is given"), " (", link, ")"], parts);
}

// ---- questions ----------------------------------------------------------------------------------------------------

const dryRun = (request) => ask("POST", "v1/jobs", {body: JSON.stringify({...request, dry_run: true})});

async function whileAsking(text, work) {
  if (isAsking) return;
  isAsking = true;
  clearErrors();
  for (const button of form.querySelectorAll("button")) button.setAttribute("aria-disabled", "true");
  showNote(text);
  try {
    await work();
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    if (problem.status === 401) {
      showNote("");
      askForToken(problem);
    } else {
      showError(problem);
    }
  } finally {
    isAsking = false;
    for (const button of form.querySelectorAll("button")) button.removeAttribute("aria-disabled");
  }
}

const check = () => whileAsking("Checking …", async () => {
  const answer = await dryRun(requestOf());
  answer.answer === "yes" ? showYes(answer) : showNo(answer);
});

const submit = () => whileAsking("Submitting …", async () => {
  const request = requestOf();
  const body = JSON.stringify(request);
  if (last.body !== body) last = {body, key: newKey()};
  let job;
  try {
    job = await ask("POST", "v1/jobs", {body, key: last.key});
  } catch (problem) {
    // What was turned down as such may be sent anew; otherwise nobody knows whether it came through.
    if (problem.status >= 400 && problem.status < 500) last = {body: "", key: ""};
    throw problem;
  }
  last = {body: "", key: ""};
  if (job.state === "refused") {
    showRefused(job, null);
    refresh();
    if (request.deadline) showRefused(job, await dryRun(request).catch(() => null));
    return;
  }
  showSubmitted(job);
  refresh();
});

function startForm() {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    event.submitter?.value === "submit" ? submit() : check();
  });
}
