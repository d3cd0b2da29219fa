"use strict";
// Draws the pictures of the page but the Gantt chart with uPlot from the JSON in #report-data, which chart_data.cpp and trace_charts.cpp
// write. charts.js and gantt.js come before.
(() => {
  // ---- distributions ----------------------------------------------------------------------------------------------

  const roundDurations = [1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 2, 5, 10, 30, minute, 2 * minute, 5 * minute, 10 * minute, 30 * minute, hour, 2 * hour, 4 * hour,
    8 * hour, 12 * hour, day, 2 * day, 4 * day, 7 * day, 14 * day, 30 * day, 60 * day, 120 * day, 365 * day, 730 * day, 3650 * day];

  const tickWidth = 56;

  // Abscissae are log10 of seconds on a linear scale, so that zooming needs nothing special.
  function logSplits(plot, index, low, high) {
    const from = 10 ** low, to = 10 ** high;
    const least = tickWidth / (plot.bbox.width / pixelRatio()) * (high - low);
    const spaced = (values, gap) => {
      const splits = [];
      for (const at of values.map(Math.log10)) {
        if (at >= low - 1e-9 && at <= high + 1e-9 && (!splits.length || at - splits[splits.length - 1] >= gap)) splits.push(at);
      }
      return splits;
    };
    const round = spaced(roundDurations, least);
    if (round.length >= 3) return round;
    // Within few round durations, multiples of one step.
    const wide = least * (timeTickWidth(from, to) / tickWidth);
    const step = timeSteps.find((value) => (to - from) / value <= (high - low) / wide) ?? timeSteps[timeSteps.length - 1];
    const multiples = [];
    for (let number = Math.ceil(from / step - 1e-9); number * step <= to && multiples.length < 20; ++number) multiples.push(Number((number * step).toPrecision(12)));
    const splits = spaced(multiples.filter((value) => value > 0), wide);
    return splits.length >= 2 ? splits : round;
  }

  // One line a name: those of the page's legend, or others that stand for themselves.
  function addDistribution(id, names = policies) {
    const distribution = data[id], ours = names === policies;
    if (!distribution) return;
    const x = distribution.x.map(Math.log10);
    const ends = [x[0], x[x.length - 1]];
    const full = ends[0] === ends[1] ? [ends[0] - 0.5, ends[1] + 0.5] : ends;
    const figure = addChart(id, 300, () => ({
      full: {x: full}, sayWindow: (at) => duration(10 ** at), policyOf: ours ? [null, ...policies.keys()] : [],
      data: [x, ...distribution.percent],
      options: {
        scales: {x: {time: false, range: (plot, low, high) => (low == null || low === high ? full : [low, high])}, y: {range: () => [0, 101]}},
        axes: [axis({size: 32, splits: logSplits, values: (plot, splits) => splits.map((at) => instant(Number((10 ** at).toPrecision(9))))}), percentAxis()],
        series: [{}, ...names.map((name, index) => lineOf(index, {label: name}))],
        cursor: {dataIdx: stepIndex, y: false},
        plugins: [tooltip((plot) => {
          const at = pointedIndex(plot);
          if (at == null) return null;
          return {title: `at most ${duration(distribution.x[at])}`, rows: shownOf(names).map((line) => [ours ? line : null, names[line], percent(distribution.percent[line][at])])};
        })],
      },
    }));
    if (!figure) return;
    if (ours) addLegend(figure);
    if (!figure.querySelector("details")) {
      addTable(figure, () => ({head: ["At most", ...names], body: distribution.x.map((at, index) => [duration(at), ...distribution.percent.map((line) => percent(line[index]))])}));
    }
  }

  // ---- over time --------------------------------------------------------------------------------------------------

  const mostLines = 4;  // of functions of time in one picture; more become small multiples

  // What a function of time varies between within a span, in brackets.
  const spread = ({low, high}, at) => (!low || low[at] === high[at] ? "" : ` (${count(low[at])}\u2013${count(high[at])})`);
  const largestOf = (all) => Math.max(0, ...all.map(({mean, high}) => (high ?? mean).reduce((a, b) => Math.max(a, b), 0)));

  // Options of pictures of `all`, functions of time with `names`: of those that are `drawn`, small or not. `look` is the look of a line that is
  // no policy's.
  function timeLines({x, exact, all, names, label, thing, capacity = 0, most = 0, look = () => ({})}) {
    const ours = names === policies;
    const extend = (values) => [...values, values[values.length - 1]];  // the last span ends at the last x
    const amount = (value) => (thing ? countOf(value, thing) : percent(value));
    const largest = Math.max(thing ? 1 : 0, capacity, most, largestOf(all));

    return (drawn, isSmall) => () => {
      const columns = [x], series = [{}], bands = [], policyOf = [null];
      for (const line of drawn) {
        const bounds = {label: names[line], stroke: "transparent", dash: [], width: 0};
        columns.push(extend(all[line].mean));
        series.push(lineOf(line, {label: names[line], width: exact && !isSmall ? 2 : 1.75, ...(isSmall ? {dash: []} : {}), ...look(line)}));
        policyOf.push(line);
        if (exact) continue;
        columns.push(extend(all[line].high), extend(all[line].low));
        series.push(lineOf(line, bounds), lineOf(line, bounds));
        policyOf.push(line, line);
        bands.push({series: [series.length - 2, series.length - 1], fill: faint(look(line).stroke ?? colourOf(line), drawn.length > 2 ? 0.13 : 0.25)});
      }
      return {full: {x: [x[0], x[x.length - 1]]}, sayWindow: instant, policyOf: ours && !isSmall ? policyOf : [], data: columns, options: {
        scales: {x: {time: false}, y: {range: (plot, low, high) => [0, (isSmall ? largest : Math.max(thing ? 1 : 0, high, capacity)) * 1.04]}},
        axes: [timeAxis(), thing ? countAxis(isSmall ? undefined : label) : percentAxis()], series, bands,
        cursor: {dataIdx: stepIndex, y: false, sync: {key: "time", setSeries: false, scales: ["x", null]}},
        hooks: {draw: [(plot) => drawCapacity(plot, capacity)]},
        plugins: [tooltip((plot) => {
          const pointed = pointedIndex(plot);
          if (pointed == null || (isSmall && !plot.root.parentElement.matches(":hover, :focus"))) return null;
          const at = Math.min(pointed, x.length - 2);
          return {
            title: exact ? `from ${instant(x[at])}` : `${instant(x[at])} to ${instant(x[at + 1])}`,
            rows: shownOf(names).map((line) => [ours ? line : null, names[line], amount(all[line].mean[at]) + spread(all[line], at)]),
          };
        })],
      }};
    };
  }

  // `source` holds one function of time for each name; `thing` is what is counted, or nothing for per cent.
  function addTimeSeries(id, {source = data.time, names = policies, label, thing, capacity = 0}) {
    const figure = document.getElementById(id);
    if (!source?.[id] || !figure) return;
    const {x, exact} = source, all = source[id], ours = names === policies;
    const lines = timeLines({x, exact, all, names, label, thing, capacity});
    if (ours && names.length > mostLines) {
      addMultiples(figure, [...policies.keys()], (policy) => lines([policy], true));
    } else {
      addChart(id, 280, lines([...names.keys()], false), {group: "time"});
    }
    if (ours) addLegend(figure);
    addTable(figure, () => ({
      head: ["From", ...names],
      body: x.slice(0, -1).map((from, at) => [instant(from), ...all.map((line) => (thing ? count(line.mean[at]) : percent(line.mean[at])) + spread(line, at))]),
    }));
  }

  // What policies promised: three lines for each policy that gives promises.
  function addPromises() {
    const figure = document.getElementById("promises"), promises = data.promises;
    if (!promises || !figure) return;
    const {x, exact, policies: mine} = promises, names = ["given", "kept", "broken"];
    const looks = () => [{stroke: css("--soft"), dash: [2, 3]}, {stroke: css("--met"), dash: []}, {stroke: css("--missed"), dash: [9, 4]}];
    const most = largestOf(promises.given);
    const linesOf = (policy, isSmall) => {
      const all = names.map((name) => promises[name][mine.indexOf(policy)]);
      return timeLines({x, exact, all, names, label: "promises", thing: "promise", most, look: (line) => looks()[line]})([0, 1, 2], isSmall);
    };
    if (mine.length > 1) {
      addMultiples(figure, mine, (policy) => linesOf(policy, true), () => []);  // a policy's key would look like a line's
    } else {
      addChart("promises", 280, linesOf(mine[0], false), {group: "time"});
    }
    const key = (name) => {
      const line = keyOf(mine[0]);
      line.firstElementChild.setAttribute("class", `promise-${name}`);
      return line;
    };
    const legend = element("div", {class: "legend"});
    if (mine.length === 1 && policies.length > 1) legend.append(element("span", {class: "swatch"}, `${policies[mine[0]]}:`));
    for (const name of names) legend.append(element("span", {class: "swatch"}, key(name), name));
    figure.querySelector(".chart").after(legend);
    const columns = mine.flatMap((policy, index) => names.map((name) => ({title: mine.length > 1 ? `${policies[policy]}: ${name}` : name, line: promises[name][index]})));
    addTable(figure, () => ({
      head: ["From", ...columns.map(({title}) => title)],
      body: x.slice(0, -1).map((from, at) => [instant(from), ...columns.map(({line}) => count(line.mean[at]) + spread(line, at))]),
    }));
  }

  // What tenants were due and what they held: a small picture for each of some tenants under each policy.
  function addShares() {
    const figure = document.getElementById("shares"), shares = data.shares;
    if (!shares || !figure) return;
    const {x, runs} = shares, names = ["due", "received"];
    const looks = () => [{stroke: css("--soft"), dash: [9, 4]}, {stroke: css("--met"), dash: []}];
    const most = Math.max(...runs.map((run) => largestOf([run.due, run.received])));
    const titleOf = (index) => (policies.length > 1 ? `${policies[runs[index].policy]}: ${runs[index].tenant}` : runs[index].tenant);
    addMultiples(figure, [...runs.keys()], (index) => {
      const all = names.map((name) => runs[index][name]);
      return timeLines({x, exact: true, all, names, label: "GPUs", thing: "GPU", most, look: (line) => looks()[line]})([0, 1], true);
    }, () => [], titleOf, (index) => runs[index].policy);
    const legend = element("div", {class: "legend"});
    for (const name of names) {
      const line = keyOf(0);
      line.firstElementChild.setAttribute("class", `share-${name}`);
      legend.append(element("span", {class: "swatch"}, line, name));
    }
    figure.querySelector(".chart").after(legend);
    addTable(figure, () => ({
      head: ["From", ...runs.flatMap((run, index) => names.map((name) => `${titleOf(index)}: ${name}`))],
      body: x.slice(0, -1).map((from, at) => [instant(from), ...runs.flatMap((run) => names.map((name) => count(run[name].mean[at])))]),
    }));
  }

  // One small picture for each of some policies, with the same axes; `keysOf` a policy stand before its name. Others than policies have a
  // `nameOf` their own, and a `policyOf` with which they are hidden.
  function addMultiples(figure, shown, linesOf, keysOf = (policy) => [keyOf(policy)], nameOf = (policy) => policies[policy], policyOf = (policy) => policy) {
    const place = figure.querySelector(".chart");
    const label = place.getAttribute("aria-label");
    for (const name of ["role", "aria-roledescription", "aria-label", "aria-describedby", "tabindex"]) place.removeAttribute(name);
    place.classList.add("multiples");
    shown.forEach((each) => {
      const name = nameOf(each), policy = policyOf(each);
      const chart = element("div", {class: "chart", tabindex: "0", role: "application", "aria-roledescription": "chart", "aria-label": `${name}: ${label}`, "aria-describedby": "help"});
      const cell = element("div", {class: "cell"}, element("p", {}, ...keysOf(each), name), chart);
      place.append(cell);
      makeChart(chart, 170, linesOf(each), {group: "time", paperWidth: 310, cell, policy});
    });
  }

  function drawCapacity(plot, capacity) {
    if (!capacity) return;
    const pen = plot.ctx, y = plot.valToPos(capacity, "y", true);
    if (y < plot.bbox.top) return;
    pen.save();
    pen.strokeStyle = css("--soft");
    pen.lineWidth = pixelRatio();
    pen.setLineDash([]);
    pen.beginPath();
    pen.moveTo(plot.bbox.left, y);
    pen.lineTo(plot.bbox.left + plot.bbox.width, y);
    pen.stroke();
    pen.restore();
  }

  // ---- bars -------------------------------------------------------------------------------------------------------

  // Bars of one policy are hatched alike in every group; the legend shows the same swatch.
  const barFill = (policy) => hatched(colourOf(policy), policies.length > 1 ? policy % 5 : 0, css("--panel"));

  // `1 GPU`, `3-4 GPUs`, `7 h`.
  const countedLabel = (label, unit) => `${label}\u00a0${label === "1" ? unit.replace(/s$/, "") : unit}`;

  // Groups of bars, one bar a policy: `share` in per cent, with `most` the top of the axis.
  function addBars(id, {unit = "", share, most, title, amount}) {
    const groups = data[id];
    if (!groups) return;
    const width = 0.8 / policies.length;
    const columns = [[...groups.labels.keys()], ...policies.map((name, policy) => groups.labels.map((label, group) => share(policy, group)))];
    const cut = (label, room) => (label.length > room ? label.slice(0, room - 1) + "\u2026" : label);
    const longest = Math.max(...groups.labels.map((label) => label.length));
    const figure = addChart(id, 290, () => ({
      policyOf: [null, ...policies.keys()],
      data: columns,
      options: {
        scales: {x: {time: false, range: () => [-0.5, groups.labels.length - 0.5]}, y: {range: [0, most]}},
        axes: [axis({
          ...(unit ? {label: unit} : {}), grid: {show: false}, space: 1, splits: () => columns[0],
          rotate: longest > 6 ? 35 : 0, size: longest > 6 ? 74 : 34,
          values: (plot, splits) => splits.map((group) => cut(groups.labels[group] ?? "", 13)),
        }), percentAxis()],
        series: [{}, ...policies.map((name, policy) => ({
          label: name, fill: barFill(policy), stroke: colourOf(policy), width: 1, points: {show: false},
          paths: uPlot.paths.bars({disp: {
            x0: {unit: 1, values: () => columns[0].map((group) => group - 0.4 + (policy + 0.04) * width)},
            size: {unit: 1, values: () => [width * 0.92]},
          }}),
        }))],
        cursor: {y: false, x: false, drag: {x: false, y: false}},
        plugins: [tooltip((plot) => {
          const group = Math.round(plot.posToVal(plot.cursor.left, "x"));
          if (!(group in groups.labels)) return null;
          return {
            title: `${unit ? countedLabel(groups.labels[group], unit) : groups.labels[group]}${title(group)}`,
            rows: visible().map((policy) => [policy, policies[policy], `${percent(share(policy, group))} (${count(amount(policy, group))})`]),
          };
        })],
      },
    }));
    if (!figure) return;
    addLegend(figure, (policy) => swatchOf(() => barFill(policy)));
    if (figure.querySelector("details")) return;
    addTable(figure, () => ({
      head: [unit || "Group", ...policies],
      body: groups.labels.map((name, group) => [name + title(group), ...policies.map((other, policy) => `${percent(share(policy, group))} (${count(amount(policy, group))})`)]),
    }));
  }

  function addDeadlineBars(id, unit) {
    const groups = data[id];
    if (groups) {
      addBars(id, {unit, most: 101, share: (policy, group) => 100 * groups.met[policy][group] / groups.jobs[group],
        title: (group) => `: ${countOf(groups.jobs[group], "deadline")}`, amount: (policy, group) => groups.met[policy][group]});
    }
  }

  // Parts of a whole, which differs from policy to policy.
  function addShareBars(id, unit) {
    const groups = data[id];
    if (!groups) return;
    const share = (policy, group) => 100 * groups.amounts[policy][group] / groups.totals[policy];
    const most = Math.max(...policies.flatMap((name, policy) => groups.labels.map((label, group) => share(policy, group))));
    addBars(id, {unit, share, most: most * 1.05, title: () => "", amount: (policy, group) => groups.amounts[policy][group]});
  }

  // ---- the page ---------------------------------------------------------------------------------------------------

  function rebuild() {
    charts.forEach((chart) => chart.build());
    swatches.forEach((canvas) => canvas.paint());
  }

  addDistribution("jct");
  addDistribution("wait");
  addTimeSeries("waiting", {label: "jobs", thing: "job"});
  addTimeSeries("gpus", {label: "GPUs", thing: "GPU", capacity: data.totalGpus});
  addPromises();
  addShares();
  addDeadlineBars("bySize", "GPUs");
  addDeadlineBars("byTenant", "");
  addGantt();
  // Of a trace:
  addDistribution("duration");
  addDistribution("gap", ["gaps"]);
  addDistribution("recordedWait", ["jobs"]);
  addShareBars("workBySize", "GPUs");
  addShareBars("workByTenant");
  addShareBars("workByStatus");
  addShareBars("workByHour", "h");
  addTimeSeries("submitted", {source: data.submitted});
  addTimeSeries("demand", {source: data.demand, names: ["GPUs"], label: "GPUs", thing: "GPU", capacity: data.totalGpus});

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", rebuild);
  // Paper is white and narrow.
  addEventListener("beforeprint", () => { document.documentElement.classList.add("paper"); rebuild(); });
  addEventListener("afterprint", () => { document.documentElement.classList.remove("paper"); rebuild(); });
})();
