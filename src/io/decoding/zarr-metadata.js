/**
 * The metadata of a Zarr array, versions 2 and 3, checked as far as lengths and places of chunks depend on
 * it. Codecs and types are left to zarrita, which gets the metadata of an array without shards: its chunks
 * are those in the shards.
 *
 * Format: Zarr's specifications of versions 2 and 3, and the codec `sharding_indexed`, version 1. Called by
 * `zarr.js`.
 */
import { refuse } from './refusal.js';

/**
 * Where the chunks of an array with shards are. `counts`: chunks of a shard along each axis.
 * @typedef {{ counts: number[], prefix: string, separator: string, checksum: boolean, bigEndian: boolean, atStart: boolean }} Shards
 */

/**
 * `text`: the metadata that zarrita gets.
 * @typedef {{ version: 2 | 3, text: string, shape: number[], chunks: number[], shards: Shards | undefined }} Layout
 * @typedef {Record<string, unknown>} Fields
 */

/** More axes than any array has; NumPy's own limit is 64. */
const MAX_AXES = 64;

/** @param {unknown} value @returns {value is Fields} */
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** @param {unknown} value */
const show = (value) => String(JSON.stringify(value)).slice(0, 80);

/** @param {Fields} fields @param {string} key @returns {Fields} */
function objectOf(fields, key) {
  const value = fields[key];
  return isObject(value) ? value : refuse(`${key} as an object`, show(value));
}

/** @param {unknown} value @param {string} what @param {number} least @returns {number[]} */
function sizesOf(value, what, least) {
  const isSizes = Array.isArray(value) && value.length <= MAX_AXES;
  if (isSizes && value.every((size) => Number.isSafeInteger(size) && size >= least)) return value;
  return refuse(`${what} as a list of at most ${MAX_AXES} integers from ${least} on`, show(value));
}

/** @param {Uint8Array} bytes @param {string} name @returns {Fields} */
function parse(bytes, name) {
  try {
    const fields = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return isObject(fields) ? fields : refuse(`an object in ${name}`, show(fields));
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
    return refuse(`JSON in ${name}`, error.message.slice(0, 200));
  }
}

/** @param {number[]} shape @param {number[]} chunks */
function checkChunks(shape, chunks) {
  if (chunks.length !== shape.length) refuse(`chunks of ${shape.length} axes`, show(chunks));
  const elements = chunks.reduce((product, size) => product * size, 1);
  // Sixteen bytes are the longest element.
  if (!Number.isSafeInteger(elements * 16)) refuse('chunks of at most 2^49 elements', show(chunks));
}

/** @param {Uint8Array} bytes @returns {Layout} */
export function layoutOfV2(bytes) {
  const fields = parse(bytes, '.zarray');
  if (fields.zarr_format !== 2) refuse('zarr_format 2', show(fields.zarr_format));
  const shape = sizesOf(fields.shape, 'shape', 0);
  const chunks = sizesOf(fields.chunks, 'chunks', 1);
  checkChunks(shape, chunks);
  if (fields.order !== 'C' && fields.order !== 'F') refuse("order as 'C' or 'F'", show(fields.order));
  if (typeof fields.dtype !== 'string') refuse('a dtype of numbers', show(fields.dtype));
  return { version: 2, text: JSON.stringify(fields), shape, chunks, shards: undefined };
}

/** @param {Uint8Array} bytes @returns {Layout} */
export function layoutOfV3(bytes) {
  const fields = parse(bytes, 'zarr.json');
  if (fields.zarr_format !== 3) refuse('zarr_format 3', show(fields.zarr_format));
  if (fields.node_type !== 'array') refuse('an array', `a ${show(fields.node_type)}`);
  const shape = sizesOf(fields.shape, 'shape', 0);
  const grid = objectOf(fields, 'chunk_grid');
  if (grid.name !== 'regular') refuse('a regular chunk_grid', show(grid.name));
  const outer = sizesOf(objectOf(grid, 'configuration').chunk_shape, 'chunk_shape', 1);
  checkChunks(shape, outer);
  const transformers = fields.storage_transformers ?? [];
  if (!Array.isArray(transformers) || transformers.length > 0)
    refuse('no storage_transformers', show(transformers));
  const codecs = codecsOf(fields.codecs, 'codecs');
  if (!codecs.some(({ name }) => name === 'sharding_indexed'))
    return { version: 3, text: JSON.stringify(fields), shape, chunks: outer, shards: undefined };
  if (codecs.length > 1) refuse('shards without codecs of their own', show(codecs.map(({ name }) => name)));
  const configuration = objectOf(/** @type {Fields} */ (codecs[0]), 'configuration');
  const chunks = sizesOf(configuration.chunk_shape, 'chunk_shape of shards', 1);
  checkChunks(shape, chunks);
  const counts = outer.map((size, axis) => size / /** @type {number} */ (chunks[axis]));
  if (!counts.every(Number.isInteger)) refuse(`shards of whole chunks of ${show(chunks)}`, show(outer));
  const inner = {
    ...fields,
    chunk_grid: { name: 'regular', configuration: { chunk_shape: chunks } },
    chunk_key_encoding: { name: 'default', configuration: { separator: '/' } },
    codecs: codecsOf(configuration.codecs, 'codecs of shards'),
  };
  const shards = { counts, ...keysOf(objectOf(fields, 'chunk_key_encoding')), ...indexOf(configuration) };
  return { version: 3, text: JSON.stringify(inner), shape, chunks, shards };
}

/** @param {unknown} codecs @param {string} what @returns {(Fields & { name: string })[]} */
function codecsOf(codecs, what) {
  const isList = Array.isArray(codecs);
  if (isList && codecs.every((codec) => isObject(codec) && typeof codec.name === 'string')) return codecs;
  return refuse(`${what} as a list of named ones`, show(codecs));
}

/** How files of shards are called: coordinates with a separator between them. @param {Fields} encoding */
function keysOf({ name, configuration = {} }) {
  if (name !== 'default' && name !== 'v2') refuse("a chunk_key_encoding of 'default' or 'v2'", show(name));
  const { separator = name === 'v2' ? '.' : '/' } = isObject(configuration) ? configuration : {};
  if (separator !== '/' && separator !== '.') return refuse("a separator of '/' or '.'", show(separator));
  return { prefix: name === 'v2' ? '' : `c`, separator };
}

/** How the index of a shard lies in it. @param {Fields} configuration */
function indexOf({ index_codecs: given, index_location: place = 'end' }) {
  if (place !== 'start' && place !== 'end') refuse("an index_location of 'start' or 'end'", show(place));
  const codecs = codecsOf(given, 'index_codecs');
  const [bytes, checksum] = codecs;
  const configuration = bytes?.configuration;
  const endian = isObject(configuration) ? configuration.endian : undefined;
  const isKnown =
    codecs.length > 0 &&
    codecs.length < 3 &&
    bytes?.name === 'bytes' &&
    (endian === 'little' || endian === 'big');
  if (!isKnown || (checksum !== undefined && checksum.name !== 'crc32c'))
    refuse('index_codecs of bytes and crc32c', show(given));
  return { checksum: checksum !== undefined, bigEndian: endian === 'big', atStart: place === 'start' };
}
