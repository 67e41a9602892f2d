/** A declared kernel: what a call of it launches, as a node. Called by `kernels.ts`. */
import { createHash } from 'node:crypto';
import { call } from '../graph/calls.js';
import type { Expr } from '../graph/expr.js';
import { formatScalar, formatValue } from '../graph/format.js';
import { sizeOfShape } from '../graph/graph.js';
import type { KernelArgument, KernelCode, KernelOutput, UserKernel } from '../graph/user-kernel.js';
import { ArgumentError, expected, RangeArgumentError } from '../host/errors.js';
import type { KernelParameter as Parameter } from '../language/kernel-tracer.js';
import type { Captures } from '../language/names.js';
import { capturesOf } from './element-functions.js';
import { cudaCode } from './kernel-cuda.js';
import { type KernelBody, ProgramFunction } from './kernel-functions.js';
import { checkBlock, checkCuts, checkGrid, checkShared } from './kernel-launch.js';
import {
  checkDeclared,
  givenOf,
  isScalarInput,
  type KernelGiven,
  type KernelInputs,
  outputsOf,
  resolved,
  shapeOf,
} from './kernel-options.js';
import type { KernelOptions, KernelOutputs } from './kernel-types.js';
import { Lazy } from './lazy.js';
import { isRecord } from './structure.js';

const LAUNCH = ['inputs', 'outputs', 'grid', 'block', 'cuts', 'name'];
const CUDA_FIELDS = [...LAUNCH, 'shared', 'parameters', 'options'];
const FUNCTION_FIELDS = [...LAUNCH, 'captures'];

/** The options of both forms. */
export type AnyKernelOptions = KernelOptions<KernelInputs, KernelOutputs<KernelInputs>> & {
  readonly captures?: Captures | undefined;
};

/** The code of a call, and its name. */
type CodeOf = (
  given: KernelGiven,
  outputs: ReadonlyMap<string, KernelOutput>,
  launch: Pick<UserKernel, 'grid' | 'block'>,
) => { readonly code: KernelCode; readonly name: string };

export class DeclaredKernel {
  readonly #options: AnyKernelOptions;
  readonly #outputs: readonly string[];
  readonly #codeOf: CodeOf;
  /** Names of the parameters, in order; of a function, of its scalars. */
  readonly #parameters: readonly string[];

  constructor(source: string | KernelBody, options: AnyKernelOptions) {
    const isFunction = typeof source === 'function';
    if (!isFunction && (typeof source !== 'string' || source.trim() === ''))
      throw new ArgumentError(expected('kernel', 'a function or CUDA C', formatValue(source)));
    checkFields(options, isFunction ? FUNCTION_FIELDS : CUDA_FIELDS);
    const { inputs } = options;
    this.#options = options;
    this.#outputs = Object.keys(options.outputs);
    if (isFunction) {
      this.#codeOf = functionCode(source, options);
      this.#parameters = Object.keys(inputs).filter((name) => isScalarInput(inputs[name]!));
    } else {
      const code = cudaCode(source, options);
      this.#codeOf = ({ shapes }) => {
        const own = code(shapes);
        return { code: own, name: own.entry };
      };
      this.#parameters = parametersOf(options, this.#outputs);
    }
  }

  apply(args: readonly unknown[]): unknown {
    const { inputs, outputs, cuts: cutsSpec } = this.#options;
    const op = 'kernel';
    const given = givenOf(op, inputs, args);
    const made = outputsOf(op, outputs, given);
    const named = new Map(this.#outputs.map((name, k) => [name, made[k]!]));
    const shapes = {
      ...given.shapes,
      ...Object.fromEntries([...named].map(([name, x]) => [name, shapeOf(x)])),
    };
    const grid = checkGrid(op, resolved(this.#options.grid, shapes));
    const launch = {
      grid,
      block: checkBlock(op, resolved(this.#options.block, shapes)),
      sharedByteLength: checkShared(op, resolved(this.#options.shared, shapes) ?? 0),
    };
    const unwritten = [...named].find(([, x]) => x.initial === undefined && sizeOfShape(x.shape) > 0);
    if (grid.includes(0) && unwritten !== undefined)
      throw new RangeArgumentError(
        expected(op, `blocks that write ${unwritten[0]}`, `a grid of ${grid.join('×')}`),
      );
    const arrays = Object.keys(inputs).filter((name) => !isScalarInput(inputs[name]!));
    const cuts =
      cutsSpec && checkCuts(op, resolved(cutsSpec, shapes), { grid, inputs: arrays, outputs: named });
    const own = this.#codeOf(given, named, launch);
    const data = { ...own, ...launch, arguments: this.#arguments(given), outputs: made, cuts };
    return this.#results(call('kernel', [], given.arrays, op, { ...data, key: userKernelKey(data) }));
  }

  #arguments({ inputs }: KernelGiven): KernelArgument[] {
    return this.#parameters.map((name): KernelArgument => {
      if (name === FIRST_BLOCK) return { firstBlock: true };
      return inputs.get(name) ?? { output: this.#outputs.indexOf(name) };
    });
  }

  #results(exprs: readonly Expr[]): Lazy | Readonly<Record<string, Lazy>> {
    if (exprs.length === 1) return new Lazy(exprs[0]!);
    return Object.fromEntries(this.#outputs.map((name, k) => [name, new Lazy(exprs[k]!)]));
  }
}

function checkFields(options: AnyKernelOptions, known: readonly string[]): void {
  if (!isRecord(options))
    throw new ArgumentError(expected('kernel', '{ inputs, outputs, grid, block }', formatValue(options)));
  const unknown = Object.keys(options).find((field) => !known.includes(field));
  if (unknown !== undefined)
    throw new ArgumentError(expected('kernel', `options ${known.join(', ')}`, unknown));
  for (const field of ['grid', 'block'] as const) {
    if (options[field] === undefined) throw new ArgumentError(expected('kernel', `a ${field}`, 'none'));
  }
  checkDeclared('kernel', options.inputs, options.outputs);
}

/** From so many elements, or threads along an axis, integers without a dtype have 64 bits. */
const WIDE = 2 ** 31;

/** The programs of a function. */
function functionCode(fn: KernelBody, { captures, name }: AnyKernelOptions): CodeOf {
  const made = new ProgramFunction(fn, capturesOf('kernel', captures));
  const label = typeof name === 'string' ? name : fn.name || 'kernel';
  return (given, outputs, { grid, block }) => {
    let scalars = 0;
    const inputs = [...given.inputs].map(([own, input]): Parameter => {
      if (!('input' in input)) return { name: own, kind: 'scalar', at: scalars++, dtype: input.dtype };
      const { dtype, shape } = given.arrays[input.input]!;
      return { name: own, kind: 'input', at: input.input, dtype, ndim: shape.length };
    });
    const written = [...outputs].map(
      ([own, { dtype, shape }], at): Parameter => ({
        name: own,
        kind: 'output',
        at,
        dtype,
        ndim: shape.length,
      }),
    );
    const sizes = [...given.arrays, ...outputs.values()].map(({ shape }) => sizeOfShape(shape));
    const threads = grid.map((blocks, axis) => blocks * block[axis]!);
    const isWide = [...sizes, ...threads].some((size) => size >= WIDE);
    return { code: made.code([...inputs, ...written], isWide), name: label };
  };
}

const FIRST_BLOCK = 'firstBlock';

/**
 * Each input and output once, and the first block where there are cuts. An input that an output begins as need not be
 * there.
 */
function parametersOf(
  { inputs, outputs: specs, parameters, cuts }: AnyKernelOptions,
  outputs: readonly string[],
): readonly string[] {
  const begins = Object.values(specs).map(({ initial }) => initial);
  const needed = [...Object.keys(inputs).filter((name) => !begins.includes(name)), ...outputs];
  const arrays = [...Object.keys(inputs), ...outputs];
  const first = cuts === undefined || parameters?.includes(FIRST_BLOCK) ? [] : [FIRST_BLOCK];
  if (parameters === undefined) return [...needed, ...first];
  const known = [...arrays, ...(cuts === undefined ? [] : [FIRST_BLOCK])];
  const isOnce = new Set(parameters).size === parameters.length;
  if (!Array.isArray(parameters) || !isOnce || !parameters.every((name) => known.includes(name)))
    throw new ArgumentError(
      expected('kernel', `parameters of ${known.join(', ')}, each once`, formatValue(parameters)),
    );
  const missing = needed.find((name) => !parameters.includes(name));
  if (missing !== undefined)
    throw new ArgumentError(expected('kernel', `${missing} among the parameters`, 'none of that name'));
  return [...parameters, ...first];
}

/** A text that says all of a kernel but the place of its source. */
export function userKernelKey({ name, code, ...rest }: Omit<UserKernel, 'key'>): string {
  const own =
    code.kind === 'text'
      ? { ...code, userTexts: undefined }
      : code.kind === 'elements'
        ? code.function.key
        : code;
  const scalar = (_key: string, value: unknown): unknown =>
    typeof value === 'bigint' ||
    (typeof value === 'number' && !Number.isInteger(value)) ||
    Object.is(value, -0)
      ? formatScalar(value as number)
      : value;
  const text = JSON.stringify([own, rest], scalar);
  return `${name} ${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
}
