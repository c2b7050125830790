
const run = JSON.parse(byId("data").textContent);
const ROWS_OF_PAGE = 64;

function host(index) {
  return run.hosts[index] === undefined ? "host " + index : run.hosts[index];
}

function baseName(path) {
  return path.split("/").pop();
}

// ---- head ---------------------------------------------------------------------------------------

function showHead() {
  const names = [...new Set(run.programs.map(baseName))].join(" : ");
  const title = (names || "a run") + " on " + count(run.ranks, "rank");
  byId("title").textContent = title;
  document.title = title + " – ftmpi";
  const began = new Date(run.began * 1000);
  byId("subtitle").textContent = "protocol " + run.protocol + ", " + count(run.hosts.length, "host") + ", began " +
    began.toLocaleString() + ", ran for " + seconds(run.wall_s);
  const lost = run.failures.reduce((sum, failure) => sum + (failure.lost_s || 0), 0);
  const ended = run.exit_code === 0;
  const total = run.wall_s * run.ranks;
  byId("key").className = "cards";
  byId("key").append(
    card("exit code", run.exit_code, ended ? "good" : "bad"),
    card("duration", seconds(run.wall_s)),
    card(run.failures.length === 1 ? "failure" : "failures", run.failures.length, run.failures.length && !ended ? "bad" : ""),
    card("lost to failures, summed", seconds(lost)),
    card("images stored", run.checkpoints.count + " (" + size(run.checkpoints.bytes) + ")"),
    card("stopped by images", total > 0 ? percent(run.rank_time.image_pauses_s / total) : "–"),
    card("messages", number(run.messages.sent) + " (" + size(run.messages.payload_bytes) + ")"),
    card("logs at most", size(run.logs.peak_bytes)));
  if (run.summary.length) {
    byId("summary").append(element("ul", { class: "summary" },
      ...run.summary.map((line) => element("li", {}, line.replace(/^summary: /, "")))));
  }
}

// ---- timeline -----------------------------------------------------------------------------------

// A plot of the ranks over time. `view` is the stretch of time that is shown.
function Timeline(place) {
  const end = Math.max(run.wall_s, 0.001);
  const failed = new Set(run.failures.concat(run.orphans).map((failure) => failure.rank));
  const state = { from: 0, to: end, page: 0, only: false, chosen: 0 };
  const images = new Map();
  for (const image of run.timeline.images) {
    if (!images.has(image.rank)) images.set(image.rank, []);
    images.get(image.rank).push(image);
  }
  const calls = new Map(run.timeline.calls.map((of) => [of.rank, of.spans]));
  const marks = new Map();
  for (const failure of run.failures.concat(run.orphans)) {
    if (!marks.has(failure.rank)) marks.set(failure.rank, []);
    marks.get(failure.rank).push(failure);
  }
  const hostOf = (rank) => (rank.spans.length ? rank.spans[rank.spans.length - 1].host : 0);
  const everybody = [...run.timeline.ranks].sort((a, b) => hostOf(a) - hostOf(b) || a.rank - b.rank);
  const svg = shape("svg", { tabindex: "0", role: "img", "aria-describedby": "timeline-status" });
  const status = element("p", { class: "status", id: "timeline-status", "aria-live": "polite" });
  const pageText = element("span", { class: "soft" });
  const ranks = () => (state.only ? everybody.filter((rank) => failed.has(rank.rank)) : everybody);

  function button(text, label, act) {
    const made = element("button", { type: "button", "aria-label": label, title: label }, text);
    made.addEventListener("click", act);
    return made;
  }
  function zoom(factor, around) {
    const middle = around === undefined ? (state.from + state.to) / 2 : around;
    const width = Math.min(end, Math.max(end / 1e6, (state.to - state.from) * factor));
    const part = (middle - state.from) / (state.to - state.from);
    state.from = Math.max(0, Math.min(end - width, middle - width * part));
    state.to = state.from + width;
    draw();
  }
  function pan(part) {
    const width = state.to - state.from;
    state.from = Math.max(0, Math.min(end - width, state.from + width * part));
    state.to = state.from + width;
    draw();
  }
  function all() {
    state.from = 0;
    state.to = end;
    draw();
  }
  function turn(step) {
    const pages = Math.max(1, Math.ceil(ranks().length / ROWS_OF_PAGE));
    state.page = Math.max(0, Math.min(pages - 1, state.page + step));
    state.chosen = state.page * ROWS_OF_PAGE;
    draw();
  }
  const only = element("select", { "aria-label": "Ranks that are shown" }, element("option", { value: "all" }, "all ranks"),
    element("option", { value: "failed" }, "ranks that failed"));
  only.addEventListener("change", () => {
    state.only = only.value === "failed";
    state.page = 0;
    state.chosen = 0;
    draw();
  });
  const previous = button("↑", "earlier ranks", () => turn(-1));
  const next = button("↓", "later ranks", () => turn(1));
  const tools = element("div", { class: "tools" }, button("+", "zoom in", () => zoom(0.5)), button("−", "zoom out", () => zoom(2)),
    button("all", "show the whole run", all), button("←", "earlier", () => pan(-0.25)), button("→", "later", () => pan(0.25)),
    button("✕ next", "go to the next failure", () => toFailure()), only, previous, next, pageText);

  function toFailure() {
    const times = run.failures.map((failure) => ({ at: failure.at_s, rank: failure.rank })).sort((a, b) => a.at - b.at);
    if (!times.length) {
      status.textContent = "No rank failed.";
      return;
    }
    const middle = (state.from + state.to) / 2;
    const found = times.find((time) => time.at > middle + (state.to - state.from) / 1e3) || times[0];
    const width = Math.min(end, Math.max(end / 20, 2));
    state.from = Math.max(0, Math.min(end - width, found.at - width / 2));
    state.to = state.from + width;
    choose(ranks().findIndex((rank) => rank.rank === found.rank));
  }
  function describe(rank, span) {
    return "rank " + rank.rank + " on " + host(span.host) + ", incarnation " + span.incarnation + ": " + STATES[span.state] + " from " +
      seconds(span.from_s) + " to " + seconds(span.to_s) + " (" + seconds(span.to_s - span.from_s) + ")";
  }
  function describeRank(rank) {
    const own = marks.get(rank.rank) || [];
    const text = "rank " + rank.rank + " on " + host(hostOf(rank)) + ": " + count(own.length, "failure") + ", " +
      count((images.get(rank.rank) || []).length, "image");
    return own.length ? text + "; " + own.slice(-2).map((failure) => seconds(failure.at_s) + " " + failure.cause).join("; ") : text;
  }
  function choose(index) {
    const list = ranks();
    if (!list.length) return;
    state.chosen = Math.max(0, Math.min(list.length - 1, index));
    state.page = Math.floor(state.chosen / ROWS_OF_PAGE);
    draw();
    status.textContent = describeRank(list[state.chosen]);
  }
  svg.addEventListener("keydown", (event) => {
    const acts = { ArrowLeft: () => pan(-0.25), ArrowRight: () => pan(0.25), "+": () => zoom(0.5), "=": () => zoom(0.5),
      "-": () => zoom(2), 0: all, ArrowUp: () => choose(state.chosen - 1), ArrowDown: () => choose(state.chosen + 1),
      PageUp: () => turn(-1), PageDown: () => turn(1), n: () => toFailure() };
    if (acts[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
      acts[event.key]();
      event.preventDefault();
    }
  });
  let drag = null;
  svg.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, from: state.from };
  });
  svg.addEventListener("pointermove", (event) => {
    if (!drag || Math.abs(event.clientX - drag.x) < 4) return;
    const width = state.to - state.from;
    const moved = (drag.x - event.clientX) / svg.clientWidth * width;
    state.from = Math.max(0, Math.min(end - width, drag.from + moved));
    state.to = state.from + width;
    draw();
  });
  for (const name of ["pointerup", "pointercancel", "pointerleave"]) svg.addEventListener(name, () => { drag = null; });
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const box = svg.getBoundingClientRect();
    zoom(event.deltaY < 0 ? 0.8 : 1.25, state.from + (event.clientX - box.left) / box.width * (state.to - state.from));
  }, { passive: false });

  function draw() {
    const list = ranks();
    const shown = list.slice(state.page * ROWS_OF_PAGE, (state.page + 1) * ROWS_OF_PAGE);
    const pages = Math.max(1, Math.ceil(list.length / ROWS_OF_PAGE));
    const width = Math.max(260, place.clientWidth - 2);
    const label = width < 560 ? 44 : 64;
    const row = shown.length > 24 ? 14 : 20;
    const waves = run.timeline.waves.length > 0;
    const top = 22 + (waves ? 14 : 0);
    let hosts = 0;
    let last = null;
    for (const rank of shown) {
      if (hostOf(rank) !== last) hosts += 1;
      last = hostOf(rank);
    }
    const height = top + shown.length * row + hosts * 16 + 8;
    const x = (at) => label + (at - state.from) / (state.to - state.from) * (width - label - 6);
    svg.replaceChildren();
    svg.setAttribute("viewBox", "0 0 " + width + " " + height);
    svg.setAttribute("height", height);
    svg.setAttribute("aria-label", "States of " + count(shown.length, "rank") + " from " + seconds(state.from) + " to " + seconds(state.to) +
      ". Arrow keys move, plus and minus zoom, 0 shows all, n goes to the next failure.");
    function rect(from, to, y, tall, name, least) {
      const left = Math.max(label, x(from));
      const right = Math.min(width - 6, x(to));
      if (right < label || left > width - 6) return null;
      const made = shape("rect", { x: left.toFixed(2), y, width: Math.max(least, right - left).toFixed(2), height: tall, class: name });
      svg.append(made);
      return made;
    }
    function tell(made, text) {
      if (!made) return;
      made.addEventListener("pointerenter", () => { status.textContent = text(); });
    }
    for (const at of ticks(state.from, state.to, Math.max(3, width / 110))) {
      svg.append(shape("line", { x1: x(at), x2: x(at), y1: 18, y2: height, class: "axis" }));
      const text = shape("text", { x: Math.min(x(at) + 3, width - 40), y: 13 });
      text.textContent = tick(at);
      svg.append(text);
    }
    if (waves) {
      const text = shape("text", { x: 2, y: 31 });
      text.textContent = "waves";
      svg.append(text);
      for (const wave of run.timeline.waves) {
        tell(rect(wave.from_s, wave.to_s, 23, 9, wave.complete ? "wave" : "wave void", 2), () => "wave " + wave.wave + ": " +
          (wave.complete ? "complete" : "void") + ", " + seconds(wave.to_s - wave.from_s) + ", " + size(wave.bytes));
      }
    }
    let y = top;
    last = null;
    shown.forEach((rank, index) => {
      if (hostOf(rank) !== last) {
        last = hostOf(rank);
        const text = shape("text", { x: 2, y: y + 12 });
        text.textContent = host(last);
        svg.append(text);
        y += 16;
      }
      const chosen = state.page * ROWS_OF_PAGE + index === state.chosen;
      svg.append(shape("rect", { x: 0, y, width, height: row, class: chosen ? "row chosen-row" : "row" }));
      const text = shape("text", { x: 8, y: y + row - 5 });
      text.textContent = String(rank.rank);
      svg.append(text);
      for (const span of rank.spans) {
        if (span.to_s < state.from || span.from_s > state.to) continue;
        tell(rect(span.from_s, span.to_s, y + 2, row - 4, span.state, 1), () => describe(rank, span));
      }
      for (const call of calls.get(rank.rank) || []) {
        if (call.to_s < state.from || call.from_s > state.to || x(call.to_s) - x(call.from_s) < 0.7) continue;
        tell(rect(call.from_s, call.to_s, y + 5, row - 10, "mpi", 0.7), () => "rank " + rank.rank + " at " + seconds(call.from_s) + ": " +
          call.name + " for " + milliseconds((call.to_s - call.from_s) * 1000) +
          (call.calls > 1 ? "; " + count(call.calls - 1, "call") + " before it not shown" : ""));
      }
      for (const image of images.get(rank.rank) || []) {
        if (image.taken_s === null) continue;
        const pause = image.pause_ms / 1000;
        const about = () => "rank " + rank.rank + ", image " + image.image + ": stopped for " + milliseconds(image.pause_ms) + ", " +
          (image.lost === null ? (image.ended_s === null ? "not durable at the end" : size(image.bytes) + " durable " +
            seconds(image.ended_s - image.ordered_s) + " after its order") : "lost: " + image.lost);
        if (image.ended_s !== null) tell(rect(image.taken_s, image.ended_s, y + row - 5, 3, "transfer", 1), about);
        tell(rect(image.taken_s - pause, image.taken_s, y + 2, row - 4, "image_pauses", 2), about);
      }
      for (const failure of marks.get(rank.rank) || []) {
        const at = x(failure.at_s - (failure.detect_ms || 0) / 1000);
        if (at < label || at > width - 6) continue;
        const mid = y + row / 2;
        const mark = shape("path", { d: "M" + (at - 4) + " " + (mid - 4) + "l8 8m0 -8l-8 8", class: "mark" });
        svg.append(mark);
        tell(mark, () => "rank " + rank.rank + " at " + seconds(failure.at_s) + ": " + failure.cause);
      }
      y += row;
    });
    previous.disabled = state.page === 0;
    next.disabled = state.page >= pages - 1;
    previous.hidden = next.hidden = pages < 2;
    pageText.textContent = pages < 2 ? count(list.length, "rank") : "ranks " + (state.page * ROWS_OF_PAGE + 1) + "–" +
      (state.page * ROWS_OF_PAGE + shown.length) + " of " + list.length;
  }
  place.append(tools, element("div", { class: "plot" }, svg), status,
    legend(["running", "image_pauses", "dead", "restoring", "catching_up", "stopping", "starting", "waiting", "done"]));
  const left = run.timeline.left_out;
  const gone = left.spans + left.images + left.waves + left.events;
  if (gone) {
    place.append(element("p", { class: "soft" }, "The oldest entries are not in this file: " + count(left.spans, "span") + ", " +
      count(left.images, "image") + ", " + count(left.waves, "wave") + ", " + count(left.events, "line") + ". Sums contain them."));
  }
  status.textContent = "Choose a part of the plot, or use the keys: ← → + − 0 ↑ ↓ n.";
  new ResizeObserver(draw).observe(place);
  draw();
}

// ---- sections -----------------------------------------------------------------------------------

function showTime() {
  const place = byId("time");
  const parts = Object.keys(STATES).map((name) => ({ name, value: run.rank_time[name + "_s"] || 0 }));
  const total = parts.reduce((sum, part) => sum + part.value, 0) || 1;
  const bar = element("div", { class: "bar", role: "img", "aria-label": "Time of all ranks by state; the table has the figures" });
  for (const part of parts) {
    if (part.value <= 0) continue;
    const piece = element("span", { class: part.name, title: STATES[part.name] + " " + percent(part.value / total) });
    piece.style.flexGrow = String(part.value);
    piece.style.flexBasis = "0";
    bar.append(piece);
  }
  place.append(bar, table([
    { name: "state", value: (part) => element("span", { class: "legend" }, element("span", { class: "swatch " + part.name }), " " + STATES[part.name]) },
    { name: "time of all ranks", number: true, value: (part) => seconds(part.value) },
    { name: "share", number: true, value: (part) => percent(part.value / total) },
  ], parts.filter((part) => part.value > 0), "Time of " + count(run.ranks, "rank") + ", added up"));
}

function showMpiTime() {
  if (!run.mpi_time.length) return;
  const place = byId("time");
  const sums = new Map();
  for (const rank of run.mpi_time) {
    for (const call of rank.calls) {
      const sum = sums.get(call.name) || { name: call.name, calls: 0, time_s: 0, longest_ms: 0, most_s: 0, rank: rank.rank };
      sum.calls += call.calls;
      sum.time_s += call.time_s;
      sum.longest_ms = Math.max(sum.longest_ms, call.longest_ms);
      if (call.time_s > sum.most_s) [sum.most_s, sum.rank] = [call.time_s, rank.rank];
      sums.set(call.name, sum);
    }
  }
  const total = run.rank_time.running_s + run.rank_time.catching_up_s || 1;
  const rows = [...sums.values()].sort((a, b) => b.time_s - a.time_s).slice(0, 40);
  const columns = [
    { name: "function", value: (row) => element("code", {}, row.name) },
    { name: "calls", number: true, value: (row) => number(row.calls) },
    { name: "time of all ranks", number: true, value: (row) => seconds(row.time_s) },
    { name: "of the running time", number: true, value: (row) => percent(row.time_s / total) },
    { name: "longest call", number: true, value: (row) => milliseconds(row.longest_ms) },
    { name: "most of a rank", number: true, value: (row) => seconds(row.most_s) + " (rank " + row.rank + ")" },
  ];
  place.append(element("h3", {}, "In MPI"), table(columns, rows, "Calls of all ranks; estimated from some of them where they come fast"));
  const ranks = run.mpi_time.map((rank) => ({ rank: rank.rank, time_s: rank.calls.reduce((sum, call) => sum + call.time_s, 0),
    most: rank.calls.slice(0, 3).map((call) => call.name + " " + seconds(call.time_s)).join(", ") }));
  ranks.sort((a, b) => b.time_s - a.time_s);
  place.append(element("details", {}, element("summary", {}, "Time in MPI of each rank"), table([
    { name: "rank", number: true, value: (row) => row.rank },
    { name: "in MPI", number: true, value: (row) => seconds(row.time_s) },
    { name: "most in", text: true, value: (row) => row.most },
  ], ranks.slice(0, 256), "The ranks with the longest times first")));
}

function showFailures() {
  const place = byId("failures");
  const rows = run.failures.map((failure) => ({ ...failure, what: failure.recovery }))
    .concat(run.orphans.map((failure) => ({ ...failure, what: "orphan" }))).sort((a, b) => a.at_s - b.at_s);
  if (!rows.length) place.append(element("p", {}, "No rank failed."));
  else {
    place.append(table([
      { name: "at", number: true, value: (row) => seconds(row.at_s) },
      { name: "rank", number: true, value: (row) => row.rank },
      { name: "cause", text: true, value: (row) => row.cause },
      { name: "recovery", value: (row) => row.what + " from " + (row.image === null ? "the start" : "image " + row.image) },
      { name: "detected", number: true, value: (row) => milliseconds(row.detect_ms) },
      { name: "restored", number: true, value: (row) => milliseconds(row.restore_ms) },
      { name: "caught up", number: true, value: (row) => milliseconds(row.catch_up_ms) },
      { name: "replayed", number: true, value: (row) => number(row.replayed) },
      { name: "lost", number: true, value: (row) => seconds(row.lost_s) },
      { name: "what to do", text: true, value: (row) => row.remedy || "nothing" },
    ], rows, "Detected, restored and caught up: the time that each step took"));
  }
  if (run.servers_restarted) place.append(element("p", {}, count(run.servers_restarted, "restart") + " of servers."));
  if (run.timeline.events.length) {
    const lines = run.timeline.events.map((line) => element("li", {}, element("time", {}, seconds(line.at_s)), element("span", {}, line.text)));
    place.append(element("details", run.failures.length ? { open: "" } : {}, element("summary", {}, "What was said (" + count(lines.length, "line") + ")"),
      element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Lines" }, element("ul", { class: "events" }, ...lines))));
  }
}

// Dots over time: x in seconds, y in the unit of the text.
function dots(points, text) {
  const width = Math.max(280, byId("images").clientWidth - 2), height = 150, left = 52, bottom = 20;
  const most = Math.max(...points.map((point) => point.y)) || 1;
  const svg = shape("svg", { viewBox: "0 0 " + width + " " + height, role: "img", "aria-label": text });
  const x = (at) => left + at / Math.max(run.wall_s, 0.001) * (width - left - 10);
  const y = (value) => height - bottom - value / (most * 1.08) * (height - bottom - 10);
  for (const value of ticks(0, most, 5)) {
    svg.append(shape("line", { x1: left, x2: width - 10, y1: y(value), y2: y(value), class: "axis" }));
    const label = shape("text", { x: 4, y: y(value) + 4 });
    label.textContent = tick(value / 1000);
    svg.append(label);
  }
  for (const at of ticks(0, run.wall_s, width / 110)) {
    const label = shape("text", { x: Math.min(x(at), width - 40), y: height - 5 });
    label.textContent = tick(at);
    svg.append(label);
  }
  for (const point of points) svg.append(shape("circle", { cx: x(point.x).toFixed(1), cy: y(point.y).toFixed(1), r: 2.5, class: "dot" }));
  return element("div", { class: "plot" }, svg);
}

function showImages() {
  const place = byId("images");
  const images = run.checkpoints;
  if (!images.count && !images.failed) {
    place.append(element("p", {}, "No image was stored."));
    return;
  }
  const rows = [
    ["images ordered, stored, lost", images.ordered + ", " + images.count + ", " + images.failed],
    ["stored in all", size(images.bytes)],
    ["an image stops its rank: mean, longest", milliseconds(images.pause_ms_mean) + ", " + milliseconds(images.pause_ms_max)],
    ["from the order until durable: mean, longest", milliseconds(images.duration_ms_mean) + ", " + milliseconds(images.duration_ms_max)],
  ];
  if (run.waves.complete || run.waves.void) {
    rows.push(["waves complete, void", run.waves.complete + ", " + run.waves.void],
      ["a wave takes: mean, longest", milliseconds(run.waves.duration_ms_mean) + ", " + milliseconds(run.waves.duration_ms_max)],
      ["messages in channels, stored with images", size(run.waves.channel_state_bytes)]);
  }
  place.append(facts(rows, "Images of the whole run"));
  const taken = run.timeline.images.filter((image) => image.taken_s !== null);
  if (taken.length) {
    place.append(element("h3", {}, "How long each image stopped its rank"),
      dots(taken.slice(-3000).map((image) => ({ x: image.taken_s, y: image.pause_ms })), "Pauses of images over time"));
  }
  const lost = run.timeline.images.filter((image) => image.lost !== null);
  if (lost.length) {
    place.append(element("h3", {}, "Images that were lost"), table([
      { name: "at", number: true, value: (row) => seconds(row.ended_s) },
      { name: "rank", number: true, value: (row) => row.rank },
      { name: "image", number: true, value: (row) => row.image },
      { name: "why", text: true, value: (row) => row.lost },
    ], lost.slice(-200), "The last " + Math.min(200, lost.length)));
  }
}

function facts(rows, caption) {
  return table([{ name: "figure", value: (row) => row[0] }, { name: "value", number: true, value: (row) => row[1] }], rows, caption);
}

function showRanks() {
  const place = byId("ranks");
  const messages = run.messages;
  const rows = [
    ["messages sent, received", number(messages.sent) + ", " + number(messages.received)],
    ["payload sent, received", size(messages.payload_bytes) + ", " + size(messages.received_bytes)],
    ["determinants", number(messages.determinants)],
    ["sender logs at the end, at most", size(run.logs.bytes) + ", " + size(run.logs.peak_bytes)],
    ["sends that waited for the event logger", number(messages.gate_waits) + ", " + milliseconds(messages.gate_wait_ms)],
    ["messages sent again, dropped as known", number(messages.resent) + ", " + number(messages.duplicates_dropped)],
  ];
  if (run.piggyback.bytes) rows.push(["events with messages", number(run.piggyback.events) + ", " + size(run.piggyback.bytes)]);
  if (run.event_logger.count) rows.push(["event loggers, mean time there and back", run.event_logger.count + ", " + milliseconds(run.event_logger.round_trip_ms_mean)]);
  if (run.channel_memories.count) rows.push(["channel memories, stored", run.channel_memories.count + ", " + size(run.channel_memories.stored_bytes)]);
  place.append(facts(rows, "Messages and logs of the whole run"));
  const counters = run.rank_counters.map((of, rank) => ({ ...of, rank }));
  const most = Math.max(1, ...counters.map((row) => row.log_bytes_peak));
  const meter = (value) => {
    const made = element("span", { class: "meter" });
    made.style.width = Math.round(100 * value / most) + "%";
    return made;
  };
  const shown = counters.length > 256 ? [...counters].sort((a, b) => b.log_bytes_peak - a.log_bytes_peak).slice(0, 256) : counters;
  place.append(element("h3", {}, "Ranks"), table([
    { name: "rank", number: true, value: (row) => row.rank },
    { name: "sent", number: true, value: (row) => number(row.messages_sent) },
    { name: "payload", number: true, value: (row) => size(row.bytes_sent) },
    { name: "received", number: true, value: (row) => number(row.messages_received) },
    { name: "payload", number: true, value: (row) => size(row.bytes_received) },
    { name: "log at most", number: true, value: (row) => size(row.log_bytes_peak) },
    { name: "", value: (row) => meter(row.log_bytes_peak) },
    { name: "waited for logger", number: true, value: (row) => milliseconds(row.gate_wait_ns / 1e6) },
  ], shown, shown.length < counters.length ? "The 256 ranks with the largest logs" : count(shown.length, "rank")));
}

function showOptions() {
  const rows = [
    ["options", run.options.join(" ") || "none"],
    ["programs", run.programs.join(" : ")],
    ["hosts", run.hosts.join(", ")],
    ["events", run.events],
    ["version", run.version],
  ];
  byId("options").append(table([{ name: "what", value: (row) => row[0] },
    { name: "value", text: true, value: (row) => element("code", {}, row[1]) }], rows, "How the job was started; values of variables are not shown"));
}

function save() {
  const text = JSON.stringify(run, null, 2) + "\n";
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: "run.json" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

showHead();
Timeline(byId("timeline"));
showTime();
showMpiTime();
showFailures();
showImages();
showRanks();
showOptions();
byId("save").addEventListener("click", save);
byId("made").textContent = "Made by ftmpiexec " + run.version + ". Times count from the start of the launcher.";
