/** The constants of a graph as its runs read them: by position, `CONSTANT_BYTES` each. Called by those who run programs. */
import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { writeScalar } from '../../graph/scalar-bytes.js';
import { CONSTANT_BYTES } from '../../shared/layout.js';

/** Undefined: there are no constants. */
export type RunNumbers = Uint8Array | undefined;

type Scalars = Pick<Canonical, 'scalars'>;

export function numbersFor({ scalars }: Scalars): RunNumbers {
  if (scalars.length === 0) return undefined;
  const bytes = new ArrayBuffer(scalars.length * CONSTANT_BYTES);
  write(new DataView(bytes), scalars);
  return new Uint8Array(bytes);
}

/** Constants in memory that is made once: an ArrayBuffer takes as long as a compute needs for a tenth of its work. */
const FEW = 32;
const passing = new DataView(new ArrayBuffer(FEW * CONSTANT_BYTES));
const passingBytes = new Uint8Array(passing.buffer);

/** As `numbersFor`, for a run that has read them when its call returns: the next call writes over them. */
export function passingNumbers(canonical: Scalars): RunNumbers {
  const { scalars } = canonical;
  if (scalars.length === 0) return undefined;
  if (scalars.length > FEW) return numbersFor(canonical);
  write(passing, scalars);
  return passingBytes;
}

function write(view: DataView, scalars: Scalars['scalars']): void {
  for (let k = 0; k < scalars.length; k++) {
    const { dtype, value } = scalars[k]!;
    writeScalar(view, k * CONSTANT_BYTES, dtype, value);
  }
}
