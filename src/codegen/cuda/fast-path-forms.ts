/**
 * The fast paths of ops (`fast-paths.ts`): which there are, what they record, and when that says that they
 * hold. For float32; other dtypes have none. A fast path gives the bits of the op, or kernels would disagree,
 * but for terms of sums.
 */
import { opOf, reducesOnlyBy } from '../../fusion/kernel/arithmetic.js';
import { argumentsOf, type Kernel } from '../../fusion/kernel/kernel.js';
import type { OpName } from '../../graph/ops.js';
import { isShort } from './schedules/in-turn.js';

export interface FastPath {
  /** A function of the prelude that takes the argument and the record. */
  readonly name: string;
  /** The same for a result whose NaN would not show in what is stored: it records that, too. */
  readonly hidden: string;
  /**
   * Of ops that have another function of the prelude for terms of sums, where no single one is seen: that
   * function, whose bits the fast path gives. It is taken there alone.
   */
  readonly term?: string;
  /**
   * The record: a variable, what it starts from, and the condition under which every argument was ordinary.
   */
  readonly record: string;
  readonly start: string;
  readonly ordinary: string;
  /**
   * Whether arguments that are not ordinary are so rare that a map, whose chunks all begin with fast paths,
   * should take it. Those of a square root are; those of `exp` in a Gaussian are not.
   */
  readonly inMaps: boolean;
}

const FAST_FORMS = new Map<OpName, FastPath>([
  [
    'sqrt',
    {
      name: 'weft_near_sqrt',
      hidden: 'weft_near_sqrt_hidden',
      record: 'reciprocals',
      start: '0.0f',
      ordinary: 'reciprocals < __int_as_float(0x71800000)', // 2^100
      inMaps: true,
    },
  ],
  [
    'exp',
    {
      name: 'weft_near_exp',
      hidden: 'weft_near_exp',
      term: 'weft_term_exp',
      record: 'exponents',
      start: '0.0f',
      ordinary: 'exponents <= 125.0f',
      inMaps: false,
    },
  ],
]);

/** The fast path of an instruction of a tape; undefined if it has none. */
export function fastPathOf({ tape }: Kernel, position: number): FastPath | undefined {
  const i = tape[position]!;
  const op = opOf(i);
  return op !== undefined && tape[argumentsOf(i)[0]!]!.dtype === 'float32' ? FAST_FORMS.get(op) : undefined;
}

/**
 * Whether a loop over reduced axes takes a fast path: one for terms of sums where all reductions of the tape
 * are sums, of more terms than are written out elsewhere.
 */
export const suitsLoop = ({ term }: FastPath, kernel: Kernel): boolean =>
  term === undefined || (reducesOnlyBy('sum', kernel) && !isShort(kernel));
