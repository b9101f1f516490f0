"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const tooltip = document.getElementById("tooltip");
  let shown = ""; // the cause that is seen alone

  function duration(us) {
    const units = [[1e6, " s"], [1e3, " ms"], [1, " µs"]];
    const [u, name] = units.find(([u]) => us >= u * .9995) || [1e-3, " ns"];
    return Number((us / u).toPrecision(3)) + name;
  }
  const percent = (share) => Number((share * 100).toPrecision(3)) + "%";

  function tell(lines, x, y) {
    tooltip.replaceChildren(...lines.map((text) => {
      const e = document.createElement("div");
      e.textContent = text;
      return e;
    }));
    tooltip.hidden = false;
    const { width, height } = tooltip.getBoundingClientRect(), gap = 16;
    tooltip.style.left = Math.max(4, x + gap + width < innerWidth ? x + gap : Math.min(x - gap - width, innerWidth - width - 4)) + "px";
    tooltip.style.top = Math.max(4, Math.min(y + gap, innerHeight - height - 4)) + "px";
  }
  const hush = () => { tooltip.hidden = true; };

  // A cause alone.
  function show(cause) {
    shown = cause;
    for (const e of document.querySelectorAll(".k")) e.classList.toggle("dim", cause !== "" && !e.classList.contains(cause));
    for (const b of document.querySelectorAll(".cause")) b.setAttribute("aria-pressed", b.dataset.k === cause);
  }
  for (const b of document.querySelectorAll(".cause")) b.addEventListener("click", () => show(b.dataset.k === shown ? "" : b.dataset.k));

  document.addEventListener("pointermove", (event) => {
    const tip = event.target.closest?.("[data-tip]");
    if (tip) tell([tip.dataset.tip], event.clientX, event.clientY);
    else if (!event.target.closest?.(".hit")) hush();
  });
  document.addEventListener("pointerdown", (event) => { if (!event.target.closest?.(".hit, [data-tip]")) hush(); });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    hush();
    show("");
  });

  // The distribution.
  const chart = document.getElementById("ccdf");
  if (!chart || !data) return;
  const hit = chart.querySelector(".hit"), { lo, hi } = data.latency, { ccdf } = data.columns[0];
  const cross = (axis) => {
    const e = document.createElement("div");
    e.className = "cross " + axis;
    e.hidden = true;
    hit.append(e);
    return e;
  };
  const crossX = cross("x"), crossY = cross("y");
  const read = (event) => {
    const box = hit.getBoundingClientRect(), clamp = (v) => Math.min(1, Math.max(0, v));
    const fx = clamp((event.clientX - box.left) / box.width), us = lo * Math.pow(hi / lo, fx);
    const i = ccdf.x.findLastIndex((x) => x <= us), slower = i < 0 ? 1 : ccdf.share[i];
    crossX.hidden = crossY.hidden = false;
    crossX.style.left = fx * 100 + "%";
    crossY.style.top = Math.min(1, Math.log(Math.max(slower, data.floor)) / Math.log(data.floor)) * 100 + "%";
    tell([percent(slower) + " slower than " + duration(us)], event.clientX, event.clientY);
  };
  hit.addEventListener("pointermove", read);
  hit.addEventListener("pointerdown", read);
  hit.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "touch") return;
    hush();
    crossX.hidden = crossY.hidden = true;
  });
})();
