/** Kernels written as functions of JavaScript: their programs, a trace for each list of dtypes. */
import type { DType } from '../graph/dtype.js';
import type { ProgramCode } from '../graph/user-kernel.js';
import { currentSite } from '../host/site.js';
import { type KernelParameter as Parameter, traceKernel } from '../language/kernel-tracer.js';
import { type Captures, Names } from '../language/names.js';
import { Source } from '../language/source.js';
import { callableLookup } from './element-functions.js';

/** Place in a block or in the grid, or sizes of these. */
export interface KernelPlaces {
  readonly x: number;
  readonly y: number;
  readonly z: number;
}

/** An array in a kernel: `x[i]` and, of one axis, `x.at(i)` are its elements in C order. */
export interface KernelView {
  [index: number]: number;
  /** The number of its elements. */
  readonly length: number;
  readonly shape: readonly number[];
  readonly ndim: number;
  readonly dtype: string;
  /** The element at indices along all axes. */
  at(...indices: readonly number[]): number;
  /** Its place in C order, for `x[…]` and atomic operations. */
  index(...indices: readonly number[]): number;
}

/** An array, or a number where the input is a scalar. */
export type KernelParameter = number & KernelView;

/** The first parameter of a kernel: the place of the thread, memory of its block, and what threads do together. */
export interface KernelContext {
  readonly threadIdx: KernelPlaces;
  readonly blockIdx: KernelPlaces;
  readonly blockDim: KernelPlaces;
  readonly gridDim: KernelPlaces;
  /** Memory that the threads of a block share, undefined at first. */
  shared(dtype: DType | string, size: number | readonly number[]): KernelView;
  /** Waits for all threads of the block: what they wrote before, all of them see after it. */
  sync(): void;
  /** Adds to an element, and gives the element before; so do the others. Orders of threads differ from run to run. */
  atomicAdd(array: KernelView, index: number, value: number): number;
  atomicSub(array: KernelView, index: number, value: number): number;
  atomicMin(array: KernelView, index: number, value: number): number;
  atomicMax(array: KernelView, index: number, value: number): number;
  atomicAnd(array: KernelView, index: number, value: number): number;
  atomicOr(array: KernelView, index: number, value: number): number;
  atomicXor(array: KernelView, index: number, value: number): number;
  /** Replaces an element. */
  atomicExch(array: KernelView, index: number, value: number): number;
  /** Replaces an element that equals `compare`. */
  atomicCAS(array: KernelView, index: number, compare: number, value: number): number;
  /** The number of the thread within its warp: 32 neighbours of a block, x first. */
  readonly laneId: number;
  /** 32. */
  readonly warpSize: number;
  /**
   * The value of a lane of the warp. A mask has a bit for each lane that takes part, `0xffffffff` for all: each of them that
   * has not returned calls the function with that mask, and the lane that is read is one of them. A known mask that is 0, or
   * no integer of 32 bits, is refused: `-1`, too. `width`, a power of two, parts the warp: lanes count from the first one of a
   * part.
   */
  shflSync(mask: number, value: number, lane: number, width?: number): number;
  /** The value of the lane `delta` below; without one, in the part of the warp, the own value. */
  shflUpSync(mask: number, value: number, delta: number, width?: number): number;
  /** The value of the lane `delta` above. */
  shflDownSync(mask: number, value: number, delta: number, width?: number): number;
  /** The value of the lane `laneId ^ laneMask`. */
  shflXorSync(mask: number, value: number, laneMask: number, width?: number): number;
  /** A bit for each lane whose condition holds, as an uint32. */
  ballotSync(mask: number, condition: unknown): number;
  /** Whether the condition of some lane holds. */
  anySync(mask: number, condition: unknown): boolean;
  /** Whether the conditions of all lanes hold. */
  allSync(mask: number, condition: unknown): boolean;
  /** The lanes whose values have the bits of the own one, as a mask. */
  matchAnySync(mask: number, value: number): number;
  /** The mask of the lanes where all values have the same bits, else 0. */
  matchAllSync(mask: number, value: number): number;
  /** The sum of the values of the lanes, of int32 or uint32; it wraps around. So are the others. */
  reduceAddSync(mask: number, value: number): number;
  reduceMinSync(mask: number, value: number): number;
  reduceMaxSync(mask: number, value: number): number;
  reduceAndSync(mask: number, value: number): number;
  reduceOrSync(mask: number, value: number): number;
  reduceXorSync(mask: number, value: number): number;
  /** The lanes that are here together now, as a mask: others may come later, also where nothing parted them. */
  activemask(): number;
  /** Waits for the lanes of a mask, without one for all of the warp: they see what the others wrote before. */
  syncwarp(mask?: number): void;
}

/** The function of a kernel. It is not called: its source is read. */
export type KernelBody = (kernel: KernelContext, ...parameters: KernelParameter[]) => void;

/** Programs that are kept of a function. */
const MOST_KNOWN = 32;

export class ProgramFunction {
  readonly #source: Source;
  readonly #names: Names;
  readonly #known = new Map<string, ProgramCode>();

  constructor(fn: KernelBody, captures: Captures) {
    const site = currentSite();
    this.#source = new Source('kernel', fn, site);
    this.#names = new Names(captures, callableLookup('kernel', captures));
  }

  /** The program for parameters of some dtypes; `isWide`: integers without a dtype have 64 bits. */
  code(parameters: readonly Parameter[], isWide: boolean): ProgramCode {
    const key = JSON.stringify([parameters, isWide]);
    let code = this.#known.get(key);
    if (code === undefined) {
      code = { kind: 'program', program: traceKernel(this.#source, this.#names, parameters, isWide) };
      if (this.#known.size === MOST_KNOWN) this.#known.delete(this.#known.keys().next().value!);
      this.#known.set(key, code);
    }
    return code;
  }
}
