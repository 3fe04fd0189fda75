// The page asks the worker once a second while somebody looks at it, and
// draws what it hears. Whatever comes from outside (names, errors) enters the
// document as text only.
import { control } from "./control.js";
import { figure } from "./figure.js";
import { $, clockTime, ago, count, facts, isTime, kind, make, rows, setClock, size, span } from "./kit.js";
import { table } from "./table.js";

const view = { selected: decodeURIComponent(location.hash.slice(1)), channels: [], events: [], last: 0 };
const selected = () => view.selected;

function select(name) {
  if (view.selected === name) return;
  view.selected = name;
  history.replaceState(null, "", "#" + encodeURIComponent(name));
  drawChannels();
  drawEvents(0);
  segments.asked();
  ask();
}

async function get(path) {
  const r = await fetch(path, { cache: "no-store" });
  if (r.status === 404) return null;
  if (!r.ok) throw new Error(await r.text());
  return r.json();
}

let timer = 0;
let asking = false;
let again = false;
let failing = 0;

// ask fetches everything once; the next time comes when the answers are here.
async function ask() {
  clearTimeout(timer);
  if (asking) { again = true; return; }
  asking = true;
  again = false;
  try {
    const [worker, channels, events, window] = await Promise.all([
      get("api/worker"), get("api/vchannels"), get("api/events?limit=200&after=" + view.last), get(segments.path()),
    ]);
    setClock(worker.at);
    view.channels = channels;
    if (!channels.some((c) => c.vchannel === view.selected) && !again) {
      view.selected = (channels.find((c) => c.state !== "running") || channels[0] || { vchannel: "" }).vchannel;
    }
    const one = view.selected ? await get("api/vchannels/" + encodeURIComponent(view.selected) + "?limit=400") : null;
    failing = 0;
    document.body.classList.remove("stale");
    drawWorker(worker);
    drawProblems(worker, channels);
    drawChannels();
    takeEvents(events);
    picture.draw(one, worker);
    actions.draw(one, worker);
    segments.draw(window);
  } catch (error) {
    failing ||= Date.now();
    drawGone(error);
  }
  asking = false;
  if (again) ask();
  else if (!document.hidden) timer = setTimeout(ask, failing ? 2000 : Math.max(1000, 4 * view.channels.length));
}

function drawWorker({ worker: w, store, totals, at }) {
  const states = totals.vchannels;
  const bad = states.stopped || 0;
  const waiting = (states.waiting || 0) + (states.claiming || 0);
  const phase = $("phase");
  phase.textContent = bad ? bad + " stopped" : w.error ? "cannot start" : w.phase !== "running" ? w.phase : waiting ? waiting + " waiting" : store.waiting_calls ? "waits for the store" : w.kafka.error ? (w.kafka.error_since ? "no Kafka" : "nothing to read") : "running";
  phase.className = "pill " + (bad || w.error ? "bad" : phase.textContent === "running" ? "good" : "warn");
  document.title = (phase.textContent === "running" ? "" : phase.textContent + " · ") + "flowgraph";
  const meter = make("span", "meter", make("i", w.memory_used_bytes > 0.75 * w.memory_budget_bytes ? "high" : ""));
  meter.firstChild.style.width = Math.min(100, 100 * w.memory_used_bytes / w.memory_budget_bytes) + "%";
  const memory = make("span", "", size(w.memory_used_bytes) + " of " + size(w.memory_budget_bytes), meter);
  facts($("facts"), [
    ["lag", count(totals.lag) + " records", "between the seek positions and the ends of the logs"],
    ["buffered", size(totals.buffered_bytes)],
    ["memory", memory, "of the memory budget"],
    ["Kafka", w.kafka.brokers.join(", ") + (w.kafka.group ? " · group " + w.kafka.group : ""), w.kafka.topics.join(", ")],
    ["store", store.name],
  ]);
  $("updated").textContent = "as of " + clockTime(at) + " · up " + span(ago(w.started));
}

// drawProblems shows what needs somebody, with what to do about it.
function drawProblems({ worker: w, store }, channels) {
  const list = [];
  if (w.error) {
    list.push({ bad: true, title: "The worker cannot start", since: w.error_since, error: w.error, advice: w.advice });
  }
  if (w.kafka.error) {
    list.push({ title: w.kafka.error_since ? "Kafka does not let this worker read" : "There is nothing to read", since: w.kafka.error_since, error: w.kafka.error, advice: w.kafka.advice });
  }
  if (store.waiting_calls) {
    list.push({ title: store.waiting_calls + (store.waiting_calls > 1 ? " calls wait" : " call waits") + " for the object store " + store.name, since: store.waiting_since, error: store.error, advice: store.advice });
  }
  if (w.paused) {
    list.push({ title: "Reading pauses: the memory budget is used up", advice: "Rows wait for the store, or come faster than they can be written. It passes by itself; if it does not, look at the store, or raise --memory-budget." });
  }
  const groups = new Map();
  for (const c of channels) {
    if (!c.error && !c.stuck) continue;
    const key = c.state + "\n" + (c.advice || (c.stuck ? "" : c.error));
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(c);
  }
  for (const group of groups.values()) {
    const c = group[0];
    const what = { stopped: "stopped: it waits for you", waiting: "trying again by itself" }[c.state] || (c.stuck ? "stuck" : c.state);
    list.push({
      bad: c.state === "stopped", since: c.state === "running" ? c.stalled_since : c.since, error: c.error, advice: c.advice,
      title: group.length > 1 ? group.length + " vchannels are " + what : c.vchannel + " is " + what,
      more: group.length > 1 ? group.slice(0, 8).map((g) => g.vchannel).join(", ") + (group.length > 8 ? " and " + (group.length - 8) + " more" : "") : "",
    });
  }
  show(list.sort((a, b) => Boolean(b.bad) - Boolean(a.bad)));
}

let problemsShown = "";

// show touches the document only when something has changed: it is read aloud.
function show(list) {
  const text = JSON.stringify(list);
  if (text === problemsShown) return;
  problemsShown = text;
  $("problems").replaceChildren(...list.map((p) => make("article", "problem" + (p.bad ? " bad" : ""),
    make("h3", "", p.title, isTime(p.since) ? make("span", "", " since " + clockTime(p.since)) : null),
    p.error ? make("code", "", p.error) : null,
    p.more ? make("p", "", p.more) : null,
    p.advice ? make("p", "", make("b", "", "What to do: "), p.advice) : null)));
}

function drawGone(error) {
  document.body.classList.add("stale");
  $("phase").textContent = "no answer";
  $("phase").className = "pill bad";
  document.title = "no answer · flowgraph";
  const before = problemsShown ? JSON.parse(problemsShown).filter((p) => !p.gone) : [];
  show([{ gone: true, bad: true, title: "The worker does not answer", since: new Date(failing).toISOString(), error: String(error.message || error),
    advice: "If it has ended, its log says why in the last line; what it said last is below. This page goes on by itself once it is back. Rows that it held are not lost: they are read again from the bucket's positions." }, ...before]);
}

// The list of vchannels.
const rank = { stopped: 0, waiting: 1, claiming: 2, paused: 3, running: 4, done: 5 };
const byName = (a, b) => a.vchannel.localeCompare(b.vchannel, "en", { numeric: true });
const orders = {
  trouble: (a, b) => rank[a.state] - rank[b.state] || Boolean(b.stuck) - Boolean(a.stuck) || byName(a, b),
  lag: (a, b) => b.lag - a.lag || byName(a, b),
  name: byName,
};
const channels = rows($("channels-list"), () => 48, drawChannel);

function drawChannel(e, c, i, n) {
  if (!e.firstChild) {
    e.className = "channel";
    e.setAttribute("role", "option");
    e.append(make("span", "name", make("bdi")), make("span", "lag"), make("span", "track", make("i"), make("i", "read")));
    e.addEventListener("click", () => select(e.dataset.name));
  }
  e.dataset.name = c.vchannel;
  e.id = "channel-" + i;
  e.setAttribute("aria-selected", c.vchannel === view.selected);
  e.setAttribute("aria-posinset", i + 1);
  e.setAttribute("aria-setsize", n);
  const [name, lag, track] = e.children;
  name.firstChild.textContent = c.vchannel;
  e.title = c.vchannel + "\n" + c.state + (c.error ? ": " + c.error : "");
  lag.textContent = c.state === "running" ? (c.lag ? "lag " + count(c.lag) : "no lag") : c.state;
  lag.className = "lag " + (c.state === "running" ? "" : kind(c.state));
  const at = (offset) => c.log_end > c.log_start ? Math.min(100, Math.max(0, 100 * (offset - c.log_start) / (c.log_end - c.log_start))) : c.epoch ? 100 : 0;
  track.children[0].style.width = at(c.seek_position) + "%";
  track.children[1].style.left = at(c.seek_position) + "%";
  track.children[1].style.width = Math.max(0, at(c.read) - at(c.seek_position)) + "%";
}

function drawChannels() {
  const filter = $("channels-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const list = view.channels.filter((c) => filter.every((w) => (c.vchannel + " " + c.state).toLowerCase().includes(w)));
  list.sort(orders[$("channels-order").value]);
  $("channels-count").textContent = list.length === view.channels.length ? count(list.length) : count(list.length) + " of " + count(view.channels.length);
  channels.set(list);
  const i = list.findIndex((c) => c.vchannel === view.selected);
  if (i >= 0) $("channels-list").setAttribute("aria-activedescendant", "channel-" + i);
}

$("channels-filter").addEventListener("input", drawChannels);
$("channels-order").addEventListener("change", drawChannels);
$("channels-list").addEventListener("keydown", (event) => {
  const list = channels.items;
  let i = list.findIndex((c) => c.vchannel === view.selected);
  const page = Math.floor($("channels-list").clientHeight / 48);
  const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -list.length, End: list.length }[event.key];
  if (!step || !list.length) return;
  event.preventDefault();
  i = Math.min(list.length - 1, Math.max(0, i + step));
  channels.scrollTo(i);
  select(list[i].vchannel);
});

// What happens.
const eventsKept = 400;

function takeEvents(answer) {
  if (answer.last < view.last) { view.events = []; view.last = 0; return; } // another process: all of its next time
  view.events = [...answer.events.reverse(), ...view.events].slice(0, eventsKept);
  const before = view.last;
  view.last = answer.last;
  if (answer.events.length || before === 0) drawEvents(before);
}

const titles = { running: "claimed", done: "drained", waiting: "failed, tries again", stopped: "stopped", quarantine: "bad record", seal: "sealed", pause: "paused on request", resume: "resumed" };
const tones = { stopped: "bad", waiting: "warn", quarantine: "warn" };

function drawEvents(before) {
  const all = $("events-all").checked;
  const list = view.events.filter((e) => all || e.vchannel === view.selected).slice(0, 100);
  $("events-list").replaceChildren(...list.map((e) => {
    const what = make("p", "", make("b", "", titles[e.kind] || e.kind.replace("_", " ")), " ");
    if (e.rows) what.append(e.collection + "/" + e.partition + " · " + count(e.rows) + (e.level === "L0" ? " deletes" : " rows") + " · " + size(e.bytes || 0));
    else if (e.collection) what.append(e.collection + (e.partition ? "/" + e.partition : ""));
    if (e.error) what.append(e.error);
    const why = [];
    if (all) why.push(e.vchannel);
    if (e.reason) why.push(e.reason);
    if (e.took_ms) why.push(e.took_ms + " ms");
    if (e.offset !== undefined) why.push((e.kind === "flush" || e.kind === "seal" ? "up to " : "at ") + count(e.offset));
    if (e.advice) why.push(e.advice);
    const time = make("time", "", clockTime(e.at));
    time.dateTime = e.at;
    return make("li", (tones[e.kind] || "") + (before && e.seq > before ? " events-new" : ""), time, make("div", "", what, why.length ? make("p", "why", why.join(" · ")) : null));
  }));
  if (!list.length) $("events-list").append(make("li", "none dim", make("p", "", "Nothing yet. Flushes, seals, claims and errors appear here as they happen.")));
}

$("events-all").addEventListener("change", () => drawEvents(0));

const picture = figure();
const actions = control(ask);
const segments = table(ask, actions.collection, select, selected);
document.addEventListener("visibilitychange", () => { if (document.hidden) clearTimeout(timer); else ask(); });
window.addEventListener("hashchange", () => select(decodeURIComponent(location.hash.slice(1))));
ask();
