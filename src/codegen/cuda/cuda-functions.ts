/**
 * Functions of scalars in CUDA C: each is a namespace of its own with the user's definitions, the types that their
 * texts name, and a device function around the operation. `#line` counts lines of the user's texts from their first ones.
 */
import { createHash } from 'node:crypto';
import { CUDA_TYPE } from '../../graph/cuda-expressions.js';
import { type DType, isComplex } from '../../graph/dtype.js';
import type { CudaAccumulator, CudaFunction, CudaText, CudaVariable } from '../../graph/loop-step.js';
import { castExpression, fromStorage, STORAGE_TYPE } from './casts.js';
import { COMPLEX_CLASS } from './complex-class.js';
import { Writer } from './writer.js';

/** The function, whose name follows from what it does, so that equal ones are one. */
export const cudaFunctionName = ({ key }: CudaFunction): string =>
  `weft_cuda_${createHash('sha256').update(key).digest('hex').slice(0, 16)}`;

/** The type that the user's text sees: complex numbers are CuPy's `complex<float>`. */
const userType = (dtype: DType): string =>
  isComplex(dtype) ? `weft_user::complex<${dtype === 'complex64' ? 'float' : 'double'}>` : CUDA_TYPE[dtype];

/** Definitions of some functions, each once, with what all of them need in front. */
export function cudaFunctions(functions: Iterable<CudaFunction>): string {
  const made = new Map<string, CudaFunction>();
  for (const own of functions) made.set(cudaFunctionName(own), own);
  if (made.size === 0) return '';
  const all = [...made.values()];
  return [
    ...new Set(all.flatMap(({ preamble }) => includesIn(preamble))),
    all.some(usesComplex) ? COMPLEX_CLASS : '',
    ...[...made].map(([name, own]) => define(own, name)),
  ].join('');
}

/** The texts of some functions, each once. */
export const textsOfCuda = (functions: Iterable<CudaFunction>): CudaText[] => {
  const texts = [...functions].flatMap(({ operation, preamble }) => [
    operation,
    ...(preamble === undefined ? [] : [preamble]),
  ]);
  return [...new Map(texts.map((text) => [text.file, text])).values()];
};

const INCLUDE = /^[ \t]*#[ \t]*include\b.*$/gm;
const DEFINED = /^[ \t]*#[ \t]*define[ \t]+(\w+)/gm;

/** The headers of a preamble: they stand outside of namespaces. */
const includesIn = (preamble: CudaText | undefined): string[] =>
  (preamble?.text.match(INCLUDE) ?? []).map((line) => `${line}\n`);

function define(own: CudaFunction, name: string): string {
  const { parameters, results, types, operation, assigns, indexers, preamble } = own;
  const out = new Writer();
  const list = (variables: readonly CudaVariable[], type: (variable: CudaVariable, k: number) => string) =>
    variables.map(type).join(' ');
  out.line(`struct ${name}_states { ${list(results, ({ dtype }, k) => `${CUDA_TYPE[dtype]} s${k};`)} };`);
  out.line(`namespace ${name}_own {`);
  if (types.length > 0) out.line(list(types, (type) => `typedef ${userType(type.dtype)} ${type.name};`));
  if (usesComplex(own)) out.line('using namespace weft_user;');
  if (own.accumulator !== undefined) out.line(accumulatorStruct(own.accumulator));
  parameters.forEach((each, k) => {
    if (each.raw !== undefined) out.line(rawStruct(rawType(name, k), each.dtype, each.raw));
  });
  // Lines keep their numbers: those of headers become empty.
  if (preamble !== undefined) userText(out, preamble, preamble.text.replaceAll(INCLUDE, ''));
  const declared = parameters
    .map(
      (each, k) =>
        `${each.raw === undefined ? `const ${userType(each.dtype)} ` : `const ${rawType(name, k)}& `}${each.name}`,
    )
    .join(', ');
  out.line(`static __device__ __forceinline__ ${name}_states run(${declared}) {`);
  for (const { dtype, name: result } of results) out.line(`${userType(dtype)} ${result}{};`);
  for (const { name: indexer, size } of indexers) out.line(indexerOf(indexer, size));
  // In a scope of its own, a variable may have the name of a parameter.
  out.line(['{', ...accumulatorsOf(own), ...(assigns === undefined ? [] : [`${assigns} =`])].join(' '));
  userText(out, operation, operation.text, `; ${resultsOf(own)}}`);
  out.line(`return {${results.map((result) => result.name).join(', ')}};`);
  out.line('}');
  out.line('}');
  // Macros know no namespaces.
  for (const [, macro] of preamble?.text.matchAll(DEFINED) ?? []) out.line(`#undef ${macro}`);
  const passed = parameters
    .map(
      ({ dtype, raw }, k) => `const ${raw === undefined ? CUDA_TYPE[dtype] : `${rawType(name, k)}&`} v${k}`,
    )
    .join(', ');
  const call = `${name}_own::run(${parameters.map((_, k) => `v${k}`).join(', ')})`;
  out.line(`__device__ __forceinline__ ${name}_states ${name}(${passed}) { return ${call}; }`);
  return `${out.toString()}\n`;
}

/** The class of accumulators that the texts see. */
const ACCUMULATOR = 'accumulator';
/** An accumulator that an expression gives. */
const MADE = '_made';

const accumulatorStruct = ({ fields }: CudaAccumulator): string =>
  `struct ${ACCUMULATOR} { ${fields.map(({ dtype, name }) => `${userType(dtype)} ${name};`).join(' ')} };`;

/** The accumulators among the parameters, and the type of the one that is made. */
function accumulatorsOf({ parameters, accumulator }: CudaFunction): string[] {
  if (accumulator === undefined) return [];
  const { fields, names, isMade } = accumulator;
  const given = names.map((name, k) => {
    const own = parameters.slice(k * fields.length, (k + 1) * fields.length);
    return `const ${ACCUMULATOR} ${name} = {${own.map((each) => each.name).join(', ')}};`;
  });
  return [...given, ...(isMade ? [`const ${ACCUMULATOR}`] : [])];
}

/** The fields of what an expression gives, as results. */
const resultsOf = ({ results, accumulator }: CudaFunction): string =>
  accumulator?.isMade
    ? results.map(({ name }, k) => `${name} = ${MADE}.${accumulator.fields[k]!.name}; `).join('')
    : '';

const usesComplex = ({ parameters, results, types }: CudaFunction): boolean =>
  [...parameters, ...results, ...types].some(({ dtype }) => isComplex(dtype));

/** The class of a parameter that has all elements of an array. */
export const rawType = (name: string, at: number): string => `${name}_own::raw${at}`;

/** The most axes of such an array. */
const MOST_AXES = 32;

function rawStruct(type: string, dtype: DType, stored: DType): string {
  const element = castExpression(fromStorage(stored, 'data[at]'), stored, dtype);
  return `struct ${type.slice(type.lastIndexOf(':') + 1)} {
  const ${STORAGE_TYPE[stored]}* data;
  long long count;
  long long sizes[${MOST_AXES}];
  __device__ __forceinline__ ${userType(dtype)} operator[](long long at) const { return ${element}; }
  __device__ __forceinline__ long long size() const { return count; }
  __device__ __forceinline__ const long long* shape() const { return sizes; }
};`;
}

/** CuPy's object with the number of elements. */
const indexerOf = (name: string, size: string): string =>
  `const struct { long long count; __device__ long long size() const { return count; } } ${name} = {${size}};`;

/** A text of the user's, between lines that say where it is of. */
function userText(out: Writer, { file }: CudaText, text: string, end = ''): void {
  out.line(`#line 1 "${file}"\n${text}\n${end}\n#line 1 "weft.cu"`);
}
