/**
 * Shards a job to several devices: steps that can be cut are run in shares, one for each device, all others
 * on one device. Called by `shard-partition.ts`.
 *
 * A share is a range of blocks of the whole job's code, as a tile is (`codegen/cuts/work.ts`), and reductions
 * leave partial results in the slots of their blocks, which are combined in slot order on one device: results
 * have the same bits for any number of devices. Shares are contiguous, which keeps sharded arrays where they
 * are; a share that does not fit is swept in tiles. Work that streams from and to host memory has no shares:
 * devices take its tiles as they become free (`dynamic-tiles.ts`).
 */

import type { SourceArray } from '../../fusion/passes/source-array.js';
import { InternalError } from '../../host/errors.js';
import type { CostModel, DeviceModel, SweepRules } from '../plan/device-model.js';
import { waitingBytesOf } from '../plan/phases.js';
import { bytesOfPart } from '../plan/place.js';
import type { DeviceRun, Phase, Plan, PlanValue, WholeReason } from '../plan/plan.js';
import type { Place } from '../plan/plan-graph.js';
import { type Lifetimes, lifetimesOf, usesOf } from '../plan/stages.js';
import { ownBuffer, type StepList, type UnplacedBuffer } from '../plan/step-list.js';
import { splitLoads } from '../tiles/sweep-aliases.js';
import type { CutTask, Task } from '../tiles/sweep-cuts.js';
import { type Group, groupTasks } from '../tiles/sweep-groups.js';
import type { NoFit } from '../tiles/sweep-slots.js';
import { formsOf, wholeTask } from '../tiles/sweep-tasks.js';
import type { Span, SweptTask } from '../tiles/sweep-windows.js';
import { leftByStream, tileOrders } from './dynamic-tiles.js';
import { withKeptInputs } from './kept-inputs.js';
import type { Piece, ShardDevice } from './shard-device.js';
import {
  type Part,
  type PhaseRules,
  type PlannedRun,
  planShare,
  planTiles,
  planWholeTasks,
} from './shard-phase.js';
import { leadOf, type ShareRules, shard, stretchesOf, unitsOf } from './shard-ranges.js';
import {
  asSharded,
  finishesWhatItWrites,
  givenPieces,
  largestOf,
  type Stage,
  stagesOf,
} from './shard-stages.js';
import {
  type Form,
  type Lies,
  MOST_OF_WHOLE,
  type Shareable,
  type SharedWork,
  sharedWork,
} from './shared-work.js';

/** Where memory is short, buffers of so many bytes are cut, however little is done with them. */
const LEAST_CUT_BYTES = 512 * 1024;

export interface Job {
  readonly sources: readonly SourceArray[];
  readonly model: DeviceModel;
  readonly sweeps: SweepRules;
  readonly costs: CostModel;
  readonly devices: readonly ShardDevice[];
  readonly place: Place;
  readonly hostBudget: number;
  /** Whether all large buffers are cut, or those alone with which several devices are sooner done than one. */
  readonly cutsAll: boolean;
  /** Whether large values wait in host memory between phases. */
  readonly spills: boolean;
}

/** Shards what can be sharded: more and more is left whole, until all steps can run. */
export function shardSteps(stepList: StepList, job: Job): Plan | NoFit {
  const [uncut, whole] = [new Set<number>(), new Set<number>()];
  for (;;) {
    const found = new Sharder(stepList, job, uncut, whole).planOnce();
    if (!('uncut' in found)) return found;
    for (const buffer of found.uncut) uncut.add(buffer);
    for (const step of found.whole) whole.add(step);
  }
}

/** Buffers that must not be cut, and steps of which no buffer is cut that must not be shared. */
interface Uncut {
  readonly uncut: readonly number[];
  readonly whole: readonly number[];
}

/** One way to shard, planned. */
class Sharder {
  readonly #stepList: StepList;
  readonly #job: Job;
  readonly #uncut: ReadonlySet<number>;
  readonly #whole: ReadonlySet<number>;
  readonly #buffers: UnplacedBuffer[];
  /** Those that are cut, with their aliases. */
  readonly #cut = new Set<number>();
  /** Steps that are shared although no buffer of theirs is cut, by position: which of their forms. */
  #forms: SharedWork['forms'] = new Map();
  readonly #shared = new Set<Task>();
  /** Whether there are forms in which it can be shared, of each step. */
  #isShareable: readonly boolean[] = [];
  /** The step of the step list that a task is of. */
  readonly #stepOf = new Map<Task, number>();
  #stages: readonly Stage[] = [];
  /** The stages that write a buffer, and those that read it. */
  #writers: Lifetimes = new Map();
  #readers: Lifetimes = new Map();
  /** Where buffers are on devices, as far as is planned. */
  readonly #pieces = new Map<number, readonly Piece[]>();
  /** Small values that wait in host memory, since any device may have made a part of them. */
  readonly #hosted = new Set<number>();
  /** Bytes that the compute holds on each device between phases, by buffer. */
  readonly #held: Map<number, number>[];
  readonly #peaks: number[];
  /** Host memory that values of one phase wait in, at most. */
  #hostPeak = 0;

  constructor(stepList: StepList, job: Job, uncut: ReadonlySet<number>, whole: ReadonlySet<number>) {
    this.#stepList = stepList;
    this.#job = job;
    this.#uncut = uncut;
    this.#whole = whole;
    this.#buffers = [...stepList.buffers];
    this.#chooseShared();
    this.#held = job.devices.map(() => new Map());
    this.#peaks = job.devices.map(() => 0);
  }

  /**
   * With inputs that stay on devices from phase to phase, where there is room for them and it takes no more
   * phases.
   */
  planOnce(): Plan | NoFit | Uncut {
    const uncut = this.#makeStages();
    if (uncut !== undefined) return uncut;
    const stepList = withKeptInputs(this.#stepList, this.#stages, {
      inputOf: (b) => this.#hostInputOf(b),
      byteLengthOf: (b) => this.#buffers[b]!.byteLength,
      stepOf: (task) => this.#stepOf.get(task)!,
    });
    if (stepList !== this.#stepList) {
      const kept = new Sharder(stepList, this.#job, this.#uncut, new Set());
      const isLonger = kept.#makeStages() !== undefined || kept.#stages.length > this.#stages.length;
      const found = isLonger ? undefined : kept.#plan();
      if (found !== undefined && 'phases' in found) return found;
    }
    return this.#plan();
  }

  /** The number in the step list of a large input that lies on the host. */
  #hostInputOf(buffer: number): number | undefined {
    const { role } = this.#buffers[buffer]!;
    if (role !== 'input' || !this.#isLarge(buffer) || !this.#isOnHost(buffer)) return undefined;
    return this.#stepList.buffers.indexOf(this.#buffers[buffer]!);
  }

  #makeStages(): Uncut | undefined {
    const groups = this.#group();
    if ('uncut' in groups) return groups;
    this.#stages = stagesOf(groups);
    return undefined;
  }

  #plan(): Plan | NoFit | Uncut {
    const users = (way: 'reads' | 'writes'): Lifetimes =>
      lifetimesOf(this.#stages.map(({ tasks }) => ({ uses: tasks.flatMap((task) => task[way]) })));
    this.#writers = users('writes');
    this.#readers = users('reads');
    for (const [b, buffer] of this.#buffers.entries())
      this.#pieces.set(b, givenPieces(buffer, this.#job.sources));
    const phases: Phase[] = [];
    for (const at of this.#stages.keys()) {
      const phase = this.#planStage(at);
      if (!('runs' in phase)) return phase;
      phases.push(phase);
    }
    return this.#finish(phases);
  }

  #isLarge(buffer: number): boolean {
    return this.#cut.has(buffer);
  }

  #chooseShared(): void {
    const { costs, cutsAll, sweeps, sources, place } = this.#job;
    const steps = this.#stepList.steps.map((step) => {
      const all = formsOf(step, sweeps.worksOf, (bytes) => this.#addScratch(bytes));
      return { step, forms: this.#shareable(all) };
    });
    this.#isShareable = steps.map(({ forms }) => forms.length > 0);
    const liesAt = (b: number): Lies => {
      const buffer = this.#buffers[b]!;
      if (buffer.role === 'output') return place === 'device' ? 'device' : 'host';
      const pieces = buffer.role === 'input' ? givenPieces(buffer, sources).length : 1;
      return pieces === 0 ? 'host' : pieces === 1 ? 'device' : 'shares';
    };
    const share = Math.max(...this.#weights());
    const { cut, forms } = sharedWork(steps, { costs, share, buffers: this.#buffers, liesAt });
    for (const b of cut) this.#cut.add(b);
    if (cutsAll)
      for (const [b, { byteLength }] of this.#stepList.buffers.entries())
        if (byteLength >= LEAST_CUT_BYTES) this.#cut.add(b);
    for (const b of this.#uncut) this.#cut.delete(b);
    const touchesCut = ({ step }: Shareable): boolean => usesOf(step).some((b) => this.#cut.has(b));
    this.#forms = new Map([...forms].filter(([at]) => !touchesCut(steps[at]!) && !this.#whole.has(at)));
  }

  /** The forms of a step whose parts finish what they write, as devices share them. */
  #shareable(forms: readonly Form[]): Form[] {
    const rules = {
      byteLengthOf: (b: number) => this.#buffers[b]!.byteLength,
      isOnHost: (b: number) => this.#isOnHost(b),
    };
    return forms
      .map((form) => form.map((task) => asSharded(task, rules)))
      .filter((form) => form.some(({ cut }) => cut !== undefined) && form.every(finishesWhatItWrites));
  }

  #group(): readonly Group[] | Uncut {
    const scratch = new Set(
      this.#stepList.steps.flatMap((step) => (step.kind === 'kernel' ? step.scratch : [])),
    );
    const isWindowed = (b: number): boolean => this.#isLarge(b) && !scratch.has(b);
    const isWindowedInput = (b: number): boolean => isWindowed(b) && this.#buffers[b]!.role === 'input';
    const forms = this.#stepList.steps.map((step, at) => {
      const own = step.kind === 'kernel' ? splitLoads(step, isWindowedInput, (b) => this.#addAlias(b)) : step;
      const all = formsOf(own, this.#job.sweeps.worksOf, (bytes) => this.#addScratch(bytes));
      const shareable = this.#shareable(all);
      const chosen = this.#forms.get(at);
      const every = chosen === undefined ? [[wholeTask(own)], ...shareable] : [shareable[chosen]!];
      if (chosen !== undefined)
        for (const task of every[0]!) if (task.cut !== undefined) this.#shared.add(task);
      for (const task of every.flat()) this.#stepOf.set(task, at);
      return every;
    });
    const groups = groupTasks(forms, {
      isWindowed,
      byteLengthOf: (b) => this.#buffers[b]!.byteLength,
      isInput: (b) => this.#buffers[b]!.role === 'input',
      isFetched: () => false,
      canSpill: true,
      keepsAll: true,
      mostOfWhole: MOST_OF_WHOLE,
      inBlocks: false,
    });
    if ('why' in groups) return this.#without(groups.task);
    return groups.map((group) => (this.#shared.has(group.tasks[0]!) ? { ...group, runs: 'tiles' } : group));
  }

  /** The large buffers that a task touches, which are not to be cut. */
  #without(task: Task): Uncut {
    if (this.#shared.has(task)) return { uncut: [], whole: [this.#stepOf.get(task)!] };
    const { reads, writes } = task;
    const uncut = [...reads, ...writes].filter((b) => this.#isLarge(b));
    if (uncut.length === 0) throw new InternalError('[shard] a task that is neither cut nor whole');
    // Aliases are numbered anew each time: their originals are what is excluded.
    const originals = uncut.map((b) => this.#stepList.buffers.indexOf(this.#buffers[b]!));
    return { uncut: originals.filter((b) => b >= 0), whole: [] };
  }

  #isOnHost(buffer: number): boolean {
    const own = this.#buffers[buffer]!;
    return own.role === 'input'
      ? givenPieces(own, this.#job.sources).length === 0
      : this.#homeOf(buffer) === 'host';
  }

  /** Another buffer for an input that is windowed. */
  #addAlias(buffer: number): number {
    const alias = this.#buffers.push(this.#buffers[buffer]!) - 1;
    if (this.#cut.has(buffer)) this.#cut.add(alias);
    return alias;
  }

  #addScratch(bytes: number): number {
    return this.#buffers.push(ownBuffer(`partial ${this.#buffers.length}`, bytes)) - 1;
  }

  #partOf(buffer: number, at: number): Part {
    const { role } = this.#buffers[buffer]!;
    if (role === 'input' || (this.#writers.get(buffer)?.[0] ?? at) < at) return 'input';
    if (role !== 'output' && (this.#lastRead(buffer) ?? at) <= at) return 'inner';
    return this.#homeOf(buffer) === 'host' ? 'hosted' : 'kept';
  }

  #homeOf(buffer: number): PlanValue['home'] {
    const { role } = this.#buffers[buffer]!;
    if (role === 'output') return this.#job.place === 'device' ? 'devices' : 'host';
    if (this.#hosted.has(buffer)) return 'host';
    return this.#spills(buffer) ? 'host' : 'devices';
  }

  /** Whether a value waits in host memory between phases, for want of room on devices. */
  #spills(buffer: number): boolean {
    const { role, byteLength } = this.#buffers[buffer]!;
    return this.#job.spills && role === 'temporary' && byteLength >= LEAST_CUT_BYTES;
  }

  #planStage(at: number): Phase | NoFit | Uncut {
    const { kind, tasks } = this.#stages[at]!;
    const swept = tasks.map((task): SweptTask => ({ task: task as CutTask, isKept: this.#isKept(task, at) }));
    const tiles = kind === 'whole' ? undefined : this.#planTiles(swept, at);
    const planned =
      tiles?.works ?? (kind === 'whole' ? this.#planWhole(tasks, at) : this.#planSharded(swept, at));
    if (!Array.isArray(planned)) return planned;
    const made = new Map<number, Piece[]>();
    const waiting = planned.reduce((sum, { run }) => sum + run.plan.hostPeakBytes, 0);
    this.#hostPeak = Math.max(this.#hostPeak, waiting);
    for (const { device, run } of planned) {
      this.#peaks[device] = Math.max(this.#peaks[device]!, this.#heldOn(device) + run.plan.peakBytes);
      for (const [b, [first, last]] of run.kept) {
        if (last === first) continue;
        const list = made.get(b) ?? [];
        made.set(b, [...list, { device: this.#job.devices[device]!.name, first, last }]);
        const { blockBytes = (bytes) => bytes } = this.#job.model;
        this.#held[device]!.set(b, blockBytes(bytesOfPart([first, last])));
      }
    }
    for (const [b, pieces] of made) this.#pieces.set(b, pieces);
    const drops = this.#drops(at);
    for (const held of this.#held) for (const b of drops) held.delete(b);
    const runs = planned.map(({ device, run: { kept: _, ...run } }): DeviceRun => ({ device, ...run }));
    const own = tiles === undefined ? {} : { parts: tiles.parts };
    return kind === 'whole'
      ? { kind, reason: this.#reasonOf(tasks), runs, drops }
      : { kind, runs, drops, ...own };
  }

  /** Why one device does tasks: of several reasons the one that a user can do most about. */
  #reasonOf(tasks: readonly Task[]): WholeReason {
    const reasons = tasks.map((task): WholeReason => {
      if (task.step.kind === 'finish') return 'combine';
      const step = this.#stepOf.get(task)!;
      const isExcluded = [...task.reads, ...task.writes].some((b) => this.#uncut.has(b));
      return this.#isShareable[step] && !isExcluded && !this.#whole.has(step) ? 'short' : 'uncut';
    });
    return (['uncut', 'short'] as const).find((reason) => reasons.includes(reason)) ?? 'combine';
  }

  /** Values on devices or in host memory that are not needed after a stage. */
  #drops(at: number): number[] {
    return [...this.#writers].flatMap(([b, [made]]) => {
      if (this.#buffers[b]!.role !== 'temporary' || made! >= at) return [];
      return this.#lastRead(b) === at ? [b] : [];
    });
  }

  #lastRead(buffer: number): number | undefined {
    return this.#readers.get(buffer)?.at(-1);
  }

  #heldOn(device: number): number {
    return [...this.#held[device]!.values()].reduce((a, b) => a + b, 0);
  }

  #isKept(task: Task, at: number): boolean {
    return !task.repeats || task.writes.some((b) => ['kept', 'hosted'].includes(this.#partOf(b, at)));
  }

  #rulesFor(device: number, at: number): PhaseRules {
    const { name, budget } = this.#job.devices[device]!;
    return {
      device: name,
      room: budget - this.#heldOn(device),
      hostRoom: this.#job.hostBudget - waitingBytesOf(this.#values()),
      model: this.#job.model,
      sweeps: this.#job.sweeps,
      buffers: this.#buffers,
      partOf: (b) => this.#partOf(b, at),
      byteLengthOf: (b) => this.#buffers[b]!.byteLength,
      piecesOf: (b) => this.#pieces.get(b)!,
      isLarge: (b) => this.#isLarge(b) || this.#spills(b),
      pitches: this.#stages[at]!.pitches,
    };
  }

  #weights(): number[] {
    const total = this.#job.devices.reduce((sum, { weight }) => sum + weight, 0);
    return this.#job.devices.map(({ weight }) => weight / total);
  }

  /**
   * A stage whose tiles devices take as they become free, if it is one and they fit on the one with the least
   * room.
   */
  #planTiles(tasks: readonly SweptTask[], at: number): TileWork | undefined {
    const rules = this.#job.devices.map((_, device) => this.#rulesFor(device, at));
    const least = rules.reduce((a, b) => (b.room < a.room ? b : a));
    const left = leftByStream(
      tasks.map(({ task }) => task),
      {
        ...least,
        isOnHost: (b) => this.#homeOf(b) === 'host',
        isTemporary: (b) => this.#buffers[b]!.role === 'temporary',
      },
    );
    if (left === undefined || rules.length === 1) return undefined;
    for (const b of left) this.#hosted.add(b);
    const fitsOnHost = waitingBytesOf(this.#values()) <= this.#job.hostBudget;
    const runs = fitsOnHost
      ? planTiles(tasks, unitsOf(tasks), least, (tiles) => tileOrders(tiles, this.#weights()))
      : undefined;
    if (runs === undefined) for (const b of left) this.#hosted.delete(b);
    return runs && { parts: runs.parts, works: runs.runs.map((run, device) => ({ device, run })) };
  }

  #planSharded(tasks: readonly SweptTask[], at: number): DeviceWork[] | NoFit | Uncut {
    const shareRules: ShareRules = {
      devices: this.#job.devices.map(({ name }) => name),
      weights: this.#weights(),
      piecesOf: (b) => this.#pieces.get(b)!,
      byteLengthOf: (b) => this.#buffers[b]!.byteLength,
      pitches: this.#stages[at]!.pitches,
    };
    const { units, shares } = shard(tasks, shareRules);
    const works: DeviceWork[] = [];
    for (const share of shares) {
      const stretches: readonly Span[] = stretchesOf(tasks, share, units, shareRules);
      const run = planShare(tasks, stretches, units, this.#rulesFor(share.device, at));
      if (run === undefined) return this.#without(largestOf(tasks, (b) => this.#buffers[b]!.byteLength));
      if ('needed' in run) return { ...run, needed: run.needed + this.#heldOn(share.device) };
      works.push({ device: share.device, run });
    }
    return works;
  }

  #planWhole(tasks: readonly Task[], at: number): DeviceWork[] | NoFit {
    const names = this.#job.devices.map(({ name }) => name);
    const device = leadOf(tasks, names, (b) => this.#pieces.get(b)!);
    const run = planWholeTasks(tasks, this.#rulesFor(device, at));
    if ('needed' in run) return { ...run, needed: run.needed + this.#heldOn(device) };
    return [{ device, run }];
  }

  #values(): PlanValue[] {
    return this.#buffers.map(({ key, role, byteLength, source }, b) => ({
      label: key,
      role: role === 'input' || role === 'output' ? role : 'temporary',
      byteLength,
      source,
      home: this.#homeOf(b),
    }));
  }

  #finish(phases: readonly Phase[]): Plan {
    const byKey = new Map(this.#buffers.map(({ key, role }, b) => [role === 'output' ? key : '', b]));
    const values = this.#values();
    return {
      devices: this.#job.devices.map(({ name }) => name),
      values,
      phases,
      outputs: this.#stepList.outputKeys.map((key) => byKey.get(key) ?? -1),
      peakBytes: this.#peaks,
      hostPeakBytes: waitingBytesOf(values) + this.#hostPeak,
    };
  }
}

interface DeviceWork {
  readonly device: number;
  readonly run: PlannedRun;
}

interface TileWork {
  readonly works: DeviceWork[];
  readonly parts: number;
}
