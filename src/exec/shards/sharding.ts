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

import type { Slices } from '../../host/slices.js';
import { waitingBytesOf } from '../plan/phases.js';
import { bytesOfPart } from '../plan/place.js';
import type { DeviceRun, Phase, Plan, PlanValue } from '../plan/plan.js';
import { type Lifetimes, lifetimesOf } from '../plan/stages.js';
import type { UnplacedBuffer } from '../plan/step-list.js';
import type { CutTask, Task } from '../tiles/sweep-cuts.js';
import type { NoFit } from '../tiles/sweep-slots.js';
import type { Span, SweptTask } from '../tiles/sweep-windows.js';
import { leftByStream, tileOrders } from './dynamic-tiles.js';
import { exchangedBytes } from './exchanged-bytes.js';
import { withKeptInputs } from './kept-inputs.js';
import { type LoopStages, loopStagesOf, roundsOfStage, withLoops, withRounds } from './loop-phases.js';
import { type OpenStepList, statesOf } from './open-loops.js';
import { Rounds } from './rounds.js';
import type { Piece } from './shard-device.js';
import { ShardGroups, type Uncut } from './shard-groups.js';
import { type Job, weightsOf } from './shard-job.js';
import {
  type PhaseRole,
  type PhaseRules,
  type PlannedRun,
  planShare,
  planTiles,
  planWholeTasks,
} from './shard-phase.js';
import { evenSharding, leadOf, type ShareRules, shard, stretchesOf, unitsOf } from './shard-ranges.js';
import { givenPieces, largestOf, type Stage, stagesOf } from './shard-stages.js';

/**
 * Shards what can be sharded: more and more is left whole, until all steps can run. `undefined`: rounds of a loop
 * would not leave their states as they find them, or no device has shares of them.
 */
export function* shardSteps(stepList: OpenStepList, job: Job): Slices<Plan | NoFit | undefined> {
  const [uncut, whole] = [new Set<number>(), new Set<number>()];
  const states = statesOf(stepList);
  for (;;) {
    const found = yield* new Sharder(stepList, job, uncut, whole).planOnce();
    yield;
    if (found === undefined || !('uncut' in found)) return found;
    if (found.uncut.some((buffer) => states.has(buffer))) return undefined;
    for (const buffer of found.uncut) uncut.add(buffer);
    for (const step of found.whole) whole.add(step);
  }
}

/** One way to shard, planned. */
class Sharder {
  readonly #stepList: OpenStepList;
  readonly #job: Job;
  readonly #groups: ShardGroups;
  readonly #buffers: readonly UnplacedBuffer[];
  #stages: readonly Stage[] = [];
  #loops: readonly LoopStages[] = [];
  /** The stages that write a buffer, and those that read it. */
  #writers: Lifetimes = new Map();
  #readers: Lifetimes = new Map();
  /** Where buffers are on devices, as far as is planned. */
  readonly #pieces = new Map<number, readonly Piece[]>();
  /** Bytes that the compute holds on each device between phases, by buffer. */
  readonly #held: Map<number, number>[];
  readonly #peaks: number[];
  readonly #rounds: Rounds;
  /** Host memory that values of one phase wait in, at most. */
  #hostPeak = 0;

  constructor(stepList: OpenStepList, job: Job, uncut: ReadonlySet<number>, whole: ReadonlySet<number>) {
    this.#stepList = stepList;
    this.#job = job;
    this.#groups = new ShardGroups(stepList, job, uncut, whole);
    this.#buffers = this.#groups.buffers;
    this.#held = job.devices.map(() => new Map());
    this.#peaks = job.devices.map(() => 0);
    this.#rounds = new Rounds({
      pieces: this.#pieces,
      held: this.#held,
      byteLengthOf: (b) => this.#buffers[b]!.byteLength,
      isOnDevices: (b) => this.#groups.locationOf(b) === 'devices',
    });
  }

  /**
   * With inputs that stay on devices from phase to phase, where there is room for them and it takes no more
   * phases.
   */
  *planOnce(): Slices<Plan | NoFit | Uncut | undefined> {
    const uncut = yield* this.#makeStages();
    if (uncut !== undefined) return uncut;
    const stepList = withKeptInputs(this.#stepList, this.#stages, {
      inputOf: (b) => this.#hostInputOf(b),
      byteLengthOf: (b) => this.#buffers[b]!.byteLength,
      stepOf: (task) => this.#groups.stepOf(task),
    });
    if (stepList !== this.#stepList) {
      const kept = new Sharder(stepList, this.#job, this.#groups.uncut, new Set());
      const isLonger = (yield* kept.#makeStages()) !== undefined || kept.#stages.length > this.#stages.length;
      const found = isLonger ? undefined : yield* kept.#plan();
      if (found !== undefined && 'phases' in found) return found;
    }
    yield;
    return yield* this.#plan();
  }

  /** The number in the step list of a large input that lies on the host. */
  #hostInputOf(buffer: number): number | undefined {
    const { role } = this.#buffers[buffer]!;
    if (role !== 'input' || !this.#groups.isLarge(buffer) || !this.#groups.isOnHost(buffer)) return undefined;
    return this.#stepList.buffers.indexOf(this.#buffers[buffer]!);
  }

  *#makeStages(): Slices<Uncut | undefined> {
    const groups = yield* this.#groups.group();
    yield;
    if ('uncut' in groups) return groups;
    this.#stages = stagesOf(groups);
    this.#loops = loopStagesOf(this.#stages);
    return undefined;
  }

  /** Once more where states that loops keep on devices take room in rounds before the last one. */
  *#plan(): Slices<Plan | NoFit | Uncut | undefined> {
    const found = yield* this.#planStages();
    const isSettled = found === undefined || !('phases' in found) || this.#rounds.keptBytes.size === 0;
    return isSettled ? found : yield* this.#planStages();
  }

  *#planStages(): Slices<Plan | NoFit | Uncut | undefined> {
    const users = (way: 'reads' | 'writes'): Lifetimes =>
      lifetimesOf(this.#stages.map(({ tasks }) => ({ uses: tasks.flatMap((task) => task[way]) })));
    const { writers, readers } = withRounds(
      { writers: users('writes'), readers: users('reads') },
      this.#loops,
    );
    this.#writers = writers;
    this.#readers = readers;
    this.#peaks.fill(0);
    this.#hostPeak = 0;
    for (const held of this.#held) held.clear();
    for (const [b, buffer] of this.#buffers.entries())
      this.#pieces.set(b, givenPieces(buffer, this.#job.sources));
    const phases: Phase[] = [];
    for (const [at, stage] of this.#stages.entries()) {
      this.#rounds.begin(this.#loops, at);
      const phase = yield* this.#planStage(at);
      yield;
      if (!('runs' in phase)) return phase;
      const loop = roundsOfStage(stage);
      phases.push(loop === undefined ? phase : { ...phase, loop });
      if (!this.#rounds.end(this.#loops, at, phases)) return undefined;
    }
    return this.#finish(phases);
  }

  #phaseRoleOf(buffer: number, at: number): PhaseRole {
    const { role } = this.#buffers[buffer]!;
    if (role === 'input' || (this.#writers.get(buffer)?.[0] ?? at) < at) return 'input';
    if (role !== 'output' && (this.#lastRead(buffer) ?? at) <= at) return 'inner';
    return this.#groups.locationOf(buffer) === 'host' ? 'hosted' : 'kept';
  }

  *#planStage(at: number): Slices<Phase | NoFit | Uncut> {
    const { kind, tasks } = this.#stages[at]!;
    const swept = tasks.map((task): SweptTask => ({ task: task as CutTask, isKept: this.#isKept(task, at) }));
    const tiles = kind === 'whole' ? undefined : this.#planTiles(swept, at);
    const planned =
      tiles?.works ?? (kind === 'whole' ? yield* this.#planWhole(tasks, at) : this.#planSharded(swept, at));
    yield;
    if (!Array.isArray(planned)) return planned;
    const exchanged = planned.reduce(
      (sum, { device, run }) =>
        sum + exchangedBytes(run, this.#job.devices[device]!.name, (b) => this.#pieces.get(b)!),
      0,
    );
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
    const phase = { kind, runs, drops, exchangedBytes: exchanged };
    return kind === 'whole' ? { ...phase, reason: this.#groups.reasonOf(tasks) } : { ...phase, ...own };
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
    return !task.repeats || task.writes.some((b) => ['kept', 'hosted'].includes(this.#phaseRoleOf(b, at)));
  }

  #rulesFor(device: number, at: number): PhaseRules {
    const { name, budget } = this.#job.devices[device]!;
    return {
      device: name,
      room: budget - this.#heldOn(device),
      hostRoom: this.#job.hostBudget - waitingBytesOf(this.#values()),
      model: this.#job.model,
      sweeps: this.#job.sweeps,
      planners: this.#job.planners,
      buffers: this.#buffers,
      phaseRoleOf: (b) => this.#phaseRoleOf(b, at),
      byteLengthOf: (b) => this.#buffers[b]!.byteLength,
      piecesOf: (b) => this.#pieces.get(b)!,
      isLarge: (b) => this.#groups.isLarge(b) || this.#groups.spills(b),
      pitches: this.#stages[at]!.pitches,
    };
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
        isOnHost: (b) => this.#groups.locationOf(b) === 'host',
        isTemporary: (b) => this.#buffers[b]!.role === 'temporary',
      },
    );
    if (left === undefined || rules.length === 1) return undefined;
    for (const b of left) this.#groups.hosted.add(b);
    const fitsOnHost = waitingBytesOf(this.#values()) <= this.#job.hostBudget;
    const runs = fitsOnHost
      ? planTiles(tasks, unitsOf(tasks), least, (tiles) => tileOrders(tiles, weightsOf(this.#job.devices)))
      : undefined;
    if (runs === undefined) for (const b of left) this.#groups.hosted.delete(b);
    return runs && { parts: runs.parts, works: runs.runs.map((run, device) => ({ device, run })) };
  }

  #planSharded(tasks: readonly SweptTask[], at: number): DeviceWork[] | NoFit | Uncut {
    const shareRules: ShareRules = {
      devices: this.#job.devices.map(({ name }) => name),
      weights: weightsOf(this.#job.devices),
      piecesOf: (b) => this.#pieces.get(b)!,
      byteLengthOf: (b) => this.#buffers[b]!.byteLength,
      pitches: this.#stages[at]!.pitches,
    };
    // Shares of a loop's rounds are the same in each, wherever states and inputs lay before.
    const isRound = this.#stages[at]!.part !== undefined;
    const { units, shares } = isRound ? evenSharding(tasks, shareRules) : shard(tasks, shareRules);
    const works: DeviceWork[] = [];
    for (const share of shares) {
      const stretches: readonly Span[] = stretchesOf(tasks, share, units, shareRules);
      const run = planShare(tasks, stretches, units, this.#rulesFor(share.device, at));
      if (run === undefined)
        return this.#groups.without(largestOf(tasks, (b) => this.#buffers[b]!.byteLength));
      if ('needed' in run) return { ...run, needed: run.needed + this.#heldOn(share.device) };
      works.push({ device: share.device, run });
    }
    return works;
  }

  *#planWhole(tasks: readonly Task[], at: number): Slices<DeviceWork[] | NoFit> {
    const names = this.#job.devices.map(({ name }) => name);
    const device = leadOf(tasks, names, (b) => this.#pieces.get(b)!);
    yield;
    const run = yield* planWholeTasks(tasks, this.#rulesFor(device, at));
    if ('needed' in run) return { ...run, needed: run.needed + this.#heldOn(device) };
    return [{ device, run }];
  }

  #values(): PlanValue[] {
    return this.#buffers.map(({ key, role, byteLength, source }, b) => ({
      label: key,
      role: role === 'input' || role === 'output' ? role : 'temporary',
      byteLength,
      source,
      location: this.#groups.isHandedOn(b) ? 'devices' : this.#groups.locationOf(b),
    }));
  }

  #finish(phases: readonly Phase[]): Plan {
    const byKey = new Map(this.#buffers.map(({ key, role }, b) => [role === 'output' ? key : '', b]));
    const values = this.#values();
    return {
      devices: this.#job.devices.map(({ name }) => name),
      values,
      ...withLoops(phases, this.#loops),
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
