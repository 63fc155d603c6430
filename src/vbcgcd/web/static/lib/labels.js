// Names of categories on the map: those that are looked for and the newest first, none over another.

/** @param {HTMLCanvasElement} canvas */
export function drawLabels(canvas, categories, view, width, height, ratio, path, find) {
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) { canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio); }
  const pen = canvas.getContext("2d");
  const css = getComputedStyle(document.documentElement);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const screen = (x, y) => [(x - view.x) * view.scale + width / 2, (y - view.y) * view.scale + height / 2];
  pen.font = "600 12px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.lineJoin = "round";
  const taken = [];
  const hit = (one) => find && one.name.toLowerCase().includes(find);
  const order = [...categories].sort((a, b) => Number(hit(b)) - Number(hit(a)) || b.birth - a.birth);
  for (const one of order) {
    const [x, y] = screen(one.x, -one.y);
    if (x < -60 || x > width + 60 || y < -10 || y > height + 10) continue;
    const text = one.name.length > 28 ? `${one.name.slice(0, 27)}…` : one.name;
    const half = pen.measureText(text).width / 2 + 3;
    const box = [x - half, y - 8, x + half, y + 8];
    if (!hit(one) && taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
    taken.push(box);
    pen.lineWidth = 4;
    pen.strokeStyle = css.getPropertyValue("--card");
    pen.strokeText(text, x, y);
    pen.fillStyle = hit(one) ? css.getPropertyValue("--bad") : css.getPropertyValue("--ink");
    pen.fillText(text, x, y);
  }
  if (path?.length > 1) {
    pen.beginPath();
    path.forEach(([x, y], place) => { const [a, b] = screen(x, y); place ? pen.lineTo(a, b) : pen.moveTo(a, b); });
    pen.closePath();
    pen.fillStyle = "rgb(11 106 168 / .15)";
    pen.fill();
    pen.strokeStyle = css.getPropertyValue("--accent");
    pen.lineWidth = 1.5;
    pen.stroke();
  }
}
