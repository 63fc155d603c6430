// Points on a canvas: WebGL2 where there is one, otherwise a plain canvas. What is not selected turns grey.

const SHAPE = `#version 300 es
in vec2 position; in vec4 colour; uniform vec4 view; uniform float size; out vec4 shade;
void main() { gl_Position = vec4((position - view.xy) * view.zw * vec2(1., -1.), 0., 1.); gl_PointSize = size; shade = colour; }`;
const FILL = `#version 300 es
precision mediump float; in vec4 shade; out vec4 pixel;
void main() { vec2 p = 2. * gl_PointCoord - 1.; float d = dot(p, p); if (d > 1.) discard; pixel = vec4(shade.rgb, shade.a * (1. - smoothstep(.7, 1., d))); }`;

/** @param {HTMLCanvasElement} canvas */
export function makePainter(canvas, points) {
  const colours = new Uint8Array(4 * points.n);
  let base = colours;
  const gl = new URLSearchParams(location.search).has("canvas") ? null : canvas.getContext("webgl2", { antialias: false, alpha: true, premultipliedAlpha: false });
  const surface = gl ? withGl(gl, points, colours) : withCanvas(canvas, points, colours);

  function colour(by, about) {
    const palette = readPalette();
    const birth = new Map(about.categories.map((one) => [one.id, one]));
    base = new Uint8Array(4 * points.n);
    for (let k = 0; k < points.n; k += 1) {
      const own = birth.get(points.category[k]);
      let shade;
      if (by === "novelty") shade = mix(palette.b[0], palette.b[2], points.novelty[k] ** 3);
      else if (by === "category") shade = own ? wheel(points.category[k], palette.dark) : palette.b[0];
      else if (by === "state") shade = { labelled: palette.b[1], moved: palette.b[2], confirmed: palette.b[3], rejected: palette.b[4] }[about.states[points.state[k]]] ?? palette.b[0];
      else shade = own ? palette.b[own.birth === 0 ? 0 : 1 + ((own.birth - 1) % 6)] : palette.b[0];
      base.set([...shade, points.category[k] < 0 ? 110 : 190], 4 * k);
    }
    colours.set(base);
    surface.changed();
  }

  function select(places) {
    colours.set(base);
    if (places.length) {
      const chosen = new Uint8Array(points.n);
      for (const place of places) chosen[place] = 1;
      for (let k = 0; k < points.n; k += 1) if (!chosen[k]) colours.set([140, 146, 155, 70], 4 * k);
    }
    surface.changed();
  }

  return { colour, select, kind: gl ? "webgl2" : "canvas", paint: (view, width, height, ratio, moving = false) => surface.paint(view, width, height, ratio, moving), close: () => surface.close() };
}

const dotSize = (n, view, ratio) => ratio * Math.max(2, Math.min(9, (n > 100000 ? 2.2 : n > 5000 ? 3.6 : 5.5)));

/** While the map moves, a frame draws at most this many points: a sample of all of them. */
const MOVING = 60000;

/** The points in a fixed random order, so that the first ones are a sample. */
function shuffled(n) {
  const order = Uint32Array.from({ length: n }, (_, k) => k);
  let state = 12345;
  for (let k = n - 1; k > 0; k -= 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const other = state % (k + 1);
    [order[k], order[other]] = [order[other], order[k]];
  }
  return order;
}

function withGl(gl, points, colours) {
  const large = points.n > MOVING;
  const order = large ? shuffled(points.n) : null;
  const position = large ? new Float32Array(2 * points.n) : points.position;
  const shown = large ? new Uint32Array(points.n) : new Uint32Array(colours.buffer);
  const source = new Uint32Array(colours.buffer);
  if (large) for (let k = 0; k < points.n; k += 1) { position[2 * k] = points.position[2 * order[k]]; position[2 * k + 1] = points.position[2 * order[k] + 1]; }
  const arrange = () => { if (large) for (let k = 0; k < points.n; k += 1) shown[k] = source[order[k]]; };
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, SHAPE], [gl.FRAGMENT_SHADER, FILL]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  gl.useProgram(program);
  const buffer = (name, data, size, kind, normal) => {
    const place = gl.getAttribLocation(program, name);
    const store = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, store);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, size, kind, normal, 0, 0);
    return store;
  };
  buffer("position", position, 2, gl.FLOAT, false);
  const paint = buffer("colour", new Uint8Array(shown.buffer), 4, gl.UNSIGNED_BYTE, true);
  gl.enable(gl.BLEND);
  gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  const [view, size] = [gl.getUniformLocation(program, "view"), gl.getUniformLocation(program, "size")];
  return {
    changed() { arrange(); gl.bindBuffer(gl.ARRAY_BUFFER, paint); gl.bufferSubData(gl.ARRAY_BUFFER, 0, new Uint8Array(shown.buffer)); },
    paint(at, width, height, ratio, moving) {
      const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
      if (gl.canvas.width !== w || gl.canvas.height !== h) { gl.canvas.width = w; gl.canvas.height = h; }
      gl.viewport(0, 0, w, h);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.uniform4f(view, at.x, at.y, (2 * at.scale) / width, (2 * at.scale) / height);
      gl.uniform1f(size, dotSize(points.n, at, ratio));
      gl.drawArrays(gl.POINTS, 0, moving ? Math.min(points.n, MOVING) : points.n);
    },
    close() { gl.getExtension("WEBGL_lose_context")?.loseContext(); },
  };
}

/** Without WebGL every frame draws at most this many points. */
const FEW = 60000;

function withCanvas(canvas, points, colours) {
  const pen = canvas.getContext("2d");
  const step = Math.max(1, Math.ceil(points.n / FEW));
  return {
    changed() {},
    paint(at, width, height, ratio) {
      const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
      if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
      pen.clearRect(0, 0, w, h);
      const size = dotSize(points.n, at, ratio);
      for (let k = 0; k < points.n; k += step) {
        const x = ((points.position[2 * k] - at.x) * at.scale + width / 2) * ratio;
        const y = ((points.position[2 * k + 1] - at.y) * at.scale + height / 2) * ratio;
        if (x < 0 || y < 0 || x > w || y > h) continue;
        pen.fillStyle = `rgb(${colours[4 * k]} ${colours[4 * k + 1]} ${colours[4 * k + 2]} / ${colours[4 * k + 3] / 255})`;
        pen.fillRect(x - size / 2, y - size / 2, size, size);
      }
    },
    close() {},
  };
}

function readPalette() {
  const css = getComputedStyle(document.documentElement);
  const rgb = (name) => { const hex = css.getPropertyValue(name).trim(); return [1, 3, 5].map((place) => parseInt(hex.slice(place, place + 2), 16)); };
  return { b: [0, 1, 2, 3, 4, 5, 6].map((k) => rgb(`--b${k}`)), dark: matchMedia("(prefers-color-scheme: dark)").matches };
}

const mix = (a, b, share) => a.map((value, k) => Math.round(value + (b[k] - value) * share));

/** A colour that a category has for good: hues far apart for ids next to each other, more than 256 of them. */
function wheel(id, dark) {
  const angle = (id * 137.508) % 360;
  const [light, strong] = [dark ? 0.62 + 0.1 * (id % 3) : 0.38 + 0.09 * (id % 3), 0.62];
  const c = (1 - Math.abs(2 * light - 1)) * strong;
  const f = (n) => { const k = (n + angle / 30) % 12; return Math.round(255 * (light - (c / 2) * Math.max(-1, Math.min(k - 3, 9 - k, 1)))); };
  return [f(0), f(8), f(4)];
}
