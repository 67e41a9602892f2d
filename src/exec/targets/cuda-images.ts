/**
 * The sources of all that a plan launches on a GPU, and their images. Called by `program-cuda.ts` and for kernels that
 * are compiled ahead.
 */
import { architectureFor, type CudaSource, routineSource, sourceKey } from '../../codegen/cuda/source.js';
import { CompileError } from '../../host/errors.js';
import type { CallKernels, CallLaunch } from '../calls/call-row.js';
import { type Image, loadImage } from '../run/kernel-cache.js';
import { userError } from './compile-errors.js';

/**
 * The source that the function of a call's launch is in. A launch's own one is compiled as the call's is; the entry of that and
 * the texts of users in it are not its own.
 */
export function callSource({ source, compiled }: CallKernels, launch: CallLaunch): CudaSource {
  if (launch.source === undefined)
    return compiled === undefined ? routineSource(source) : { text: source, ...compiled };
  const own = routineSource(launch.source);
  return compiled === undefined
    ? own
    : { ...own, options: compiled.options, isSpecific: compiled.isSpecific };
}

/** The sources of a call's kernels. */
export const callSources = (kernels: CallKernels): CudaSource[] => {
  const sources = new Map(kernels.launches.map((launch) => [launch.source, callSource(kernels, launch)]));
  return [...sources.values()];
};

/** Sources by their keys, each once. */
export type Sources = ReadonlyMap<string, CudaSource>;

export function sourcesByKey(sources: Iterable<CudaSource>): Sources {
  return new Map([...sources].map((source) => [sourceKey(source), source]));
}

/** The images of a program, in the order of its sources. */
export class ProgramImages {
  readonly list: readonly Image[];
  readonly #positions: ReadonlyMap<string, number>;

  constructor(sources: Sources, images: readonly Image[]) {
    this.list = images;
    this.#positions = new Map([...sources.keys()].map((key, k) => [key, k]));
  }

  /** The position of a source's image. */
  positionOf(source: CudaSource): number {
    return this.#positions.get(sourceKey(source))!;
  }

  /** The name that a function of a source has in its image. */
  nameOf(source: CudaSource, name: string): string {
    return name === source.entry ? this.list[this.positionOf(source)]!.entry! : name;
  }
}

/** Rejects with a CompileError, of a user's source with its places. */
export async function loadImages(sources: Sources, architecture: string): Promise<ProgramImages> {
  const images = [...sources.values()].map((source) => loadSource(source, architecture));
  return new ProgramImages(sources, await Promise.all(images));
}

export async function loadSource(source: CudaSource, architecture: string): Promise<Image> {
  try {
    return await loadImage(source.text, architectureFor(source, architecture), source.options, source.entry);
  } catch (error) {
    if ((source.userTexts ?? []).length === 0 || !(error instanceof CompileError)) throw error;
    throw userError(source.userTexts!, error);
  }
}
