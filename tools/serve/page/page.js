// Keeps the page current: asks every few seconds while it is seen, less often while the service is gone.

const period = 4000, longestPause = 30000;  // milliseconds
const poll = {timer: 0, isBusy: false, again: null, failures: 0, lastAnswer: null, isStopped: false};

function showConnection(text, isBad = false) {
  const place = byId("connection");
  place.classList.toggle("bad", isBad);
  if (place.textContent !== text) place.textContent = text;
}

// ---- token --------------------------------------------------------------------------------------------------------

function askForToken(problem) {
  poll.isStopped = true;
  clearTimeout(poll.timer);
  const isWrong = access.token !== "";
  access.write("");
  byId("forget").hidden = true;
  byId("content").hidden = true;
  showDialog(null);
  byId("access").hidden = false;
  byId("access-why").textContent = isWrong ? `The service refuses this token: ${problem.message}.` : "This service needs a token.";
  showConnection("");
  byId("token").focus();
}

function useToken(event) {
  event.preventDefault();
  access.write(byId("token").value.trim());
  byId("token").value = "";
  poll.isStopped = false;
  followHash();
}

function forgetToken() {
  access.write("");
  showNote("");
  refresh();
}

// ---- the round ----------------------------------------------------------------------------------------------------

async function round() {
  const answer = await ask("GET", "v1/cluster");
  byId("access").hidden = true;
  byId("content").hidden = false;
  byId("forget").hidden = access.token === "";
  showCluster(answer);
  await Promise.all([...shownLists.map((list) => list.load()), loadJob()]);
}

function showFailure(problem) {
  const since = poll.lastAnswer == null ? "" : ` What is shown is of ${instantOf(poll.lastAnswer)}.`;
  const what = !(problem instanceof Problem) ? "The page does not understand the service" : problem.status === 0 ? "The service does not answer" : problem.status === 503 ? "The service is busy or stops" : sentence(problem.message).replace(/\.$/, "");
  showConnection(`${what}; trying again.${since}`, true);
}

// Asks now, or once more when the round under way is over.
async function refresh() {
  clearTimeout(poll.timer);
  if (poll.isStopped) return undefined;
  if (poll.isBusy) return (poll.again ??= poll.under.then(refresh));
  poll.isBusy = true;
  poll.under = (async () => {
    let pause = period;
    try {
      await round();
      poll.failures = 0;
      poll.lastAnswer = now();
      showConnection("Up to date");
    } catch (problem) {
      if (problem.status === 401) return askForToken(problem);
      if (!(problem instanceof Problem)) console.error(problem);
      ++poll.failures;
      pause = Math.max(Math.min(longestPause, period * 2 ** (poll.failures - 1)), (problem.retryAfter ?? 0) * 1000);
      showFailure(problem);
    } finally {
      poll.isBusy = false;
      poll.again = null;
    }
    clearTimeout(poll.timer);
    if (!document.hidden && !poll.isStopped) poll.timer = setTimeout(refresh, pause);
    return undefined;
  })();
  return poll.under;
}

// `#queue`, `#refused`, `#ended`: tables; `#job=17`: that job above the table.
function followHash() {
  const hash = location.hash.slice(1);
  let id = null;
  try { id = hash.startsWith("job=") ? decodeURIComponent(hash.slice(4)) : null; } catch { /* typed by hand */ }
  if (Object.hasOwn(views, hash) && (view !== hash || shownLists.length === 0)) showView(hash);
  if (shownLists.length === 0) showView(view);
  showDialog(id);
  refresh();
}

access.read();
startViews();
startForm();
startDialog();
startPicture();
byId("access").addEventListener("submit", useToken);
byId("forget").addEventListener("click", forgetToken);
addEventListener("hashchange", followHash);
document.addEventListener("visibilitychange", () => { document.hidden ? clearTimeout(poll.timer) : refresh(); });
addEventListener("online", () => refresh());
followHash();
