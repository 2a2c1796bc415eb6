
"use strict";
(() => {
  const rows_at_first = 100;
  const sheet_every_ms = 5000;
  const said_of_state = {
    dead: "Its producer is dead. The name is free for another one.",
    silent: "Its producer does not answer at the moment.",
    foreign: "It is another user's, who alone may ask it.",
  };
  const token = new URLSearchParams(location.hash.slice(1)).get("token") || "";
  const cards = new Map();
  let newest = null;
  let looked = 0;
  let paused = false;
  let timer = 0;
  const sort = { key: "name", down: false };

  const at = (id) => document.getElementById(id);
  // Names are those of strangers: they only ever become text.
  const make = (tag, name = "", text = "") => {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text) made.textContent = text;
    return made;
  };
  const draw = (tag, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const put = (element, text) => { if (element.textContent !== text) element.textContent = text; };
  const is = (element, name, on) => element.classList.toggle(name, on);

  const count = (n) => Math.round(n).toLocaleString("en-US");
  const short = (n) => {
    if (!(n >= 0)) return "–";
    if (n < 10) return String(Math.round(n * 10) / 10);
    if (n < 10000) return count(n);
    for (const unit of ["k", "M", "G", "T"]) {
      n /= 1000;
      if (n < 1000) return (n < 100 ? n.toFixed(1) : n.toFixed(0)) + " " + unit;
    }
    return "–";
  };
  const percent = (share) => Math.round(100 * share) + "%";
  const plural = (n, one, many) => count(n) + " " + (n === 1 ? one : many);
  const time = (s) => (s < 90 ? Math.round(s) + " s" : s < 5400 ? Math.round(s / 60) + " min"
    : s < 172800 ? (s / 3600).toFixed(1) + " h" : Math.round(s / 86400) + " days");
  const bytes = (n) => {
    for (const unit of ["B", "KiB", "MiB", "GiB"]) {
      if (n < 1024) return (n < 10 ? n.toFixed(1) : n.toFixed(0)) + " " + unit;
      n /= 1024;
    }
    return n.toFixed(1) + " TiB";
  };
  // What stands between backquotes is a command or a name.
  const put_words = (element, text) => {
    if (element.dataset.words === text) return;
    element.dataset.words = text;
    const parts = text.split("`");
    element.replaceChildren(...parts.map((part, i) =>
      i % 2 && i + 1 < parts.length ? make("code", "", part) : document.createTextNode((i % 2 ? "`" : "") + part)));
  };
  const bar = () => { const outer = make("span", "bar"); outer.append(make("i")); return outer; };
  const set_bar = (outer, share) => {
    outer.firstChild.style.width = Math.min(100, 100 * share).toFixed(1) + "%";
  };

  const columns = [
    { key: "name", title: "Trainer", of: (r) => r.name },
    { key: "placement", title: "Place", wide: true, of: (r) => r.placement },
    { key: "rate", title: "Samples/s", down: true, of: (r) => r.rate || 0 },
    { key: "lag", title: "Lag", down: true, of: (r) => r.lag },
    { key: "wait_share", title: "Waits", down: true, of: (r) => r.wait_share },
    { key: "waited_for_share", title: "Waited for", down: true, of: (r) => r.waited_for_share },
  ];

  class Table {
    constructor() {
      this.element = make("div");
      this.scroll = make("div", "scroll");
      this.scroll.tabIndex = 0;
      this.scroll.setAttribute("role", "region");
      this.scroll.setAttribute("aria-label", "Trainers");
      const table = make("table");
      const head = make("tr");
      this.heads = columns.map((column) => {
        const cell = make("th", column.wide ? "wide" : "");
        cell.scope = "col";
        const button = make("button", "", column.title);
        button.type = "button";
        button.addEventListener("click", () => {
          sort.down = sort.key === column.key ? !sort.down : Boolean(column.down);
          sort.key = column.key;
          show();
        });
        cell.append(button);
        head.append(cell);
        return cell;
      });
      const thead = make("thead");
      thead.append(head);
      this.body = make("tbody");
      table.append(thead, this.body);
      this.scroll.append(table);
      this.more = make("p", "more");
      this.more_text = make("span");
      this.more_button = make("button", "", "Show all");
      this.more_button.type = "button";
      this.more_button.addEventListener("click", () => { this.all = true; show(); });
      this.more.append(this.more_text, this.more_button);
      this.element.append(this.scroll, this.more);
      this.rows = [];
      this.all = false;
    }
    row() {
      const tr = make("tr");
      const name = make("td");
      const words = make("span");
      const group = make("span", "group");
      const odd = make("span", "odd");
      name.append(words, group, odd);
      const lag = make("td");
      const lag_text = make("span");
      const lag_bar = bar();
      lag.append(lag_text, lag_bar);
      const cells = [make("td", "wide"), make("td"), make("td"), make("td")];
      tr.append(name, cells[0], cells[1], lag, cells[2], cells[3]);
      return { tr, words, group, odd, lag_text, lag_bar, place: cells[0], rate: cells[1], waits: cells[2], waited: cells[3] };
    }
    fill(row, r) {
      put(row.words, r.name);
      put(row.group, r.group ? "rank " + r.rank + " of " + r.world : "");
      put(row.odd, r.state === "running" ? "" : r.state);
      put(row.place, r.placement);
      put(row.rate, r.rate === undefined ? "–" : short(r.rate));
      put(row.lag_text, short(r.lag));
      set_bar(row.lag_bar, r.lag_share);
      is(row.lag_bar, "full", r.lag_share > 0.9);
      put(row.waits, percent(r.wait_share));
      put(row.waited, percent(r.waited_for_share));
      is(row.waited, "high", r.waited_for_share > 0.05);
      is(row.tr, "limits", Boolean(r.limits));
    }
    show(list, left_out) {
      const wanted = at("filter").value.toLowerCase();
      const found = list.filter((r) => r.name.toLowerCase().includes(wanted));
      const of = columns.find((column) => column.key === sort.key).of;
      const by = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
      found.sort((a, b) => (sort.down ? -1 : 1) * by(of(a), of(b)) || by(a.name, b.name) || a.id - b.id);
      const shown = this.all ? found : found.slice(0, rows_at_first);
      while (this.rows.length < shown.length) {
        const row = this.row();
        this.rows.push(row);
        this.body.append(row.tr);
      }
      while (this.rows.length > shown.length) this.rows.pop().tr.remove();
      shown.forEach((r, i) => this.fill(this.rows[i], r));
      columns.forEach((column, i) => {
        this.heads[i].setAttribute("aria-sort", sort.key !== column.key ? "none" : sort.down ? "descending" : "ascending");
      });
      this.scroll.hidden = list.length === 0;
      const hidden = found.length - shown.length;
      const texts = [];
      if (list.length === 0) texts.push("No trainer is attached.");
      else if (found.length < list.length) texts.push(count(found.length) + " of " + plural(list.length, "trainer", "trainers") + " match.");
      if (hidden > 0) texts.push(count(hidden) + " more are not shown.");
      if (left_out > 0) texts.push("The producer leaves " + count(left_out) + " more out.");
      put(this.more_text, texts.join(" "));
      this.more_button.hidden = hidden <= 0;
      this.more.hidden = texts.length === 0;
    }
  }

  class Chart {
    constructor() {
      this.element = make("figure");
      const caption = make("figcaption");
      this.left = make("span");
      this.right = make("span");
      caption.append(this.left, this.right);
      const box = make("div", "chart");
      this.svg = draw("svg", { viewBox: "0 0 1000 100", preserveAspectRatio: "none", role: "img" });
      this.area = draw("path", { class: "area" });
      this.line = draw("path", { class: "line" });
      this.mark = draw("line", { class: "mark", y1: 0, y2: 90, visibility: "hidden" });
      this.strip = draw("g", {});
      this.svg.append(draw("line", { class: "base", x1: 0, x2: 1000, y1: 90, y2: 90 }), this.area, this.line, this.strip, this.mark);
      box.append(this.svg);
      this.element.append(caption, box);
      this.points = [];
      box.addEventListener("pointermove", (event) => this.point(event));
      box.addEventListener("pointerleave", () => { this.mark.setAttribute("visibility", "hidden"); this.caption(); });
    }
    x(age) { return 1000 * (1 - age / this.span); }
    point(event) {
      if (!this.points.length) return;
      const box = this.svg.getBoundingClientRect();
      const age = this.span * (1 - (event.clientX - box.left) / box.width);
      const near = this.points.reduce((a, b) => (Math.abs(b.age - age) < Math.abs(a.age - age) ? b : a));
      this.mark.setAttribute("visibility", "visible");
      this.mark.setAttribute("x1", this.x(near.age));
      this.mark.setAttribute("x2", this.x(near.age));
      put(this.right, short(near.rate) + "/s, " + time(near.age) + " ago" + (near.by === "nothing" ? "" : ", limited by: " + near.by));
    }
    caption() { put(this.right, this.points.length ? "up to " + short(this.top) + "/s" : ""); }
    show(history) {
      this.points = history.age.map((age, i) => ({ age, rate: history.rate[i], by: history.limiter[i] }));
      const oldest = this.points.length ? this.points[0].age : 0;
      this.span = Math.min(newest.history_seconds, Math.max(60, oldest));
      this.top = this.points.reduce((most, p) => Math.max(most, p.rate), 0);
      const y = (rate) => 88 - 84 * (this.top > 0 ? rate / this.top : 0);
      let line = "";
      let area = "";
      let from = null;
      this.points.forEach((p, i) => {
        const before = this.points[i - 1];
        const gap = !before || before.age - p.age > 30;
        const place = this.x(p.age).toFixed(1) + " " + y(p.rate).toFixed(1);
        if (gap && before) area += "L" + this.x(before.age).toFixed(1) + " 90L" + from + " 90Z";
        if (gap) from = this.x(p.age).toFixed(1);
        line += (gap ? "M" : "L") + place;
        area += (gap ? "M" : "L") + place;
      });
      if (this.points.length) area += "L" + this.x(this.points.at(-1).age).toFixed(1) + " 90L" + from + " 90Z";
      this.line.setAttribute("d", line);
      this.area.setAttribute("d", area);
      this.show_strip();
      put(this.left, "Samples a second, the last " + time(this.span));
      if (this.mark.getAttribute("visibility") === "hidden") this.caption();
      const mean = this.points.reduce((sum, p) => sum + p.rate, 0) / Math.max(1, this.points.length);
      this.svg.setAttribute("aria-label", "Samples a second in the last " + time(this.span) + ": on average " + short(mean) + ", at most " + short(this.top));
    }
    show_strip() {
      const runs = [];
      for (const p of this.points) {
        const last = runs.at(-1);
        if (last && last.by === p.by && last.end - p.age < 30) last.end = p.age;
        else runs.push({ by: p.by, begin: last && last.end - p.age < 30 ? last.end : p.age, end: p.age });
      }
      this.strip.replaceChildren(...runs.map((run) => draw("rect", {
        class: "by-" + run.by, x: this.x(run.begin), width: Math.max(1, this.x(run.end) - this.x(run.begin)), y: 94, height: 6 })));
    }
  }

  class Sheet {
    constructor(stream) {
      this.stream = stream;
      this.element = make("details");
      this.element.append(make("summary", "", "What trainers see now"));
      this.image = make("img");
      this.image.hidden = true;
      this.words = make("p");
      this.element.append(this.image, this.words);
      this.taken = 0;
      this.busy = false;
      this.element.addEventListener("toggle", () => this.look());
    }
    async look() {
      const now = performance.now();
      const wanted = this.element.open && this.element.isConnected && !document.hidden && !paused;
      if (!wanted || this.busy || (this.taken && now - this.taken < sheet_every_ms)) return;
      this.busy = true;
      this.taken = now;
      try {
        const answer = await ask("/sheet?stream=" + encodeURIComponent(this.stream));
        if (answer.ok) this.take(await answer.blob());
        else put(this.words, (await answer.text()).trim());
      } catch {
        put(this.words, "No picture came.");
      }
      this.busy = false;
    }
    take(picture) {
      const old = this.image.src;
      this.image.src = URL.createObjectURL(picture);
      this.image.alt = "A sheet of the newest samples of stream " + this.stream + ", each with its label and number";
      this.image.hidden = false;
      if (old) URL.revokeObjectURL(old);
      put(this.words, "The newest samples, as trainers get them. Taken while this part is open.");
    }
  }

  class Card {
    constructor(stream) {
      this.element = make("section");
      const title = make("div", "title");
      this.name = make("h2");
      this.name.id = "stream-" + cards.size + "-" + Math.random().toString(36).slice(2);
      this.element.setAttribute("aria-labelledby", this.name.id);
      this.state = make("span", "state");
      this.facts = make("span", "facts");
      title.append(this.name, this.state, this.facts);
      this.limit = make("p", "limit");
      this.body = make("div");
      const tiles = make("dl", "tiles");
      this.tiles = ["Samples/s", "Trainers", "Epoch", "Saved CPU", "Bad samples"].map((name) => {
        const tile = make("div");
        const value = make("dd");
        tile.append(make("dt", "", name), value);
        tiles.append(tile);
        return { tile, value };
      });
      this.chart = new Chart();
      this.rings = make("div", "rings");
      this.ring_rows = [];
      this.table = new Table();
      this.sheet = stream.owner ? null : new Sheet(stream.stream);
      this.body.append(tiles, this.chart.element, this.rings, this.table.element);
      if (this.sheet) this.body.append(this.sheet.element);
      this.element.append(title, this.limit, this.body);
    }
    show_rings(stream) {
      const lines = [];
      for (const ring of stream.rings) {
        lines.push({ name: "ring " + ring.placement, share: ring.capacity ? ring.used / ring.capacity : 0,
          text: count(ring.used) + " of " + count(ring.capacity) + " samples wait, " + bytes(ring.memory) });
        for (const axis of ring.axes) {
          lines.push({ name: axis.name, share: axis.rows ? axis.used / axis.rows : 0, text: count(axis.used) + " of " + count(axis.rows) + " rows" });
        }
      }
      while (this.ring_rows.length < lines.length) {
        const row = { line: make("div"), name: make("span"), bar: bar(), text: make("span") };
        row.line.append(row.name, row.bar, row.text);
        this.rings.append(row.line);
        this.ring_rows.push(row);
      }
      while (this.ring_rows.length > lines.length) this.ring_rows.pop().line.remove();
      lines.forEach((line, i) => {
        put(this.ring_rows[i].name, line.name);
        put(this.ring_rows[i].text, line.text);
        set_bar(this.ring_rows[i].bar, line.share);
      });
    }
    show(stream) {
      put(this.name, stream.stream);
      put(this.state, stream.state);
      this.state.className = "state " + stream.state.replace(/[^a-z]/g, "");
      is(this.element, "away", !stream.answers);
      this.body.hidden = !stream.answers;
      const facts = [];
      if (stream.owner) facts.push("of " + stream.owner);
      if (stream.pid) facts.push("pid " + stream.pid);
      if (stream.answers) facts.push("up " + time(stream.uptime_seconds));
      put(this.facts, facts.join("  ·  "));
      const words = stream.answers ? stream.limiter_text : said_of_state[stream.state] || "Its producer does not answer.";
      this.limit.className = "limit by-" + (stream.limiter || "none");
      this.limit.hidden = !words;
      put_words(this.limit, words || "");
      this.say(stream, words);
      if (!stream.answers) return;
      const values = [short(stream.rate), count(stream.consumers.length + stream.consumers_left_out), count(stream.epoch), stream.saved_text || "", count(stream.bad_samples || 0)];
      this.tiles.forEach(({ tile, value }, i) => put(value, values[i]));
      this.tiles[3].tile.hidden = !stream.saved_text;
      this.tiles[4].tile.hidden = !stream.bad_samples;
      this.chart.show(stream.history);
      this.show_rings(stream);
      this.table.show(stream.consumers, stream.consumers_left_out);
      if (this.sheet) this.sheet.look();
    }
    say(stream, words) {
      const state = stream.state + " " + (stream.limiter || "");
      if (this.said !== undefined && this.said !== state) put(at("said"), stream.stream + ": " + stream.state + ". " + (words || ""));
      this.said = state;
    }
  }

  const ask = (path) => fetch(path, { headers: { Authorization: "Bearer " + token }, cache: "no-store", credentials: "omit" });

  const notice = (text) => {
    at("notice").hidden = !text;
    put_words(at("notice"), text);
  };
  const live = (name, text) => {
    at("live").className = "live " + name;
    put(at("live").lastChild, text);
  };

  function show() {
    if (!newest) return;
    const seen = new Set();
    const main = at("streams");
    let trainers = 0;
    newest.streams.forEach((stream, i) => {
      let key = JSON.stringify([stream.owner, stream.stream]);
      while (seen.has(key)) key += "+";
      seen.add(key);
      let card = cards.get(key);
      if (!card) cards.set(key, (card = new Card(stream)));
      if (main.children[i] !== card.element) main.insertBefore(card.element, main.children[i] || null);
      card.show(stream);
      trainers += stream.answers ? stream.consumers.length + stream.consumers_left_out : 0;
    });
    for (const [key, card] of cards) {
      if (seen.has(key)) continue;
      card.element.remove();
      cards.delete(key);
    }
    let none = main.querySelector(".none");
    if (newest.streams.length === 0 && !none) {
      none = make("p", "none");
      put_words(none, "No stream is served. `batchcast serve` starts one, and it appears here.");
      main.append(none);
    } else if (newest.streams.length && none) none.remove();
    const idle = newest.idle_processors >= 0 ? ", " + Math.floor(newest.idle_processors + 0.25) + " of " + plural(newest.processors, "processor", "processors") + " idle" : "";
    const pressure = newest.pressure >= 0 ? ", pressure " + Math.round(100 * newest.pressure) + "%" : "";
    put(at("summary"), plural(newest.streams.length, "stream", "streams") + ", " + plural(trainers, "trainer", "trainers") + idle + pressure);
    put(at("version"), "batchcast " + newest.version + ", " + newest.time);
    document.documentElement.dataset.looks = String(looked);
  }

  async function look() {
    clearTimeout(timer);
    if (!token) {
      live("off", "no token");
      notice("This page shows streams only under the address that `batchcast metrics` or `batchcast top --web` printed, with its token.");
      return;
    }
    if (paused || document.hidden) return;
    let rest_ms = 2000;
    try {
      const answer = await ask("/data");
      if (answer.status === 401) {
        live("off", "refused");
        notice("This token is not of the exporter that runs now. Open the address that `batchcast metrics` printed last.");
        return;
      }
      if (!answer.ok) throw new Error();
      newest = await answer.json();
      ++looked;
      rest_ms = Math.max(500, 1000 * newest.interval_seconds);
      notice("");
      live("on", "live");
      show();
    } catch {
      live("off", "no answer");
      notice("The exporter does not answer. What is shown here is old.");
    }
    clearTimeout(timer);
    timer = setTimeout(look, rest_ms);
  }

  function pause() {
    paused = !paused;
    at("pause").setAttribute("aria-pressed", String(paused));
    put(at("pause"), paused ? "Go on" : "Pause");
    live(paused ? "" : "on", paused ? "paused" : "live");
    if (!paused) look();
  }
  const themes = ["auto", "light", "dark"];
  function theme(name) {
    if (name === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    put(at("theme"), "Theme: " + name);
    try { localStorage.setItem("theme", name); } catch { /* it is not kept */ }
  }
  function next_theme() {
    theme(themes[(themes.indexOf(document.documentElement.dataset.theme || "auto") + 1) % themes.length]);
  }

  at("pause").addEventListener("click", pause);
  at("theme").addEventListener("click", next_theme);
  at("filter").addEventListener("input", show);
  at("filter").addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    at("filter").value = "";
    at("filter").blur();
    show();
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target === at("filter")) return;
    if (event.key === "/") { event.preventDefault(); at("filter").focus(); }
    if (event.key === "p") pause();
    if (event.key === "t") next_theme();
  });
  document.addEventListener("visibilitychange", look);
  addEventListener("hashchange", () => location.reload());
  let kept = "auto";
  try { kept = localStorage.getItem("theme") || "auto"; } catch { /* there is none */ }
  theme(themes.includes(kept) ? kept : "auto");
  look();
})();
