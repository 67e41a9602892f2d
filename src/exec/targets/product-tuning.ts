/**
 * Which algorithm of cuBLASLt a matrix product takes, where a compute is asked to tune: those that the library's
 * heuristic offers are measured once on the device, and the fastest is kept (`tuning-cache.ts`) by all that the choice depends
 * on. Without an answer (no library, no room to measure) a product is computed as untuned.
 * Called by `program-cuda.ts` and `cuda.ts`.
 */
import { createHash } from 'node:crypto';
import { config } from '../../host/config.js';
import { MemoryError } from '../../host/errors.js';
import type { CallStep } from '../calls/call.js';
import type { CallTrial } from '../calls/call-row.js';
import { callRow } from '../calls/table.js';
import { cudaInfo, tuneProduct } from '../native/native.js';
import { timed } from '../native/recorder.js';
import type { DevicePlan, Step } from '../plan/plan.js';
import { callsOf } from '../plan/workspace.js';
import { type TunedProduct, TuningCache, type Untuned } from '../run/tuning-cache.js';
import type { Device } from './device.js';

/** Algorithms that are measured. */
const MOST_CANDIDATES = 8;
/** Another than the first has to be faster by so much: less is noise, and would change bits for nothing. */
const LEAST_GAIN = 0.03;

let shared: TuningCache | undefined;

/** The process's choices, kept in the disk cache that the settings name. */
function tuningCache(): TuningCache {
  const { cacheFolder, cacheByteLimit } = config();
  shared ??= new TuningCache(cacheFolder, cacheByteLimit);
  return shared;
}

/** Forgets the choices of this process; those on disk stay. */
export function clearTuning(): void {
  shared = undefined;
}

/** All that a choice depends on: two devices of a model have the same. */
export function tuningKey(step: CallStep, plan: DevicePlan, device: Device): string {
  const { driver, cublasLt, devices } = cudaInfo();
  const model = devices.find((info) => info.device === device.name);
  const workspace = step.workspace === undefined ? 0 : plan.buffers[step.workspace]!.byteLength;
  const parts = [model?.name, driver?.version, cublasLt?.version, workspace, callRow(step).keyOf(step)];
  return createHash('sha256')
    .update(JSON.stringify(['product', 1, ...parts]))
    .digest('hex');
}

/**
 * The choices for the products of a plan that run as a whole, by key. `budget`: the most bytes that measuring one
 * may take.
 */
export async function tuneProducts(
  plan: DevicePlan,
  device: Device,
  budget: number | undefined,
): Promise<ReadonlyMap<string, TunedProduct>> {
  const tuned = new Map<string, TunedProduct>();
  for (const step of plan.steps.flatMap(tunedCalls)) {
    const key = tuningKey(step, plan, device);
    if (tuned.has(key)) continue;
    const choice = await tuningCache().get(key, () => measure(step, plan, { device, budget }));
    if (typeof choice !== 'string') tuned.set(key, choice);
  }
  return tuned;
}

/** The products of a step that are not cut into tiles. */
const tunedCalls = (step: Step): CallStep[] =>
  step.kind === 'sweep' ? [] : callsOf(step).filter((call) => callRow(call).tuning !== undefined);

interface TrialLimits {
  readonly device: Device;
  readonly budget: number | undefined;
}

/** Measures the candidates for a product on memory of the pool. */
async function measure(
  step: CallStep,
  plan: DevicePlan,
  { device, budget = Number.POSITIVE_INFINITY }: TrialLimits,
): Promise<TunedProduct | Untuned> {
  if (cudaInfo().cublasLt === null) return 'no cuBLASLt';
  const workspace = step.workspace === undefined ? 0 : plan.buffers[step.workspace]!.byteLength;
  const trial = callRow(step).tuning?.trial(step, workspace);
  if (trial === undefined) return 'no form of cuBLASLt';
  if (trial.byteLengths.reduce((sum, bytes) => sum + bytes, 0) > budget) return 'no room to measure';
  try {
    return fastestOf(await timed('program', 'tuning', () => candidatesOf(trial, device)));
  } catch (error) {
    if (error instanceof MemoryError) return 'no room to measure';
    throw error;
  }
}

const candidatesOf = (
  { product, byteLengths }: CallTrial,
  { name }: Device,
): ReturnType<typeof tuneProduct> => tuneProduct(name, product, byteLengths, MOST_CANDIDATES);

function fastestOf(candidates: Awaited<ReturnType<typeof tuneProduct>>): TunedProduct | Untuned {
  const [first] = candidates;
  if (first === undefined) return 'no algorithm ran';
  const least = Math.min(...candidates.map(({ seconds }) => seconds));
  const place =
    least < first.seconds * (1 - LEAST_GAIN) ? candidates.findIndex(({ seconds }) => seconds === least) : 0;
  const { algorithm, seconds } = candidates[place]!;
  return { algorithm, place, count: candidates.length, seconds, firstSeconds: first.seconds };
}

/** Whether a product is tuned, and how its algorithm was chosen: a part of `explain()`. Undefined: there is no choice. */
export function explainTuning(step: CallStep, plan: DevicePlan, device: Device): string | undefined {
  if (callRow(step).tuning === undefined) return undefined;
  const choice = tuningCache().known(tuningKey(step, plan, device));
  if (choice === undefined)
    return 'algorithm: measured when it is first computed, unless the disk cache has it';
  if (typeof choice === 'string') return `algorithm: the library's own choice (${choice})`;
  const { place, count, seconds, firstSeconds } = choice;
  const micro = (value: number): string => `${(value * 1e6).toFixed(1)} µs`;
  const first = place === 0 ? '' : `, ${micro(firstSeconds)} of the heuristic's first`;
  return `algorithm: ${place + 1} of ${count} by measurement, ${micro(seconds)}${first}`;
}
