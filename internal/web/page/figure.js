// The figure: one vchannel's log as an axis of offsets, its segments as bars,
// and what holds the seek position back.
import { $, ago, clockTime, count, facts, isTime, kind, make, rows, size, span } from "./kit.js";

export function figure() {
  let zoom = "open";
  let now = null; // the last answer
  let scale = null;
  const flushed = new Map(); // segment to the time of its last flush, to see new ones
  const bars = rows($("bars"), () => parseInt(getComputedStyle(document.documentElement).getPropertyValue("--row"), 10), drawBar);

  for (const b of document.querySelectorAll("#zoom button")) {
    b.addEventListener("click", () => {
      zoom = b.dataset.zoom;
      for (const other of document.querySelectorAll("#zoom button")) other.setAttribute("aria-pressed", other === b);
      if (now) drawAll();
    });
  }
  new ResizeObserver(() => now && drawAll()).observe($("axis"));

  // range is the part of the log that is shown: [from, to].
  function range(c, segments) {
    const end = Math.max(c.log_end, c.read);
    const open = segments.filter((s) => s.state === "new" || s.state === "normal");
    let from = c.log_start;
    if (zoom === "open") from = Math.min(c.read_from, c.seek_position, ...open.map((s) => s.start ?? end));
    if (zoom === "tail") from = Math.min(c.read_from, c.seek_position);
    const width = Math.max(end - from, 10);
    const s = { from: Math.max(0, from - 0.02 * width), to: end + 0.02 * width, bend: 0, at: 0 };
    // What is persisted for long may be a thousand times what is not: then
    // the part that moves gets most of the axis, and the rest is compressed.
    const live = Math.min(c.read_from, c.seek_position);
    const margin = Math.max(5, 0.08 * (end - live));
    if (zoom === "open" && end - live + margin < 0.4 * (s.to - s.from) && end > live) {
      s.bend = live - margin;
      s.at = 36;
      s.to = end + margin / 3;
    }
    return s;
  }

  // x is where an offset lies, in percent of the axis.
  function x(offset) {
    const { from, to, bend, at } = scale;
    if (!at) return 100 * (offset - from) / (to - from);
    if (offset < bend) return at * (offset - from) / (bend - from);
    return at + (100 - at) * (offset - bend) / (to - bend);
  }
  const clamp = (v) => Math.min(100, Math.max(0, v));

  function place(e, from, to) {
    const a = clamp(x(from));
    const b = clamp(x(to));
    e.style.left = a + "%";
    e.style.width = b - a + "%";
    e.hidden = x(to) < 0 || x(from) > 100;
  }

  function drawAll() {
    const { vchannel: c, segments } = now;
    scale = range(c, segments);
    drawOverview(c);
    drawAxis(c);
    let n = 0;
    bars.set(segments.map((s) => ({ ...s, p: s.position === null ? 0 : ++n })));
  }

  function drawOverview(c) {
    const whole = Math.max(1, Math.max(c.log_end, c.read) - c.log_start);
    const part = (o) => clamp(100 * (o - c.log_start) / whole);
    const stored = make("i", "rail stored");
    stored.style.width = part(c.seek_position) + "%";
    const window = make("i", "window");
    $("figure").classList.toggle("bent", scale.at > 0);
    window.style.left = Math.min(99, part(scale.from)) + "%";
    window.style.width = Math.max(0.4, part(scale.to) - part(scale.from)) + "%";
    $("overview").replaceChildren(make("i", "rail"), stored, window,
      make("span", "", "log start " + count(c.log_start)), make("span", "end", "log end " + count(c.log_end)));
  }

  function drawAxis(c) {
    const width = $("axis").clientWidth;
    const bands = [];
    const band = (cls, from, to) => { const e = make("i", cls); place(e, from, to); if (to > from) bands.push(e); };
    const line = (cls, at) => { const e = make("i", cls); e.style.left = x(at) + "%"; if (x(at) >= -0.01) bands.push(e); };
    const axis = [];
    if (scale.at) line("bend", scale.bend);
    for (const t of ticks(width)) {
      line("tickline", t);
      const e = make("span", "tick", count(t));
      e.style.left = x(t) + "%";
      if (x(t) * width / 100 > 24 && x(t) * width / 100 < width - 30) axis.push(e);
    }
    band("again", c.read_from, c.seek_position);
    band("redo", c.seek_position, c.read);
    band("unread", c.read, c.log_end);
    const halted = c.state !== "running" && c.state !== "done" && c.state !== "paused" && c.epoch > 0;
    const flags = [
      { cls: "seek", text: "seek position " + count(c.seek_position), at: c.seek_position },
      { cls: halted ? "bad" : "", text: (halted || c.state === "paused" ? c.state + " at " : "read ") + count(c.read), at: c.read },
      { cls: "", text: "read from " + count(c.read_from), at: c.read_from, left: true },
    ];
    const lanes = [[], [], []];
    for (const f of flags) {
      if (x(f.at) < -0.01 || (f.left && f.at === c.seek_position)) continue;
      line("line " + f.cls, f.at);
      const e = make("span", "flag " + f.cls, f.text);
      const w = f.text.length * 6.9 + 12;
      let px = x(f.at) * width / 100 - (f.left ? w : x(f.at) > 50 ? w : 0);
      px = Math.min(Math.max(0, px), Math.max(0, width - w));
      const lane = lanes.findIndex((taken) => taken.every(([a, b]) => px + w < a || px > b));
      lanes[Math.max(0, lane)].push([px, px + w]);
      e.style.left = px + "px";
      e.style.top = Math.max(0, lane) * 18 + "px";
      axis.push(e);
    }
    $("bands").replaceChildren(...bands);
    $("axis").replaceChildren(...axis);
  }

  // ticks are round offsets, about one every 110 pixels.
  function ticks(width) {
    const { from, to, bend, at } = scale;
    if (!at) return ticksIn(from, to, width);
    const live = ticksIn(bend, to, width * (1 - at / 100));
    const gap = 60 * (bend - from) / (width * at / 100); // not too near to the bend
    return [...ticksIn(from, bend, width * at / 100).filter((t) => bend - t > gap), ...live];
  }

  function ticksIn(from, to, width) {
    const rough = (to - from) / Math.max(1, width / 110);
    const power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
    const step = Math.max(1, [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) || power * 10);
    const out = [];
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) out.push(t);
    return out;
  }

  function drawBar(e, s) {
    if (!e.firstChild) {
      e.setAttribute("role", "listitem");
      e.append(make("div", "label", make("span"), make("small")),
        make("div", "lane", make("i", "span"), make("i", "persisted"), make("i", "flushing"), make("i", "buffered"), make("i", "p")));
    }
    const [label, lane] = e.children;
    const [whole, persisted, flushing, buffered, p] = lane.children;
    const final = s.state === "flushed" || s.state === "dropped";
    e.className = "bar" + (s.pins ? " pins" : "") + (final ? " final" : "") + (e.dataset.id === s.id && e.classList.contains("flash") ? " flash" : "");
    e.dataset.id = s.id;
    label.children[0].textContent = s.collection + " / " + s.partition;
    label.children[1].textContent = (s.level === "L0" ? "deletes" : "rows") + " · " + s.state + " · " + s.id;
    const start = s.start ?? s.position ?? 0;
    const ends = [start, s.persisted_end, s.flushing_end, s.buffered_end].filter((v) => v !== null);
    place(whole, start, Math.max(...ends));
    const part = (i, from, to) => { if (from === null || to === null || from === undefined) i.hidden = true; else place(i, from, to); };
    part(persisted, s.start, s.persisted_end);
    part(flushing, s.flushing_rows ? s.position : null, s.flushing_end);
    part(buffered, s.buffered_rows ? (s.flushing_rows ? s.flushing_end : s.position) : null, s.buffered_end);
    p.hidden = !s.p || x(s.position) < 0;
    if (s.p) { p.textContent = "p" + s.p; p.style.left = clamp(x(s.position)) + "%"; }
    const text = describe(s);
    e.setAttribute("aria-label", text);
    e.title = text;
    flash(e, s);
  }

  function flash(e, s) {
    const at = s.last_flush ? s.last_flush.at : "";
    const before = flushed.get(s.id);
    flushed.set(s.id, at);
    if (before === undefined || before === at) return;
    e.classList.remove("flash");
    void e.offsetWidth; // so that a second flush is seen too
    e.classList.add("flash");
  }

  function describe(s) {
    const say = [(s.level === "L0" ? "Deletes of " : "Rows of ") + s.collection + "/" + s.partition + ", segment " + s.id + ", " + s.state];
    if (s.rows) say.push(count(s.rows) + " persisted (" + size(s.bytes) + ") in [" + count(s.start) + ", " + count(s.persisted_end) + ")");
    if (s.flushing_rows) say.push(count(s.flushing_rows) + " on their way to the store");
    if (s.buffered_rows) say.push(count(s.buffered_rows) + " buffered (" + size(s.buffered_bytes) + ")" + (s.buffered_since ? " for " + span(ago(s.buffered_since)) : ""));
    if (s.position !== null) say.push("first row not persisted: offset " + count(s.position));
    if (s.last_flush) say.push("last flush at " + clockTime(s.last_flush.at) + " (" + s.last_flush.reason + ")");
    if (s.pins) say.push("it holds the seek position back");
    return say.join("; ") + ".";
  }

  // says tells in words what the figure shows.
  function says(c, segments) {
    const p = $("figure-says");
    if (!c.epoch) { p.textContent = c.state === "claiming" ? "The worker claims this vchannel: it loads the checkpoint from the bucket." : "Not claimed yet."; return; }
    const seek = make("b", "", "seek position " + count(c.seek_position));
    const held = c.held;
    const paused = c.pause ? " Nothing more is read since " + clockTime(c.pause.since) + ", as asked for by " + (c.pause.by || "somebody") + "." : "";
    if (!held) p.replaceChildren("Everything that was read is stored: the ", seek, " is where reading stands.");
    else if (held.by === "error") p.replaceChildren("Nothing is read: this vchannel is " + c.state + (c.state === "stopped" ? " at offset " + count(c.read) : "") + ". Up to the ", seek, " everything is stored; the rest is read again.");
    else if (held.by === "commit") p.replaceChildren("The ", seek, " is about to move: everything before it is stored, the next commit says so.");
    else {
      const s = segments.find((g) => g.id === held.segment);
      p.replaceChildren("The ", seek, " is held back by ", make("b", "", "p1"), s ? ": " + s.collection + "/" + s.partition : "", ", segment " + held.segment + ", " +
        (held.by === "flush" ? "whose flush is on its way to the store." : "whose first row that is not persisted lies there" + (s && s.buffered_since ? ", buffered for " + span(ago(s.buffered_since)) : "") + ".") +
        (held.offset > c.seek_position ? " The next commit moves it up to there, offset " + count(held.offset) + "." : ""));
    }
    if (paused) p.append(paused);
  }

  return {
    draw(answer, worker) {
      now = answer;
      const state = $("figure-state");
      state.hidden = !answer;
      $("figure").classList.toggle("empty", !answer);
      for (const id of ["plot", "overview", "legend", "zoom", "figure-facts"]) $(id).hidden = !answer || !answer.vchannel.epoch;
      $("figure-more").hidden = true;
      if (!answer) {
        $("figure-title").textContent = "No vchannel yet";
        $("figure-says").textContent = worker.worker.phase === "starting" ? "The worker tries out the object store before it reads." :
          "No partition is assigned to this worker yet. The group gives partitions out within seconds, once there is a topic that matches; other workers of the group may have all of them.";
        return;
      }
      const c = answer.vchannel;
      $("figure-title").textContent = c.vchannel;
      state.textContent = c.state;
      state.className = "pill " + kind(c.state);
      says(c, answer.segments);
      if (!c.epoch) return;
      facts($("figure-facts"), [
        ["lag", count(c.lag) + " records", "from the seek position to the end of the log"],
        ["complete up to", isTime(c.seek_time) ? clockTime(c.seek_time) + (c.lag ? ", " + span(ago(c.seek_time)) + " ago" : "") : "no time tick yet"],
        ["epoch", String(c.epoch), "claims so far"],
        ["owner", (c.owner || "").slice(0, 8), c.owner + ", drawn at random for this claim"],
        ["last commit", isTime(c.last_commit) ? span(ago(c.last_commit)) + " ago" : "none yet"],
        ["buffered", size(c.buffered_bytes)],
        ["on its way", size(c.flushing_bytes)],
        ...(c.last_error && c.state === "running" ? [["last error", clockTime(c.last_error_at), c.last_error]] : []),
      ]);
      drawAll();
      const more = answer.total - answer.segments.length;
      $("figure-more").hidden = more <= 0;
      $("figure-more").textContent = "and " + count(more) + " more segments, in the table below";
    },
  };
}
