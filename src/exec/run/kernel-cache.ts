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
import { compileCuda, cudaInfo } from '../native/native.js';
import type { CompiledImage } from '../native/native-types.js';
import { lockOr } from './file-lock.js';
import { ImageFolder } from './image-folder.js';
import { LruCache } from './lru-cache.js';

/** Images kept in memory; programs hold their own. */
const MEMORY_ENTRIES = 1024;
/** How long another process's compilation is waited for. */
const LOCK_PATIENCE_MS = 60_000;

/** Device code and its key. */
export interface Image {
  readonly key: string;
  readonly bytes: Uint8Array;
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
  readonly compile: (source: string, options: readonly string[]) => Promise<CompiledImage>;
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

  /** The key of a compilation. */
  keyOf(source: string, architecture: string, options: readonly string[]): string {
    const parts = JSON.stringify([source, architecture, this.#options.version(), options]);
    return createHash('sha256').update(parts).digest('hex');
  }

  /**
   * The image of a source for an architecture (`sm_90`). Several requests for one image are one compilation.
   * Rejects with what the compiler rejects with, without one with `DeviceError`; a failure is not kept.
   */
  load(source: string, architecture: string, options: readonly string[]): Promise<Image> {
    const key = this.keyOf(source, architecture, options);
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
    const request = this.#find(key, source, architecture, options)
      .then((bytes) => {
        const image = { key, bytes };
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
  ): Promise<Uint8Array> {
    const ahead = await this.#ahead?.read(aheadKeyOf(source, architecture, options));
    if (ahead !== undefined) return ahead;
    if (this.#options.version() === undefined) throw noCompiler(this.#ahead?.path, architecture);
    return await this.#fromDiskOr(key, () => {
      this.#compiles++;
      return this.#options.compile(source, [...options, `--gpu-architecture=${architecture}`]);
    });
  }

  async #fromDiskOr(key: string, compile: () => Promise<CompiledImage>): Promise<Uint8Array> {
    const folder = this.#folder;
    if (folder === undefined || !(await folder.usable())) return (await compile()).image;
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
      const { image } = await compile();
      await folder.write(key, image);
      return image;
    } finally {
      await turn?.lock.release();
    }
  }
}

/** The key of a kernel that was compiled ahead: machines without a compiler know no version of one. */
export const aheadKeyOf = (source: string, architecture: string, options: readonly string[]): string =>
  createHash('sha256')
    .update(JSON.stringify([source, architecture, options]))
    .digest('hex');

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
export const loadImage = (source: string, architecture: string, options: readonly string[]): Promise<Image> =>
  kernelCache().load(source, architecture, options);
