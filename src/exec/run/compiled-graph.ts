/**
 * Trace: a function's graph for arguments of one signature, made once with placeholders and run with each
 * call's elements. What the graph reads beside them are arrays that the function captured. Called by
 * `compile.ts`, which matches signatures.
 *
 * A call whose program is known crosses to the native side once; the first one, and one for which the device
 * has no room, go the way of `evaluate.ts`.
 */

import { type Canonical, canonicalize } from '../../fusion/passes/canonicalize.js';
import { type IndexCheck, throwOutOfRange } from '../../fusion/passes/index-check.js';
import { checksBelow } from '../../fusion/passes/segment.js';
import type { SourceArray } from '../../fusion/passes/source-array.js';
import type { Expr } from '../../graph/expr.js';
import { config } from '../../host/config.js';
import { MemoryError } from '../../host/errors.js';
import { lostDevices, type RunOptions, run } from '../native/native.js';
import { isSomeStalled } from '../native/stalls.js';
import { turnToPlan } from '../native/turns.js';
import { executeAgain, executeSharded, type ShardedOptions } from '../shards/sharded-execution.js';
import { budgetsOf } from './budgets.js';
import type { ComputeOptions } from './compute-options.js';
import {
  checkHostResults,
  devicesOf,
  type Executed,
  hostResults,
  indexOf,
  located,
  placesOf,
  probed,
} from './evaluate.js';
import { type Input, inputOf, partOf, runWithInputs } from './inputs.js';
import { type ArgumentExpr, firstOf, memoryOf, refusePlaceholder } from './placeholder.js';
import { processLimitOf } from './process-limit.js';
import type { Program } from './program.js';
import { runWithin } from './run-within-budget.js';
import { Parts } from './segments.js';

/** Where results are wanted. */
export type TracePlace = 'host' | 'device';

/** What a source of the graph is: part of an argument, or (no position) an array that was captured. */
interface Feed {
  readonly position: number | undefined;
  readonly array: SourceArray;
}

type Arguments = readonly (ArgumentExpr | undefined)[];

export class Trace {
  /** What the function gave, of placeholders. */
  readonly exprs: readonly Expr[];
  readonly #canonical: Canonical;
  readonly #feeds: readonly Feed[];
  readonly #options: ComputeOptions;
  readonly #checks: readonly IndexCheck[];
  /** Computes the ends of the index arrays, where there are any. */
  readonly #ends: Trace | undefined;
  /** Runs the program that ran before with other arguments. */
  readonly #again: { [Place in TracePlace]?: (args: Arguments) => Promise<Executed> } = {};

  /** `placeholders`: by position of the arguments; those that are no arrays have none. */
  constructor(
    exprs: readonly Expr[],
    placeholders: readonly (ArgumentExpr | undefined)[],
    options: ComputeOptions,
  ) {
    this.exprs = exprs;
    this.#options = options;
    this.#canonical = canonicalize(exprs);
    this.#checks = checksBelow(this.#canonical);
    const ends = this.#checks.flatMap((check) => check.ends);
    this.#ends = ends.length === 0 ? undefined : new Trace(ends, placeholders, options);
    const positions = new Map<object, number>();
    placeholders.forEach((x, k) => {
      if (x !== undefined) positions.set(memoryOf(x.source), k);
    });
    this.#feeds = this.#canonical.sources.map((array) => {
      const { source } = array;
      const isMemory = source.type === 'host' || source.type === 'device';
      return { array, position: isMemory ? positions.get(memoryOf(source)) : undefined };
    });
  }

  /** Runs the graph; `args` are by position, like the placeholders. */
  async run(args: Arguments, place: TracePlace): Promise<Executed> {
    if (this.#ends !== undefined) await this.#checkIndices(this.#ends, args);
    // Devices that do not answer are left out, or refused.
    const again = isSomeStalled() ? undefined : this.#again[place];
    try {
      return await (again === undefined ? this.#runFirst(args, place) : again(args));
    } catch (error) {
      if (again === undefined || !(error instanceof MemoryError)) throw located(error, this.exprs);
    }
    // There may be room for it in tiles.
    try {
      return await this.#runFirst(args, place);
    } catch (error) {
      throw located(error, this.exprs);
    }
  }

  /** Throws for index arrays that are out of range. */
  async #checkIndices(ends: Trace, args: Arguments): Promise<void> {
    const executed = await ends.run(args, 'host').catch((error: unknown) => {
      throw located(error, this.exprs);
    });
    throwOutOfRange(this.#checks, hostResults(ends.exprs, executed).map(indexOf));
  }

  /** Finds or makes the program, and keeps the one that ran. */
  async #runFirst(args: Arguments, place: TracePlace): Promise<Executed> {
    if (place === 'host') checkHostResults(this.exprs);
    // Views are taken before anything is waited for.
    const arrays = this.#feeds.map((feed) => this.#inputOf(feed, args));
    if (this.#options.device !== 'cpu') await probed();
    const turn = turnToPlan(true);
    if (turn !== undefined) await turn;
    const chosen = devicesOf(this.#canonical, this.#options);
    if (chosen.isSharded) return this.#runSharded(chosen.names, arrays, place);
    const device = chosen.names[0]!;
    const parts = Parts.below(this.#canonical);
    const budgets = budgetsOf(this.#options, chosen.names);
    const target = { device, exact: this.#options.exact === true, ...budgets, place };
    const attempt = async (program: Program): Promise<Executed> => {
      const { plan, native } = program;
      const results = plan.buffers.filter((buffer) => buffer.role === 'output');
      // Later calls come after this one's work, so that nothing need wait for it.
      const options = { outputs: placesOf(results, device, place), whenQueued: place === 'device' };
      const inputs = plan.inputs.map((source) => arrays[source]!);
      const { outputs, checksums } = await runWithInputs(inputs, { plan, parts }, (here) =>
        run(native, here, options),
      );
      // Captured graphs in parts are computed at each call.
      if (parts === undefined) {
        const feeds = plan.inputs.map((source) => this.#feeds[source]!);
        // Within a limit of the process, calls wait for each other where there is no room for both.
        if (processLimitOf(device) === undefined)
          this.#again[place] = (others) => this.#runProgram(program, feeds, options, others);
      }
      return { program, outputs, checksums };
    };
    try {
      await parts?.compute(target, undefined, undefined);
      return await runWithin(this.#canonical, target, attempt);
    } finally {
      parts?.clear();
    }
  }

  /** On one device. */
  async #runProgram(
    program: Program,
    feeds: readonly Feed[],
    options: RunOptions,
    args: Arguments,
  ): Promise<Executed> {
    const inputs = feeds.map((feed) => this.#inputOf(feed, args));
    const { outputs, checksums } = await runWithInputs(inputs, { plan: program.plan }, (here) =>
      run(program.native, here, options),
    );
    return { program, outputs, checksums };
  }

  /** On several devices. */
  async #runSharded(
    devices: readonly string[],
    arrays: readonly Input[],
    place: TracePlace,
  ): Promise<Executed> {
    const { exact, onDeviceLost = 'fail', deadline = config().deadline } = this.#options;
    const target = { devices, exact: exact === true, ...budgetsOf(this.#options, devices), place };
    const options: ShardedOptions = { onDeviceLost, deadline };
    const executed = await executeSharded(this.#canonical, target, options, arrays);
    const { again } = executed;
    if (again !== undefined) {
      const isLost = (): boolean => lostDevices().some(({ device }) => devices.includes(device));
      this.#again[place] = (args) => {
        // Of all devices, those that are left.
        if (isLost()) return this.#runFirst(args, place);
        const others = this.#feeds.map((feed) => this.#inputOf(feed, args));
        return executeAgain(this.#canonical, again, options, others);
      };
    }
    return executed;
  }

  #inputOf({ position, array }: Feed, args: Arguments): Input {
    if (position === undefined) return inputOf(array, this.#canonical);
    const { source, shape } = args[position]!;
    refusePlaceholder(memoryOf(source));
    if (source.type === 'device') return source.buffer;
    return partOf(source.data, array, firstOf(source, shape) + array.start, this.#canonical);
  }
}
