// The decoder of vector tiles (Mapbox Vector Tile 2.1, in Protocol Buffers). Bytes from elsewhere never make it throw or hang.

/** The largest number of bytes in a tile, and of features in one of its layers; a larger one is damaged. */
const MAXIMUM = 4 << 20; const MAXIMUM_FEATURES = 65_536;

export const POINT = 1; export const LINE = 2; export const POLYGON = 3;

/**
 * Decodes a tile into its layers by name: {extent, features: [{type, properties, parts}]}. A part is a line, a ring, or a group of points
 * as [x, y, x, y, …] in units of the extent; the properties are a Map. Only layers in the set `wanted` are decoded. Returns undefined for
 * damaged bytes.
 */
export function decodeTile(bytes, wanted) {
  if (bytes.length > MAXIMUM) return undefined;
  try {
    const layers = new Map();
    eachField(new Reader(bytes), {
      3: (reader) => {
        const layer = readLayer(reader, wanted);
        if (layer) layers.set(layer.name, layer);
      },
    });
    return layers;
  } catch (error) {
    if (error instanceof Damage) return undefined;
    throw error;
  }
}

/** The tile ends in the middle of a value, or has a value that no tile has. */
class Damage extends Error {}

/** Reads the values of Protocol Buffers from a part of an array of bytes. */
class Reader {
  constructor(bytes, at = 0, end = bytes.length) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }

  get isAtEnd() { return this.at >= this.end; }

  /** Reads an unsigned number of at most ten bytes. Numbers from 2⁵³ on are not exact. */
  varint() {
    let value = 0;
    for (let factor = 1, i = 0; i < 10; i += 1, factor *= 128) {
      if (this.at >= this.end) throw new Damage();
      const byte = this.bytes[this.at];
      this.at += 1;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    throw new Damage();
  }

  /** Reads a signed number, whose sign is in the lowest bit. */
  signed() {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** Takes a number of bytes as the next part. */
  take(count) {
    if (count > this.end - this.at) throw new Damage();
    this.at += count;
    return new Reader(this.bytes, this.at - count, this.at);
  }

  /** Takes the next part, whose length is in front of it. */
  part() { return this.take(this.varint()); }

  text() { return new TextDecoder().decode(this.bytes.subarray(this.at, this.end)); }

  number(size) {
    const { buffer, byteOffset } = this.take(size).bytes;
    const view = new DataView(buffer, byteOffset + this.at - size, size);
    return size === 4 ? view.getFloat32(0, true) : view.getFloat64(0, true);
  }
}

/** The kinds of values in Protocol Buffers. */
const VARINT = 0; const EIGHT_BYTES = 1; const PART = 2; const FOUR_BYTES = 5;

/** Reads the fields of a message. The handlers by field number receive a reader at the value; other fields are skipped. */
function eachField(reader, handlers) {
  while (!reader.isAtEnd) {
    const key = reader.varint();
    const kind = key % 8;
    const handler = handlers[Math.floor(key / 8)];
    if (kind === PART) {
      const part = reader.part();
      handler?.(part, kind);
    } else if (kind === VARINT) {
      const start = reader.at;
      reader.varint();
      handler?.(new Reader(reader.bytes, start, reader.at), kind);
    } else if (kind === FOUR_BYTES || kind === EIGHT_BYTES) {
      const value = reader.take(kind === FOUR_BYTES ? 4 : 8);
      handler?.(value, kind);
    } else {
      throw new Damage();
    }
  }
}

function readLayer(reader, wanted) {
  const layer = { name: "", extent: 4096, features: [] };
  const [keys, values, features] = [[], [], []];
  eachField(reader, {
    1: (part) => { layer.name = part.text(); },
    2: (part) => features.push(part),
    3: (part) => keys.push(part.text()),
    4: (part) => values.push(readValue(part)),
    5: (part) => { layer.extent = part.varint(); },
  });
  if (!wanted.has(layer.name)) return undefined;
  if (!(layer.extent > 0) || features.length > MAXIMUM_FEATURES) throw new Damage();
  layer.features = features.map((part) => readFeature(part, keys, values));
  return layer;
}

function readValue(reader) {
  let value;
  eachField(reader, {
    1: (part) => { value = part.text(); },
    2: (part) => { value = part.number(4); },
    3: (part) => { value = part.number(8); },
    4: (part) => { value = part.varint(); },
    5: (part) => { value = part.varint(); },
    6: (part) => { value = part.signed(); },
    7: (part) => { value = part.varint() !== 0; },
  });
  return value;
}

function readFeature(reader, keys, values) {
  const feature = { type: 0, properties: new Map(), parts: [] };
  eachField(reader, {
    2: (part) => {
      while (!part.isAtEnd) {
        const [key, value] = [keys[part.varint()], values[part.varint()]];
        if (key !== undefined) feature.properties.set(key, value);
      }
    },
    3: (part) => { feature.type = part.varint(); },
    4: (part) => { feature.parts = readParts(part); },
  });
  return feature;
}

/** Reads the drawing commands of a feature: each is a number of repetitions and a kind, followed by steps. */
function readParts(reader) {
  const parts = [];
  let [x, y] = [0, 0];
  while (!reader.isAtEnd) {
    const command = reader.varint();
    const kind = command % 8;
    let count = Math.floor(command / 8);
    if (kind === 7) {
      // The end of a ring: a line back to its first point.
      const ring = parts.at(-1);
      if (ring) ring.push(ring[0], ring[1]);
      continue;
    }
    if ((kind !== 1 && kind !== 2) || count === 0) throw new Damage();
    if (kind === 1 || parts.length === 0) parts.push([]);
    // Each repetition reads two values, so that a wrong number of them ends at the end of the bytes.
    for (; count > 0; count -= 1) {
      x += reader.signed();
      y += reader.signed();
      parts.at(-1).push(x, y);
    }
  }
  return parts;
}
