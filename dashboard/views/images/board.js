// The drawing lives in the browser; it is sent when the pointer is lifted, as one 0 or 1 for each pixel.
export default function ({ parentElement, data, setStateValue }) {
  const canvas = parentElement.querySelector("canvas");
  if (canvas.drawing) { canvas.send = (ink) => setStateValue("ink", ink); return; }
  const { height, width } = data;
  const ink = new Uint8Array(height * width), cell = 10, radius = 1.25;
  const brush = canvas.getContext("2d"), told = parentElement.querySelector(".quiet");
  const cursor = { row: height >> 1, column: width >> 1, shown: false };
  let last = null;
  canvas.drawing = true;
  canvas.width = width * cell;
  canvas.height = height * cell;
  canvas.style.aspectRatio = `${width} / ${height}`;
  canvas.setAttribute("aria-label", `Drawing of ${height} by ${width} pixels`);
  canvas.send = (text) => setStateValue("ink", text);

  const show = () => {
    brush.clearRect(0, 0, canvas.width, canvas.height);
    brush.fillStyle = "#1F83C4";
    ink.forEach((on, i) => {
      if (on) brush.fillRect((i % width) * cell, Math.floor(i / width) * cell, cell, cell);
    });
    if (cursor.shown) {
      brush.strokeStyle = "#D55E00";
      brush.lineWidth = 2;
      brush.strokeRect(cursor.column * cell, cursor.row * cell, cell, cell);
    }
  };
  const dot = (x, y) => {
    for (let row = 0; row < height; row++)
      for (let column = 0; column < width; column++)
        if (Math.hypot(column + 0.5 - x, row + 0.5 - y) <= radius) ink[row * width + column] = 1;
  };
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width * width, (event.clientY - box.top) / box.height * height];
  };
  const stroke = (event) => {
    const [x, y] = place(event), [fromX, fromY] = last ?? [x, y];
    const steps = Math.max(1, Math.ceil(4 * Math.hypot(x - fromX, y - fromY)));
    for (let i = 0; i <= steps; i++) dot(fromX + (x - fromX) * i / steps, fromY + (y - fromY) * i / steps);
    last = [x, y];
    show();
  };
  const finish = () => canvas.send(ink.join(""));

  canvas.onpointerdown = (event) => {
    canvas.setPointerCapture(event.pointerId);
    cursor.shown = false;
    stroke(event);
  };
  canvas.onpointermove = (event) => { if (last) stroke(event); };
  canvas.onpointerup = canvas.onpointercancel = () => { if (last) { last = null; finish(); } };
  canvas.onblur = () => { cursor.shown = false; show(); };
  canvas.onkeydown = (event) => {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (event.key in moves) {
      const [down, right] = moves[event.key];
      cursor.row = Math.min(height - 1, Math.max(0, cursor.row + down));
      cursor.column = Math.min(width - 1, Math.max(0, cursor.column + right));
    } else if (event.key === " ") {
      ink[cursor.row * width + cursor.column] ^= 1;
      finish();
    } else return;
    event.preventDefault();
    cursor.shown = true;
    const on = ink[cursor.row * width + cursor.column] ? "ink" : "empty";
    told.textContent = `Row ${cursor.row + 1}, column ${cursor.column + 1}: ${on}`;
    show();
  };
  parentElement.querySelector("button").onclick = () => { ink.fill(0); show(); finish(); };
}
