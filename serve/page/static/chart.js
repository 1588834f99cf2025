// The course of a job: steps, silences and pace by uPlot, and a strip of ranks; from the page's JSON twin.
"use strict";
(() => {
  const holder = document.getElementById("chart");
  if (!holder || typeof uPlot === "undefined") return;
  const EVERY = 3000;
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const PANELS = [
    { name: "steps", title: "Step reached", unit: "", colour: "--benign", log: false },
    { name: "gaps", title: "Silence before a step, seconds", unit: "s", colour: "--hang", log: true },
    { name: "step_seconds", title: "Time of a step, seconds", unit: "s", colour: "--straggler", log: false },
  ];
  const make = (tag, words, name) => {
    const one = document.createElement(tag);
    if (words !== undefined) one.textContent = words;
    if (name) one.className = name;
    return one;
  };
  let plots = [];
  let last = null;

  const marks = () => [...document.querySelectorAll("#marks [data-mark]")].map((one) => ({ at: one.dataset.mark / 1e6, words: one.textContent, kind: one.dataset.kind }));
  const drawMarks = (plot) => {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.font = `${11 * ratio}px system-ui, sans-serif`;
    for (const mark of marks()) {
      const x = plot.valToPos(mark.at, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.strokeStyle = ctx.fillStyle = colour(`--${mark.kind}`) || colour("--crash");
      ctx.setLineDash([4 * ratio, 4 * ratio]);
      ctx.lineWidth = 1.5 * ratio;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      if (plot !== plots[0]?.plot) continue; // the words once, at the top
      ctx.fillStyle = colour("--ink");
      const right = x > bbox.left + bbox.width * 0.8;
      ctx.textAlign = right ? "right" : "left";
      ctx.fillText(mark.words, x + (right ? -5 : 5) * ratio, bbox.top + 12 * ratio);
    }
    ctx.restore();
  };
  const reading = (plot, panel) => {
    const at = plot.cursor.idx;
    if (at == null) return "";
    const value = plot.data[1][at];
    return value == null ? "" : `${new Date(plot.data[0][at] * 1e3).toISOString().slice(0, 19).replace("T", " ")}  ${value.toLocaleString("en", { maximumFractionDigits: 3 })} ${panel.unit}`;
  };
  const options = (panel, width, readOut) => {
    const axis = () => ({ stroke: colour("--soft"), font: "12px system-ui, sans-serif", grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } });
    const clock = (_, times) => times.map((at) => { const text = new Date(at * 1e3).toISOString(); return times.at(-1) - times[0] > 86400 ? text.slice(5, 16).replace("T", " ") : text.slice(11, 19); });
    return {
      width,
      height: 140,
      legend: { show: false },
      tzDate: (at) => uPlot.tzDate(new Date(at * 1e3), "UTC"),
      cursor: { sync: { key: "course" }, drag: { x: true, y: false } },
      scales: { x: { time: true, range: (_, from, to) => (from === to ? [from - 30, to + 30] : [from, to]) }, y: panel.log ? { distr: 3, range: (_, low, high) => [Math.max(0.1, Math.min(low, high / 10)) / 1.5, Math.max(1, high) * 2] } : {} },
      axes: [{ ...axis(), values: clock, space: 90 }, { ...axis(), size: 64 }],
      series: [{}, { stroke: colour(panel.colour), width: 1.6, points: { show: false } }],
      hooks: { draw: [drawMarks], setCursor: [(plot) => { readOut.textContent = reading(plot, panel); }] },
    };
  };
  const columns = (points, log) => [points.map(([at]) => at / 1e6), points.map(([, value]) => (log ? Math.max(0.1, value) : value))];

  const strip = (told) => {
    const part = make("div");
    part.append(make("h3", `Ranks that print: ${told.ranks.length}`));
    if (!told.ranks.length) {
      part.append(make("p", "No line names its rank, so nobody can tell ranks apart.", "empty"));
      return part;
    }
    const front = Math.max(...told.ranks.map((one) => one.step ?? -1));
    const newest = Math.max(...told.ranks.map((one) => one.last_at));
    const gaps = told.gaps.map(([, value]) => value).sort((a, b) => a - b);
    const patience = Math.max(30, 5 * (gaps[Math.floor(gaps.length / 2)] ?? 0));
    const cells = make("div", undefined, "strip");
    for (const one of told.ranks) {
      const behind = one.step === null ? null : front - one.step;
      const quiet = (newest - one.last_at) / 1e6;
      const name = quiet > patience ? "silent" : behind === null ? "mute" : behind > 1 ? "behind" : "front";
      const cell = make("span", String(one.rank), name);
      cell.title = `rank ${one.rank}${one.node ? ` on ${one.node}` : ""}: ${behind === null ? "shows no step" : `step ${one.step}${behind ? `, ${behind} behind` : ""}`}, ${one.lines} lines, last ${Math.round(quiet)} s before the newest of all`;
      cells.append(cell);
    }
    part.append(cells);
    const legend = make("p", undefined, "legend");
    for (const [name, words] of [["front", "at the front"], ["behind", "behind by more than a step"], ["silent", "silent, underlined"], ["mute", "prints, shows no step"]]) {
      const item = make("span");
      const sample = make("span", undefined, "strip");
      sample.append(make("span", "0", name));
      item.append(sample, words);
      legend.append(item);
    }
    part.append(legend);
    return part;
  };

  const draw = (told) => {
    const shape = JSON.stringify([told.steps.length > 1, told.gaps.length > 0, told.step_seconds.length > 1]);
    if (last && last.shape === shape && plots.length) {
      for (const { plot, panel } of plots) plot.setData(columns(told[panel.name], panel.log));
      holder.querySelector(".ranks").replaceChildren(strip(told));
      holder.querySelector(".note").textContent = note(told);
    } else {
      for (const { plot } of plots) plot.destroy();
      plots = [];
      holder.replaceChildren();
      for (const panel of PANELS) {
        const head = make("h3", panel.title);
        const readOut = make("output");
        head.append(readOut);
        holder.append(head);
        if (told[panel.name].length < 2) { holder.append(make("p", "Its lines show none yet.", "empty")); continue; }
        const place = make("div", undefined, "plot");
        holder.append(place);
        plots.push({ panel, plot: new uPlot(options(panel, place.clientWidth || 600, readOut), columns(told[panel.name], panel.log), place) });
      }
      const ranks = make("div", undefined, "ranks");
      ranks.append(strip(told));
      holder.append(ranks, make("p", note(told), "note faint"));
    }
    plots[0]?.plot.redraw();
    last = { shape, told };
  };
  const note = (told) => [`${told.lines.toLocaleString("en")} lines looked at`, ...told.missing.map((words) => `not looked at: ${words}`)].join("; ");
  const fail = (words) => {
    const place = holder.querySelector("[data-say]") ?? holder.querySelector(".note");
    if (place) place.textContent = words;
  };
  const read = async () => {
    let again = holder.dataset.live === "true";
    try {
      const answer = await fetch(holder.dataset.src, { headers: { Accept: "application/json" } });
      if (!answer.ok) throw new Error(String(answer.status));
      const told = await answer.json();
      draw(told);
      again ||= !told.is_whole;
    } catch {
      fail("The course can't be read at present.");
      again = true;
    }
    if (again) setTimeout(read, EVERY);
  };
  new ResizeObserver(() => { for (const { plot } of plots) plot.setSize({ width: plot.root.parentElement.clientWidth, height: 140 }); }).observe(holder);
  document.addEventListener("relume:theme", () => { if (last) { const { told } = last; last = null; draw(told); } });
  read();
})();
