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
/** The same where results are kept. */
const MOST_BETWEEN_BYTES = 1024 * MiB;
/** How many times the bytes that it may free come until the next collection; more, where some were alive for too long. */
const MARGIN = 1.5;
const WIDER_MARGIN = 2;
/** How fast that grows where no memory is seen that it may free. */
const GROWTH = 1.5;
/**
 * Collections in a row that see results for the second time, after which waiting is in vain: more than some ten are kept, or the
 * program's own garbage makes old objects of results, and these would only be more until the whole heap is marked.
 */
const MOST_IN_VAIN = 2;
/** Of these, after how many to wait is tried again: the program may be another one by then. */
const IN_VAIN_UNTIL_ANEW = 256;

/**
 * Bytes of results at a collection: freed since the last one; alive that it is the first one for; alive that it is the second
 * one for, which no further one frees.
 */
export type Released = readonly [freed: number, young: number, aged: number];

export class ResultCollector {
  readonly #release: () => Released;
  /** Undefined until it is needed; null: the engine does not give it. */
  #collect: (() => void) | null | undefined;
  #bytes = 0;
  #between = LEAST_BETWEEN_BYTES;
  #inVain = 0;

  /** `release` frees the memory of results that were collected. */
  constructor(release: () => Released) {
    this.#release = release;
  }

  /** A run begins that makes so many bytes of results. */
  count(byteLength: number): void {
    if (this.#bytes > 0 && this.#bytes + byteLength > this.#between) this.#look();
    this.#bytes += byteLength;
  }

  #look(): void {
    this.#bytes = 0;
    this.#collect ??= youngCollection();
    if (this.#collect === null) return;
    this.#collect();
    const released = this.#release();
    const [, , aged] = released;
    this.#inVain = aged > 0 ? (this.#inVain + 1) % IN_VAIN_UNTIL_ANEW : 0;
    this.#between = this.#inVain > MOST_IN_VAIN ? LEAST_BETWEEN_BYTES : betweenAfter(released, this.#between);
  }
}

/**
 * The bytes until the next collection. A user who keeps some results, and drops the oldest of them for each new one, has dropped
 * all that are alive now once as many have come: the next collection frees them. Sooner it would be their second one, after which
 * they belong to the old objects, for whose sake the whole heap would be marked again and again.
 */
function betweenAfter([freed, young, aged]: Released, before: number): number {
  const wanted =
    aged > 0 ? WIDER_MARGIN * (young + aged) : freed === 0 && young === 0 ? GROWTH * before : MARGIN * young;
  return Math.min(Math.max(wanted, LEAST_BETWEEN_BYTES), MOST_BETWEEN_BYTES);
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
