"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const tooltip = document.getElementById("tooltip");
  const hidden = new Set(); // columns
  const WIDTH = 10000, HEIGHT = 1000; // of a plot, as its paths count
  const LABEL = 64; // pixels that a tick label takes
  const LEAST = 1 / 200; // of the axis that can be zoomed into

  const logScale = (lo, hi) => ({
    value: (f) => lo * Math.pow(hi / lo, f),
    frac: (v) => Math.log(v / lo) / Math.log(hi / lo),
  });
  // Charts of a group share the x axis; from and to are the part of it in view.
  const groups = {
    latency: { from: 0, to: 1, charts: [], scale: logScale(data.latency.lo, data.latency.hi), ticks: logTicks, label: (us) => duration(us, 6) },
    time: { from: 0, to: 1, charts: [], scale: { value: (f) => f * data.end, frac: (v) => v / data.end }, ticks: timeTicks, label: time },
  };

  // Numbers.

  function digits(x, precision = 3) {
    return Math.abs(x) >= 100 && precision === 3 ? x.toFixed(0) : String(Number(x.toPrecision(precision)));
  }
  function duration(us, precision = 3) {
    const units = [[1e6, " s"], [1e3, " ms"], [1, " µs"]];
    const [u, name] = units.find(([u]) => us >= u * .9995) || [1e-3, " ns"];
    return digits(us / u, precision) + name;
  }
  function time(s) {
    if (Math.abs(s) < 1e-9) return "0";
    if (s < .9999) return Number((s * 1e3).toPrecision(4)) + " ms";
    if (s < 119.99) return Number(s.toPrecision(5)) + " s";
    const t = Math.round(s), h = Math.floor(t / 3600);
    return (h ? h + "h" : "") + Math.floor(t / 60) % 60 + "m" + t % 60 + "s";
  }
  function percent(share) {
    return share === 0 ? "0%" : Number((share * 100).toPrecision(3)) + "%";
  }
  function percentile(slower) {
    const decimals = Math.max(0, Math.ceil(-Math.log10(slower)) - 1);
    return "p" + Number((100 - slower * 100).toFixed(decimals));
  }

  // Ticks: the same as the page was written with, for the part of the axis in view.

  function logTicks(lo, hi, most) {
    const all = [], tens = [];
    for (let d = Math.floor(Math.log10(lo)); d <= Math.ceil(Math.log10(hi)); d++) {
      for (const m of [1, 2, 5]) {
        const v = Number(m + "e" + d);
        if (v < lo * (1 - 1e-9) || v > hi * (1 + 1e-9)) continue;
        all.push(v);
        if (m === 1) tens.push(v);
      }
    }
    if (all.length < 3) return linear(lo, hi, roundStep((hi - lo) / most)); // too narrow for the series
    if (all.length <= most) return all;
    return thin(tens.length > 1 ? tens : all, most);
  }
  function thin(values, most) {
    const every = Math.ceil(values.length / most);
    return values.filter((_, i) => i % every === 0);
  }
  function timeTicks(lo, hi, most) {
    const least = (hi - lo) / most;
    const long = [10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 43200];
    return linear(lo, hi, least <= 5 ? roundStep(least) : long.find((s) => s >= least) || Math.ceil(least / 86400) * 86400);
  }
  function roundStep(least) {
    const ten = Math.pow(10, Math.floor(Math.log10(least)));
    return [1, 2, 5, 10].find((m) => m * ten >= least * (1 - 1e-9)) * ten;
  }
  function linear(lo, hi, step) {
    const values = [];
    for (let i = Math.ceil(lo / step - 1e-9); i * step <= hi + step * 1e-9; i++) values.push(i * step);
    return values;
  }

  // Drawing.

  const element = (name, attributes, parent) => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    parent.append(e);
    return e;
  };
  const html = (name, className, text, parent) => {
    const e = document.createElement(name);
    e.className = className;
    e.textContent = text;
    parent.append(e);
    return e;
  };

  function drawTicks(chart) {
    const g = groups[chart.group], width = chart.hit.clientWidth;
    if (!width) return; // not shown
    const lo = g.scale.value(g.from), hi = g.scale.value(g.to);
    chart.ticks.replaceChildren();
    chart.ticks.classList.add("fitted");
    for (const v of g.ticks(lo, hi, Math.max(2, Math.floor(width / LABEL)))) {
      const at = (g.scale.frac(v) - g.from) / (g.to - g.from) * 100 + "%";
      const tick = element("g", { class: "tick" }, chart.ticks);
      element("line", { x1: at, x2: at, y2: "100%" }, tick);
      element("text", { x: at, y: "100%", dy: "1.5em" }, tick).textContent = g.label(v);
    }
  }

  function zoom(name, from, to) {
    const g = groups[name];
    [g.from, g.to] = [Math.max(0, from), Math.min(1, to)];
    for (const chart of g.charts) {
      chart.data.setAttribute("viewBox", `${g.from * WIDTH} 0 ${(g.to - g.from) * WIDTH} ${HEIGHT}`);
      drawTicks(chart);
    }
    for (const b of document.querySelectorAll(`.reset[data-group="${name}"]`)) b.hidden = g.from === 0 && g.to === 1;
  }

  function show(column, on) {
    on ? hidden.delete(column) : hidden.add(column);
    for (const e of document.querySelectorAll(`.data [data-v="${column}"], .panelbox[data-v="${column}"]`)) e.toggleAttribute("hidden", !on);
    for (const b of document.querySelectorAll(`.variant[data-v="${column}"]`)) b.setAttribute("aria-pressed", on);
  }

  // What the tooltip says: its head and a row for each variant.

  // before returns the last index whose value does not exceed v, or -1.
  function before(values, v) {
    let lo = 0, hi = values ? values.length : 0;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      values[mid] <= v ? lo = mid + 1 : hi = mid;
    }
    return lo - 1;
  }
  const readers = {
    ccdf(us, fy) {
      const slower = Math.pow(data.floor, fy);
      const read = ({ ccdf, count }) => {
        if (!count) return ["–", "–"];
        const i = before(ccdf.x, us);
        return [percent(i < 0 ? 1 : ccdf.share[i]), duration(ccdf.x[ccdf.share.findIndex((s) => s <= slower)])];
      };
      return [["slower than " + duration(us), percentile(slower)], read];
    },
    time(s) {
      const read = ({ series }) => {
        const i = Math.floor(s / series.step);
        const cells = [series.p50, series.p99, series.max].map((v) => v && v[i] ? duration(v[i]) : "–");
        return [...cells, series.failed && series.failed[i] ? String(series.failed[i]) : "–"];
      };
      return [["p50", "p99", "max", "failed"], read, "at " + time(Number(s.toPrecision(4)))];
    },
  };

  // fillLane says which state is under the pointer, or a narrow one next to it.
  function fillLane(chart, f, fy) {
    const { lanes } = data.columns[chart.column], lane = lanes[Math.min(lanes.length - 1, Math.floor(fy * lanes.length))];
    const us = f * data.end * 1e6, near = (groups.time.to - groups.time.from) * data.end * 3e6 / chart.hit.clientWidth;
    const at = lane.at || [], i = before(at, us);
    let hit = i >= 0 && us <= at[i] + lane.for[i] ? i : -1;
    for (let k = Math.max(0, i - 2); k <= i + 1 && k < at.length; k++) {
      if (lane.for[k] < near && us > at[k] - near && us < at[k] + lane.for[k] + near && (hit < 0 || lane.for[k] < lane.for[hit])) hit = k;
    }
    tooltip.replaceChildren();
    html("strong", "", lane.source, tooltip);
    if (hit < 0) return html("div", "", us < lane.known ? "no event yet" : "serving", tooltip);
    const state = data.states[lane.state[hit]], row = html("div", "", "", tooltip), many = lane.count && lane.count[hit];
    element("path", { class: "state " + state.class, d: "M1 1h12v10h-12z" }, element("svg", { class: "swatch", width: 14, height: 12 }, row));
    row.append(many ? `${many} states, mostly ${state.name}` : state.name);
    html("div", "", `from ${(at[hit] / 1e6).toFixed(3)} s for ${duration(lane.for[hit])}${lane.open && hit === at.length - 1 ? ", to the end" : ""}`, tooltip);
    if (lane.note && lane.note[hit]) html("div", "", lane.note[hit], tooltip);
  }

  function fillTooltip(chart, f, fy) {
    if (chart.kind === "lanes") return fillLane(chart, f, fy);
    const g = groups[chart.group];
    const [head, read, corner] = readers[chart.kind](g.scale.value(f), fy);
    tooltip.replaceChildren();
    const table = html("table", "", "", tooltip);
    const top = html("tr", "", "", html("thead", "", "", table));
    html("th", "", corner || "", top);
    for (const h of head) html("th", "", h, top);
    const body = html("tbody", "", "", table);
    data.columns.forEach((column, i) => {
      if (hidden.has(i)) return;
      const row = html("tr", "", "", body), name = html("th", "", "", row);
      const swatch = element("svg", { class: "swatch", width: 26, height: 10 }, name);
      element("path", { class: "series v" + i % 8, d: "M1 5h24" }, swatch);
      name.append(column.label);
      for (const cell of read(column)) html("td", "", cell, row);
    });
  }

  function placeTooltip(x, y) {
    tooltip.hidden = false;
    const { width, height } = tooltip.getBoundingClientRect(), gap = 16;
    const right = x + gap + width < innerWidth;
    tooltip.style.left = Math.max(4, right ? x + gap : Math.min(x - gap - width, innerWidth - width - 4)) + "px";
    tooltip.style.top = Math.max(4, Math.min(y + gap, innerHeight - height - 4)) + "px";
  }

  // Pointing.

  const inView = (chart, event) => {
    const box = chart.hit.getBoundingClientRect(), { from, to } = groups[chart.group];
    const clamp = (v) => Math.min(1, Math.max(0, v));
    const px = clamp((event.clientX - box.left) / box.width), py = clamp((event.clientY - box.top) / box.height);
    return { px, py, f: from + px * (to - from) };
  };

  function point(chart, event) {
    const { px, py, f } = inView(chart, event);
    for (const other of groups[chart.group].charts) {
      other.crossX.hidden = false;
      other.crossX.style.left = px * 100 + "%";
    }
    chart.crossY.hidden = chart.kind !== "ccdf";
    chart.crossY.style.top = py * 100 + "%";
    fillTooltip(chart, f, py);
    placeTooltip(event.clientX, event.clientY);
  }
  function leave(chart) {
    tooltip.hidden = true;
    chart.crossY.hidden = true;
    for (const other of groups[chart.group].charts) other.crossX.hidden = true;
  }

  // listen zooms into what a pointer drags over.
  function listen(chart) {
    let start = null;
    const { hit, drag } = chart;
    const end = () => { start = null; drag.hidden = true; };
    hit.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      point(chart, event);
      start = inView(chart, event);
      hit.setPointerCapture(event.pointerId);
    });
    hit.addEventListener("pointermove", (event) => {
      point(chart, event);
      if (!start) return;
      const { px } = inView(chart, event);
      drag.hidden = false;
      drag.style.left = Math.min(px, start.px) * 100 + "%";
      drag.style.width = Math.abs(px - start.px) * 100 + "%";
    });
    hit.addEventListener("pointerup", (event) => {
      if (!start) return;
      const { px, f } = inView(chart, event), a = start;
      end();
      if (Math.abs(px - a.px) * hit.clientWidth > 8 && Math.abs(f - a.f) >= LEAST) zoom(chart.group, Math.min(f, a.f), Math.max(f, a.f));
    });
    hit.addEventListener("pointercancel", () => { end(); leave(chart); });
    hit.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") leave(chart); });
    hit.addEventListener("dblclick", () => zoom(chart.group, 0, 1));
  }

  // A finger leaves the tooltip where it was, until the next touch elsewhere.
  const leaveAll = () => { for (const name in groups) groups[name].charts.forEach(leave); };
  document.addEventListener("pointerdown", (event) => { if (!event.target.closest(".hit")) leaveAll(); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") leaveAll(); });

  const resized = new ResizeObserver((entries) => entries.forEach((e) => drawTicks(e.target.chart)));
  for (const root of document.querySelectorAll(".chart:not([data-group=''])")) {
    const hit = root.querySelector(".hit");
    const chart = { kind: root.dataset.kind, group: root.dataset.group, hit, ticks: root.querySelector(".xticks"), data: root.querySelector(".data") };
    chart.column = root.closest(".panelbox")?.dataset.v;
    chart.crossX = html("div", "cross x", "", hit);
    chart.crossY = html("div", "cross y", "", hit);
    chart.drag = html("div", "range-drag", "", hit);
    for (const e of [chart.crossX, chart.crossY, chart.drag]) e.hidden = true;
    groups[chart.group].charts.push(chart);
    hit.chart = chart;
    listen(chart);
    resized.observe(hit);
  }
  for (const b of document.querySelectorAll(".variant")) {
    b.addEventListener("click", () => show(Number(b.dataset.v), b.getAttribute("aria-pressed") !== "true"));
  }
  for (const b of document.querySelectorAll(".reset")) b.addEventListener("click", () => zoom(b.dataset.group, 0, 1));
})();
