/**
 * Maps as device functions of one element: routines call them where they read an element of an operand or write one
 * of their result, so that neither is in memory. Called by `exec/calls/scan.ts`.
 */
import { loadsFrom } from '../../../fusion/kernel/algebra.js';
import { cudaFunctionsIn, loopsIn } from '../../../fusion/kernel/arithmetic.js';
import type { Kernel } from '../../../fusion/kernel/kernel.js';
import { CUDA_TYPE } from '../../../graph/cuda-expressions.js';
import type { CudaFunction, ElementLoop } from '../../../graph/loop-step.js';
import { normalize } from '../../cuts/domain.js';
import { Body } from '../body.js';
import { STORAGE_TYPE, toStorage } from '../casts.js';
import { cudaFunctions } from '../cuda-functions.js';
import { loopFunctions } from '../element-loops.js';
import type { CudaArgument } from '../launch.js';
import { apartFunctions, isExpensive } from '../outlined.js';
import { preludeFor } from '../prelude/prelude.js';
import { Writer } from '../writer.js';
import { type ElementPlace, LINEAR_PLACE } from './element-place.js';

export interface ElementFunction {
  /** The function, without those of the prelude that it calls. */
  readonly text: string;
  /** The type that it gives. */
  readonly type: string;
  /** Its parameters, as those of a kernel, and in their order as arguments; a comma stands before each. */
  readonly parameters: string;
  readonly args: readonly CudaArgument[];
  /** The element at a place, arguments of its `ElementPlace`, given the one that the routine has there. */
  readonly call: (place: string, given?: string) => string;
  /** The loops of elements that it calls. */
  readonly loops: readonly ElementLoop[];
  /** The functions in CUDA C that it calls. */
  readonly cuda: readonly CudaFunction[];
  /** Whether neighbours are better computed by one thread. */
  readonly isExpensive: boolean;
}

/** Prints a kernel that can be such a function (`canBeElement`); `name` is of the function, and of its parameters in a kernel. */
export function elementFunction(
  kernel: Kernel,
  name: string,
  given?: number,
  place: ElementPlace = LINEAR_PLACE,
): ElementFunction {
  const body = new Body(normalize(kernel));
  const params = body.parameters();
  const { stores, parallel, buffers, tape } = body.kernel;
  const { value, access } = stores[0]!;
  const { dtype } = buffers[access.buffer]!;
  const loads = given === undefined ? [] : loadsFrom(body.kernel, given);
  const out = new Writer();
  const coordinates = place.coordinates(out, params, parallel);
  const scope = { coordinates, known: new Map(loads.map(({ position }) => [position, 'given'])) };
  body.print(
    out,
    body.closure([value], (position) => scope.known.has(position)),
    scope,
    params,
  );
  out.line(`return ${toStorage(dtype, body.value(value, scope, params))};`);
  const own = params.declaration === '' ? [] : params.declaration.split(', ');
  const nameOf = (declared: string): string => declared.slice(declared.lastIndexOf(' ') + 1);
  const element = given === undefined ? '' : `, ${CUDA_TYPE[buffers[given]!.dtype]} given`;
  const head = new Writer();
  head.block(
    `__device__ __forceinline__ ${STORAGE_TYPE[dtype]} ${name}(${place.parameters}${element}${own.map((p) => `, ${p}`).join('')})`,
    () => head.line(out.toString().trimEnd()),
  );
  const passed = own.map((declared) => `, ${name}_${nameOf(declared)}`).join('');
  return {
    text: head.toString(),
    type: STORAGE_TYPE[dtype],
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
