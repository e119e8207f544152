"use strict";
// Asks while somebody types. What is asked goes to the server that sent this page, or stays in it, and goes nowhere else.
(() => {
  const server = {
    get: async name => (await fetch(`${name}.json`)).json(),
    ask: async question => {
      const [headers, body] = [{ "Content-Type": "application/json" }, JSON.stringify(question)];
      try {
        return await (await fetch("ask", { method: "POST", headers, body })).json();
      } catch {
        return { error: "The server of this page is gone. Start `isoscope playground` again, and reload.", places: [] };
      }
    },
  };
  // The page that needs no server brings its own engines.
  const engines = window.isoscope || server;
  const by = id => document.getElementById(id);
  const [text, lines, choice, examples, page] = ["text", "lines", "choice", "examples", "page"].map(by);
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const questions = {
    history: "What sessions read and wrote. Which levels allow it, and what breaks the others?",
    program: "Transactions and an invariant. Does every run keep it, and at which level?",
    levels: "Two levels. Is one of them stronger, and which history shows it?",
  };
  const databases = [["", "levels of papers"], ["postgres", "PostgreSQL"], ["mysql", "MySQL"], ["mariadb", "MariaDB"], ["sqlite", "SQLite"]];
  let [kind, all, levels] = ["history", [], []];
  let [timer, number, shown] = [0, 0, ""];

  const option = (value, label) => Object.assign(document.createElement("option"), { value, textContent: label });

  function turnTo(wanted) {
    kind = questions[wanted] ? wanted : "history";
    tabs.forEach(tab => tab.setAttribute("aria-selected", String(tab.dataset.kind === kind)));
    by("question").textContent = questions[kind];
    examples.replaceChildren(option("", "choose one"), ...all.filter(it => it.kind === kind).map(it => option(it.name, it.title)));
    const choices = kind === "history" ? [["", "all"], ...levels.map(it => [it.level, `${it.name} (${it.level})`])] : databases;
    choice.replaceChildren(...choices.map(([value, label]) => option(value, label)));
    by("choice-label").firstChild.textContent = kind === "program" ? "Database " : "Level ";
    by("choice-label").hidden = kind === "levels";
  }

  function fragment() {
    const parts = new URLSearchParams({ kind, text: text.value });
    if (choice.value) parts.set("choice", choice.value);
    return "#" + parts;
  }

  // A link that somebody was sent.
  function fromFragment() {
    const parts = new URLSearchParams(location.hash.slice(1));
    if (!parts.has("text")) return false;
    turnTo(parts.get("kind"));
    text.value = parts.get("text");
    choice.value = parts.get("choice") || "";
    return true;
  }

  function useExample(name) {
    const found = all.find(it => it.name === name);
    if (found) { text.value = found.text; examples.value = found.name; changed(0); }
  }

  function paintLines(mistakes) {
    const wrong = new Set(mistakes.map(it => it.line));
    const n = text.value.split("\n").length;
    lines.replaceChildren(...Array.from({ length: n }, (_, idx) => {
      const line = document.createElement(wrong.has(idx + 1) ? "b" : "span");
      line.textContent = `${idx + 1}\n`;
      return line;
    }));
    lines.scrollTop = text.scrollTop;
  }

  function changed(patience) {
    clearTimeout(timer);
    paintLines([]);
    by("headline").classList.add("busy");
    timer = setTimeout(ask, patience);
  }

  async function ask() {
    const mine = ++number;
    history.replaceState(null, "", fragment());
    const answer = await engines.ask({ kind, text: text.value, choice: kind === "levels" ? "" : choice.value });
    // Meanwhile somebody typed on.
    if (mine === number) show(answer);
  }

  function show(answer) {
    const headline = by("headline");
    const mistakes = answer.places || [];
    headline.className = answer.error ? "bad" : ["good", "bad", "bad", "open"][answer.exit] || "open";
    headline.textContent = answer.error ? (mistakes.length ? "This cannot be read yet." : answer.error) : titled(answer);
    by("mistakes").replaceChildren(...mistakes.map(it => {
      const item = document.createElement("li");
      item.textContent = `line ${it.line}${it.column ? `, column ${it.column}` : ""}: ${it.message}`;
      if (it.hint) item.append(Object.assign(document.createElement("small"), { textContent: it.hint }));
      item.addEventListener("click", () => select(it));
      return item;
    }));
    by("notes").replaceChildren(...(answer.notes || []).map(it => Object.assign(document.createElement("li"), { textContent: it })));
    paintLines(mistakes);
    page.hidden = Boolean(answer.error);
    document.body.dataset.answered = String(number);
    if (answer.page && answer.page !== shown) page.srcdoc = shown = answer.page;
    else document.body.dataset.shown = String(number);
  }

  // The page of an answer says it best.
  function titled(answer) {
    const title = new DOMParser().parseFromString(answer.page, "text/html").querySelector("h1");
    return (title && title.textContent.trim()) || answer.headline;
  }

  function select(place) {
    const before = text.value.split("\n").slice(0, place.line - 1).reduce((sum, it) => sum + it.length + 1, 0);
    text.focus();
    text.setSelectionRange(before + (place.column || 1) - 1, before + (place.column || 1));
  }

  tabs.forEach((tab, idx) => {
    tab.addEventListener("click", () => {
      turnTo(tab.dataset.kind);
      useExample(all.find(it => it.kind === kind).name);
    });
    tab.addEventListener("keydown", event => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) tabs[(idx + step + tabs.length) % tabs.length].focus();
    });
  });
  examples.addEventListener("change", () => useExample(examples.value));
  choice.addEventListener("change", () => changed(0));
  text.addEventListener("input", () => { examples.value = ""; changed(250); });
  text.addEventListener("scroll", () => { lines.scrollTop = text.scrollTop; });
  page.addEventListener("load", () => { document.body.dataset.shown = document.body.dataset.answered || ""; });
  window.addEventListener("hashchange", () => { if (location.hash !== fragment() && fromFragment()) changed(0); });
  by("link").addEventListener("click", async () => {
    const label = by("link").textContent;
    try {
      await navigator.clipboard.writeText(location.href.split("#")[0] + fragment());
      by("link").textContent = "Copied";
    } catch {
      by("link").textContent = "It is in the address bar";
    }
    setTimeout(() => { by("link").textContent = label; }, 1500);
  });

  (async () => {
    try {
      [all, levels] = await Promise.all(["examples", "levels"].map(it => engines.get(it)));
    } catch (error) {
      show({ error: `The playground cannot start: ${error.message}`, places: [] });
      return;
    }
    turnTo("history");
    if (fromFragment()) changed(0); else useExample(all[0].name);
  })();
})();
