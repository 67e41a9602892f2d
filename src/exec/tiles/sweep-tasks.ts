/**
 * Tasks: the steps of a plan as things that a sweep can run in parts, each with what a part touches, in bytes
 * of the plan's buffers. Every step has one or two forms; `sweep-groups.ts` chooses, `sweep-windows.ts` makes
 * the tables.
 */

import type { Pitches } from '../../codegen/cuts/pitch.js';
import type { Shift } from '../../codegen/cuts/shift.js';
import type { Partials, Region, Work, Works } from '../../codegen/cuts/work.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { lastOf } from '../../host/once.js';
import type { CallStep } from '../calls/call.js';
import { callRow } from '../calls/table.js';
import type { KernelStep, LoopStep, Step } from '../plan/plan.js';
import { buffersOf } from '../plan/step-buffers.js';
import { loopCut } from './loop-cuts.js';
import type { BytePitches, Cut, Task, Touch, WorksOf } from './sweep-cuts.js';

/**
 * The forms of a step, each a list of tasks that run one after the other. `scratch` adds a scratch buffer; `isWindowed`: what
 * of a kernel's own is elsewhere between its launches.
 */
export function formsOf(
  step: Step,
  worksOf: WorksOf,
  scratch: (bytes: number) => number,
  isWindowed: (buffer: number) => boolean = () => false,
): readonly (readonly Task[])[] {
  switch (step.kind) {
    case 'kernel':
      return kernelForms(step, worksOf(step.kernel), scratch, isWindowed);
    case 'call':
      return callForms(step);
    case 'phase':
      return [[wholeTask(step)]];
    case 'finish': {
      // Of a kernel in phases: it touches partial results and what it makes of them, not what they are of.
      const all = phaseTasks({ ...step, kind: 'kernel' }, worksOf(step.kernel), scratch);
      return [[{ ...all[2 * step.phase + 1]!, step }]];
    }
    case 'sweep':
      return [[wholeTask(step)]];
    case 'loop':
      return [[loopTask(step, worksOf)]];
  }
}

function loopTask(step: LoopStep, worksOf: WorksOf): Task {
  const cut = loopCut(step, worksOf);
  return cut === undefined ? wholeTask(step) : { ...wholeTask(step), cut, repeats: true, isDear: true };
}

/** A task that is not cut. */
export function wholeTask(step: Step): Task {
  return { step, ...buffersOf(step), cut: undefined, repeats: false };
}

function kernelForms(
  step: KernelStep,
  works: Works,
  scratch: (bytes: number) => number,
  isWindowed: (buffer: number) => boolean,
): Task[][] {
  const forms: Task[][] = [];
  const { rows, phases } = works;
  const inRows = (work: Work): Task[] => [
    { step, ...buffersOf(step), cut: cutOf(step, work, works), repeats: true },
  ];
  if (rows !== undefined && rows.units > 1) forms.push(inRows(rows));
  if (phases.length > 0) forms.push(phaseTasks(step, works, scratch, isWindowed));
  // One unit that reads a few elements, as the last of a scan, or columns of many rows, as a diagonal, has windows of those.
  if (forms.length === 0 && rows?.units === 1) forms.push(inRows(rows));
  if (forms.length === 0) forms.push([wholeTask(step)]);
  return forms;
}

/** A kernel that takes elements in windows of indices. `undefined`: it has no units. */
export function takingTask(step: KernelStep, worksOf: WorksOf): Task | undefined {
  const works = worksOf(step.kernel);
  const { rows } = works;
  return rows && { ...wholeTask(step), cut: cutOf(step, rows, works), takesInWindows: true };
}

/** A phase in parts, then what finishes it, for each phase. */
function phaseTasks(
  step: KernelStep,
  works: Works,
  scratch: (bytes: number) => number,
  isWindowed: (buffer: number) => boolean = () => false,
): Task[] {
  const { phases, phaseScratch } = works;
  const untouched = untouchedOf(step, works);
  // Launches have the scratch memory of the whole kernel; a tape has some only when it is run by phases.
  const partials = step.scratch.length > 0 ? step.scratch : phaseScratch.map(scratch);
  const waits = partials.some(isWindowed);
  return phases.flatMap(({ work, finish, rows: ofFinish }, phase): Task[] => {
    const rows = waits ? ofFinish : undefined;
    const all = work.regions(0, work.units);
    const buffers = (regions: readonly Region[]): number[] =>
      regions.map(({ buffer }) => step.buffers[buffer]!);
    const { kernel, nodes } = step;
    const part: Step = { kind: 'phase', kernel, phase, buffers: step.buffers, scratch: partials, nodes };
    const isOutput = ({ buffer }: Region): boolean => kernel.buffers[buffer]!.role === 'output';
    const finishing = finish.filter((region) => !isOutput(region));
    return [
      {
        step: part,
        // A later phase reads what earlier ones left in scratch memory.
        reads: [...buffers(all.reads), ...untouched, ...(phase > 0 ? partials : [])],
        writes: [...buffers(all.writes), ...partials],
        cut: cutOf({ ...step, scratch: waits ? partials : [] }, work, works),
        repeats: false,
      },
      {
        step: { ...part, kind: 'finish' },
        reads: [...buffers(finishing), ...untouched, ...partials],
        writes: [...buffers(finish.filter(isOutput)), ...(rows === undefined ? partials : [])],
        cut: rows && cutOf({ ...step, scratch: partials }, rows, works, true),
        repeats: false,
      },
    ];
  });
}

/** Buffers of loads whose bounds never hold: nothing of them is read, but the code takes their address. */
function untouchedOf(step: KernelStep, { phases }: Works): number[] {
  const touched = phases.flatMap(({ work, finish }) => {
    const { reads, writes } = work.regions(0, work.units);
    return [...reads, ...writes, ...finish].map(({ buffer }) => buffer);
  });
  return step.buffers.filter((_, position) => !touched.includes(position));
}

/** `takes`: partial results are read, not left. */
function cutOf(step: KernelStep, work: Work, works: Works, takes = false): Cut {
  const bytesOf = (position: number): number => byteLengthOf(step.kernel.buffers[position]!.dtype);
  const partials = (work.partials ?? []).flatMap((one, k) =>
    step.scratch[k] === undefined ? [] : [{ ...one, buffer: step.scratch[k] }],
  );
  const pitches = (buffer: number): number[] => {
    const own = partials.find((one) => one.buffer === buffer);
    if (own !== undefined) return own.slots > 1 ? [own.rows * own.bytes] : [];
    const places = step.buffers.flatMap((one, position) => (one === buffer ? [position] : []));
    if (places.length !== 1) return [];
    return (works.pitches.get(places[0]!) ?? []).map((pitch) => pitch * bytesOf(places[0]!));
  };
  const partialsOf = (first: number, last: number, chosen: BytePitches | undefined): Touch[] =>
    partials.map((one) => partialTouch(one, first, last, chosen?.has(one.buffer) === true));
  const pitchesFor = lastOf((chosen: BytePitches | undefined) => elementPitches(step, chosen));
  return {
    units: work.units,
    touches: (first, last, chosen, window) =>
      new KernelTouches(
        step,
        work.regions(first, last, pitchesFor(chosen), window),
        () => partialsOf(first, last, chosen),
        takes,
      ),
    ranges: (first, last) => work.parts(first, last),
    pitches,
    period: work.period,
    shift: work.shift && shiftInBytes(step, work.shift, partials),
    inOrder: new Set([...(work.inOrder ?? [])].map((position) => step.buffers[position]!)),
  };
}

/** A shift of the plan's buffers. `undefined`: a buffer that a kernel has twice moves in two ways. */
function shiftInBytes(
  { kernel, buffers }: KernelStep,
  shift: Shift,
  partials: readonly (Partials & { readonly buffer: number })[],
): Shift | undefined {
  const by = new Map(partials.map(({ buffer, unit, bytes }) => [buffer, shift.period * unit * bytes]));
  for (const [position, elements] of shift.by) {
    const moved = elements * byteLengthOf(kernel.buffers[position]!.dtype);
    const buffer = buffers[position]!;
    if ((by.get(buffer) ?? moved) !== moved) return undefined;
    by.set(buffer, moved);
  }
  return { ...shift, by };
}

/** The footprint of a range of units in bytes. Units are looked for by what they write: that asks for no reads. */
class KernelTouches {
  readonly #step: KernelStep;
  readonly #regions: ReturnType<Work['regions']>;
  readonly #partials: () => Touch[];
  readonly #takes: boolean;

  constructor(
    step: KernelStep,
    regions: ReturnType<Work['regions']>,
    partials: () => Touch[],
    takes: boolean,
  ) {
    this.#step = step;
    this.#regions = regions;
    this.#partials = partials;
    this.#takes = takes;
  }

  get reads(): Touch[] {
    const reads = this.#regions.reads.map((region) => touchOf(this.#step, region));
    return this.#takes ? [...reads, ...this.#partials()] : reads;
  }

  get writes(): Touch[] {
    const writes = this.#regions.writes.map((region) => touchOf(this.#step, region));
    return this.#takes ? writes : [...writes, ...this.#partials()];
  }
}

function touchOf({ kernel, buffers }: KernelStep, { buffer: position, first, last, rows }: Region): Touch {
  const bytes = byteLengthOf(kernel.buffers[position]!.dtype);
  const range = { buffer: buffers[position]!, first: first * bytes, last: last * bytes };
  if (rows === undefined) return range;
  return { ...range, rows: { pitch: rows.pitch * bytes, width: rows.width * bytes } };
}

/** The partial results of a range of units: for each slot those of their rows. */
function partialTouch(
  { buffer, bytes, slots, rows, unit }: Partials & { readonly buffer: number },
  first: number,
  last: number,
  inRows: boolean,
): Touch {
  const [from, to] = [first * unit * bytes, Math.min(rows, last * unit) * bytes];
  const pitch = rows * bytes;
  const range = { buffer, first: from, last: (slots - 1) * pitch + to };
  return inRows ? { ...range, rows: { pitch, width: to - from } } : range;
}

/** By position in the kernel, in elements. */
function elementPitches({ kernel, buffers }: KernelStep, chosen?: BytePitches): Pitches | undefined {
  if (chosen === undefined || chosen.size === 0) return undefined;
  const found = new Map<number, number>();
  for (const [position, buffer] of buffers.entries()) {
    const pitch = chosen.get(buffer);
    if (pitch !== undefined) found.set(position, pitch / byteLengthOf(kernel.buffers[position]!.dtype));
  }
  return found;
}

const knownForms = new WeakMap<CallStep, Task[][]>();

/** The forms of a call, which are the same for all choices of what is windowed. */
function callForms(step: CallStep): Task[][] {
  const found = knownForms.get(step) ?? makeCallForms(step);
  knownForms.set(step, found);
  return found;
}

function makeCallForms(step: CallStep): Task[][] {
  const touched = buffersOf(step);
  const forms = callRow(step)
    .forms(step)
    .map((form): Task[] => [{ step, ...touched, ...form }]);
  return forms.length === 0 ? [[wholeTask(step)]] : forms;
}
