/** Arrays over memory by Weft's and zarrita's names of dtypes. Called by `boxes.js` and `parquet.js`. */

/**
 * @typedef {Int8Array | Int16Array | Int32Array | Uint8Array | Uint16Array | Uint32Array | Float32Array | Float64Array} Narrow
 * @typedef {Narrow | BigInt64Array | BigUint64Array} ElementArray
 */

/** Node has a Float16Array from 24 on. */
const { Float16Array } = /** @type {{ Float16Array?: typeof Float32Array }} */ (
  /** @type {unknown} */ (globalThis)
);

/** @type {Record<string, new (buffer: ArrayBuffer) => ElementArray>} */
const ARRAYS = {
  bool: Uint8Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  float32: Float32Array,
  float64: Float64Array,
  ...(Float16Array !== undefined && { float16: Float16Array }),
};

/**
 * @param {string} dtype of those that are loaded; float16 only where there are arrays of it
 * @param {ArrayBuffer} buffer
 */
export function arrayOver(dtype, buffer) {
  const array = /** @type {new (buffer: ArrayBuffer) => ElementArray} */ (ARRAYS[dtype]);
  return new array(buffer);
}
