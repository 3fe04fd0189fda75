// What all parts of the page draw with: elements, numbers and times as text,
// and long lists of which only what can be seen is drawn.
export const $ = (id) => document.getElementById(id);

// make returns an element with classes, text and children.
export function make(tag, className, ...children) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

const numbers = new Intl.NumberFormat("en");
export const count = (n) => numbers.format(n);

export function size(bytes) {
  let unit = 0;
  for (; bytes >= 1024 && unit < 5; unit++) bytes /= 1024;
  return (unit && bytes < 100 ? bytes.toFixed(1) : Math.round(bytes)) + " " + ["B", "KiB", "MiB", "GiB", "TiB", "PiB"][unit];
}

export function span(ms) {
  const s = Math.max(0, ms) / 1000;
  if (s < 60) return Math.round(s) + " s";
  if (s < 3600) return Math.round(s / 60) + " min";
  if (s < 172800) return (s / 3600).toFixed(s < 36000 ? 1 : 0) + " h";
  return Math.round(s / 86400) + " d";
}

// The worker's clock, not this machine's, says how long ago something was.
let clock = Date.now();
export function setClock(time) { clock = Date.parse(time); }
export const ago = (time) => clock - Date.parse(time);
export const isTime = (t) => Boolean(t) && !t.startsWith("0001");
export function clockTime(t) {
  const d = new Date(t);
  return d.toLocaleTimeString("en-GB");
}

// facts fills a definition list, keeping its elements.
export function facts(list, pairs) {
  while (list.children.length > pairs.length) list.lastChild.remove();
  pairs.forEach(([name, value, title], i) => {
    const div = list.children[i] || list.appendChild(make("div", "", make("dt"), make("dd")));
    const [dt, dd] = div.children;
    if (dt.textContent !== name) dt.textContent = name;
    if (value instanceof Node) dd.replaceChildren(value);
    else if (dd.textContent !== value) dd.textContent = value;
    dd.title = title || "";
  });
}

// rows draws only those of many rows of one height that can be seen.
export function rows(box, height, draw) {
  const sizer = make("div");
  sizer.setAttribute("role", "presentation");
  box.append(sizer);
  const shown = new Map();
  let items = [];
  let frame = 0;
  function paint() {
    frame = 0;
    const h = height();
    const first = Math.max(0, Math.floor(box.scrollTop / h) - 4);
    const last = Math.min(items.length, Math.ceil((box.scrollTop + box.clientHeight) / h) + 4);
    for (const [i, e] of shown) {
      if (i < first || i >= last) { e.remove(); shown.delete(i); }
    }
    for (let i = first; i < last; i++) {
      let e = shown.get(i);
      if (!e) { e = document.createElement("div"); shown.set(i, e); sizer.append(e); }
      e.style.top = i * h + "px";
      draw(e, items[i], i, items.length);
    }
  }
  const later = () => { frame ||= requestAnimationFrame(paint); };
  box.addEventListener("scroll", later, { passive: true });
  new ResizeObserver(later).observe(box);
  return {
    set(next) { items = next; sizer.style.height = items.length * height() + "px"; later(); },
    scrollTo(i) {
      const h = height();
      if (i * h < box.scrollTop) box.scrollTop = i * h;
      if ((i + 1) * h > box.scrollTop + box.clientHeight) box.scrollTop = (i + 1) * h - box.clientHeight;
      later();
    },
    get items() { return items; },
  };
}

const kinds = { running: "good", done: "good", paused: "warn", claiming: "warn", waiting: "warn", stopped: "bad" };
export const kind = (state) => kinds[state] || "";
