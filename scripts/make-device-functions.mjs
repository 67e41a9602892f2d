// Writes src/codegen/cuda/prelude/special-pieces.ts from the C functions that the CPU compiles too
// (native/shared). `npm run build:ts` runs it; the file is not in git.
import { readFileSync, writeFileSync } from 'node:fs';

const FILES = ['special-functions', 'tail-functions', 'random-functions'];

/**
 * The functions of a header, each with the comment before it, as device functions: those of several lines apart, but
 * for small ones marked WEFT_INLINE, and with their loops as they are, or NVRTC takes minutes where a kernel calls a
 * few.
 */
function functions(name) {
  const text = readFileSync(new URL(`../native/shared/${name}.h`, import.meta.url), 'utf8');
  const body = text.replace(/^(\/\/.*\n)+/, '');
  const found = body.match(
    /(?:\/\*(?:(?!\*\/)[\s\S])*\*\/\n)?^WEFT_(?:DEVICE|INLINE) (?:.*\}$|[\s\S]*?^\})/gm,
  );
  return found.map((each) =>
    each
      .replace(/^WEFT_INLINE|^WEFT_DEVICE(?=.*\}$)/m, 'inline __device__')
      .replace(/^WEFT_DEVICE/m, '__device__ __attribute__((noinline))')
      .replace(/^( *)for \(/gm, '$1#pragma unroll 1\n$1for ('),
  );
}

const pieces = FILES.flatMap(functions).map((text) => `  piece(\`\n${text.replaceAll('`', '\\`')}\`),\n`);
writeFileSync(
  new URL('../src/codegen/cuda/prelude/special-pieces.ts', import.meta.url),
  `/**
 * Special functions of float64 as pieces of the prelude. Written by scripts/make-device-functions.mjs when
 * TypeScript is built, from native/shared: do not edit.
 */
import { type Piece, piece } from './prelude-piece.js';

export const SPECIAL_PIECES: readonly Piece[] = [
${pieces.join('')}];
`,
);
