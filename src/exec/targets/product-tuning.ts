/**
 * Which algorithm of cuBLASLt a matrix product takes, where a compute is asked to tune: those that the library's
 * heuristic offers are measured once on the device, and the fastest is kept (`tuning-cache.ts`) by all that the choice depends
 * on. Without an answer (no library, no room to measure) a product is computed as untuned.
 * Called by `program-cuda.ts` and `cuda.ts`.
 */
import { createHash } from 'node:crypto';
import { MemoryError } from '../../host/errors.js';
import type { CallStep } from '../calls/call.js';
import type { CallTrial } from '../calls/call-row.js';
import { callRow } from '../calls/table.js';
import { cudaInfo, tuneProduct } from '../native/native.js';
import { timed } from '../native/recorder.js';
import type { DevicePlan, Step } from '../plan/plan.js';
import { callsOf } from '../plan/workspace.js';
import { fastest, measuredText, processChoices, type Tuned, type Untuned } from '../run/tuning-cache.js';
import type { Device } from './device.js';

/** Algorithms that are measured. */
const MOST_CANDIDATES = 8;

/** An algorithm and how it was chosen, among those of the heuristic. */
export interface TunedProduct extends Tuned {
  /** A `cublasLtMatmulAlgo_t` in words of 32 bits. */
  readonly algorithm: readonly number[];
}

const WORDS = 16;

export function isTunedProduct({ algorithm }: Partial<TunedProduct>): boolean {
  const isWord = (word: unknown): boolean =>
    Number.isInteger(word) && Number(word) >= 0 && Number(word) < 2 ** 32;
  return Array.isArray(algorithm) && algorithm.length === WORDS && algorithm.every(isWord);
}

const tuningCache = processChoices<TunedProduct>(isTunedProduct);

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
  if (candidates.length === 0) return 'no algorithm ran';
  const tuned = fastest(candidates.map(({ seconds }) => seconds));
  return { algorithm: candidates[tuned.place]!.algorithm, ...tuned };
}

/** Whether a product is tuned, and how its algorithm was chosen: a part of `explain()`. Undefined: there is no choice. */
export function explainTuning(step: CallStep, plan: DevicePlan, device: Device): string | undefined {
  if (callRow(step).tuning === undefined) return undefined;
  const choice = tuningCache().known(tuningKey(step, plan, device));
  if (choice === undefined)
    return 'algorithm: measured when it is first computed, unless the disk cache has it';
  if (typeof choice === 'string') return `algorithm: the library's own choice (${choice})`;
  return `algorithm: ${measuredText(choice, "the heuristic's first")}`;
}
