/** The CUDA C of a user's kernel: its function, and where its text stands in the user's file. */
import { formatValue } from '../graph/format.js';
import type { CudaCode } from '../graph/user-kernel.js';
import { ArgumentError, expected } from '../host/errors.js';
import { currentSite } from '../host/site.js';
import { placeAt } from '../host/source-place.js';
import { type KernelGiven, type OfShapes, resolved } from './kernel-options.js';

interface CudaOptions {
  readonly name?: OfShapes<string, never> | undefined;
  readonly options?: readonly string[] | undefined;
}

const KERNEL_FILE = 'kernel.cu';

/** A kernel that a source declares. */
interface Declared {
  readonly name: string;
  readonly isTemplate: boolean;
}

/** The code of a call, by its shapes. Throws an ArgumentError for a source that does not have the function. */
export function cudaCode(
  text: string,
  { name, options = [] }: CudaOptions,
): (shapes: KernelGiven['shapes']) => CudaCode {
  if (
    !Array.isArray(options) ||
    !options.every((option) => typeof option === 'string' && option.startsWith('-'))
  )
    throw new ArgumentError(expected('kernel', 'options of NVRTC, which begin with -', formatValue(options)));
  const declared = kernelsIn(text);
  const place = placeAt(currentSite(), text);
  const codeFor = (entry: string): CudaCode => ({
    kind: 'text',
    text: `#line 1 "${KERNEL_FILE}"\n${text}\n`,
    entry,
    options: [...options],
    userTexts: [{ file: KERNEL_FILE, text, owner: 'kernel', noun: `CUDA C with ${entry}`, place }],
  });
  if (typeof name !== 'function') {
    const code = codeFor(entryOf(declared, name));
    return () => code;
  }
  return (shapes) => codeFor(entryOf(declared, resolved(name, shapes)));
}

/** The function that is launched: what was named, else the only one. */
function entryOf(declared: readonly Declared[], name: unknown): string {
  const list =
    declared.length === 0 ? 'no __global__ function' : declared.map((each) => each.name).join(', ');
  if (name === undefined) {
    const [only] = declared;
    if (declared.length !== 1)
      throw new ArgumentError(expected('kernel', 'the name of one kernel of the source', list));
    if (only!.isTemplate)
      throw new ArgumentError(
        expected(
          'kernel',
          `an instantiation of the template ${only!.name}`,
          'no name',
          `name: '${only!.name}<float>'`,
        ),
      );
    return only!.name;
  }
  const base = typeof name === 'string' ? /^(?:\w+::)*(\w+)\s*(?:<.*>)?$/s.exec(name)?.[1] : undefined;
  if (base === undefined || !declared.some((each) => each.name === base))
    throw new ArgumentError(expected('kernel', `a kernel of the source, ${list}`, formatValue(name)));
  return name as string;
}

const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
const LAUNCH_BOUNDS = /__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)/g;
const KERNEL =
  /(template\s*<[^;{}]*?>\s*)?(?:extern\s+"C"\s*|static\s+)*__global__\s+(?:static\s+)?void\s+(\w+)\s*\(/g;

/** The kernels that a text declares, each once. */
function kernelsIn(text: string): Declared[] {
  const code = text.replaceAll(COMMENT, ' ').replaceAll(LAUNCH_BOUNDS, ' ');
  const found = new Map<string, Declared>();
  for (const [, template, name] of code.matchAll(KERNEL))
    found.set(name!, { name: name!, isTemplate: template !== undefined });
  return [...found.values()];
}
