// What the cluster does now, and the GPUs that are planned for the jobs of now.

let cluster = null;  // the last answer of v1/cluster

const fact = (name, ...children) => element("div", {}, element("dt", {}, name), element("dd", {}, ...children));
const soft = (text) => element("span", {class: "soft"}, text);

function outOfService(nodes) {
  const words = {down: "down", drains: "drains"};
  const out = nodes.filter(({state}) => state !== "up");
  const shown = out.slice(0, 4).map(({name, state}) => element("li", {}, foreign(name), ` ${words[state] ?? state}`));
  if (out.length > 4) shown.push(element("li", {}, `and ${count(out.length - 4)} more`));
  return out.length === 0 ? null : element("ul", {class: "soft"}, ...shown);
}

function showFacts() {
  const {gpus, gpus_in_use: used, gpus_out_of_service: out = 0, nodes = [], jobs, promises, drift} = cluster;
  const atRisk = promises.at_risk ?? [];
  byId("about").replaceChildren("policy ", foreign(cluster.policy), ", placement ", foreign(cluster.placement));
  const facts = [
    fact("GPUs in use", element("strong", {}, count(used)), ` of ${count(gpus)}`, out > 0 ? soft(`, ${count(out)} out of service`) : null, outOfService(nodes)),
    fact("Jobs", element("strong", {}, count(jobs.running)), " running, ", element("strong", {}, count(jobs.waiting)), " waiting"),
    fact("Promises", element("strong", {}, count(promises.open)), " open", soft(`, ${count(promises.kept)} kept, ${count(promises.broken)} broken`)),
    fact("Promises at risk", atRisk.length === 0 ? "none" : element("strong", {class: "bad"}, count(atRisk.length)), ...jobLinks(atRisk)),
  ];
  if (drift?.last) {
    const differences = Object.values(drift.differences ?? {}).reduce((sum, number) => sum + (Number(number) || 0), 0);
    facts.push(fact("Cluster against plan", element("strong", {}, count(differences)), differences === 1 ? " difference at " : " differences at ", time(drift.last, "", {far: false})));
  }
  // Links keep the focus while nothing changes.
  const text = JSON.stringify([used, gpus, out, nodes, jobs, promises, drift]);
  if (byId("facts").dataset.shown === text) return;
  byId("facts").dataset.shown = text;
  document.title = `vtrain: ${count(jobs.running)} running, ${count(jobs.waiting)} waiting`;
  byId("facts").replaceChildren(...facts);
}

function jobLinks(ids) {
  const most = 5;
  const links = ids.slice(0, most).map((id) => element("a", {href: `#job=${encodeURIComponent(id)}`}, `job\u00a0${id}`));
  return links.flatMap((link) => [" ", link]).concat(ids.length > most ? [` and ${count(ids.length - most)} more`] : []);
}

// Types of the form's list, with the choice kept.
function showTypes() {
  const select = byId("gpu_type");
  const types = [...new Set((cluster.nodes ?? []).map(({gpu_type: type}) => type).filter(Boolean))].sort();
  const former = [...select.options].slice(1).map(({value}) => value);
  if (types.join("\n") === former.join("\n")) return;
  const chosen = select.value;
  select.replaceChildren(element("option", {value: ""}, "any"), ...types.map((type) => element("option", {value: type}, type)));
  select.value = types.includes(chosen) ? chosen : "";
}

// ---- the picture --------------------------------------------------------------------------------------------------

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const picture = {plot: null, shown: "", at: [], planned: []};

// Ticks at times of the day in UTC, with the date at the first one and at midnight.
function timeLabels(plot, ticks) {
  let date = "";
  return ticks.map((tick) => {
    const at = new Date(tick * 1000);
    const day = `${at.getUTCDate()}\u00a0${months[at.getUTCMonth()]}`;
    const midnight = at.getUTCHours() === 0 && at.getUTCMinutes() === 0;
    const clock = `${twoDigits(at.getUTCHours())}:${twoDigits(at.getUTCMinutes())}`;
    const isNew = day !== date;
    date = day;
    if (midnight && ticks.length > 1 && ticks[1] - ticks[0] >= 86400) return date;
    return isNew ? `${clock}\n${day}` : clock;
  });
}


// Of a span of the plan: `28 Nov 17:30 to 29 Nov 02:00: 64 GPUs`.
function spanText(index) {
  const {at, planned} = picture;
  const end = at[index + 1];
  const when = end == null ? `from ${instantOf(at[index] * 1000)}` : `${instantOf(at[index] * 1000)} to ${instantOf(end * 1000)}`;
  return `${when}: ${gpusText(planned[index])} planned`;
}

function pictureData() {
  const {at, planned} = picture;
  const inService = cluster.gpus - (cluster.gpus_out_of_service ?? 0);
  return [at, planned, at.map(() => inService)];
}

function drawPicture() {
  const place = byId("gpus-chart");
  picture.plot?.destroy();
  byId("gpus-pointed").textContent = "";
  picture.plot = null;
  place.hidden = picture.at.length < 2;
  if (place.hidden) return;
  const font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const axis = {stroke: css("--soft"), font, grid: {stroke: css("--grid"), width: 1}, ticks: {stroke: css("--grid"), width: 1, size: 5}};
  picture.plot = new uPlot({
    width: place.clientWidth || 300, height: 240, legend: {show: false}, padding: [10, 18, 0, 0],
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    cursor: {points: {show: false}, focus: {prox: -1}, drag: {x: false, y: false}},
    scales: {y: {range: () => [0, Math.max(1, cluster.gpus)]}},
    axes: [{...axis, size: 44, space: 70, values: timeLabels}, {...axis, size: 52, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5], values: (plot, ticks) => ticks.map(count)}],
    series: [{}, {stroke: css("--line-gpus"), fill: css("--fill-gpus"), width: 2, points: {show: false}, paths: uPlot.paths.stepped({align: 1})},
      {stroke: css("--soft"), width: 1.5, dash: [6, 4], points: {show: false}}],
    hooks: {setCursor: [showPointed]},
  }, pictureData(), place);
}

function showPointed(plot) {
  const {left, idx} = plot.cursor;
  const text = left == null || left < 0 || idx == null || idx >= picture.at.length ? "" : spanText(idx > 0 && picture.at[idx] > plot.posToVal(left, "x") ? idx - 1 : idx);
  if (byId("gpus-pointed").textContent !== text) byId("gpus-pointed").textContent = text;
}

function showNumbers() {
  const rows = picture.at.map((at, i) => element("tr", {}, element("th", {scope: "row"}, instantOf(at * 1000)), element("td", {}, count(picture.planned[i]))));
  const most = 500;
  byId("gpus-numbers").querySelector("div").replaceChildren(
    element("table", {class: "numbers"}, element("thead", {}, element("tr", {}, element("th", {scope: "col"}, "From"), element("th", {scope: "col"}, "GPUs planned"))),
      element("tbody", {}, ...rows.slice(0, most))),
    rows.length > most ? element("p", {class: "help"}, `and ${count(rows.length - most)} more`) : "");
}

function showPicture() {
  const steps = cluster.gpus_over_time ?? [];
  const text = JSON.stringify([steps, cluster.gpus, cluster.gpus_out_of_service]);
  if (picture.shown === text) return;
  picture.shown = text;
  picture.at = steps.map(({time: at}) => Date.parse(at) / 1000);
  picture.planned = steps.map(({planned_gpus: gpus}) => gpus);
  const isEmpty = steps.length < 2;
  byId("gpus-caption").textContent = isEmpty ? "Nothing is planned: no job runs or waits." :
    "GPUs planned for the jobs of now, if no other job comes. Dashed: GPUs in service.";
  byId("gpus-numbers").hidden = isEmpty;
  // The plan begins now, so it changes often; a picture that stays keeps what is pointed at.
  if (picture.plot && !isEmpty) picture.plot.setData(pictureData());
  else drawPicture();
  if (byId("gpus-numbers").open) showNumbers();
}

function pressInPicture(event) {
  const {plot, at} = picture;
  const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
  if (!plot || !step) return;
  event.preventDefault();
  const last = at.length - 1;
  const from = plot.cursor.left < 0 ? (step > 0 ? -1 : last + 1) : plot.cursor.idx ?? 0;
  const index = Math.min(last, Math.max(0, from + step));
  plot.setCursor({left: plot.valToPos(at[index], "x") + 0.01, top: 10});
}

function startPicture() {
  const place = byId("gpus-chart");
  place.addEventListener("keydown", pressInPicture);
  place.addEventListener("blur", () => picture.plot?.setCursor({left: -10, top: -10}));
  byId("gpus-numbers").addEventListener("toggle", showNumbers);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (cluster) drawPicture(); });
  new ResizeObserver(() => {
    const {plot} = picture;
    if (plot && place.clientWidth > 0 && plot.width !== place.clientWidth) plot.setSize({width: place.clientWidth, height: plot.height});
  }).observe(place);
}

function showCluster(answer) {
  cluster = answer;
  serverAhead = Date.parse(answer.now) - Date.now() || 0;
  showFacts();
  showTypes();
  showPicture();
}
