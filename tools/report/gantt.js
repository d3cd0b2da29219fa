"use strict";
// The Gantt chart: one bar for each piece of a segment, in rows of nodes or of tenants. charts.js comes before.

function addGantt() {
  const gantt = data.gantt;
  if (!gantt) return;
  const tenantOf = (job) => gantt.tenants[gantt.jobs[job][1]] ?? "no tenant";
  const modelOf = (job) => gantt.models[gantt.jobs[job][2]] ?? "";
  const kindOf = (job, policy) => (gantt.jobs[job][5] == null ? "plain" : gantt.met[policy][job] === "1" ? "met" : "missed");
  const fills = () => ({plain: css("--plain"), met: css("--met"), missed: hatched(css("--missed"), 1, faint(css("--panel"), 0.45))});
  const drawnBars = gantt.bars.flat();
  const last = drawnBars.reduce((most, bar) => Math.max(most, bar[2]), 0);
  const first = drawnBars.reduce((least, bar) => Math.min(least, bar[1]), last);
  // Nodes out of service, light and lined, behind the bars of jobs, which a drain leaves on the node.
  const outages = gantt.outages ?? policies.map(() => []);
  const outageNames = ["node failed", "node drained: no new jobs"];
  const outageFills = () => [3, 4].map((kind) => hatched(faint(css("--outage"), 0.16), kind, css("--outage")));

  // ---- layouts: {bars, lanes, rows: [{name, first, count}]} -------------------------------------------------------

  const piecesOf = (segment) => Array.from({length: (segment.length - 3) / 2}, (unused, i) => [segment[3 + 2 * i], segment[4 + 2 * i]]);
  const segmentsOf = (policy) => gantt.bars[policy].map((segment) => (
    {job: segment[0], begin: segment[1], end: segment[2], gpus: piecesOf(segment).reduce((sum, [, lanes]) => sum + lanes, 0)}));

  const nodes = [];
  for (const [number, gpus] of gantt.groups ?? []) {
    for (let i = 0; i < number; ++i) nodes.push({name: `node ${nodes.length}`, first: nodes.length ? nodes[nodes.length - 1].first + nodes[nodes.length - 1].count : 0, count: gpus});
  }
  const byNode = (policy) => ({bars: gantt.bars[policy].flatMap((segment) => piecesOf(segment).map((piece) => [...segment.slice(0, 3), ...piece])), lanes: data.totalGpus, rows: nodes});

  // Appends `wanted` lanes that are free at `begin` to `pieces`: the first gap that holds all, else the lowest ones, else new ones.
  function takeLanes(freeAt, begin, end, wanted) {
    let run = 0, chosen = null;
    for (let lane = 0; lane < freeAt.length && !chosen; ++lane) {
      run = freeAt[lane] <= begin ? run + 1 : 0;
      if (run === wanted) chosen = Array.from({length: wanted}, (unused, i) => lane - wanted + 1 + i);
    }
    if (!chosen) {
      chosen = [...freeAt.keys()].filter((lane) => freeAt[lane] <= begin).slice(0, wanted);
      while (chosen.length < wanted) chosen.push(freeAt.length + wanted - chosen.length - 1);
      chosen.sort((a, b) => a - b);
    }
    const pieces = [];
    for (const lane of chosen) {
      freeAt[lane] = end;
      const piece = pieces[pieces.length - 1];
      if (piece && piece[0] + piece[1] === lane) ++piece[1];
      else pieces.push([lane, 1]);
    }
    for (let lane = 0; lane < freeAt.length; ++lane) freeAt[lane] ??= -Infinity;
    return pieces;
  }

  // A row is as high as the most GPUs that its tenant holds at once. Those with most GPU time come first; few have rows of their own.
  function byTenant(policy) {
    const mostRows = 12;
    const time = new Map(), segments = segmentsOf(policy);
    for (const {job, begin, end, gpus} of segments) time.set(tenantOf(job), (time.get(tenantOf(job)) ?? 0) + (end - begin) * gpus);
    const names = [...time.keys()].sort((a, b) => time.get(b) - time.get(a));
    const own = names.slice(0, names.length > mostRows ? mostRows - 1 : mostRows);
    const others = names.length > own.length ? `${names.length - own.length} others` : null;
    const rowOf = (segment) => (own.includes(tenantOf(segment.job)) ? tenantOf(segment.job) : others);
    const bars = [], rows = [];
    let lanes = 0;
    for (const name of others ? [...own, others] : own) {
      const freeAt = [], first = lanes;
      for (const segment of segments.filter((each) => rowOf(each) === name)) {
        for (const [lane, count] of takeLanes(freeAt, segment.begin, segment.end, segment.gpus)) bars.push([segment.job, segment.begin, segment.end, first + lane, count]);
      }
      lanes += freeAt.length;
      rows.push({name, first, count: freeAt.length});
    }
    return {bars, lanes, rows};
  }

  let shown = gantt.shown, layOut = byNode, view = layOut(shown);

  // ---- drawing ----------------------------------------------------------------------------------------------------

  // Calls `paint` with the corners of what can be seen of each box [begin, end, lane, lanes].
  function eachVisible(plot, boxes, paint) {
    const {left, top, width, height} = plot.bbox, ratio = pixelRatio();
    for (const [begin, end, lane, lanes, box] of boxes) {
      const x0 = plot.valToPos(begin, "x", true), x1 = end == null ? left + width : plot.valToPos(end, "x", true);
      const y0 = plot.valToPos(lane, "y", true), y1 = plot.valToPos(lane + lanes, "y", true);
      if (x1 < left || x0 > left + width || y1 < top || y0 > top + height) continue;
      paint(x0, y0, Math.max(x1 - x0, ratio), y1 - y0, box);
    }
  }

  function drawRows(plot, pen, ratio) {
    const {left, top, width, height} = plot.bbox;
    if (view.rows.length < 2 || height / ratio / view.rows.length < 3) return;
    pen.fillStyle = css("--line");
    for (const row of view.rows) {
      const y = Math.round(plot.valToPos(row.first, "y", true));
      if (y > top && y < top + height) pen.fillRect(left, y, width, ratio);
    }
  }

  function draw(plot) {
    const pen = plot.ctx, {left, top, width, height} = plot.bbox, ratio = pixelRatio();
    const paint = fills(), paintOutage = outageFills(), ground = css("--panel"), ink = css("--on-bar");
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width, height);
    pen.clip();
    pen.font = `${11 * ratio}px ${fontFamily()}`;
    pen.textBaseline = "middle";
    pen.textAlign = "left";
    if (layOut === byNode) {
      eachVisible(plot, outages[shown].map(([, begin, end, kind, lane, lanes]) => [begin, end, lane, lanes, kind]), (x, y, w, h, kind) => {
        pen.fillStyle = paintOutage[kind];
        pen.fillRect(x, y, w, h);
      });
    }
    drawRows(plot, pen, ratio);
    eachVisible(plot, view.bars.map(([job, begin, end, lane, lanes]) => [begin, end, lane, lanes, job]), (x, y, w, h, job) => {
      pen.fillStyle = paint[kindOf(job, shown)];
      pen.fillRect(x, y, w, h);
      if (w > 3 * ratio && h > 2 * ratio) {
        pen.strokeStyle = ground;
        pen.lineWidth = ratio;
        pen.strokeRect(x, y, w, h);
      }
      const from = Math.max(x, left), room = Math.min(x + w, left + width) - from;
      if (h < 13 * ratio || room < 24 * ratio) return;
      const name = gantt.jobs[job][0], size = pen.measureText(name).width;
      if (size + 8 * ratio > room) return;
      pen.fillStyle = "rgb(0 0 0 / 45%)";
      pen.fillRect(from + 2 * ratio, y + h / 2 - 7 * ratio, size + 5 * ratio, 14 * ratio);
      pen.fillStyle = ink;
      pen.fillText(name, from + 4 * ratio, y + h / 2);
    });
    pen.restore();
  }

  // ---- tips -------------------------------------------------------------------------------------------------------

  function gpusText(lane, lanes) {
    const range = (thing, from, to) => (from === to ? `${thing}\u00a0${from}` : `${thing}s\u00a0${from}\u2013${to}`);
    const nodeOf = (at) => nodes.findIndex((each) => at >= each.first && at < each.first + each.count);
    const from = nodeOf(lane), to = nodeOf(lane + lanes - 1);
    if (from < 0) return range("GPU", lane, lane + lanes - 1);
    if (from !== to) return range("node", from, to);
    return `node\u00a0${from}, ${range("GPU", lane - nodes[from].first, lane + lanes - 1 - nodes[from].first)}`;
  }

  function describe(plot) {
    const x = plot.posToVal(plot.cursor.left, "x"), y = plot.posToVal(plot.cursor.top, "y");
    const bar = view.bars.find(([, begin, end, lane, lanes]) => x >= begin && x < end && y >= lane && y < lane + lanes);
    if (!bar) return layOut === byNode ? describeOutage(x, y) : null;
    const [job, begin, end, lane, lanes] = bar;
    const [name, , , gpus, submit, deadline] = gantt.jobs[job];
    const rows = [[null, "holds GPUs", duration(end - begin)], [null, "from", instant(begin)], [null, "to", instant(end)], [null, "requested", countOf(gpus, "GPU")],
      [null, "here", layOut === byNode ? gpusText(lane, lanes) : countOf(lanes, "GPU")], [null, "submitted", instant(submit)]];
    if (deadline != null) rows.push([null, kindOf(job, shown) === "met" ? "met deadline" : "missed deadline", instant(deadline)]);
    if (gantt.jobs[job][1] >= 0) rows.push([null, "tenant", tenantOf(job)]);
    if (modelOf(job)) rows.push([null, "model", modelOf(job)]);
    return {title: name, rows};
  }

  function describeOutage(x, y) {
    const outage = outages[shown].find(([, begin, end, , lane, lanes]) => x >= begin && x < (end ?? Infinity) && y >= lane && y < lane + lanes);
    if (!outage) return null;
    const [node, begin, end, kind] = outage;
    return {title: `Node ${node}`, rows: [[null, "out of service", ["failure", "drain"][kind]], [null, "from", instant(begin)],
      [null, "to", end == null ? "not back" : instant(end)], ...(end == null ? [] : [[null, "for", duration(end - begin)]])]};
  }

  // ---- axes -------------------------------------------------------------------------------------------------------

  // Names of rows at the middles of what is seen of them, as many as have room.
  function rowAxis(width) {
    const most = width < 480 ? 9 : 16;
    const cut = (name) => (name.length > most ? name.slice(0, most - 1) + "\u2026" : name);
    const named = () => view.rows.map((row) => cut(row.name));
    const inWindow = (low, high) => view.rows.map((row, index) => ({index, from: Math.max(row.first, low), to: Math.min(row.first + row.count, high)})).filter(({from, to}) => to > from);
    let splits = [];
    return axis({
      grid: {show: false}, ticks: {show: false}, gap: 4, size: 18 + 6.6 * Math.max(...named().map((name) => name.length)),
      splits: (plot, index, low, high) => {
        const lane = (high - low) / (plot.bbox.height / pixelRatio());  // lanes a pixel
        splits = [];
        for (const {index: row, from, to} of inWindow(low, high)) {
          const at = (from + to) / 2;
          if (!splits.length || at - splits[splits.length - 1].at >= 15 * lane) splits.push({at, row});
        }
        return splits.map(({at}) => at);
      },
      values: () => splits.map(({row}) => named()[row]),
    });
  }
  const gpuAxis = () => axis({label: "GPU", size: 58, space: 24, incrs: [1, 2, 4].concat([1, 2, 4, 8, 16, 32, 64, 128, 256, 512].map((power) => power * (data.gpusPerNode || 8))),
    values: (plot, splits) => splits.map(count)});

  // ---- the figure -------------------------------------------------------------------------------------------------

  const place = document.querySelector("#gantt .chart");
  const whole = () => [0, Math.max(1, view.lanes)];
  const figure = addChart("gantt", Math.max(300, Math.min(620, data.totalGpus * 14)), () => ({
    full: {x: [first, last], y: whole()}, sayWindow: instant,
    data: [[first, last], [0, 0]],
    options: {
      // Without `auto` a zoom along x leaves y as it is; there is no series that could say its range.
      scales: {x: {time: false}, y: {dir: -1, auto: false, min: whole()[0], max: whole()[1], range: (plot, low, high) => (low == null ? whole() :
        [Math.max(0, Math.min(low, high)), Math.min(whole()[1], Math.max(low, high))])}},
      axes: [timeAxis(), view.rows.length ? rowAxis(place.clientWidth) : gpuAxis()],
      series: [{}, {auto: false, paths: () => null, points: {show: false}}],
      cursor: {drag: {x: true, y: true, uni: 30}, x: false, y: false, bind: {dblclick: (plot, target, handler) => (event) => {
        handler(event);
        plot.setScale("y", {min: whole()[0], max: whole()[1]});
      }}},
      hooks: {draw: [draw]},
      plugins: [tooltip(describe)],
    },
  }));
  if (!figure) return;
  const chart = charts.find((each) => each.place === place);

  const option = (value, text, isSelected) => element("option", {value, ...(isSelected ? {selected: ""} : {})}, text);
  const select = (label, ...options) => element("select", {"aria-label": label}, ...options);
  const policySelect = select("Policy of the Gantt chart", ...policies.map((name, policy) => option(policy, name, policy === shown)));
  const rowSelect = select("Rows of the Gantt chart", option("node", nodes.length ? "nodes" : "GPUs", true), option("tenant", "tenants", false));
  const note = element("p", {class: "note segments"});
  const fillTable = addTable(figure, () => ({
    head: ["Job", "Tenant", "Model", "GPUs", "From", "To", "Holds GPUs", "Deadline", "Met"],
    body: segmentsOf(shown).map(({job, begin, end, gpus}) => {
      const deadline = gantt.jobs[job][5];
      return [gantt.jobs[job][0], tenantOf(job), modelOf(job) || "-", count(gpus), instant(begin), instant(end), duration(end - begin),
        deadline == null ? "-" : instant(deadline), deadline == null ? "-" : kindOf(job, shown) === "met" ? "yes" : "no"];
    }),
  }));

  function explain() {
    const [drawn, all, ratio] = gantt.segments[shown];
    const texts = [];
    if (layOut === byTenant) texts.push("The row of a tenant is as high as the most GPUs that it holds at once; those with the most GPU time come first.");
    if (drawn < all) texts.push(`Drawn are the ${count(drawn)} segments of ${policies[shown]} with the most GPU time, of ${count(all)}: ${percent(100 * ratio)} of its GPU time.`);
    note.textContent = texts.join(" ");
    note.hidden = texts.length === 0;
  }

  function show() {
    const {min, max} = chart.plot.scales.x;
    shown = Number(policySelect.value);
    layOut = rowSelect.value === "tenant" ? byTenant : byNode;
    view = layOut(shown);
    chart.build();
    setWindow(chart, "x", min, max);
    explain();
    fillTable();
  }
  policySelect.addEventListener("change", show);
  rowSelect.addEventListener("change", show);

  const legend = element("div", {class: "legend"});
  if (policies.length > 1) legend.append(element("label", {}, "Policy ", policySelect));
  if (new Set(gantt.jobs.map((job) => job[1])).size > 1) legend.append(element("label", {}, "Rows ", rowSelect));
  const names = {met: "deadline met", missed: "deadline missed (hatched)", plain: "no deadline"};
  const present = new Set(policies.flatMap((name, policy) => gantt.bars[policy].map(([job]) => kindOf(job, policy))));
  for (const kind of Object.keys(names)) {
    if (present.has(kind)) legend.append(element("span", {class: "swatch"}, swatchOf(() => fills()[kind]), names[kind]));
  }
  outageNames.forEach((name, kind) => {
    if (outages.some((mine) => mine.some((outage) => outage[3] === kind))) legend.append(element("span", {class: "swatch"}, swatchOf(() => outageFills()[kind]), name));
  });
  place.before(legend);
  place.after(note);
  explain();
}
