"use strict";
// Common to all pictures: looks, axes, tips, keys, legends, tables of numbers. format.js comes before; gantt.js and report.js draw with it.

const data = JSON.parse(document.getElementById("report-data").textContent);
const policies = data.policies;
const numColours = 7, numDashes = 5;  // as in report.css
const hidden = new Set();             // policies that the reader has switched off, in all pictures
const charts = [];                    // made by makeChart

// ---- looks --------------------------------------------------------------------------------------------------------

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colourOf = (policy) => css(`--series-${policy % numColours}`);
const dashOf = (policy) => {
  const dash = css(`--dash-${policy % numDashes}`);
  return dash === "none" ? [] : dash.split(/\s+/).map(Number);
};
const keyOf = (policy) => document.querySelectorAll("#summary tbody .key")[policy].cloneNode(true);
const isPaper = () => document.documentElement.classList.contains("paper");
const pixelRatio = () => window.devicePixelRatio || 1;

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
  const ratio = pixelRatio(), size = 8;
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

const lineOf = (policy, more = {}) => ({
  label: policies[policy], stroke: colourOf(policy), dash: dashOf(policy), width: 2, points: {show: false}, paths: uPlot.paths.stepped({align: 1}), ...more,
});

// ---- axes ---------------------------------------------------------------------------------------------------------

const fontFamily = () => getComputedStyle(document.body).fontFamily;
const font = () => `12px ${fontFamily()}`;

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
  size: 54, incrs: [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 25, 50], values: (plot, splits) => splits.map((value) => `${count(value)}\u00a0%`),
});

// Steps that people count time in.
const timeSteps = [1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30].concat([1, 2, 5, 10, 15, 30].map((value) => value * minute),
  [1, 2, 3, 6, 12].map((value) => value * hour), [1, 2, 5, 7, 14, 28, 56, 91, 182, 364, 728].map((value) => value * day));

// Ticks are as wide as the smallest of their units makes them.
function timeTickWidth(low, high) {
  const span = high - low, step = span / 8;
  if (step >= day) return 48;
  const parts = (high >= day) + (step < hour * 12 && high >= hour) + (step < hour) + (step < minute && high >= minute);
  return 26 + 25 * Math.max(1, parts);
}
const timeAxis = () => axis({
  space: (plot, index, low, high) => timeTickWidth(low, high), size: 32, incrs: timeSteps,
  values: (plot, splits) => splits.map((at) => (at === 0 ? "0" : instant(Number(at.toPrecision(12))))),
});

// ---- charts -------------------------------------------------------------------------------------------------------

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

// That point of a plot whose pointer is over it, or null.
function pointedIndex(plot) {
  const index = plot.cursor.idxs?.[0] ?? plot.cursor.idx;
  return index == null ? null : stepIndex(plot, 0, index, plot.posToVal(plot.cursor.left, "x"));
}

const visible = () => policies.map((name, policy) => policy).filter((policy) => !hidden.has(policy));
const shownOf = (names) => (names === policies ? visible() : [...names.keys()]);

// Draws into `place`. `options()` gives {data, options, policyOf, full, sayWindow}: uPlot's data and options; the policy of each series, if
// any; the whole range of each scale that can be zoomed, {x: [low, high]}; an x range in words. Pictures of one `group` zoom alike along x.
function makeChart(place, height, options, {group = place, paperWidth = 640, cell = null, policy = null} = {}) {
  const chart = {place, group, cell, policy, plot: null};
  chart.build = () => {
    chart.plot?.destroy();
    const built = options();
    const width = isPaper() ? paperWidth : place.clientWidth || 300;
    chart.plot = new uPlot({
      width, height: Math.round(height * (isPaper() && !cell ? 0.66 : width < 480 && !cell ? 0.85 : 1)), legend: {show: false}, padding: [10, 26, 0, 0],
      ...built.options, cursor: {points: {show: false}, focus: {prox: -1}, drag: {x: true, y: false}, ...built.options.cursor},
    }, built.data, place);
    Object.assign(chart, {policyOf: built.policyOf, full: built.full ?? {}, sayWindow: built.sayWindow});
    applyHidden(chart);
  };
  charts.push(chart);
  chart.build();
  place.addEventListener("keydown", (event) => pressKey(chart, event));
  place.addEventListener("blur", () => chart.plot.setCursor({left: -10, top: -10}));
  new ResizeObserver(() => {
    if (chart.plot.width !== place.clientWidth && place.clientWidth > 0 && !isPaper()) chart.plot.setSize({width: place.clientWidth, height: chart.plot.height});
  }).observe(place);
  return chart;
}

function addChart(id, height, options, more) {
  const figure = document.getElementById(id);
  if (figure) makeChart(figure.querySelector(".chart"), height, options, more);
  return figure;
}

function applyHidden(chart) {
  if (chart.cell) chart.cell.hidden = hidden.has(chart.policy);
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

const swatches = [];

// A small canvas filled like bars are.
function swatchOf(fill) {
  const canvas = element("canvas", {"aria-hidden": "true"});
  canvas.paint = () => {
    const ratio = pixelRatio();
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

// ---- keys ---------------------------------------------------------------------------------------------------------

const announcer = element("p", {class: "unseen", "aria-live": "polite"});
document.querySelector("main").append(announcer);

// Shows [low, high] of a scale, moved and cut to the whole range; along x in all pictures of the group.
function setWindow(chart, scale, low, high) {
  const [first, last] = chart.full[scale];
  const size = Math.min(high - low, last - first);
  const min = Math.max(first, Math.min(low, last - size));
  for (const other of charts) {
    if (other === chart || (scale === "x" && other.group === chart.group)) other.plot.setScale(scale, {min, max: min + size});
  }
}

// The smallest part of the whole that zooming shows, and the part of a window that an arrow moves it by.
const smallestWindow = {x: 1e-5, y: 0.02}, panStep = 0.2;

function zoom(chart, factor) {
  for (const scale of Object.keys(chart.full)) {
    const {min, max} = chart.plot.scales[scale], [first, last] = chart.full[scale];
    const at = scale === "x" ? chart.plot.cursor.left : chart.plot.cursor.top;
    const fixed = at >= 0 ? Math.max(min, Math.min(max, chart.plot.posToVal(at, scale))) : (min + max) / 2;
    const scaled = Math.max(factor, (smallestWindow[scale] * (last - first)) / (max - min));
    setWindow(chart, scale, fixed - (fixed - min) * scaled, fixed + (max - fixed) * scaled);
  }
}

function pan(chart, scale, direction) {
  if (!chart.full[scale]) return;
  const {min, max} = chart.plot.scales[scale], step = direction * panStep * (max - min);
  setWindow(chart, scale, min + step, max + step);
}

// Moves the pointer by a fiftieth of the picture, or to the next group of bars.
function point(chart, x, y) {
  const {plot} = chart, {clientWidth: width, clientHeight: height} = plot.over;
  const isOut = !(plot.cursor.left >= 0);
  const left = isOut ? width / 2 : plot.cursor.left, top = isOut ? height / 2 : plot.cursor.top;
  const step = chart.full.x ? width / 50 : width / Math.max(1, plot.data[0].length);
  const move = (at, by, most) => Math.max(0, Math.min(most - 1, at + by));
  plot.setCursor({left: isOut ? left : move(left, x * step, width), top: isOut ? top : move(top, y * (height / 50), height)});
  const tip = plot.over.querySelector(".tooltip");
  announcer.textContent = tip && !tip.hidden ? [...tip.children].map((line) => [...line.childNodes].map((part) => part.textContent).join(" ")).join("; ") : "";
}

const arrows = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};

function pressKey(chart, event) {
  if (event.target !== chart.place || event.ctrlKey || event.metaKey || event.altKey) return;
  const arrow = arrows[event.key];
  if (arrow && arrow[1] && !chart.full.y) return;  // the page scrolls
  if (arrow && (event.shiftKey || !chart.full.x)) {
    point(chart, ...arrow);
  } else {
    if (!chart.full.x) return;
    if (arrow) arrow[0] ? pan(chart, "x", arrow[0]) : pan(chart, "y", arrow[1]);
    else if (event.key === "+" || event.key === "=") zoom(chart, 0.5);
    else if (event.key === "-" || event.key === "_") zoom(chart, 2);
    else if (event.key === "0") Object.entries(chart.full).forEach(([scale, [low, high]]) => setWindow(chart, scale, low, high));
    else return;
    queueMicrotask(() => { announcer.textContent = `from ${chart.sayWindow(chart.plot.scales.x.min)} to ${chart.sayWindow(chart.plot.scales.x.max)}`; });
  }
  event.preventDefault();
}

// ---- tables of numbers --------------------------------------------------------------------------------------------

// Puts the numbers of a picture below it, made when they are first looked at: `rows()` gives {head: [text], body: [[text]]}. Returns what
// makes them anew.
function addTable(figure, rows) {
  const title = figure.querySelector("h2").textContent;
  const box = element("div", {class: "scroll numbers", tabindex: "0", role: "region", "aria-label": `${title}, numbers`});
  const details = element("details", {class: "of-chart"}, element("summary", {}, `${title} in numbers`), box);
  const fill = () => {
    if (!details.open) return;
    const {head, body} = rows();
    const headRow = element("tr", {}, ...head.map((text) => element("th", {scope: "col"}, text)));
    const bodyRows = body.map(([first, ...others]) => element("tr", {}, element("th", {scope: "row"}, first), ...others.map((text) => element("td", {}, text))));
    box.replaceChildren(element("table", {}, element("thead", {}, headRow), element("tbody", {}, ...bodyRows)));
  };
  details.addEventListener("toggle", fill);
  figure.append(details);
  return fill;
}
