
"use strict";
// What the pages share: elements, figures, the names of states. Text is set as text, never as markup.
const SVG = "http://www.w3.org/2000/svg";
const STATES = {
  running: "computing", image_pauses: "image pause", gate_waits: "waiting for the event logger", dead: "dead",
  restoring: "restoring", catching_up: "catching up", stopping: "returning", starting: "starting",
  waiting: "waiting for a host", done: "done",
};

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function shape(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function byId(id) {
  return document.getElementById(id);
}

function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value > 0 && value < 0.01) return (value * 1000).toFixed(1) + " ms";
  if (value < 1) return value.toFixed(3) + " s";
  if (value < 100) return value.toFixed(2) + " s";
  if (value < 3600) return Math.floor(value / 60) + " m " + String(Math.floor(value % 60)).padStart(2, "0") + " s";
  const minutes = Math.round(value / 60);
  return Math.floor(minutes / 60) + " h " + String(minutes % 60).padStart(2, "0") + " m";
}

// A time at an axis: without digits that say nothing.
function tick(value) {
  if (value >= 100) return seconds(value);
  return value > 0 && value < 0.1 ? Number((value * 1000).toPrecision(4)) + " ms" : Number(value.toPrecision(4)) + " s";
}

function milliseconds(value) {
  return value === null || value === undefined ? "–" : seconds(value / 1000);
}

function scaled(value, units) {
  let at = 0;
  while (value >= 999.5 && at < units.length - 1) {
    value /= 1000;
    at += 1;
  }
  return (at > 0 && value < 9.95 ? value.toFixed(1) : value.toFixed(0)) + units[at];
}

function size(value) {
  return scaled(value || 0, [" B", " kB", " MB", " GB", " TB"]);
}

function number(value) {
  return scaled(value || 0, ["", " k", " M", " G", " T"]);
}

function percent(part) {
  const value = 100 * part;
  if (value > 0 && value < 0.05) return "< 0.1 %";
  return (value < 9.95 ? value.toFixed(1) : value.toFixed(0)) + " %";
}

function count(value, noun) {
  return value + " " + noun + (value === 1 ? "" : "s");
}

function card(name, value, kind) {
  return element("div", { class: "card" }, element("div", { class: "value " + (kind || "") }, String(value)),
    element("div", { class: "name" }, name));
}

// Columns: { name, value(row) -> text or element, number }.
function table(columns, rows, caption) {
  const head = columns.map((column) => element("th", { scope: "col", class: column.number ? "number" : null }, column.name));
  const cells = (row) => columns.map((column) => {
    const value = column.value(row);
    return element("td", { class: column.number ? "number" : column.text ? "text" : null }, value instanceof Node ? value : String(value));
  });
  const made = element("table", {}, caption ? element("caption", {}, caption) : null,
    element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells(row)))));
  return element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption || "table" }, made);
}

function legend(states) {
  return element("ul", { class: "legend" }, ...states.map((state) =>
    element("li", {}, element("span", { class: "swatch " + state }), STATES[state])));
}

function ticks(from, to, most) {
  const raw = (to - from) / most;
  const power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map((of) => of * power).find((of) => of >= raw);
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to + step / 1e6; at += step) found.push(Number(at.toPrecision(12)));
  return found;
}
