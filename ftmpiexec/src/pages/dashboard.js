
const RANK_STATES = {
  waits_for_host: ["waits for a host", "waiting"], starting: ["starts", "starting"], restoring: ["is restored", "restoring"],
  catching_up: ["catches up", "catching_up"], computing: ["computes", "running"], waiting: ["waits", "gate_waits"],
  stopped: ["is stopped", "dead"], blocked: ["sleeps outside of MPI", "image_pauses"], finalizing: ["finalizes", "done"],
  ending: ["is being ended", "stopping"], done: ["has ended", "done"],
};
const NOTABLE_MAX = 40;
const WAIT_NOTABLE_S = 5;
let chosen = null;
let newest = null;
let before = null;
const cells = new Map();

function stateOf(rank) {
  return RANK_STATES[rank.state] || [rank.state, "waiting"];
}

function waitText(wait) {
  const call = wait.call || "a call";
  const several = (wait.one_is_enough ? "one of ranks " : "ranks ") + wait.peers.join(", ");
  const peers = wait.peers.length === 0 ? (wait.any_source ? "any rank" : "") : wait.peers.length === 1 ? "rank " + wait.peers[0] : several;
  const words = { message: " from ", send: " to ", collective: " with ", one_sided: " with " };
  let text = call;
  if (wait.reason === "event_logger") text += ": the event logger";
  else if (wait.reason === "recovery") text += ": what was recorded";
  else if (peers && words[wait.reason]) text += words[wait.reason] + peers;
  return wait.tag === null ? text : text + ", tag " + wait.tag;
}

function imageText(rank) {
  if (rank.taking_image_s !== null) return "is taken, " + seconds(rank.taking_image_s);
  if (rank.image === null) return "none";
  return rank.image.image + (rank.image.age_s === null ? ", of an earlier run" : ", " + seconds(rank.image.age_s) + " old");
}

function about(rank) {
  const parts = ["rank " + rank.rank + " on " + rank.host + " " + stateOf(rank)[0] + " for " + seconds(rank.state_s)];
  if (rank.wait !== null) parts.push(waitText(rank.wait) + " for " + seconds(rank.wait.since_s));
  parts.push("incarnation " + rank.incarnation + (rank.pid === null ? "" : ", process " + rank.pid), "image: " + imageText(rank),
    "log " + size(rank.log_bytes), number(rank.messages_sent) + " messages sent");
  if (rank.standby) parts.push("standby on " + rank.standby.host + (rank.standby.ready ? "" : " reads image " + rank.standby.image));
  if (rank.failures > 0) parts.push("failed " + count(rank.failures, "time"));
  return parts.join("; ");
}

function isNotable(rank) {
  return !["computing", "waiting", "done", "finalizing"].includes(rank.state) || rank.failures > 0 ||
    (rank.wait !== null && rank.wait.since_s >= WAIT_NOTABLE_S);
}

function choose(rank, focus) {
  const known = cells.get(rank);
  if (!known) return;
  for (const cell of cells.values()) {
    cell.tabIndex = -1;
    cell.classList.remove("chosen-cell");
    cell.setAttribute("aria-pressed", "false");
  }
  chosen = rank;
  known.tabIndex = 0;
  known.classList.add("chosen-cell");
  known.setAttribute("aria-pressed", "true");
  if (focus) known.focus();
  const found = newest.ranks.find((of) => of.rank === rank);
  if (found) byId("rank").textContent = about(found);
}

function onKey(event) {
  const order = [...cells.keys()];
  const at = order.indexOf(chosen);
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -at, End: order.length - 1 - at };
  if (!(event.key in steps) || at < 0) return;
  event.preventDefault();
  choose(order[Math.max(0, Math.min(order.length - 1, at + steps[event.key]))], true);
}

// The cells stay as long as the ranks stay on their hosts: focus and choice survive an update.
function layout(status) {
  const wanted = JSON.stringify(status.hosts.map((host) => [host.name, status.ranks.filter((rank) => rank.host === host.name).length]));
  const place = byId("hosts");
  if (place.dataset.layout === wanted) return;
  place.dataset.layout = wanted;
  const focused = place.contains(document.activeElement);
  cells.clear();
  place.replaceChildren(...status.hosts.map((host, index) => {
    const grid = element("div", { class: "grid", role: "group", "aria-label": "Ranks on " + host.name });
    for (const rank of status.ranks.filter((of) => of.host === host.name)) {
      const cell = element("button", { type: "button", class: "cell", tabindex: "-1", "aria-describedby": "rank" }, String(rank.rank));
      cell.addEventListener("click", () => choose(rank.rank, true));
      cells.set(rank.rank, cell);
      grid.append(cell);
    }
    grid.addEventListener("keydown", onKey);
    return element("div", { class: "host" }, element("p", { id: "host-" + index }), grid);
  }));
  const first = chosen !== null && cells.has(chosen) ? chosen : cells.keys().next().value;
  if (first !== undefined) {
    cells.get(first).tabIndex = 0;
    if (chosen !== null) choose(first, focused);
    else chosen = first;
  }
}

function showHosts(status) {
  layout(status);
  status.hosts.forEach((host, index) => {
    const line = byId("host-" + index);
    const parts = [{ starting: "its agent starts", up: "up", gone: "gone" }[host.state] || host.state];
    if (host.processors !== null) parts.push(count(host.processors, "processor"));
    parts.push(count(status.ranks.filter((rank) => rank.host === host.name).length, "rank"));
    if (host.drained) parts.push("drained");
    if (host.health !== "good") parts.push("health " + host.health + (host.health_why ? " (" + host.health_why + ")" : ""));
    const good = host.state === "up" && !host.drained && host.health === "good";
    line.replaceChildren(element("strong", { class: good ? null : "bad" }, host.name), ": " + parts.join(", "));
  });
  const used = new Map();
  for (const rank of status.ranks) {
    const [text, kind] = stateOf(rank);
    const cell = cells.get(rank.rank);
    used.set(text, kind);
    if (!cell) continue;
    const name = "cell " + kind + (rank.taking_image_s !== null ? " takes-image" : "") + (rank.rank === chosen && cell.classList.contains("chosen-cell") ? " chosen-cell" : "");
    if (cell.className !== name) cell.className = name;
    cell.title = "rank " + rank.rank + " " + text;
    cell.setAttribute("aria-label", cell.title);
  }
  byId("legend").replaceChildren(...[...used].map(([text, kind]) =>
    element("li", {}, element("span", { class: "swatch " + kind }), text)));
  if (chosen !== null && cells.get(chosen) && cells.get(chosen).classList.contains("chosen-cell")) {
    const rank = status.ranks.find((of) => of.rank === chosen);
    if (rank) byId("rank").textContent = about(rank);
  }
}

function showKey(status) {
  const job = status.job;
  const running = status.ranks.filter((rank) => ["computing", "waiting", "blocked", "finalizing"].includes(rank.state)).length;
  const open = status.faults.filter((fault) => fault.back_s === null).length;
  const sent = (of) => of.ranks.reduce((sum, rank) => sum + rank.messages_sent, 0);
  const passed = before ? job.elapsed_s - before.job.elapsed_s : 0;
  const rate = passed > 0 ? number(Math.max(0, (sent(status) - sent(before)) / passed)) : "–";
  byId("key").replaceChildren(
    card("running for", seconds(job.elapsed_s)),
    card("ranks that run", running + " of " + status.ranks.length, running < status.ranks.length ? "" : "good"),
    card(open ? "failures, " + open + " not back yet" : "failures", status.faults.length, open ? "bad" : ""),
    card("restarts, of " + job.restarts_max, job.restarts),
    card("images", job.images + " (" + size(job.image_bytes) + ")"),
    card("messages a second", rate));
  const title = job.command + " on " + count(status.ranks.length, "rank");
  byId("title").textContent = title;
  document.title = (open ? "(" + open + ") " : "") + title + " – ftmpi";
  byId("subtitle").textContent = "protocol " + job.protocol + ", launcher " + job.launcher_pid + " on " + job.launcher_host +
    (job.phase === "running" ? "" : ", " + job.phase);
}

function showNotable(status) {
  const rows = status.ranks.filter(isNotable);
  const shown = rows.slice(0, NOTABLE_MAX);
  byId("notable").replaceChildren(rows.length === 0 ? element("p", {}, "None: all ranks compute, or wait for less than " + WAIT_NOTABLE_S + " s.") : table([
    { name: "rank", number: true, value: (rank) => rank.rank },
    { name: "host", value: (rank) => rank.host },
    { name: "state", value: (rank) => stateOf(rank)[0] },
    { name: "for", number: true, value: (rank) => seconds(rank.wait === null ? rank.state_s : rank.wait.since_s) },
    { name: "waits for", text: true, value: (rank) => (rank.wait === null ? "" : waitText(rank.wait)) },
    { name: "failed", number: true, value: (rank) => rank.failures },
  ], shown, rows.length > shown.length ? "The first " + shown.length + " of " + rows.length : count(rows.length, "rank")));
}

function showImages(status) {
  const ages = status.ranks.filter((rank) => rank.image !== null && rank.image.age_s !== null).map((rank) => rank.image.age_s);
  const without = status.ranks.filter((rank) => rank.image === null && rank.state !== "done").length;
  const taking = status.ranks.filter((rank) => rank.taking_image_s !== null).length;
  const logs = status.ranks.reduce((sum, rank) => sum + rank.log_bytes, 0);
  const fullest = status.ranks.filter((rank) => rank.log_limit_bytes).map((rank) => rank.log_bytes / rank.log_limit_bytes);
  const rows = [
    ["interval", status.job.ckpt_interval_s === null ? "no images are taken" : seconds(status.job.ckpt_interval_s)],
    ["newest images: youngest, oldest", ages.length ? seconds(Math.min(...ages)) + ", " + seconds(Math.max(...ages)) : "–"],
    ["ranks without an image", without],
    ["images that are being taken", taking],
    ["sender logs", size(logs)],
  ];
  if (fullest.length) rows.push(["fullest sender log", percent(Math.max(...fullest))]);
  if (status.waves !== null) {
    rows.push(["waves complete, void", status.waves.complete + ", " + status.waves.void],
      ["the last complete wave", status.waves.age_s === null ? "none yet" : seconds(status.waves.age_s) + " ago"]);
  }
  byId("images").replaceChildren(table([{ name: "figure", value: (row) => row[0] }, { name: "now", number: true, value: (row) => row[1] }], rows));
}

function showFaults(status) {
  const rows = status.faults.slice(-50).reverse();
  byId("faults").replaceChildren(rows.length === 0 ? element("p", {}, "No rank has failed.") : table([
    { name: "at", number: true, value: (fault) => seconds(fault.at_s) },
    { name: "rank", number: true, value: (fault) => fault.rank },
    { name: "cause", text: true, value: (fault) => fault.cause },
    { name: "from", value: (fault) => (fault.back_s === null ? "" : fault.image === null ? "the start" : "image " + fault.image) },
    { name: "back after", number: true, value: (fault) => (fault.back_s === null ? "not yet" : seconds(fault.back_s)) },
  ], rows, "Newest first"));
}

function showServers(status) {
  byId("servers").replaceChildren(status.servers.length === 0 ? element("p", {}, "This job has no servers.") : table([
    { name: "server", value: (server) => server.name },
    { name: "host", value: (server) => server.host || status.job.launcher_host },
    { name: "state", value: (server) => element("span", { class: server.up ? "good" : "bad" }, server.up ? "up" : "down") },
    { name: "started again", number: true, value: (server) => server.restarts },
  ], status.servers));
}

function show(message) {
  const status = message.status;
  before = newest;
  newest = status;
  showKey(status);
  byId("exposure").hidden = false;
  byId("exposure").textContent = "If a rank died now: " + message.exposure.text + ".";
  showHosts(status);
  showNotable(status);
  showImages(status);
  showFaults(status);
  showServers(status);
}

function link(text, kind) {
  byId("link").textContent = text;
  byId("link").className = "pill " + kind;
}

// A page that is loaded shows the job; what changes comes as events.
function showFirst() {
  const request = new XMLHttpRequest();
  request.open("GET", "/status", false);
  try {
    request.send();
    if (request.status !== 200) return;
    show(JSON.parse(request.responseText));
    link("live", "good");
  } catch {
    byId("said").textContent = "There is no answer of the job yet.";
  }
}

showFirst();
const source = new EventSource("/events");
source.addEventListener("status", (event) => {
  link("live", "good");
  byId("said").textContent = "";
  show(JSON.parse(event.data));
});
source.addEventListener("ended", () => {
  source.close();
  link("ended", "bad");
  byId("said").textContent = "The job has ended. What is shown is its last state.";
});
source.addEventListener("error", () => {
  if (source.readyState === EventSource.CLOSED) return;
  link("no connection", "bad");
  byId("said").textContent = newest ? "There is no connection to the job. What is shown may be old." : "There is no connection to the job yet.";
});
