// Small charts in SVG.
import { h, number, s } from "./dom.js";

/** Stacked bars, one for each session: [{label, parts: [[class, value], ...]}]. */
export function bars(rows, { width = 520, height = 150, title }) {
  const top = Math.max(1, ...rows.map((row) => row.parts.reduce((sum, [, value]) => sum + value, 0)));
  const step = Math.min(46, (width - 46) / Math.max(1, rows.length));
  const y = (value) => height - 22 - (value / top) * (height - 34);
  const every = Math.ceil(rows.length / 14);
  return s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title },
    [0, top / 2, top].map((value) => [s("line", { class: "grid", x1: 40, x2: width, y1: y(value), y2: y(value) }), s("text", { class: "tick end", x: 36, y: y(value) + 4 }, number(Math.round(value)))]),
    rows.map((row, place) => {
      let base = 0;
      return s("g", null, s("title", null, `${row.label}: ${row.parts.map(([name, value]) => `${number(value)} ${name}`).join(", ")}`),
        row.parts.map(([name, value]) => { const from = base; base += value; return s("rect", { class: `bar ${name}`, x: 42 + place * step, width: Math.max(1, step - 3), y: y(base), height: Math.max(0, y(from) - y(base)) }); }),
        place % every === 0 && s("text", { class: "tick mid", x: 42 + place * step + step / 2, y: height - 6 }, row.label));
    }));
}

/** Lines over sessions: {name: [values]}. */
export function lineChart(labels, series, { width = 520, height = 150, title }) {
  const top = Math.max(1, ...Object.values(series).flat());
  const x = (place) => 44 + (place / Math.max(1, labels.length - 1)) * (width - 54);
  const y = (value) => height - 22 - (value / top) * (height - 34);
  return s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title },
    [0, top / 2, top].map((value) => [s("line", { class: "grid", x1: 40, x2: width, y1: y(value), y2: y(value) }), s("text", { class: "tick end", x: 36, y: y(value) + 4 }, number(Math.round(value)))]),
    Object.entries(series).map(([name, values]) => [
      s("polyline", { class: `line ${name}`, points: values.map((value, place) => `${x(place)},${y(value)}`).join(" ") }),
      values.map((value, place) => s("circle", { class: `dot ${name}`, cx: x(place), cy: y(value), r: labels.length > 40 ? 1.5 : 3 }, s("title", null, `${labels[place]}: ${number(value)} ${name}`))),
    ]),
    labels.map((label, place) => place % Math.ceil(labels.length / 14) === 0 && s("text", { class: "tick mid", x: x(place), y: height - 6 }, label)));
}

export const legend = (parts) => h("ul", { className: "legend" }, parts.map(([name, words]) => h("li", null, h("i", { className: name }), words)));

/** A horizontal bar of a share. */
export const meter = (value, words) => h("span", { className: "meter", title: words }, Object.assign(h("i"), { style: `width:${Math.round(100 * Math.max(0, Math.min(1, value)))}%` }));
