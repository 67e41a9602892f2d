/**
 * Parameters in CuPy's way: `T x, raw T y, float32 s`. A type is a dtype, or a letter that stands for that of the
 * arguments.
 */
import { DTYPES, type DType, isDType } from '../graph/dtype.js';
import { formatValue } from '../graph/format.js';
import { ArgumentError, expected } from '../host/errors.js';
import { type GivenText, pointedAt } from '../host/source-place.js';
import { RESERVED } from './cuda-tokens.js';

export interface CudaParameter {
  readonly name: string;
  /** A dtype, or the letter that stands for one. */
  readonly type: DType | { readonly letter: string };
  /** Whether the text reads any of its elements: `y[k]`. */
  readonly isRaw: boolean;
}

/** A text that was given to `op`. */
export interface OwnText extends GivenText {
  readonly op: string;
}

/** The letters of some parameters, each once. */
export const lettersOf = (parameters: readonly Pick<CudaParameter, 'type'>[]): string[] => [
  ...new Set(parameters.flatMap(({ type }) => (typeof type === 'string' ? [] : [type.letter]))),
];

/** Refuses a part of the text. */
export function refuseAt({ op, ...given }: OwnText, offset: number, wanted: string, received: string): never {
  throw pointedAt(new ArgumentError(expected(op, wanted, received)), given, offset);
}

const FORM = /^(raw\s+)?([A-Za-z_]\w*)\s+([A-Za-z_]\w*)$/;

/** Throws an ArgumentError, with the place, for what is no parameter. */
export function parametersIn(given: OwnText): CudaParameter[] {
  const { op, noun, text } = given;
  if (typeof text !== 'string')
    throw new ArgumentError(expected(op, `${noun} as text: 'T x, T y'`, formatValue(text)));
  if (text.trim() === '') return [];
  const parameters: CudaParameter[] = [];
  let start = 0;
  for (const part of text.split(',')) {
    const offset = start + part.length - part.trimStart().length;
    parameters.push(parameterIn(given, part.trim(), Math.min(offset, text.length - 1), parameters));
    start += part.length + 1;
  }
  return parameters;
}

function parameterIn(
  given: OwnText,
  part: string,
  offset: number,
  others: readonly CudaParameter[],
): CudaParameter {
  const found = FORM.exec(part);
  if (found === null) return refuseAt(given, offset, "a type and a name, as in 'T x'", part || 'nothing');
  const [, raw, type, name] = found as unknown as [string, string | undefined, string, string];
  const [typeAt, nameAt] = [offset + (raw?.length ?? 0), offset + part.length - name.length];
  if (type.length > 1 && !isDType(type))
    refuseAt(given, typeAt, `a dtype, one of ${DTYPES.join(', ')}, or a letter`, type);
  if (RESERVED.has(name)) refuseAt(given, nameAt, 'a name that C++ and CUDA leave free', name);
  if (name === 'i' || name === 'n' || name.startsWith('_') || name.startsWith('weft'))
    refuseAt(given, nameAt, 'a name other than i, n, _… and weft…, which have a meaning', name);
  if (others.some((other) => other.name === name)) refuseAt(given, nameAt, 'each name once', name);
  return { name, type: isDType(type) ? type : { letter: type }, isRaw: raw !== undefined };
}

/** Throws an ArgumentError, with the place, for results that nothing can be assigned to. */
export function checkOutputs(
  given: OwnText,
  inputs: readonly CudaParameter[],
  outputs: readonly CudaParameter[],
): void {
  if (outputs.length === 0) refuseAt(given, 0, "an output, as in 'T z'", 'none');
  for (const { name, isRaw } of outputs) {
    const at = new RegExp(`\\b${name}\\s*(,|$)`).exec(given.text)!.index;
    if (isRaw) refuseAt(given, at, `${name} to be written at its own place alone, or a kernel()`, 'raw');
    if (inputs.some((input) => input.name === name))
      refuseAt(given, at, 'names that inputs do not have', name);
  }
}
