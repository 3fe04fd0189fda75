// The buttons: what a vchannel, or a collection, is to do. A worker that
// nobody may ask has them greyed out, with its own sentence.
import { $, count, size } from "./kit.js";

async function post(path, body) {
  const r = await fetch("api/" + path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  const text = await r.text();
  if (!r.ok) throw new Error(text.trim());
  return JSON.parse(text);
}

// came says in words what came of a flush or a seal.
function came(verb, answer) {
  const sum = (key) => answer.vchannels.reduce((n, v) => n + (v[key] || 0), 0);
  const wrong = answer.vchannels.filter((v) => v.error).map((v) => v.vchannel + ": " + v.error);
  if (wrong.length) return wrong.join("; ");
  const say = [(verb === "seal" ? "Sealed " : "Flushed ") + count(sum("segments")) + " segments, " + count(sum("rows")) + " rows, " + size(sum("bytes")) + " of memory"];
  if (sum("unsealed")) say.push(count(sum("unsealed")) + " are sealed once reading has passed what is stored");
  say.push(answer.vchannels.every((v) => v.committed) ? "all is committed" : "the commit is still to come");
  return say.join("; ") + ".";
}

const sealing = "No further row gets into the segments that are open now. What they hold is written, and rows that come later for them go to segments of the archive's own. This cannot be undone.";

export function control(again) {
  const buttons = [...document.querySelectorAll("#actions button")];
  const dialog = $("ask");
  let after = null; // where the focus goes once the dialog is closed
  dialog.addEventListener("close", () => after.focus());
  let busy = false;
  let now = null; // vchannel that is shown
  let may = { allowed: false };

  async function run(verb, body, then) {
    if (busy) return;
    busy = true;
    enable();
    tell(now, "Asked; waiting for the answer …");
    const about = now;
    try {
      tell(about, then(await post(verb, body)));
    } catch (error) {
      tell(about, "It was not done: " + error.message);
    }
    busy = false;
    enable();
    again();
  }

  // The sentence stays until another vchannel is shown, or something else is asked.
  let told = { about: "", text: "" };
  function tell(about, text) {
    told = { about: about ? about.vchannel : "", text };
    say();
  }
  function say() {
    const text = !may.allowed ? "These buttons do nothing here: " + (may.why || "this worker cannot be asked") + "." :
      now && told.about === now.vchannel && told.text ? told.text :
        now && !works(now) ? "There is nothing to flush or seal while it is " + now.state + "." : "";
    if ($("actions-say").textContent !== text) $("actions-say").textContent = text;
  }

  const works = (c) => c.state === "running" || c.state === "paused";

  function enable() {
    for (const b of buttons) b.disabled = busy || !may.allowed || !now || (b.dataset.do !== "pause" && !works(now));
  }

  const cut = (verb, body) => run(verb, { ...body, wait: "30s" }, (answer) => came(verb, answer));

  for (const b of buttons) {
    b.addEventListener("click", () => {
      const body = { vchannels: [now.vchannel] };
      if (b.dataset.do === "flush") cut("flush", body);
      else if (b.dataset.do === "seal") confirm("Seal all open segments of " + now.vchannel + "?", sealing, [["seal", () => cut("seal", body)]], $("actions"));
      else if (now.pause) run("resume", body, () => "It is read on.");
      else run("pause", body, () => "It is read no further until it is resumed, or this worker ends or loses the partition. What is buffered is flushed as ever.");
    });
  }

  // confirm asks before something is done. Escape and cancel do nothing.
  function confirm(title, text, choices, back) {
    after = back;
    $("ask-title").textContent = title;
    $("ask-text").textContent = text;
    $("ask-choices").replaceChildren(...[...choices, ["cancel", () => {}]].map(([name, act]) => {
      const b = document.createElement("button");
      b.type = "button";
      b.textContent = name;
      b.dataset.choice = name;
      b.disabled = !may.allowed && name !== "cancel";
      b.addEventListener("click", () => { dialog.close(); act(); });
      return b;
    }));
    dialog.showModal();
    $("ask-choices").lastChild.focus();
  }

  return {
    draw(answer, worker) {
      now = answer ? answer.vchannel : null;
      may = worker.control;
      $("actions").hidden = !answer;
      const pause = buttons.find((b) => b.dataset.do === "pause");
      pause.textContent = now && now.pause ? "resume" : "pause";
      enable();
      say();
    },
    // collection asks what is to be done with one, in all vchannels of the worker.
    collection(id, name) {
      const body = { collection: id };
      confirm("Collection " + name + " (" + id + ")", may.allowed ?
        "Flush writes what is buffered of it. Seal does that too. " + sealing : "Nothing can be asked for here: " + (may.why || "this worker cannot be asked") + ".",
      [["flush", () => cut("flush", body)], ["seal", () => cut("seal", body)]], $("segments-scroll"));
    },
  };
}
