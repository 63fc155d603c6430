// Where points are: bounds, the nearest one, and those inside a line that somebody drew.

/** A grid over the points, so that the nearest one is found among few. */
export function makeIndex({ n, position }) {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let k = 0; k < n; k += 1) {
    left = Math.min(left, position[2 * k]); right = Math.max(right, position[2 * k]);
    top = Math.min(top, position[2 * k + 1]); bottom = Math.max(bottom, position[2 * k + 1]);
  }
  if (!n) [left, top, right, bottom] = [-1, -1, 1, 1];
  const size = Math.max(1, Math.min(1024, Math.round(Math.sqrt(n / 4))));
  const [wide, high] = [(right - left || 1) / size, (bottom - top || 1) / size];
  const cell = (x, y) => Math.min(size - 1, Math.max(0, Math.floor((y - top) / high))) * size + Math.min(size - 1, Math.max(0, Math.floor((x - left) / wide)));
  const starts = new Uint32Array(size * size + 1);
  for (let k = 0; k < n; k += 1) starts[cell(position[2 * k], position[2 * k + 1]) + 1] += 1;
  for (let k = 0; k < size * size; k += 1) starts[k + 1] += starts[k];
  const order = new Uint32Array(n);
  const next = starts.slice();
  for (let k = 0; k < n; k += 1) order[next[cell(position[2 * k], position[2 * k + 1])]++] = k;

  function nearest([x, y], reach) {
    let best = -1;
    let distance = reach * reach;
    const [from, to] = [cell(x - reach, y - reach), cell(x + reach, y + reach)];
    for (let row = Math.floor(from / size); row <= Math.floor(to / size); row += 1) {
      for (let place = starts[row * size + (from % size)]; place < starts[row * size + (to % size) + 1]; place += 1) {
        const k = order[place];
        const d = (position[2 * k] - x) ** 2 + (position[2 * k + 1] - y) ** 2;
        if (d < distance) [best, distance] = [k, d];
      }
    }
    return best;
  }
  return { bounds: [left, top, right, bottom], nearest };
}

/** Places of the points inside a polygon: crossings of a ray, counted. */
export function inside({ n, position }, path) {
  const xs = path.map(([x]) => x);
  const ys = path.map(([, y]) => y);
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const found = [];
  for (let k = 0; k < n; k += 1) {
    const x = position[2 * k];
    const y = position[2 * k + 1];
    if (x < left || x > right || y < top || y > bottom) continue;
    let odd = false;
    for (let i = 0, j = path.length - 1; i < path.length; j = i, i += 1) {
      if (ys[i] > y !== ys[j] > y && x < ((xs[j] - xs[i]) * (y - ys[i])) / (ys[j] - ys[i]) + xs[i]) odd = !odd;
    }
    if (odd) found.push(k);
  }
  return found;
}
