// Tables of jobs by state, one page of each at a time.

const pageSize = 50;
const atRisk = (job) => (cluster?.promises.at_risk ?? []).includes(job.id);

function jobName(job) {
  return [element("a", {class: "name", href: `#job=${encodeURIComponent(job.id)}`}, foreign(job.name)), soft(` job\u00a0${job.id}`)];
}

const whole = (...parts) => element("span", {class: "whole"}, ...parts);

function gpusOf(job) {
  const kind = job.elastic ? "elastic" : "rigid";
  if (!(job.held_gpus > 0)) return [whole(count(job.gpus), soft(` ${kind}`))];
  return [whole(count(job.held_gpus), soft(job.held_gpus === job.gpus ? ` ${kind}` : ` of ${count(job.gpus)} asked`))];
}

function progressOf(job) {
  const part = Math.min(1, Math.max(0, job.progress ?? 0));
  return [whole(element("progress", {max: 1, value: part, "aria-label": "progress"}), ` ${Math.floor(part * 100)}\u00a0%`)];
}

// What the job was promised, and whether that holds.
function promiseOf(job) {
  if (job.deadline == null) return [soft("best effort")];
  const cell = [time(job.deadline)];
  if (!job.promised) cell.push(soft(", not promised"));
  if (atRisk(job)) cell.push(" ", element("span", {class: "mark bad"}, "at risk"));
  return cell;
}

// How an end compares with the deadline.
function keptOf(job) {
  if (job.deadline == null) return [soft("no deadline")];
  const late = (Date.parse(job.ended) - Date.parse(job.deadline)) / 1000;
  if (job.state !== "completed") return [time(job.deadline, "", {far: false})];
  return late > 0 ? [element("span", {class: "mark bad"}, `${duration(late)} late`)] : [element("span", {class: "mark good"}, "in time")];
}

function refusalOf(job) {
  const cell = [told(job.reason ?? "refused")];
  if (job.earliest_deadline) cell.push(element("span", {class: "line soft"}, "Earliest deadline: ", time(job.earliest_deadline)));
  return cell;
}

const columns = {
  job: ["Job", jobName], tenant: ["Tenant", (job) => [job.tenant ? foreign(job.tenant) : soft("none")]], model: ["Model", (job) => [foreign(job.model)]],
  gpus: ["GPUs", gpusOf], progress: ["Progress", progressOf], promise: ["Promised by", promiseOf], kept: ["Deadline", keptOf], reason: ["Reason", refusalOf],
  started: ["Started", (job) => [time(job.started, "never", {far: false})]], submitted: ["Submitted", (job) => [time(job.submitted, "", {far: false})]], ended: ["Ended", (job) => [time(job.ended, "", {far: false})]],
  runTime: ["Run time", (job) => [job.run_time_s == null ? soft("unknown") : duration(job.run_time_s)]],
  wished: ["Deadline asked", (job) => [time(job.deadline, "none")]],
};
const ended = ["job", "tenant", "model", "gpus", "started", "ended", "kept"];
const lists = {
  running: {title: "Running", columns: ["job", "tenant", "model", "gpus", "progress", "started", "promise"], none: "No job runs."},
  waiting: {title: "Waiting", columns: ["job", "tenant", "model", "gpus", "runTime", "submitted", "promise"], none: "No job waits."},
  refused: {title: "Refused", columns: ["job", "tenant", "model", "gpus", "submitted", "wished", "reason"], none: "No job was refused."},
  completed: {title: "Completed", columns: ended, none: "No job is completed."},
  failed: {title: "Failed", columns: ended, none: "No job failed."},
  cancelled: {title: "Cancelled", columns: ended, none: "No job was cancelled."},
};
const views = {queue: ["Queue", ["running", "waiting"]], refused: ["Refused", ["refused"]], ended: ["Ended", ["completed", "failed", "cancelled"]]};
let view = "queue";

// A table of the jobs in one state. The page that is shown begins at the last of `cursors`; the first page has none.
class JobList {
  constructor(state) {
    Object.assign(this, {state, cursors: [null], next: null, rows: new Map()}, lists[state]);
    this.note = element("p", {class: "help"});
    this.body = element("tbody", {role: "rowgroup"});
    // Roles, since on narrow screens the parts of the table are no longer laid out as one.
    const heads = this.columns.map((column) => element("th", {scope: "col", role: "columnheader"}, columns[column][0]));
    this.title = element("h3", {tabindex: "-1", id: `list-${state}`}, lists[state].title);
    this.table = element("table", {role: "table", class: "jobs", "aria-labelledby": this.title.id},
      element("thead", {role: "rowgroup"}, element("tr", {role: "row"}, ...heads)), this.body);
    this.newer = this.button("Newer", () => this.cursors.pop());
    this.older = this.button("Older", () => this.cursors.push(this.next));
    this.pages = element("p", {class: "pages"}, this.newer, this.older);
    this.place = element("section", {"aria-labelledby": this.title.id}, this.title, this.note, this.table, this.pages);
  }

  button(text, turn) {
    const button = element("button", {type: "button"}, text);
    button.addEventListener("click", async () => {
      if (button.getAttribute("aria-disabled") === "true") return;
      turn();
      await refresh();
      this.title.focus();
    });
    return button;
  }

  async load() {
    const cursor = this.cursors.at(-1);
    const query = new URLSearchParams({state: this.state, limit: pageSize, ...(cursor == null ? {} : {cursor})});
    try {
      const answer = await ask("GET", `v1/jobs?${query}`);
      if (cursor === this.cursors.at(-1)) this.show(answer);
    } catch (problem) {
      if (problem.status !== 400 || cursor == null) throw problem;
      this.cursors = [null];  // a cursor that the service no longer knows
    }
  }

  show({jobs, next}) {
    this.next = next ?? null;
    const isFirst = this.cursors.length === 1;
    this.note.textContent = jobs.length > 0 ? "" : isFirst ? this.none : "There are no older ones.";
    this.note.hidden = jobs.length > 0;
    this.table.hidden = jobs.length === 0;
    this.pages.hidden = isFirst && this.next == null;
    this.newer.setAttribute("aria-disabled", String(isFirst));
    this.older.setAttribute("aria-disabled", String(this.next == null));
    const wanted = new Set(jobs.map(({id}) => id));
    for (const [id, {row}] of this.rows) {
      if (wanted.has(id)) continue;
      if (row.contains(document.activeElement)) this.title.focus({preventScroll: true});
      row.remove();
      this.rows.delete(id);
    }
    // Rows that stay are not moved, so that they keep the focus.
    jobs.forEach((job, place) => {
      const {row} = this.rows.get(job.id) ?? this.addRow(job);
      if (this.body.children[place] !== row) this.body.insertBefore(row, this.body.children[place] ?? null);
      this.fill(job);
    });
  }

  addRow(job) {
    const cells = this.columns.map((column, i) => element(i === 0 ? "th" : "td", {role: i === 0 ? "rowheader" : "cell", scope: i === 0 ? "row" : null, "data-label": columns[column][0]}));
    const entry = {row: element("tr", {role: "row"}, ...cells), cells, shown: []};
    this.rows.set(job.id, entry);
    return entry;
  }

  // Changes the cells whose text changes.
  fill(job) {
    const {cells, shown} = this.rows.get(job.id);
    this.columns.forEach((column, i) => {
      const content = element("div", {}, ...columns[column][1](job));
      const text = content.textContent + (column === "progress" ? job.progress : "");
      if (shown[i] === text) return;
      shown[i] = text;
      cells[i].replaceChildren(content);
    });
  }
}

let shownLists = [];

function showView(name) {
  view = name;
  for (const link of byId("views").children) link.setAttribute("aria-current", String(link.dataset.view === name));
  shownLists = views[name][1].map((state) => new JobList(state));
  byId("lists").replaceChildren(...shownLists.map(({place}) => place));
  for (const list of shownLists) list.show({jobs: [], next: null});
  for (const list of shownLists) list.note.textContent = "Loading …";
}

function startViews() {
  byId("views").replaceChildren(...Object.entries(views).map(([name, [title]]) => element("a", {href: `#${name}`, "data-view": name}, title)));
}
