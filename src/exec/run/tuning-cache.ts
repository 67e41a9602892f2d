/**
 * The algorithms that were chosen for products by measuring, by key: from memory, else from disk, else measured.
 *
 * As with kernels, the disk is a help and never a condition: without it, or with a broken one, every process
 * measures for itself. A choice on disk holds for all processes, one of which measures. Called by
 * `product-tuning.ts`.
 */

import { LruCache } from '../../shared/lru-cache.js';
import { lockOr } from './file-lock.js';
import { ImageFolder } from './image-folder.js';

/** An algorithm and how it was chosen. */
export interface TunedProduct {
  /** A `cublasLtMatmulAlgo_t` in words of 32 bits. */
  readonly algorithm: readonly number[];
  /** Its place among the heuristic's, and how many of them ran. */
  readonly place: number;
  readonly count: number;
  readonly seconds: number;
  /** Of the heuristic's first. */
  readonly firstSeconds: number;
}

/** Why a product is not tuned. */
export type Untuned = 'no cuBLASLt' | 'no form of cuBLASLt' | 'no room to measure' | 'no algorithm ran';

/** One that another compute may get over: it is not kept. */
const PASSING: Untuned = 'no room to measure';

const MEMORY_ENTRIES = 4096;
/** How long another process's measurements are waited for. */
const LOCK_PATIENCE_MS = 60_000;
const WORDS = 16;

export class TuningCache {
  readonly #folder: ImageFolder | undefined;
  readonly #chosen = new LruCache<TunedProduct | Untuned>(MEMORY_ENTRIES);
  readonly #pending = new Map<string, Promise<TunedProduct | Untuned>>();

  /** `folder` undefined: no disk cache. */
  constructor(folder: string | undefined, byteLimit: number) {
    this.#folder = folder === undefined ? undefined : new ImageFolder(folder, byteLimit);
  }

  /** The choice for a key, where it was made in this process. */
  known(key: string): TunedProduct | Untuned | undefined {
    return this.#chosen.get(key);
  }

  /** The choice for a key. Several requests for one are one measurement; a failure of it is not kept. */
  get(key: string, measure: () => Promise<TunedProduct | Untuned>): Promise<TunedProduct | Untuned> {
    const known = this.#chosen.get(key);
    if (known !== undefined && known !== PASSING) return Promise.resolve(known);
    const pending = this.#pending.get(key);
    if (pending !== undefined) return pending;
    const request = this.#fromDiskOr(key, measure)
      .then((choice) => {
        this.#chosen.set(key, choice);
        return choice;
      })
      .finally(() => this.#pending.delete(key));
    this.#pending.set(key, request);
    return request;
  }

  async #fromDiskOr(
    key: string,
    measure: () => Promise<TunedProduct | Untuned>,
  ): Promise<TunedProduct | Untuned> {
    const folder = this.#folder;
    if (folder === undefined || !(await folder.usable())) return measure();
    const fromDisk = async (): Promise<TunedProduct | undefined> => parsed(await folder.read(key));
    const present = await fromDisk();
    if (present !== undefined) return present;
    const turn = await lockOr(folder.lockOf(key), LOCK_PATIENCE_MS, fromDisk);
    if (turn !== undefined && 'ready' in turn) return turn.ready;
    try {
      // Its last holder may have written the choice between our look and our turn.
      const written = turn === undefined ? undefined : await fromDisk();
      if (written !== undefined) return written;
      const choice = await measure();
      if (typeof choice !== 'string') await folder.write(key, Buffer.from(JSON.stringify(choice)));
      return choice;
    } finally {
      await turn?.lock.release();
    }
  }
}

/** A choice as it was written; `undefined` for anything else, which is measured anew. */
function parsed(bytes: Uint8Array | undefined): TunedProduct | undefined {
  if (bytes === undefined) return undefined;
  try {
    const choice = JSON.parse(Buffer.from(bytes).toString()) as Partial<TunedProduct> | null;
    const { algorithm, place, count, seconds, firstSeconds } = choice ?? {};
    const isWord = (word: unknown): boolean =>
      Number.isInteger(word) && Number(word) >= 0 && Number(word) < 2 ** 32;
    if (!Array.isArray(algorithm) || algorithm.length !== WORDS || !algorithm.every(isWord)) return undefined;
    if (![place, count, seconds, firstSeconds].every((value) => typeof value === 'number')) return undefined;
    return choice as TunedProduct;
  } catch {
    return undefined;
  }
}
