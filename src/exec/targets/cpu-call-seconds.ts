/**
 * The time of a call on the CPU: its work (`exec/calls/call-work.ts`) at the rates of calls of its kind, and its bytes at
 * those of caches and memory.
 */
import { memoryRateOf, type TapeRates } from '../../codegen/cpu/tape-rates.js';
import type { DType } from '../../graph/dtype.js';
import type { CallStep } from '../calls/call.js';
import { callRow } from '../calls/table.js';
import { nearestDType } from './call-rates.js';
import { CALL_RATES, type CallRates, UNMEASURED } from './cpu-call-rates.js';

/** Nanoseconds of one thread from which on others help; waking them, and waiting for them, is a part of that. */
const SHARED = 50_000;

export function secondsOfCall(step: CallStep, rates: TapeRates): number {
  const { slowness, threads, fork } = rates;
  const { way, isSmall, dtype, rows, elements, operations } = callRow(step).work(step);
  const ownWay = [way, isSmall ? 'small' : ''].filter((word) => word !== '').join(' ');
  const [ofCall, ofRow, ofElement, ofOperation] = ratesOf(step.call, ownWay, dtype);
  const working = slowness * (ofCall + ofRow * rows + ofElement * elements + ofOperation * operations);
  const alone = working + movedNanoseconds(step, rates);
  return 1e-9 * (threads > 1 && alone > SHARED ? fork + alone / threads : alone);
}

/** Reading operands and writing results, each once. */
function movedNanoseconds(step: CallStep, rates: TapeRates): number {
  const { bytesRead, bytesWritten } = callRow(step).explain(step, 'cpu');
  const { read, write } = memoryRateOf(rates, bytesRead + bytesWritten);
  return read * bytesRead + write * bytesWritten;
}

/** Of the same way and dtype, else of a dtype as wide, else of any. */
function ratesOf(call: string, way: string, dtype: DType): CallRates {
  const known = Object.entries(CALL_RATES[call] ?? {});
  const ofWay = known.filter(([key]) => wayOf(key) === way);
  const all = ofWay.length > 0 ? ofWay : known;
  const nearest = nearestDType(
    all.map(([key]) => dtypeOf(key)),
    dtype,
  );
  return all.find(([key]) => dtypeOf(key) === nearest)?.[1] ?? UNMEASURED;
}

/** Keys are `float32 sum of columns`: the dtype, then the way. */
const dtypeOf = (key: string): DType => key.split(' ', 1)[0] as DType;
const wayOf = (key: string): string => key.split(' ').slice(1).join(' ');
