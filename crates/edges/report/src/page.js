"use strict";
(() => {
  const report = JSON.parse(document.getElementById("report").textContent);
  const words = (text) => (text || "").split(" ").filter(Boolean);
  const at = (path) => path.split(".").reduce((tree, member) => (tree ? tree[member] : undefined), report);

  // What a step says, without the label of its arrow.
  function said(item) {
    const nodes = [...item.childNodes].filter((it) => it.nodeName !== "DETAILS");
    if (nodes[0].nodeName === "CODE") nodes.shift();
    return nodes.map((it) => it.textContent).join("").trim();
  }

  // A shape of a picture.
  function drawn(name, attributes) {
    const shape = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const each in attributes) shape.setAttribute(each, attributes[each]);
    return shape;
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Pages that were opened from a file may have no clipboard of their own.
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  }

  // A command that checks a history again. No line of the history may end it early.
  function command(history, level) {
    const lines = history.replace(/\n*$/, "").split("\n");
    let end = "END";
    while (lines.includes(end)) end += "_";
    return `isoscope check -${level} <<'${end}'\n${lines.join("\n")}\n${end}\n`;
  }

  // A case is a picture with the steps that explain it.
  class Case {
    constructor(root) {
      this.root = root;
      this.figure = root.querySelector("figure.linked");
      this.svg = this.figure && this.figure.querySelector("svg");
      this.picture = this.svg ? new XMLSerializer().serializeToString(this.svg) : "";
      this.steps = [...root.querySelectorAll(".steps > li")];
      this.list = root.querySelector(".steps");
      this.stepper = root.querySelector(".stepper");
      this.step = -1;
      this.setUpCopies();
      if (this.steps.length > 0 && this.svg) {
        this.setUpSteps();
        this.setUpArrows();
        this.setUpLines();
        this.show(-1);
      }
    }

    setUpSteps() {
      this.output = this.stepper.querySelector("output");
      this.back = this.stepper.querySelector(".back");
      this.next = this.stepper.querySelector(".next");
      this.back.addEventListener("click", () => this.go(this.step - 1));
      this.next.addEventListener("click", () => this.go(this.step + 1));
      this.stepper.hidden = false;
      this.root.addEventListener("pointerdown", () => { active = this; });
      this.root.addEventListener("focusin", () => { active = this; });
      this.steps.forEach((item, idx) => {
        item.addEventListener("click", () => { if (!String(getSelection())) this.go(idx); });
        this.preview(item, idx);
      });
      this.setUpReasons();
    }

    // What a step follows from lights up, too, while one looks at it.
    setUpReasons() {
      for (const item of this.root.querySelectorAll(".steps .why li[data-lit]")) {
        const above = item.parentElement.closest("li[data-lit]");
        item.tabIndex = 0;
        for (const name of ["mouseenter", "focus"]) item.addEventListener(name, () => this.lightItem(item));
        item.addEventListener("mouseleave", () => this.lightItem(above));
        item.addEventListener("blur", () => this.light(this.step));
        item.addEventListener("click", (event) => {
          event.stopPropagation();
          this.lightItem(item);
        });
      }
    }

    setUpArrows() {
      this.clickable = this.svg.querySelector("[data-link]") ? "an arrow" : "a step";
      for (const arrow of this.svg.querySelectorAll("[data-link]")) {
        const idx = this.steps.findIndex((item) => words(item.dataset.links)[0] === arrow.dataset.link);
        if (idx < 0) continue;
        arrow.addEventListener("click", () => this.go(idx));
        this.preview(arrow, idx);
        const line = arrow.querySelector("path");
        if (!line) continue;
        // An invisible broad line is easy to hit.
        const broad = line.cloneNode();
        broad.setAttribute("class", "broad");
        arrow.append(broad);
        arrow.setAttribute("tabindex", "0");
        arrow.setAttribute("role", "button");
        arrow.setAttribute("aria-label", said(this.steps[idx]));
        arrow.addEventListener("keydown", (event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          this.go(idx);
        });
      }
    }

    // Behind each operation, what shines when it is lit.
    setUpLines() {
      for (const op of this.svg.querySelectorAll(".op")) {
        const box = op.getBBox();
        const sizes = { x: box.x - 4, y: box.y - 1, width: box.width + 8, height: box.height + 2, rx: 4 };
        op.prepend(drawn("rect", { class: "glow", ...sizes }));
      }
    }

    preview(element, idx) {
      element.addEventListener("mouseenter", () => this.light(idx));
      element.addEventListener("mouseleave", () => this.light(this.step));
    }

    setUpCopies() {
      for (const bar of this.root.querySelectorAll(".copies")) {
        const history = at(bar.dataset.history) || "";
        const level = bar.dataset.level ? ` --level ${bar.dataset.level}` : "";
        const texts = {
          history,
          command: command(history, level),
          svg: this.picture,
        };
        for (const button of bar.querySelectorAll("button")) {
          const text = texts[button.dataset.copy];
          const title = button.textContent;
          button.hidden = !text;
          button.addEventListener("click", async () => {
            await copy(text);
            button.textContent = "Copied";
            setTimeout(() => { button.textContent = title; }, 1500);
          });
        }
        bar.hidden = false;
      }
    }

    go(step) {
      active = this;
      this.show(Math.max(-1, Math.min(step, this.steps.length - 1)));
    }

    show(step) {
      this.step = step;
      const item = this.steps[step];
      this.back.disabled = step < 0;
      this.next.disabled = step === this.steps.length - 1;
      this.output.textContent = item
        ? `${step + 1} of ${this.steps.length}: ${said(item)}`
        : `Step through it with the buttons or the arrow keys, or click ${this.clickable}.`;
      this.light(step);
      this.reveal();
      const line = this.root.querySelector(".line.on");
      if (line) line.parentNode.scrollTop = line.offsetTop - line.parentNode.offsetTop - line.parentNode.clientHeight / 3;
      this.list.scrollTop = item ? item.offsetTop - this.list.offsetTop - this.list.clientHeight / 3 : 0;
    }

    // Lights up what a step is about.
    light(step) {
      this.lightItem(this.steps[step]);
    }

    lightItem(item) {
      const lit = (element, is) => element.classList.toggle("on", is);
      const links = words(item && item.dataset.links);
      const txns = words(item && item.dataset.txns);
      this.svg.classList.toggle("dim", Boolean(item));
      this.svg.classList.toggle("whole", Boolean(item) && txns.length === 0);
      for (const each of this.root.querySelectorAll(".steps .why .on")) lit(each, false);
      if (item) lit(item, true);
      this.steps.forEach((each) => {
        lit(each, each === item);
        if (each === item) each.setAttribute("aria-current", "step");
        else each.removeAttribute("aria-current");
      });
      for (const each of this.svg.querySelectorAll("[data-link]")) lit(each, links.includes(each.dataset.link));
      for (const each of this.svg.querySelectorAll("[data-txn]")) lit(each, txns.includes(each.dataset.txn));
      for (const each of this.svg.querySelectorAll("[data-op]")) lit(each, false);
      for (const op of words(item && item.dataset.lit)) lit(this.line(op) || this.svg, true);
      lit(this.svg, false);
      this.flow(words(item && item.dataset.flows));
      const lines = words(item && item.dataset.lines);
      for (const each of this.root.querySelectorAll("[data-line]")) lit(each, lines.includes(each.dataset.line));
    }

    // Arrows from writes to the reads that returned them, each as `0.1-2.0`.
    flow(pairs) {
      this.svg.querySelectorAll(".flow").forEach((it) => it.remove());
      for (const [write, read] of pairs.map((it) => it.split("-").map((op) => this.line(op)))) {
        if (!write || !read) continue;
        const [from, to] = [this.place(write), this.place(read)];
        const [left, right] = [this.place(write.closest(".txn")), this.place(read.closest(".txn"))];
        // A value leaves its box straight to the side where the reader stands, and enters the reader's box straight.
        const isAhead = right.x + right.width / 2 >= left.x + left.width / 2;
        const isBeside = isAhead ? right.x > left.x + left.width : left.x > right.x + right.width;
        const [x1, out] = isAhead ? [from.x + from.width, left.x + left.width] : [from.x, left.x];
        const isLeft = isAhead === isBeside;
        const [tip, into] = isLeft ? [to.x, right.x] : [to.x + to.width, right.x + right.width];
        const [y1, y2] = [from.y + from.height / 2, to.y + to.height / 2];
        const bend = Math.max(24, Math.abs(into - out) / 2);
        const [c1, c2] = [out + (isAhead ? bend : -bend), into + (isLeft ? -bend : bend)];
        const side = isLeft ? -9 : 9;
        const line = `M${x1} ${y1}L${out} ${y1}C${c1} ${y1} ${c2} ${y2} ${into} ${y2}L${tip + side * 0.8} ${y2}`;
        this.svg.append(
          drawn("path", { class: "flow", d: line }),
          drawn("path", { class: "flow tip", d: `M${tip} ${y2}l${side} -5v10z` }),
        );
      }
    }

    // Where a line or a box stands in the picture.
    place(element) {
      const shape = element.querySelector("rect");
      const shift = this.svg.getScreenCTM().inverse().multiply(element.getScreenCTM());
      const size = (name) => Number(shape.getAttribute(name));
      return { x: size("x") + shift.e, y: size("y") + shift.f, width: size("width"), height: size("height") };
    }

    // The line of an operation; those that are left out share the last line of their box.
    line(op) {
      const line = this.svg.querySelector(`[data-op="${op}"]`);
      return line || this.svg.querySelector(`[data-txn="${op.split(".")[0]}"] [data-op]:last-child`);
    }

    // Where a picture is wider than the screen, scrolls to what is lit.
    reveal() {
      const lit = [...this.svg.querySelectorAll(".on")].map((it) => it.getBoundingClientRect());
      if (lit.length === 0 || this.figure.scrollWidth <= this.figure.clientWidth) return;
      const frame = this.figure.getBoundingClientRect();
      const left = Math.min(...lit.map((it) => it.left));
      const right = Math.max(...lit.map((it) => it.right));
      this.figure.scrollLeft += (left + right) / 2 - (frame.left + frame.right) / 2;
    }
  }

  // Where there is little room, pictures scroll rather than shrink until nobody can read them.
  // A picture that is wider than its frame says that there is more to see, and where.
  for (const figure of document.querySelectorAll("figure")) {
    const hint = document.createElement("p");
    hint.className = "sideways";
    hint.textContent = "Scroll sideways to see all of it \u2192";
    hint.hidden = true;
    figure.after(hint);
    const look = () => {
      const hidden = figure.scrollWidth - figure.clientWidth;
      figure.classList.toggle("more", hidden - figure.scrollLeft > 4);
      figure.classList.toggle("less", figure.scrollLeft > 4);
      hint.hidden = hidden <= 4;
    };
    figure.addEventListener("scroll", look, { passive: true });
    new ResizeObserver(look).observe(figure);
  }

  for (const svg of document.querySelectorAll("figure:not(.lattice):not(.course):not(.chart) svg")) {
    svg.style.minWidth = `${Math.round(svg.viewBox.baseVal.width * (innerWidth < 600 ? 0.85 : 0.72))}px`;
  }

  // Neighbours that have every word of the filter stay; what was left out between them says nothing then.
  for (const around of document.querySelectorAll(".around")) {
    const bar = around.querySelector(".filter");
    const [input, output] = [bar.querySelector("input"), bar.querySelector("output")];
    const rows = [...around.querySelectorAll(".lanes > li:not(.head):not(.gap)")];
    const texts = rows.map((it) => it.textContent.toLowerCase());
    input.addEventListener("input", () => {
      const wanted = words(input.value.toLowerCase().trim());
      rows.forEach((row, idx) => { row.hidden = !wanted.every((it) => texts[idx].includes(it)); });
      for (const gap of around.querySelectorAll(".gap")) gap.hidden = wanted.length > 0;
      const shown = rows.filter((it) => !it.hidden).length;
      output.textContent = wanted.length > 0 ? `${shown} of ${rows.length}` : "";
    });
    bar.hidden = false;
  }

  // A listing is copied as it stands there.
  for (const listing of document.querySelectorAll(".listing")) {
    const button = listing.querySelector("button");
    const title = button.textContent;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await copy(listing.querySelector("pre").textContent + "\n");
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = title; }, 1500);
    });
  }

  // Paper has nothing to click on.
  const folded = () => document.querySelectorAll(".why:not([open])");
  addEventListener("beforeprint", () => folded().forEach((it) => { it.open = true; it.dataset.folded = ""; }));
  addEventListener("afterprint", () => {
    for (const it of document.querySelectorAll(".why[data-folded]")) {
      it.open = false;
      delete it.dataset.folded;
    }
  });

  let active;
  const cases = [...document.querySelectorAll(".case")].map((root) => new Case(root));
  active = cases.find((it) => it.stepper);

  // The sheet below a lattice, in which its lines open their histories.
  class Sheet {
    constructor(root) {
      this.root = root;
      this.lines = [...document.querySelectorAll(".diagram a")];
      this.home = document.createComment("");
      root.querySelector("button").addEventListener("click", () => this.leave());
      document.addEventListener("click", (event) => {
        const link = event.target.closest("a");
        const id = link && link.getAttribute("href").slice(1);
        if (!id || !id.startsWith("edge-") || event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        // However many lines are opened, one step back leads to the diagram.
        const move = this.section ? "replaceState" : "pushState";
        history[move]({ isOpened: true }, "", `#${id}`);
        this.open(id);
      });
      addEventListener("popstate", () => this.follow());
      this.follow();
    }

    follow() {
      if (location.hash.startsWith("#edge-")) this.open(location.hash.slice(1));
      else this.close();
    }

    open(id) {
      const section = document.getElementById(id);
      if (section === this.section || !section) return;
      this.close();
      this.section = section;
      section.replaceWith(this.home);
      this.root.append(section);
      this.root.hidden = false;
      this.root.scrollTop = 0;
      this.line = this.lines.find((it) => it.getAttribute("href") === `#${id}`);
      if (this.line) {
        this.line.setAttribute("aria-current", "true");
        this.line.focus({ preventScroll: true });
      }
      active = cases.find((it) => it.stepper && section.contains(it.root)) || active;
      // The sheet may cover the line.
      if (this.line) this.line.scrollIntoView({ block: "center", inline: "nearest" });
    }

    close() {
      if (!this.section) return;
      this.home.replaceWith(this.section);
      this.section = undefined;
      this.root.hidden = true;
      if (!this.line) return;
      this.line.removeAttribute("aria-current");
      this.line.focus({ preventScroll: true });
    }

    leave() {
      if (history.state && history.state.isOpened) history.back();
      else this.close();
    }
  }

  const sheets = [...document.querySelectorAll(".sheet")].map((root) => new Sheet(root));

  document.addEventListener("keydown", (event) => {
    const sheet = sheets.find((it) => it.section);
    if (event.key === "Escape" && sheet && !(active && active.stepper && active.step >= 0)) {
      sheet.leave();
      return;
    }
    const isTaken = event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;
    if (isTaken || !active || !active.stepper || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    const moves = { ArrowRight: 1, ArrowLeft: -1 };
    if (event.key in moves) active.go(active.step + moves[event.key]);
    else if (event.key === "Escape") active.go(-1);
    else return;
    event.preventDefault();
  });
})();
