/**
 * TracedGraph: a function's graph for arguments of one signature, made once with placeholders and run with each
 * call's elements. Its other sources are arrays that the function captured. Called by
 * `compile.ts`, which matches signatures.
 *
 * A call whose program is known runs it at once (`run-program.ts`); the first one, and one for which devices
 * have no room, find it (`execution.ts`).
 */

import { type Canonical, canonicalize } from '../../fusion/passes/canonicalize.js';
import { computedFor, type IndexCheck } from '../../fusion/passes/index-check.js';
import { hasContractions } from '../../fusion/passes/merge-contractions.js';
import { checksBelow } from '../../fusion/passes/segment.js';
import type { SourceArray } from '../../fusion/passes/source-array.js';
import type { Expr, Source } from '../../graph/expr.js';
import { whenThere } from '../../host/at-once.js';
import { MemoryError } from '../../host/errors.js';
import { lostDevices, type RunInput } from '../native/native.js';
import { isSomeStalled } from '../native/stalls.js';
import { turnToHandOver, turnToPlan } from '../native/turns.js';
import { type ChosenDevices, probeFor } from '../targets/devices.js';
import { isCheckedIn, mayBeOfIndices } from './checks-in-run.js';
import type { ComputeOptions } from './compute-options.js';
import { computeTargetOf, devicesOf } from './compute-target.js';
import { ifThereIsRoom, isForCuts, isOneGpu } from './cut-on-gpu.js';
import {
  checkHostResults,
  type HostResult,
  hostResults,
  indexOf,
  located,
  numbersOf,
  readCodes,
} from './evaluate.js';
import { type ExecutionSettings, isRepeatable, settingsOf } from './execution.js';
import { type Given, type Input, inputOf, isHere, partOf, valuesOf } from './inputs.js';
import { arrayOfCheck, type CheckedArray, lookThrough } from './known-ends.js';
import type { FoundNumbers } from './known-starts.js';
import { LongCalls } from './long-calls.js';
import { type ArgumentExpr, memoryOf, refusePlaceholder } from './placeholder.js';
import { refusalOfJob } from './plan-job.js';
import type { Program } from './program.js';
import { executeInRows } from './row-stretches.js';
import { numbersFor, type RunNumbers } from './run-numbers.js';
import { type Executed, runProgram, runProgramNow } from './run-program.js';
import { Segments } from './segments.js';
import { SmallCalls } from './small-calls.js';
import { checkStatuses, throwFailedIn } from './statuses.js';
import { type Subject, subjectOf, watched, watcher } from './watch.js';

/** Where results are wanted. */
export type TracedDestination = 'host' | 'device';

/** A source of the graph: part of an argument, or (no position) an array that was captured. */
interface Feed {
  readonly position: number | undefined;
  readonly array: SourceArray;
  /** Of an argument on the host: how far behind its offset the part begins; before it where strides are negative. */
  readonly behind: number;
  /** Values of the part. */
  readonly values: number;
}

/** Those that are no arrays are not looked at. */
type Arguments = readonly unknown[];

export class TracedGraph {
  /** The function's results over placeholders. */
  readonly exprs: readonly Expr[];
  readonly #canonical: Canonical;
  readonly #numbers: RunNumbers;
  readonly #feeds: readonly Feed[];
  readonly #options: ComputeOptions;
  readonly #toHost: number;
  /** Whether results with lengths are cut on a GPU before they come to the host. */
  #isCutOnGpu: boolean;
  readonly #placeholders: readonly (ArgumentExpr | undefined)[];
  readonly #checks: readonly IndexCheck[];
  /** The indices of each check, and the positions of the arguments that they are of; undefined: no argument. */
  readonly #checked: readonly (CheckedArray & { readonly positions: readonly (number | undefined)[] })[];
  /** Computes the ends of the index arrays, where there are any. */
  readonly #ends: TracedGraph | undefined;
  /** The program that was last asked whether its runs look through all index arrays, and whether they do. */
  #checkedBy: Program | undefined;
  #isAllChecked = false;
  /** Computes starts of rows, where the graph was planned for them. */
  readonly #lines = new Map<Expr, TracedGraph>();
  /** Of a program that ran before with results on the host, and whose runs may be small. */
  #small: SmallCalls | undefined;
  /** Of the same program, where its runs are not small. */
  #long: LongCalls | undefined;
  /** The program that ran before, to be run with other arguments. */
  readonly #known: { [D in TracedDestination]?: Program } = {};
  readonly #settings: Readonly<Record<TracedDestination, ExecutionSettings>>;
  readonly #subject: Subject;

  /**
   * `placeholders`: by position of the arguments; those that are no arrays have none. `toHost`: how many of the last
   * results come to the host, wherever the others are wanted.
   */
  constructor(
    exprs: readonly Expr[],
    placeholders: readonly (ArgumentExpr | undefined)[],
    options: ComputeOptions,
    toHost = 0,
  ) {
    this.exprs = exprs;
    this.#toHost = toHost;
    this.#isCutOnGpu = isForCuts(exprs, toHost);
    this.#options = options;
    this.#placeholders = placeholders;
    const quiet = { ...options, signal: undefined, onProgress: undefined };
    this.#settings = {
      host: settingsOf(quiet, 'host', false, undefined, undefined),
      // Later calls come after this one's work, so that nothing need wait for it.
      device: settingsOf(quiet, 'device', true, undefined, undefined),
    };
    this.#subject = subjectOf(exprs, true);
    this.#canonical = canonicalize(exprs);
    this.#numbers = numbersFor(this.#canonical);
    this.#checks = checksBelow(this.#canonical);
    const ends = this.#checks.flatMap(computedFor);
    this.#ends = ends.length === 0 ? undefined : new TracedGraph(ends, placeholders, options);
    const positions = new Map<object, number>();
    placeholders.forEach((x, k) => {
      if (x !== undefined) positions.set(memoryOf(x.source), k);
    });
    const positionOf = (source: Source | undefined): number | undefined =>
      source?.type === 'host' || source?.type === 'device' ? positions.get(memoryOf(source)) : undefined;
    this.#feeds = this.#canonical.sources.map((array) => {
      const position = positionOf(array.source);
      const source = position === undefined ? undefined : placeholders[position]!.source;
      const before = source?.type === 'host' ? source.offset : 0;
      return { array, position, behind: array.start - before, values: valuesOf(array) };
    });
    this.#checked = this.#checks.map((check) => {
      const array = arrayOfCheck(check);
      return { ...array, positions: array.sources.map(positionOf) };
    });
  }

  /** Runs the graph; `args` are by position, like the placeholders; `found`: numbers that are known of them. */
  run(args: Arguments, destination: TracedDestination, found: FoundNumbers = new Map()): Promise<Executed> {
    const watch = watcher()?.compute(this.#subject, undefined);
    const settings = this.#settings[destination];
    if (watch === undefined) return this.#run(args, destination, settings, found);
    return watched(watch, this.#run(args, destination, { ...settings, watch }, found));
  }

  /**
   * Runs the graph for results on the host that are cut to their lengths, and may be a small part of their bounds, where
   * they are: on a GPU that has room for them. Undefined: they come to the host up to their bounds.
   */
  async runToCut(args: Arguments): Promise<Executed | undefined> {
    if (!this.#isCutOnGpu) return undefined;
    const devices = await this.#devices().catch(async (error: unknown) => {
      throw await this.#refused(error, 'device');
    });
    if (!isOneGpu(devices)) return undefined;
    const executed = await ifThereIsRoom(() => this.run(args, 'device'));
    // A plan that was refused is not tried again.
    if (executed === undefined) this.#isCutOnGpu = this.#known.device !== undefined;
    return executed;
  }

  /** As `run`, for calls that come again and again: results that are there at once are given as they are. */
  runNow(args: Arguments, destination: TracedDestination): Executed | Promise<Executed> {
    const program = this.#knownNow(destination);
    return program === undefined ? this.run(args, destination) : this.#runKnown(program, args, destination);
  }

  /** The results on the host, in the same way. */
  resultsNow(args: Arguments): HostResult[] | Promise<HostResult[]> {
    const program = this.#knownNow('host');
    if (program === undefined) return this.#results(this.run(args, 'host'));
    try {
      const there = this.#smallResults(program, args) ?? this.#longResults(program, args);
      if (there !== undefined) return there;
    } catch (error) {
      return this.#results(this.#afterThrown(error, args, 'host'));
    }
    const running = this.#runKnown(program, args, 'host');
    return running instanceof Promise ? this.#results(running) : hostResults(this.exprs, running);
  }

  /** The program that ran before, of calls that need no look at indices and report to nobody. */
  #knownNow(destination: TracedDestination): Program | undefined {
    return this.#ends === undefined && watcher() === undefined ? this.#knownFor(destination) : undefined;
  }

  #runKnown(program: Program, args: Arguments, destination: TracedDestination): Executed | Promise<Executed> {
    const settings = this.#settings[destination];
    try {
      const running = this.#looked(runProgramNow(program, this.#givenBy(args), settings), destination);
      if (!(running instanceof Promise)) return running;
      return running.catch((error: unknown) =>
        this.#afterFailure(error, args, destination, settings, new Map()),
      );
    } catch (error) {
      return this.#afterThrown(error, args, destination);
    }
  }

  /** As `#afterFailure`, of a run that failed at once, which counts as a result: a caller who goes on lets the event loop turn. */
  #afterThrown(error: unknown, args: Arguments, destination: TracedDestination): Promise<Executed> {
    const turn = turnToHandOver();
    const goOn = (): Promise<Executed> =>
      this.#afterFailure(error, args, destination, this.#settings[destination], new Map());
    return turn === undefined ? goOn() : turn.then(goOn);
  }

  #results(running: Promise<Executed>): Promise<HostResult[]> {
    return running.then((executed) => hostResults(this.exprs, executed));
  }

  /** The results of a small run of the CPU, computed in this call. Undefined: nothing was. */
  #smallResults(program: Program, args: Arguments): HostResult[] | undefined {
    const small = this.#small;
    if (small?.program !== program) return undefined;
    const inputs = this.#inputsNow(small.sources, args);
    const outputs = inputs && small.run(inputs, this.#numbers);
    if (outputs === undefined) {
      // Runs that are not small do without being asked whether they are.
      if (!small.mayBeSmall) this.#small = undefined;
      return undefined;
    }
    if (small.hasCodes) throwFailedIn(this.#canonical, { program, outputs });
    return small.resultsIn(outputs);
  }

  /** The results of a run on threads of the CPU. Undefined: nothing runs. */
  #longResults(program: Program, args: Arguments): HostResult[] | Promise<HostResult[]> | undefined {
    const long = this.#long;
    const inputs = long?.program === program ? this.#inputsNow(long.sources, args) : undefined;
    return (
      inputs &&
      long!.run(inputs, this.#numbers, (error) =>
        this.#results(this.#afterFailure(error, args, 'host', this.#settings.host, new Map())),
      )
    );
  }

  async #run(
    args: Arguments,
    destination: TracedDestination,
    settings: ExecutionSettings,
    found: FoundNumbers,
  ): Promise<Executed> {
    const program = this.#knownFor(destination);
    // Results on the host are in memory of their own, so that a run may find wrong indices itself.
    const isChecked = destination === 'host' && program !== undefined && this.#isChecked(program);
    if (this.#ends !== undefined && !isChecked) await this.#checkIndices(this.#ends, args, destination);
    try {
      return await this.#looked(
        program === undefined
          ? this.#runFirst(args, destination, settings, found)
          : runProgram(program, this.#givenBy(args), settings),
        destination,
      );
    } catch (error) {
      if (this.#ends !== undefined && isChecked && mayBeOfIndices(error))
        await this.#checkIndices(this.#ends, args, destination);
      if (program === undefined) throw await this.#refused(error, destination);
      return this.#afterFailure(error, args, destination, settings, found);
    }
  }

  /** Throws the error of a run whose program was known; where that had no memory, there may be room for it in tiles. */
  async #afterFailure(
    error: unknown,
    args: Arguments,
    destination: TracedDestination,
    settings: ExecutionSettings,
    found: FoundNumbers,
  ): Promise<Executed> {
    if (!(error instanceof MemoryError)) throw await this.#refused(error, destination);
    try {
      return await this.#looked(this.#runFirst(args, destination, settings, found), destination);
    } catch (again) {
      throw await this.#refused(again, destination);
    }
  }

  /** Throws where a call of the graph failed. */
  #looked(
    running: Executed | Promise<Executed>,
    destination: TracedDestination,
  ): Executed | Promise<Executed> {
    const canonical = this.#canonical;
    if (canonical.statuses.length === 0) return running;
    return whenThere(running, (executed) =>
      whenThere(checkStatuses(canonical, executed, destination, readCodes), () => executed),
    );
  }

  /** An error of the job, with the user's line; a refusal says what is enough for all of its graphs. */
  async #refused(error: unknown, destination: TracedDestination): Promise<unknown> {
    return located(await refusalOfJob(error, this.#canonical, this.#options, destination), this.exprs);
  }

  /** The program that ran before, unless devices that do not answer or were lost are to be left out. */
  #knownFor(destination: TracedDestination): Program | undefined {
    const program = this.#known[destination];
    if (program === undefined || isSomeStalled()) return undefined;
    if (program.one !== undefined) return program;
    const { devices } = program.plan;
    return lostDevices().some(({ device }) => devices.includes(device)) ? undefined : program;
  }

  /** Whether a run of a program looks through all index arrays. */
  #isChecked(program: Program): boolean {
    if (this.#checkedBy !== program) {
      this.#checkedBy = program;
      this.#isAllChecked = this.#checks.every((check) => isCheckedIn(program, this.#canonical, check));
    }
    return this.#isAllChecked;
  }

  /** Throws for index arrays that are out of range. */
  async #checkIndices(ends: TracedGraph, args: Arguments, destination: TracedDestination): Promise<void> {
    const arrays = this.#checked.map(({ positions, sources, text }) => ({
      sources: sources.map(
        (source, k) => (args[positions[k] ?? -1] as ArgumentExpr | undefined)?.source ?? source,
      ),
      text,
    }));
    await lookThrough(this.#checks, arrays, async () => {
      const executed = await ends.run(args, 'host').catch(async (error: unknown) => {
        throw await this.#refused(error, destination);
      });
      return hostResults(ends.exprs, executed).map(indexOf);
    });
  }

  /** Finds or makes the program, and keeps the one that ran. */
  async #runFirst(
    args: Arguments,
    destination: TracedDestination,
    settings: ExecutionSettings,
    found: FoundNumbers,
  ): Promise<Executed> {
    if (destination === 'host') checkHostResults(this.exprs);
    const canonical = this.#canonical;
    // Views are taken before anything is waited for.
    const arrays = this.#feeds.map((feed) => this.#inputOf(feed, args));
    const segments = Segments.below(canonical);
    const devices = await this.#devices();
    const turn = turnToPlan(true);
    if (turn !== undefined) await turn;
    const toHost = destination === 'device' ? this.#toHost : 0;
    const chosen = computeTargetOf(devices, this.#options, destination);
    const target = { ...chosen, toHost };
    const job = { canonical, inputOf: (source: number) => arrays[source]!, segments };
    const {
      job: planned,
      executed,
      isOfAll,
    } = await executeInRows(job, target, settings, {
      compute: (lines) => this.#numbersOf(lines, args, found),
      found,
    });
    // Captured graphs in segments are computed at each call; a plan for starts of rows is that of one matrix.
    if (isOfAll && isRepeatable(planned, target, settings, executed)) {
      this.#known[destination] = executed.program;
      if (destination === 'host') {
        this.#small = SmallCalls.of(executed.program, this.exprs, this.#canonical);
        this.#long = LongCalls.of(executed.program, this.exprs, this.#canonical);
      }
    }
    return executed;
  }

  async #devices(): Promise<ChosenDevices> {
    const probing = probeFor(this.#options.device, hasContractions(this.#canonical.graph));
    if (probing !== undefined) await probing;
    return devicesOf(this.#canonical, this.#options);
  }

  /** The numbers of lines of the graph: those that begin with the same one are always the same ones. */
  async #numbersOf(lines: readonly Expr[], args: Arguments, found: FoundNumbers): Promise<number[][]> {
    const [first] = lines as [Expr];
    const known = this.#lines.get(first) ?? new TracedGraph(lines, this.#placeholders, this.#options);
    this.#lines.set(first, known);
    const executed = await known.run(args, 'host', found);
    return hostResults(lines, executed).map(numbersOf);
  }

  /** The inputs of a run that reads them in this call; undefined: some are not in memory. */
  #inputsNow(sources: readonly number[], args: Arguments): RunInput[] | undefined {
    const inputs = new Array<RunInput>(sources.length);
    for (let k = 0; k < inputs.length; k++) {
      const feed = this.#feeds[sources[k]!]!;
      const input = this.#wholeOf(feed, args) ?? this.#inputOf(feed, args);
      if (!isHere(input)) return undefined;
      inputs[k] = input;
    }
    return inputs;
  }

  /** The array of an argument that is read as a whole, which then is no placeholder: those have no elements. */
  #wholeOf({ position, behind, values }: Feed, args: Arguments): RunInput | undefined {
    if (position === undefined || values === 0) return undefined;
    const { source } = args[position] as ArgumentExpr;
    if (source.type !== 'host' || source.offset + behind !== 0) return undefined;
    return source.data.length === values ? source.data : undefined;
  }

  #givenBy(args: Arguments): Given {
    return { inputOf: (source) => this.#inputOf(this.#feeds[source]!, args), numbers: this.#numbers };
  }

  #inputOf({ position, array, behind }: Feed, args: Arguments): Input {
    if (position === undefined) return inputOf(array, this.#canonical);
    const { source } = args[position] as ArgumentExpr;
    refusePlaceholder(memoryOf(source));
    if (source.type === 'device') return source.buffer;
    return partOf(source.data, array, source.offset + behind, this.#canonical);
  }
}
