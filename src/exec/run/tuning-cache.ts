/**
 * Choices that were made by measuring, by key, of products' algorithms and of kernels' schedules: from memory, else from
 * disk, else measured.
 *
 * As with kernels, the disk is a help and never a condition: without it, or with a broken one, every process
 * measures for itself. A choice on disk holds for all processes, one of which measures. Called by
 * `product-tuning.ts` and `kernel-tuning.ts`.
 */

import { formatMicroseconds } from '../../graph/format.js';
import { config } from '../../host/config.js';
import { LruCache } from '../../shared/lru-cache.js';
import { lockOr } from './file-lock.js';
import { ImageFolder } from './image-folder.js';

/** How a choice among several was made: its place among them, the first of which is taken without measuring. */
export interface Tuned {
  readonly place: number;
  readonly count: number;
  readonly seconds: number;
  /** Of the first. */
  readonly firstSeconds: number;
}

/** Another than the first has to be faster by so much: less is noise, and would change a choice for nothing. */
const LEAST_GAIN = 0.03;

/** The choice among candidates that take so many seconds, of which there is one at least. */
export function fastest(seconds: readonly number[]): Tuned {
  const [firstSeconds] = seconds as [number, ...number[]];
  const least = Math.min(...seconds);
  const place = least < firstSeconds * (1 - LEAST_GAIN) ? seconds.indexOf(least) : 0;
  return { place, count: seconds.length, seconds: seconds[place]!, firstSeconds };
}

/** `3 of 8 by measurement, 12.3 µs, 14 µs of the first`. */
export function measuredText({ place, count, seconds, firstSeconds }: Tuned, first: string): string {
  const other = place === 0 ? '' : `, ${formatMicroseconds(firstSeconds)} of ${first}`;
  return `${place + 1} of ${count} by measurement, ${formatMicroseconds(seconds)}${other}`;
}

/** Why nothing was chosen by measuring. */
export type Untuned =
  | 'no cuBLASLt'
  | 'no form of cuBLASLt'
  | 'no room to measure'
  | 'no two times agree'
  | 'no algorithm ran';

/** Those that another compute may get over: they are not kept. */
const PASSING: readonly (Tuned | Untuned)[] = ['no room to measure', 'no two times agree'];

const MEMORY_ENTRIES = 4096;
/** How long another process's measurements are waited for. */
const LOCK_PATIENCE_MS = 60_000;

/** `T`: the choices of one kind. */
export class TuningCache<T extends Tuned> {
  readonly #folder: ImageFolder | undefined;
  readonly #chosen = new LruCache<T | Untuned>(MEMORY_ENTRIES);
  readonly #pending = new Map<string, Promise<T | Untuned>>();

  readonly #isChoice: (choice: Partial<T>) => boolean;

  /** `folder` undefined: no disk cache. `isChoice`: whether an entry of the folder has the fields of this kind. */
  constructor(folder: string | undefined, byteLimit: number, isChoice: (choice: Partial<T>) => boolean) {
    this.#folder = folder === undefined ? undefined : new ImageFolder(folder, byteLimit);
    this.#isChoice = isChoice;
  }

  /** The choice for a key, where it was made in this process. */
  known(key: string): T | Untuned | undefined {
    return this.#chosen.get(key);
  }

  /** The choice for a key. Several requests for one are one measurement; a failure of it is not kept. */
  get(key: string, measure: () => Promise<T | Untuned>): Promise<T | Untuned> {
    const known = this.#chosen.get(key);
    if (known !== undefined && !PASSING.includes(known)) return Promise.resolve(known);
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

  async #fromDiskOr(key: string, measure: () => Promise<T | Untuned>): Promise<T | Untuned> {
    const folder = this.#folder;
    if (folder === undefined || !(await folder.usable())) return measure();
    const fromDisk = async (): Promise<T | undefined> => this.#parsed(await folder.read(key));
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

  /** A choice as it was written; `undefined` for anything else, which is measured anew. */
  #parsed(bytes: Uint8Array | undefined): T | undefined {
    if (bytes === undefined) return undefined;
    try {
      const choice = JSON.parse(Buffer.from(bytes).toString()) as Partial<T> | null;
      const { place, count, seconds, firstSeconds } = choice ?? {};
      const isTimed = [place, count, seconds, firstSeconds].every((value) => typeof value === 'number');
      return isTimed && this.#isChoice(choice!) ? (choice as T) : undefined;
    } catch {
      return undefined;
    }
  }
}

const kinds: (() => void)[] = [];

/** The process's choices of a kind, kept in the disk cache that the settings name. */
export function processChoices<T extends Tuned>(
  isChoice: (choice: Partial<T>) => boolean,
): () => TuningCache<T> {
  let shared: TuningCache<T> | undefined;
  kinds.push(() => {
    shared = undefined;
  });
  return () => {
    const { cacheFolder, cacheByteLimit } = config();
    shared ??= new TuningCache(cacheFolder, cacheByteLimit, isChoice);
    return shared;
  };
}

/** Forgets the choices of this process; those on disk stay. */
export function clearTuning(): void {
  for (const forget of kinds) forget();
}
