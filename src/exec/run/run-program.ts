/**
 * Runs a program once, with reports of progress and a signal that stops it. A plan of one run is begun
 * here at once; phases go the way of `sharded-run.ts`, which begins each of their runs like that. Called
 * by `execution.ts`, `compiled-graph.ts` and `segments.ts`.
 */

import { whenThere } from '../../host/at-once.js';
import {
  cancel,
  createCancel,
  type FileOutput,
  type OutputDestination,
  type RunInput,
  type RunOptions,
  type RunResult,
  run,
  runNow,
  runSmall,
  smallResults,
  tilesDone,
} from '../native/native.js';
import { distinctRunsOf } from '../plan/phases.js';
import type { Step } from '../plan/plan.js';
import type { Destination } from '../plan/plan-graph.js';
import { ShardedRun } from '../shards/sharded-run.js';
import {
  type Given,
  type InputOf,
  isHere,
  type RunArguments,
  runWithInputs,
  type SegmentValues,
} from './inputs.js';
import type { OneRun, Program } from './program.js';
import { isCounted, type OnProgress, ProgressScale, watchProgress } from './progress.js';
import type { RunNumbers } from './run-numbers.js';
import { synchronize } from './synchronize.js';
import type { ComputeWatch } from './watch.js';

/** The files of an output, of which `outputs` says which of the graph's it is. */
export type FilesOf = (outputs: readonly number[], output: number) => readonly FileOutput[];

/** Every field is present, so that the engine sees objects of one shape on the path of short runs. */
export interface RunSettings {
  readonly destination: Destination;
  /** Whether results that stay on one device are wanted once their work is queued. */
  readonly whenQueued: boolean;
  /** Where results go, if they go to files. */
  readonly filesOf: FilesOf | undefined;
  /** Milliseconds that one of several devices may take for a tile. */
  readonly deadline: number;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: OnProgress | undefined;
  readonly watch: ComputeWatch | undefined;
  /** Values of the segments below the graph that were computed before it. */
  readonly segments: SegmentValues | undefined;
}

/** The results of a program, of which `program.outputs` says which of the graph's each one is. */
export interface Executed extends Pick<RunResult, 'outputs' | 'checksums'> {
  readonly program: Program;
}

/** Runs a program of a graph. */
export function runProgram(program: Program, given: Given, settings: RunSettings): Promise<Executed> {
  // Before inputs are read, which may take longer than all else.
  settings.watch?.running(program);
  return program.one === undefined
    ? runPhases(program, given, settings)
    : runOne(program, program.one, given, settings);
}

/**
 * The results of a small run of the CPU, computed in this call, which throws what fails. Undefined: nothing was computed,
 * and the run goes the way of others. `numbers` are read before this returns.
 */
export function runSmallNow(
  program: Program,
  inputOf: InputOf,
  numbers: RunNumbers,
  settings: RunSettings,
): Executed | undefined {
  const { one } = program;
  if (one === undefined || settings.destination !== 'host' || isFollowed(settings)) return undefined;
  const lengths = smallResults(one.native);
  const inputs = lengths && inputsHere(one, inputOf);
  if (inputs === undefined) return undefined;
  const outputs = lengths!.map((length) => new ArrayBuffer(length));
  return runSmall(one.native, inputs, outputs, numbers)
    ? { program, outputs, checksums: NO_CHECKSUMS }
    : undefined;
}

const NO_CHECKSUMS: Executed['checksums'] = [];

/** Whether something looks at a run while it is under way. */
const isFollowed = ({ signal, onProgress, watch }: RunSettings): boolean =>
  signal !== undefined || onProgress !== undefined || watch !== undefined;

/** Undefined: some are not there yet. */
function inputsHere({ plan }: OneRun, inputOf: InputOf): RunInput[] | undefined {
  const inputs = new Array<RunInput>(plan.inputs.length);
  for (let k = 0; k < inputs.length; k++) {
    const input = inputOf(plan.inputs[k]!);
    if (!isHere(input)) return undefined;
    inputs[k] = input;
  }
  return inputs;
}

/**
 * As `runProgram`, for a graph that is run again and again: a result that is there at once is given as it is, and what
 * fails at once is thrown.
 */
export function runProgramNow(
  program: Program,
  given: Given,
  settings: RunSettings,
): Executed | Promise<Executed> {
  const { one } = program;
  const { destination, whenQueued } = settings;
  const isPlain = one !== undefined && destination !== 'file' && !isFollowed(settings);
  const inputs = isPlain ? inputsHere(one, given.inputOf) : undefined;
  if (!isPlain || inputs === undefined) return runProgram(program, given, settings);
  const { outputs } = one.options[destination];
  const result = runNow(one.native, inputs, { outputs, whenQueued, numbers: given.numbers });
  return whenThere(result, (all) => executedOf(program, all));
}

const executedOf = (program: Program, { outputs, checksums }: RunResult): Executed => ({
  program,
  outputs,
  checksums,
});

async function runOne(
  program: Program,
  one: OneRun,
  { inputOf, numbers }: Given,
  settings: RunSettings,
): Promise<Executed> {
  const { plan } = one;
  const { signal, segments } = settings;
  signal?.throwIfAborted();
  const given = plan.inputs.map(inputOf);
  const { outputs, checksums } = await runWithInputs(given, { plan, signal, segments }, (inputs) =>
    begin(program, one, { inputs, numbers }, settings),
  );
  return { program, outputs, checksums };
}

function begin(
  program: Program,
  { plan, native, options: byPlace }: OneRun,
  { inputs, numbers }: RunArguments,
  settings: RunSettings,
): Running['result'] {
  const { outputs, whenQueued } = runOptionsOf(program, byPlace, settings);
  // No object that is spread and grows: the engine would look up each of its fields anew.
  const options = { outputs, whenQueued, numbers };
  const { signal, onProgress, watch } = settings;
  const isCountedFor = watch !== undefined && isCounted(plan.steps);
  if (signal === undefined && onProgress === undefined && !isCountedFor) return run(native, inputs, options);
  const token = createCancel();
  const running = {
    result: run(native, inputs, { ...options, cancel: token }),
    tilesDone: () => tilesDone(token),
    stop: () => cancel(token),
  };
  if (isCountedFor) watch.running(program, running.tilesDone);
  return supervised(running, () => plan.steps, settings);
}

/** The tiles and bytes of a program, for its progress. */
export const scaleOf = (program: Program): ProgressScale =>
  new ProgressScale(program.one?.plan.steps ?? stepsOf(program));

function runOptionsOf(
  { outputs, results }: Program,
  options: OneRun['options'],
  { destination, filesOf, whenQueued }: RunSettings,
): RunOptions {
  if (destination === 'file') return { outputs: results.map((_, k) => filesOrHost(filesOf!(outputs, k))) };
  return whenQueued ? options.queued : options[destination];
}

/** Results that are for no file are for the run itself. */
const filesOrHost = (files: readonly FileOutput[]): OutputDestination => (files.length > 0 ? files : 'host');

async function runPhases(
  program: Program,
  { inputOf, numbers }: Given,
  settings: RunSettings,
): Promise<Executed> {
  const { plan, inputs: read, resultValues, outputs: order } = program;
  const { signal, deadline, filesOf, segments } = settings;
  signal?.throwIfAborted();
  const files = filesOf && ((b: number) => filesOf(order, resultValues.indexOf(b)));
  // Several runs read what comes through JavaScript: it is read whole, and before them.
  const whole = { plan: { buffers: [] }, signal, segments };
  const sources = read.map((b) => inputOf(plan.values[b]!.source));
  const { outputs, checksums } = await runWithInputs(sources, whole, async (inputs) => {
    await settle(inputs);
    signal?.throwIfAborted();
    const running = new ShardedRun(program, { inputs, numbers }, deadline, files);
    settings.watch?.running(program, () => running.tilesDone());
    return supervised(running, () => stepsOf(program), settings);
  });
  return { program, outputs, checksums };
}

/** The steps of all phases that progress counts; those of a loop's rounds as the loop that they are. */
const stepsOf = ({ plan }: Program): Step[] =>
  plan.phases.flatMap((phase, at) => {
    const steps = distinctRunsOf(phase).flatMap((one) => one.plan.steps);
    const rounds = phase.loop?.rounds ?? 1;
    if (rounds === 1) return steps;
    const loop = plan.loops?.find(({ first, lead, steady }) => at >= first && at < first + lead + steady);
    const none = { every: 0, stepsAtOnce: 1, states: [], nodes: [] };
    return [{ kind: 'loop', steps: rounds, condition: loop?.condition ?? -1, body: steps, ...none }];
  });

/**
 * Results of a compiled function may still be in the making, and other devices do not wait for its stream.
 */
async function settle(inputs: readonly RunInput[]): Promise<void> {
  const makers = inputs.flatMap((input) =>
    'dispose' in input && input.shards === undefined ? [input.device] : [],
  );
  await Promise.all([...new Set(makers)].map((device) => synchronize(device)));
}

/** A run that has begun. */
interface Running {
  readonly result: Promise<Pick<RunResult, 'outputs' | 'checksums'>>;
  tilesDone(): number;
  stop(): void;
}

/**
 * The result of a run that reports its progress and that a signal stops. What `onProgress` throws stops it as
 * well, and is what this rejects with.
 */
const supervised = (
  running: Running,
  steps: () => readonly Step[],
  settings: RunSettings,
): Running['result'] =>
  settings.signal === undefined && settings.onProgress === undefined
    ? running.result
    : supervise(running, steps, settings);

async function supervise(
  running: Running,
  steps: () => readonly Step[],
  { signal, onProgress }: RunSettings,
): Running['result'] {
  let thrown: { readonly error: unknown } | undefined;
  const stop = (): void => running.stop();
  signal?.addEventListener('abort', stop, { once: true });
  const failed = (error: unknown): void => {
    thrown ??= { error };
    stop();
  };
  const end =
    onProgress && watchProgress(new ProgressScale(steps()), () => running.tilesDone(), onProgress, failed);
  const isComplete = await running.result.then(
    () => true,
    () => false,
  );
  end?.(isComplete);
  signal?.removeEventListener('abort', stop);
  if (thrown !== undefined) throw thrown.error;
  return running.result;
}
