// Requests to the service, its errors, and the token; and how elements are made. No text becomes markup anywhere.

// Makes an element. Children are nodes or texts; null ones are left out.
function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value != null) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}
const byId = (id) => document.getElementById(id);
// Text of others, whose direction of writing must not reach what stands beside it.
const foreign = (text) => element("bdi", {}, text);

// A sentence of the service, with each duration in one line.
const told = (text) => foreign(String(text).replace(/(\d) (?=(?:d|h|m|s)\b)/g, "$1\u00a0").replace(/\b(d|h|m) (?=\d\d\u00a0)/g, "$1\u00a0"));

// The first letter large, a full stop at the end.
const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
// Names with their values.
const dataList = (facts) => element("dl", {class: "list"}, ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));

// An answer that is no success. Status 0: there was none.
class Problem extends Error {
  constructor(status, detail, {field = null, retryAfter = 0} = {}) {
    super(detail);
    Object.assign(this, {status, field, retryAfter});
  }
}

const access = {
  name: "vtrain-token",
  token: "",
  read() {
    try { this.token = sessionStorage.getItem(this.name) ?? ""; } catch { /* a browser that stores nothing keeps it until the page is left */ }
  },
  write(token) {
    this.token = token;
    try { token ? sessionStorage.setItem(this.name, token) : sessionStorage.removeItem(this.name); } catch { /* as above */ }
  },
};

const longestAnswer = 60000;  // milliseconds

// The JSON that a route answers. Throws Problem.
async function ask(method, path, {body = null, key = null} = {}) {
  const headers = {Accept: "application/json"};
  if (access.token) headers.Authorization = `Bearer ${access.token}`;
  if (body != null) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  let response, text;
  try {
    response = await fetch(path, {method, headers, body, cache: "no-store", redirect: "error", signal: AbortSignal.timeout(longestAnswer)});
    text = await response.text();
  } catch {
    throw new Problem(0, "the service does not answer");
  }
  let json = null;
  try { json = JSON.parse(text); } catch { /* for instance the page of a proxy */ }
  if (response.ok && json != null) return json;
  throw new Problem(response.status, typeof json?.detail === "string" ? json.detail : `answer ${response.status} ${response.statusText}`,
    {field: json?.field, retryAfter: Number(response.headers.get("Retry-After")) || 0});
}

// ---- times --------------------------------------------------------------------------------------------------------

let serverAhead = 0;  // milliseconds that the clock of the service is ahead of that of the browser
const now = () => Date.now() + serverAhead;
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

// `28 Nov 17:30`, in UTC; with the year where it is another one than now's. No-break, as durations are.
function instantOf(milliseconds) {
  const time = new Date(milliseconds);
  const year = time.getUTCFullYear() === new Date(now()).getUTCFullYear() ? "" : `\u00a0${time.getUTCFullYear()}`;
  return `${time.getUTCDate()}\u00a0${months[time.getUTCMonth()]}${year}\u00a0${twoDigits(time.getUTCHours())}:${twoDigits(time.getUTCMinutes())}`;
}

// `in 3 d 04 h`, `20 m ago`: whole minutes.
function distance(milliseconds) {
  const minutes = Math.round((milliseconds - now()) / 60000);
  if (minutes === 0) return "now";
  const size = Math.abs(minutes);
  const text = size < 60 ? `${size}\u00a0m` : duration(size * minute);
  return minutes > 0 ? `in\u00a0${text}` : `${text}\u00a0ago`;
}

// A time of the service with its distance from now; `none` where it is null.
function time(text, none = "never", {far = true} = {}) {
  const at = text == null ? NaN : Date.parse(text);
  if (Number.isNaN(at)) return document.createTextNode(text == null ? none : String(text));
  return element("span", {}, element("time", {datetime: new Date(at).toISOString()}, instantOf(at)), far ? element("span", {class: "soft"}, ` ${distance(at)}`) : null);
}

const gpusText = (number) => countOf(number, "GPU");
