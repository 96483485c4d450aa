(() => {
  const canvas = document.querySelector("#film canvas");
  const slider = document.getElementById("frame");
  const caption = document.getElementById("caption");
  const play = document.getElementById("play");
  const side = Math.ceil(Math.sqrt(PAGES));
  let timer = null;
  function draw() {
    const [text, pages] = FRAMES[slider.value];
    const style = getComputedStyle(document.documentElement);
    const colors = ["--live", "--stale", "--invalid", "--free"].map((name) => style.getPropertyValue(name));
    const width = canvas.clientWidth;
    const perRow = Math.max(4, Math.min(12, Math.floor(width / 60)));
    const block = width / perRow;
    const dot = (block - 8) / side;
    const ratio = window.devicePixelRatio || 1;
    const height = Math.ceil(BLOCKS / perRow) * block;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = height + "px";
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.strokeStyle = style.getPropertyValue("--soft");
    for (let index = 0; index < BLOCKS; index++) {
      const left = (index % perRow) * block, top = Math.floor(index / perRow) * block;
      context.strokeRect(left + 1.5, top + 1.5, block - 5, block - 5);
      for (let page = 0; page < PAGES; page++) {
        const at = index * PAGES + page;
        const digit = parseInt(pages[at >> 1], 16);
        context.fillStyle = colors[at & 1 ? digit & 3 : digit >> 2];
        context.fillRect(left + 3 + (page % side) * dot, top + 3 + Math.floor(page / side) * dot, dot - 0.5, dot - 0.5);
      }
    }
    caption.textContent = text;
  }
  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  }
  play.addEventListener("click", () => {
    if (timer) {
      stop();
      return;
    }
    if (+slider.value >= FRAMES.length - 1) slider.value = 0;
    play.textContent = "Stop";
    timer = setInterval(() => {
      slider.value = +slider.value + 1;
      draw();
      if (+slider.value >= FRAMES.length - 1) stop();
    }, 250);
  });
  slider.addEventListener("input", () => { stop(); draw(); });
  window.addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  matchMedia("print").addEventListener("change", draw);
  draw();
})();
