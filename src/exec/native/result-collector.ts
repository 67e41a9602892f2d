/**
 * ResultCollector: has the engine collect young objects when results take much memory. A result that nobody has any more
 * takes a few hundred bytes of the engine's heap, which it may not look through for thousands of calls, and all its memory
 * beside that: until then every result takes pages that the system clears first, or that left the caches long ago.
 * Called by `native-run.ts`.
 */
import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const MiB = 2 ** 20;
/**
 * Bytes of results between two collections: a collection takes 0.1 ms, to fill that memory some 1. V8 begins to collect
 * the whole heap when ArrayBuffers have grown by 64 MiB.
 */
const LEAST_BETWEEN_BYTES = 16 * MiB;
/** The most that wait where results are kept: of the memory that the process may use, and of any. */
const MOST_OF_MEMORY = 1 / 16;
const MOST_BETWEEN_BYTES = 4096 * MiB;
/** How many times the bytes that it may free come until the next collection, and where no memory is left for more results. */
const MARGIN = 1.5;
const LEAST_MARGIN = 1.125;
/** The same of results of which most were alive for too long. */
const WIDER_MARGIN = 2;
/** Of those that are alive, the part that may have been alive twice by chance. */
const MOST_CHANCE = 0.125;
/** How fast that grows where no memory is seen that it may free. */
const GROWTH = 1.5;
/** The part of the results between two collections that is freed, at least, where it helps to wait. */
const LEAST_FREED = 0.25;
/**
 * Collections in a row that see results for the second time and free few, after which waiting is in vain: too many are kept, or
 * the program's own garbage makes old objects of results, and these would only be more until the whole heap is marked.
 */
const MOST_IN_VAIN = 2;
/** Of these, after how many to wait is tried again: the program may be another one by then. */
const IN_VAIN_UNTIL_ANEW = 256;

/**
 * Bytes of results at a collection: freed since the last one; alive that it is the first one for; alive that it is the second
 * one for, which no further one frees.
 */
export type Released = readonly [freed: number, young: number, aged: number];

/** Memory of results, as the engine and the pool have it. */
export interface ResultMemory {
  /** Frees that of results which were collected. */
  readonly release: () => Released;
  /** Whether the engine has collected young objects since this was asked last. */
  readonly hasCollected: () => boolean;
  /** Bytes that are kept for results to come. */
  readonly keptBytes: () => number;
  /** Bytes that the process may use. */
  readonly totalBytes: () => number;
}

/**
 * A user who keeps some results, and drops the oldest of them for each new one, has dropped all that are alive now once as many
 * have come: the next collection frees them. Sooner it would be their second one, after which they belong to the old objects,
 * for whose sake the whole heap would be marked again and again. Later they take memory that the system clears first.
 */
export class ResultCollector {
  readonly #memory: ResultMemory;
  /** Undefined until it is needed; null: the engine does not give it. */
  #collect: (() => void) | null | undefined;
  /** Bytes since the last collection, and up to the next one: where none are kept for results to come, and at most. */
  #bytes = 0;
  #least = LEAST_BETWEEN_BYTES;
  #between = LEAST_BETWEEN_BYTES;
  /** The most of the last one; 0: not known yet. */
  #most = 0;
  #inVain = 0;
  /** Whether the engine collected nothing by itself before the last collection. */
  #wasAlone = true;

  constructor(memory: ResultMemory) {
    this.#memory = memory;
  }

  /** A run begins that makes so many bytes of results. */
  count(byteLength: number): void {
    const bytes = this.#bytes + byteLength;
    if (this.#bytes > 0 && bytes > this.#least) {
      if (bytes > this.#between || this.#memory.keptBytes() < byteLength) this.#look();
    }
    this.#bytes += byteLength;
  }

  #look(): void {
    const made = this.#bytes;
    this.#bytes = 0;
    this.#collect ??= youngCollection();
    if (this.#collect === null) return;
    const { release, hasCollected, totalBytes } = this.#memory;
    if (this.#most === 0) this.#most = Math.min(MOST_BETWEEN_BYTES, MOST_OF_MEMORY * totalBytes());
    const isAlone = !hasCollected();
    // Where the engine has just done so, another collection would only make old objects of results.
    if (isAlone) this.#collect();
    const released = release();
    hasCollected(); // forgets this collection
    const [least, between] = this.#next(made, released, isAlone);
    this.#between = Math.max(Math.min(between, this.#most), LEAST_BETWEEN_BYTES);
    this.#least = Math.max(Math.min(least, this.#between), LEAST_BETWEEN_BYTES);
    this.#wasAlone = isAlone;
  }

  /** The bytes until the next collection: where none are kept for results to come, and at most. `made`: since the last one. */
  #next(
    made: number,
    [freed, young, aged]: Released,
    isAlone: boolean,
  ): readonly [least: number, between: number] {
    // Collections of the engine's own make old objects of results at any time: of those nothing follows.
    const mayWait = isAlone && this.#wasAlone && this.#between < this.#most;
    const isInVain = aged > 0 && (this.#inVain > MOST_IN_VAIN || !(mayWait || freed > LEAST_FREED * made));
    this.#inVain = isInVain ? (this.#inVain + 1) % IN_VAIN_UNTIL_ANEW : 0;
    if (this.#inVain > MOST_IN_VAIN) return [0, 0];
    if (freed === 0 && young === 0) return [0, GROWTH * this.#between];
    const isTooShort = mayWait && aged > MOST_CHANCE * young;
    // All that are kept, if few of those were alive twice.
    const needed = 2 * aged < young ? made + aged : WIDER_MARGIN * (young + aged);
    const longer = isTooShort ? needed : 0;
    const most = isAlone ? this.#most : this.#between;
    return [Math.max(LEAST_MARGIN * young, longer), Math.min(Math.max(MARGIN * young, longer), most)];
  }
}

/**
 * V8's function that collects young objects, which it gives to contexts that are made while a flag is set. Null where
 * flags are another engine's, or frozen: to set one would end the process. There, results wait for a collection of the
 * whole heap.
 */
function youngCollection(): (() => void) | null {
  const { versions } = process;
  if ([versions.electron, versions.bun, versions.deno].some((version) => version !== undefined)) return null;
  if ([...process.execArgv, ...commandLine()].some((option) => FROZEN_FLAGS.test(option))) return null;
  try {
    const collect = givenCollection() ?? exposedCollection();
    return collect === undefined ? null : () => collect({ type: 'minor' });
  } catch {
    return null;
  }
}

type Collect = (options: { readonly type: 'minor' }) => void;

const FROZEN_FLAGS = /^--freeze[-_]flags[-_]after[-_]init$/;

/** The arguments of the process, where the system tells them: a worker may have been given options of its own. */
function commandLine(): string[] {
  try {
    return readFileSync('/proc/self/cmdline', 'utf8').split('\0');
  } catch {
    return [];
  }
}

/** Contexts that are made with the flag: flags are those of the process, and another thread may take it back meanwhile. */
const CONTEXTS = 3;

/** The function that a new context has. Where the program has set the flag, it is left as it is. */
const givenCollection = (): Collect | undefined => runInNewContext('globalThis.gc');

function exposedCollection(): Collect | undefined {
  for (let k = 0; k < CONTEXTS; k++) {
    setFlagsFromString('--expose-gc');
    try {
      const collect = givenCollection();
      if (collect !== undefined) return collect;
    } finally {
      setFlagsFromString('--no-expose-gc');
    }
  }
  return undefined;
}
