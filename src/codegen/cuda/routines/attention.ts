/** The kernel that computes attention of a form. Launches are made by `exec/calls/attention.ts`. */
import { isHalf } from '../../../graph/dtype.js';
import { preludeFor } from '../prelude/prelude.js';
import { floatsRows, floatsSharedBytes, FLOATS_THREADS, floatsTile, printFloats } from './attention-floats.js';
import type { AttentionForm } from './attention-form.js';
import { halvesRows, halvesSharedBytes, halvesTile, printHalves } from './attention-halves.js';
import { withoutPrelude } from './element-function.js';

export { ATTENTION_NAME, type AttentionForm } from './attention-form.js';

export interface AttentionKernel {
  readonly source: string;
  /** Of Q, that a block has. */
  readonly rows: number;
  readonly threads: number;
  readonly sharedByteLength: number;
}

/** The most elements of a row of Q or V. */
export const MOST_WIDTH = 256;

export function attentionKernel(form: AttentionForm): AttentionKernel {
  const { dtype, map } = form;
  const own = isHalf(dtype) ? halvesKernel(form) : floatsKernel(form);
  const text = (map === undefined ? '' : withoutPrelude([map])) + own.source;
  return { ...own, source: preludeFor(text) + text };
}

function halvesKernel(form: AttentionForm): AttentionKernel {
  const tile = halvesTile(form.inner, form.width);
  return {
    source: printHalves(form, tile),
    rows: halvesRows(tile),
    threads: tile.warps * 32,
    sharedByteLength: halvesSharedBytes(form, tile),
  };
}

function floatsKernel(form: AttentionForm): AttentionKernel {
  const tile = floatsTile(form.inner, form.width);
  return {
    source: printFloats(form, tile),
    rows: floatsRows(tile),
    threads: FLOATS_THREADS,
    sharedByteLength: floatsSharedBytes(form, tile),
  };
}
