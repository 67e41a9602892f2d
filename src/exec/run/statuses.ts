/**
 * Reads the codes of calls that may fail, which a run gives beside its results (`fusion/passes/status-check.ts`). A run
 * brings them to the host, wherever the results are wanted; those of a plan of several runs are where its results are.
 * Called by `evaluate.ts`, `compiled-graph.ts` and `segments.ts`.
 */
import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { throwFailed } from '../../fusion/passes/status-check.js';
import type { DeviceBuffer } from '../../graph/expr.js';
import { hostBytesOf } from '../native/native.js';
import type { Destination } from '../plan/plan-graph.js';
import type { Executed } from './run-program.js';

/** Brings int64 scalars of devices to the host. */
export type ReadCodes = (buffers: readonly DeviceBuffer[]) => Promise<readonly bigint[]>;

type Output = ArrayBuffer | DeviceBuffer;

/** Throws a LinalgError where a call of a graph that has run failed, and frees what it left on devices. */
export async function checkStatuses(
  canonical: Canonical,
  executed: Executed,
  destination: Destination,
  read: ReadCodes,
): Promise<void> {
  if (canonical.statuses.length === 0) return;
  const places = codesOf(canonical, executed);
  const stored = places.map((k) => executed.outputs[k]!).filter(isStored);
  if (destination !== 'device' || stored.length === 0) return throwFailedIn(canonical, executed);
  const found = new Map((await read(stored)).map((code, k) => [stored[k] as Output, code]));
  const codes = places.map((k) => found.get(executed.outputs[k]!) ?? codeIn(executed.outputs[k]!));
  freeing(executed, () => throwFailed(canonical.statuses, codes));
  const isUsers = new Set(executed.program.outputs.slice(0, -canonical.statuses.length));
  for (const k of new Set(places)) {
    const output = executed.outputs[k]!;
    if (isStored(output) && !isUsers.has(k)) output.dispose();
  }
}

/** The same of a run whose codes came to the host. */
export function throwFailedIn(canonical: Canonical, executed: Executed): void {
  const codes = codesOf(canonical, executed).map((k) => codeIn(executed.outputs[k]!));
  freeing(executed, () => throwFailed(canonical.statuses, codes));
}

const isStored = (output: Output): output is DeviceBuffer => !(output instanceof ArrayBuffer);

const codeIn = (output: Output): bigint =>
  new BigInt64Array(isStored(output) ? hostBytesOf(output) : output)[0]!;

/** Among the results of a run the codes: those of the last outputs of the graph. */
const codesOf = ({ statuses, graph }: Canonical, { program }: Executed): number[] =>
  program.outputs.slice(graph.outputs.length - statuses.length);

/** Frees all results where `check` throws. */
function freeing({ outputs }: Executed, check: () => void): void {
  try {
    check();
  } catch (error) {
    for (const output of new Set(outputs)) if (!(output instanceof ArrayBuffer)) output.dispose();
    throw error;
  }
}
