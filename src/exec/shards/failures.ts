/**
 * Failures of runs on several devices: all runs end before a failure is reported, which is the worst one. Called
 * by `sharded-run.ts`.
 */
import { DeviceLostError } from '../../host/errors.js';

/** The error of a lost device says which one it is: that of the run, or one that the run copies from. */
export function nameDevice(error: unknown, device: string): unknown {
  if (!(error instanceof DeviceLostError) || error.device !== undefined) return error;
  const [, other] = /^\[([a-z]+:\d+)\]/.exec(error.message) ?? [];
  const message = other === undefined ? `[${device}] ${error.message}` : error.message;
  return new DeviceLostError(message, error.status, other ?? device);
}

export const errorsOf = (settled: readonly PromiseSettledResult<unknown>[]): unknown[] =>
  settled.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));

/** Of several failures, that a device was lost matters most, and that others were stopped least. */
export const worstOf = (errors: readonly unknown[]): unknown =>
  errors.find((error) => error instanceof DeviceLostError) ??
  errors.find((error) => !(error instanceof DOMException)) ??
  errors[0];

/**
 * All of the results. On the first failure the others are stopped, and the worst one is thrown once they have
 * ended.
 */
export async function allOf<T>(
  runs: readonly Promise<T>[],
  stop: () => void,
  free?: (result: T) => void,
): Promise<T[]> {
  const settled = await Promise.allSettled(
    runs.map((one) =>
      one.catch((error: unknown) => {
        stop();
        throw error;
      }),
    ),
  );
  const errors = errorsOf(settled);
  const results = settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  if (errors.length === 0) return results;
  if (free !== undefined) for (const result of results) free(result);
  throw worstOf(errors);
}
