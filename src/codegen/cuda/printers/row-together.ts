/**
 * Accumulators of several values (moments) in columns: a thread collects elements of its walk and turns a few
 * of them into one accumulator at once, the same few as a reduction alone does (`reduce-step.ts`). Called by
 * `row-kernel.ts`, around a walk over `chunks` elements of a thread.
 */
import { CUDA_TYPE } from '../../../graph/cuda-expressions.js';
import type { Accumulator } from './block-reduce.js';
import type { RowContext } from './row-context.js';
import type { RowPhase } from './row-phases.js';

const collected = (c: RowContext, phase: RowPhase): Accumulator[] =>
  c.schedule.together === undefined ? [] : phase.accumulators.filter(({ monoid }) => monoid.chunked);

/** Declares the places of the elements of a walk, `d<position>[group][element]`. */
export function declareTogether(c: RowContext, phase: RowPhase): void {
  const { chunks, together = 1 } = c.schedule;
  for (const a of collected(c, phase))
    c.out.line(`${c.argumentType(a)} d${a.position}[${Math.ceil(chunks / together)}][${together}];`);
}

/** Adds the elements of a walk that begins at `base`; those of a group that ends past the row one by one. */
export function printTogether(c: RowContext, phase: RowPhase, base = ''): void {
  const accumulators = collected(c, phase);
  if (accumulators.length === 0) return;
  const { out, params } = c;
  const { chunks, threadsR, together = 1 } = c.schedule;
  const length = params.size(c.length);
  out.unrolled('j', Math.ceil(chunks / together), () => {
    out.line(`const ${params.index} s = ${base}j * ${together * threadsR} + tr;`);
    out.block(`if (s + ${(together - 1) * threadsR} < ${length})`, () => {
      for (const a of accumulators) {
        const types = `${c.argumentType(a)}, ${CUDA_TYPE[a.monoid.components[0]!]}, ${together}`;
        const moments = `weft_moments_of<${types}>(d${a.position}[j])`;
        out.line(`${a.name}[0] = ${a.monoid.combine(`${a.name}[0]`, moments)};`);
      }
    });
    if (together === 1) return;
    out.block('else', () =>
      out.unrolled('u', together, () =>
        out.block(`if (s + u * ${threadsR} < ${length})`, () => {
          for (const { name, monoid, position } of accumulators)
            out.line(`${name}[0] = ${monoid.push(`${name}[0]`, [`d${position}[j][u]`])};`);
        }),
      ),
    );
  });
}
