// The table of segments. The worker sorts and filters; the page holds only
// the rows around those that can be seen.
import { $, ago, clockTime, count, make, size, span } from "./kit.js";

const rowHeight = 30;
const around = 30; // rows fetched beyond those that can be seen

// table draws them; collection asks what a collection is to do.
export function table(ask, collection, select, selected) {
  const columns = [
    { key: "collection", name: "collection", width: "13%", text: (s) => s.collection, act: (s) => collection(s.collection_id, s.collection) },
    { key: "partition", name: "partition", width: "9%", text: (s) => s.partition },
    { key: "level", name: "level", width: "3.3rem", text: (s) => s.level },
    { key: "state", name: "state", width: "5.2rem", text: (s) => s.state, pill: { normal: "good", new: "warn" } },
    { key: "rows", name: "rows", width: "4.8rem", num: true, text: (s) => count(s.rows) },
    { key: "bytes", name: "bytes", width: "5.2rem", num: true, text: (s) => size(s.bytes) },
    { key: "buffered_rows", name: "buffered", width: "4.9rem", num: true, text: (s) => (s.buffered_rows + s.flushing_rows ? count(s.buffered_rows + s.flushing_rows) : "") },
    { key: "age", name: "age", width: "4rem", num: true, text: (s) => (s.first_row ? span(ago(s.first_row)) : "") },
    { key: "last_flush", name: "last flush", width: "10rem", text: (s) => (s.last_flush ? clockTime(s.last_flush.at) + " " + s.last_flush.reason : "") },
    { key: "position", name: "position", width: "5.4rem", num: true, text: (s) => (s.position === null ? "" : count(s.position)) },
    { key: "vchannel", name: "vchannel", width: "15%", text: (s) => s.vchannel, act: (s) => { select(s.vchannel); $("figure").scrollIntoView(); $("figure").focus({ preventScroll: true }); } },
    { key: "id", name: "segment", width: "10.2rem", num: true, text: (s) => s.id },
  ];
  const box = $("segments-scroll");
  const body = $("table").tBodies[0];
  const head = $("table").tHead.rows[0];
  let sort = "";
  let descending = false;
  let offset = 0;
  let window = { segments: [], offset: 0, matched: 0 };
  let timer = 0;

  for (const c of columns) {
    const button = make("button", "", c.name);
    button.type = "button";
    const th = make("th", c.num ? "num" : "", button);
    th.scope = "col";
    th.style.width = c.width;
    th.dataset.key = c.key;
    th.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      // Numbers and times are looked at from their large end first.
      if (sort === c.key) descending = !descending;
      else { sort = c.key; descending = Boolean(c.num && c.key !== "position" && c.key !== "id") || c.key === "last_flush"; }
      for (const other of head.cells) other.setAttribute("aria-sort", other === th ? (descending ? "descending" : "ascending") : "none");
      fresh();
    });
    head.append(th);
  }

  function fresh() {
    box.scrollTop = 0;
    offset = 0;
    ask();
  }

  for (const id of ["segments-filter", "segments-state", "segments-level", "segments-mine"]) {
    $(id).addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(fresh, 120); });
  }

  const seen = () => Math.ceil(box.clientHeight / rowHeight) + 1;

  box.addEventListener("scroll", () => {
    const first = Math.floor(box.scrollTop / rowHeight);
    const covered = first >= window.offset && Math.min(first + seen(), window.matched) <= window.offset + window.segments.length;
    offset = Math.max(0, first - around);
    if (covered) return;
    clearTimeout(timer);
    timer = setTimeout(ask, 40);
  }, { passive: true });

  function cell(c, s) {
    const text = c.text(s);
    const td = make("td", c.num ? "num" : "");
    if (c.pill) td.append(make("span", "pill " + (c.pill[text] || ""), text));
    else if (c.act) {
      const b = make("button", "link", text);
      b.type = "button";
      b.addEventListener("click", () => c.act(s));
      if (c.key === "collection") b.setAttribute("aria-haspopup", "dialog");
      td.append(b);
    } else td.textContent = text;
    td.title = c.key === "last_flush" && s.last_flush ? count(s.last_flush.rows) + " rows, " + size(s.last_flush.bytes) + " in " + s.last_flush.took_ms + " ms" : text;
    if (c.key === "position" && s.pins) { td.classList.add("pin"); td.title = "it holds the seek position back"; }
    return td;
  }

  function space(rows) {
    const td = make("td");
    td.colSpan = columns.length;
    td.style.height = rows * rowHeight + "px";
    const tr = make("tr", "space", td);
    tr.setAttribute("aria-hidden", "true");
    return tr;
  }

  return {
    path() {
      const q = new URLSearchParams({ q: $("segments-filter").value, state: $("segments-state").value, level: $("segments-level").value,
        sort, desc: descending ? "1" : "", offset, limit: seen() + 2 * around, vchannel: $("segments-mine").checked ? selected() : "" });
      return "api/segments?" + q;
    },
    asked() { if ($("segments-mine").checked) { box.scrollTop = 0; offset = 0; } },
    draw(answer) {
      window = answer;
      const after = Math.max(0, answer.matched - answer.offset - answer.segments.length);
      const row = document.activeElement?.closest?.("#table tbody tr");
      const focus = row?.dataset.id;
      const which = row ? [...row.querySelectorAll("button")].indexOf(document.activeElement) : 0;
      const list = answer.segments.map((s, i) => {
        const tr = make("tr", "data", ...columns.map((c) => cell(c, s)));
        tr.dataset.id = s.vchannel + s.id;
        tr.setAttribute("aria-rowindex", answer.offset + i + 2);
        return tr;
      });
      body.replaceChildren(...(answer.offset ? [space(answer.offset)] : []), ...list, ...(after ? [space(after)] : []));
      if (focus) list.find((tr) => tr.dataset.id === focus)?.querySelectorAll("button")[which]?.focus({ preventScroll: true });
      $("table").setAttribute("aria-rowcount", answer.matched + 1);
      $("segments-count").textContent = answer.matched === answer.total ? count(answer.total) : count(answer.matched) + " of " + count(answer.total);
      if (!list.length) body.append(make("tr", "", Object.assign(make("td", "dim", answer.total ? "No segment matches." : "No segment yet."), { colSpan: columns.length })));
    },
  };
}
