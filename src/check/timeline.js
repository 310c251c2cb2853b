"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const view = byId("view"), axis = byId("axis"), scroll = byId("scroll"), tip = byId("tip");
  const end = Math.max(data.end, 1);
  const leastSpan = 4;  // statements across the picture, at the closest

  // --- what is drawn -------------------------------------------------------------------------------------------------

  // A lane is a flat list of (kind, begin, length, line, label), sorted by begin.
  function readLane(flat) {
    const n = flat.length / 5;
    const lane = {n, kind: new Uint8Array(n), begin: new Float64Array(n), end: new Float64Array(n),
                  reach: new Float64Array(n), line: new Uint32Array(n), label: new Uint32Array(n)};
    let reach = 0;
    for (let i = 0; i < n; ++i) {
      lane.kind[i] = flat[5 * i];
      lane.begin[i] = flat[5 * i + 1];
      lane.end[i] = lane.begin[i] + flat[5 * i + 2];
      reach = Math.max(reach, lane.end[i]);
      lane.reach[i] = reach;  // of this event and all before it
      lane.line[i] = flat[5 * i + 3];
      lane.label[i] = flat[5 * i + 4];
    }
    return lane;
  }
  // Points are a flat list of (time, line, label), sorted by time.
  function readPoints(flat) {
    const points = [];
    for (let i = 0; i < flat.length; i += 3) points.push({time: flat[i], line: flat[i + 1], label: flat[i + 2]});
    return points;
  }
  const rows = data.tracks.map((track, index) => ({
    track, element: document.querySelector(`[data-track="${index}"]`), lanes: track.lanes.map(readLane),
    arrivals: readPoints(track.arrivals), marks: readPoints(track.marks), top: 0, height: 0
  })).sort((a, b) => a.element.compareDocumentPosition(b.element) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1);

  // The first index whose value is above `limit`, in an array that only rises.
  function firstAbove(values, limit) {
    let low = 0, high = values.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[middle] > limit) high = middle; else low = middle + 1;
    }
    return low;
  }
  // The same for points and "not below".
  function firstPoint(points, time) {
    let low = 0, high = points.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (points[middle].time >= time) high = middle; else low = middle + 1;
    }
    return low;
  }

  // --- the window on time --------------------------------------------------------------------------------------------

  const margin = end * 0.01;
  let from = -margin, span = end + 2 * margin, width = 1, height = 1, chosen = -1, waiting = false;
  const xOf = (time) => (time - from) * width / span;
  const timeOf = (x) => from + x * span / width;

  function show(newFrom, newSpan) {
    span = Math.min(Math.max(newSpan, leastSpan), end + 2 * margin);
    from = Math.min(Math.max(newFrom, -margin), end + margin - span);
    redraw();
  }
  function zoom(factor, x) {
    const time = timeOf(x), closer = Math.min(Math.max(span * factor, leastSpan), end + 2 * margin);
    show(time - (time - from) * closer / span, closer);
  }
  const pan = (fraction) => show(from + span * fraction, span);
  const reset = () => show(-margin, end + 2 * margin);

  function redraw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(scroll.scrollTop); });
  }

  // --- drawing -------------------------------------------------------------------------------------------------------

  function make(tag, parent, attributes = {}) {
    const element = document.createElementNS(view.namespaceURI, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    parent.append(element);
    return element;
  }
  // Elements that stay from one picture to the next: next() gives the first one that this picture has no use for yet.
  function pool(create) {
    const elements = [];
    let used = 0;
    return {
      next() {
        if (used === elements.length) elements.push(create());
        elements[used].style.display = "";
        return elements[used++];
      },
      end() {
        for (let i = used; i < elements.length && elements[i].style.display === ""; ++i) {
          elements[i].style.display = "none";
        }
        used = 0;
      }
    };
  }
  function makeMark(parent) {
    const group = make("g", parent, {class: "mark"});
    make("title", group);
    make("path", group, {class: "reach"});
    make("path", group, {class: "flag"});
    return group;
  }

  // All bars of a kind are one path. What the page shows before this runs is the whole run, drawn once.
  view.replaceChildren();
  byId("chart").classList.add("live");
  axis.replaceChildren();
  const chosenRow = make("rect", view, {class: "chosen-row"}), lines = make("path", view, {class: "grid"});
  const paths = data.kinds.map((kind) => make("path", view, {class: kind}));
  const pieces = data.kinds.map(() => []);
  const labelGroup = make("g", view), markGroup = make("g", view, {class: "marks"});
  const chosenMark = makeMark(make("g", view));
  const labels = pool(() => make("text", labelGroup)), marks = pool(() => makeMark(markGroup));
  const axisLines = make("path", axis, {class: "tick"}), axisTexts = pool(() => make("text", axis, {y: 15}));
  const kindNumber = Object.fromEntries(data.kinds.map((kind, index) => [kind, index]));
  const tenth = (x) => Math.round(10 * x) / 10;
  const bar = (x, y, w, h) => `M${tenth(x)} ${tenth(y)}h${tenth(w)}v${tenth(h)}h${-tenth(w)}z`;

  function measure() {
    const names = byId("labels");
    for (const row of rows) {
      row.top = row.element.offsetTop - names.offsetTop;
      row.height = row.element.offsetHeight;
    }
    width = Math.max(1, byId("pane").clientWidth);
    height = Math.max(1, Math.min(scroll.clientHeight, names.offsetHeight));
    for (const [element, high] of [[view, height], [axis, 24]]) {
      element.setAttribute("width", width);
      element.setAttribute("height", high);
      element.setAttribute("viewBox", `0 0 ${width} ${high}`);
    }
    draw(scroll.scrollTop);
  }

  // Ticks at 1, 2 or 5 times a power of ten, about 110 pixels apart.
  function ticks() {
    const rough = Math.max(1, span * 110 / width), power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((m) => m * power >= rough);
    const times = [];
    for (let t = Math.max(0, Math.ceil(from / step) * step); t <= Math.min(end, from + span); t += step) times.push(t);
    return times;
  }
  function drawAxis(times) {
    axisLines.setAttribute("d", times.map((t) => bar(Math.round(xOf(t)), 17, 1, 7)).join(""));
    for (const t of times) {
      const text = axisTexts.next();
      text.setAttribute("x", Math.round(xOf(t)) + 3);
      text.textContent = t.toLocaleString("en");
    }
    axisTexts.end();
  }
  function drawBackground(times, visible, shift) {
    const place = data.findings[chosen], row = place && rows.find((r) => r.track === data.tracks[place[0]]);
    chosenRow.style.display = row ? "" : "none";
    if (row) {
      const box = {x: 0, y: row.top - shift, width, height: row.height};
      for (const [name, value] of Object.entries(box)) chosenRow.setAttribute(name, value);
    }
    lines.setAttribute("d", times.map((t) => bar(Math.round(xOf(t)), 0, 1, height)).join("") +
                            visible.map((r) => bar(0, r.top + r.height - 1 - shift, width, 1)).join(""));
  }

  // Where lane `index` of the row lies, and how high it is.
  function laneBox(row, index) {
    const inner = row.height - 5, lane = inner / Math.max(1, row.lanes.length);
    return {top: row.top + 2 + index * lane, height: Math.max(2, lane - (row.lanes.length > 1 ? 1 : 0))};
  }
  // A wait is a line at the foot of its lane, so that it is not told from the rest by its colour alone.
  function fill(kind, left, wide, y, box) {
    const high = kind === kindNumber.wait ? Math.min(box.height, Math.max(2, box.height / 4)) : box.height;
    pieces[kind].push(bar(left, y + box.height - high, wide, high));
  }
  // The label stays in sight while some of its bar is.
  function drawBar(lane, i, box, y) {
    const number = lane.kind[i], kind = data.kinds[number];
    const left = Math.max(-2, xOf(lane.begin[i])), right = Math.min(width + 2, xOf(lane.end[i]));
    const wide = right - left;
    fill(number, left, wide > 3 ? wide - 1 : wide, y, box);
    if (wide < 50 || box.height < 12) return;
    const letters = Math.floor((wide - 8) / 7), text = labels.next();
    // "waits on mbarrier full[0]": what it waits for is what tells it from the bar's neighbours.
    const all = (data.labels[lane.label[i]] || kind).replace(/^waits (on|at|for) (mbarrier )?/, "");
    text.setAttribute("class", "on-" + kind);
    text.setAttribute("x", tenth(left + 4));
    text.setAttribute("y", y + box.height / 2 + (kind === "wait" || kind === "phase" ? 2 : 4));
    text.textContent = all.length > letters ? all.slice(0, letters - 1) + "…" : all;
  }
  // Events below a pixel's width become one bar a pixel, of the kind that covers most of it; equal ones are joined.
  function drawLane(lane, box, shift) {
    const y = box.top - shift, last = from + span, cover = new Float64Array(data.kinds.length);
    let pixel = null, strip = null;
    const endStrip = () => {
      if (strip) fill(strip.kind, strip.left, strip.right - strip.left, y, box);
      strip = null;
    };
    const endPixel = () => {
      if (pixel === null) return;
      const kind = cover.indexOf(Math.max(...cover));
      if (!strip || strip.kind !== kind || strip.right !== pixel) {
        endStrip();
        strip = {kind, left: pixel, right: pixel};
      }
      ++strip.right;
      cover.fill(0);
      pixel = null;
    };
    for (let i = firstAbove(lane.reach, from - span / width); i < lane.n && lane.begin[i] <= last; ++i) {
      const length = lane.end[i] - lane.begin[i];
      if (length * width / span >= 1) {
        endPixel();
        endStrip();
        drawBar(lane, i, box, y);
        continue;
      }
      const at = Math.floor(xOf(lane.begin[i]));
      if (at !== pixel) endPixel();
      pixel = at;
      cover[lane.kind[i]] += length + 1e-9;  // events without length count, too
    }
    endPixel();
    endStrip();
  }
  // At the foot of the row, below the labels of phases.
  function drawArrivals(row, shift) {
    let before = -2;
    for (let i = firstPoint(row.arrivals, from); i < row.arrivals.length && row.arrivals[i].time <= from + span; ++i) {
      const x = Math.round(xOf(row.arrivals[i].time));
      if (x === before) continue;
      pieces[kindNumber.arrival].push(bar(x - 1, row.top + row.height - 8 - shift, 2, 5));
      before = x;
    }
  }
  function putMark(mark, x, top, half, wide, label) {
    mark.setAttribute("transform", `translate(${tenth(x)} 0)`);
    mark.children[0].textContent = label;
    mark.children[1].setAttribute("d", bar(-wide / 2, 0, wide, height));
    mark.children[2].setAttribute("d", `M${-half} ${top}h${2 * half}l${-half} ${1.7 * half}z`);
  }
  function drawMarks(row, shift) {
    let before = -100;
    for (let i = firstPoint(row.marks, from); i < row.marks.length && row.marks[i].time <= from + span; ++i) {
      const x = xOf(row.marks[i].time);
      if (x - before < 2) continue;
      putMark(marks.next(), x, row.top + 1 - shift, 6, 1, data.labels[row.marks[i].label]);
      before = x;
    }
  }
  function drawChosen(shift) {
    const place = data.findings[chosen];
    chosenMark.style.display = place ? "" : "none";
    if (!place) return;
    const row = rows.find((r) => r.track === data.tracks[place[0]]);
    putMark(chosenMark, xOf(place[1]), row.top - shift, 8, 2, "the finding chosen");
  }
  function draw(shift) {
    const times = ticks(), visible = rows.filter((r) => r.top + r.height > shift && r.top < shift + height);
    drawAxis(times);
    drawBackground(times, visible, shift);
    for (const row of visible) {
      row.lanes.forEach((lane, index) => drawLane(lane, laneBox(row, index), shift));
      drawArrivals(row, shift);
    }
    labels.end();
    paths.forEach((path, kind) => {
      path.setAttribute("d", pieces[kind].join(""));
      pieces[kind].length = 0;
    });
    for (const row of rows) drawMarks(row, shift);
    marks.end();
    drawChosen(shift);
  }

  // --- what is under the pointer -------------------------------------------------------------------------------------

  function pointsNear(points, time, reach) {
    const near = [];
    for (let i = firstPoint(points, time - reach); i < points.length && points[i].time <= time + reach; ++i) {
      near.push({kind: "", begin: points[i].time, end: points[i].time, line: points[i].line, label: points[i].label});
    }
    return near;
  }
  function eventsAt(lane, time, reach) {
    const found = [];
    for (let i = firstAbove(lane.reach, time - reach); i < lane.n && lane.begin[i] <= time + reach; ++i) {
      if (lane.end[i] < time - reach) continue;
      found.push({kind: data.kinds[lane.kind[i]], begin: lane.begin[i], end: lane.end[i], line: lane.line[i],
                  label: lane.label[i]});
    }
    // Neighbours of a bar that the pointer is within are not meant.
    const inside = found.filter((e) => e.begin <= time && time < e.end && e.end - e.begin > 2 * reach);
    return inside.length ? inside : found;
  }
  function under(x, y) {
    const inside = y + scroll.scrollTop, time = timeOf(x), pixel = span / width;
    const row = rows.find((r) => inside >= r.top && inside < r.top + r.height);
    if (!row) return null;
    const marks = pointsNear(row.marks, time, 6 * pixel).map((e) => ({...e, kind: "finding"}));
    if (marks.length) return {row, events: marks};
    const arrivals = pointsNear(row.arrivals, time, 2 * pixel).map((e) => ({...e, kind: "arrival"}));
    if (arrivals.length) return {row, events: arrivals};
    const lane = Math.floor((inside - row.top - 2) * row.lanes.length / (row.height - 5));
    const clamped = Math.min(Math.max(lane, 0), row.lanes.length - 1);
    const events = row.lanes.length ? eventsAt(row.lanes[clamped], time, pixel) : [];
    return events.length ? {row, events} : null;
  }
  function line(tag, text) {
    const element = document.createElement(tag);
    element.textContent = text;
    return element;
  }
  function describe(hit) {
    const event = hit.events[0], many = hit.events.length;
    const length = event.end - event.begin;
    const counted = `${length} statement${length === 1 ? "" : "s"}`;
    const when = length > 0 ? `${event.begin} to ${event.end} (${counted})` : `at ${event.begin}`;
    const parts = [line("b", `${hit.row.track.name}: ${event.kind}`)];
    if (data.labels[event.label]) parts.push(line("div", data.labels[event.label]));
    parts.push(line("div", when));
    if (event.line) {
      parts.push(line("div", `${data.file}:${event.line}`));
      if (data.source[event.line]) parts.push(line("code", data.source[event.line]));
    }
    if (many > 1) parts.push(line("div", `and ${many - 1} more here: zoom in`));
    return parts;
  }
  function hover(event) {
    const box = view.getBoundingClientRect();
    const hit = under(event.clientX - box.left, event.clientY - box.top);
    tip.style.display = hit ? "block" : "none";
    if (!hit) return;
    tip.replaceChildren(...describe(hit));
    const left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
    const below = event.clientY + 18, fits = below + tip.offsetHeight < window.innerHeight;
    tip.style.left = Math.max(8, left) + "px";
    tip.style.top = (fits ? below : Math.max(8, event.clientY - tip.offsetHeight - 10)) + "px";
  }

  // --- findings ------------------------------------------------------------------------------------------------------

  function choose(index, intoView) {
    chosen = index;
    document.querySelectorAll(".chosen").forEach((e) => e.classList.remove("chosen"));
    const place = data.findings[index], item = document.querySelector(`[data-finding="${index}"]`).closest("li");
    item.classList.add("chosen");
    if (intoView) item.scrollIntoView({block: "nearest"});
    const row = rows.find((r) => r.track === data.tracks[place[0]]);
    row.element.classList.add("chosen");
    scroll.scrollTop = row.top - (height - row.height) / 2;
    const closer = Math.max(40, Math.min(span, end / 50));
    show(place[1] - closer / 2, closer);
  }
  const placed = data.findings.map((place, index) => place ? index : -1).filter((index) => index >= 0);
  function step(by) {
    if (!placed.length) return;
    const at = placed.indexOf(chosen);
    choose(placed[at < 0 ? (by > 0 ? 0 : placed.length - 1) : (at + by + placed.length) % placed.length], true);
  }
  document.querySelectorAll("[data-finding]").forEach((button) => button.addEventListener("click", () => {
    choose(Number(button.dataset.finding), false);
    byId("chart").scrollIntoView({block: "nearest"});
  }));

  // --- the mouse and the keys ----------------------------------------------------------------------------------------

  view.addEventListener("wheel", (event) => {
    event.preventDefault();
    tip.style.display = "none";
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? height : 1;
    const sideways = event.shiftKey ? event.deltaY + event.deltaX : event.deltaX;
    if (Math.abs(sideways) > (event.shiftKey ? 0 : Math.abs(event.deltaY))) return pan(sideways * unit / width);
    const turn = Math.max(-400, Math.min(400, event.deltaY * unit));
    zoom(Math.exp(turn * 0.002), event.clientX - view.getBoundingClientRect().left);
  }, {passive: false});

  let drag = null;
  view.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    drag = {x: event.clientX, y: event.clientY, from, top: scroll.scrollTop};
    view.setPointerCapture(event.pointerId);
    view.classList.add("dragging");
    tip.style.display = "none";
  });
  view.addEventListener("pointermove", (event) => {
    if (!drag) return hover(event);
    scroll.scrollTop = drag.top - (event.clientY - drag.y);
    show(drag.from - (event.clientX - drag.x) * span / width, span);
  });
  for (const name of ["pointerup", "pointercancel"]) view.addEventListener(name, () => {
    drag = null;
    view.classList.remove("dragging");
  });
  view.addEventListener("pointerleave", () => { tip.style.display = "none"; });
  view.addEventListener("dblclick", (event) => zoom(0.4, event.clientX - view.getBoundingClientRect().left));

  // False where there is nothing to scroll: the page scrolls then.
  function scrollRows(by) {
    const before = scroll.scrollTop;
    scroll.scrollTop += by;
    return scroll.scrollTop !== before;
  }
  const keys = {
    "+": () => zoom(0.7, width / 2), "=": () => zoom(0.7, width / 2), "w": () => zoom(0.7, width / 2),
    "-": () => zoom(1 / 0.7, width / 2), "s": () => zoom(1 / 0.7, width / 2),
    "ArrowLeft": () => pan(-0.15), "a": () => pan(-0.15), "ArrowRight": () => pan(0.15), "d": () => pan(0.15),
    "ArrowUp": () => scrollRows(-40), "ArrowDown": () => scrollRows(40),
    "0": reset, "Home": reset, "n": () => step(1), "p": () => step(-1)
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    tip.style.display = "none";
    if (keys[event.key]() !== false) event.preventDefault();
  });
  const buttons = {reset, closer: keys["+"], farther: keys["-"], next: keys.n, previous: keys.p};
  for (const [id, action] of Object.entries(buttons)) byId(id).addEventListener("click", action);
  if (!placed.length) byId("next").disabled = byId("previous").disabled = true;

  // --- paper and files -----------------------------------------------------------------------------------------------

  // Paper has no scroll bar: all rows, as wide as the paper is.
  function drawAllRows() {
    height = byId("labels").offsetHeight;
    view.setAttribute("width", "100%");
    view.setAttribute("height", height);
    view.setAttribute("viewBox", `0 0 ${width} ${height}`);
    axis.setAttribute("width", "100%");
    draw(0);
  }
  window.addEventListener("beforeprint", drawAllRows);
  window.addEventListener("afterprint", measure);

  // A copy that needs no style sheet.
  function styled(element) {
    const copy = element.cloneNode(false), style = getComputedStyle(element);
    for (const name of ["fill", "opacity", "stroke", "stroke-width", "display", "font-size", "font-family"]) {
      copy.setAttribute(name, style.getPropertyValue(name));
    }
    for (const child of element.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) copy.append(child.data);
      else if (child.style.display !== "none") copy.append(styled(child));
    }
    return copy;
  }
  // The window on time that is shown, with all rows and their names, as a file of its own.
  function pictureFile() {
    drawAllRows();
    const names = byId("labels"), left = names.offsetWidth, ink = getComputedStyle(document.body);
    const file = document.createElementNS(view.namespaceURI, "svg"), size = {width: left + width, height: height + 24};
    for (const [name, value] of Object.entries(size)) file.setAttribute(name, value);
    make("rect", file, {...size, fill: ink.backgroundColor});
    for (const [element, top, high] of [[axis, 0, 24], [view, 24, height]]) {
      const copy = styled(element);
      const place = {x: left, y: top, width, height: high};
      for (const [name, value] of Object.entries(place)) copy.setAttribute(name, value);
      file.append(copy);
    }
    for (const element of names.children) {
      const y = 24 + element.offsetTop - names.offsetTop + element.offsetHeight / 2 + 4;
      const text = make("text", file, {x: 8, y, fill: ink.color, "font-size": 12, "font-family": ink.fontFamily});
      if (element.classList.contains("group")) text.setAttribute("font-weight", 600);
      text.textContent = element.textContent;
    }
    measure();
    return new XMLSerializer().serializeToString(file);
  }
  byId("save").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([pictureFile()], {type: "image/svg+xml"}));
    link.download = "timeline.svg";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  });

  scroll.addEventListener("scroll", redraw);
  new ResizeObserver(measure).observe(byId("chart"));
  byId("toolbar").hidden = false;
  measure();
})();
