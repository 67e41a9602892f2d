/**
 * The thread that decodes foreign formats, so that broken bytes cannot hold the thread that computes: it is
 * started, asked and stopped by `decoder.ts`, does one job at a time, and gets the files' bytes by asking for
 * them.
 *
 * These files are plain JavaScript because a worker of Node's starts from a file that it can run, also where
 * the rest of Weft is run from its TypeScript sources.
 */
import { parentPort } from 'node:worker_threads';
import { openParquet, readParquetColumn } from './parquet.js';
import { MissingPackage, OutOfMemory, Refusal } from './refusal.js';
import { openZarr, readZarrRows } from './zarr.js';

/**
 * A range of a file's bytes. Without an offset it is the whole file, which may have `most` bytes; a negative
 * offset counts from the file's end.
 * @typedef {{ name?: string, offset?: number, length?: number, most?: number }} Range
 * @typedef {{ bytes: Uint8Array<ArrayBuffer>, byteLength: number }} FileBytes `byteLength`: of the whole file
 * @typedef {object} Context
 * @property {(range: Range) => Promise<FileBytes | undefined>} read undefined: there is no file of that name
 * @property {(doing: string) => void} progress
 */

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);

/**
 * @type {Map<number, { resolve: (bytes: FileBytes | undefined) => void, reject: (reason: unknown) => void }>}
 */
const asked = new Map();
let calls = 0;

/** Progress is reported this often at most. */
const PROGRESS_MS = 100;
let lastProgress = 0;

/** @type {Context} */
const context = {
  read(range) {
    const call = calls++;
    return new Promise((resolve, reject) => {
      asked.set(call, { resolve, reject });
      port.postMessage({ type: 'ask', call, range });
    });
  },
  progress(doing) {
    const now = performance.now();
    if (now - lastProgress < PROGRESS_MS) return;
    lastProgress = now;
    port.postMessage({ type: 'progress', doing });
  },
};

/**
 * @type {Record<string, (context: Context, task: never) => Promise<{ value: unknown, transfer?: ArrayBuffer[]
 * }>>}
 */
const TASKS = {
  'open parquet': openParquet,
  'read parquet column': readParquetColumn,
  'open zarr': openZarr,
  'read zarr rows': readZarrRows,
};

/** @param {{ kind: string, task: never }} job */
async function run({ kind, task }) {
  try {
    lastProgress = performance.now();
    const { value, transfer = [] } = await /** @type {(typeof TASKS)[string]} */ (TASKS[kind])(context, task);
    port.postMessage({ type: 'done', value }, transfer);
  } catch (error) {
    port.postMessage({ type: 'failed', failure: failureOf(error) });
  }
}

/** @param {unknown} error */
function failureOf(error) {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof Refusal) {
      const { what, received, code, fileName } = at;
      return { kind: 'refused', what, received, code, fileName };
    }
    if (at instanceof MissingPackage) return { kind: 'package', name: at.packageName };
    if (at instanceof OutOfMemory) return { kind: 'memory', byteLength: at.byteLength };
  }
  return { kind: 'thrown', message: error instanceof Error ? error.message : String(error) };
}

port.on('message', (message) => {
  if (message.type === 'job') {
    void run(message);
    return;
  }
  const waiting = asked.get(message.call);
  asked.delete(message.call);
  if (message.type === 'bytes') waiting?.resolve(message.file);
  else waiting?.reject(new Error('bytes could not be read'));
});
