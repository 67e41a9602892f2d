/**
 * Maps as device functions of one element: routines call them where they read an element of an operand or write one
 * of their result, so that neither is in memory. Called by `exec/calls/scan.ts`.
 */
import { loadsFrom } from '../../../fusion/kernel/algebra.js';
import { cudaFunctionsIn, loopsIn } from '../../../fusion/kernel/arithmetic.js';
import type { Kernel, Store } from '../../../fusion/kernel/kernel.js';
import { CUDA_TYPE } from '../../../graph/cuda-expressions.js';
import type { CudaFunction, ElementLoop } from '../../../graph/loop-step.js';
import { normalize } from '../../cuts/domain.js';
import type { Neighbours } from '../../cuts/scan-neighbours.js';
import type { TileFold } from '../../cuts/scan-reader.js';
import { Body } from '../body.js';
import { STORAGE_TYPE, toStorage } from '../casts.js';
import { cudaFunctions } from '../cuda-functions.js';
import { loopFunctions } from '../element-loops.js';
import { addressExpression } from '../index-math.js';
import type { CudaArgument } from '../launch.js';
import { monoidOf } from '../monoids.js';
import { apartFunctions, isExpensive } from '../outlined.js';
import { preludeFor } from '../prelude/prelude.js';
import { WARP } from '../schedules/limits.js';
import { Writer } from '../writer.js';
import { type ElementPlace, LINEAR_PLACE } from './element-place.js';

export interface ElementFunction {
  /** The function, without those of the prelude that it calls. */
  readonly text: string;
  /** The type that it gives; `void`: each of its results is combined. */
  readonly type: string;
  /** Of results that it combines with those so far, which are its last parameters. */
  readonly folds: readonly FoldedResult[];
  /** Its parameters, as those of a kernel, and in their order as arguments; a comma stands before each. */
  readonly parameters: string;
  readonly args: readonly CudaArgument[];
  /** The element at a place, arguments of its `ElementPlace`, given the one that the routine has there, or its neighbours. */
  readonly call: (place: string, given?: string) => string;
  /** The loops of elements that it calls. */
  readonly loops: readonly ElementLoop[];
  /** The functions in CUDA C that it calls. */
  readonly cuda: readonly CudaFunction[];
  /** Whether neighbours are better computed by one thread. */
  readonly isExpensive: boolean;
}

/** A result whose elements are combined. */
export interface FoldedResult {
  readonly type: string;
  readonly identity: string;
  readonly combine: (a: string, b: string) => string;
  /** The function that combines those of a warp's lanes. */
  readonly ofLanes: string;
  /** The parameter of a kernel that values of tiles are written to. */
  readonly to: string;
}

/**
 * Prints a kernel that can be such a function (`canBeElement`); `name` is of the function, and of its parameters in a kernel. It
 * gives its first result; others it stores, or combines, of those that are `folds`. Of `neighbours` it is given all.
 */
export function elementFunction(
  kernel: Kernel,
  name: string,
  given?: number,
  place: ElementPlace = LINEAR_PLACE,
  folds: readonly TileFold[] = [],
  neighbours?: Neighbours,
): ElementFunction {
  const body = new Body(normalize(kernel));
  const params = body.parameters();
  const { parallel, buffers, tape } = body.kernel;
  const foldOf = (store: Store): TileFold | undefined =>
    folds.find(({ buffer }) => buffer === store.access.buffer);
  const stores = body.kernel.stores.toSorted((a, b) => a.access.buffer - b.access.buffer);
  const [first, ...stored] = stores.filter((store) => foldOf(store) === undefined);
  const loads = given === undefined ? [] : loadsFrom(body.kernel, given);
  const out = new Writer();
  const coordinates = place.coordinates(out, params, parallel);
  const nameOfGiven = ({ access }: (typeof loads)[number]): string =>
    neighbours === undefined ? 'given' : `given${neighbours.offsets.indexOf(access.offset)}`;
  const scope = { coordinates, known: new Map(loads.map((load) => [load.position, nameOfGiven(load)])) };
  body.print(
    out,
    body.closure(
      stores.map(({ value }) => value),
      (position) => scope.known.has(position),
    ),
    scope,
    params,
  );
  const storedOf = ({ value, access }: Store): string =>
    toStorage(buffers[access.buffer]!.dtype, body.value(value, scope, params));
  for (const store of stored)
    out.line(
      `${params.buffer(store.access.buffer)}[${addressExpression(store.access, coordinates, params)}] = ${storedOf(store)};`,
    );
  const folded = stores.flatMap((store): FoldedResult[] => {
    const fold = foldOf(store);
    if (fold === undefined) return [];
    const { dtype } = buffers[fold.buffer]!;
    const { type, identity, combine } = monoidOf(fold.name, dtype, false);
    const [to, ofLanes] = [`${name}_${params.buffer(fold.buffer)}`, `${name}_lanes${fold.buffer}`];
    return [{ type, identity, combine, ofLanes, to }];
  });
  for (const [k, { combine }] of folded.entries()) {
    const store = stores.filter((each) => foldOf(each) !== undefined)[k]!;
    out.line(`fold${k} = ${combine(`fold${k}`, body.value(store.value, scope, params))};`);
  }
  if (first !== undefined) out.line(`return ${storedOf(first)};`);
  const type = first === undefined ? 'void' : STORAGE_TYPE[buffers[first.access.buffer]!.dtype];
  const own = params.declaration === '' ? [] : params.declaration.split(', ');
  const nameOf = (declared: string): string => declared.slice(declared.lastIndexOf(' ') + 1);
  const givenNames = given === undefined ? [] : (neighbours?.offsets.map((_, k) => `given${k}`) ?? ['given']);
  const element = givenNames.map((each) => `, ${CUDA_TYPE[buffers[given!]!.dtype]} ${each}`).join('');
  const head = new Writer();
  head.block(
    `__device__ __forceinline__ ${type} ${name}(${place.parameters}${element}${own.map((p) => `, ${p}`).join('')}${folded.map((fold, k) => `, ${fold.type}& fold${k}`).join('')})`,
    () => head.line(out.toString().trimEnd()),
  );
  const passed = [
    ...own.map((declared) => `, ${name}_${nameOf(declared)}`),
    ...folded.map((_, k) => `, fold${k}`),
  ].join('');
  return {
    text: head.toString() + folded.map(printOfLanes).join(''),
    type,
    folds: folded,
    parameters: own
      .map((declared) => `, ${declared.slice(0, declared.lastIndexOf(' ') + 1)}${name}_${nameOf(declared)}`)
      .join(''),
    args: params.args,
    call: (where, known) => `${name}(${where}${known === undefined ? '' : `, ${known}`}${passed})`,
    loops: loopsIn(body.kernel),
    cuda: cudaFunctionsIn(body.kernel),
    isExpensive: tape.some(isExpensive),
  };
}

const printOfLanes = ({
  type,
  combine,
  ofLanes,
}: FoldedResult): string => `__device__ __forceinline__ ${type} ${ofLanes}(${type} a) {
  #pragma unroll
  for (int other = ${WARP / 2}; other >= 1; other >>= 1) a = ${combine('a', 'weft_exchange(a, other)')};
  return a;
}
`;

/** The functions with all that they call. */
export function withPrelude(functions: readonly ElementFunction[]): string {
  const whole = withoutPrelude(functions);
  return `${preludeFor(whole)}${whole}`;
}

/** The functions with what they call, but the prelude's. */
export function withoutPrelude(functions: readonly ElementFunction[]): string {
  const text = functions.map(({ text }) => text).join('');
  const loops = loopFunctions(functions.flatMap(({ loops }) => loops));
  const own = cudaFunctions(functions.flatMap(({ cuda }) => cuda));
  return `${own}${apartFunctions(text)}${loops}${text}`;
}
