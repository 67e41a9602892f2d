/**
 * The encodings of numbers and booleans in Parquet's pages, each decoded into as many values as are wanted
 * and never beyond its bytes: what a run claims is checked before it is followed.
 *
 * Format: Encodings.md in github.com/apache/parquet-format. Called by `parquet-pages.js`.
 */
import { allocate, refuse } from './refusal.js';

/** @typedef {Int32Array | BigInt64Array | Float32Array | Float64Array | Uint8Array} Values */

/** @type {Record<string, { width: number, over: (buffer: ArrayBuffer) => Values }>} */
const NUMBERS = {
  INT32: { width: 4, over: (buffer) => new Int32Array(buffer) },
  INT64: { width: 8, over: (buffer) => new BigInt64Array(buffer) },
  FLOAT: { width: 4, over: (buffer) => new Float32Array(buffer) },
  DOUBLE: { width: 8, over: (buffer) => new Float64Array(buffer) },
};

/** @param {string} type */
const numberOf = (type) => NUMBERS[type] ?? refuse('numbers in this encoding', type);

/** @param {Uint8Array} bytes @param {number} length */
function need(bytes, length) {
  if (length > bytes.length) refuse(`${length} bytes of values`, `${bytes.length}`);
}

/**
 * Values one after the other, booleans as bits.
 * @param {Uint8Array} bytes
 * @param {string} type
 * @param {number} count
 * @returns {Values}
 */
export function plain(bytes, type, count) {
  if (type === 'BOOLEAN') {
    need(bytes, Math.ceil(count / 8));
    const flags = new Uint8Array(allocate(count));
    for (let k = 0; k < count; k++) {
      const byte = /** @type {number} */ (bytes[k >> 3]);
      flags[k] = (byte >> (k & 7)) & 1;
    }
    return flags;
  }
  const { width, over } = numberOf(type);
  need(bytes, count * width);
  const memory = allocate(count * width);
  new Uint8Array(memory).set(bytes.subarray(0, count * width));
  return over(memory);
}

/**
 * All first bytes, then all second ones, and so on.
 * @param {Uint8Array} bytes
 * @param {string} type
 * @param {number} count
 */
export function byteStreamSplit(bytes, type, count) {
  const { width, over } = numberOf(type);
  need(bytes, count * width);
  const memory = allocate(count * width);
  const target = new Uint8Array(memory);
  for (let b = 0; b < width; b++)
    for (let k = 0; k < count; k++) target[k * width + b] = /** @type {number} */ (bytes[b * count + k]);
  return over(memory);
}

/**
 * Integers of at most 32 bits in runs: one value repeated, or groups of eight in as few bits as they need.
 * @param {Uint8Array} bytes
 * @param {number} width bits of a value
 * @param {number} count
 */
export function runs(bytes, width, count) {
  if (width > 32) refuse('values of at most 32 bits', `${width}`);
  const values = new Uint32Array(allocate(count * 4));
  if (width === 0) return values;
  for (let at = 0, done = 0; done < count; ) {
    const [header, next] = varint(bytes, at);
    const left = count - done;
    if ((header & 1n) === 1n) {
      // The last group may have more values than are left, and its bytes may end with the last of them.
      const many = Math.min(Number(header >> 1n) * 8, left);
      const length = Number(header >> 1n) * width;
      need(bytes, next + Math.ceil((many * width) / 8));
      unpack(bytes, next, width, values.subarray(done, done + many));
      done += many;
      at = next + length;
      if (many === 0) refuse('a run of values', 'an empty one');
    } else {
      const many = Number(header >> 1n);
      if (many === 0 || many > left) refuse(`a run of 1 to ${left} values`, `${many}`);
      const size = Math.ceil(width / 8);
      need(bytes, next + size);
      let value = 0;
      for (let b = 0; b < size; b++) value += /** @type {number} */ (bytes[next + b]) * 2 ** (8 * b);
      if (value >= 2 ** width) refuse(`values of ${width} bits`, `${value}`);
      values.fill(value, done, done + many);
      done += many;
      at = next + size;
    }
  }
  return values;
}

/**
 * Integers of `width` bits, the least significant first.
 * @param {Uint8Array} bytes
 * @param {number} at
 * @param {number} width at most 32
 * @param {Uint32Array} values
 */
function unpack(bytes, at, width, values) {
  const range = 2 ** width;
  // Bits that were read and not taken: fewer than 40, as a number.
  let held = 0;
  let bits = 0;
  for (let k = 0; k < values.length; k++) {
    for (; bits < width; bits += 8) held += /** @type {number} */ (bytes[at++]) * 2 ** bits;
    const value = held % range;
    values[k] = value;
    held = (held - value) / range;
    bits -= width;
  }
}

/**
 * Differences to the value before, in blocks of as few bits as they need. Sums wrap as the format has it.
 * @param {Uint8Array} bytes
 * @param {string} type
 * @param {number} count
 * @returns {Values}
 */
export function deltas(bytes, type, count) {
  const values =
    type === 'INT32' ? new Int32Array(allocate(count * 4)) : new BigInt64Array(allocate(count * 8));
  if (type !== 'INT32' && type !== 'INT64') refuse('integers in this encoding', type);
  let at = 0;
  const number = () => {
    const [value, next] = varint(bytes, at);
    at = next;
    return value;
  };
  const signed = () => {
    const value = number();
    return (value >> 1n) ^ -(value & 1n);
  };
  const [block, parts, total] = [Number(number()), Number(number()), Number(number())];
  const size = block / parts;
  if (total !== count) refuse(`${count} values`, `${total}`);
  if (block > 2 ** 20 || !Number.isInteger(size) || size === 0 || size % 8 !== 0)
    refuse('blocks of whole groups of eight values', `${block} in ${parts}`);
  let value = signed();
  /** @param {number} k */
  const put = (k) => {
    if (values instanceof Int32Array) values[k] = Number(BigInt.asIntN(32, value));
    else values[k] = BigInt.asIntN(64, value);
  };
  if (count > 0) put(0);
  for (let done = 1; done < count; ) {
    const least = signed();
    const widths = at;
    need(bytes, widths + parts);
    at += parts;
    for (let part = 0; part < parts && done < count; part++) {
      const width = /** @type {number} */ (bytes[widths + part]);
      if (width > 64) refuse('values of at most 64 bits', `${width}`);
      const many = Math.min(size, count - done);
      need(bytes, at + Math.ceil((many * width) / 8));
      const packed = wide(bytes, at, width, many);
      for (let k = 0; k < many; k++) {
        value = BigInt.asIntN(64, value + least + /** @type {bigint} */ (packed[k]));
        put(done++);
      }
      at += (size * width) / 8;
    }
  }
  return values;
}

/**
 * Integers of up to 64 bits.
 * @param {Uint8Array} bytes
 * @param {number} at
 * @param {number} width
 * @param {number} count
 */
function wide(bytes, at, width, count) {
  const values = new BigInt64Array(count);
  const mask = (1n << BigInt(width)) - 1n;
  let held = 0n;
  let bits = 0;
  for (let k = 0; k < count; k++) {
    for (; bits < width; bits += 8) held |= BigInt(/** @type {number} */ (bytes[at++])) << BigInt(bits);
    values[k] = held & mask;
    held >>= BigInt(width);
    bits -= width;
  }
  return values;
}

/**
 * @param {Uint8Array} bytes
 * @param {number} at
 * @returns {[bigint, number]} the integer, and where the next byte is
 */
function varint(bytes, at) {
  let value = 0n;
  for (let shift = 0n; shift < 70n; shift += 7n) {
    const byte = bytes[at++];
    if (byte === undefined) return refuse('a length', 'the end of the values');
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return [value, at];
  }
  return refuse('an integer of at most 64 bits', 'a longer one');
}
