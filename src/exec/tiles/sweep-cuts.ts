/**
 * Tasks and cuts: the steps of a plan as things that a sweep can run in parts, and what a part touches. Made
 * by `sweep-tasks.ts`, `loop-cuts.ts` and the rows of `exec/calls`.
 */
import type { Rows } from '../../codegen/cuts/pitch.js';
import type { Shift } from '../../codegen/cuts/shift.js';
import type { IndexWindow, Works } from '../../codegen/cuts/work.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';
import type { Step } from '../plan/plan.js';

/** Bytes [first, last) of a plan's buffer; of those, with `rows`, the first `width` of each `pitch`. */
export interface Touch {
  readonly buffer: number;
  readonly first: number;
  readonly last: number;
  readonly rows?: Rows;
}

/** For some of the plan's buffers, bytes from row to row: their footprint is given in rows. */
export type BytePitches = ReadonlyMap<number, number>;

/** The range of one launch of a step in a tile: blocks, slots or indices, as in `SweepStep.ranges`. */
export type Ranges = readonly number[];

/** How a task is run in parts: units in order, in ranges. */
export interface Cut {
  readonly units: number;
  /** The footprint of units [first, last): reads, of some indices in `window`, and finished writes. */
  readonly touches: (
    first: number,
    last: number,
    pitches?: BytePitches,
    window?: IndexWindow,
  ) => { readonly reads: readonly Touch[]; readonly writes: readonly Touch[] };
  readonly ranges: (first: number, last: number) => readonly Ranges[];
  /** The pitches in bytes that windows of a buffer may have in this task. */
  readonly pitches: (buffer: number) => readonly number[];
  /** Buffers that units write in ascending order, as `Work.inOrder`. */
  readonly inOrder?: ReadonlySet<number> | undefined;
  /** As `Work.period`. */
  readonly period?: number | undefined;
  /** How footprints move with their units, in bytes of the plan's buffers; without it, in no simple way. */
  readonly shift?: Shift | undefined;
}

export interface Task {
  readonly step: Step;
  readonly reads: readonly number[];
  readonly writes: readonly number[];
  /** `undefined`: it runs as a whole. */
  readonly cut: Cut | undefined;
  /** Whether its values can be computed again in a later sweep: it finishes all that it writes. */
  readonly repeats: boolean;
  /** Whether computing them again costs more than bringing them back from the host. */
  readonly isDear?: boolean;
  /** Whether others can seldom follow its tiles: it is one of the forms of a step that are taken for want of better ones. */
  readonly isSeldomFollowed?: boolean;
  /** Of a kernel that takes elements in windows of indices: the sweep is its alone. */
  readonly takesInWindows?: boolean;
}

export type CutTask = Task & { readonly cut: Cut };

export type WorksOf = (kernel: Kernel) => Works;
