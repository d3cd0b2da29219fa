// One job, in a dialog: what it asks for, where it stands, when it is forecast to start and end, and why it waits.

let openJob = null;  // id

const stateWords = {waiting: "waits", running: "runs", completed: "completed", failed: "failed", cancelled: "cancelled", refused: "refused"};

// As the form takes them.
const tokensText = (number) => (number >= 1e12 ? `${Number((number / 1e12).toPrecision(12))}T` : number >= 1e9 ? `${Number((number / 1e9).toPrecision(12))}B` : count(number));

function jobFacts(job, eta) {
  const isLive = job.state === "waiting" || job.state === "running";
  const facts = [["State", element("span", {}, stateWords[job.state] ?? job.state, job.state === "running" ? `, ${Math.floor((job.progress ?? 0) * 100)}\u00a0% done` : null)]];
  if (job.reason) facts.push(["Reason", told(job.reason)]);
  if (job.earliest_deadline) facts.push(["Earliest deadline", time(job.earliest_deadline)]);
  facts.push(["Deadline", job.deadline == null ? "none: best effort" : element("span", {}, time(job.deadline), job.state === "refused" ? "" : job.promised ? ", promised" : ", not promised",
    atRisk(job) ? element("span", {class: "mark bad"}, "at risk") : null)]);
  if (isLive && job.forecast) {
    if (job.state === "waiting") facts.push(["Forecast start", time(job.forecast.start, "not within the forecast")]);
    facts.push(["Forecast end", element("span", {}, time(job.forecast.end, "not within the forecast"), job.deadline == null ? "" : job.forecast.in_time ? ", in time" : ", late")]);
  }
  if (eta) {
    const both = ({p50, p90} = {}) => element("span", {}, time(p50), p90 == null ? "" : element("span", {}, "; nine in ten before ", time(p90, "", {far: false})));
    if (job.state === "waiting") facts.push(["Likely start", both(eta.start)]);
    facts.push(["Likely end", both(eta.end)]);
    if (eta.reason && job.state === "waiting") facts.push(["It waits because", told(eta.reason)]);
  }
  facts.push(["Tenant", job.tenant ? foreign(job.tenant) : "none"], ["Model", foreign(job.model)], ["Tokens", tokensText(job.tokens)],
    ["GPUs", element("span", {}, `${count(job.gpus)} requested, ${job.elastic ? "elastic" : "rigid"}`, job.held_gpus > 0 ? `; holds ${count(job.held_gpus)}` : null)]);
  if (job.run_time_s != null) facts.push(["Predicted run time", `${duration(job.run_time_s)} on ${gpusText(job.gpus)}`]);
  if (job.time_limit_s != null) facts.push(["Time limit to set", duration(job.time_limit_s)]);
  facts.push(["Submitted", time(job.submitted)]);
  if (job.started) facts.push(["Started", time(job.started)]);
  if (job.ended) facts.push(["Ended", time(job.ended)]);
  return dataList(facts);
}

// Asks for the job that is open. How likely its times are is simulated, so that is asked once.
async function loadJob() {
  const id = openJob;
  if (id == null) return;
  const entry = loadJob.known?.id === id ? loadJob.known : (loadJob.known = {id, eta: null, asked: false});
  try {
    const job = await ask("GET", `v1/jobs/${encodeURIComponent(id)}`);
    if (openJob !== id) return;
    showJob(job, entry.eta);
    if (entry.asked || (job.state !== "waiting" && job.state !== "running")) return;
    entry.asked = true;
    entry.eta = (await ask("GET", `v1/eta?${new URLSearchParams({job: id})}`)).jobs?.find((each) => each.id === id) ?? null;
    if (openJob === id) showJob(job, entry.eta);
  } catch (problem) {
    if (problem.status === 0 || problem.status === 401 || problem.status >= 500 || problem.status === 429) throw problem;
    if (openJob === id && !entry.asked) byId("job-body").replaceChildren(element("p", {}, problem.status === 404 ? "There is no such job." : sentence(problem.message)));
  }
}

function showJob(job, eta) {
  byId("job-title").replaceChildren(foreign(job.name), soft(` job\u00a0${job.id}`));
  byId("job-body").replaceChildren(jobFacts(job, eta));
}

function showDialog(id) {
  openJob = id;
  const dialog = byId("job");
  if (id == null) {
    if (dialog.open) dialog.close();
    return;
  }
  byId("job-title").textContent = `Job ${id}`;
  byId("job-body").replaceChildren(element("p", {class: "help"}, "Loading …"));
  if (!dialog.open) dialog.showModal();
}

function startDialog() {
  byId("job-close").addEventListener("click", () => byId("job").close());
  byId("job").addEventListener("click", (event) => { if (event.target === byId("job")) byId("job").close(); });
  byId("job").addEventListener("close", () => {
    if (openJob == null) return;
    openJob = null;
    history.replaceState(null, "", `#${view}`);
  });
}
