/** Outcomes that runs on the simulator may have where a call of the driver or of cuBLAS fails. */
import { expect } from 'vitest';
import { DeviceError, DeviceLostError, MemoryError } from '../../src/host/errors.js';
import type { Lazy } from '../../src/index.js';
import { bitsOf } from './programs.js';
import type { Fault } from './simulator.js';

export const OUT_OF_MEMORY = 2;

/** A run's outcome as plain data. */
export async function outcomeOf(outputs: readonly Lazy[], device: string): Promise<Buffer[] | Error> {
  try {
    return await bitsOf(outputs, device);
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
}

/** Calls that tell or give back: no status of theirs is a failure of the run, short of a lost device. */
export const CANNOT_FAIL = new Set([
  'cuEventDestroy_v2',
  'cuMemFreeAsync',
  'cuMemGetInfo_v2',
  'cuPointerGetAttributes',
]);

/** Errors that a failing call may end a run with. */
function allowedErrors(call: string, status: number): readonly (new (...args: never[]) => Error)[] {
  if (status === OUT_OF_MEMORY) return [MemoryError];
  return call.startsWith('cublas') ? [DeviceError, MemoryError] : [DeviceError];
}

export function checkOutcome(outcome: Buffer[] | Error, wanted: readonly Buffer[], fault: Fault): void {
  if (outcome instanceof Error) {
    const allowed = allowedErrors(fault.call, fault.status!);
    expect(
      allowed.some((type) => outcome instanceof type) ? 'allowed' : `${outcome.name}: ${outcome.message}`,
    ).toBe('allowed');
    expect(outcome).not.toBeInstanceOf(DeviceLostError);
    expect(outcome.message).toContain('while computing');
  } else {
    expect(outcome).toEqual(wanted);
  }
}
