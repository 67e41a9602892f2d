/** Arguments of functions in CUDA C: the dtypes that their letters stand for, and arrays of those. */
import { type DType, isDType, promote } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { formatValue } from '../graph/format.js';
import { cast, constant, isExpr, toExpr } from '../graph/infer.js';
import { isScalar } from '../graph/scalar.js';
import { ArgumentError, DTypeError, expected } from '../host/errors.js';
import { type CudaParameter, lettersOf } from '../language/cuda-declaration.js';
import { CudaDefinition, type CudaTypes } from '../language/cuda-definition.js';
import type { ArrayLike } from './fluent-types.js';
import { scalarOf } from './kernel-options.js';
import { exprOf } from './lazy.js';
import { isRecord } from './structure.js';

/** Arguments with the dtypes of a call. */
export interface CudaArguments {
  readonly types: CudaTypes;
  /** In the dtypes of the parameters. */
  readonly arrays: readonly Expr[];
}

/** Whether a value takes the dtype of the arrays beside it: numbers, lists of them, and numbers of loops. */
const isSoft = (value: unknown, array: Expr): boolean =>
  isScalar(value) || Array.isArray(value) || array.weak;

/** Dtypes by the letters that no input has. */
export type GivenDTypes = Readonly<Record<string, DType>>;

/** `op`: the function's name; `outputs`: whose letters may be others than those of the inputs; `dtypes` says these. */
export function cudaArguments(
  op: string,
  parameters: readonly CudaParameter[],
  args: readonly unknown[],
  outputs: readonly CudaParameter[],
  dtypes?: unknown,
): CudaArguments {
  if (args.length !== parameters.length) {
    const names = parameters.map(({ name }) => name).join(', ');
    const wanted = `${parameters.length} argument${parameters.length === 1 ? '' : 's'}`;
    throw new ArgumentError(expected(op, names === '' ? wanted : `${wanted}, ${names}`, `${args.length}`));
  }
  const given = args.map((value, k): Given => {
    const array = isScalar(value) || isExpr(value) ? toExpr(op, value) : exprOf(op, value as ArrayLike);
    return { parameter: parameters[k]!, value, array, isSoft: isSoft(value, array) };
  });
  const types = withGiven(op, typesOf(op, given), lettersOf(outputs), dtypes);
  return { types, arrays: given.map((each) => arrayOf(op, each, types)) };
}

/** With the dtypes of letters that outputs alone have. */
function withGiven(
  op: string,
  types: CudaTypes,
  ofOutputs: readonly string[],
  given: unknown = {},
): CudaTypes {
  const own = ofOutputs.filter((letter) => !types.has(letter));
  const form = `{ ${own.map((letter) => `${letter}: 'float32'`).join(', ')} }`;
  if (!isRecord(given))
    throw new ArgumentError(expected(op, `dtypes by letters, ${form}`, formatValue(given)));
  const dtypes = given as GivenDTypes;
  for (const [letter, dtype] of Object.entries(dtypes)) {
    if (!own.includes(letter))
      throw new ArgumentError(expected(op, 'dtypes of letters that outputs alone have', letter));
    if (!isDType(dtype)) throw new ArgumentError(expected(op, `a dtype for ${letter}`, formatValue(dtype)));
  }
  const missing = own.find((letter) => dtypes[letter] === undefined);
  if (missing !== undefined)
    throw new ArgumentError(
      expected(op, `a dtype for ${missing}, which no input has`, 'none', `f(…, { dtypes: ${form} })`),
    );
  return new Map([...types, ...own.map((letter) => [letter, dtypes[letter]!] as const)]);
}

interface Given {
  readonly parameter: CudaParameter;
  readonly value: unknown;
  readonly array: Expr;
  readonly isSoft: boolean;
}

function typesOf(op: string, given: readonly Given[]): CudaTypes {
  const types = new Map<string, DType>();
  for (const { parameter } of given) {
    if (typeof parameter.type === 'string' || types.has(parameter.type.letter)) continue;
    const { letter } = parameter.type;
    const own = given.filter(({ parameter: { type } }) => typeof type !== 'string' && type.letter === letter);
    const hard = own.filter((each) => !each.isSoft);
    const [first] = hard;
    const other = hard.find(({ array }) => array.dtype !== first!.array.dtype);
    if (other !== undefined) {
      const of = ({ array, parameter: { name } }: Given): string => `${array.dtype} of ${name}`;
      const hint = `${other.parameter.name}.astype('${first!.array.dtype}')`;
      throw new DTypeError(expected(op, `one dtype for ${letter}`, `${of(first!)} and ${of(other)}`, hint));
    }
    types.set(letter, first?.array.dtype ?? own.map(({ array }) => array.dtype).reduce(promote));
  }
  return types;
}

function arrayOf(op: string, { parameter, value, array, isSoft }: Given, types: CudaTypes): Expr {
  const dtype = CudaDefinition.dtypeOf(parameter, types);
  const { name, isRaw } = parameter;
  if (isRaw && (isScalar(value) || array.weak))
    throw new ArgumentError(expected(op, `an array for ${name}, which is raw`, formatValue(value)));
  if (isScalar(value)) return constant(scalarOf(op, name, { scalar: dtype }, value), dtype);
  if (!isSoft && array.dtype !== dtype)
    throw new DTypeError(expected(op, `${name} of ${dtype}`, array.dtype, `${name}.astype('${dtype}')`));
  const made = cast(array, dtype);
  return made.weak ? { ...made, weak: false } : made;
}
