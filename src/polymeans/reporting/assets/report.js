"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const tip = document.getElementById("tip");
  const all = (root, selector) => Array.from(root.querySelectorAll(selector));

  // Elements are made with textContent only: texts of the data never become markup.
  const make = (name, cls, text) => {
    const element = document.createElement(name);
    if (cls) element.className = cls;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const picture = (row) => {
    const at = data.pictures[row];
    if (at === undefined) return null;
    const thumb = make("span", "thumb");
    thumb.style.setProperty("--x", at % data.columns);
    thumb.style.setProperty("--y", Math.floor(at / data.columns));
    thumb.setAttribute("role", "img");
    thumb.setAttribute("aria-label", "row " + row);
    thumb.title = "row " + row;
    return thumb;
  };

  // --- the selected cluster -----------------------------------------------------------------

  const listed = (title, rows) => {
    const box = make("div");
    box.append(make("h3", "", title));
    const list = make("ul", "given");
    let tight = true;
    for (const row of rows) {
      const item = make("li");
      const shown = picture(row);
      const words = data.texts[row];
      if (shown) item.append(shown);
      else if (words !== undefined) {
        item.className = "text";
        item.append(make("bdi", "", words));
        tight = false;
      } else item.append(make("span", "number", "row " + row));
      list.append(item);
    }
    if (tight) list.classList.add("tight");
    box.append(list);
    return box;
  };

  const described = (cluster, content) => {
    const box = document.createDocumentFragment();
    const close = make("button", "close", "×");
    close.type = "button";
    close.setAttribute("aria-label", "Show all clusters");
    const heading = make("h2");
    heading.append(make("span", "swatch c" + (cluster % data.hues)), "Cluster " + content.title);
    const facts = make("dl", "mini");
    const next = content.nearest < 0 ? "" : " to " + content.nearest;
    for (const [name, value] of [
      ["Rows", content.size + " (" + content.share + ")"],
      ["Spread", content.spread],
      ["Separation", content.separation + next],
      ["Silhouette", content.silhouette],
    ]) {
      const fact = make("div");
      fact.append(make("dt", "", name), make("dd", "", value));
      facts.append(fact);
    }
    box.append(close, heading, facts);
    if (content.features.length) {
      box.append(make("h3", "", "What sets it apart"));
      const list = make("ul", "differ");
      const most = Math.max(...content.features.map((each) => Math.abs(each[1])), 1);
      for (const [name, difference, mean, overall] of content.features) {
        const item = make("li");
        const track = make("span", "track");
        const bar = make("span", difference >= 0 ? "rise" : "fall");
        const width = (50 * Math.abs(difference)) / most;
        bar.style.width = width + "%";
        bar.style.left = (difference >= 0 ? 50 : 50 - width) + "%";
        track.append(bar);
        const sign = difference >= 0 ? "+" : "−";
        item.append(make("bdi", "", name), track, make("span", "value", sign + Math.abs(difference).toFixed(1)));
        item.title = name + ": mean " + mean + ", all rows " + overall;
        list.append(item);
      }
      box.append(list);
    }
    if (content.near.length) box.append(listed("Typical rows", content.near));
    if (content.far.length) box.append(listed("Hardly belong", content.far));
    return box;
  };

  const sections = all(document, ".clustering");
  const chosen = sections.map(() => null);
  const overviews = sections.map((section) => {
    const side = section.querySelector(".side");
    return side ? Array.from(side.childNodes) : [];
  });

  const select = (number, cluster, again) => {
    const section = sections[number];
    if (chosen[number] === cluster && !again) cluster = null;
    chosen[number] = cluster;
    const on = (element) => cluster !== null && Number(element.dataset.cluster) === cluster;
    for (const row of all(section, "tbody tr[data-cluster]")) {
      row.classList.toggle("on", on(row));
      row.querySelector(".pick").setAttribute("aria-pressed", on(row));
    }
    const plane = section.querySelector(".plane");
    if (plane) {
      plane.classList.toggle("chosen", cluster !== null);
      const labels = data.groupings[number].points.labels;
      for (const point of all(plane, "circle")) {
        point.classList.toggle("on", cluster !== null && labels[point.dataset.i] === cluster);
      }
      for (const center of all(plane, ".center")) center.classList.toggle("on", on(center));
    }
    const side = section.querySelector(".side");
    if (side) {
      const content = cluster === null ? undefined : data.groupings[number].clusters[cluster];
      if (content) side.replaceChildren(described(cluster, content));
      else side.replaceChildren(...overviews[number]);
    }
    for (const cell of all(document, '.grid[data-grouping="' + number + '"] .cell')) {
      const button = cell.querySelector("[data-cluster]");
      cell.classList.toggle("on", Boolean(button) && on(button));
    }
  };

  sections.forEach((section, number) => {
    section.addEventListener("click", (event) => {
      if (event.target.closest(".close")) {
        select(number, null);
        const first = section.querySelector(".bars button");
        if (first) first.focus();
        return;
      }
      if (event.target.closest("thead")) return;
      const point = event.target.closest("circle");
      if (point) {
        select(number, data.groupings[number].points.labels[point.dataset.i]);
        return;
      }
      const owner = event.target.closest("[data-cluster]");
      if (owner) select(number, Number(owner.dataset.cluster));
      else if (event.target.closest(".plane")) select(number, null, true);
    });
    const drawing = section.querySelector(".plane svg");
    if (drawing) {
      drawing.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        const known = Object.keys(data.groupings[number].clusters).map(Number).sort((a, b) => a - b);
        if (event.key === "Escape") select(number, null, true);
        if (!step || !known.length) return;
        event.preventDefault();
        const at = known.indexOf(chosen[number]);
        const next = at < 0 ? (step > 0 ? 0 : known.length - 1) : (at + step + known.length) % known.length;
        select(number, known[next], true);
      });
    }
  });
  for (const grid of all(document, ".grid[data-grouping]")) {
    grid.addEventListener("click", (event) => {
      const cell = event.target.closest("[data-cluster]");
      if (!cell) return;
      const number = Number(grid.dataset.grouping);
      show(number);
      select(number, Number(cell.dataset.cluster));
    });
  }

  // --- what lies under the pointer ------------------------------------------------------------

  const place = (x, y) => {
    const box = tip.getBoundingClientRect();
    const left = x + 16 + box.width > innerWidth ? x - 16 - box.width : x + 16;
    tip.style.left = Math.max(8, left) + "px";
    tip.style.top = Math.max(8, Math.min(y + 14, innerHeight - box.height - 8)) + "px";
  };
  for (const plane of all(document, ".plane")) {
    const points = data.groupings[Number(plane.dataset.number)].points;
    const clusters = data.groupings[Number(plane.dataset.number)].clusters;
    plane.addEventListener("pointermove", (event) => {
      const point = event.target.closest("circle");
      if (!point) {
        tip.hidden = true;
        return;
      }
      const i = Number(point.dataset.i);
      const row = points.rows[i];
      const label = points.labels[i];
      const name = clusters[label] ? clusters[label].title : String(label);
      tip.replaceChildren(make("b", "", "Cluster " + name), " · row " + row + ", distance " + points.distances[i]);
      const shown = picture(row);
      if (shown) tip.append(shown);
      if (data.texts[row] !== undefined) {
        const words = make("div");
        words.append(make("bdi", "", data.texts[row]));
        tip.append(words);
      }
      tip.hidden = false;
      place(event.clientX, event.clientY);
    });
    plane.addEventListener("pointerleave", () => {
      tip.hidden = true;
    });
  }

  // --- tables -----------------------------------------------------------------------------------

  const value = (row, column) => {
    const written = row.children[column].dataset.v;
    return written === undefined || written === "" || written === "None" ? -Infinity : Number(written);
  };
  for (const table of all(document, ".sortable")) {
    const body = table.tBodies[0];
    all(table, "thead th").forEach((head, column) => {
      const button = head.querySelector("button");
      if (!button) return;
      button.addEventListener("click", () => {
        // Sizes are looked at from the largest, labels from the first.
        const now = head.getAttribute("aria-sort");
        const first = column === 0 ? "ascending" : "descending";
        const other = first === "ascending" ? "descending" : "ascending";
        const order = now === first ? other : first;
        for (const each of all(table, "thead th")) each.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", order);
        const sign = order === "ascending" ? 1 : -1;
        const rows = Array.from(body.rows);
        rows.sort((a, b) => sign * (value(a, column) - value(b, column)) || a.dataset.cluster - b.dataset.cluster);
        body.append(...rows);
      });
    });
  }
  for (const input of all(document, ".search")) {
    const card = input.closest(".card");
    const rows = Array.from(card.querySelector("tbody").rows);
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const count = card.querySelector(".count");
    const plain = count.textContent;
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let found = 0;
      rows.forEach((row, i) => {
        const fits = words.every((word) => texts[i].includes(word));
        row.hidden = !fits;
        found += fits;
      });
      count.textContent = words.length ? found + " of " + rows.length : plain;
    });
  }

  // --- tabs and colors --------------------------------------------------------------------------

  const tabs = all(document, '[role="tab"]');
  const show = (number) => {
    if (!tabs.length) return;
    tabs.forEach((tab, i) => {
      tab.setAttribute("aria-selected", i === number);
      tab.tabIndex = i === number ? 0 : -1;
      sections[i].hidden = i !== number;
    });
  };
  tabs.forEach((tab, number) => {
    tab.addEventListener("click", () => show(number));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const next = (number + step + tabs.length) % tabs.length;
      show(next);
      tabs[next].focus();
    });
  });
  show(0);

  const theme = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  theme.addEventListener("click", () => {
    const root = document.documentElement;
    const now = root.dataset.theme || (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    theme.title = "Color scheme: " + root.dataset.theme;
  });
})();
