"use strict";
// Draws the pictures of the report with uPlot from the JSON in #report-data, which chart_data.cpp writes. format.js comes before.
(() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const policies = data.policies;
  const numColours = 7, numDashes = 5;  // as in report.css
  const hidden = new Set();             // policies that the reader has switched off, in all pictures
  const charts = [];                    // {place, build, plot}

  // ---- looks ------------------------------------------------------------------------------------------------------

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colourOf = (policy) => css(`--series-${policy % numColours}`);
  const dashOf = (policy) => {
    const dash = css(`--dash-${policy % numDashes}`);
    return dash === "none" ? [] : dash.split(/\s+/).map(Number);
  };
  const keyOf = (policy) => document.querySelectorAll("#summary tbody .key")[policy].cloneNode(true);

  function element(name, attributes = {}, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  // A translucent form of a `#rrggbb` colour.
  const faint = (colour, alpha) => colour + Math.round(alpha * 255).toString(16).padStart(2, "0");

  // Hatching, so that bars differ by more than their colour.
  function hatched(colour, kind, ground) {
    if (kind === 0) return colour;
    const ratio = window.devicePixelRatio || 1, size = 8;
    const tile = element("canvas", {width: size * ratio, height: size * ratio});
    const pen = tile.getContext("2d");
    pen.scale(ratio, ratio);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, size, size);
    pen.strokeStyle = pen.fillStyle = ground;
    pen.lineWidth = 1.6;
    pen.beginPath();
    const line = (x0, y0, x1, y1) => { pen.moveTo(x0, y0); pen.lineTo(x1, y1); };
    if (kind === 1) for (const at of [-8, 0, 8]) line(at - 1, 9, at + 9, -1);
    if (kind === 2) for (const x of [2, 6]) for (const y of [2, 6]) { pen.moveTo(x, y); pen.arc(x, y, 1.1, 0, 7); }
    if (kind === 3) for (const at of [-8, 0, 8]) line(at - 1, -1, at + 9, 9);
    if (kind === 4) for (const at of [2, 6]) line(-1, at, 9, at);
    kind === 2 ? pen.fill() : pen.stroke();
    return pen.createPattern(tile, "repeat");
  }

  const font = () => `12px ${getComputedStyle(document.body).fontFamily}`;

  function axis(options) {
    return {
      stroke: css("--soft"), font: font(), labelFont: font(), labelSize: 18, labelGap: 2,
      grid: {stroke: css("--grid"), width: 1}, ticks: {stroke: css("--grid"), width: 1, size: 5}, ...options,
    };
  }

  // Room on the left for the widest tick.
  const countAxis = (label) => axis({
    label, size: 58, incrs: [1, 2, 5].flatMap((step) => [0, 1, 2, 3, 4, 5, 6, 7, 8].map((power) => step * 10 ** power)).sort((a, b) => a - b),
    values: (plot, splits) => splits.map(count),
  });
  const percentAxis = () => axis({
    size: 54, incrs: [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 25, 50], values: (plot, splits) => splits.map((value) => `${count(value)} %`),
  });
  const timeAxis = () => axis({
    space: 64, size: 32,
    incrs: [1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30].concat([1, 2, 5, 10, 15, 30].map((value) => value * minute),
      [1, 2, 3, 6, 12].map((value) => value * hour), [1, 2, 5, 7, 14, 28, 56, 91, 182, 364, 728].map((value) => value * day)),
    values: (plot, splits, index, space, step) => splits.map((at) => {
      if (step >= day || at === 0) return at === 0 ? "0" : `${count(at / day)} d`;
      const days = Math.floor(at / day), rest = at - days * day;
      const prefix = days > 0 ? `${count(days)} d ` : "";
      if (days > 0 && rest === 0) return `${count(days)} d`;
      if (step >= hour) return `${prefix}${Math.round(rest / hour)} h`;
      if (step >= minute) return `${prefix}${Math.floor(rest / hour)}:${twoDigits(Math.round((rest % hour) / minute))}`;
      return prefix + (rest >= minute ? `${Math.floor(rest / hour)}:${twoDigits(Math.floor((rest % hour) / minute))}:` : "") +
        (rest >= minute ? twoDigits(Number((rest % minute).toPrecision(6))) : roundDuration(rest));
    }),
  });

  // ---- pictures in general ----------------------------------------------------------------------------------------

  // Shows what `lines(plot)` says beside the pointer: {title, rows: [[policy or null, name, value]]} or null.
  function tooltip(lines) {
    let box;
    return {hooks: {
      init: (plot) => {
        box = element("div", {class: "tooltip", hidden: ""});
        plot.over.append(box);
      },
      setCursor: (plot) => {
        const {left, top} = plot.cursor;
        const text = left == null || left < 0 ? null : lines(plot);
        box.hidden = !text;
        if (!text) return;
        box.replaceChildren(element("b", {}, text.title), ...text.rows.map(([policy, name, value]) => element("div", {},
          element("span", {}, ...(policy == null ? [] : [keyOf(policy)]), name), element("span", {}, value))));
        const {clientWidth: width, clientHeight: height} = plot.over;
        const x = left > width / 2 ? left - box.offsetWidth - 14 : left + 14;
        const lowest = height + 40 - box.offsetHeight;
        box.style.left = `${Math.max(-50, Math.min(x, width - box.offsetWidth + 8))}px`;
        box.style.top = `${Math.max(-10, Math.min(top + 12, lowest))}px`;
      },
    }};
  }

  // The point of a step function that holds at the pointer is the last one before it.
  const stepIndex = (plot, series, index, x) => (index > 0 && plot.data[0][index] > x ? index - 1 : index);

  const visible = () => policies.map((name, policy) => policy).filter((policy) => !hidden.has(policy));
  const shownOf = (names) => (names === policies ? visible() : [...names.keys()]);

  function addChart(id, height, options) {
    const figure = document.getElementById(id);
    if (!figure) return;
    const place = figure.querySelector(".chart");
    const chart = {id, place, plot: null};
    chart.build = () => {
      chart.plot?.destroy();
      const built = options();
      const paper = document.documentElement.classList.contains("paper");
      const width = paper ? 640 : place.clientWidth;
      chart.plot = new uPlot({
        width, height: Math.round(height * (paper ? 0.66 : width < 480 ? 0.85 : 1)), legend: {show: false}, padding: [10, 14, 0, 0],
        ...built.options, cursor: {points: {show: false}, focus: {prox: -1}, drag: {x: true, y: false}, ...built.options.cursor},
      }, built.data, place);
      chart.policyOf = built.policyOf;
      applyHidden(chart);
    };
    charts.push(chart);
    chart.build();
    new ResizeObserver(() => {
      if (chart.plot.width !== place.clientWidth && place.clientWidth > 0) chart.plot.setSize({width: place.clientWidth, height: chart.plot.height});
    }).observe(place);
    return figure;
  }

  function applyHidden(chart) {
    chart.policyOf?.forEach((policy, series) => {
      if (policy != null && chart.plot.series[series].show === hidden.has(policy)) chart.plot.setSeries(series, {show: !hidden.has(policy)});
    });
  }

  function toggle(policy) {
    hidden.has(policy) ? hidden.delete(policy) : hidden.add(policy);
    document.querySelectorAll(`.legend button[data-policy="${policy}"]`).forEach((button) => button.setAttribute("aria-pressed", String(!hidden.has(policy))));
    charts.forEach(applyHidden);
  }

  function addLegend(figure, keyFor = keyOf) {
    const legend = element("div", {class: "legend", role: "group", "aria-label": "Policies shown"});
    policies.forEach((name, policy) => {
      const button = element("button", {type: "button", "aria-pressed": "true", "data-policy": policy}, keyFor(policy), name);
      button.addEventListener("click", () => toggle(policy));
      legend.append(button);
    });
    figure.querySelector(".chart").after(legend);
  }

  const lineOf = (policy, more = {}) => ({
    label: policies[policy], stroke: colourOf(policy), dash: dashOf(policy), width: 2, points: {show: false}, paths: uPlot.paths.stepped({align: 1}), ...more,
  });

  // ---- distributions ----------------------------------------------------------------------------------------------

  const roundDurations = [1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 2, 5, 10, 30, minute, 2 * minute, 5 * minute, 10 * minute, 30 * minute, hour, 2 * hour, 4 * hour,
    8 * hour, 12 * hour, day, 2 * day, 4 * day, 7 * day, 14 * day, 30 * day, 60 * day, 120 * day, 365 * day, 730 * day, 3650 * day];
  const coarseDurations = [1e-6, 1e-4, 1e-3, 0.01, 0.1, 1, 10, minute, 10 * minute, hour, 4 * hour, day, 4 * day, 14 * day, 60 * day, 365 * day];

  // Abscissae are log10 of seconds on a linear scale, so that zooming needs nothing special.
  function logSplits(plot, index, low, high) {
    const within = (values) => values.map(Math.log10).filter((at) => at >= low - 1e-9 && at <= high + 1e-9);
    const room = plot.bbox.width / (window.devicePixelRatio || 1) / 58;
    const candidates = [roundDurations, coarseDurations].map(within);
    const fine = candidates.find((splits) => splits.length <= room && tooClose(splits, (high - low) / room) === false);
    if (fine && fine.length >= 3) return fine;
    if (candidates[0].length >= 3) {  // thin out
      const splits = [];
      for (const at of candidates[0]) if (!splits.length || at - splits[splits.length - 1] >= (high - low) / room) splits.push(at);
      return splits;
    }
    const from = 10 ** low, to = 10 ** high, power = 10 ** Math.floor(Math.log10((to - from) / 4));
    const step = [1, 2, 5, 10].map((value) => value * power).find((value) => (to - from) / value <= 5);
    const splits = [];
    for (let at = Math.ceil(from / step) * step; at <= to && splits.length < 20; at += step) splits.push(Math.log10(at));
    return splits;
  }
  const tooClose = (splits, gap) => splits.some((at, index) => index > 0 && at - splits[index - 1] < gap);

  // From 0 %, but from higher where all of the lines run high.
  function shareRange(plot, low) {
    const bottom = low == null || low < 50 ? 0 : Math.min(99, low - 0.15 * (100 - low));
    return [bottom, 100 + (100 - bottom) * 0.01];
  }

  // One line a name: those of the page's legend, or others that stand for themselves.
  function addDistribution(id, names = policies) {
    const distribution = data[id], ours = names === policies;
    const figure = distribution && addChart(id, 300, () => ({
      policyOf: ours ? [null, ...policies.keys()] : [],
      data: [distribution.x.map(Math.log10), ...distribution.percent],
      options: {
        scales: {x: {time: false, range: (plot, low, high) => (low === high ? [low - 0.5, high + 0.5] : [low, high])}, y: {range: shareRange}},
        axes: [axis({size: 32, splits: logSplits, values: (plot, splits) => splits.map((at) => {
          const seconds = 10 ** at;
          return roundDurations.some((value) => Math.abs(value / seconds - 1) < 1e-6) ? roundDuration(seconds) : duration(seconds);
        })}), percentAxis()],
        series: [{}, ...names.map((name, index) => lineOf(index, {label: name}))],
        cursor: {dataIdx: stepIndex, y: false},
        plugins: [tooltip((plot) => {
          const index = plot.cursor.idxs?.[0] ?? plot.cursor.idx;
          if (index == null) return null;
          const at = stepIndex(plot, 0, index, plot.posToVal(plot.cursor.left, "x"));
          return {title: `at most ${duration(distribution.x[at])}`, rows: shownOf(names).map((line) => [ours ? line : null, names[line], percent(distribution.percent[line][at])])};
        })],
      },
    }));
    if (figure && ours) addLegend(figure);
  }

  // ---- over time --------------------------------------------------------------------------------------------------

  // `source` holds one function of time for each name.
  function addTimeSeries(id, {source = data.time, names = policies, label, unit, capacity = 0}) {
    if (!source?.[id]) return;
    const {x, exact} = source, all = source[id], ours = names === policies;
    const extend = (values) => [...values, values[values.length - 1]];  // the last span ends at the last x
    const figure = addChart(id, 280, () => {
      const columns = [x], series = [{}], bands = [], policyOf = [null];
      names.forEach((name, line) => {
        const bounds = {label: name, stroke: "transparent", dash: [], width: 0};
        columns.push(extend(all[line].mean));
        series.push(lineOf(line, {label: name, width: exact ? 2 : 1.75}));
        policyOf.push(line);
        if (exact) return;
        columns.push(extend(all[line].high), extend(all[line].low));
        series.push(lineOf(line, bounds), lineOf(line, bounds));
        policyOf.push(line, line);
        bands.push({series: [series.length - 2, series.length - 1], fill: faint(colourOf(line), names.length > 2 ? 0.13 : 0.2)});
      });
      return {policyOf: ours ? policyOf : [], data: columns, options: {
        scales: {x: {time: false}, y: {range: (plot, low, high) => [0, Math.max(unit === "%" ? 0 : 1, high, capacity) * 1.04]}},
        axes: [timeAxis(), unit === "%" ? percentAxis() : countAxis(label)], series, bands,
        cursor: {dataIdx: stepIndex, y: false, sync: {key: "time", setSeries: false, scales: ["x", null]}},
        hooks: {draw: [(plot) => drawCapacity(plot, capacity)]},
        plugins: [tooltip((plot) => {
          const index = plot.cursor.idxs?.[0] ?? plot.cursor.idx;
          if (index == null) return null;
          const at = Math.min(stepIndex(plot, 0, index, plot.posToVal(plot.cursor.left, "x")), x.length - 2);
          return {
            title: exact ? `from ${instant(x[at])}` : `${instant(x[at])} to ${instant(x[at + 1])}`,
            rows: shownOf(names).map((line) => {
              const {mean, low, high} = all[line];
              const spread = exact || low[at] === high[at] ? "" : ` (${count(low[at])}\u2013${count(high[at])})`;
              return [ours ? line : null, names[line], unit === "%" ? percent(mean[at]) : `${count(mean[at])}${spread} ${unit}`];
            }),
          };
        })],
      }};
    });
    if (figure && ours) addLegend(figure);
  }

  function drawCapacity(plot, capacity) {
    if (!capacity) return;
    const pen = plot.ctx, y = plot.valToPos(capacity, "y", true);
    if (y < plot.bbox.top) return;
    pen.save();
    pen.strokeStyle = css("--soft");
    pen.lineWidth = window.devicePixelRatio || 1;
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

  function swatchOf(fill) {
    const canvas = element("canvas", {"aria-hidden": "true"});
    canvas.paint = () => {
      const ratio = window.devicePixelRatio || 1;
      canvas.width = 22 * ratio;  // also clears it
      canvas.height = 12 * ratio;
      const pen = canvas.getContext("2d");
      pen.fillStyle = fill();
      pen.fillRect(0, 0, canvas.width, canvas.height);
    };
    canvas.paint();
    swatches.push(canvas);
    return canvas;
  }
  const swatches = [];

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
            title: `${groups.labels[group]}${unit ? " " + unit : ""}${title(group)}`,
            rows: visible().map((policy) => [policy, policies[policy], `${percent(share(policy, group))} (${count(amount(policy, group))})`]),
          };
        })],
      },
    }));
    if (figure) addLegend(figure, (policy) => swatchOf(() => barFill(policy)));
  }

  function addDeadlineBars(id, unit) {
    const groups = data[id];
    if (groups) {
      addBars(id, {unit, most: 101, share: (policy, group) => 100 * groups.met[policy][group] / groups.jobs[group],
        title: (group) => `: ${count(groups.jobs[group])} deadlines`, amount: (policy, group) => groups.met[policy][group]});
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

  // ---- Gantt chart ------------------------------------------------------------------------------------------------

  function addGantt() {
    const gantt = data.gantt;
    if (!gantt) return;
    let shown = 0;  // the policy
    const kindOf = (job) => (gantt.jobs[job][5] == null ? "plain" : gantt.met[shown][job] ? "met" : "missed");
    const fills = () => ({plain: css("--plain"), met: css("--met"), missed: hatched(css("--missed"), 1, faint(css("--panel"), 0.45))});
    const last = Math.max(...gantt.bars.flat().map((bar) => bar[2]));
    const first = Math.min(...gantt.bars.flat().map((bar) => bar[1]));
    const step = data.gpusPerNode || 8;
    // Nodes out of service, light and lined, behind the bars of jobs, which a drain leaves on the node.
    const outages = gantt.outages ?? policies.map(() => []);
    const outageNames = ["node failed", "node drained: no new jobs"];
    const outageFills = () => [3, 4].map((kind) => hatched(faint(css("--outage"), 0.16), kind, css("--outage")));

    function drawOutages(plot, pen, ratio) {
      const {left, top, width, height} = plot.bbox, paint = outageFills();
      for (const [, begin, end, kind, lane, lanes] of outages[shown]) {
        const x0 = Math.max(plot.valToPos(begin, "x", true), left - 1), x1 = end == null ? left + width : Math.min(plot.valToPos(end, "x", true), left + width);
        const y0 = plot.valToPos(lane, "y", true), y1 = plot.valToPos(lane + lanes, "y", true);
        if (x1 < left || x0 > left + width || y1 < top || y0 > top + height) continue;
        pen.fillStyle = paint[kind];
        pen.fillRect(x0, y0, Math.max(x1 - x0, ratio), y1 - y0);
      }
    }

    function draw(plot) {
      const pen = plot.ctx, {left, top, width, height} = plot.bbox, ratio = window.devicePixelRatio || 1;
      const paint = fills(), ground = css("--panel");
      pen.save();
      pen.beginPath();
      pen.rect(left, top, width, height);
      pen.clip();
      pen.font = `${11 * ratio}px ${getComputedStyle(document.body).fontFamily}`;
      pen.textBaseline = "middle";
      pen.textAlign = "left";
      drawOutages(plot, pen, ratio);
      for (const [job, begin, end, lane, lanes] of gantt.bars[shown]) {
        const x0 = plot.valToPos(begin, "x", true), x1 = plot.valToPos(end, "x", true);
        const y0 = plot.valToPos(lane, "y", true), y1 = plot.valToPos(lane + lanes, "y", true);
        if (x1 < left || x0 > left + width || y1 < top || y0 > top + height) continue;
        const w = Math.max(x1 - x0, ratio), h = y1 - y0;
        pen.fillStyle = paint[kindOf(job)];
        pen.fillRect(x0, y0, w, h);
        if (w > 3 * ratio && h > 2 * ratio) {
          pen.strokeStyle = ground;
          pen.lineWidth = ratio;
          pen.strokeRect(x0, y0, w, h);
        }
        label(pen, gantt.jobs[job][0], Math.max(x0, left), y0, Math.min(x1, left + width) - Math.max(x0, left), h, ratio);
      }
      pen.restore();
    }

    function label(pen, name, x, y, w, h, ratio) {
      if (h < 13 * ratio || w < 24 * ratio) return;
      const size = pen.measureText(name).width;
      if (size + 8 * ratio > w) return;
      pen.fillStyle = "rgb(0 0 0 / 45%)";
      pen.fillRect(x + 2 * ratio, y + h / 2 - 7 * ratio, size + 5 * ratio, 14 * ratio);
      pen.fillStyle = css("--on-bar");
      pen.fillText(name, x + 4 * ratio, y + h / 2);
    }

    function describe(plot) {
      const x = plot.posToVal(plot.cursor.left, "x"), y = plot.posToVal(plot.cursor.top, "y");
      const bar = gantt.bars[shown].find(([, begin, end, lane, lanes]) => x >= begin && x < end && y >= lane && y < lane + lanes);
      if (!bar) return describeOutage(x, y);
      const [job, begin, end, lane, lanes] = bar;
      const [name, tenant, model, gpus, submit, deadline] = gantt.jobs[job];
      const rows = [[null, "holds GPUs", `${duration(end - begin)}`], [null, "from", instant(begin)], [null, "to", instant(end)],
        [null, "gang", `${count(gpus)} GPU${gpus === 1 ? "" : "s"}`], [null, "here", lanes === 1 ? `GPU ${lane}` : `GPUs ${lane}\u2013${lane + lanes - 1}`],
        [null, "submitted", instant(submit)]];
      if (deadline != null) rows.push([null, kindOf(job) === "met" ? "met deadline" : "missed deadline", instant(deadline)]);
      if (tenant) rows.push([null, "tenant", tenant]);
      if (model) rows.push([null, "model", model]);
      return {title: name, rows};
    }

    function describeOutage(x, y) {
      const outage = outages[shown].find(([, begin, end, , lane, lanes]) => x >= begin && x < (end ?? Infinity) && y >= lane && y < lane + lanes);
      if (!outage) return null;
      const [node, begin, end, kind] = outage;
      return {title: `Node ${node}`, rows: [[null, "out of service", ["failure", "drain"][kind]], [null, "from", instant(begin)],
        [null, "to", end == null ? "not back" : instant(end)], ...(end == null ? [] : [[null, "for", duration(end - begin)]])]};
    }

    const figure = addChart("gantt", Math.max(300, Math.min(620, data.totalGpus * 14)), () => ({
      data: [[first, last], [0, data.totalGpus]],
      options: {
        scales: {x: {time: false}, y: {dir: -1, range: (plot, a, b) => [Math.max(0, Math.min(a, b)), Math.min(data.totalGpus, Math.max(a, b))]}},
        axes: [timeAxis(), axis({label: "GPU", size: 58, space: 24, incrs: [1, 2, 4].concat([1, 2, 4, 8, 16, 32, 64, 128, 256, 512].map((value) => value * step)),
          values: (plot, splits) => splits.map(count)})],
        series: [{}, {paths: () => null, points: {show: false}}],
        cursor: {drag: {x: true, y: true, uni: 30}, x: false, y: false},
        hooks: {draw: [draw]},
        plugins: [tooltip(describe)],
      },
    }));
    const select = element("select", {"aria-label": "Policy of the Gantt chart"}, ...policies.map((name, policy) => element("option", {value: policy}, name)));
    select.addEventListener("change", () => {
      shown = Number(select.value);
      charts.find((chart) => chart.id === "gantt").plot.redraw(false);
    });
    const legend = element("div", {class: "legend"}, element("label", {}, "Policy ", select));
    const names = {met: "deadline met", missed: "deadline missed (hatched)", plain: "no deadline"};
    const present = new Set(policies.flatMap((name, policy) => gantt.bars[policy].map(([job]) => (gantt.jobs[job][5] == null ? "plain" : gantt.met[policy][job] ? "met" : "missed"))));
    for (const kind of Object.keys(names)) {
      if (present.has(kind)) legend.append(element("span", {class: "swatch"}, swatchOf(() => fills()[kind]), names[kind]));
    }
    outageNames.forEach((name, kind) => {
      if (outages.some((mine) => mine.some((outage) => outage[3] === kind))) legend.append(element("span", {class: "swatch"}, swatchOf(() => outageFills()[kind]), name));
    });
    figure.querySelector(".chart").before(legend);
  }

  // ---- the page ---------------------------------------------------------------------------------------------------

  function rebuild() {
    charts.forEach((chart) => chart.build());
    swatches.forEach((canvas) => canvas.paint());
  }

  addDistribution("jct");
  addDistribution("wait");
  addTimeSeries("waiting", {label: "jobs", unit: "jobs"});
  addTimeSeries("gpus", {label: "GPUs", unit: "GPUs", capacity: data.totalGpus});
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
  addTimeSeries("submitted", {source: data.submitted, unit: "%"});
  addTimeSeries("demand", {source: data.demand, names: ["GPUs"], label: "GPUs", unit: "GPUs", capacity: data.totalGpus});

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", rebuild);
  // Paper is white and narrow.
  addEventListener("beforeprint", () => { document.documentElement.classList.add("paper"); rebuild(); });
  addEventListener("afterprint", () => { document.documentElement.classList.remove("paper"); rebuild(); });
})();
