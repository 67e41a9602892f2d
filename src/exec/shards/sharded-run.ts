/**
 * Runs a sharded plan: phase after phase, in each of which every device runs its program. Values that one
 * phase made lies in pieces on the devices, or in host memory that all of them write to, until the next one
 * reads it. Phases are queued ahead of the devices where they can be. Called by `run-program.ts`.
 */

import {
  cancel,
  createCancel,
  createTileQueue,
  type FileOutput,
  type OutputDestination,
  type RunInput,
  type RunResult,
  run,
  tilesDone,
} from '../native/native.js';
import { type StallWatch, type Watching, watchStalls } from '../native/stalls.js';
import type { PhaseLoop } from '../plan/plan.js';
import type { RunArguments } from '../run/inputs.js';
import type { Program } from '../run/program.js';
import type { RunNumbers } from '../run/run-numbers.js';
import { synchronize } from '../run/synchronize.js';
import { allOf, errorsOf, nameDevice, worstOf } from './failures.js';
import { Holdings, type ShardedResult } from './holdings.js';

/** A run of phases, which has begun. */
export class ShardedRun {
  /** Rejects with the first failure, once all runs have ended. */
  readonly result: Promise<ShardedResult>;
  readonly #program: Program;
  readonly #numbers: RunNumbers;
  readonly #holdings: Holdings;
  /** By which runs under way count their tiles; those of the others are added up. */
  readonly #tokens = new Set<object>();
  #tilesBefore = 0;
  /** Phases that have begun: those of loops again and again. */
  #begun = 0;
  #isStopped = false;
  readonly #watch: StallWatch;
  /**
   * Of runs that gave their results before they had ended, the ends, and what others read of other devices'
   * memory.
   */
  #ends: Promise<unknown>[] = [];
  readonly #lent = new Set<number>();

  /** `deadline`: milliseconds for a tile of a device. */
  constructor(
    program: Program,
    { inputs, numbers }: RunArguments,
    deadline: number,
    filesOf: ((buffer: number) => readonly FileOutput[]) | undefined,
  ) {
    this.#program = program;
    this.#numbers = numbers;
    this.#holdings = new Holdings(program, inputs, filesOf);
    this.#watch = watchStalls(deadline);
    this.result = this.#run();
  }

  tilesDone(): number {
    return [...this.#tokens].reduce<number>((sum, token) => sum + tilesDone(token), this.#tilesBefore);
  }

  /** Cancels what is under way and begins nothing more. */
  stop(): void {
    this.#isStopped = true;
    for (const token of this.#tokens) cancel(token);
  }

  async #run(): Promise<ShardedResult> {
    try {
      await this.#phases();
      return await this.#holdings.results();
    } catch (error) {
      this.#holdings.dispose();
      throw error;
    }
  }

  /**
   * Begins each phase once the one before is queued on its devices, and ends when all have ended: a run waits
   * by itself for what it reads of another device's.
   */
  async #phases(): Promise<void> {
    const stop = (): void => this.stop();
    const { phases, loops = [] } = this.#program.plan;
    try {
      let at = 0;
      for (const loop of loops) {
        await this.#stretch(at, loop.first, stop);
        await this.#rounds(loop, stop);
        at = loop.first + loop.lead + loop.steady + loop.keep;
      }
      await this.#stretch(at, phases.length, stop);
    } catch (error) {
      stop();
      const failures = await Promise.allSettled(this.#ends);
      throw worstOf([error, ...errorsOf(failures)]);
    } finally {
      this.#watch.end();
    }
  }

  /** Phases one after the other. */
  async #stretch(first: number, end: number, stop: () => void): Promise<void> {
    const { phases } = this.#program.plan;
    for (let at = first; at < end; at++) {
      if (this.#isStopped) throw new DOMException('This operation was aborted', 'AbortError');
      await this.#phase(at, stop);
      const { drops } = phases[at]!;
      // A device has room for the next phase when others have read what it is to drop.
      if (at === phases.length - 1 || drops.some((b) => this.#lent.has(b))) await this.#allEnded(stop);
      for (const b of drops) this.#holdings.drop(b);
    }
  }

  /** The rounds of a loop, for as long as its condition holds. */
  async #rounds(loop: PhaseLoop, stop: () => void): Promise<void> {
    const { first, lead, steady, keep, every, rounds, condition, states } = loop;
    const [later, end] = [first + lead, first + lead + steady];
    for (let done = 0; done < rounds; done++) {
      const state = states[condition];
      if (state !== undefined && !this.#holdings.isTrue(done === 0 ? state.initial : state.current)) {
        const leads = this.#program.plan.phases.slice(first, later);
        if (done === 0)
          this.#holdings.skip(
            loop,
            leads.flatMap(({ drops }) => drops),
          );
        return;
      }
      await (done === 0 ? this.#stretch(first, later, stop) : this.#stretch(later, end, stop));
      if (states.some(({ current }) => this.#lent.has(current))) await this.#allEnded(stop);
      this.#holdings.rotate(loop, done === 0);
      if (keep === 0 || (done + 1) % every !== 0) continue;
      const frames = (done + 1) / every - 1;
      this.#holdings.placeFrames(loop, frames);
      await this.#stretch(end, end + keep, stop);
      this.#holdings.keepFrames(loop, frames);
    }
    if (loop.drops.some((b) => this.#lent.has(b))) await this.#allEnded(stop);
    for (const b of loop.drops) this.#holdings.drop(b);
  }

  async #allEnded(stop: () => void): Promise<void> {
    const ends = this.#ends;
    this.#ends = [];
    this.#lent.clear();
    await allOf(ends, stop);
  }

  async #phase(at: number, stop: () => void): Promise<void> {
    const phase = this.#program.plan.phases[at]!;
    this.#begun++;
    const destinations = phase.runs.map((deviceRun) => this.#holdings.destinationsOf(deviceRun, phase, at));
    const tokens = phase.runs.map(() => createCancel());
    for (const token of tokens) this.#tokens.add(token);
    const tileQueue = phase.parts === undefined ? undefined : createTileQueue(phase.parts);
    // Every device begins before anything else is done for one of them.
    const begun = phase.runs.map((_, k) => this.#begin(at, k, destinations[k]!, tokens[k]!, tileQueue));
    const runs = begun.map((results, k) => this.#watched(at, k, results, tokens[k]!));
    this.#ends.push(...runs.map(({ end }) => end));
    const results = await allOf(
      runs.map((run) => run.results),
      stop,
      freeOutputs,
    );
    for (const [k, result] of results.entries())
      this.#holdings.take(phase.runs[k]!, destinations[k]!, result);
  }

  /** A device's run of a phase. Phases before the last one are queued ahead. */
  #begin(
    at: number,
    k: number,
    outputs: readonly OutputDestination[],
    token: object,
    tileQueue: object | undefined,
  ): Promise<RunResult> {
    const { plan, natives } = this.#program;
    const { inputs } = plan.phases[at]!.runs[k]!;
    const device = this.#deviceOf(at, k);
    const ahead = at < plan.phases.length - 1;
    const lent = inputs.map((b) => this.#lend(b, device));
    const options = { outputs, cancel: token, ahead, tileQueue, numbers: this.#numbers };
    return run(natives[at]![k]!, lent, options);
  }

  #deviceOf(at: number, k: number): string {
    const { phases, devices } = this.#program.plan;
    return devices[phases[at]!.runs[k]!.device]!;
  }

  /** A run that has begun, with errors that name its device, and given up where that does not get on. */
  #watched(at: number, k: number, begun: Promise<RunResult>, token: object): Watching<RunResult> {
    const device = this.#deviceOf(at, k);
    const fail = (error: unknown): never => {
      throw nameDevice(error, device);
    };
    const results = begun.catch(fail);
    const end = results.then(({ isAhead }) => (isAhead ? synchronize(device).catch(fail) : undefined));
    const watched = { device, progress: () => tilesDone(token), phase: this.#begun };
    const guarded = this.#watch.guard(watched, { results, end });
    const ended = (): void => {
      if (this.#tokens.delete(token)) this.#tilesBefore += tilesDone(token);
    };
    guarded.end.then(ended, ended); // ends are asked for once results are there
    return guarded;
  }

  /** An input for a run on a device. */
  #lend(buffer: number, device: string): RunInput {
    if (this.#holdings.isElsewhere(buffer, device)) this.#lent.add(buffer);
    return this.#holdings.inputOf(buffer);
  }
}

/** Values left on other devices have no owner. */
function freeOutputs({ outputs }: RunResult): void {
  for (const output of outputs) if ('dispose' in output) output.dispose();
}
