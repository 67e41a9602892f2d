/** The constants of a graph as its runs read them: by position, `CONSTANT_BYTES` each. Called by those who run programs. */
import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { writeScalar } from '../../graph/scalar-bytes.js';
import { CONSTANT_BYTES } from '../../shared/layout.js';

/** Undefined: there are no constants. */
export type RunNumbers = Uint8Array | undefined;

export function numbersFor({ scalars }: Canonical): RunNumbers {
  if (scalars.length === 0) return undefined;
  const bytes = new ArrayBuffer(scalars.length * CONSTANT_BYTES);
  const view = new DataView(bytes);
  for (let k = 0; k < scalars.length; k++) {
    const { dtype, value } = scalars[k]!;
    writeScalar(view, k * CONSTANT_BYTES, dtype, value);
  }
  return new Uint8Array(bytes);
}
