/**
 * Columns of Parquet files, as tasks of a decoding thread: their footers, and the values of a column in some
 * groups of rows.
 */
import { arrayOver } from './arrays.js';
import { decompressorOf } from './parquet-codecs.js';
import { readFooter } from './parquet-footer.js';
import { PageReader } from './parquet-pages.js';
import { allocate, Refusal } from './refusal.js';

/**
 * @typedef {import('./worker.js').Context} Context
 * @typedef {import('./parquet-footer.js').Chunk} Chunk
 * @typedef {import('./parquet-pages.js').Page} Page
 */

/** @param {Context} context @param {{ columns: readonly string[] | undefined }} task */
export async function openParquet(context, { columns }) {
  return { value: await readFooter(context, columns) };
}

/**
 * `group`: the ordinal of the first chunk's. Gives the elements, and the row of a missing value that nothing
 * stands for.
 * @typedef {object} ColumnTask
 * @property {{ name: string, type: string, repetition: number }} column
 * @property {Chunk[]} chunks
 * @property {number} group
 * @property {string} dtype
 * @property {number} byteLength of the elements
 * @property {number | bigint | undefined} nulls
 */

/** @param {Context} context @param {ColumnTask} task */
export async function readParquetColumn(context, { column, chunks, group, dtype, byteLength, nulls }) {
  const buffer = allocate(byteLength);
  const target = arrayOver(dtype, buffer);
  let row = 0;
  for (const [k, chunk] of chunks.entries()) {
    const about = `column ${column.name}, group ${group + k}`;
    try {
      const end = row + chunk.rows;
      const pages = await pagesOf(context, column, chunk, about);
      while (row < end) {
        const page = pages.next(end - row);
        const missing = copyPage(page, target, row, nulls);
        if (missing !== undefined) return { value: { missing } };
        row += page.rows;
        context.progress(about);
      }
    } catch (error) {
      throw naming(about, error);
    }
  }
  return { value: { buffer }, transfer: [buffer] };
}

/**
 * @param {Context} context @param {ColumnTask['column']} column @param {Chunk} chunk @param {string} about
 */
async function pagesOf(context, column, { start, length, codec }, about) {
  const decompress = await decompressorOf(codec);
  context.progress(about);
  const file = await context.read({ offset: start, length });
  return new PageReader(/** @type {Uint8Array} */ (file?.bytes), column, decompress);
}

/** The same failure, saying of which column and group it is. @param {string} about @param {unknown} error */
function naming(about, error) {
  if (!(error instanceof Refusal)) return error;
  return new Refusal(`${error.what} (${about})`, error.received, { code: error.code });
}

/**
 * Gives the row of a missing value that nothing stands for.
 * @param {Page} page
 * @param {import('./arrays.js').ElementArray} target
 * @param {number} row
 * @param {number | bigint | undefined} nulls
 */
function copyPage({ rows, values, isMissing }, target, row, nulls) {
  if (isMissing === undefined) {
    target.set(/** @type {never} */ (values), row);
    return undefined;
  }
  for (let k = 0, value = 0; k < rows; k++) {
    if (isMissing[k] === 1 && nulls === undefined) return row + k;
    target[row + k] = /** @type {never} */ (isMissing[k] === 1 ? nulls : values[value++]);
  }
  return undefined;
}
