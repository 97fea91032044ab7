// QR codes (ISO/IEC 18004) of short texts: bytes, error correction M, versions 1 to 20.

/** The codewords of each version from 1 on: [error correction for each block, blocks, data of a block, longer blocks]. */
const VERSIONS = [
  [10, 1, 16, 0], [16, 1, 28, 0], [26, 1, 44, 0], [18, 2, 32, 0], [24, 2, 43, 0], [16, 4, 27, 0], [18, 4, 31, 0], [22, 4, 38, 2],
  [22, 5, 36, 2], [26, 5, 43, 1], [30, 5, 50, 4], [22, 8, 36, 2], [22, 9, 37, 1], [24, 9, 40, 5], [24, 10, 41, 5], [28, 10, 45, 3],
  [28, 11, 46, 1], [26, 13, 43, 4], [26, 14, 44, 11], [26, 16, 41, 13],
].map(([correction, blocks, size, longer]) => ({ correction, blocks, size, longer }));

/** The number of data bytes of a version. */
const capacity = ({ blocks, size, longer }) => blocks * size + longer;

// MARK: Arithmetic in GF(256)

const EXP = new Uint8Array(512);
const LOG = new Uint8Array(256);
for (let i = 0, x = 1; i < 255; i += 1) {
  EXP[i] = EXP[i + 255] = x;
  LOG[x] = i;
  x = x & 128 ? (x << 1) ^ 0x11d : x << 1;
}
const product = (a, b) => a && b ? EXP[LOG[a] + LOG[b]] : 0;

/** Returns the Reed-Solomon error correction of a block. */
function correctionOf(data, count) {
  let generator = [1];
  for (let i = 0; i < count; i += 1) {
    const next = new Array(generator.length + 1).fill(0);
    generator.forEach((factor, j) => { next[j] ^= factor; next[j + 1] ^= product(factor, EXP[i]); });
    generator = next;
  }
  const rest = [...data, ...new Array(count).fill(0)];
  for (let i = 0; i < data.length; i += 1) {
    const factor = rest[i];
    if (factor) generator.forEach((part, j) => { rest[i + j] ^= product(part, factor); });
  }
  return rest.slice(data.length);
}

// MARK: Data

/** Returns the data bytes of a version: mode, length, text and padding. */
function dataOf(bytes, version, size) {
  const bits = [];
  const add = (value, count) => { for (let i = count - 1; i >= 0; i -= 1) bits.push((value >> i) & 1); };
  add(4, 4);
  add(bytes.length, version < 10 ? 8 : 16);
  for (const byte of bytes) add(byte, 8);
  add(0, Math.min(4, size * 8 - bits.length));
  while (bits.length % 8) bits.push(0);
  const data = [];
  for (let i = 0; i < bits.length; i += 8) data.push(parseInt(bits.slice(i, i + 8).join(""), 2));
  for (let pad = 0xec; data.length < size; pad ^= 0xec ^ 0x11) data.push(pad);
  return data;
}

/** Returns the codewords of all blocks in the order of the code. The last blocks are one byte longer. */
function interleaved(data, { correction, blocks, size, longer }) {
  const parts = [];
  for (let i = 0, start = 0; i < blocks; i += 1) {
    const length = size + (i >= blocks - longer ? 1 : 0);
    parts.push(data.slice(start, start + length));
    start += length;
  }
  const checks = parts.map((part) => correctionOf(part, correction));
  const result = [];
  for (let i = 0; i <= size; i += 1) for (const part of parts) if (i < part.length) result.push(part[i]);
  for (let i = 0; i < correction; i += 1) for (const check of checks) result.push(check[i]);
  return result;
}

// MARK: The square

/** A square of modules: `dark` has 0 or 1 for each, and `fixed` is true for those that contain no data. */
class Square {
  constructor(version) {
    this.version = version;
    this.size = 17 + 4 * version;
    this.dark = Array.from({ length: this.size }, () => new Uint8Array(this.size));
    this.fixed = Array.from({ length: this.size }, () => new Uint8Array(this.size));
    this.drawPatterns();
  }

  set(row, column, isDark) {
    if (row < 0 || column < 0 || row >= this.size || column >= this.size) return;
    this.dark[row][column] = isDark ? 1 : 0;
    this.fixed[row][column] = 1;
  }

  drawPatterns() {
    const { size } = this;
    for (let i = 0; i < size; i += 1) { this.set(6, i, i % 2 === 0); this.set(i, 6, i % 2 === 0); }
    for (const [row, column] of [[3, 3], [3, size - 4], [size - 4, 3]]) this.drawRings(row, column, 4, (ring) => ring !== 2 && ring !== 4);
    const places = alignment(this.version);
    const last = places.length - 1;
    places.forEach((row, i) => places.forEach((column, j) => {
      const isCorner = (i === 0 && j === 0) || (i === 0 && j === last) || (i === last && j === 0);
      if (!isCorner) this.drawRings(row, column, 2, (ring) => ring !== 1);
    }));
    this.drawFormat(0);
    if (this.version >= 7) this.drawVersion();
  }

  drawRings(row, column, radius, isDark) {
    for (let r = -radius; r <= radius; r += 1) {
      for (let c = -radius; c <= radius; c += 1) this.set(row + r, column + c, isDark(Math.max(Math.abs(r), Math.abs(c))));
    }
  }

  /** Draws the error correction (M) and the mask, twice. */
  drawFormat(mask) {
    const bits = ((mask << 10) | remainder(mask, 10, 0x537)) ^ 0x5412;
    const bit = (i) => (bits >> i) & 1;
    const { size } = this;
    for (let i = 0; i < 6; i += 1) this.set(i, 8, bit(i));
    this.set(7, 8, bit(6)); this.set(8, 8, bit(7)); this.set(8, 7, bit(8));
    for (let i = 9; i < 15; i += 1) this.set(8, 14 - i, bit(i));
    for (let i = 0; i < 8; i += 1) this.set(8, size - 1 - i, bit(i));
    for (let i = 8; i < 15; i += 1) this.set(size - 15 + i, 8, bit(i));
    this.set(size - 8, 8, true);
  }

  drawVersion() {
    const bits = (this.version << 12) | remainder(this.version, 12, 0x1f25);
    for (let i = 0; i < 18; i += 1) {
      const [long, short] = [this.size - 11 + i % 3, Math.floor(i / 3)];
      this.set(long, short, (bits >> i) & 1);
      this.set(short, long, (bits >> i) & 1);
    }
  }

  /** Fills in the codewords: in columns of two, from the right, upwards and downwards in turn. */
  fill(codewords) {
    let index = 0;
    for (let right = this.size - 1; right > 0; right -= 2) {
      if (right === 6) right = 5;
      for (let step = 0; step < this.size; step += 1) {
        const row = (right + 1) & 2 ? step : this.size - 1 - step;
        for (const column of [right, right - 1]) {
          if (this.fixed[row][column]) continue;
          this.dark[row][column] = ((codewords[index >> 3] ?? 0) >> (7 - (index & 7))) & 1;
          index += 1;
        }
      }
    }
  }

  mask(mask) {
    for (let row = 0; row < this.size; row += 1) {
      for (let column = 0; column < this.size; column += 1) {
        if (!this.fixed[row][column] && MASKS[mask](row, column)) this.dark[row][column] ^= 1;
      }
    }
  }
}

const MASKS = [
  (r, c) => (r + c) % 2 === 0, (r) => r % 2 === 0, (r, c) => c % 3 === 0, (r, c) => (r + c) % 3 === 0,
  (r, c) => (Math.floor(r / 2) + Math.floor(c / 3)) % 2 === 0, (r, c) => (r * c) % 2 + (r * c) % 3 === 0,
  (r, c) => ((r * c) % 2 + (r * c) % 3) % 2 === 0, (r, c) => ((r + c) % 2 + (r * c) % 3) % 2 === 0,
];

/** Returns the check bits of a number in a BCH code. */
function remainder(value, bits, polynomial) {
  let rest = value;
  for (let i = 0; i < bits; i += 1) rest = (rest << 1) ^ ((rest >> (bits - 1)) * polynomial);
  return rest & ((1 << bits) - 1);
}

/** Returns the rows and columns of the alignment patterns of a version. */
function alignment(version) {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = Math.ceil((version * 4 + 4) / (count * 2 - 2)) * 2;
  const places = [6];
  for (let at = version * 4 + 10; places.length < count; at -= step) places.splice(1, 0, at);
  return places;
}

/** Returns the penalty of a square, by runs, blocks, patterns like the corners', and the share of dark modules. */
function penalty({ size, dark }) {
  let result = 0; let count = 0;
  const lines = [...dark.map((row) => row.join("")), ...dark.map((_, column) => dark.map((row) => row[column]).join(""))];
  for (const line of lines) {
    for (const [run] of line.matchAll(/0{5,}|1{5,}/g)) result += run.length - 2;
    for (const pattern of ["10111010000", "00001011101"]) {
      for (let at = line.indexOf(pattern); at >= 0; at = line.indexOf(pattern, at + 1)) result += 40;
    }
  }
  for (let row = 0; row < size; row += 1) {
    for (let column = 0; column < size; column += 1) {
      count += dark[row][column];
      if (row + 1 === size || column + 1 === size) continue;
      const sum = dark[row][column] + dark[row + 1][column] + dark[row][column + 1] + dark[row + 1][column + 1];
      if (sum % 4 === 0) result += 3;
    }
  }
  return result + 10 * Math.floor(Math.abs(count * 20 / size / size - 10));
}

/** Returns the rows of a text's QR code, with 1 for a dark module; undefined for a text of more than 666 bytes. */
export function qrCode(text) {
  const bytes = new TextEncoder().encode(text);
  const fits = (form, index) => bytes.length + (index < 9 ? 2 : 3) <= capacity(form);
  const index = VERSIONS.findIndex(fits);
  if (index < 0) return undefined;
  const codewords = interleaved(dataOf(bytes, index + 1, capacity(VERSIONS[index])), VERSIONS[index]);
  const square = new Square(index + 1);
  square.fill(codewords);
  const masks = MASKS.map((_, mask) => {
    square.mask(mask);
    square.drawFormat(mask);
    const points = penalty(square);
    square.mask(mask);
    return points;
  });
  const best = masks.indexOf(Math.min(...masks));
  square.mask(best);
  square.drawFormat(best);
  return square.dark.map((row) => [...row]);
}

/** Draws a QR code on a canvas, with the margin of four modules that readers need. */
export function drawQR(canvas, text) {
  const rows = qrCode(text);
  canvas.hidden = rows === undefined;
  if (!rows) return;
  const scale = Math.max(2, Math.floor(320 / (rows.length + 8)));
  canvas.width = canvas.height = (rows.length + 8) * scale;
  const context = canvas.getContext("2d");
  context.fillStyle = "white";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = "black";
  rows.forEach((row, y) => row.forEach((isDark, x) => {
    if (isDark) context.fillRect((x + 4) * scale, (y + 4) * scale, scale, scale);
  }));
}
