/**
 * The time of a call on a GPU, as that of one on the CPU (`cpu-call-seconds.ts`): its work (`exec/calls/call-work.ts`) at the rates
 * of what computes it, kernels of Weft's own or a library. A GPU has two more terms: launches, and the steps of a row that wait for
 * one another, which take as long however many multiprocessors there are.
 */
import { type DeviceRates, overlapped } from '../../codegen/cuda/launch-seconds.js';
import type { DeviceLimits } from '../../codegen/cuda/schedules/schedule-rows.js';
import type { DType } from '../../graph/dtype.js';
import type { CallStep } from '../calls/call.js';
import { callRow } from '../calls/table.js';
import { nearestDType } from './call-rates.js';
import { CUDA_CALL_RATES, type CudaCallRates, RATED_ON } from './cuda-call-rates.js';

/** The name of a library's calls in the table of rates. */
const LIBRARY = 'library';

/** How calls are computed: by a library, or by launches of Weft's own kernels. */
type Launched = (step: CallStep) => { readonly by: string; readonly launches: number };

/** Of a device with these limits; found once for each step, for that prints its source. */
export function launchedWith(limits: DeviceLimits): Launched {
  const known = new WeakMap<CallStep, ReturnType<Launched>>();
  const found = (step: CallStep): ReturnType<Launched> => {
    const launches = callRow(step).kernels?.(step, limits)?.launches;
    if (launches === undefined) return { by: LIBRARY, launches: 1 };
    const functions = new Set(launches.map((launch) => launch.function.replace('weft_', '')));
    return { by: [...functions].sort().join('+'), launches: launches.length };
  };
  return (step) => {
    const one = known.get(step) ?? found(step);
    known.set(step, one);
    return one;
  };
}

/** Seconds of a part of a call's units, from 0 to 1; undefined: no rates are known of it. */
export function secondsOfCudaCall(
  step: CallStep,
  part: number,
  launchedAs: Launched,
  device: DeviceRates,
): number | undefined {
  const row = callRow(step);
  const { by, launches } = launchedAs(step);
  const work = row.work(step);
  const rates = ratesOf(step.call, by, [work.dtype, work.cudaWay, work.way].filter((word) => word).join(' '));
  if (rates === undefined) return undefined;
  const {
    launch = 0,
    step: ofStep = 0,
    unit = 0,
    row: ofRow = 0,
    operation = 0,
    moved = 0,
    overlaps = false,
    dtypes = {},
  } = rates;
  const slowness = dtypes[nearestDType(Object.keys(dtypes) as DType[], work.dtype)!] ?? 1;
  // A library has a call for each matrix of a stack, one after the other.
  const calls = by === LIBRARY && work.isStack ? Math.max(1, work.rows * part) : 1;
  const operations = work.cudaOperations ?? work.operations;
  const perUnit = unit * (work.chain ?? operations / Math.max(1, work.rows));
  const begun = launch * launches + slowness * perUnit;
  const steps = slowness * ofStep * work.steps;
  const share = RATED_ON.multiprocessors / device.multiprocessors;
  // Those of further rounds of blocks begin where the ones before end: each takes its steps.
  const rounds = work.rounds ?? (work.isStack ? work.rows * Math.max(1, work.steps) : work.rows);
  const together = share * slowness * (ofRow * rounds + operation * operations);
  const { bytesRead, bytesWritten } = row.explain(step, 'cuda');
  const bytes = (moved * (bytesRead + bytesWritten)) / device.memoryRate;
  if (overlaps) return 1e-9 * begun + overlapped(part * bytes, 1e-9 * part * together, 1e-9 * steps);
  return 1e-9 * (calls * (begun + steps) + part * together) + part * bytes;
}

/** Of the same kernels or a library, and of the longest way with which the call's ends: of `float32 sum of columns`, `of columns`. */
function ratesOf(call: string, by: string, way: string): CudaCallRates | undefined {
  const ways = Object.entries(CUDA_CALL_RATES[call]?.[by] ?? {});
  const alike = ways.filter(([ending]) => way.endsWith(ending));
  return alike.sort(([a], [b]) => b.length - a.length)[0]?.[1];
}
