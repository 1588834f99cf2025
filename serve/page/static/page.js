// What the pages do beside showing: they keep themselves up to date, say when they can't, take keys, and
// let a person decide. Nothing here makes HTML of text: log lines are hostile.
"use strict";
(() => {
  const root = document.documentElement;
  const $ = (id) => document.getElementById(id);
  const store = {
    get(name) { try { return localStorage.getItem(name); } catch { return null; } },
    set(name, value) { try { localStorage.setItem(name, value); } catch { /* storage is off */ } },
  };
  const say = (words) => { $("said").textContent = words; };

  // --- time: ages count on between answers, by the service's clock ---
  const skew = Number(document.body.dataset.now) / 1000 - Date.now();
  const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const span = (milliseconds) => {
    let rest = Math.max(0, Math.floor(milliseconds / 1000));
    const parts = [];
    for (const [size, unit] of UNITS) {
      const count = Math.floor(rest / size);
      rest %= size;
      if (count || (unit === "s" && !parts.length)) parts.push(`${count} ${unit}`);
      else if (parts.length) break;
    }
    return parts.slice(0, 2).join(" ");
  };
  const age = () => {
    const now = Date.now() + skew;
    for (const one of document.querySelectorAll("time[data-at]")) {
      const before = one.dataset.before ?? (one.dataset.before = /^(over |since )?/.exec(one.textContent)[0]);
      one.textContent = `${before}${span(now - one.dataset.at / 1000)} ago`;
    }
    for (const one of document.querySelectorAll("time[data-until]")) {
      const left = one.dataset.until / 1000 - now;
      one.textContent = left > 0 ? `${span(left)} left` : "expired";
    }
  };

  // --- whether the service answers: silence must not look like health ---
  const PATIENCE = 6000;
  let heard = Date.now();
  let isLost = false;
  const hear = () => {
    heard = Date.now();
    if (isLost) say("The service answers again.");
    show(false);
  };
  const show = (lost) => {
    isLost = lost;
    root.classList.toggle("is-lost", lost);
    const bar = $("lost");
    bar.hidden = !lost;
    if (lost) {
      const at = new Date(heard + skew).toISOString().slice(11, 19);
      bar.textContent = `The service doesn't answer. What you see is from ${at} UTC, ${span(Date.now() - heard)} ago.`;
      const words = document.querySelector("#status .text");
      if (words) words.textContent = "Not reachable";
    }
  };
  setInterval(() => {
    age();
    if (Date.now() - heard > PATIENCE && !document.hidden) show(true);
  }, 1000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) heard = Math.max(heard, Date.now() - 3000); });

  // --- fragments: only what changed is sent, and what a person has in hand stays as it is ---
  let kept = [];
  const isBusy = () => document.querySelector("dialog[open]") !== null;
  document.addEventListener("htmx:configRequest", (event) => {
    const seen = event.detail.elt.dataset.seen;
    if (seen) event.detail.headers["X-Relume-Seen"] = seen;
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    const status = event.detail.xhr.status;
    if (status >= 200 && status < 400) hear();
    else if (status === 401 && !$("login-form")) location.assign(`/login?next=${encodeURIComponent(location.pathname)}`);
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (isBusy() || (event.detail.target.id === "live" && String(getSelection()).length > 0)) {
      event.detail.shouldSwap = false;
      if (event.detail.target.id === "live") isStale = true;
      return;
    }
    kept = [...event.detail.target.querySelectorAll("details[open][id]")].map((one) => one.id);
    if (event.detail.target.matches("details[open][id]")) kept.push(event.detail.target.id);
  });
  document.addEventListener("htmx:afterSwap", () => {
    for (const id of kept) { const one = $(id); if (one) one.open = true; }
    if (chosen) choose($(chosen), false);
    age();
  });

  // --- what is new: told by the stream of events, asked for where it can't be ---
  const SLOW = 30; // seconds between two questions of a page that is told of all that it shows
  const APART = 500; // milliseconds between two answers to a storm of news
  const NEWS = ["advice", "answer", "reconciliation", "closed", "label"];
  let stream = null;
  let number = document.body.dataset.news;
  let asked = Date.now();
  let isAsking = false;
  let isStale = false;
  const isFollowing = () => stream !== null && stream.readyState === EventSource.OPEN;
  const again = () => {
    const live = $("live");
    if (!live.hasAttribute("hx-get")) return;
    isStale = true;
    if (isAsking || isBusy() || Date.now() - asked < APART) return; // the next beat asks
    isStale = false;
    isAsking = true;
    asked = Date.now();
    htmx.trigger(live, "again");
  };
  const refresh = () => { delete $("live").dataset.seen; asked = 0; again(); };
  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.target?.id !== "live") return;
    isAsking = false;
    asked = Date.now();
    if (isStale) setTimeout(again, APART);
  });
  const follow = () => {
    if (number === undefined || document.hidden || stream !== null) return;
    if (!(Number($("live").dataset.every) < SLOW)) return; // sums over weeks don't change by one of them
    stream = new EventSource(`/v1/advice/events?after=${number}`);
    stream.addEventListener("open", () => { root.classList.add("is-following"); });
    stream.addEventListener("error", () => { root.classList.remove("is-following"); });
    for (const name of NEWS) stream.addEventListener(name, (event) => { number = event.lastEventId; again(); });
  };
  const leave = () => { // a browser has few connections to one service, for all of its windows
    stream?.close();
    stream = null;
    root.classList.remove("is-following");
  };
  let beats = 0;
  setInterval(() => {
    if (document.hidden) return;
    const live = $("live");
    const every = Number(live.dataset.every);
    const rest = "told" in live.dataset && isFollowing() ? Math.max(every, SLOW) : every;
    if (isStale || Date.now() - asked >= rest * 1000) again();
    beats += 1;
    if (stream?.readyState === EventSource.CLOSED && beats % SLOW === 0) leave(); // it was refused: try anew
    follow();
  }, 1000);
  document.addEventListener("visibilitychange", () => { if (document.hidden) leave(); else { follow(); again(); } });
  addEventListener("pagehide", leave);

  // --- who is logged in ---
  let session = null;
  const ask = async (method, path, body) => {
    const headers = { Accept: "application/json" };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (session?.csrf) headers["X-Relume-CSRF"] = session.csrf;
    const answer = await fetch(path, { method, headers, credentials: "same-origin", body: body === undefined ? undefined : JSON.stringify(body) });
    const told = answer.status === 204 ? null : await answer.json().catch(() => null);
    if (!answer.ok) throw new Error(told?.detail ?? `The service answered ${answer.status}.`);
    return told;
  };
  const meet = async () => {
    try { session = await ask("GET", "/v1/session"); } catch { return; }
    const link = $("login");
    if (!session?.csrf || !link) return;
    root.dataset.can = session.roles.join(" ");
    link.textContent = "Log out";
    link.addEventListener("click", async (event) => {
      event.preventDefault();
      try { await ask("DELETE", "/v1/session"); } finally { location.reload(); }
    });
  };
  const form = $("login-form");
  form?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const error = $("login-error");
    error.hidden = true;
    try {
      await ask("POST", "/v1/session", { token: form.elements.token.value });
      store.set("relume-who", form.elements.who.value.trim());
      const next = new URLSearchParams(location.search).get("next") ?? "/";
      const goal = new URL(next, location.origin);
      location.assign(goal.origin === location.origin ? goal.href : "/");
    } catch (problem) {
      error.textContent = problem.message;
      error.hidden = false;
      form.elements.token.select();
    }
  });
  if (form) form.elements.who.value = store.get("relume-who") ?? "";

  // --- decisions ---
  const DECISIONS = {
    approve: { title: "Approve", yes: "Approve", done: "Approved", send: (id, said) => ask("POST", `/v1/advice/${id}/approve`, said) },
    reject: { title: "Reject", yes: "Reject", done: "Rejected", send: (id, said) => ask("POST", `/v1/advice/${id}/reject`, said) },
    right: { title: "It was right", yes: "Say so", done: "Written down", send: (id, said) => ask("POST", `/v1/advice/${id}/labels`, { ...said, right: true }) },
    wrong: { title: "It was wrong", yes: "Say so", done: "Written down", send: (id, said) => ask("POST", `/v1/advice/${id}/labels`, { ...said, right: false }) },
  };
  const dialog = $("decide");
  let decision = null;
  const decide = (name, holder) => {
    decision = { ...DECISIONS[name], id: holder.dataset.advice };
    $("decide-title").textContent = decision.title;
    $("decide-about").textContent = holder.dataset.about;
    $("decide-yes").textContent = decision.yes;
    $("decide-error").hidden = true;
    const fields = dialog.querySelector("form").elements;
    fields.who.value = store.get("relume-who") ?? "";
    fields.why.value = "";
    dialog.showModal();
    (fields.who.value ? fields.why : fields.who).focus();
  };
  dialog.querySelector("form").addEventListener("submit", async (event) => {
    if (event.submitter?.value !== "yes") return;
    event.preventDefault();
    const fields = event.target.elements;
    const who = fields.who.value.trim();
    if (!who) { fields.who.reportValidity(); return; }
    store.set("relume-who", who);
    $("decide-yes").disabled = true;
    try {
      await decision.send(decision.id, { who, why: fields.why.value.trim() || null });
      dialog.close();
      say(`${decision.done}.`);
      refresh();
    } catch (problem) {
      $("decide-error").textContent = problem.message;
      $("decide-error").hidden = false;
    } finally {
      $("decide-yes").disabled = false;
    }
  });

  // --- theme, help, buttons ---
  const theme = () => {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    store.set("relume-theme", root.dataset.theme);
    document.dispatchEvent(new Event("relume:theme"));
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-do]");
    if (!button) {
      const open = $("status");
      if (open?.open && !open.contains(event.target)) open.open = false;
      return;
    }
    const name = button.dataset.do;
    if (name === "theme") theme();
    else if (name === "help") $("help").showModal();
    else if (name in DECISIONS) decide(name, button.closest("[data-advice]"));
  });

  // --- keys ---
  let chosen = null;
  let isGoing = false;
  const rows = () => [...document.querySelectorAll("#live .row, #live tbody tr[id]")];
  const choose = (row, moves = true) => {
    for (const one of document.querySelectorAll(".chosen")) one.classList.remove("chosen");
    if (!row) return;
    chosen = row.id;
    row.classList.add("chosen");
    if (moves) {
      row.scrollIntoView({ block: "nearest" });
      row.querySelector("a")?.focus({ preventScroll: true });
    }
  };
  const step = (by) => {
    const all = rows();
    const at = all.findIndex((one) => one.id === chosen);
    choose(all[Math.min(all.length - 1, Math.max(0, at < 0 ? 0 : at + by))]);
  };
  const press = (name) => {
    const row = chosen ? $(chosen) : document;
    const button = row?.querySelector(`[data-do="${name}"]`);
    if (button?.checkVisibility()) button.click();
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isBusy()) return;
    if (event.target.matches("input, textarea, select")) { if (event.key === "Escape") event.target.blur(); return; }
    if (isGoing) {
      isGoing = false;
      const link = document.querySelector(`nav [data-key="${CSS.escape(event.key)}"]`);
      if (link) { event.preventDefault(); link.click(); }
      return;
    }
    const actions = { g: () => { isGoing = true; setTimeout(() => { isGoing = false; }, 1500); }, j: () => step(1), k: () => step(-1), t: theme, "?": () => $("help").showModal(), y: () => press("approve"), n: () => press("reject"), "/": () => { const field = $("q"); if (field) field.focus(); else location.assign("/jobs"); } };
    const action = actions[event.key];
    if (action) { event.preventDefault(); action(); }
    else if (event.key === "Enter" && chosen && document.activeElement === document.body) $(chosen)?.querySelector("a")?.click();
    else if (event.key === "Escape") { const open = $("status"); if (open) open.open = false; }
  });

  document.querySelector(".top nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  age();
  meet();
})();
