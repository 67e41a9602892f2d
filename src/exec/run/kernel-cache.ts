/**
 * Compiled kernels by their source: from memory, else from the folder of those that were compiled ahead, else from
 * disk, else from the compiler.
 *
 * The key is the SHA-256 of everything the machine code depends on: source, architecture, NVRTC's version,
 * options. The disk is a help and never a condition: without it, or with a broken one, kernels are compiled.
 * Called by `program-cuda.ts`.
 */
import { createHash } from 'node:crypto';
import { config } from '../../host/config.js';
import { DeviceError } from '../../host/errors.js';
import { LruCache } from '../../shared/lru-cache.js';
import { compileCuda, cudaInfo } from '../native/native.js';
import type { CompiledImage } from '../native/native-types.js';
import { lockOr } from './file-lock.js';
import { ImageFolder } from './image-folder.js';

/** Images kept in memory; programs hold their own. */
const MEMORY_ENTRIES = 1024;
/** How long another process's compilation is waited for. */
const LOCK_PATIENCE_MS = 60_000;

/** Device code and its key. */
export interface Image {
  readonly key: string;
  readonly bytes: Uint8Array;
  /** The name of the function that was asked for, as it is in the image. */
  readonly entry?: string | undefined;
}

/** How often images came from where. */
export interface CacheCounters {
  readonly memoryHits: number;
  readonly diskHits: number;
  readonly compiles: number;
}

export interface KernelCacheOptions {
  /** Undefined: no disk cache. */
  readonly folder: string | undefined;
  readonly byteLimit: number;
  readonly compile: (source: string, options: readonly string[], entry?: string) => Promise<CompiledImage>;
  /** The compiler's version; undefined: there is no compiler. */
  readonly version: () => string | undefined;
  /** A folder of kernels that were compiled ahead, which is read only. */
  readonly kernelFolder?: string | undefined;
  readonly lockPatienceMs?: number;
}

export class KernelCache {
  readonly #options: KernelCacheOptions;
  readonly #folder: ImageFolder | undefined;
  readonly #ahead: ImageFolder | undefined;
  readonly #memory = new LruCache<Image>(MEMORY_ENTRIES);
  readonly #pending = new Map<string, Promise<Image>>();
  #memoryHits = 0;
  #diskHits = 0;
  #compiles = 0;

  constructor(options: KernelCacheOptions) {
    this.#options = options;
    this.#folder =
      options.folder === undefined ? undefined : new ImageFolder(options.folder, options.byteLimit);
    const { kernelFolder } = options;
    this.#ahead =
      kernelFolder === undefined ? undefined : new ImageFolder(kernelFolder, Number.POSITIVE_INFINITY);
  }

  get counters(): CacheCounters {
    return { memoryHits: this.#memoryHits, diskHits: this.#diskHits, compiles: this.#compiles };
  }

  /** Why kernels are not kept on disk; undefined: they are, as far as is known. */
  get problem(): string | undefined {
    return this.#folder === undefined ? 'it is turned off' : this.#folder.problem;
  }

  /** The folder of kernels on disk, how many it has and their bytes; undefined: it is turned off. */
  async disk(): Promise<
    | {
        readonly path: string;
        readonly images: number;
        readonly byteLength: number;
        readonly byteLimit: number;
      }
    | undefined
  > {
    const folder = this.#folder;
    if (folder === undefined) return undefined;
    return { path: folder.path, byteLimit: this.#options.byteLimit, ...(await folder.size()) };
  }

  /** Images in memory. */
  get size(): number {
    return this.#memory.size;
  }

  /** The key of a compilation. */
  keyOf(source: string, architecture: string, options: readonly string[], entry?: string): string {
    const parts = [
      source,
      architecture,
      this.#options.version(),
      options,
      ...(entry === undefined ? [] : [entry]),
    ];
    return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  }

  /**
   * The image of a source for an architecture (`sm_90`). Several requests for one image are one compilation.
   * Rejects with what the compiler rejects with, without one with `DeviceError`; a failure is not kept. `entry`: a
   * function whose name in the image is wanted.
   */
  load(source: string, architecture: string, options: readonly string[], entry?: string): Promise<Image> {
    const key = this.keyOf(source, architecture, options, entry);
    const known = this.#memory.get(key);
    if (known !== undefined) {
      this.#memoryHits++;
      return Promise.resolve(known);
    }
    const pending = this.#pending.get(key);
    if (pending !== undefined) {
      this.#memoryHits++;
      return pending;
    }
    const request = this.#find(key, source, architecture, options, entry)
      .then((kept) => {
        const image = { key, ...(entry === undefined ? { bytes: kept } : withoutEntry(kept)) };
        this.#memory.set(key, image);
        return image;
      })
      .finally(() => this.#pending.delete(key));
    this.#pending.set(key, request);
    return request;
  }

  async #find(
    key: string,
    source: string,
    architecture: string,
    options: readonly string[],
    entry: string | undefined,
  ): Promise<Uint8Array> {
    const ahead = await this.#ahead?.read(aheadKeyOf(source, architecture, options, entry));
    if (ahead !== undefined) return ahead;
    if (this.#options.version() === undefined) throw noCompiler(this.#ahead?.path, architecture);
    return await this.#fromDiskOr(key, async () => {
      this.#compiles++;
      const all = [...options, `--gpu-architecture=${architecture}`];
      const made = await this.#options.compile(source, all, entry);
      return entry === undefined ? made.image : withEntry(made.image, made.entry!);
    });
  }

  async #fromDiskOr(key: string, compile: () => Promise<Uint8Array>): Promise<Uint8Array> {
    const folder = this.#folder;
    if (folder === undefined || !(await folder.usable())) return await compile();
    const fromDisk = async (): Promise<Uint8Array | undefined> => {
      const bytes = await folder.read(key);
      if (bytes !== undefined) this.#diskHits++;
      return bytes;
    };
    const present = await fromDisk();
    if (present !== undefined) return present;

    const patience = this.#options.lockPatienceMs ?? LOCK_PATIENCE_MS;
    const turn = await lockOr(folder.lockOf(key), patience, fromDisk);
    if (turn !== undefined && 'ready' in turn) return turn.ready;
    try {
      // Its last holder may have written the image between our look and our turn.
      const written = turn === undefined ? undefined : await fromDisk();
      if (written !== undefined) return written;
      const image = await compile();
      await folder.write(key, image);
      return image;
    } finally {
      await turn?.lock.release();
    }
  }
}

/** The key of a kernel that was compiled ahead: machines without a compiler know no version of one. */
export const aheadKeyOf = (
  source: string,
  architecture: string,
  options: readonly string[],
  entry?: string,
): string =>
  createHash('sha256')
    .update(JSON.stringify([source, architecture, options, ...(entry === undefined ? [] : [entry])]))
    .digest('hex');

/** An image as it is kept where a function's name is wanted: the name, a zero, the image. */
export const withEntry = (image: Uint8Array, entry: string): Uint8Array =>
  Buffer.concat([Buffer.from(`${entry}\0`), image]);

function withoutEntry(kept: Uint8Array): Pick<Image, 'bytes' | 'entry'> {
  const end = kept.indexOf(0);
  return { bytes: kept.subarray(end + 1), entry: Buffer.from(kept.subarray(0, end)).toString() };
}

const noCompiler = (folder: string | undefined, architecture: string): DeviceError =>
  new DeviceError(
    `[cuda] expected NVRTC (libnvrtc), or this kernel for ${architecture} among those that were compiled ahead in ${folder ?? 'WEFT_KERNELS'}: precompile() on a machine with NVRTC writes them`,
  );

let shared: KernelCache | undefined;

/** The process's cache, made from the settings. */
export function kernelCache(): KernelCache {
  shared ??= new KernelCache({
    folder: config().cacheFolder,
    byteLimit: config().cacheByteLimit,
    compile: compileCuda,
    version: () => cudaInfo().nvrtc?.version,
    kernelFolder: config().kernelFolder,
  });
  return shared;
}

/** The image of CUDA C for an architecture, from the process's cache. Rejects with `CompileError`. */
export const loadImage = (
  source: string,
  architecture: string,
  options: readonly string[],
  entry?: string,
): Promise<Image> => kernelCache().load(source, architecture, options, entry);
