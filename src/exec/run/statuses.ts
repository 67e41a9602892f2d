/**
 * Reads the codes of calls that may fail, which a run gives beside its results (`fusion/passes/status-check.ts`). A run
 * brings them to the host, wherever the results are wanted; those of a plan of several runs are where its results are.
 * Called by `evaluate.ts`, `compiled-graph.ts` and `segments.ts`.
 */
import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { throwFailed } from '../../fusion/passes/status-check.js';
import type { DType } from '../../graph/dtype.js';
import type { DeviceBuffer } from '../../graph/expr.js';
import { hostBytesOf } from '../native/native.js';
import type { Destination } from '../plan/plan-graph.js';
import type { Program } from './program.js';
import type { Executed } from './run-program.js';

/** Brings scalars of integer dtypes from devices to the host. */
export type ReadCodes = (codes: readonly StoredCode[]) => Promise<readonly bigint[]>;

export interface StoredCode {
  readonly buffer: DeviceBuffer;
  readonly dtype: DType;
}

type Output = ArrayBuffer | DeviceBuffer;
type Results = Pick<Executed, 'program' | 'outputs'>;

/**
 * Throws a LinalgError where a call of a graph that has run failed, and frees what it left on devices; a promise where codes
 * are on devices.
 */
export function checkStatuses(
  canonical: Canonical,
  executed: Executed,
  destination: Destination,
  read: ReadCodes,
): Promise<void> | undefined {
  if (canonical.statuses.length === 0) return undefined;
  const isThere =
    destination === 'device' &&
    codesOf(canonical, executed.program).some((k) => isStored(executed.outputs[k]!));
  if (isThere) return checkStored(canonical, executed, read);
  throwFailedIn(canonical, executed);
  return undefined;
}

/** The same where some codes are on devices. */
async function checkStored(canonical: Canonical, executed: Executed, read: ReadCodes): Promise<void> {
  const places = codesOf(canonical, executed.program);
  const stored = places.flatMap((k, at) => {
    const output = executed.outputs[k]!;
    return isStored(output) ? [{ buffer: output, dtype: dtypeAt(canonical, at) }] : [];
  });
  const found = new Map((await read(stored)).map((code, k) => [stored[k]!.buffer as Output, code]));
  const codes = places.map((k, at) => {
    const output = executed.outputs[k]!;
    return found.get(output) ?? codeIn(output, dtypeAt(canonical, at));
  });
  freeing(executed, () => throwFailed(canonical.statuses, codes));
  const isUsers = new Set(executed.program.outputs.slice(0, -canonical.statuses.length));
  for (const k of new Set(places)) {
    const output = executed.outputs[k]!;
    if (isStored(output) && !isUsers.has(k)) output.dispose();
  }
}

/** The same of a run whose codes came to the host. */
export function throwFailedIn(canonical: Canonical, executed: Results): void {
  if (canonical.statuses.length === 0) return;
  const codes = codesOf(canonical, executed.program).map((k, at) =>
    codeIn(executed.outputs[k]!, dtypeAt(canonical, at)),
  );
  freeing(executed, () => throwFailed(canonical.statuses, codes));
}

const isStored = (output: Output): output is DeviceBuffer => !(output instanceof ArrayBuffer);

const dtypeAt = ({ statuses }: Canonical, at: number): DType => statuses[at]!.code.dtype;

function codeIn(output: Output, dtype: DType): bigint {
  const bytes = new DataView(isStored(output) ? hostBytesOf(output) : output);
  return dtype === 'int32' ? BigInt(bytes.getInt32(0, true)) : bytes.getBigInt64(0, true);
}

/** Among the results of a program the codes: those of the last outputs of the graph. */
export const codesOf = ({ statuses, graph }: Canonical, { outputs }: Program): number[] =>
  outputs.slice(graph.outputs.length - statuses.length);

/** Frees all results where `check` throws. */
function freeing({ outputs }: Results, check: () => void): void {
  try {
    check();
  } catch (error) {
    for (const output of new Set(outputs)) if (!(output instanceof ArrayBuffer)) output.dispose();
    throw error;
  }
}
