/**
 * Boxes of elements in memory: a chunk with its strides, copied into the part of an array that is wanted.
 * Called by `zarr.js`.
 */
import { arrayOver } from './arrays.js';
import { allocate, refuse } from './refusal.js';
import { elementByteLength } from './zarr-codecs.js';

/**
 * Elements in C order.
 * @typedef {{ buffer: ArrayBuffer, shape: number[], elementByteLength: number }} Elements
 * @typedef {{ data: ArrayBufferView, start: number[], shape: number[], stride: number[] }} Chunk `start`: in the array
 */

/**
 * Elements that are all the fill value.
 * @param {string} dtype
 * @param {number[]} shape
 * @param {number | bigint | boolean | null} fill
 * @returns {Elements}
 */
export function elementsOf(dtype, shape, fill) {
  const size = elementByteLength(dtype);
  const buffer = allocate(shape.reduce((product, length) => product * length, size));
  const isZero = fill === null || fill === false || fill === 0n || Object.is(fill, 0);
  if (!isZero) {
    try {
      arrayOver(dtype, buffer).fill(/** @type {never} */ (fill));
    } catch {
      refuse(`a fill_value of ${dtype}`, String(fill));
    }
  }
  return { buffer, shape, elementByteLength: size };
}

/**
 * Copies the part of a chunk that is in the box of the target, whose first element is at `low` of the array.
 * @param {Chunk} chunk
 * @param {number[]} low
 * @param {Elements} target
 */
export function copyBox({ data, start, shape, stride }, low, target) {
  const { byteOffset, byteLength } = data;
  // Elements of several words are words along one more axis: numbers that pass through JavaScript may lose
  // the bits of a NaN.
  const words = Math.max(1, target.elementByteLength / 4);
  const type =
    target.elementByteLength === 1 ? Uint8Array : target.elementByteLength === 2 ? Uint16Array : Uint32Array;
  const width = type.BYTES_PER_ELEMENT;
  const from = new type(/** @type {ArrayBuffer} */ (data.buffer), byteOffset, byteLength / width);
  const to = new type(target.buffer);
  const axes = shape.map((length, axis) => {
    const offset = at(start, axis) - at(low, axis);
    const first = Math.max(0, -offset);
    const end = Math.min(length, at(target.shape, axis) - offset);
    return { first, length: end - first, offset, fromStride: at(stride, axis) * words };
  });
  if (axes.some(({ length }) => length <= 0)) return;
  let toStride = words;
  const steps = axes.map((axis) => ({ ...axis, toStride: 0 }));
  for (let axis = steps.length - 1; axis >= 0; axis--) {
    const step = /** @type {(typeof steps)[number]} */ (steps[axis]);
    step.toStride = toStride;
    toStride *= at(target.shape, axis);
  }
  const fromAt = steps.reduce((sum, { first, fromStride }) => sum + first * fromStride, 0);
  const toAt = steps.reduce((sum, axis) => sum + (axis.offset + axis.first) * axis.toStride, 0);
  const last = { length: words, fromStride: 1, toStride: 1 };
  copy(from, fromAt, to, toAt, joined([...steps, last]), 0);
}

/** @param {number[]} list @param {number} axis */
const at = (list, axis) => /** @type {number} */ (list[axis]);

/** @typedef {{ length: number, fromStride: number, toStride: number }} Step */

/** The same steps, with axes that follow one another in memory on both sides as one. @param {Step[]} steps */
function joined(steps) {
  /** @type {Step[]} */
  const fewer = [];
  for (const { length, fromStride, toStride } of steps.toReversed()) {
    const inner = fewer[0];
    const isOne =
      inner !== undefined &&
      inner.fromStride * inner.length === fromStride &&
      inner.toStride * inner.length === toStride;
    if (isOne) fewer[0] = { ...inner, length: inner.length * length };
    else if (inner === undefined || inner.length === 1) fewer[0] = { length, fromStride, toStride };
    else if (length > 1) fewer.unshift({ length, fromStride, toStride });
  }
  return fewer;
}

/**
 * @param {Uint8Array | Uint16Array | Uint32Array} from
 * @param {number} fromAt
 * @param {Uint8Array | Uint16Array | Uint32Array} to
 * @param {number} toAt
 * @param {Step[]} steps
 * @param {number} depth
 */
function copy(from, fromAt, to, toAt, steps, depth) {
  const { length, fromStride, toStride } = /** @type {Step} */ (steps[depth]);
  const isLast = depth === steps.length - 1;
  if (isLast && fromStride === 1 && toStride === 1) {
    to.set(from.subarray(fromAt, fromAt + length), toAt);
    return;
  }
  for (let k = 0; k < length; k++) {
    if (isLast) to[toAt + k * toStride] = /** @type {number} */ (from[fromAt + k * fromStride]);
    else copy(from, fromAt + k * fromStride, to, toAt + k * toStride, steps, depth + 1);
  }
}
