/**
 * Zarr arrays, as tasks of a decoding thread: their metadata, and the elements of some rows of them. Codecs
 * and types are zarrita's; where chunks are, and how long, is checked here (`zarr-metadata.js`,
 * `zarr-shards.js`, `zarr-codecs.js`).
 */
import { copyBox, elementsOf } from './boxes.js';
import { MissingPackage, Refusal, refuse } from './refusal.js';
import { checkCodecs, elementByteLength, mostEncoded } from './zarr-codecs.js';
import { layoutOfV2, layoutOfV3 } from './zarr-metadata.js';
import { readFromShard } from './zarr-shards.js';

/**
 * @typedef {import('./worker.js').Context} Context
 * @typedef {import('./zarr-metadata.js').Layout} Layout
 * @typedef {Layout & { dtype: string, fill: number | bigint | boolean | null }} ZarrLayout
 * @typedef {import('zarrita').Array<import('zarrita').DataType, import('zarrita').Readable>} ZarrArray
 */

/** More than any metadata is, the user's own attributes among it. */
const MAX_METADATA = 2 ** 26;

/** Chunks that are read and decoded at a time. */
const AT_A_TIME = 8;

/** Thrown in the place of a chunk that is not there: it is all fill values, which nobody need make. */
class MissingChunk extends Error {}

/** @type {Promise<typeof import('zarrita')> | undefined} */
let loading;

function zarrita() {
  loading ??= import('zarrita').then(
    (zarr) => {
      checkCodecs(/** @type {never} */ (zarr.registry));
      return zarr;
    },
    () => {
      loading = undefined;
      throw new MissingPackage('zarrita');
    },
  );
  return loading;
}

/** @param {Context} context @returns {Promise<{ value: ZarrLayout }>} */
export async function openZarr(context) {
  await zarrita();
  const third = await context.read({ name: 'zarr.json', most: MAX_METADATA });
  const second =
    third === undefined ? await context.read({ name: '.zarray', most: MAX_METADATA }) : undefined;
  const bytes =
    third?.bytes ?? second?.bytes ?? refuse('a folder of a Zarr array', 'no zarr.json and no .zarray');
  const layout = third === undefined ? layoutOfV2(bytes) : layoutOfV3(bytes);
  const array = await open(layout, () => Promise.resolve(undefined));
  const fill = array.fillValue ?? null;
  if (fill !== null && !['number', 'bigint', 'boolean'].includes(typeof fill)) {
    if (typeof array.dtype !== 'string' || !/^(string|v2:)/.test(array.dtype))
      refuse('a fill_value of numbers', String(JSON.stringify(fill)));
  }
  return { value: { ...layout, dtype: array.dtype, fill: /** @type {ZarrLayout['fill']} */ (fill) } };
}

/**
 * zarrita's array, of which `read` gives the chunks by their keys.
 * @param {Layout} layout
 * @param {(key: string) => Promise<Uint8Array | undefined>} read
 * @returns {Promise<ZarrArray>}
 */
async function open({ version, text }, read) {
  const zarr = await zarrita();
  const metadata = version === 3 ? '/zarr.json' : '/.zarray';
  const store = {
    get: async (/** @type {string} */ path) => {
      if (path === metadata) return new TextEncoder().encode(text);
      const bytes = await read(path.slice(1));
      if (bytes === undefined) throw new MissingChunk();
      return bytes;
    },
  };
  try {
    if (version === 3) return await zarr.open.v3(store, { kind: 'array' });
    return await zarr.open.v2(store, { kind: 'array', attrs: false });
  } catch (error) {
    return refuse('an array that zarrita can open', error instanceof Error ? error.message : String(error));
  }
}

/**
 * Rows from `first` to `end`, all of an array without axes.
 * @param {Context} context
 * @param {{ id: string, layout: ZarrLayout, first: number, end: number }} task
 */
export async function readZarrRows(context, { id, layout, first, end }) {
  const { shape, chunks, shards } = layout;
  const most = mostEncoded(chunks.reduce((product, size) => product * size, elementByteLength(layout.dtype)));
  const array = await open(layout, async (key) => {
    if (shards === undefined) return (await context.read({ name: key, most }))?.bytes;
    const coordinates = key.split('/').slice(1).map(Number);
    return readFromShard(context, shards, id, coordinates, most);
  });
  const box = shape.length === 0 ? [] : [end - first, ...shape.slice(1)];
  const target = elementsOf(layout.dtype, box, layout.fill);
  const low = shape.map((_, axis) => (axis === 0 ? first : 0));
  /** @type {Set<Promise<void>>} */
  const pending = new Set();
  for (const coordinates of chunksOf(low, box, chunks)) {
    const task = take(array, coordinates, layout, low, target).then(() => {
      context.progress(`chunk ${coordinates.join(', ')}`);
    });
    pending.add(task);
    // The failure is that of the task itself.
    task.finally(() => pending.delete(task)).catch(() => {});
    if (pending.size >= AT_A_TIME) await Promise.race(pending);
  }
  await Promise.all(pending);
  return { value: target.buffer, transfer: [target.buffer] };
}

/**
 * Coordinates of the chunks that a box of elements touches, in C order.
 * @param {number[]} low
 * @param {number[]} box
 * @param {number[]} chunks
 */
function* chunksOf(low, box, chunks) {
  const size = (/** @type {number} */ axis) => /** @type {number} */ (chunks[axis]);
  const first = low.map((at, axis) => Math.floor(at / size(axis)));
  const last = low.map((at, axis) => Math.floor((at + /** @type {number} */ (box[axis]) - 1) / size(axis)));
  if (box.some((length) => length === 0)) return;
  const at = [...first];
  for (;;) {
    yield [...at];
    let axis = at.length - 1;
    for (; axis >= 0 && at[axis] === last[axis]; axis--) at[axis] = /** @type {number} */ (first[axis]);
    if (axis < 0) return;
    at[axis] = /** @type {number} */ (at[axis]) + 1;
  }
}

/**
 * Decodes a chunk and copies what of it is wanted.
 * @param {ZarrArray} array
 * @param {number[]} coordinates
 * @param {ZarrLayout} layout
 * @param {number[]} low of the target in the array
 * @param {import('./boxes.js').Elements} target
 */
async function take(array, coordinates, layout, low, target) {
  let chunk;
  try {
    chunk = await array.getChunk(coordinates);
  } catch (error) {
    if (error instanceof MissingChunk) return;
    throw naming(coordinates, error);
  }
  const { data, shape, stride } =
    /** @type {{ data: ArrayBufferView, shape: number[], stride: number[] }} */ (chunk);
  const wanted = shape.reduce((product, size) => product * size, elementByteLength(layout.dtype));
  if (data.byteLength !== wanted)
    throw naming(coordinates, new Refusal(`a chunk of ${wanted} bytes`, `${data.byteLength}`));
  const start = coordinates.map((at, axis) => at * /** @type {number} */ (shape[axis]));
  copyBox({ data, start, shape, stride }, low, target);
}

/** A failure with the chunk that it is about. @param {number[]} coordinates @param {unknown} error */
function naming(coordinates, error) {
  const about = `chunk ${coordinates.join(', ')}`;
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof Refusal) {
      const { code, fileName } = at;
      const name = fileName === undefined ? {} : { name: fileName };
      return new Refusal(`${at.what} (${about})`, at.received, { code, ...name });
    }
  }
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return new Refusal(`bytes of ${about}`, cause instanceof Error ? cause.message : String(cause));
}
