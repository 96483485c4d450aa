(() => {
  const charts = new Map();

  function words(data) {
    if (!data.absolute) {
      return (ms) => "+" + ((ms - data.from) / 1000).toFixed(0) + " s";
    }
    const options = {
      year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit",
      second: "2-digit", hourCycle: "h23", timeZone: data.zone,
    };
    let format;
    try {
      format = new Intl.DateTimeFormat("sv-SE", options);
    } catch {
      format = new Intl.DateTimeFormat("sv-SE", { ...options, timeZone: "UTC", timeZoneName: "short" });
    }
    return (ms) => format.format(new Date(ms));
  }

  function chart(section, svg, data) {
    const plot = svg.querySelector(".plot");
    const cursor = svg.querySelector(".cursor");
    const times = [...svg.querySelectorAll("text.time")];
    const hover = section.querySelector(".hover");
    const said = hover.querySelector("span");
    const whole = hover.querySelector("button");
    const wide = svg.viewBox.baseVal.width;
    const show = words(data);
    const span = Math.max(data.to - data.from, 1e-9);
    const original = times.map((text) => text.textContent);
    let view = [data.from, data.to];
    let start = null;

    const place = (event) => {
      const box = svg.getBoundingClientRect();
      const x = (event.clientX - box.left) / box.width * wide;
      return Math.min(data.left + data.width, Math.max(data.left, x));
    };
    const timeAt = (x) => view[0] + (x - data.left) / data.width * (view[1] - view[0]);

    function zoom(from, to, remember) {
      view = [Math.max(data.from, from), Math.min(data.to, to)];
      if (!(view[1] > view[0])) view = [data.from, data.to];
      const scale = span / (view[1] - view[0]);
      const skipped = (view[0] - data.from) / span * data.width;
      plot.setAttribute("transform",
        `translate(${data.left - (data.left + skipped) * scale} 0) scale(${scale} 1)`);
      const all = scale <= 1;
      times.forEach((text, index) => {
        const share = +text.dataset.share;
        text.textContent = all ? original[index] : show(view[0] + share * (view[1] - view[0]));
      });
      whole.hidden = all;
      if (remember) {
        const part = all ? "" : `=${Math.floor(view[0])}~${Math.ceil(view[1])}`;
        history.replaceState(null, "", "#" + section.id + part);
      }
    }

    function nearest(ms) {
      let low = 0, high = data.t.length - 1;
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (data.t[middle] <= ms) low = middle; else high = middle;
      }
      return Math.abs(data.t[low] - ms) <= Math.abs(data.t[high] - ms) ? low : high;
    }

    svg.addEventListener("pointermove", (event) => {
      const x = place(event);
      const index = nearest(timeAt(x));
      if (index < 0) return;
      cursor.setAttribute("transform", `translate(${x} 0)`);
      cursor.setAttribute("visibility", "visible");
      const unit = data.unit ? " " + data.unit : "";
      const range = data.low[index] < data.high[index]
        ? `${data.mean[index]}${unit} (${data.low[index]} to ${data.high[index]})`
        : `${data.mean[index]}${unit}`;
      said.textContent = `${show(data.t[index])}: ${range}`;
    });
    svg.addEventListener("pointerleave", () => cursor.setAttribute("visibility", "hidden"));
    svg.addEventListener("pointerdown", (event) => { start = place(event); });
    window.addEventListener("pointerup", (event) => {
      if (start === null) return;
      const end = place(event);
      if (Math.abs(end - start) > 5) {
        zoom(timeAt(Math.min(start, end)), timeAt(Math.max(start, end)), true);
      }
      start = null;
    });
    whole.addEventListener("click", () => zoom(data.from, data.to, true));
    for (const box of section.querySelectorAll("input[data-row]")) {
      box.hidden = false;
      box.addEventListener("change", () => {
        const row = svg.querySelector(`.run[data-row="${box.dataset.row}"]`);
        if (row) row.toggleAttribute("hidden", !box.checked);
      });
    }
    said.textContent = "Point at the chart for a value, drag over it for a closer look.";
    return zoom;
  }

  function follow() {
    const match = /^#(s\d+)(?:=(-?\d+)~(-?\d+))?$/.exec(location.hash);
    const zoom = match && charts.get(match[1]);
    if (!zoom) return;
    if (match[2] !== undefined) zoom(+match[2], +match[3], false);
    document.getElementById(match[1]).scrollIntoView();
  }

  for (const section of document.querySelectorAll("section.series")) {
    const svg = section.querySelector("svg.series");
    const block = section.querySelector("script");
    if (svg && block) charts.set(section.id, chart(section, svg, JSON.parse(block.textContent)));
  }
  window.addEventListener("hashchange", follow);
  follow();
})();
